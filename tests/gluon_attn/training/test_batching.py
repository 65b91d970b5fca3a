"""Every row in exactly one batch with rows of similar length, in an order that depends on the generator only."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gluon_attn.training.batching import length_batches, pad, pair_batches, shuffled_batches

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
def test_shuffled_batches_contain_every_row_once(rows: int, size: int, seed: int) -> None:
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
def test_padding_follows_the_tokens_and_is_minimal(sequences: list[list[int]], padding: int, multiple: int) -> None:
    padded = pad([np.array(sequence, np.int64) for sequence in sequences], padding, multiple)
    longest = max([1, *map(len, sequences)])
    assert padded.dtype == np.int32
    assert padded.shape == (len(sequences), -(-longest // multiple) * multiple)
    for row, sequence in zip(padded, sequences, strict=True):
        assert row.tolist() == sequence + [padding] * (padded.shape[1] - len(sequence))


@pytest.mark.parametrize(("longest", "width"), [(1, 4), (4, 4), (5, 8)])
def test_widths_are_rounded_up(longest: int, width: int) -> None:
    assert pad([np.arange(longest), np.arange(1)], 0, multiple=4).shape == (2, width)


def test_trailing_dimensions_are_padded_too() -> None:
    padded = pad([np.array([[1, 2], [3, 4]]), np.zeros((0, 2), int)], 9, multiple=3)
    assert padded.tolist() == [[[1, 2], [3, 4], [9, 9]], [[9, 9]] * 3]
    assert padded.dtype == np.int32


# --- pairs ---

PAIRS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=60)
MULTIPLES = st.tuples(st.integers(1, 8), st.integers(1, 8))


def batches_of_pairs(
    lengths: list[tuple[int, int]], size: int, multiples: tuple[int, int], seed: int
) -> list[list[int]]:
    source, target = np.array(lengths, int).reshape(-1, 2).T
    return [one.tolist() for one in pair_batches(source, target, size, multiples, np.random.RandomState(seed))]


@given(PAIRS, st.integers(1, 9), MULTIPLES, st.integers(0, 99))
def test_every_pair_is_in_one_batch(
    lengths: list[tuple[int, int]], size: int, multiples: tuple[int, int], seed: int
) -> None:
    batches = batches_of_pairs(lengths, size, multiples, seed)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert sorted(map(len, batches), reverse=True)[:-1] == [size] * max(0, len(batches) - 1)
    assert batches == batches_of_pairs(lengths, size, multiples, seed)


@given(PAIRS, st.integers(1, 9), MULTIPLES, st.integers(0, 99))
def test_pairs_of_two_batches_do_not_interleave(
    lengths: list[tuple[int, int]], size: int, multiples: tuple[int, int], seed: int
) -> None:
    """By the padded length of the target, then by that of the source."""

    def padded(row: int) -> tuple[int, int]:
        (source, target), (its, theirs) = lengths[row], multiples
        return -(-target // theirs), -(-source // its)

    batches = batches_of_pairs(lengths, size, multiples, seed)
    spans = sorted((min(map(padded, batch)), max(map(padded, batch))) for batch in batches)
    assert all(longest <= shortest for (_, longest), (shortest, _) in pairwise(spans))


@given(PAIRS, st.integers(1, 9), MULTIPLES, st.integers(1, 120), st.integers(0, 99))
def test_batches_by_tokens_are_as_large_as_they_may_be(
    lengths: list[tuple[int, int]], size: int, multiples: tuple[int, int], tokens: int, seed: int
) -> None:
    """Both sides padded; the number of batches does not depend on the seed."""
    source, target = np.array(lengths, int).reshape(-1, 2).T
    batches, others = (
        pair_batches(source, target, size, multiples, np.random.RandomState(one), batch_tokens=tokens)
        for one in (seed, seed + 1)
    )
    assert sorted(np.concatenate([*batches, np.zeros(0, int)]).tolist()) == list(range(len(lengths)))
    assert sorted(map(len, batches)) == sorted(map(len, others))

    def padded(rows: list[int]) -> int:
        sides = zip((source, target), multiples, strict=True)
        return len(rows) * max(-(-side[rows].max() // multiple) * multiple for side, multiple in sides)

    assert all(len(rows) <= size and (len(rows) == 1 or padded(rows.tolist()) <= tokens) for rows in batches)


def test_a_batch_by_tokens_has_the_rows_that_fit() -> None:
    lengths = np.array([4, 4, 4, 4, 4, 8, 8, 30])
    batches = pair_batches(lengths, lengths, 100, (1, 1), np.random.RandomState(0), batch_tokens=12)
    assert sorted(sorted(lengths[rows].tolist()) for rows in batches) == [[4, 4], [4, 4, 4], [8], [8], [30]]


def test_pairs_of_equal_padded_length_are_shuffled_together_and_so_are_batches() -> None:
    """Lengths 5 to 8 are all padded to 8: each may be in any batch of that width."""
    lengths = [(source, target) for source in (5, 8) for target in (1, 6)] * 25
    once, other = (batches_of_pairs(lengths, 10, (8, 4), seed) for seed in (1, 2))
    assert {frozenset(batch) for batch in once} != {frozenset(batch) for batch in other}
    assert all({lengths[row][1] for row in batch} in ({1}, {6}) for batch in once)
    assert sum(len({lengths[row][0] for row in batch}) == 2 for batch in once) >= 8
    order = [lengths[batch[0]][1] for batch in once]
    assert order != sorted(order), "short targets first in every epoch"


def test_many_lengths_give_few_shapes() -> None:
    """The purpose of the multiples: 500 pairs of 30 x 20 lengths, padded to (8, 4), have at most 4 x 5 shapes."""
    generator = np.random.RandomState(0)
    source = generator.randint(1, 31, 500)
    target = np.clip(source * 2 // 3 + generator.randint(-2, 3, 500), 1, 20)
    batches = pair_batches(source, target, 32, (8, 4), np.random.RandomState(1))

    def up(longest: int, multiple: int) -> int:
        return -(-longest // multiple) * multiple

    shapes = {(up(source[batch].max(), 8), up(target[batch].max(), 4)) for batch in batches}
    cells = sum(len(batch) * up(source[batch].max(), 8) for batch in batches)
    assert 3 <= len(shapes) <= 12
    assert cells < 1.6 * source.sum(), "most of the batches is padding"
