"""Multiplicative attention: dot, general (Luong et al., 2015, sec. 3.1), scaled dot (Vaswani et al., 2017, eq. 1)."""

from __future__ import annotations

from gluonnlp.model import DotProductAttentionCell


def dot(dropout: float = 0.0) -> DotProductAttentionCell:
    """score = q . k; query and key have the same width."""
    return DotProductAttentionCell(scaled=False, dropout=dropout)


def general(units: int, dropout: float = 0.0) -> DotProductAttentionCell:
    """score = (W q) . k, with ``units`` the width of the key; the query may be wider or narrower."""
    return DotProductAttentionCell(units, luong_style=True, scaled=False, use_bias=False, dropout=dropout)


def scaled_dot(dropout: float = 0.0) -> DotProductAttentionCell:
    """score = q . k / sqrt(width); query and key have the same width."""
    return DotProductAttentionCell(scaled=True, dropout=dropout)
