"""Pooling by a learned query, by the mean and by the maximum, over tokens only."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd

from gluon_attn.attention.pooling import AttentionPooling, max_pooling, mean_pooling
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import array, check_numeric_gradients, every_parameter_learns, initialize, normal

LENGTHS = np.array([5, 2, 1])
MASK = (np.arange(5) < LENGTHS[:, None]).astype(np.float32)


def pooling(states: nd.NDArray, units: int = 8) -> AttentionPooling:
    block = AttentionPooling(units, in_units=states.shape[2])
    if states.dtype == np.float64:
        block.cast("float64")
    return initialize(block, states, array(np.ones(states.shape[:2]), states.dtype))


def test_is_the_equation_of_the_paper() -> None:
    states = array(normal(3, 5, 6))
    block = pooling(states)
    weight, bias, query = (
        dict(named_parameters(block))[name].data().asnumpy().astype(np.float64)
        for name in ("hidden.weight", "hidden.bias", "score.weight")
    )
    context, weights = block(states, array(MASK))
    for row, tokens in enumerate(LENGTHS):
        sentence = states.asnumpy()[row, :tokens].astype(np.float64)
        score = np.tanh(sentence @ weight.T + bias) @ query[0]
        expected = np.exp(score) / np.exp(score).sum()
        np.testing.assert_allclose(weights.asnumpy()[row, :tokens], expected, rtol=1e-5)
        np.testing.assert_allclose(context.asnumpy()[row], expected @ sentence, rtol=1e-5, atol=1e-6)
        assert (weights.asnumpy()[row, tokens:] == 0).all()


def test_equal_states_get_equal_weights() -> None:
    states = array(np.repeat(normal(3, 1, 6), 5, axis=1))
    _, weights = pooling(states)(states, array(MASK))
    np.testing.assert_allclose(weights.asnumpy(), MASK / LENGTHS[:, None], rtol=1e-6)


def test_a_query_that_points_at_one_state_selects_it() -> None:
    states = array(np.eye(5)[None], "float32")
    block = pooling(states, units=5)
    named = dict(named_parameters(block))
    named["hidden.weight"].set_data(array(5 * np.eye(5), "float32"))
    named["hidden.bias"].set_data(array(np.zeros(5), "float32"))
    named["score.weight"].set_data(array(60 * np.eye(5)[[3]], "float32"))
    context, weights = block(states, nd.ones((1, 5)))
    np.testing.assert_allclose(weights.asnumpy()[0], np.eye(5)[3], atol=1e-6)
    np.testing.assert_allclose(context.asnumpy()[0], np.eye(5)[3], atol=1e-6)


def test_mean_and_maximum_are_those_of_the_tokens() -> None:
    """All states are negative and the padding is far above them, so that a zero or a padded state would show."""
    states = -np.abs(normal(3, 5, 6)) - 1
    states[MASK == 0] = 1e6
    mean, maximum = (pool(nd, array(states), array(MASK)).asnumpy() for pool in (mean_pooling, max_pooling))
    for row, tokens in enumerate(LENGTHS):
        np.testing.assert_allclose(mean[row], states[row, :tokens].mean(axis=0), rtol=1e-6)
        np.testing.assert_array_equal(maximum[row], states[row, :tokens].max(axis=0))


@settings(max_examples=25)
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    extra=st.integers(1, 9),
    magnitude=st.sampled_from([1, 1e6]),
)
def test_extra_padding_changes_nothing(lengths: list[int], extra: int, magnitude: float) -> None:
    short = normal(len(lengths), max(lengths), 6, seed=extra)
    states = np.concatenate([short, magnitude * normal(len(lengths), extra, 6, seed=1)], axis=1)
    garbage = states.copy()
    for row, tokens in enumerate(lengths):
        garbage[row, tokens:] = magnitude * normal(states.shape[1] - tokens, 6, seed=2)
    block = pooling(array(short))
    block.hybridize()
    results = []
    for values in (short, states, garbage):
        mask = array(np.arange(values.shape[1]) < np.array(lengths)[:, None], "float32")
        context, weights = block(array(values), mask)
        assert (weights.asnumpy()[mask.asnumpy() == 0] == 0).all()
        np.testing.assert_allclose(weights.asnumpy().sum(axis=1), 1.0, rtol=1e-6)
        pooled = [pool(nd, array(values), mask).asnumpy() for pool in (mean_pooling, max_pooling)]
        results.append((context.asnumpy(), weights.asnumpy()[:, : short.shape[1]], *pooled))
    for further in results[1:]:
        for result, expected in zip(further, results[0], strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_eager_equals_hybridized() -> None:
    states = array(normal(3, 5, 6))
    block = pooling(states)
    eager = [output.asnumpy() for output in block(states, array(MASK))]
    block.hybridize(static_alloc=True, static_shape=True)
    for output, expected in zip(block(states, array(MASK)), eager, strict=True):
        np.testing.assert_allclose(output.asnumpy(), expected, rtol=1e-5, atol=1e-7)


def test_a_gradient_reaches_every_parameter() -> None:
    states = array(normal(3, 5, 6))
    largest = every_parameter_learns(pooling(states), [states, array(MASK)])
    assert len(largest) == 3 and min(largest.values()) > 1e-4, largest


def test_gradients_match_finite_differences() -> None:
    states, mask = array(normal(3, 5, 6), "float64"), array(MASK, "float64")

    def weigh(context: nd.NDArray, weights: nd.NDArray) -> nd.NDArray:
        return (context**2).sum() + (weights * array(normal(3, 5, dtype="float64"))).sum()

    check_numeric_gradients(pooling(states), [states], weigh, [mask])


def test_padding_has_no_gradient() -> None:
    states = array(normal(3, 5, 6))
    block = pooling(states)
    states.attach_grad()
    with autograd.record():
        context, _ = block(states, array(MASK))
        pooled = [pool(nd, states, array(MASK)) for pool in (mean_pooling, max_pooling)]
        total = sum((values**2).sum() for values in (context, *pooled))
    total.backward()
    gradient = np.abs(states.grad.asnumpy()).max(axis=2)
    assert (gradient[MASK == 0] == 0).all()
    assert (gradient[MASK == 1] > 0).all()
