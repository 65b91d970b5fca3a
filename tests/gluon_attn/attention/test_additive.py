"""Additive attention against the equation of the paper and GluonNLP's cell, and its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gluonnlp.model import MLPAttentionCell
from mxnet import autograd, nd
from mxnet.base import MXNetError
from mxnet.gluon import nn

from gluon_attn.attention.additive import AdditiveAttention
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import (
    array,
    check_numeric_gradients,
    copy_parameters,
    gradients,
    initialize,
    normal,
    training_pass,
)

QUERIES, MEMORY = 3, 5  # All sizes differ, so that no axis can be mistaken for another.
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], np.float32)


def arguments(*, value: bool, mask: bool, dtype: str = "float32") -> tuple[Any, ...]:
    """Query, key, value and mask; query, key and value have different widths."""
    repeated = np.repeat(MASK[:, None], QUERIES, axis=1)
    return (
        array(normal(2, QUERIES, 4, seed=1), dtype),
        array(normal(2, MEMORY, 6, seed=2), dtype),
        array(normal(2, MEMORY, 7, seed=3), dtype) if value else None,
        array(repeated, dtype) if mask else None,
    )


def initialized(cell: Any, weights: dict[str, np.ndarray]) -> Any:
    for name, parameter in named_parameters(cell):
        parameter.set_data(array(weights[name], "float32"))
    return cell


@pytest.mark.parametrize("masked", [False, True])
def test_is_the_equation_of_the_paper(masked: bool) -> None:
    """e_ij = v . tanh(W q_i + b + U k_j); weights = softmax over j; context_i = sum over j of weights_ij k_j."""
    query, key, _, mask = arguments(value=False, mask=masked)
    cell = initialize(AdditiveAttention(8), query, key)
    w, b, u, v = (
        dict(named_parameters(cell))[name].data().asnumpy().astype(np.float64)
        for name in (
            "_query_mid_layer.weight",
            "_query_mid_layer.bias",
            "_key_mid_layer.weight",
            "_attention_score.weight",
        )
    )
    expected_weights = np.zeros((2, QUERIES, MEMORY))
    for sentence in range(2):
        tokens = int(MASK[sentence].sum()) if masked else MEMORY
        for i in range(QUERIES):
            score = [
                v[0] @ np.tanh(w @ query[sentence, i].asnumpy() + b + u @ key[sentence, j].asnumpy())
                for j in range(tokens)
            ]
            expected_weights[sentence, i, :tokens] = np.exp(score) / np.exp(score).sum()
    context, weights = cell(query, key, None, mask)
    np.testing.assert_allclose(weights.asnumpy(), expected_weights, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(context.asnumpy(), expected_weights @ key.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("value", [False, True])
@pytest.mark.parametrize("mask", [False, True])
def test_equals_the_cell_of_gluonnlp(normalized: bool, value: bool, mask: bool) -> None:
    inputs = arguments(value=value, mask=mask)
    ours = initialize(AdditiveAttention(8, normalized=normalized), *inputs)
    theirs = initialize(MLPAttentionCell(8, act=nn.Activation("tanh"), normalized=normalized), *inputs, seed=99)
    copy_parameters(ours, theirs)

    query, key, _, given_mask = inputs
    score, expected = (cell._compute_score(nd, query, key, given_mask).asnumpy() for cell in (ours, theirs))
    np.testing.assert_allclose(score, expected, rtol=1e-5, atol=1e-6)
    for mine, reference in zip(ours(*inputs), theirs(*inputs), strict=True):
        assert mine.shape == reference.shape
        np.testing.assert_allclose(mine.asnumpy(), reference.asnumpy(), rtol=1e-5, atol=1e-6)

    def weigh(context: nd.NDArray, weights: nd.NDArray) -> nd.NDArray:
        return (context * array(normal(*context.shape, seed=4))).sum() + (
            weights * array(normal(*weights.shape, seed=5))
        ).sum()

    differentiable = [values for values in inputs[:3] if values is not None]

    rest = (given_mask,) if value else (None, given_mask)
    mine, reference = (gradients(cell, differentiable, weigh, rest) for cell in (ours, theirs))
    assert mine.keys() == reference.keys() and len(mine) == (5 if normalized else 4) + len(differentiable)
    for name, gradient in mine.items():
        assert np.abs(reference[name]).max() > 1e-4, f"{name}: nothing is compared"
        np.testing.assert_allclose(gradient, reference[name], rtol=2e-4, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_fixed_length_gives_the_same_result(hybridized: bool) -> None:
    inputs = [array(normal(2, MEMORY, width, seed=width)) for width in (4, 6, 7)]
    mask = array(np.repeat(MASK[:, None], MEMORY, axis=1))
    free = initialize(AdditiveAttention(8), *inputs, mask)
    fixed = initialize(AdditiveAttention(8, length=MEMORY), *inputs, mask, seed=99)
    copy_parameters(free, fixed)
    if hybridized:
        fixed.hybridize(static_alloc=True, static_shape=True)

    def weigh(context: nd.NDArray, weights: nd.NDArray) -> nd.NDArray:
        return (context**2).sum() + (weights * array(normal(*weights.shape))).sum()

    expected, actual = (gradients(cell, inputs, weigh, [mask]) for cell in (free, fixed))
    assert expected.keys() == actual.keys()
    for name, gradient in expected.items():
        assert np.abs(gradient).max() > 1e-4, f"{name}: nothing is compared"
        np.testing.assert_allclose(actual[name], gradient, rtol=1e-5, atol=1e-6, err_msg=name)
    with pytest.raises(MXNetError):
        fixed(*(values[:, 1:] for values in inputs), mask[:, 1:, 1:])[0].wait_to_read()


def test_equal_keys_get_equal_weights() -> None:
    query = array(normal(2, QUERIES, 4))
    key = array(np.repeat(normal(2, 1, 6), MEMORY, axis=1))
    mask = array(np.repeat(MASK[:, None], QUERIES, axis=1))
    _, weights = initialize(AdditiveAttention(8), query, key)(query, key, None, mask)
    expected = MASK / MASK.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weights.asnumpy(), np.repeat(expected[:, None], QUERIES, axis=1), rtol=1e-6)


def test_one_hot_keys_select_their_value() -> None:
    """With v = -c and W = U = a I, the score is -c tanh(2a) where key and query agree, elsewhere -2c tanh(a)."""
    key = array(np.eye(MEMORY)[None], "float32")
    query = array(np.eye(MEMORY)[[3, 0, 4]][None], "float32")
    value = array(normal(1, MEMORY, 7))
    cell = AdditiveAttention(MEMORY)
    cell.initialize()
    cell(query, key)
    initialized(
        cell,
        {
            "_query_mid_layer.weight": 2 * np.eye(MEMORY),
            "_query_mid_layer.bias": np.zeros(MEMORY),
            "_key_mid_layer.weight": 2 * np.eye(MEMORY),
            "_attention_score.weight": np.full((1, MEMORY), -60.0),
        },
    )
    context, weights = cell(query, key, value)
    np.testing.assert_allclose(weights.asnumpy()[0], np.eye(MEMORY)[[3, 0, 4]], atol=1e-6)
    np.testing.assert_allclose(context.asnumpy()[0], value.asnumpy()[0, [3, 0, 4]], atol=1e-5)


def test_each_cell_has_its_own_activation() -> None:
    first, second = AdditiveAttention(3), AdditiveAttention(3)
    assert first._act is not second._act
    assert MLPAttentionCell(3)._act is MLPAttentionCell(3)._act, (
        "GluonNLP no longer shares its default activation; the constructor can be simpler"
    )


def test_dropout_applies_to_the_weights_in_training_only() -> None:
    query, key, _, mask = arguments(value=False, mask=True)
    cell = initialize(AdditiveAttention(8, dropout=0.5), query, key)
    _, weights = cell(query, key, None, mask)
    first, second = (training_pass(cell, query, key, None, mask) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3
    with autograd.train_mode():
        dropped = cell(query, key, None, mask)[1].asnumpy()
    np.testing.assert_allclose(dropped, np.where(dropped == 0, 0, 2 * weights.asnumpy()), rtol=1e-6)
    assert (dropped[weights.asnumpy() > 0] == 0).any()
    np.testing.assert_array_equal(cell(query, key, None, mask)[1].asnumpy(), weights.asnumpy())
    np.testing.assert_allclose(weights.asnumpy().sum(axis=2), 1.0, rtol=1e-6)


def test_one_hybridized_cell_serves_every_length() -> None:
    cell = AdditiveAttention(8)
    query, key = array(normal(2, 4, 6)), array(normal(2, 9, 6))
    initialize(cell, query, key)
    expected = [cell(query[:, :i], key[:, :j])[0].asnumpy() for i, j in ((4, 9), (1, 9), (4, 1), (3, 7))]
    cell.hybridize(static_alloc=True, static_shape=True)
    for wanted, (i, j) in zip(expected, ((4, 9), (1, 9), (4, 1), (3, 7)), strict=True):
        np.testing.assert_allclose(cell(query[:, :i], key[:, :j])[0].asnumpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("normalized", [False, True])
def test_gradients_match_finite_differences(normalized: bool) -> None:
    query, key, value, mask = arguments(value=True, mask=True, dtype="float64")
    cell = AdditiveAttention(8, normalized=normalized)
    cell.cast("float64")
    initialize(cell, query, key, value, mask)

    def weigh(context: nd.NDArray, weights: nd.NDArray) -> nd.NDArray:
        return (context**2).sum() + (weights * array(normal(2, QUERIES, MEMORY, dtype="float64"))).sum()

    check_numeric_gradients(cell, [query, key, value], weigh, [mask])
