"""Every row in exactly one batch, of neighbours in length, in an order that the generator alone decides."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gluon_attn.batching import length_batches, pad, shuffled_batches

LENGTHS = st.lists(st.integers(0, 40), max_size=60)


@given(LENGTHS, st.integers(1, 9), st.none() | st.integers(0, 99))
def test_every_row_is_in_one_batch(lengths: list[int], size: int, seed: int | None) -> None:
    generator = None if seed is None else np.random.RandomState(seed)
    batches = length_batches(np.array(lengths, int), size, generator)
    assert sorted(np.concatenate([*batches, np.zeros(0, int)]).tolist()) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert sorted((len(batch) for batch in batches), reverse=True)[:-1] == [size] * max(0, len(batches) - 1)


@given(LENGTHS, st.integers(1, 9), st.integers(0, 99))
def test_lengths_of_two_batches_do_not_interleave(lengths: list[int], size: int, seed: int) -> None:
    batches = length_batches(np.array(lengths, int), size, np.random.RandomState(seed))
    spans = sorted((min(lengths[row] for row in batch), max(lengths[row] for row in batch)) for batch in batches)
    assert all(longest <= shortest for (_, longest), (shortest, _) in pairwise(spans))


def test_without_a_generator_rows_and_batches_stay_in_order() -> None:
    batches = length_batches(np.array([3, 1, 3, 1, 2]), 2)
    assert [batch.tolist() for batch in batches] == [[1, 3], [4, 0], [2]]


def test_a_generator_shuffles_rows_of_one_length_and_the_batches() -> None:
    lengths = np.repeat([5, 9, 2, 7], 50)
    once, again, other = (length_batches(lengths, 10, np.random.RandomState(seed)) for seed in (1, 1, 2))
    assert [batch.tolist() for batch in once] == [batch.tolist() for batch in again]
    assert [batch.tolist() for batch in once] != [batch.tolist() for batch in other]
    order = [int(lengths[batch[0]]) for batch in once]
    assert order != sorted(order), "short sentences first in every epoch"
    assert {frozenset(batch.tolist()) for batch in once} != {frozenset(batch.tolist()) for batch in other}


@given(st.integers(0, 50), st.integers(1, 9), st.integers(0, 99))
def test_shuffled_batches_hold_every_row_once(rows: int, size: int, seed: int) -> None:
    batches = shuffled_batches(rows, size, np.random.RandomState(seed))
    assert sorted(np.concatenate([*batches, np.zeros(0, int)]).tolist()) == list(range(rows))
    assert all(len(batch) == size for batch in batches[:-1])
    again = shuffled_batches(rows, size, np.random.RandomState(seed))
    assert [batch.tolist() for batch in batches] == [batch.tolist() for batch in again]


@given(
    st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=12), max_size=6),
    st.integers(0, 5),
    st.sampled_from([1, 4, 30]),
)
def test_padding_goes_behind_and_no_further_than_asked(sequences: list[list[int]], padding: int, multiple: int) -> None:
    padded = pad([np.array(sequence, np.int64) for sequence in sequences], padding, multiple)
    longest = max([1, *map(len, sequences)])
    assert padded.dtype == np.int32
    assert padded.shape == (len(sequences), -(-longest // multiple) * multiple)
    for row, sequence in zip(padded, sequences, strict=True):
        assert row.tolist() == sequence + [padding] * (padded.shape[1] - len(sequence))


@pytest.mark.parametrize(("longest", "width"), [(1, 4), (4, 4), (5, 8)])
def test_widths_are_rounded_up(longest: int, width: int) -> None:
    assert pad([np.arange(longest), np.arange(1)], 0, multiple=4).shape == (2, width)


def test_what_comes_behind_a_token_is_padded_with_it() -> None:
    padded = pad([np.array([[1, 2], [3, 4]]), np.zeros((0, 2), int)], 9, multiple=3)
    assert padded.tolist() == [[[1, 2], [3, 4], [9, 9]], [[9, 9]] * 3]
    assert padded.dtype == np.int32
