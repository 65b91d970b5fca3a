"""Local attention: a decoder step attends to a window of the source around one position (Luong et al., 2015, sec. 3.2).

    local-m    p_t = t                                weights = softmax over s in the window
    local-p    p_t = S sigmoid(v . tanh(W q))         times exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2

The window is [p_t - D, p_t + D], clipped at the ends of the sentence; weights outside it are 0. Positions count from 0
in the order of the source sentence, even if the encoder reads it reversed.

Both blocks are called like :class:`~gluon_attn.attention.global_attention.GlobalAttention`: ``(query, keys, mask,
step) -> weights``, with the same shapes and the same scores.
"""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import additive_mask
from gluon_attn.errors import UsageError
from gluon_attn.typing import Operators, Tensor


class MonotonicAttention(HybridBlock):
    """*local-m*: softmax over a window centred at p_t = t, or at the last token if the source is shorter than t.

    Args:
        score: a score, see :mod:`gluon_attn.attention.global_attention`.
        radius: D, half the width of the window in tokens; 0 for a window of one token.

    Raises:
        UsageError: if the radius is negative.
    """

    def __init__(self, score: HybridBlock, radius: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        if radius < 0:
            raise UsageError(f"radius must be 0 or more, not {radius}")
        self._radius = radius
        with self.name_scope():
            self.score = score

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        return self.score.keys(F, memory)

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor, mask: Tensor, step: Tensor) -> Tensor:
        last = F.sum(mask, axis=1, keepdims=True) - 1.0
        distance = _distance(F, mask, F.broadcast_minimum(step, last))
        window = F.broadcast_mul(distance <= self._radius, F.expand_dims(mask, axis=1))
        return F.softmax(self.score(query, keys) + additive_mask(window), axis=-1)


class PredictiveAttention(HybridBlock):
    """*local-p*: p_t = S sigmoid(v . tanh(W q)) for a sentence of S tokens (eq. 9), and a softmax over the window
    times exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2 (eq. 10). These weights do not sum to 1.

    Here p_t is between 0 and S - 1, because positions count from 0; in the paper it is between 0 and S.

    Args:
        score: a score, see :mod:`gluon_attn.attention.global_attention`.
        radius: D, half the width of the window in tokens.
        query_units: width of the query.

    Raises:
        UsageError: if the radius is below 1.
    """

    def __init__(self, score: HybridBlock, radius: int, query_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        if radius < 1:
            raise UsageError(f"radius must be 1 or more, not {radius}")
        self._radius = radius
        with self.name_scope():
            self.score = score
            self.hidden = nn.Dense(query_units, activation="tanh", use_bias=False, flatten=False, in_units=query_units)
            self.place = nn.Dense(1, activation="sigmoid", use_bias=False, flatten=False, in_units=query_units)

    def keys(self, F: Operators, memory: Tensor) -> Tensor:
        return self.score.keys(F, memory)

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor, mask: Tensor, step: Tensor) -> Tensor:
        last = F.sum(mask, axis=1, keepdims=True) - 1.0
        center = F.broadcast_mul(F.reshape(self.place(self.hidden(query)), (0, -1)), last)
        distance = _distance(F, mask, center)
        # The edges of the window have no gradient with respect to p_t; the Gaussian has one.
        window = F.broadcast_mul(F.BlockGrad(distance <= self._radius), F.expand_dims(mask, axis=1))
        weights = F.softmax(self.score(query, keys) + additive_mask(window), axis=-1)
        return weights * F.exp(-2.0 * F.square(distance / self._radius))


def _distance(F: Operators, mask: Tensor, center: Tensor) -> Tensor:
    """Distance of each position from ``center`` (batch, queries): (batch, queries, memory_length)."""
    positions = F.reshape(F.contrib.arange_like(mask, axis=1), (1, 1, -1))
    return F.abs(F.broadcast_sub(positions, F.expand_dims(center, axis=2)))
