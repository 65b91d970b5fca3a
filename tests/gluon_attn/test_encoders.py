"""The bidirectional encoder is the textbook recurrence on each sentence alone, whatever it is padded with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet.gluon import rnn

from gluon_attn.checkpoint import named_parameters
from gluon_attn.encoders import BidirectionalEncoder
from tests.gluon_attn.support import array, every_parameter_learns, initialize, normal, training_pass

LENGTHS = [5, 1, 3]
KEYS = ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")


def encoder_of(cell: str, layers: int, dropout: float = 0.0) -> BidirectionalEncoder:
    block = BidirectionalEncoder(cell, units=3, layers=layers, in_units=4, dropout=dropout)
    return initialize(block, array(normal(1, 2, 4)), array([2], "float32"))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def recurrence(cell: str, weights: dict[str, np.ndarray], inputs: np.ndarray) -> np.ndarray:
    """States (length, units) of one layer in one direction; gates in the order of cuDNN."""
    units = weights["h2h_weight"].shape[1]
    state, memory = np.zeros(units), np.zeros(units)
    states = []
    for x in inputs:
        from_input = np.split(weights["i2h_weight"] @ x + weights["i2h_bias"], 4 if cell == "lstm" else 3)
        from_state = np.split(weights["h2h_weight"] @ state + weights["h2h_bias"], 4 if cell == "lstm" else 3)
        if cell == "lstm":
            i, f, candidate, o = (a + b for a, b in zip(from_input, from_state, strict=True))
            memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(candidate)
            state = sigmoid(o) * np.tanh(memory)
        else:
            reset = sigmoid(from_input[0] + from_state[0])
            update = sigmoid(from_input[1] + from_state[1])
            candidate = np.tanh(from_input[2] + reset * from_state[2])
            state = (1 - update) * candidate + update * state
        states.append(state)
    return np.array(states)


def expected_states(encoder: BidirectionalEncoder, cell: str, layers: int, sentence: np.ndarray) -> np.ndarray:
    parameters = {name: parameter.data().asnumpy().astype(np.float64) for name, parameter in named_parameters(encoder)}
    states = sentence.astype(np.float64)
    for layer in range(layers):
        ahead, behind = (
            {key: parameters[f"{direction}.{layer}._unfused.0.{key}"] for key in KEYS}
            for direction in ("forwards", "backwards")
        )
        states = np.concatenate([recurrence(cell, ahead, states), recurrence(cell, behind, states[::-1])[::-1]], axis=1)
    return states


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_is_the_recurrence_of_the_textbook(cell: str, layers: int) -> None:
    encoder = encoder_of(cell, layers)
    sequence = normal(3, 6, 4, seed=1)
    states, last = encoder(array(sequence), array(LENGTHS, "float32"))
    assert states.shape == (3, 6, 6) and last.shape == (3, 6)
    for row, tokens in enumerate(LENGTHS):
        expected = expected_states(encoder, cell, layers, sequence[row, :tokens])
        np.testing.assert_allclose(states.asnumpy()[row, :tokens], expected, rtol=1e-4, atol=1e-6)
        ends = np.concatenate([expected[-1, :3], expected[0, 3:]])
        np.testing.assert_allclose(last.asnumpy()[row], ends, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    extra=st.integers(1, 9),
    magnitude=st.sampled_from([1.0, 1e3]),
)
def test_padding_twice_as_far_changes_nothing(cell: str, lengths: list[int], extra: int, magnitude: float) -> None:
    encoder = encoder_of(cell, layers=2)
    width = max(lengths) + extra
    sequence = magnitude * normal(len(lengths), width, 4, seed=2)
    for row, tokens in enumerate(lengths):
        sequence[row, :tokens] = normal(tokens, 4, seed=row)
    states, last = encoder(array(sequence), array(lengths, "float32"))
    for row, tokens in enumerate(lengths):
        alone, its_last = encoder(array(sequence[row : row + 1, :tokens]), array([tokens], "float32"))
        np.testing.assert_allclose(states.asnumpy()[row, :tokens], alone.asnumpy()[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(last.asnumpy()[row], its_last.asnumpy()[0], rtol=1e-4, atol=1e-6)


def test_a_fused_bidirectional_layer_does_read_its_padding() -> None:
    """Why this encoder exists: the property above is false of MXNet's own layer."""
    layer = initialize(rnn.GRU(3, bidirectional=True, input_size=4), array(normal(2, 1, 4)))
    sentence = normal(3, 1, 4, seed=1)
    padded = np.concatenate([sentence, np.zeros((4, 1, 4), np.float32)])
    assert np.abs(layer(array(padded)).asnumpy()[:3] - layer(array(sentence)).asnumpy()).max() > 1e-3


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_eager_equals_hybridized(cell: str) -> None:
    encoder = encoder_of(cell, layers=2, dropout=0.5)
    inputs = array(normal(3, 6, 4, seed=1)), array(LENGTHS, "float32")
    eager = [output.asnumpy() for output in encoder(*inputs)]
    encoder.hybridize(static_alloc=True, static_shape=True)
    tokens = np.arange(6) < np.array(LENGTHS)[:, None]
    states, last = (output.asnumpy() for output in encoder(*inputs))
    np.testing.assert_allclose(states[tokens], eager[0][tokens], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last, eager[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_dropout_between_layers_is_active_in_training_alone(cell: str, hybridized: bool) -> None:
    """The trap: the ``dropout`` of MXNet's fused layers does nothing here."""
    inputs = array(normal(3, 6, 4, seed=1)), array(LENGTHS, "float32")
    stacked, single = encoder_of(cell, layers=2, dropout=0.5), encoder_of(cell, layers=1, dropout=0.5)
    for encoder in (stacked, single):
        encoder.hybridize(hybridized)
    assert np.abs(training_pass(stacked, *inputs) - training_pass(stacked, *inputs)).max() > 1e-3
    np.testing.assert_array_equal(stacked(*inputs)[1].asnumpy(), stacked(*inputs)[1].asnumpy())
    np.testing.assert_array_equal(training_pass(single, *inputs), training_pass(single, *inputs))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_gradient_reaches_every_parameter(cell: str) -> None:
    largest = every_parameter_learns(
        encoder_of(cell, layers=2), [array(normal(3, 6, 4, seed=1)), array(LENGTHS, "float32")]
    )
    assert len(largest) == 2 * 2 * 4 and min(largest.values()) > 1e-4, largest
