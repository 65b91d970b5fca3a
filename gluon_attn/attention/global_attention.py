"""Attention of a decoder step: queries against a memory whose keys were projected once for the sentence.

A cell of GluonNLP projects the keys at every call. A decoder calls at every step, so here the two are apart: ``keys``
is called once for a sentence, the block itself at each step. Scores and weights equal those of GluonNLP's cells.

A sentence has one query in training, and in search one for each translation of its beam: they share the memory.

Shapes: memory (batch, memory_length, memory_units), keys (batch, memory_length, key_units), query (batch, queries,
query_units), scores (batch, queries, memory_length).
"""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import additive_mask
from gluon_attn.typing import Operators, Tensor


class LocationScore(HybridBlock):
    """W q, one score for each place, whatever stands there (Luong et al., 2015, eq. 8, *location*).

    Args:
        places: how many have a score of their own; those behind them get no weight.
        query_units: width of the query.
    """

    def __init__(self, places: int, query_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.place = nn.Dense(places, use_bias=False, flatten=False, in_units=query_units)

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        return memory

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor) -> Tensor:
        scores = self.place(query)
        nothing = F.BlockGrad(F.slice_axis(scores, axis=2, begin=0, end=1)) * 0.0
        nowhere = F.broadcast_like(nothing + _NOWHERE, keys, lhs_axes=(2,), rhs_axes=(1,))
        return F.slice_like(F.concat(scores, nowhere, dim=2), nowhere, axes=2)


_NOWHERE = -1e4  # far below any score, far above what masks padding


class GlobalAttention(HybridBlock):
    """Weights over the whole memory: the softmax of the scores (Luong et al., 2015, sec. 3.1).

    Args:
        score: one of the scores above.

    Call: ``(query, keys, mask, step) -> weights`` with mask (batch, memory_length) of 0/1 and step (batch, queries),
    the number of the target token, which only local attention reads; weights (batch, queries, memory_length).
    """

    def __init__(self, score: HybridBlock, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.score = score

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        return self.score.keys(F, memory)

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor, mask: Tensor, step: Tensor) -> Tensor:
        masked = F.broadcast_add(self.score(query, keys), F.expand_dims(additive_mask(mask), axis=1))
        return F.softmax(masked, axis=-1)
