"""Every encoder against the textbook recurrence on each sentence alone, whatever the padding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd
from mxnet.gluon import rnn

from gluon_attn.errors import UsageError
from gluon_attn.layers.encoders import BidirectionalEncoder, LSTMEncoder, StatePreservingLSTM
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import (
    array,
    dense,
    every_parameter_learns,
    initialize,
    normal,
    parameters_of,
    sigmoid,
    training_pass,
)

LENGTHS = [5, 1, 3]
KEYS = ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")


def encoder_of(cell: str, layers: int, dropout: float = 0.0) -> BidirectionalEncoder:
    block = BidirectionalEncoder(cell, units=3, layers=layers, in_units=4, dropout=dropout)
    return initialize(block, array(normal(1, 2, 4)), array([2], "float32"))


def recurrence(cell: str, weights: dict[str, np.ndarray], inputs: np.ndarray) -> np.ndarray:
    """States (length, units) of one layer in one direction; gates in cuDNN's order."""
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
    parameters = parameters_of(encoder)
    states = sentence.astype(np.float64)
    for layer in range(layers):
        forwards, backwards = (
            {key: parameters[f"{direction}.{layer}._unfused.0.{key}"] for key in KEYS}
            for direction in ("forwards", "backwards")
        )
        states = np.concatenate(
            [recurrence(cell, forwards, states), recurrence(cell, backwards, states[::-1])[::-1]], axis=1
        )
    return states


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_is_the_textbook_recurrence(cell: str, layers: int) -> None:
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
def test_extra_padding_changes_nothing(cell: str, lengths: list[int], extra: int, magnitude: float) -> None:
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


def test_a_fused_bidirectional_layer_reads_its_padding() -> None:
    """Why this encoder exists: MXNet's own layer does not have the property above."""
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
def test_dropout_between_layers_is_active_in_training_only(cell: str, hybridized: bool) -> None:
    """The ``dropout`` of MXNet's fused layers has no effect here."""
    inputs = array(normal(3, 6, 4, seed=1)), array(LENGTHS, "float32")
    stacked, single = encoder_of(cell, layers=2, dropout=0.5), encoder_of(cell, layers=1, dropout=0.5)
    for encoder in (stacked, single):
        encoder.hybridize(hybridized)
    assert np.abs(training_pass(stacked, *inputs) - training_pass(stacked, *inputs)).max() > 1e-3
    np.testing.assert_array_equal(stacked(*inputs)[1].asnumpy(), stacked(*inputs)[1].asnumpy())
    np.testing.assert_array_equal(training_pass(single, *inputs), training_pass(single, *inputs))


def test_an_unknown_cell_and_no_layers_are_refused() -> None:
    with pytest.raises(UsageError, match="cell 'rnn' is unknown; choose one of gru, lstm"):
        BidirectionalEncoder("rnn", units=3, layers=1, in_units=4)
    with pytest.raises(UsageError, match="layers must be 1 or more, not 0"):
        BidirectionalEncoder("gru", units=3, layers=0, in_units=4)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_gradient_reaches_every_parameter(cell: str) -> None:
    largest = every_parameter_learns(
        encoder_of(cell, layers=2), [array(normal(3, 6, 4, seed=1)), array(LENGTHS, "float32")]
    )
    assert len(largest) == 2 * 2 * 4 and min(largest.values()) > 1e-4, largest


# --- LSTM layers that preserve their state on padding ---


def padding_of(lengths: list[int], width: int) -> nd.NDArray:
    """(width, sentences, 1) of 0/1, time first."""
    return array((np.arange(width)[:, None] >= np.array(lengths))[:, :, None], "float32")


def preserving(seed: int = 0) -> StatePreservingLSTM:
    return initialize(StatePreservingLSTM(3, 4), array(normal(2, 1, 4)), padding_of([2], 2), seed=seed)


def layer_of_mxnet(layer: StatePreservingLSTM) -> rnn.LSTM:
    """MXNet's own layer with the parameters of ours."""
    theirs = rnn.LSTM(3, input_size=layer.i2h_weight.shape[1])
    theirs.initialize()
    for name, parameter in named_parameters(layer):
        getattr(theirs, f"l0_{name}").set_data(parameter.data())
    return theirs


def run_alone(layer: rnn.LSTM, sentence: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States (tokens, units), last hidden and last cell (units,) of one sentence (tokens, width)."""
    state = [nd.zeros((1, 1, 3)), nd.zeros((1, 1, 3))]
    states, (hidden, cell) = layer(array(sentence[:, None]), state)
    return states.asnumpy()[:, 0], hidden.asnumpy()[0, 0], cell.asnumpy()[0, 0]


@pytest.mark.parametrize("magnitude", [1.0, 1e3])
def test_a_state_preserving_layer_ends_each_sentence_as_mxnet_does(magnitude: float) -> None:
    """With noise in the padding, large enough to drive every gate that is not closed."""
    layer = preserving()
    sequence = magnitude * normal(6, 3, 4, seed=1)
    for row, tokens in enumerate(LENGTHS):
        sequence[:tokens, row] = normal(tokens, 4, seed=row)
    states, hidden, cell = (output.asnumpy() for output in layer(array(sequence), padding_of(LENGTHS, 6)))
    assert states.shape == (6, 3, 3) and hidden.shape == cell.shape == (3, 3)
    theirs = layer_of_mxnet(layer)
    for row, tokens in enumerate(LENGTHS):
        expected, its_hidden, its_cell = run_alone(theirs, sequence[:tokens, row])
        np.testing.assert_allclose(states[:tokens, row], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(hidden[row], its_hidden, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(cell[row], its_cell, rtol=1e-5, atol=1e-6)


def test_two_thousand_steps_of_padding_change_no_cell_and_pass_no_gradient() -> None:
    """A forget gate of 1 - 1e-7 would let it drift by 2e-4."""
    layer = preserving()
    sequence = normal(2003, 1, 4, seed=1)
    _, hidden, cell = layer(array(sequence[:3]), padding_of([3], 3))
    far = array(sequence)
    far.attach_grad()
    with autograd.record():
        _, its_hidden, its_cell = layer(far, padding_of([3], 2003))
        total = (its_hidden**2).sum() + (its_cell**2).sum()
    total.backward()
    np.testing.assert_allclose(its_cell.asnumpy(), cell.asnumpy(), rtol=5e-7)
    np.testing.assert_allclose(its_hidden.asnumpy(), hidden.asnumpy(), rtol=5e-7)
    assert (far.grad.asnumpy()[3:] == 0).all() and (np.abs(far.grad.asnumpy()[:3]).max(axis=2) > 1e-4).all()


def test_a_fused_layer_does_not_preserve_its_cell_on_padding() -> None:
    """Why StatePreservingLSTM exists."""
    theirs, sentence = layer_of_mxnet(preserving()), normal(3, 4, seed=1)
    padded = np.concatenate([sentence, np.zeros((4, 4), np.float32)])
    assert np.abs(run_alone(theirs, padded)[2] - run_alone(theirs, sentence)[2]).max() > 1e-3


def test_gradients_of_a_state_preserving_layer_are_those_of_mxnet() -> None:
    """Sentence by sentence in MXNet, one padded batch here."""
    layer = preserving()
    sequence = normal(6, 3, 4, seed=1)
    with autograd.record():
        states, hidden, cell = layer(array(sequence), padding_of(LENGTHS, 6))
        inside = 1 - padding_of(LENGTHS, 6)
        total = nd.sum((states * inside) ** 2) + (hidden * array(normal(3, 3, seed=2))).sum() + (cell**2).sum()
    total.backward()
    theirs = layer_of_mxnet(layer)
    with autograd.record():
        total = nd.zeros(1)
        for row, tokens in enumerate(LENGTHS):
            state = [nd.zeros((1, 1, 3)), nd.zeros((1, 1, 3))]
            states, (hidden, cell) = theirs(array(sequence[:tokens, row : row + 1]), state)
            wanted = array(normal(3, 3, seed=2)[row])
            total = total + (states**2).sum() + (hidden * wanted).sum() + (cell**2).sum()
    total.backward()
    for name, parameter in named_parameters(layer):
        expected = getattr(theirs, f"l0_{name}").grad().asnumpy()
        assert np.abs(expected).max() > 1e-3, name
        np.testing.assert_allclose(dense(parameter.grad()), expected, rtol=1e-4, atol=1e-5, err_msg=name)


def lstm_encoder(*, layers: int = 2, reverse_source: bool = False, dropout: float = 0.0) -> LSTMEncoder:
    block = LSTMEncoder(3, layers, 4, reverse_source=reverse_source, dropout=dropout)
    return initialize(block, array(normal(1, 2, 4)), array([2], "float32"))


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("reverse_source", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
def test_an_lstm_encoder_is_mxnets_on_each_sentence_alone(layers: int, reverse_source: bool, hybridized: bool) -> None:
    """States and the last hidden and cell state of every layer; reversed, the last step is the first token."""
    encoder = lstm_encoder(layers=layers, reverse_source=reverse_source)
    encoder.hybridize(hybridized, static_alloc=True, static_shape=True)
    sequence = normal(3, 6, 4, seed=1)
    states, hidden, cells = encoder(array(sequence), array(LENGTHS, "float32"))
    assert states.shape == (3, 6, 3) and len(hidden) == len(cells) == layers
    for row, tokens in enumerate(LENGTHS):
        sentence = sequence[row, :tokens]
        sentence = sentence[::-1] if reverse_source else sentence
        for layer, last_hidden, last_cell in zip(encoder.layers, hidden, cells, strict=True):
            sentence, its_hidden, its_cell = run_alone(layer_of_mxnet(layer), sentence)
            np.testing.assert_allclose(last_hidden.asnumpy()[row], its_hidden, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(last_cell.asnumpy()[row], its_cell, rtol=1e-4, atol=1e-6)
        expected = sentence[::-1] if reverse_source else sentence
        np.testing.assert_allclose(states.asnumpy()[row, :tokens], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("reverse_source", [False, True])
@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    extra=st.integers(1, 9),
    magnitude=st.sampled_from([1.0, 1e3]),
)
def test_an_lstm_encoder_ignores_its_padding(
    reverse_source: bool, lengths: list[int], extra: int, magnitude: float
) -> None:
    encoder = lstm_encoder(reverse_source=reverse_source)
    sequence = magnitude * normal(len(lengths), max(lengths) + extra, 4, seed=2)
    for row, tokens in enumerate(lengths):
        sequence[row, :tokens] = normal(tokens, 4, seed=row)
    states, hidden, cells = encoder(array(sequence), array(lengths, "float32"))
    for row, tokens in enumerate(lengths):
        alone = encoder(array(sequence[row : row + 1, :tokens]), array([tokens], "float32"))
        np.testing.assert_allclose(states.asnumpy()[row, :tokens], alone[0].asnumpy()[0], rtol=1e-4, atol=1e-6)
        for mine, its in zip([*hidden, *cells], [*alone[1], *alone[2]], strict=True):
            np.testing.assert_allclose(mine.asnumpy()[row], its.asnumpy()[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("hybridized", [False, True])
def test_dropout_of_an_lstm_encoder_is_between_its_layers_in_training_only(hybridized: bool) -> None:
    """The first layer reads the inputs, the second the dropped-out states of the first."""
    inputs = array(normal(3, 6, 4, seed=1)), array(LENGTHS, "float32")
    encoder = lstm_encoder(dropout=0.5)
    encoder.hybridize(hybridized)
    with autograd.train_mode():
        first, second = (encoder(*inputs) for _ in range(2))
    np.testing.assert_array_equal(first[1][0].asnumpy(), second[1][0].asnumpy())
    assert np.abs(first[1][1].asnumpy() - second[1][1].asnumpy()).max() > 1e-3
    np.testing.assert_array_equal(encoder(*inputs)[1][1].asnumpy(), encoder(*inputs)[1][1].asnumpy())
    single = lstm_encoder(layers=1, dropout=0.5)
    np.testing.assert_array_equal(training_pass(single, *inputs), training_pass(single, *inputs))


@pytest.mark.parametrize("reverse_source", [False, True])
def test_a_gradient_reaches_every_parameter_of_an_lstm_encoder(reverse_source: bool) -> None:
    """From the states, and from the last states alone."""
    inputs = [array(normal(3, 6, 4, seed=1)), array(LENGTHS, "float32")]
    encoder = lstm_encoder(reverse_source=reverse_source)
    largest = every_parameter_learns(encoder, inputs)
    assert len(largest) == 2 * 4 and min(largest.values()) > 1e-4, largest
    with autograd.record():
        _, hidden, cells = encoder(*inputs)
        total = (hidden[-1] ** 2).sum() + (cells[0] ** 2).sum()
    total.backward()
    assert all(np.abs(dense(one.grad())).max() > 1e-4 for _, one in named_parameters(encoder))
