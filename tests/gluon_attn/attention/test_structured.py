"""Structured self-attention against the equation of the paper, its penalty, and the lower bound of the penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd
from scipy.optimize import minimize

from gluon_attn.attention.pooling import AttentionPooling
from gluon_attn.attention.structured import StructuredAttention, redundancy_penalty
from gluon_attn.evaluation.hops import least_penalty, overlap
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import array, check_numeric_gradients, every_parameter_learns, initialize, normal

HOPS, UNITS, WIDTH = 3, 8, 6
LENGTHS = np.array([5, 2, 1])
MASK = (np.arange(5) < LENGTHS[:, None]).astype(np.float32)


def attention(dtype: str = "float32", hops: int = HOPS) -> StructuredAttention:
    block = StructuredAttention(hops, UNITS, in_units=WIDTH)
    block.cast(dtype)
    return initialize(block, array(normal(1, 2, WIDTH), dtype))


def distributions(*shape: int, seed: int = 0, sharpness: float = 1.0) -> np.ndarray:
    scores = np.exp(sharpness * normal(*shape, seed=seed, dtype="float64"))
    return scores / scores.sum(axis=-1, keepdims=True)


def penalty(weights: np.ndarray) -> np.ndarray:
    """The definition, in NumPy: (..., hops, length) -> (...)."""
    excess = weights @ np.swapaxes(weights, -1, -2) - np.eye(weights.shape[-2])
    return (excess**2).sum(axis=(-1, -2))


def redundancy(weights: np.ndarray) -> np.ndarray:
    return redundancy_penalty(nd, array(weights, "float32"), weights.shape[1]).asnumpy()


# --- the mechanism ---


def test_is_the_equation_of_the_paper() -> None:
    states, block = array(normal(3, 5, WIDTH)), attention()
    inner, outer = (
        dict(named_parameters(block))[name].data().asnumpy().astype(np.float64)
        for name in ("hidden.weight", "score.weight")
    )
    matrix, weights = block(states, array(MASK))
    assert matrix.shape == (3, HOPS, WIDTH) and weights.shape == (3, HOPS, 5)
    for row, tokens in enumerate(LENGTHS):
        sentence = states.asnumpy()[row, :tokens].astype(np.float64)
        score = np.exp(outer @ np.tanh(inner @ sentence.T))
        expected = score / score.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(weights.asnumpy()[row, :, :tokens], expected, rtol=1e-5)
        np.testing.assert_allclose(matrix.asnumpy()[row], expected @ sentence, rtol=1e-5, atol=1e-6)
        assert (weights.asnumpy()[row, :, tokens:] == 0).all()


def test_without_a_mask_every_position_is_a_token() -> None:
    states, block = array(normal(3, 5, WIDTH)), attention()
    for output, expected in zip(block(states), block(states, nd.ones((3, 5))), strict=True):
        np.testing.assert_array_equal(output.asnumpy(), expected.asnumpy())
    assert (block(states)[1].asnumpy() > 0).all()


def test_one_hop_is_attention_pooling_without_a_bias() -> None:
    states, block = array(normal(3, 5, WIDTH)), attention(hops=1)
    pooling = initialize(AttentionPooling(UNITS, WIDTH), states, array(MASK))
    pooling.hidden.weight.set_data(block.hidden.weight.data())
    pooling.hidden.bias.set_data(nd.zeros(UNITS))
    pooling.score.weight.set_data(block.score.weight.data())
    for mine, theirs in zip(block(states, array(MASK)), pooling(states, array(MASK)), strict=True):
        np.testing.assert_allclose(mine.asnumpy()[:, 0], theirs.asnumpy(), rtol=1e-5, atol=1e-6)


@settings(max_examples=20)
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    extra=st.integers(1, 9),
    magnitude=st.sampled_from([1, 1e4]),
)
def test_extra_padding_changes_nothing(lengths: list[int], extra: int, magnitude: float) -> None:
    block = attention()
    block.hybridize()
    states = magnitude * normal(len(lengths), max(lengths) + extra, WIDTH, seed=2)
    for row, tokens in enumerate(lengths):
        states[row, :tokens] = normal(tokens, WIDTH, seed=row)
    mask = array(np.arange(states.shape[1]) < np.array(lengths)[:, None], "float32")
    matrix, weights = block(array(states), mask)
    np.testing.assert_allclose(weights.asnumpy().sum(axis=2), 1.0, rtol=1e-5)
    for row, tokens in enumerate(lengths):
        alone = block(array(states[row : row + 1, :tokens]), nd.ones((1, tokens)))
        np.testing.assert_allclose(matrix.asnumpy()[row], alone[0].asnumpy()[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(weights.asnumpy()[row, :, :tokens], alone[1].asnumpy()[0], rtol=1e-4, atol=1e-6)
        assert (weights.asnumpy()[row, :, tokens:] == 0).all()


@pytest.mark.parametrize("masked", [False, True])
def test_eager_equals_hybridized(masked: bool) -> None:
    inputs = (array(normal(3, 5, WIDTH)), array(MASK))[: 1 + masked]
    block = attention()
    eager = [output.asnumpy() for output in block(*inputs)]
    block.hybridize(static_alloc=True, static_shape=True)
    for output, expected in zip(block(*inputs), eager, strict=True):
        np.testing.assert_allclose(output.asnumpy(), expected, rtol=1e-5, atol=1e-7)


def test_a_gradient_reaches_every_parameter_and_padding_has_none() -> None:
    states, block = array(normal(3, 5, WIDTH)), attention()
    largest = every_parameter_learns(block, [states, array(MASK)])
    assert len(largest) == 2 and min(largest.values()) > 1e-4, largest
    states.attach_grad()
    with autograd.record():
        matrix, weights = block(states, array(MASK))
        total = (matrix**2).sum() + redundancy_penalty(nd, weights, HOPS).sum()
    total.backward()
    gradient = np.abs(states.grad.asnumpy()).max(axis=2)
    assert (gradient[MASK == 0] == 0).all() and (gradient[MASK == 1] > 0).all()


def test_gradients_of_matrix_and_weights_match_finite_differences() -> None:
    def weigh(matrix: nd.NDArray, weights: nd.NDArray) -> nd.NDArray:
        return (matrix**2).sum() + nd.square(nd.batch_dot(weights, weights, transpose_b=True)).sum()

    states, mask = array(normal(3, 5, WIDTH), "float64"), array(MASK, "float64")
    check_numeric_gradients(attention("float64"), [states], weigh, [mask])


# --- the penalty ---


def test_the_penalty_is_the_squared_frobenius_norm() -> None:
    weights = distributions(4, 5, 7)
    np.testing.assert_allclose(redundancy(weights), penalty(weights), rtol=1e-5)
    root = [np.linalg.norm(one @ one.T - np.eye(5), "fro") for one in weights]
    np.testing.assert_allclose(np.sqrt(redundancy(weights)), root, rtol=1e-5)


def test_the_penalty_is_zero_for_disjoint_hops_and_largest_for_equal_ones() -> None:
    apart, together = np.eye(4, 6)[None], np.eye(6)[[2, 2, 2, 2]][None]
    assert redundancy(apart) == [0] and redundancy(together) == [4 * 3]
    for seed in range(20):
        assert 0 < redundancy(distributions(1, 4, 6, seed=seed, sharpness=3.0))[0] < 4 * 3


def test_the_gradient_of_the_penalty_is_that_of_the_definition() -> None:
    weights = array(distributions(2, 3, 4), "float32")
    weights.attach_grad()
    with autograd.record():
        total = redundancy_penalty(nd, weights, 3).sum()
    total.backward()
    values = weights.asnumpy().astype(np.float64)
    expected = 4 * (values @ values.transpose(0, 2, 1) - np.eye(3)) @ values
    np.testing.assert_allclose(weights.grad.asnumpy(), expected, rtol=1e-4, atol=1e-6)


def minimal_penalty(tokens: int, hops: int, starts: int = 6) -> float:
    """The smallest penalty that a numerical minimiser reaches over rows that are distributions."""

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(hops, tokens)
        excess = weights @ weights.T - np.eye(hops)
        return float((excess**2).sum()), (4 * excess @ weights).ravel()

    sums: Any = {"type": "eq", "fun": lambda flat: flat.reshape(hops, tokens).sum(axis=1) - 1}
    results = [
        minimize(
            value,
            distributions(hops, tokens, seed=seed, sharpness=2.0).ravel(),
            jac=True,
            method="SLSQP",
            bounds=[(0, 1)] * (hops * tokens),
            constraints=sums,
            options={"maxiter": 300, "ftol": 1e-12},
        )
        for seed in range(starts)
    ]
    return min(float(one.fun) for one in results if one.success)


@pytest.mark.parametrize(
    ("tokens", "hops"), [(1, 1), (1, 4), (2, 3), (2, 5), (3, 4), (3, 5), (4, 6), (3, 3), (5, 4), (2, 8)]
)
def test_the_least_penalty_is_attained_and_never_undercut(tokens: int, hops: int) -> None:
    least = least_penalty(tokens, hops)
    assert least == pytest.approx(minimal_penalty(tokens, hops), abs=1e-5)
    best = np.full((hops, tokens), 1 / tokens)
    best[: min(hops, tokens)] = np.eye(min(hops, tokens), tokens)
    assert penalty(best) == pytest.approx(least, abs=1e-12)
    assert least >= hops - tokens  # The bound by rank alone.


@settings(max_examples=60)
@given(
    tokens=st.integers(1, 9),
    hops=st.integers(1, 9),
    sharpness=st.sampled_from([0.0, 1.0, 5.0, 50.0]),
    seed=st.integers(0, 999),
)
def test_the_least_penalty_is_a_bound(tokens: int, hops: int, sharpness: float, seed: int) -> None:
    actual = penalty(distributions(hops, tokens, seed=seed, sharpness=sharpness))
    assert actual >= least_penalty(tokens, hops) - 1e-9


def test_the_least_penalty_of_a_batch_is_that_of_each_sentence() -> None:
    tokens = np.array([1, 2, 5, 10, 40])
    expected = [9 + 81, 8 + 16, 5 + 1, 0, 0]
    np.testing.assert_allclose(least_penalty(tokens, 10), expected)
    assert [least_penalty(int(one), 10) for one in tokens] == expected


# --- overlap ---


def test_overlap_is_the_mean_over_pairs_of_hops() -> None:
    weights = distributions(4, 5, 7, sharpness=2.0)
    expected = [np.mean([np.minimum(one[i], one[j]).sum() for i in range(5) for j in range(i)]) for one in weights]
    np.testing.assert_allclose(overlap(weights), expected, rtol=1e-12)
    distance = np.abs(weights[:, 0] - weights[:, 1]).sum(axis=1)
    np.testing.assert_allclose(overlap(weights[:, :2]), 1 - distance / 2, rtol=1e-12)


def test_overlap_is_one_for_equal_hops_and_zero_for_disjoint_ones() -> None:
    same = np.repeat(distributions(1, 1, 6), 4, axis=1)
    np.testing.assert_allclose(overlap(same), 1.0)
    np.testing.assert_array_equal(overlap(np.eye(4, 6)[None]), 0.0)
    halves = np.array([[[0.5, 0.5, 0], [0, 0.5, 0.5]]], np.float32)
    np.testing.assert_allclose(overlap(halves), 0.5)
    padded = np.concatenate([halves, np.zeros((1, 2, 9), np.float32)], axis=2)
    np.testing.assert_array_equal(overlap(padded), overlap(halves))


def test_one_hop_has_no_overlap() -> None:
    with pytest.raises(ValueError, match="1 hop"):
        overlap(distributions(2, 1, 6))
