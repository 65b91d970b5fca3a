"""The networks that steer: shapes, attention against NumPy, memory that is carried on, and gradients."""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, nd

from gluon_attn.errors import UsageError
from gluon_attn.models.visual_attention_driving import ConvolutionalDriver, LastSteering, RecurrentDriver, unattended
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from tests.gluon_attn.support import sigmoid, watch_dropout

SIZES: dict[str, Any] = {"channels": (2, 3, 3, 4, 4), "height": 16, "width": 32}
STEPS, UNITS, BATCH = 3, 5, 2


def recurrent(attention_units: int = 4, **sizes: Any) -> RecurrentDriver:
    mx.random.seed(1)
    network = RecurrentDriver(**{**SIZES, "units": UNITS, "attention_units": attention_units, "steps": STEPS, **sizes})
    network.initialize(mx.init.Xavier(magnitude=6))
    return network


def frames(batch: int = BATCH, steps: int = STEPS) -> nd.NDArray:
    return nd.array(np.random.RandomState(2).randn(batch, steps, 3, 16, 32))


def beginning(batch: int = BATCH) -> list[nd.NDArray]:
    return [nd.ones((batch, 1)), nd.zeros((batch, UNITS)), nd.zeros((batch, UNITS))]


@pytest.mark.parametrize("attention_units", [4, 0])
def test_eager_equals_hybridized(attention_units: int) -> None:
    network = recurrent(attention_units)
    eager = network(frames(), *beginning())
    network.hybridize()
    compiled = network(frames(), *beginning())
    assert eager.degrees.shape == (BATCH, STEPS)
    assert eager.features.shape == (BATCH, STEPS, 8, 4)
    assert (eager.weights is None) == (attention_units == 0)
    np.testing.assert_allclose(eager.degrees.asnumpy(), compiled.degrees.asnumpy(), rtol=1e-4, atol=1e-5)


def test_attention_and_lstm_are_those_of_the_equations() -> None:
    network = recurrent(unit=2.0)
    output = network(frames(), *beginning())
    p = {name: parameter.data().asnumpy() for name, parameter in named_parameters(network)}
    features = output.features.asnumpy()
    mean = features[:, 0].mean(axis=1)
    h, c = (np.tanh(mean @ p[f"first_{s}.weight"].T + p[f"first_{s}.bias"]) for s in "hc")

    for step in range(STEPS):
        query = h @ p["score.query.weight"].T + p["score.query.bias"]
        hidden = np.tanh(features[:, step] @ p["score.key.weight"].T + query[:, None])
        scores = np.exp((hidden @ p["score.value.weight"].T)[:, :, 0])
        weights = scores / scores.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(output.weights[:, step].asnumpy(), weights, rtol=1e-4)
        read = (8 * weights[:, :, None] * features[:, step]).reshape(BATCH, -1)
        gates = read @ p["lstm.i2h.weight"].T + p["lstm.i2h.bias"] + h @ p["lstm.h2h.weight"].T
        i, f, o, g = np.split(gates, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        degrees = 2 * (h @ p["output.weight"].T + p["output.bias"])[:, 0]
        np.testing.assert_allclose(output.degrees[:, step].asnumpy(), degrees, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(output.states[0][:, step].asnumpy(), h, rtol=1e-3, atol=1e-4)


def test_a_sequence_in_two_pieces_is_the_sequence() -> None:
    whole, half = recurrent(steps=4), recurrent(steps=2)
    for (_, source), (_, target) in zip(named_parameters(whole), named_parameters(half), strict=True):
        target.set_data(source.data())
    six = frames(steps=4)
    at_once = whole(six, *beginning()).degrees.asnumpy()
    first = half(six[:, :2], *beginning())
    carried = [state[:, -1] for state in first.states]
    second = half(six[:, 2:], nd.zeros((BATCH, 1)), *carried)
    np.testing.assert_allclose(at_once[:, 2:], second.degrees.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hybridized", [False, True])
def test_steering_with_its_own_weights_is_its_steering(hybridized: bool) -> None:
    network = recurrent()
    if hybridized:
        network.hybridize()
    output = network(frames(), *beginning())
    before = [state[:, 0] for state in output.states]
    again = network.steer(output.weights[:, 1], output.features[:, 1], *before)
    np.testing.assert_allclose(again.asnumpy(), output.degrees[:, 1].asnumpy(), rtol=1e-4, atol=1e-5)
    blind = network.steer(nd.zeros_like(output.weights[:, 1]), output.features[:, 1], *before)
    assert np.abs(blind.asnumpy() - again.asnumpy()).min() > 1e-4


def test_a_gradient_reaches_every_parameter() -> None:
    single = ConvolutionalDriver(**SIZES, units=UNITS)
    single.initialize(mx.init.Xavier(magnitude=6))
    for network, inputs in (
        (recurrent(), (frames(), *beginning())),
        (recurrent(0), (frames(), *beginning())),
        (single, (frames(),)),
    ):
        with autograd.record():
            network(*inputs).degrees.square().sum().backward()
        zero = [name for name, parameter in named_parameters(network) if not parameter.grad().asnumpy().any()]
        assert zero == []


def test_frames_of_a_network_without_memory_are_judged_by_themselves() -> None:
    network = ConvolutionalDriver(**SIZES, units=UNITS, unit=2.0)
    network.initialize(mx.init.Xavier(magnitude=6))
    together = network(frames()).degrees.asnumpy()
    alone = network(frames()[1:, 2:]).degrees.asnumpy()
    assert together.shape == (BATCH, STEPS)
    assert network.state_units == 0
    np.testing.assert_allclose(together[1, 2], alone[0, 0], rtol=1e-4)


def test_dropout_is_active_in_training_alone() -> None:
    network = recurrent(dropout=0.5)
    assert np.array_equal(*(network(frames(), *beginning()).degrees.asnumpy() for _ in range(2)))
    with autograd.train_mode():
        first, second = (network(frames(), *beginning()).degrees.asnumpy() for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(("attention_units", "rates"), [(4, [0.5] * STEPS + [0.25]), (0, [0.5, 0.25])])
def test_dropout_is_applied_to_what_the_lstm_reads_and_to_its_states(
    attention_units: int, rates: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = recurrent(attention_units, dropout=0.25, feature_dropout=0.5)
    applied = watch_dropout(monkeypatch)
    network(frames(), *beginning())
    assert applied == rates


def test_dropout_is_applied_to_the_hidden_layer_of_a_network_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    network = ConvolutionalDriver(**SIZES, units=UNITS, dropout=0.25)
    network.initialize()
    applied = watch_dropout(monkeypatch)
    network(frames())
    assert applied == [0.25]


def test_the_penalty_is_least_for_even_attention() -> None:
    even = nd.ones((1, 4, 2)) / 2
    assert unattended(nd, even).asnumpy().tolist() == [1.0]  # (1 - 4 / 2)^2
    fixed = nd.array([[[1, 0]] * 4])
    assert unattended(nd, fixed).asnumpy().tolist() == [5.0]  # ((1 - 4)^2 + 1) / 2


def test_convolutions_have_the_parameters_of_the_equations() -> None:
    network = ConvolutionalDriver(channels=(24, 36, 48, 64, 64), height=80, width=160, units=10)
    network.initialize()
    convolutions = 3 * 24 * 25 + 24 + 24 * 36 * 25 + 36 + 36 * 48 * 25 + 48 + 48 * 64 * 9 + 64 + 64 * 64 * 9 + 64
    assert convolutions == 131_348
    assert parameter_count(network) == convolutions + 10 * (200 * 64 + 1) + 11


@pytest.mark.parametrize("count", [2, 6])
def test_other_numbers_of_convolutions_are_refused(count: int) -> None:
    with pytest.raises(UsageError, match=f"{count} convolutions: give 3 to 5 numbers of channels"):
        ConvolutionalDriver(channels=(4,) * count, height=16, width=32, units=10)


def test_no_network() -> None:
    before = nd.array([1.0, -2.0])
    assert LastSteering(0.0)(before).asnumpy().tolist() == [0.0, 0.0]
    assert LastSteering(1.0)(before).asnumpy().tolist() == [1.0, -2.0]


@pytest.mark.parametrize("hybridized", [False, True])
def test_sequences_of_another_length_are_refused(hybridized: bool) -> None:
    """Two more frames would otherwise be read as a second sequence."""
    network = recurrent()
    network.hybridize(hybridized)
    with pytest.raises(UsageError, match=f"sequences of {2 * STEPS} frames, but the network reads {STEPS}"):
        network(frames(1, 2 * STEPS), *beginning(1))
    with pytest.raises(UsageError, match="start, h and c must have a row for each of the 2 sequences"):
        network(frames(2), *beginning(1))
