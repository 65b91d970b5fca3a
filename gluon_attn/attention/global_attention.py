"""Global attention: a decoder step attends to the whole source sentence (Luong et al., 2015, sec. 3.1).

    weights = softmax over s of score(q, m_s)

GluonNLP's cells project the keys at every call. A decoder attends to the same memory at every step, so projection and
attention are separate here: ``keys`` is called once per sentence, the block itself at each step. Scores and weights
equal those of GluonNLP's cells. In training, a sentence has one query per step; in beam search it has one per
hypothesis, and all of them share the memory.

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
    """W q: one score for each source position, regardless of its token (Luong et al., 2015, eq. 8, *location*).

    Args:
        positions: number of positions that have a score; later positions get no weight, unless a local window has no
            others.
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


_BEYOND = -1e4  # score of later positions: far below any score, far above the value that masks padding


class GlobalAttention(HybridBlock):
    """Softmax of the scores over the whole memory (Luong et al., 2015, sec. 3.1).

    Args:
        score: one of the scores listed above.

    Call: ``(query, keys, mask, step) -> weights`` with a 0/1 mask (batch, memory_length), step (batch, queries), the
    index of the target token, which only local attention uses, and weights (batch, queries, memory_length).
    """

    def __init__(self, score: HybridBlock, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.score = score

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        """Compute the keys of a memory, once per sentence."""
        return self.score.keys(F, memory)

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor, mask: Tensor, step: Tensor | None) -> Tensor:
        masked = F.broadcast_add(self.score(query, keys), F.expand_dims(additive_mask(mask), axis=1))
        return F.softmax(masked, axis=-1)
