"""The LSTMN against the equations of Cheng et al. (2016), step by step in NumPy and in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd
from mxnet.gluon import HybridBlock

from gluon_attn.errors import UsageError
from gluon_attn.models.lstmn import LSTMN
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from tests.gluon_attn.support import (
    array,
    check_numeric_gradients,
    dense,
    initialize,
    normal,
    parameters_of,
    sigmoid,
    softmax,
)

UNITS, IN, HIDDEN, BATCH, STEPS = 3, 4, 5, 2, 6
Weights = dict[str, np.ndarray]


class Reading(HybridBlock):
    """``LSTMN.unroll`` as a block: (sequence, *state) -> (states, weights, *state)."""

    def __init__(self, window: int, steps: int = STEPS) -> None:
        super().__init__()
        self.steps = steps
        with self.name_scope():
            self.lstmn = LSTMN(UNITS, IN, window, HIDDEN)

    def hybrid_forward(self, F: Any, sequence: Any, *state: Any) -> tuple[Any, ...]:
        states, weights, after = self.lstmn.unroll(F, sequence, self.steps, state or None)
        return states, weights, *after


def reading(window: int, steps: int = STEPS, dtype: str = "float32") -> Reading:
    block = Reading(window, steps)
    block.cast(dtype)
    initialize(block, array(normal(BATCH, steps, IN), dtype))
    return block


def fresh(window: int, dtype: str = "float32") -> list[nd.NDArray]:
    return [nd.zeros(shape, dtype=dtype) for shape in LSTMN(UNITS, IN, window).state_shapes(BATCH)]


def plain_lstmn(w: Weights, sequence: np.ndarray, window: int | None) -> tuple[np.ndarray, list[np.ndarray]]:
    """States (steps, units) of one sequence and the weights of each step over the memories it attends to, oldest first.

    All memories where ``window`` is None, as in the paper (eq. 4 to 9).
    """
    h_tape: list[np.ndarray] = []
    c_tape: list[np.ndarray] = []
    attended, weights = np.zeros(UNITS), []
    for x in sequence:
        seen = range(len(h_tape))[-window if window else None :]
        scores = [
            w["attention.score.weight"][0]
            @ np.tanh(
                w["attention.key.weight"] @ h_tape[i]
                + w["attention.word.weight"] @ x
                + w["attention.attended.weight"] @ attended
            )
            for i in seen
        ]
        weights.append(softmax(np.array(scores)) if scores else np.zeros(0))
        attended = sum((s * h_tape[i] for s, i in zip(weights[-1], seen, strict=True)), np.zeros(UNITS))
        adaptive = sum((s * c_tape[i] for s, i in zip(weights[-1], seen, strict=True)), np.zeros(UNITS))
        gates = w["lstm.i2h.weight"] @ x + w["lstm.i2h.bias"] + w["lstm.h2h.weight"] @ attended
        i, f, o, g = np.split(gates, 4)
        c_tape.append(sigmoid(f) * adaptive + sigmoid(i) * np.tanh(g))
        h_tape.append(sigmoid(o) * np.tanh(c_tape[-1]))
    return np.array(h_tape), weights


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("carried", [False, True], ids=["no state", "zeros for a state"])
@pytest.mark.parametrize("window", [1, 2, 3, STEPS - 1, STEPS, STEPS + 3])
def test_states_and_weights_match_the_equations(window: int, carried: bool, hybridized: bool) -> None:
    block = reading(window)
    block.hybridize(hybridized)
    sequence = normal(BATCH, STEPS, IN, seed=3)
    states, weights, *after = (one.asnumpy() for one in block(array(sequence), *(fresh(window) if carried else [])))
    assert weights.shape == (BATCH, STEPS, window) and len(after) == (3 if carried else 0)
    w = parameters_of(block.lstmn)
    for row in range(BATCH):
        expected, expected_weights = plain_lstmn(w, sequence[row].astype(np.float64), window)
        np.testing.assert_allclose(states[row], expected, rtol=1e-4, atol=1e-6)
        for t in range(STEPS):
            # Position j is the state of step t - window + j.
            assert (weights[row, t, : window - len(expected_weights[t])] == 0).all()
            np.testing.assert_allclose(
                weights[row, t, window - len(expected_weights[t]) :], expected_weights[t], rtol=1e-4, atol=1e-6
            )
    np.testing.assert_allclose(weights[:, 1:].sum(axis=2), 1.0, rtol=1e-5)
    assert (weights[:, 0] == 0).all()


def test_a_window_as_long_as_the_text_equals_the_paper_s_unbounded_tape() -> None:
    sequence = normal(BATCH, STEPS, IN, seed=3)
    for window, same in ((STEPS - 1, True), (STEPS + 4, True), (STEPS - 2, False)):
        block = reading(window)
        w = parameters_of(block.lstmn)
        states = block(array(sequence))[0].asnumpy()
        unbounded = np.array([plain_lstmn(w, one.astype(np.float64), None)[0] for one in sequence])
        assert np.allclose(states, unbounded, rtol=1e-4, atol=1e-6) is same


def test_a_tape_of_one_state_is_a_plain_lstm() -> None:
    """All weight is on the previous state: h~ and c~ are its h and c."""
    block = reading(1)
    sequence = array(normal(BATCH, STEPS, IN, seed=3))
    hidden = cell = nd.zeros((BATCH, UNITS))
    expected = []
    for t in range(STEPS):
        hidden, cell = block.lstmn.lstm(block.lstmn.lstm.inputs(sequence[:, t]), hidden, cell)
        expected.append(hidden)
    np.testing.assert_allclose(block(sequence)[0].asnumpy(), nd.stack(*expected, axis=1).asnumpy(), rtol=1e-5)


@settings(max_examples=12)
@given(window=st.integers(1, 6), cuts=st.lists(st.integers(1, 5), min_size=2, max_size=4), seed=st.integers(0, 99))
def test_calls_with_carried_state_equal_one_long_call(window: int, cuts: list[int], seed: int) -> None:
    total = sum(cuts)
    sequence = normal(BATCH, total, IN, seed=seed)
    block = reading(window, total)
    states, weights, *last = (one.asnumpy() for one in block(array(sequence), *fresh(window)))
    state, start = fresh(window), 0
    for steps in cuts:
        block.steps = steps
        some, some_weights, *state = block(array(sequence[:, start : start + steps]), *state)
        np.testing.assert_allclose(some.asnumpy(), states[:, start : start + steps], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(some_weights.asnumpy(), weights[:, start : start + steps], rtol=1e-4, atol=1e-6)
        start += steps
    for ours, theirs in zip(state, last, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-4, atol=1e-6)


def test_the_state_is_the_tape_its_mask_and_the_last_summary() -> None:
    window = STEPS + 1
    block = reading(window)
    states, _, tape, known, attended = (one.asnumpy() for one in block(array(normal(BATCH, STEPS, IN)), *fresh(window)))
    np.testing.assert_array_equal(tape[:, 1:, :UNITS], states)
    assert (tape[:, 0] == 0).all() and known.tolist() == [[0] + [1] * STEPS] * BATCH
    assert tape.shape == (BATCH, window, 2 * UNITS) and attended.shape == (BATCH, UNITS)


@pytest.mark.parametrize("window", [2, STEPS])
def test_gradients_match_finite_differences(window: int) -> None:
    """With respect to words, parameters, and the carried state."""
    block = reading(window, dtype="float64")
    _, _, *state = block(array(normal(BATCH, STEPS, IN, seed=9), "float64"), *fresh(window, "float64"))
    tape, known, attended = state
    wanted = array(normal(BATCH, STEPS, UNITS, seed=5), "float64")
    inputs = [array(normal(BATCH, STEPS, IN, seed=3), "float64"), tape, known, attended]

    class Known(HybridBlock):
        """The mask of the tape is not differentiable."""

        def __init__(self) -> None:
            super().__init__()
            self.block = block

        def forward(self, sequence: nd.NDArray, tape: nd.NDArray, attended: nd.NDArray) -> tuple[nd.NDArray, ...]:
            return tuple(block(sequence, tape, known, attended))

    check_numeric_gradients(Known(), [inputs[0], tape, attended], lambda states, *_: (states * wanted).sum(), checks=4)


def test_a_gradient_reaches_every_parameter_and_none_comes_from_the_previous_call() -> None:
    """One word has nothing to attend to: the gradients of the attention are 0, not those of the previous call."""
    block = reading(3)
    block.hybridize()
    results = []
    for steps in (STEPS, 1):
        block.steps = steps
        block.hybridize()
        with autograd.record():
            total = (block(array(normal(BATCH, steps, IN)))[0] ** 2).sum()
        total.backward()
        results.append({name: dense(one.grad()) for name, one in named_parameters(block)})
    assert min(np.abs(gradient).max() for gradient in results[0].values()) > 1e-6
    assert all((results[1][name] == 0).all() for name in results[1] if ".attention." in name)
    assert np.abs(results[1]["lstmn.lstm.i2h.weight"]).max() > 1e-6


@pytest.mark.parametrize("hybridized", [False, True])
def test_weights_and_final_state_pass_no_gradient(hybridized: bool) -> None:
    block = reading(3)
    block.hybridize(hybridized)
    gradients = []
    for share in (0.0, 100.0):
        sequence = array(normal(BATCH, STEPS, IN))
        sequence.attach_grad()
        with autograd.record():
            states, weights, *after = block(sequence, *fresh(3))
            total = states.sum() + share * (weights.square().sum() + nd.add_n(*(one.sum() for one in after)))
        total.backward()
        gradients.append(sequence.grad.asnumpy())
    assert np.abs(gradients[0]).max() > 1e-3
    np.testing.assert_array_equal(*gradients)


def test_later_words_change_no_earlier_state() -> None:
    block = reading(3)
    sequence = normal(BATCH, STEPS, IN)
    states = block(array(sequence))[0].asnumpy()
    for position in range(STEPS):
        changed = sequence.copy()
        changed[:, position] += 1
        moved = np.abs(block(array(changed))[0].asnumpy() - states).max(axis=(0, 2))
        assert (moved[:position] == 0).all() and (moved[position:] > 1e-5).all()


def test_a_tape_without_slots_is_refused() -> None:
    with pytest.raises(UsageError, match="window must be 1 or more, not 0"):
        LSTMN(UNITS, IN, 0)


def test_parameter_counts_of_the_paper() -> None:
    """300 units: 4 gates of 300 x (300 + 300) and their biases, three maps of 300 x 300 and v; nothing is allocated."""
    assert parameter_count(LSTMN(300, 300)) == 4 * 300 * 600 + 1200 + 3 * 300 * 300 + 300


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("window", [2, STEPS])
def test_the_lstmn_equals_the_same_network_in_torch(window: int, hybridized: bool) -> None:
    """The PyTorch version uses growing lists; states, and the gradient of every parameter."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")
    block = reading(window)
    block.hybridize(hybridized)
    sequence = normal(BATCH, STEPS, IN, seed=3)
    with autograd.record():
        states, *_ = block(array(sequence))
        total = (states * array(normal(BATCH, STEPS, UNITS, seed=8))).sum()
    total.backward()

    w = {name: torch.tensor(one.data().asnumpy(), requires_grad=True) for name, one in named_parameters(block.lstmn)}
    attended = adaptive = torch.zeros(BATCH, UNITS)
    h_tape: list[Any] = []
    c_tape: list[Any] = []
    for x in torch.tensor(sequence).unbind(1):
        if h_tape:
            query = x @ w["attention.word.weight"].T + attended @ w["attention.attended.weight"].T
            memories = torch.stack(h_tape[-window:], 1)
            scores = torch.tanh(memories @ w["attention.key.weight"].T + query[:, None]) @ w["attention.score.weight"].T
            weights = scores.softmax(1)
            attended, adaptive = (weights * memories).sum(1), (weights * torch.stack(c_tape[-window:], 1)).sum(1)
        gates = x @ w["lstm.i2h.weight"].T + w["lstm.i2h.bias"] + attended @ w["lstm.h2h.weight"].T
        i, f, o, g = gates.chunk(4, 1)
        c_tape.append(f.sigmoid() * adaptive + i.sigmoid() * g.tanh())
        h_tape.append(o.sigmoid() * c_tape[-1].tanh())
    theirs = torch.stack(h_tape, 1)
    np.testing.assert_allclose(states.asnumpy(), theirs.detach().numpy(), rtol=1e-4, atol=1e-6)
    (theirs * torch.tensor(normal(BATCH, STEPS, UNITS, seed=8))).sum().backward()
    for name, parameter in named_parameters(block.lstmn):
        expected = w[name].grad.numpy()
        assert np.abs(expected).max() > 1e-5, f"{name}: nothing is compared"
        np.testing.assert_allclose(dense(parameter.grad()), expected, rtol=1e-3, atol=2e-6, err_msg=name)
