"""Dot, general and scaled dot attention against their equations."""

from __future__ import annotations

import numpy as np
import pytest
from gluonnlp.model import DotProductAttentionCell
from mxnet import nd

from gluon_attn.attention.multiplicative import dot, general, scaled_dot
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import array, check_numeric_gradients, initialize, normal, training_pass

QUERIES, MEMORY, UNITS = 3, 5, 6
LENGTHS = np.array([5, 2])
MASK = np.repeat((np.arange(MEMORY) < LENGTHS[:, None]).astype(np.float32)[:, None], QUERIES, axis=1)


def softmax(score: np.ndarray, mask: np.ndarray) -> np.ndarray:
    raised = np.exp(score - score.max(axis=-1, keepdims=True)) * mask
    return raised / raised.sum(axis=-1, keepdims=True)


def expected_score(name: str, query: np.ndarray, key: np.ndarray, cell: DotProductAttentionCell) -> np.ndarray:
    if name == "general":
        query = query @ dict(named_parameters(cell))["_proj_query.weight"].data().asnumpy().T
    score = query @ key.transpose(0, 2, 1)
    return score / np.sqrt(UNITS) if name == "scaled dot" else score


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", ["dot", "general", "scaled dot"])
def test_is_the_equation_of_the_paper(name: str, masked: bool) -> None:
    cell = {"dot": dot, "general": lambda: general(UNITS), "scaled dot": scaled_dot}[name]()
    query = array(normal(2, QUERIES, 4 if name == "general" else UNITS, seed=1))
    key, value = array(normal(2, MEMORY, UNITS, seed=2)), array(normal(2, MEMORY, 7, seed=3))
    mask = array(MASK) if masked else None
    initialize(cell, query, key)
    context, weights = cell(query, key, value, mask)
    score = expected_score(name, query.asnumpy().astype(np.float64), key.asnumpy().astype(np.float64), cell)
    expected = softmax(score, MASK if masked else np.ones_like(MASK))
    np.testing.assert_allclose(weights.asnumpy(), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(context.asnumpy(), expected @ value.asnumpy(), rtol=1e-5, atol=1e-6)


def test_the_general_form_has_one_matrix_and_no_bias() -> None:
    cell = initialize(general(UNITS), array(normal(2, QUERIES, 4)), array(normal(2, MEMORY, UNITS)))
    shapes = {name: parameter.shape for name, parameter in named_parameters(cell)}
    assert shapes == {"_proj_query.weight": (UNITS, 4)}
    assert named_parameters(dot()) == named_parameters(scaled_dot()) == []


@pytest.mark.parametrize("attention", [dot, scaled_dot])
def test_equal_keys_get_equal_weights_and_one_hot_keys_select(attention: object) -> None:
    cell = attention()  # type: ignore[operator]
    query, equal = array(normal(2, QUERIES, UNITS)), array(np.ones((2, MEMORY, UNITS)), "float32")
    _, weights = cell(query, equal, None, array(MASK))
    np.testing.assert_allclose(weights.asnumpy(), MASK / MASK.sum(axis=2, keepdims=True), rtol=1e-6)

    chosen = [3, 0, 4]
    one_hot = array(np.eye(MEMORY)[None], "float32")
    value = array(normal(1, MEMORY, 7))
    context, weights = cell(array(60 * np.eye(MEMORY)[chosen][None], "float32"), one_hot, value)
    np.testing.assert_allclose(weights.asnumpy()[0], np.eye(MEMORY)[chosen], atol=1e-6)
    np.testing.assert_allclose(context.asnumpy()[0], value.asnumpy()[0, chosen], atol=1e-5)


def test_scaling_makes_the_weights_of_wide_vectors_flatter() -> None:
    query, key = array(normal(1, QUERIES, 64, seed=1)), array(normal(1, MEMORY, 64, seed=2))
    sharp, flat = dot()(query, key)[1].asnumpy(), scaled_dot()(query, key)[1].asnumpy()
    assert (flat.max(axis=2) < sharp.max(axis=2)).all()
    assert (flat.argmax(axis=2) == sharp.argmax(axis=2)).all()


@pytest.mark.parametrize("name", ["dot", "general", "scaled dot"])
def test_dropout_is_passed_to_the_cell(name: str) -> None:
    cell = {"dot": dot, "general": lambda rate: general(UNITS, rate), "scaled dot": scaled_dot}[name](0.5)
    query, key = array(normal(2, QUERIES, UNITS, seed=1)), array(normal(2, MEMORY, UNITS, seed=2))
    initialize(cell, query, key)
    first, second = (training_pass(cell, query, key) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3
    np.testing.assert_array_equal(cell(query, key)[0].asnumpy(), cell(query, key)[0].asnumpy())


def test_gradients_of_the_general_form_match_finite_differences() -> None:
    cell = general(UNITS)
    cell.cast("float64")
    query = array(normal(2, QUERIES, 4, seed=1), "float64")
    key, value = array(normal(2, MEMORY, UNITS, seed=2), "float64"), array(normal(2, MEMORY, 7, seed=3), "float64")
    mask = array(MASK, "float64")
    initialize(cell, query, key, value, mask)

    def weigh(context: nd.NDArray, weights: nd.NDArray) -> nd.NDArray:
        return (context**2).sum() + (weights * array(normal(2, QUERIES, MEMORY, dtype="float64"))).sum()

    check_numeric_gradients(cell, [query, key, value], weigh, [mask])
