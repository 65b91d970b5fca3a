"""Global attention: a decoder step attends to the whole source sentence (Luong et al., 2015, sec. 3.1).

    weights = softmax over s of score(q, m_s)

A cell of GluonNLP projects the keys at every call. A decoder attends to the same memory at every step, so here the two
are separate: ``keys`` is called once for a sentence, the block itself at each step. Scores and weights equal those of
GluonNLP's cells. A sentence has one query a step in training and one for each translation of its beam in search; they
share the memory.

Scores: :class:`~gluon_attn.attention.multiplicative.DotScore`,
:class:`~gluon_attn.attention.multiplicative.GeneralScore`, :class:`~gluon_attn.attention.additive.AdditiveScore`
(*concat*), and here :class:`LocationScore`.

Shapes: memory (batch, memory_length, memory_units), keys (batch, memory_length, key_units), query (batch, queries,
query_units), scores (batch, queries, memory_length).
"""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import additive_mask
from gluon_attn.typing import Operators, Tensor


class LocationScore(HybridBlock):
    """W q, one score for each position of the source, whatever token is there (Luong et al., 2015, eq. 8, *location*).

    Args:
        positions: number of positions with a score of their own; later ones get no weight.
        query_units: width of the query.
    """

    def __init__(self, positions: int, query_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.place = nn.Dense(positions, use_bias=False, flatten=False, in_units=query_units)

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        return memory

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor) -> Tensor:
        scores = self.place(query)
        zeros = F.BlockGrad(F.slice_axis(scores, axis=2, begin=0, end=1)) * 0.0
        beyond = F.broadcast_like(zeros + _BEYOND, keys, lhs_axes=(2,), rhs_axes=(1,))
        return F.slice_like(F.concat(scores, beyond, dim=2), beyond, axes=2)


_BEYOND = -1e4  # the score of positions without one: far below any score, far above what masks padding


class GlobalAttention(HybridBlock):
    """Weights over the whole memory: the softmax of the scores (Luong et al., 2015, sec. 3.1).

    Args:
        score: one of the scores listed above.

    Call: ``(query, keys, mask, step) -> weights`` with mask (batch, memory_length) of 0/1, step (batch, queries) the
    number of the target token, which only local attention uses, and weights (batch, queries, memory_length).
    """

    def __init__(self, score: HybridBlock, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.score = score

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        """The keys of a memory, once for a sentence."""
        return self.score.keys(F, memory)

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor, mask: Tensor, step: Tensor | None) -> Tensor:
        masked = F.broadcast_add(self.score(query, keys), F.expand_dims(additive_mask(mask), axis=1))
        return F.softmax(masked, axis=-1)
