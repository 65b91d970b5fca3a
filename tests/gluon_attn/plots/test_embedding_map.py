"""The embedding map: no overlap, nothing lost, Hangul drawn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from matplotlib.image import imread

from gluon_attn.errors import UsageError
from gluon_attn.plots.embedding_map import MOST_GROUPS, MOST_WORDS, pushed_apart, word_map

GROUPS = [["배우", "연기", "조연"], ["눈물", "감동"], ["ㅋㅋ", "\U0001f600"]]
PLACES = np.array([[0, 0], [0.1, 0], [0, 0.1], [1, 1], [1, 1], [0.5, 0], [0.5, 0]])


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    """matplotlib only warns when a glyph is missing or a layout fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def overlapping(centres: np.ndarray, sizes: np.ndarray) -> int:
    over = (sizes[:, None] + sizes) / 2 - np.abs(centres[:, None] - centres) > 1e-3
    return int(np.triu(over.all(axis=2), 1).sum())


@given(st.lists(st.tuples(*[st.integers(0, 40)] * 2, *[st.integers(1, 12)] * 2), min_size=1, max_size=12))
def test_overlapping_boxes_are_separated_and_others_stay(boxes: list[tuple[int, int, int, int]]) -> None:
    centres, sizes = np.array(boxes, float)[:, :2], np.array(boxes, float)[:, 2:]
    moved = pushed_apart(centres, sizes)
    assert overlapping(moved, sizes) == 0
    if overlapping(centres, sizes) == 0:
        np.testing.assert_array_equal(moved, centres)
    np.testing.assert_allclose(moved.mean(axis=0), centres.mean(axis=0), atol=1e-6)


def test_two_boxes_move_half_the_shorter_way_each() -> None:
    moved = pushed_apart(np.array([[0.0, 0], [1, 1]]), np.array([[10.0, 2], [10, 2]]))
    np.testing.assert_allclose(moved, [[0, -0.5], [1, 1.5]], atol=1e-6)


def test_a_map_has_a_colour_per_group_and_is_deterministic(tmp_path: Path) -> None:
    for name in ("one.png", "two.png"):
        word_map(GROUPS, PLACES, tmp_path / name, "낱말 \U0001f600")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    picture = (255 * imread(tmp_path / "one.png")[..., :3]).round().astype(int)
    for colour in ((0, 114, 178), (213, 94, 0), (0, 158, 115)):
        assert (np.abs(picture - colour).max(axis=2) < 12).sum() > 50, colour
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["one.png", "two.png"]


@pytest.mark.parametrize(
    ("groups", "positions"),
    [
        ([], np.zeros((0, 2))),
        ([["가"], []], np.zeros((1, 2))),
        ([["가"]] * (MOST_GROUPS + 1), np.zeros((MOST_GROUPS + 1, 2))),
        ([["가"] * (MOST_WORDS + 1)], np.zeros((MOST_WORDS + 1, 2))),
        ([["가", "나"]], np.zeros((3, 2))),
        ([["가", "나"]], np.zeros((2, 3))),
    ],
)
def test_invalid_maps_are_refused_and_leave_no_file(
    groups: list[list[str]], positions: np.ndarray, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"^word map: [^\n]*$"):
        word_map(groups, positions, tmp_path / "map.png", "x")
    assert list(tmp_path.iterdir()) == []
