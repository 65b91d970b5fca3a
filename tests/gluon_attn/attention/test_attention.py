"""The contract of every attention cell, whatever its score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from gluonnlp.model import AttentionCell
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd

from gluon_attn.attention.additive import AdditiveAttention
from gluon_attn.attention.masks import memory_mask, token_mask
from gluon_attn.attention.multiplicative import dot, general, scaled_dot
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import array, copy_parameters, dense, initialize, normal

UNITS = 6
MECHANISMS: dict[str, Callable[[], AttentionCell]] = {
    "additive": lambda: AdditiveAttention(8),
    "additive, normalized": lambda: AdditiveAttention(8, normalized=True),
    "dot": dot,
    "general": lambda: general(UNITS),
    "scaled dot": scaled_dot,
}
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


def cell_of(name: str, seed: int = 0) -> AttentionCell:
    return initialize(MECHANISMS[name](), nd.ones((1, 2, UNITS)), nd.ones((1, 3, UNITS)), seed=seed)


def mask_of(lengths: list[int], queries: int, memory: int) -> nd.NDArray:
    tokens = token_mask(nd, nd.zeros((len(lengths), memory)), array(lengths, "float32"))
    return memory_mask(nd, nd.zeros((len(lengths), queries)), tokens)


@every_mechanism
@settings(max_examples=20)
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    queries=st.integers(1, 5),
    extra=st.integers(0, 4),
    magnitude=st.sampled_from([0.1, 1.0, 30.0]),
)
def test_weights_are_a_distribution_over_the_tokens(
    name: str, lengths: list[int], queries: int, extra: int, magnitude: float
) -> None:
    memory = max(lengths) + extra
    query = array(magnitude * normal(len(lengths), queries, UNITS, seed=1))
    key = array(magnitude * normal(len(lengths), memory, UNITS, seed=2))
    value = array(normal(len(lengths), memory, 5, seed=3))
    mask = mask_of(lengths, queries, memory)
    context, weights = cell_of(name)(query, key, value, mask)
    assert context.shape == (len(lengths), queries, 5)
    assert weights.shape == (len(lengths), queries, memory)
    assert (weights.asnumpy() >= 0).all()
    assert (weights.asnumpy()[mask.asnumpy() == 0] == 0).all()
    np.testing.assert_allclose(weights.asnumpy().sum(axis=2), 1.0, rtol=1e-5)
    low, high = value.asnumpy().min() - 1e-5, value.asnumpy().max() + 1e-5
    assert (context.asnumpy() >= low).all() and (context.asnumpy() <= high).all()


@every_mechanism
@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    queries=st.integers(1, 4),
    extra=st.integers(1, 8),
    magnitude=st.sampled_from([1.0, 1e4]),
)
def test_extra_padding_changes_nothing(
    name: str, lengths: list[int], queries: int, extra: int, magnitude: float
) -> None:
    """Neither the content of the padding nor the rest of the batch matters: each sentence alone gives the same."""
    cell = cell_of(name)
    query = normal(len(lengths), queries, UNITS, seed=1)
    key = magnitude * normal(len(lengths), max(lengths) + extra, UNITS, seed=2)
    for row, tokens in enumerate(lengths):
        key[row, :tokens] = normal(tokens, UNITS, seed=row)
    context, weights = cell(array(query), array(key), None, mask_of(lengths, queries, key.shape[1]))
    for row, tokens in enumerate(lengths):
        alone = cell(array(query[row : row + 1]), array(key[row : row + 1, :tokens]))
        np.testing.assert_allclose(context.asnumpy()[row], alone[0].asnumpy()[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(weights.asnumpy()[row, :, :tokens], alone[1].asnumpy()[0], rtol=1e-4, atol=1e-6)


@every_mechanism
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("with_value", [False, True])
def test_eager_equals_hybridized(name: str, masked: bool, with_value: bool) -> None:
    query, key = array(normal(2, 3, UNITS, seed=1)), array(normal(2, 5, UNITS, seed=2))
    value = array(normal(2, 5, 7, seed=3)) if with_value else None
    mask = mask_of([5, 2], 3, 5) if masked else None
    cell = cell_of(name)
    eager = [output.asnumpy() for output in cell(query, key, value, mask)]
    cell.hybridize(static_alloc=True, static_shape=True)
    for output, expected in zip(cell(query, key, value, mask), eager, strict=True):
        np.testing.assert_allclose(output.asnumpy(), expected, rtol=1e-5, atol=1e-6)


@every_mechanism
def test_gradients_are_the_same_hybridized_and_padding_has_none(name: str) -> None:
    """No call changes the next, and a gradient reaches every parameter and every token."""
    results = []
    for hybridized in (False, True):
        cell = cell_of(name)
        cell.hybridize(hybridized, static_alloc=True, static_shape=True)
        query, key = array(normal(2, 3, UNITS, seed=1)), array(normal(2, 5, UNITS, seed=2))
        for values in (query, key):
            values.attach_grad()
        with autograd.record():
            context, _ = cell(query, key, None, mask_of([5, 2], 3, 5))
            total = (context * array(normal(2, 3, UNITS, seed=4))).sum()
        total.backward()
        gradient = np.abs(key.grad.asnumpy()).max(axis=2)
        assert (gradient[1, 2:] == 0).all()
        assert (gradient[0] > 1e-5).all() and (gradient[1, :2] > 1e-5).all()
        names, parameters = zip(*named_parameters(cell), strict=True) if named_parameters(cell) else ((), ())
        arrays = [dense(values) for values in (query.grad, key.grad, *(p.grad() for p in parameters))]
        assert all(np.abs(values).max() > 1e-5 for values in arrays), names
        results.append(arrays)
    for eager, hybridized_too in zip(*results, strict=True):
        np.testing.assert_allclose(hybridized_too, eager, rtol=1e-4, atol=1e-5)


@every_mechanism
def test_a_permutation_of_the_memory_permutes_the_weights_and_keeps_the_context(name: str) -> None:
    cell = cell_of(name)
    query, key = normal(2, 3, UNITS, seed=1), normal(2, 5, UNITS, seed=2)
    order = np.array([3, 0, 4, 1, 2])
    context, weights = cell(array(query), array(key))
    context_after, weights_after = cell(array(query), array(key[:, order]))
    np.testing.assert_allclose(weights_after.asnumpy(), weights.asnumpy()[:, :, order], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(context_after.asnumpy(), context.asnumpy(), rtol=1e-5, atol=1e-5)


@every_mechanism
def test_two_cells_with_the_same_parameters_are_the_same_function(name: str) -> None:
    """A cell has no state: an earlier call does not change a later one."""
    first, second = cell_of(name, seed=1), cell_of(name, seed=2)
    copy_parameters(first, second)
    query, key = array(normal(2, 3, UNITS, seed=1)), array(normal(2, 5, UNITS, seed=2))
    expected = first(query, key)[1].asnumpy()
    first(key, query, None, mask_of([3, 1], 5, 3))
    np.testing.assert_array_equal(first(query, key)[1].asnumpy(), expected)
    np.testing.assert_array_equal(second(query, key)[1].asnumpy(), expected)
    assert not [name for name, value in vars(first).items() if isinstance(value, nd.NDArray)]
