"""Wide and deep learning: a linear classifier and a network that are trained together (H.-T. Cheng et al., 2016, "Wide
& deep learning for recommender systems", arXiv:1606.07792, eq. 3)."""

from __future__ import annotations

from typing import Any

from mxnet import nd
from mxnet.gluon import nn

from gluon_attn.layers.lengths import checked_lengths
from gluon_attn.models.fasttext import NgramClassifier
from gluon_attn.models.outputs import Classifier, ClassifierOutput
from gluon_attn.models.stacked_classifier import StackedClassifier
from gluon_attn.typing import Operators, Tensor


class WideAndDeep(Classifier):
    """The sum of the logits of a network that reads the tokens of a text in order, and of a linear classifier that
    reads its bag of words and n-grams. Both are trained together, with one loss. Results do not depend on padding.

    Args:
        deep: the network.
        wide: the linear classifier.

    Call: ``(ids, bag, bag_length, valid_length) -> ClassifierOutput``: ids (batch, length, ...) of int32 and
    valid_length (batch,), the input of the network; bag (batch, words and n-grams) of int32 and bag_length (batch,),
    that of the linear classifier. Logits and the weights of the network.

    Raises:
        ValueError: if a text has no tokens or no words and n-grams, or more than there are ids.
    """

    outputs = ("weights",)

    def __init__(self, deep: StackedClassifier, wide: NgramClassifier, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.deep = deep
            self.wide = wide

    @property
    def token_embedding(self) -> nn.Embedding:
        return self.deep.token_embedding

    def __call__(self, ids: Tensor, bag: Tensor, bag_length: Tensor, valid_length: Tensor) -> ClassifierOutput:
        if isinstance(bag_length, nd.NDArray):
            bag_length = checked_lengths(bag_length, bag.shape[1])
        return super().__call__(ids, bag, bag_length, valid_length)

    def hybrid_forward(
        self, F: Operators, ids: Tensor, bag: Tensor, bag_length: Tensor, valid_length: Tensor
    ) -> tuple[Tensor, Tensor]:
        deep, wide = self.deep(ids, valid_length), self.wide(bag, bag_length)
        return deep.logits + wide.logits, deep.weights
