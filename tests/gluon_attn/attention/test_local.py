"""Local attention against section 3.2 of Luong et al. (2015), computed position by position in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd

from gluon_attn.attention.local import MonotonicAttention, PredictiveAttention
from gluon_attn.attention.masks import token_mask
from gluon_attn.attention.multiplicative import DotScore
from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import array, initialize, normal, parameters_of, softmax

UNITS = 4


def monotonic(query: np.ndarray, memory: np.ndarray, step: int, radius: int) -> np.ndarray:
    """Weights (tokens,) of one sentence without padding: p_t = t, a softmax over [p_t - D, p_t + D]."""
    middle = min(step, len(memory) - 1)
    weights = np.zeros(len(memory))
    window = [position for position in range(len(memory)) if middle - radius <= position <= middle + radius]
    weights[window] = softmax(np.array([query @ memory[position] for position in window]))
    return weights


def predictive(
    query: np.ndarray, memory: np.ndarray, radius: int, hidden: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, float]:
    """Weights (tokens,) and p_t: align(h, h_s) exp(-(s - p_t)^2 / (2 sigma^2)) with sigma = D / 2."""
    middle = (len(memory) - 1) / (1 + np.exp(-v @ np.tanh(hidden @ query)))
    sigma = radius / 2
    weights = np.zeros(len(memory))
    window = [s for s in range(len(memory)) if middle - radius <= s <= middle + radius]
    weights[window] = softmax(np.array([query @ memory[s] for s in window]))
    return weights * [np.exp(-((s - middle) ** 2) / (2 * sigma**2)) for s in range(len(memory))], middle


@settings(max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    extra=st.integers(0, 4),
    radius=st.integers(0, 4),
    step=st.integers(0, 12),
)
def test_local_m_is_a_softmax_over_the_window_around_the_step(
    lengths: list[int], extra: int, radius: int, step: int
) -> None:
    query, memory = normal(len(lengths), UNITS, seed=1), normal(len(lengths), max(lengths) + extra, UNITS, seed=2)
    attention = MonotonicAttention(DotScore(), radius)
    mask = token_mask(nd, array(memory), array(lengths, "float32"))
    weights = attention(array(query[:, None]), array(memory), mask, nd.full((len(lengths), 1), step)).asnumpy()[:, 0]
    for row, tokens in enumerate(lengths):
        expected = monotonic(query[row], memory[row, :tokens], step, radius)
        np.testing.assert_allclose(weights[row, :tokens], expected, rtol=1e-4, atol=1e-6)
        assert ((weights[row, :tokens] == 0) == (expected == 0)).all()


@settings(max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    extra=st.integers(0, 4),
    radius=st.integers(1, 4),
    seed=st.integers(0, 50),
)
def test_local_p_is_a_gaussian_around_a_predicted_position(
    lengths: list[int], extra: int, radius: int, seed: int
) -> None:
    query, memory = normal(len(lengths), UNITS, seed=seed), normal(len(lengths), max(lengths) + extra, UNITS, seed=2)
    attention = PredictiveAttention(DotScore(), radius, UNITS)
    mask = token_mask(nd, array(memory), array(lengths, "float32"))
    step = nd.zeros((len(lengths), 1))
    queries = array(query[:, None])
    initialize(attention, queries, array(memory), mask, step, scale=2.0, seed=seed)
    parameters = parameters_of(attention)
    assert set(parameters) == {"hidden.weight", "place.weight"}
    weights = attention(queries, array(memory), mask, step).asnumpy()[:, 0]
    np.testing.assert_array_equal(attention(queries, array(memory), mask, step + 7).asnumpy()[:, 0], weights)
    for row, tokens in enumerate(lengths):
        expected, middle = predictive(
            query[row].astype(np.float64),
            memory[row, :tokens].astype(np.float64),
            radius,
            parameters["hidden.weight"],
            parameters["place.weight"][0],
        )
        assert 0 <= middle <= tokens - 1
        edge = np.abs(np.abs(np.arange(tokens) - middle) - radius) < 1e-4  # The end of the window, to float tolerance.
        if not edge.any():
            np.testing.assert_allclose(weights[row, :tokens], expected, rtol=1e-3, atol=1e-6)


def test_the_window_of_local_m_moves_with_the_step_and_stops_at_the_last_token() -> None:
    """One window 3 wide over 5 tokens of 7, equal scores: 2 tokens at the ends, 3 between."""
    attention = MonotonicAttention(DotScore(), 1)
    mask = token_mask(nd, nd.zeros((1, 7)), array([5], "float32"))
    thirds, halves = 1 / 3, 1 / 2
    for step, expected in [
        (0, [halves, halves, 0, 0, 0, 0, 0]),
        (1, [thirds, thirds, thirds, 0, 0, 0, 0]),
        (3, [0, 0, thirds, thirds, thirds, 0, 0]),
        (4, [0, 0, 0, halves, halves, 0, 0]),
        (9, [0, 0, 0, halves, halves, 0, 0]),
    ]:
        weights = attention(nd.zeros((1, 1, UNITS)), nd.ones((1, 7, UNITS)), mask, nd.full((1, 1), step))
        np.testing.assert_allclose(weights.asnumpy()[0, 0], expected, rtol=1e-6)


@pytest.mark.parametrize(("steepness", "peak"), [(-50.0, 0), (0.0, 3), (50.0, 6)])
def test_local_p_can_point_at_either_end_and_the_middle(steepness: float, peak: int) -> None:
    """v . tanh(W q) = steepness: the first token of 7, the middle one, the last; the Gaussian is 1 there."""
    attention = PredictiveAttention(DotScore(), 2, UNITS)
    attention.initialize()
    attention.hidden.weight.set_data(100 * nd.eye(UNITS))
    attention.place.weight.set_data(nd.full((1, UNITS), steepness))
    query, memory = nd.ones((1, 1, UNITS)), nd.zeros((1, 9, UNITS))
    mask = token_mask(nd, memory, array([7], "float32"))
    weights = attention(query, memory, mask, nd.zeros((1, 1))).asnumpy()[0, 0]
    window = [position for position in range(7) if abs(position - peak) <= 2]
    assert np.flatnonzero(weights).tolist() == window
    assert weights[peak] == pytest.approx(1 / len(window), rel=1e-4)
    assert weights[window[0] if peak else window[-1]] == pytest.approx(np.exp(-2) / len(window), rel=1e-3)


def test_the_predicted_position_is_trained_by_its_gaussian() -> None:
    """Gradient steps with fixed scores: p_t moves from the middle to the second token of nine."""
    attention = PredictiveAttention(DotScore(), 3, UNITS)
    query, memory = array(normal(1, 1, UNITS, seed=3)), nd.zeros((1, 9, UNITS))
    mask = nd.ones((1, 9))
    initialize(attention, query, memory, mask, nd.zeros((1, 1)), scale=0.1)
    before = attention(query, memory, mask, nd.zeros((1, 1))).asnumpy()[0, 0]
    for _ in range(300):
        with autograd.record():
            weights = attention(query, memory, mask, nd.zeros((1, 1)))
            mean_place = (weights * nd.arange(9)).sum() / weights.sum()
            loss = (mean_place - 1.5) ** 2
        loss.backward()
        for _, parameter in named_parameters(attention):
            parameter.set_data(parameter.data() - 0.1 * parameter.grad())
    after = attention(query, memory, mask, nd.zeros((1, 1))).asnumpy()[0, 0]
    assert before.argmax() == 4 and after.argmax() in (1, 2)


def test_a_window_that_is_too_small_is_refused() -> None:
    with pytest.raises(UsageError, match="radius must be 1 or more, not 0"):
        PredictiveAttention(DotScore(), 0, UNITS)
    with pytest.raises(UsageError, match="radius must be 0 or more, not -1"):
        MonotonicAttention(DotScore(), -1)
