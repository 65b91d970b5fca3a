"""What the networks return, by name.

A hybridized block of Gluon returns a plain list, whatever tuple it computes, and None cannot be in it. So a network
computes a tuple of the outputs that it has, and its base class names them when it is called.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from mxnet.gluon import HybridBlock, nn

from gluon_attn.layers.embeddings import token_table
from gluon_attn.typing import Tensor


class ClassifierOutput(NamedTuple):
    """What a text classifier returns. Only the logits are never None; weights are zero on padding that is masked.

    Attributes:
        logits: (batch, classes).
        weights: (batch, tokens), one distribution over the tokens of each text.
        matrix: (batch, tokens, tokens), a distribution for each query: row t is that of the query at position t.
        hops: (batch, hops, tokens), a distribution for each hop.
        word_weights: (batch, sentences, words), the weights of the words within their sentence.
        sentence_weights: (batch, sentences), those of the sentences within their document.
        penalty: (batch,), the penalty on redundant hops before its coefficient.
    """

    logits: Tensor
    weights: Tensor | None = None
    matrix: Tensor | None = None
    hops: Tensor | None = None
    word_weights: Tensor | None = None
    sentence_weights: Tensor | None = None
    penalty: Tensor | None = None


class Classifier(HybridBlock):
    """A text classifier: it returns a :class:`ClassifierOutput`, eager and hybridized.

    A subclass computes a tuple, the logits first, and names the others in ``outputs``. It may leave out the last ones,
    without attention for instance; those are None.
    """

    outputs: ClassVar[tuple[str, ...]] = ()
    embedding: HybridBlock

    @property
    def token_embedding(self) -> nn.Embedding:
        """The table with the vector of each token, which pretrained vectors may initialise."""
        return token_table(self.embedding)

    def __call__(self, *inputs: Tensor) -> ClassifierOutput:
        logits, *others = super().__call__(*inputs)
        return ClassifierOutput(logits, **dict(zip(self.outputs[: len(others)], others, strict=True)))


class TranslationOutput(NamedTuple):
    """What an encoder-decoder returns for given targets.

    Attributes:
        loss: (batch, steps), -ln p of each target token in nats with smoothed labels, 0 on padding.
        nll: (batch, steps), the same without smoothing.
    """

    loss: Tensor
    nll: Tensor


class LanguageModelOutput(NamedTuple):
    """What a language model returns.

    Attributes:
        loss: (batch, steps), -ln p of each target in nats, 0 for ``NO_TARGET``.
        nll: (batch, steps), the same; the loss has no other term.
        state: the state after the last step, for the next call.
    """

    loss: Tensor
    nll: Tensor
    state: tuple[Tensor, ...]


class PretrainingOutput(NamedTuple):
    """What a network that predicts masked tokens returns.

    Attributes:
        losses: (predictions,), -ln p of each token that is predicted, in nats.
        pair_losses: (batch,), -ln p of whether a pair of texts belongs together; None without that task.
        pair_logits: (batch, 2), of no and yes; None without that task.
    """

    losses: Tensor
    pair_losses: Tensor | None = None
    pair_logits: Tensor | None = None
