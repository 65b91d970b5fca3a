"""Token embeddings that include the spelling of a token."""

from __future__ import annotations

from typing import Any

import mxnet as mx
from mxnet.gluon import HybridBlock, nn

from gluon_attn.typing import Operators, Tensor


class SpelledEmbedding(HybridBlock):
    """The embedding of a token plus a linear map of the embeddings of its first syllables.

    Rare and misspelled words have poorly trained embeddings or none; they share the embeddings of their syllables.

    Args:
        vocabulary_size: number of tokens.
        units: width of the output.
        syllables: number of distinct syllables.
        syllable_units: width of a syllable's embedding.
        width: number of syllables per token in ``ids``.

    Call: ``(ids) -> (batch, length, units)`` with int32 ids (batch, length, 1 + width): the token and its syllables.
    """

    def __init__(
        self, *, vocabulary_size: int, units: int, syllables: int, syllable_units: int, width: int, **parameters: Any
    ) -> None:
        super().__init__(**parameters)
        normal = mx.init.Normal(0.1)
        with self.name_scope():
            self.token = nn.Embedding(vocabulary_size, units, weight_initializer=normal, sparse_grad=True)
            self.syllable = nn.Embedding(syllables, syllable_units, weight_initializer=normal, sparse_grad=True)
            self.composition = nn.Dense(units, flatten=False, in_units=width * syllable_units)

    def hybrid_forward(self, F: Operators, ids: Tensor) -> Tensor:
        token = F.reshape(F.slice_axis(ids, axis=2, begin=0, end=1), (0, -1))
        syllables = self.syllable(F.slice_axis(ids, axis=2, begin=1, end=None))
        return self.token(token) + self.composition(F.reshape(syllables, (0, 0, -3)))


def token_table(embedding: HybridBlock) -> nn.Embedding:
    """Return the token embeddings of a layer, without those of the syllables."""
    return embedding.token if isinstance(embedding, SpelledEmbedding) else embedding
