"""Multiplicative attention: query and key are compared by a dot product.

    dot         q . k                  Luong et al. (2015), sec. 3.1
    general     q . (W k)              Luong et al. (2015), sec. 3.1
    scaled dot  q . k / sqrt(width)    Vaswani et al. (2017), eq. 1

Luong et al.'s third score, *concat*, is :class:`~gluon_attn.attention.additive.AdditiveScore` without bias.
:func:`dot`, :func:`general` and :func:`scaled_dot` return GluonNLP cells; :class:`DotScore` and :class:`GeneralScore`
are the first two as scores for decoders.
"""

from __future__ import annotations

from typing import Any

from gluonnlp.model import DotProductAttentionCell
from mxnet.gluon import HybridBlock, nn

from gluon_attn.typing import Operators, Tensor


def dot(dropout: float = 0.0) -> DotProductAttentionCell:
    """q . k (Luong et al., 2015, sec. 3.1); query and key have the same width. ``dropout`` applies to the weights."""
    return DotProductAttentionCell(scaled=False, dropout=dropout)


def general(units: int, dropout: float = 0.0) -> DotProductAttentionCell:
    """(W q) . k (Luong et al., 2015, sec. 3.1); ``units`` is the width of the key, the query may have another width."""
    return DotProductAttentionCell(units, luong_style=True, scaled=False, use_bias=False, dropout=dropout)


def scaled_dot(dropout: float = 0.0) -> DotProductAttentionCell:
    """q . k / sqrt(width) (Vaswani et al., 2017, eq. 1); query and key have the same width."""
    return DotProductAttentionCell(scaled=True, dropout=dropout)


class DotScore(HybridBlock):
    """q . k (Luong et al., 2015, sec. 3.1, *dot*); query and memory have the same width.

    Shapes: query (batch, queries, units), memory and keys (batch, memory_length, units), scores (batch, queries,
    memory_length).
    """

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        return memory

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor) -> Tensor:
        scores = F.batch_dot(keys, F.transpose(query, axes=(0, 2, 1)))  # (batch, memory_length, queries)
        return F.transpose(scores, axes=(0, 2, 1))


class GeneralScore(DotScore):
    """q . (W k) (Luong et al., 2015, sec. 3.1, *general*): :class:`DotScore` with projected keys.

    Args:
        query_units, memory_units: widths of query and memory.
    """

    def __init__(self, query_units: int, memory_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.key = nn.Dense(query_units, use_bias=False, flatten=False, in_units=memory_units)

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        """Project the keys, W k, once per sentence."""
        return self.key(memory)
