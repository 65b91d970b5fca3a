"""Masks depend on lengths only."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from mxnet import nd, sym

from gluon_attn.attention.masks import additive_mask, memory_mask, token_mask
from tests.gluon_attn.support import array, normal

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=5)


@given(LENGTHS, st.integers(0, 4))
def test_token_mask_marks_the_first_tokens(lengths: list[int], extra: int) -> None:
    width = max(lengths) + extra
    mask = token_mask(nd, nd.zeros((len(lengths), width, 3)), array(lengths, "float32"))
    np.testing.assert_array_equal(mask.asnumpy(), np.arange(width) < np.array(lengths)[:, None])
    assert mask.dtype == np.float32


@given(LENGTHS, st.integers(1, 4))
def test_memory_mask_is_the_token_mask_for_every_query(lengths: list[int], queries: int) -> None:
    mask = (np.arange(max(lengths)) < np.array(lengths)[:, None]).astype(np.float32)
    repeated = memory_mask(nd, nd.zeros((len(lengths), queries, 7)), array(mask))
    np.testing.assert_array_equal(repeated.asnumpy(), np.repeat(mask[:, None], queries, axis=1))


def test_masks_do_not_depend_on_the_memory() -> None:
    """Not even where it is NaN."""
    sequence = array(np.full((2, 4, 3), np.nan), "float32")
    mask = token_mask(nd, sequence, array([4, 1], "float32"))
    assert mask.asnumpy().tolist() == [[1, 1, 1, 1], [1, 0, 0, 0]]
    assert memory_mask(nd, sequence, mask).asnumpy().sum() == 4 * 4 + 4 * 1


def test_symbols_give_the_same_masks() -> None:
    sequence, length = sym.var("sequence"), sym.var("length")
    mask = token_mask(sym, sequence, length)
    both = sym.Group([mask, memory_mask(sym, sequence, mask)])
    values = {"sequence": nd.zeros((2, 4, 3)), "length": array([3, 1], "float32")}
    for result, expected in zip(
        both.bind(nd.zeros((1,)).context, values).forward(),
        (token_mask(nd, *values.values()), memory_mask(nd, values["sequence"], token_mask(nd, *values.values()))),
        strict=True,
    ):
        np.testing.assert_array_equal(result.asnumpy(), expected.asnumpy())


@given(st.integers(0, 1_000), st.floats(0.0, 8.0))
def test_padding_gets_exactly_zero_weight(seed: int, magnitude: float) -> None:
    """Also where the score of the padding is by far the highest."""
    mask = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], np.float32)
    score = normal(2, 4, seed=seed) * np.float32(10**magnitude)
    weights = nd.softmax(array(score) + additive_mask(array(mask))).asnumpy()
    assert (weights[mask == 0] == 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-6)
    alone = nd.softmax(array(score[0, :2])).asnumpy()
    np.testing.assert_allclose(weights[0, :2], alone, rtol=1e-5, atol=1e-12)
