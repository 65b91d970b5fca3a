"""Attention within one text, from a word to the memories before it (Cheng, Dong and Lapata, 2016, "Long short-term
memory-networks for machine reading", sec. 3.1)."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.typing import Operators, Tensor


class IntraAttention(HybridBlock):
    """a_i = v . tanh(W_h h_i + W_x x_t + W_h~ h~_{t-1}); weights = softmax over the memories i (eq. 4 and 5).

    Args:
        units: width of the hidden layer.
        in_units: width of a word x.
        state_units: width of a hidden state h and of h~, the weighted sum of them.

    Call, for one step: ``(query, keys[, gap]) -> weights`` with query (batch, units), the sum of W_x x_t of
    :meth:`words` and W_h~ h~_{t-1} of ``attended``; keys (batch, memories, units) of ``key``; gap (batch, memories),
    what is added to the scores so that a place without memory gets no weight; weights (batch, memories).
    """

    def __init__(self, units: int, in_units: int, state_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.word = nn.Dense(units, use_bias=False, flatten=False, in_units=in_units)
            self.attended = nn.Dense(units, use_bias=False, in_units=state_units)
            self.key = nn.Dense(units, use_bias=False, flatten=False, in_units=state_units)
            self.hidden = nn.Activation("tanh")
            self.score = nn.Dense(1, use_bias=False, flatten=False, in_units=units)

    def words(self, sequence: Tensor) -> Tensor:
        """W_x x, for all steps at once: sequence (batch, steps, in_units)."""
        return self.word(sequence)

    def hybrid_forward(self, F: Operators, query: Tensor, keys: Tensor, gap: Tensor = None) -> Tensor:
        # A product with ones repeats the query for every key; its backward pass is a product too, not a slow sum.
        ones = F.ones_like(F.slice_axis(keys, axis=2, begin=0, end=1))
        sums = F.batch_dot(ones, F.expand_dims(query, axis=1)) + keys
        score = F.reshape(self.score(self.hidden(sums)), (0, -1))
        return F.softmax(score if gap is None else score + gap, axis=-1)
