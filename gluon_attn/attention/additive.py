"""Additive attention: query and key are compared by a hidden layer (Bahdanau et al., 2015, appendix A.1.2, e_ij).

    score = v . tanh(W q + U k + b)

:class:`AdditiveScore` is the score for decoders, :class:`AdditiveAttention` the same as a GluonNLP attention cell.
"""

from __future__ import annotations

from typing import Any

from gluonnlp.model import MLPAttentionCell
from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import additive_mask
from gluon_attn.typing import Operators, Tensor


class AdditiveScore(HybridBlock):
    """v . tanh(W q + U k + b) (Bahdanau et al., 2015, appendix A.1.2; Luong et al., 2015, sec. 3.1, *concat*).

    Args:
        units: width of the hidden layer.
        query_units, memory_units: widths of query and memory.
        use_bias: whether to add the bias b; neither paper has one, GluonNLP's ``MLPAttentionCell`` does.

    Shapes: query (batch, queries, query_units), memory (batch, memory_length, memory_units), keys (batch,
    memory_length, units), scores (batch, queries, memory_length).
    """

    def __init__(
        self, units: int, query_units: int, memory_units: int, use_bias: bool = True, **parameters: Any
    ) -> None:
        super().__init__(**parameters)
        self._units = units
        with self.name_scope():
            self.query = nn.Dense(units, use_bias=use_bias, flatten=False, in_units=query_units)  # W, b
            self.key = nn.Dense(units, use_bias=False, flatten=False, in_units=memory_units)  # U
            self.hidden = nn.Activation("tanh")
            self.value = nn.Dense(1, use_bias=False, flatten=False, in_units=units)  # v

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        """Project the keys, U k, once per sentence."""
        return self.key(memory)

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor) -> Tensor:
        # A product with ones repeats the queries for every key; its backward pass is also a product, not a slow sum.
        ones = F.ones_like(F.slice_axis(keys, axis=2, begin=0, end=1))
        repeated = F.batch_dot(ones, F.reshape(self.query(query), (0, 1, -1)))
        sums = F.broadcast_add(F.reshape(repeated, (0, 0, -1, self._units)), F.expand_dims(keys, axis=2))
        scores = F.reshape(self.value(self.hidden(sums)), (0, 0, -1))  # (batch, memory_length, queries)
        return F.transpose(scores, axes=(0, 2, 1))


class AdditiveAttention(MLPAttentionCell):
    """GluonNLP's ``MLPAttentionCell`` with the sums of all query-key pairs computed by one matrix product.

    Parameters, results and call are the same: ``(query, key, value=None, mask=None) -> (context, weights)``. GluonNLP's
    cell adds every projected query to every projected key by ``broadcast_add``, whose backward pass sums over an axis
    at a tenth of the speed of a product. Here a constant 0/1 matrix selects the query and the key of each pair from the
    stacked vectors. Products with 0 and 1 are exact, so the sums are identical.

    Args:
        units: width of the hidden layer.
        dropout: dropout rate of the weights.
        length: length of query and memory if it is fixed, else None. ``FullyConnected`` is twice as fast as ``dot``
            here, but needs its width when the graph is built.
        **parameters: ``normalized``, initializers, ``prefix`` and ``params`` of ``MLPAttentionCell``.

    Shapes: query (batch, query_length, query_units), key (batch, memory_length, key_units), value (batch,
    memory_length, value_units), mask (batch, query_length, memory_length) of 0/1; context (batch, query_length,
    value_units), weights (batch, query_length, memory_length).
    """

    def __init__(self, units: int, dropout: float = 0.0, length: int | None = None, **parameters: Any) -> None:
        # The default `act` of MLPAttentionCell is a single block that all cells share.
        super().__init__(units, act=nn.Activation("tanh"), dropout=dropout, **parameters)
        self._length = length

    def _compute_score(self, F: Operators, query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
        vectors = F.concat(self._query_mid_layer(query), self._key_mid_layer(key), dim=1)
        vectors = F.reshape(F.transpose(vectors, axes=(0, 2, 1)), (-3, 0))  # (batch * units, queries + memory)
        selector = _pair_selector(F, query, key)  # (queries, memory, queries + memory)
        pairs = self._product(F, vectors, F.reshape(selector, (-3, 0)))  # (batch * units, queries * memory)
        hidden = self._act(F.reshape(pairs, (-4, -1, self._units, 0, 1)))
        # The score layer is linear: its values at the unit vectors are its weights, normalized or not.
        weights = F.reshape(self._attention_score(F.eye(self._units, dtype=self._dtype)), (1, -1, 1, 1))
        score = F.Convolution(hidden, weights, no_bias=True, num_filter=1, kernel=(1, 1))
        score = F.reshape(score, (0, -1))  # (batch, queries * memory)
        score = F.reshape_like(score, selector, lhs_begin=1, lhs_end=2, rhs_begin=0, rhs_end=2)
        return score if mask is None else score + additive_mask(mask)

    def _product(self, F: Operators, vectors: Tensor, selector: Tensor) -> Tensor:
        if self._length is None:
            return F.dot(vectors, selector, transpose_b=True)
        return F.FullyConnected(vectors, selector, no_bias=True, num_hidden=self._length**2, flatten=False)


def _pair_selector(F: Operators, query: Tensor, key: Tensor) -> Tensor:
    """0/1 matrix (query_length, memory_length, query_length + memory_length) that selects query and key of each
    pair."""
    i = F.contrib.arange_like(query, axis=1)
    j = F.contrib.arange_like(key, axis=1)
    same_query = F.broadcast_equal(F.reshape(i, (-1, 1, 1)), F.reshape(i, (1, 1, -1)))
    same_key = F.broadcast_equal(F.reshape(j, (1, -1, 1)), F.reshape(j, (1, 1, -1)))
    same_query = F.broadcast_add(same_query, F.zeros_like(F.reshape(j, (1, -1, 1))))
    same_key = F.broadcast_add(same_key, F.zeros_like(F.reshape(i, (-1, 1, 1))))
    return F.BlockGrad(F.concat(same_query, same_key, dim=2))
