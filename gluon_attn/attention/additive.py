"""Additive attention (Bahdanau et al., 2015, appendix A.1.2, equation for e_ij): score = v . tanh(W q + U k + b)."""

from __future__ import annotations

from typing import Any

from gluonnlp.model import MLPAttentionCell
from mxnet.gluon import nn

from gluon_attn.attention.masks import additive_mask


class AdditiveAttention(MLPAttentionCell):
    """GluonNLP's ``MLPAttentionCell`` with the sums of all pairs made by one matrix product.

    Same parameters, same results, same call: ``(query, key, value=None, mask=None) -> (context, weights)``. GluonNLP's
    cell adds every projected query to every projected key by ``broadcast_add``, whose backward pass sums over an axis
    at a tenth of the speed of a product. Here a constant 0/1 matrix selects one query and one key for each pair out of
    the stacked vectors; products with 0 and 1 are exact, so the sums are the same numbers.

    Args:
        units: width of the hidden layer.
        dropout: dropout of the weights.
        **parameters: ``normalized``, initializers, ``prefix`` and ``params`` of ``MLPAttentionCell``.

    Shapes: query (batch, query_length, query_units), key (batch, memory_length, key_units), value (batch,
    memory_length, value_units), mask (batch, query_length, memory_length) of 0/1; context (batch, query_length,
    value_units), weights (batch, query_length, memory_length).
    """

    def __init__(self, units: int, dropout: float = 0.0, **parameters: Any) -> None:
        # The default `act` of MLPAttentionCell is one block shared by every cell ever made.
        super().__init__(units, act=nn.Activation("tanh"), dropout=dropout, **parameters)

    def _compute_score(self, F: Any, query: Any, key: Any, mask: Any = None) -> Any:
        vectors = F.concat(self._query_mid_layer(query), self._key_mid_layer(key), dim=1)
        vectors = F.reshape(F.transpose(vectors, axes=(1, 0, 2)), (0, -3))  # (queries + memory, batch * units)
        selector = _pair_selector(F, query, key)  # (queries, memory, queries + memory)
        pairs = F.dot(F.reshape(selector, (-3, 0)), vectors)  # (queries * memory, batch * units)
        score = self._attention_score(self._act(F.reshape(pairs, (0, -1, self._units))))
        score = F.transpose(F.reshape(score, (0, -1)))  # (batch, queries * memory)
        score = F.reshape_like(score, selector, lhs_begin=1, lhs_end=2, rhs_begin=0, rhs_end=2)
        return score if mask is None else score + additive_mask(mask)


def _pair_selector(F: Any, query: Any, key: Any) -> Any:
    """The 0/1 tensor (query_length, memory_length, query_length + memory_length) that picks the two of each pair."""
    i = F.contrib.arange_like(query, axis=1)
    j = F.contrib.arange_like(key, axis=1)
    same_query = F.broadcast_equal(F.reshape(i, (-1, 1, 1)), F.reshape(i, (1, 1, -1)))
    same_key = F.broadcast_equal(F.reshape(j, (1, -1, 1)), F.reshape(j, (1, 1, -1)))
    same_query = F.broadcast_add(same_query, F.zeros_like(F.reshape(j, (1, -1, 1))))
    same_key = F.broadcast_add(same_key, F.zeros_like(F.reshape(i, (-1, 1, 1))))
    return F.BlockGrad(F.concat(same_query, same_key, dim=2))
