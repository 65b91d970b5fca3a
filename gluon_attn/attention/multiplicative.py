"""Multiplicative attention: dot, general (Luong et al., 2015, sec. 3.1), scaled dot (Vaswani et al., 2017, eq. 1)."""

from __future__ import annotations

from typing import Any

from gluonnlp.model import DotProductAttentionCell
from mxnet.gluon import HybridBlock, nn

from gluon_attn.typing import Operators, Tensor


def dot(dropout: float = 0.0) -> DotProductAttentionCell:
    """score = q . k; query and key have the same width."""
    return DotProductAttentionCell(scaled=False, dropout=dropout)


def general(units: int, dropout: float = 0.0) -> DotProductAttentionCell:
    """score = (W q) . k, with ``units`` the width of the key; the query may be wider or narrower."""
    return DotProductAttentionCell(units, luong_style=True, scaled=False, use_bias=False, dropout=dropout)


def scaled_dot(dropout: float = 0.0) -> DotProductAttentionCell:
    """score = q . k / sqrt(width); query and key have the same width."""
    return DotProductAttentionCell(scaled=True, dropout=dropout)


class DotScore(HybridBlock):
    """q . k (Luong et al., 2015, sec. 3.1, *dot*); query and memory have the same width."""

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        return memory

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor) -> Tensor:
        scores = F.batch_dot(keys, F.transpose(query, axes=(0, 2, 1)))  # (batch, memory_length, queries)
        return F.transpose(scores, axes=(0, 2, 1))


class GeneralScore(DotScore):
    """q . (W k) (Luong et al., 2015, sec. 3.1, *general*).

    Args:
        query_units, memory_units: widths of what is compared.
    """

    def __init__(self, query_units: int, memory_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.key = nn.Dense(query_units, use_bias=False, flatten=False, in_units=memory_units)

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        return self.key(memory)
