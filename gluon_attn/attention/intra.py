"""Intra-attention: a word attends to the memories of the words before it (Cheng, Dong and Lapata, 2016, "Long
short-term memory-networks for machine reading", sec. 3.1).

    a_i = v . tanh(W_h h_i + W_x x_t + W_h~ h~_{t-1})    weights = softmax over the memories i    (eq. 4 and 5)

The network that uses it is :class:`~gluon_attn.models.lstmn.LSTMN`.
"""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.typing import Operators, Tensor


class IntraAttention(HybridBlock):
    """Weights of one step over the memories before it (Cheng et al., 2016, eq. 4 and 5).

    Args:
        units: width of the hidden layer.
        in_units: width of a word vector x.
        state_units: width of a hidden state h and of h~, the weighted sum of hidden states.

    Call, for one step: ``(word, attended, keys[, masking]) -> weights``: word (batch, units), one step of
    :meth:`words`; attended (batch, state_units), h~ of the previous step; keys (batch, memories, units), see
    :meth:`keys`; masking (batch, memories), the :func:`~gluon_attn.attention.masks.additive_mask` of the existing
    memories; weights (batch, memories).
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
        """Project the words, W_x x, for all steps at once: sequence (batch, steps, in_units)."""
        return self.word(sequence)

    def keys(self, states: Tensor) -> Tensor:
        """Project the states, W_h h, once per memory: states (..., state_units)."""
        return self.key(states)

    def hybrid_forward(
        self, F: Operators, word: Tensor, attended: Tensor, keys: Tensor, masking: Tensor | None = None
    ) -> Tensor:
        query = word + self.attended(attended)
        # A product with ones repeats the query for every key; its backward pass is also a product, not a slow sum.
        ones = F.ones_like(F.slice_axis(keys, axis=2, begin=0, end=1))
        sums = F.batch_dot(ones, F.expand_dims(query, axis=1)) + keys
        scores = F.reshape(self.score(self.hidden(sums)), (0, -1))
        return F.softmax(scores if masking is None else scores + masking, axis=-1)
