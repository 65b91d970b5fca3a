"""Pooling a sequence into one vector: attention with a learned query (Yang et al., 2016, eq. 5-7), mean, maximum."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import additive_mask
from gluon_attn.typing import Operators, Tensor


class AttentionPooling(HybridBlock):
    """u_t = tanh(W h_t + b); weights = softmax(u_t . u_w) over the tokens; context = weighted sum of the h_t.

    Args:
        units: width of the hidden layer.
        in_units: width of the states.

    Call: ``(states, mask) -> (context, weights)`` with states (batch, length, in_units), 0/1 mask (batch, length),
    context (batch, in_units), weights (batch, length), zero on padding.
    """

    def __init__(self, units: int, in_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.hidden = nn.Dense(units, activation="tanh", flatten=False, in_units=in_units)
            self.score = nn.Dense(1, use_bias=False, flatten=False, in_units=units)

    def hybrid_forward(self, F: Operators, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        score = F.reshape(self.score(self.hidden(states)), (0, -1))
        weights = F.softmax(score + additive_mask(mask), axis=-1)
        context = F.batch_dot(F.expand_dims(weights, axis=1), states)
        return F.reshape(context, (0, -1)), weights


def mean_pooling(F: Operators, states: Tensor, mask: Tensor) -> Tensor:
    """Mean of the states (batch, length, units) over the tokens marked by ``mask`` (batch, length): (batch, units)."""
    total = F.reshape(F.batch_dot(F.expand_dims(mask, axis=1), states), (0, -1))
    return F.broadcast_div(total, F.sum(mask, axis=1, keepdims=True))


def max_pooling(F: Operators, states: Tensor, mask: Tensor) -> Tensor:
    """Maximum of the states (batch, length, units) over the tokens marked by ``mask`` (batch, length): (batch,
    units)."""
    return F.max(F.broadcast_add(states, F.expand_dims(additive_mask(mask), axis=2)), axis=1)
