"""The cells of decoders against their equations in NumPy and, where it has the same cell, against MXNet."""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd
from mxnet.gluon import HybridBlock, rnn

from gluon_attn.layers.cells import StepGRU, StepLSTM, unstack
from gluon_attn.layers.readout import MaxoutReadout, TanhReadout
from tests.gluon_attn.support import (
    array,
    check_numeric_gradients,
    every_parameter_learns,
    initialize,
    normal,
    parameters_of,
    sigmoid,
)

UNITS, IN, CONTEXT, MEMORY, STEPS, BATCH = 3, 4, 5, 6, 2, 2


# --- steps of a sequence ---


@pytest.mark.parametrize("shape", [(4,), (2, 4)])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_each_step_is_one_slice_of_the_sequence_eager_and_as_symbols(steps: int, shape: tuple[int, ...]) -> None:
    sequence = normal(3, steps, *shape)
    eager = unstack(nd, array(sequence), steps)
    symbols = unstack(mx.sym, mx.sym.var("sequence"), steps)
    assert len(eager) == len(symbols) == steps
    for i, (one, symbol) in enumerate(zip(eager, symbols, strict=True)):
        np.testing.assert_array_equal(one.asnumpy(), sequence[:, i])
        (run,) = symbol.eval(sequence=array(sequence), ctx=mx.cpu())
        np.testing.assert_array_equal(run.asnumpy(), sequence[:, i])


# --- GRU with a context ---


class GRUOverSteps(HybridBlock):
    """Two decoder steps: inputs and contexts are projected once, then step after step."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.gru = StepGRU(UNITS, IN, CONTEXT)

    def hybrid_forward(self, F: Any, embedded: Any, memory: Any, weights: Any, state: Any) -> tuple[Any]:
        contexts = self.gru.contexts(memory)
        inputs = [unstack(F, part, STEPS) for part in self.gru.inputs(embedded)]
        states = []
        for step_weights, *step_inputs in zip(unstack(F, weights, STEPS), *inputs, strict=True):
            state = self.gru(state, *step_inputs, F.expand_dims(step_weights, axis=1), *contexts)
            states.append(state)
        return (F.stack(*states, axis=1),)


def gru_arguments(dtype: str = "float32") -> list[nd.NDArray]:
    weights = np.abs(normal(BATCH, STEPS, MEMORY, seed=3))
    return [
        array(normal(BATCH, STEPS, IN, seed=1), dtype),
        array(normal(BATCH, MEMORY, CONTEXT, seed=2), dtype),
        array(weights / weights.sum(axis=2, keepdims=True), dtype),
        array(normal(BATCH, UNITS, seed=4), dtype),
    ]


@pytest.mark.parametrize("hybridized", [False, True])
def test_the_gru_is_that_of_bahdanau_with_a_context(hybridized: bool) -> None:
    """Appendix A.1.1 of the paper, matrix by matrix.

    The reset gate applies to the state before the product, z is the share of the candidate, and the context is the
    weighted sum of the memory.
    """
    embedded, memory, weights, state = inputs = gru_arguments()
    block = initialize(GRUOverSteps(), *inputs)
    block.hybridize(hybridized, static_alloc=True, static_shape=True)
    states = block(*inputs)[0].asnumpy()
    w = parameters_of(block.gru)
    of_z, of_r = slice(0, UNITS), slice(UNITS, 2 * UNITS)
    for row in range(BATCH):
        s = state.asnumpy()[row].astype(np.float64)
        for i in range(STEPS):
            e = embedded.asnumpy()[row, i].astype(np.float64)
            c = sum(weights.asnumpy()[row, i, j] * memory.asnumpy()[row, j].astype(np.float64) for j in range(MEMORY))

            def gate(rows: slice, e: np.ndarray = e, s: np.ndarray = s, c: np.ndarray = c) -> np.ndarray:
                return sigmoid(
                    w["gates_in.weight"][rows] @ e
                    + w["gates.weight"][rows] @ s
                    + w["gates_of.weight"][rows] @ c
                    + w["gates_in.bias"][rows]
                )

            z, r = gate(of_z), gate(of_r)
            proposal = np.tanh(
                w["proposal_in.weight"] @ e
                + w["proposal_in.bias"]
                + w["proposal.weight"] @ (r * s)
                + w["proposal_of.weight"] @ c
            )
            s = (1 - z) * s + z * proposal
            np.testing.assert_allclose(states[row, i], s, rtol=1e-4, atol=1e-6)


def test_closed_and_open_gates_of_the_gru() -> None:
    """z = 0 keeps the state bit for bit; z = 1 and r = 0 forget it."""
    embedded, memory, weights, state = inputs = gru_arguments()
    block = initialize(GRUOverSteps(), *inputs)
    bias = block.gru.gates_in.bias
    bias.set_data(nd.full((2 * UNITS,), -1e4))
    np.testing.assert_array_equal(block(*inputs)[0].asnumpy()[:, -1], state.asnumpy())
    bias.set_data(nd.concat(nd.full((UNITS,), 1e4), nd.full((UNITS,), -1e4), dim=0))
    other = block(embedded, memory, weights, 5 - 3 * state)[0].asnumpy()
    np.testing.assert_allclose(other, block(*inputs)[0].asnumpy(), rtol=1e-5, atol=1e-6)


def test_gradients_of_the_gru_match_finite_differences() -> None:
    inputs = gru_arguments("float64")
    block = GRUOverSteps()
    block.cast("float64")
    initialize(block, *inputs)
    wanted = array(normal(BATCH, STEPS, UNITS, seed=5), "float64")
    check_numeric_gradients(block, inputs, lambda states: (states * wanted).sum())


# --- LSTM ---


class LSTMOverSteps(HybridBlock):
    """Two steps; what is fed back, if anything, is the previous hidden state in reverse order of its units."""

    def __init__(self, input_feeding: bool) -> None:
        super().__init__()
        self.input_feeding = input_feeding
        with self.name_scope():
            self.lstm = StepLSTM(UNITS, IN, UNITS if input_feeding else 0)

    def hybrid_forward(self, F: Any, sequence: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
        states = []
        for one in unstack(F, self.lstm.inputs(sequence), STEPS):
            fed = (F.reverse(hidden, axis=1),) if self.input_feeding else ()
            hidden, cell = self.lstm(one, hidden, cell, *fed)
            states.append(hidden)
        return F.stack(*states, axis=1), cell


def lstm_arguments(dtype: str = "float32") -> list[nd.NDArray]:
    return [
        array(normal(BATCH, STEPS, IN, seed=1), dtype),
        array(normal(BATCH, UNITS, seed=2), dtype),
        array(normal(BATCH, UNITS, seed=3), dtype),
    ]


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("input_feeding", [False, True])
def test_the_lstm_is_the_equation(input_feeding: bool, hybridized: bool) -> None:
    """i, f, o = sigmoid, candidate = tanh of W x + U [h, fed] + b; c' = f c + i candidate; h' = o tanh(c')."""
    sequence, hidden, cell = inputs = lstm_arguments()
    block = initialize(LSTMOverSteps(input_feeding), *inputs)
    block.hybridize(hybridized, static_alloc=True, static_shape=True)
    states, last = (output.asnumpy() for output in block(*inputs))
    w = parameters_of(block.lstm)
    for row in range(BATCH):
        h, c = (values.asnumpy()[row].astype(np.float64) for values in (hidden, cell))
        for i in range(STEPS):
            before = np.concatenate([h, h[::-1]]) if input_feeding else h
            gates = w["i2h.weight"] @ sequence.asnumpy()[row, i] + w["i2h.bias"] + w["h2h.weight"] @ before
            let_in, keep, let_out, proposal = np.split(gates, 4)
            c = sigmoid(keep) * c + sigmoid(let_in) * np.tanh(proposal)
            h = sigmoid(let_out) * np.tanh(c)
            np.testing.assert_allclose(states[row, i], h, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(last[row], c, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("input_feeding", [False, True])
def test_the_lstm_equals_the_cell_of_mxnet(input_feeding: bool) -> None:
    """The cell's gates are in another order (input, forget, candidate, output), and it has a second bias; what is fed
    back is part of its input.
    """
    sequence, hidden, cell = inputs = lstm_arguments()
    block = initialize(LSTMOverSteps(input_feeding), *inputs)
    states, last = block(*inputs)

    theirs = rnn.LSTMCell(UNITS, input_size=IN + (UNITS if input_feeding else 0))
    theirs.initialize()
    w = parameters_of(block.lstm)
    order = np.concatenate([np.arange(gate * UNITS, (gate + 1) * UNITS) for gate in (0, 1, 3, 2)])
    fed_part = w["h2h.weight"][:, UNITS:]
    theirs.i2h_weight.set_data(array(np.concatenate([w["i2h.weight"], fed_part], axis=1)[order], "float32"))
    theirs.h2h_weight.set_data(array(w["h2h.weight"][:, :UNITS][order], "float32"))
    theirs.i2h_bias.set_data(array(w["i2h.bias"][order], "float32"))
    for i in range(STEPS):
        fed = [nd.reverse(hidden, axis=1)] if input_feeding else []
        hidden, (_, cell) = theirs(nd.concat(sequence[:, i], *fed, dim=1), [hidden, cell])
        np.testing.assert_allclose(states[:, i].asnumpy(), hidden.asnumpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last.asnumpy(), cell.asnumpy(), rtol=1e-5, atol=1e-6)


def test_the_inputs_of_the_lstm_are_projected_alike_for_one_step_and_for_all() -> None:
    block = StepLSTM(UNITS, IN)
    sequence = lstm_arguments()[0]
    initialize(block, nd.zeros((1, 4 * UNITS)), nd.zeros((1, UNITS)), nd.zeros((1, UNITS)))
    at_once = block.inputs(sequence).asnumpy()
    for i in range(STEPS):
        np.testing.assert_allclose(block.inputs(sequence[:, i]).asnumpy(), at_once[:, i], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("input_feeding", [False, True])
def test_gradients_of_the_lstm_match_finite_differences(input_feeding: bool) -> None:
    inputs = lstm_arguments("float64")
    block = LSTMOverSteps(input_feeding)
    block.cast("float64")
    initialize(block, *inputs)
    wanted = array(normal(BATCH, STEPS, UNITS, seed=5), "float64")
    check_numeric_gradients(block, inputs, lambda states, cell: (states * wanted).sum() + (cell**2).sum())


# --- maxout ---

WIDTHS = (3, 5, 2)


def readout_arguments() -> list[nd.NDArray]:
    return [array(normal(BATCH, STEPS, width, seed=width)) for width in WIDTHS]


@pytest.mark.parametrize("hybridized", [False, True])
def test_the_maxout_readout_is_the_larger_of_two_sums(hybridized: bool) -> None:
    inputs = readout_arguments()
    block = initialize(MaxoutReadout(4, WIDTHS), *inputs)
    block.hybridize(hybridized)
    w = parameters_of(block)
    assert set(w) == {"maps.0.weight", "maps.0.bias", "maps.1.weight", "maps.2.weight"}
    total = sum(values.asnumpy() @ w[f"maps.{i}.weight"].T for i, values in enumerate(inputs)) + w["maps.0.bias"]
    pairs = total.reshape(BATCH, STEPS, 2, 4)
    assert (pairs.argmax(axis=2) == 0).any() and (pairs.argmax(axis=2) == 1).any()
    np.testing.assert_allclose(block(*inputs).asnumpy(), pairs.max(axis=2), rtol=1e-4, atol=1e-6)


def test_the_tanh_readout_is_the_tanh_of_the_sum() -> None:
    inputs = readout_arguments()
    block = initialize(TanhReadout(4, WIDTHS), *inputs)
    w = parameters_of(block)
    total = sum(values.asnumpy() @ w[f"maps.{i}.weight"].T for i, values in enumerate(inputs)) + w["maps.0.bias"]
    np.testing.assert_allclose(block(*inputs).asnumpy(), np.tanh(total), rtol=1e-4, atol=1e-6)


def test_a_gru_without_context_equals_a_zero_context() -> None:
    embedded, state = array(normal(BATCH, 1, IN, seed=1)), array(normal(BATCH, UNITS, seed=4))
    memory, weights = array(normal(BATCH, MEMORY, CONTEXT, seed=2)), nd.zeros((BATCH, 1, MEMORY))
    block = StepGRU(UNITS, IN, CONTEXT)
    block.initialize()
    inputs = [part[:, 0] for part in block.inputs(embedded)]
    expected = block(state, *inputs, weights, *block.contexts(memory)).asnumpy()
    np.testing.assert_allclose(block(state, *inputs).asnumpy(), expected, rtol=1e-6)
    assert not {"gates_of", "proposal_of"} & set(vars(StepGRU(UNITS, IN, 0)))


def test_the_readout_needs_one_array_per_map() -> None:
    block = initialize(MaxoutReadout(4, WIDTHS), *readout_arguments())
    with pytest.raises(ValueError):
        block(*readout_arguments()[:2])


@pytest.mark.parametrize("make", [GRUOverSteps, lambda: LSTMOverSteps(True), lambda: LSTMOverSteps(False)])
def test_a_gradient_reaches_every_parameter(make: Any) -> None:
    block = make()
    inputs = gru_arguments() if isinstance(block, GRUOverSteps) else lstm_arguments()
    largest = every_parameter_learns(initialize(block, *inputs), inputs)
    assert min(largest.values()) > 1e-4, largest
