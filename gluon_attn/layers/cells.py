"""Recurrent cells: one step of a decoder. Everything that does not depend on the step is computed beforehand.

Parameter names derive from attribute names, and the published hashes of parameters depend on them. That is why some
attributes are not named like their argument or their equation.
"""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn
from mxnet.initializer import LSTMBias

from gluon_attn.typing import Operators, Tensor


def unstack(F: Operators, sequence: Tensor, steps: int) -> list[Tensor]:
    """The time steps of (batch, steps, ...) as a list of (batch, ...)."""
    if steps == 1:
        return [F.reshape(sequence, (-3, -2))]
    return list(F.split(sequence, num_outputs=steps, axis=1, squeeze_axis=True))


class StepGRU(HybridBlock):
    """One step of a gated recurrent unit that reads a token and a context (Bahdanau et al., 2015, appendix A.1.1).

        z, r = sigmoid(W [e, c] + U s)    candidate = tanh(W [e, c] + U (r * s))    s' = s + z * (candidate - s)

    Args:
        units: width of the state.
        in_units: width of a token's embedding e.
        context_units: width of the context c, a weighted sum of memory vectors; 0 for a unit without context.

    Call, for one step: ``(state, embedding_gates, embedding_candidate[, weights, context_gates, context_candidate]) ->
    state``. The state is (batch * beam, units), the embedding arguments are one step of :meth:`inputs`, the context
    arguments come from :meth:`contexts`, and weights (batch, beam, memory_length) are those of the attention.
    """

    def __init__(self, units: int, in_units: int, context_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._units = units
        with self.name_scope():
            self.gates_in = nn.Dense(2 * units, flatten=False, in_units=in_units)
            self.proposal_in = nn.Dense(units, flatten=False, in_units=in_units)
            if context_units:
                self.gates_of = nn.Dense(2 * units, use_bias=False, flatten=False, in_units=context_units)
                self.proposal_of = nn.Dense(units, use_bias=False, flatten=False, in_units=context_units)
            self.gates = nn.Dense(2 * units, use_bias=False, in_units=units)
            self.proposal = nn.Dense(units, use_bias=False, in_units=units)

    def inputs(self, embedded: Tensor) -> tuple[Tensor, Tensor]:
        """Project the embeddings for gates and candidate, all steps at once: embedded (batch, steps, in_units)."""
        return self.gates_in(embedded), self.proposal_in(embedded)

    def contexts(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Project the memory for gates and candidate, once per sentence: (batch, memory_length, context_units)."""
        return self.gates_of(memory), self.proposal_of(memory)

    def hybrid_forward(
        self,
        F: Operators,
        state: Tensor,
        embedding_gates: Tensor,
        embedding_candidate: Tensor,
        weights: Tensor | None = None,
        context_gates: Tensor | None = None,
        context_candidate: Tensor | None = None,
    ) -> Tensor:
        input_gates, input_candidate = embedding_gates, embedding_candidate
        if weights is not None:
            # A projection of the context is the weighted sum of the projected memory.
            input_gates = input_gates + F.reshape(F.batch_dot(weights, context_gates), (-3, 0))
            input_candidate = input_candidate + F.reshape(F.batch_dot(weights, context_candidate), (-3, 0))
        state_gates = self.gates(state)
        gates = F.Activation(input_gates + state_gates, act_type="sigmoid")
        update_gate = F.slice_axis(gates, axis=1, begin=0, end=self._units)
        reset_gate = F.slice_axis(gates, axis=1, begin=self._units, end=None)
        candidate = F.Activation(input_candidate + self.proposal(reset_gate * state), act_type="tanh")
        return state + update_gate * (candidate - state)


class StepLSTM(HybridBlock):
    """One step of an LSTM with forget gate and without peepholes (the equations of MXNet's LSTM).

        i, f, o = sigmoid(W x + U [h, fed] + b)    g = tanh(W x + U [h, fed] + b)    c' = f c + i g    h' = o tanh(c')

    The rows of the weights are in the order i, f, o, g and there is one bias; MXNet's layer has the order i, f, g, o
    and two biases. The bias of the forget gate is initialised to 1 (Jozefowicz et al., 2015).

    Args:
        units: width of the state.
        in_units: width of the input.
        fed_units: width of the vector that is fed back from the previous step; 0 for none.

    Call, for one step: ``(inputs, hidden, cell[, fed]) -> (hidden, cell)`` with inputs one step of :meth:`inputs`,
    hidden and cell (batch, units), fed (batch, fed_units).
    """

    def __init__(self, units: int, in_units: int, fed_units: int = 0, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._units = units
        with self.name_scope():
            self.i2h = nn.Dense(4 * units, bias_initializer=LSTMBias(1.0), flatten=False, in_units=in_units)
            self.h2h = nn.Dense(4 * units, use_bias=False, in_units=units + fed_units)

    def inputs(self, sequence: Tensor) -> Tensor:
        """Project the inputs for the gates, all steps at once or a single one: (..., in_units)."""
        return self.i2h(sequence)

    def hybrid_forward(
        self, F: Operators, inputs: Tensor, hidden: Tensor, cell: Tensor, fed: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        previous = hidden if fed is None else F.concat(hidden, fed, dim=1)
        gates = inputs + self.h2h(previous)
        # Input, forget and output gate are adjacent, so that one sigmoid computes them; the candidate is last.
        sigmoids = F.Activation(F.slice_axis(gates, axis=1, begin=0, end=3 * self._units), act_type="sigmoid")
        candidate = F.Activation(F.slice_axis(gates, axis=1, begin=3 * self._units, end=None), act_type="tanh")
        # Three slices take a quarter of the time of a split.
        input_gate, forget_gate, output_gate = (
            F.slice_axis(sigmoids, axis=1, begin=i * self._units, end=(i + 1) * self._units) for i in range(3)
        )
        cell = forget_gate * cell + input_gate * candidate
        return output_gate * F.Activation(cell, act_type="tanh"), cell
