"""Ragged rows against plain Python lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from preprocessing.pipeline.ragged import Ragged, pack_strings, unpack_strings

ROWS = st.lists(st.lists(st.integers(0, 50), max_size=8), max_size=12)


def rows_of(ragged: Ragged) -> list[list[int]]:
    return [ragged[row].tolist() for row in range(len(ragged))]


@given(ROWS)
def test_rows_survive_a_round_trip(rows: list[list[int]]) -> None:
    ragged = Ragged.from_rows(rows)
    assert rows_of(ragged) == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]
    assert ragged.ids.dtype == np.int32 and ragged.offsets.dtype == np.int64


@given(ROWS, st.integers(0, 9))
def test_truncated_returns_the_beginning(rows: list[list[int]], max_length: int) -> None:
    assert rows_of(Ragged.from_rows(rows).truncated(max_length)) == [row[:max_length] for row in rows]


@given(ROWS, st.data())
def test_take_by_mask_and_by_index(rows: list[list[int]], data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), np.bool_)
    expected = [row for row, chosen in zip(rows, mask, strict=True) if chosen]
    assert rows_of(Ragged.from_rows(rows).take(mask)) == expected
    assert rows_of(Ragged.from_rows(rows).take(np.flatnonzero(mask)[::-1])) == expected[::-1]


@given(ROWS, st.data())
def test_slices_are_the_rows_in_their_range(rows: list[list[int]], data: st.DataObject) -> None:
    ragged = Ragged.from_rows(rows)
    middle = data.draw(st.integers(0, len(rows)))
    parts = [ragged.slice(0, middle), ragged.slice(middle, len(rows))]
    assert rows_of(parts[0]) == rows[:middle] and rows_of(parts[1]) == rows[middle:]
    assert [row.tolist() for row in ragged[middle::-1]] == rows[middle::-1]


@given(ROWS, st.one_of(st.none(), st.integers(0, 9)))
def test_padded(rows: list[list[int]], max_length: int | None) -> None:
    width = max(map(len, rows), default=0) if max_length is None else max_length
    expected = [(row + [99] * width)[:width] for row in rows]
    padded = Ragged.from_rows(rows).padded(99, max_length)
    assert padded.dtype == np.int32 and padded.shape == (len(rows), width)
    assert padded.tolist() == expected


@given(ROWS)
def test_mapped_and_counts(rows: list[list[int]]) -> None:
    ragged = Ragged.from_rows(rows)
    table = np.arange(51)[::-1]
    assert rows_of(ragged.mapped(table)) == [[50 - item for item in row] for row in rows]
    flat = [item for row in rows for item in row]
    assert ragged.counts(51).tolist() == [flat.count(item) for item in range(51)]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=8))
def test_strings_survive_a_round_trip(strings: list[str]) -> None:
    assert unpack_strings(*pack_strings(strings)) == strings


def test_wrong_arrays_are_refused() -> None:
    with pytest.raises(TypeError, match="int32"):
        Ragged(np.zeros(2, np.int64), np.array([0, 2]))
    with pytest.raises(ValueError, match="offsets"):
        Ragged(np.zeros(2, np.int32), np.array([0, 1]))
    with pytest.raises(ValueError, match="negative"):
        Ragged.from_rows([[1]]).truncated(-1)
    with pytest.raises(IndexError):
        Ragged.from_rows([[1]])[1]
