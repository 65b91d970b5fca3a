"""Blocks that several decoders share."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn
from mxnet.initializer import LSTMBias

from gluon_attn.typing import Operators, Tensor, Tensors


def unstack(F: Operators, sequence: Tensor, steps: int) -> list[Tensor]:
    """The time steps of (batch, steps, units) as a list of (batch, units)."""
    if steps == 1:
        return [F.reshape(sequence, (-3, 0))]
    return list(F.split(sequence, num_outputs=steps, axis=1, squeeze_axis=True))


class StepGRU(HybridBlock):
    """One step of a gated recurrent unit that reads a token and a context (Bahdanau et al., 2015, appendix A.1.1).

        z, r = sigmoid(W [e, c] + U s)    proposal = tanh(W [e, c] + U (r * s))    s' = s + z * (proposal - s)

    Args:
        units: width of the state.
        in_units: width of a token's embedding e.
        context_units: width of the vectors of which the context c is a weighted sum; 0 for a unit without context.

    The call is for one step: ``(state, gates_in, proposal_in[, weights, gates_of, proposal_of]) -> state`` with state
    (batch * beam, units), gates_in and proposal_in one step of :meth:`inputs`; of the context weights (batch, beam,
    memory_length) and what :meth:`contexts` gives.
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
        """The tokens' part, for all steps at once: embedded (batch, steps, in_units)."""
        return self.gates_in(embedded), self.proposal_in(embedded)

    def contexts(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """The memory's part, once for a sentence: memory (batch, memory_length, context_units)."""
        return self.gates_of(memory), self.proposal_of(memory)

    def hybrid_forward(
        self,
        F: Operators,
        state: Tensor,
        gates_in: Tensor,
        proposal_in: Tensor,
        weights: Tensor = None,
        gates_of: Tensor = None,
        proposal_of: Tensor = None,
    ) -> Tensor:
        if weights is not None:
            gates_in = gates_in + F.reshape(F.batch_dot(weights, gates_of), (-3, 0))
            proposal_in = proposal_in + F.reshape(F.batch_dot(weights, proposal_of), (-3, 0))
        gates = F.Activation(gates_in + self.gates(state), act_type="sigmoid")
        update = F.slice_axis(gates, axis=1, begin=0, end=self._units)
        reset = F.slice_axis(gates, axis=1, begin=self._units, end=None)
        proposal = proposal_in + self.proposal(reset * state)
        return state + update * (F.Activation(proposal, act_type="tanh") - state)


class StepLSTM(HybridBlock):
    """One step of a long short-term memory with forget gate, without peepholes (the equations of MXNet's LSTM).

        i, f, o = sigmoid(W x + U [h, fed] + b)    g = tanh(W x + U [h, fed] + b)    c' = f c + i g    h' = o tanh(c')

    The rows of the weights stand in the order i, f, o, g, and there is one bias, where MXNet's layer has i, f, g, o and
    two. The forget gate begins open, with a bias of 1 (Jozefowicz et al., 2015).

    Args:
        units: width of the state.
        in_units: width of the input.
        fed_units: width of what is fed back from the step before, 0 for nothing.

    The call is for one step: ``(inputs, hidden, cell[, fed]) -> (hidden, cell)`` with inputs one step of :meth:`inputs`
    and hidden, cell (batch, units), fed (batch, fed_units).
    """

    def __init__(self, units: int, in_units: int, fed_units: int = 0, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._units = units
        with self.name_scope():
            self.i2h = nn.Dense(4 * units, bias_initializer=LSTMBias(1.0), flatten=False, in_units=in_units)
            self.h2h = nn.Dense(4 * units, use_bias=False, in_units=units + fed_units)

    def inputs(self, sequence: Tensor) -> Tensor:
        """The input's part of the gates, for all steps at once or for one: (..., in_units)."""
        return self.i2h(sequence)

    def hybrid_forward(
        self, F: Operators, inputs: Tensor, hidden: Tensor, cell: Tensor, fed: Tensor = None
    ) -> tuple[Tensor, Tensor]:
        before = hidden if fed is None else F.concat(hidden, fed, dim=1)
        gates = inputs + self.h2h(before)
        # Input, forget and output gate side by side are one sigmoid; the proposal stands behind them.
        opened = F.Activation(F.slice_axis(gates, axis=1, begin=0, end=3 * self._units), act_type="sigmoid")
        proposal = F.Activation(F.slice_axis(gates, axis=1, begin=3 * self._units, end=None), act_type="tanh")
        # Three slices cost a quarter of a split.
        let_in, keep, let_out = (
            F.slice_axis(opened, axis=1, begin=i * self._units, end=(i + 1) * self._units) for i in range(3)
        )
        cell = keep * cell + let_in * proposal
        return let_out * F.Activation(cell, act_type="tanh"), cell


def _maps(units: int, in_units: tuple[int, ...]) -> nn.HybridSequential:
    """A linear map for each width; the first has the bias."""
    maps = nn.HybridSequential()
    with maps.name_scope():
        for index, width in enumerate(in_units):
            maps.add(nn.Dense(units, use_bias=index == 0, flatten=False, in_units=width))
    return maps


def _added(maps: nn.HybridSequential, arrays: Tensors) -> Tensor:
    total, *rest = (one(array) for one, array in zip(maps, arrays, strict=True))
    for part in rest:
        total = total + part
    return total
