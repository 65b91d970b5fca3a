"""Named tuples of what the networks return.

A hybridized Gluon block returns a plain list, even if it computes a named tuple, and the list cannot contain None. A
network therefore computes a tuple of the outputs it has, and its base class names them when it is called.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from mxnet import nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.layers.embeddings import token_table
from gluon_attn.layers.lengths import checked_lengths
from gluon_attn.typing import Tensor


class ClassifierOutput(NamedTuple):
    """Output of a text classifier. Only the logits are never None; weights are zero on masked padding.

    Attributes:
        logits: (batch, classes).
        weights: (batch, tokens), one distribution over the tokens of each text.
        matrix: (batch, tokens, tokens), one distribution per query; row t belongs to the query at position t.
        hops: (batch, hops, tokens), one distribution per hop.
        word_weights: (batch, sentences, words), weights of the words within their sentence.
        sentence_weights: (batch, sentences), weights of the sentences within their document.
        penalty: (batch,), the penalty on redundant hops, without its coefficient.
    """

    logits: Tensor
    weights: Tensor | None = None
    matrix: Tensor | None = None
    hops: Tensor | None = None
    word_weights: Tensor | None = None
    sentence_weights: Tensor | None = None
    penalty: Tensor | None = None


class Classifier(HybridBlock):
    """A text classifier; returns a :class:`ClassifierOutput`, eager or hybridized.

    A subclass computes a tuple with the logits first and names the other outputs in ``outputs``. It may leave out the
    last ones, for instance without attention; these are None. If its first input is ids (batch, tokens, ...) and its
    last input has one axis, the latter is the numbers of tokens, which are checked.

    Raises:
        ValueError: if a text has no tokens, or more than there are ids.
    """

    outputs: ClassVar[tuple[str, ...]] = ()
    embedding: HybridBlock

    @property
    def token_embedding(self) -> nn.Embedding:
        """Return the embedding of tokens, which pretrained vectors may initialise."""
        return token_table(self.embedding)

    def __call__(self, *inputs: Tensor) -> ClassifierOutput:
        if isinstance(inputs[-1], nd.NDArray) and inputs[0].ndim >= 2 and inputs[-1].ndim == 1:
            inputs = (*inputs[:-1], checked_lengths(inputs[-1], inputs[0].shape[1]))
        logits, *others = super().__call__(*inputs)
        return ClassifierOutput(logits, **dict(zip(self.outputs[: len(others)], others, strict=True)))


class TranslationOutput(NamedTuple):
    """Output of an encoder-decoder for given targets.

    Attributes:
        loss: (batch, steps), -ln p of each target token in nats with label smoothing, 0 on padding; a model may add
            columns for the other terms of its loss.
        nll: (batch, steps), the same without label smoothing.
    """

    loss: Tensor
    nll: Tensor


class LanguageModelOutput(NamedTuple):
    """Output of a language model.

    Attributes:
        loss: (batch, steps), -ln p of each target in nats, 0 for ``NO_TARGET``.
        nll: (batch, steps), the same; the loss has no other term.
        state: the state after the last step, for the next call.
    """

    loss: Tensor
    nll: Tensor
    state: tuple[Tensor, ...]


class PretrainingOutput(NamedTuple):
    """Output of a masked language model.

    Attributes:
        losses: (predictions,), -ln p of each predicted token in nats.
        pair_losses: (batch,), -ln p of whether a pair of texts belongs together, in nats; None without that task.
        pair_logits: (batch, 2), logits of no and yes; None without that task.
    """

    losses: Tensor
    pair_losses: Tensor | None = None
    pair_logits: Tensor | None = None
