"""Effects with their intervals, and values as dots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gluon_attn.plots.forest import Group, forest, strips
from gluon_attn.plots.style import COLOURS
from tests.gluon_attn.plots.drawn import labels, points, written

EFFECTS = [("okt", (-0.5, -0.8, -0.2)), ("코모란", (0.1, -0.2, 0.4)), ("mecab", (0.3, 0.1, 0.6))]


def test_effects_are_points_in_their_intervals_with_their_numbers(figures: list[Figure], tmp_path: Path) -> None:
    forest([Group("tokenizer", EFFECTS[:2]), Group("other", EFFECTS[2:])], tmp_path / "x.png", "points", band=0.25)
    (axes,) = figures[0].axes
    _, *drawn = axes.lines
    assert [points(line) for line in drawn] == [
        [(-0.8, 1), (-0.2, 1)],
        [(-0.5, 1)],
        [(-0.2, 2), (0.4, 2)],
        [(0.1, 2)],
        [(0.1, 4), (0.6, 4)],
        [(0.3, 4)],
    ]
    assert [(y, text) for _, y, text in written(axes)] == [
        (1, "-0.50  [-0.80, -0.20]"),
        (2, "+0.10  [-0.20, +0.40]"),
        (4, "+0.30  [+0.10, +0.60]"),
    ]
    assert [tick.get_text().strip() for tick in axes.get_yticklabels()] == [
        *("tokenizer", "okt", "코모란"),
        *("other", "mecab"),
    ]
    (band,) = axes.patches
    assert isinstance(band, Rectangle) and (band.get_x(), band.get_width()) == (-0.25, 0.5)
    assert labels(axes) == ["±2 SD of the difference of equal systems: 0.25"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "the first effect is at the top"


def test_only_effects_whose_interval_excludes_zero_are_coloured(figures: list[Figure], tmp_path: Path) -> None:
    forest([Group("tokenizer", EFFECTS)], tmp_path / "x.png", "points")
    (axes,) = figures[0].axes
    _, *drawn = [line.get_color() for line in axes.lines]
    worse, open_, better = drawn[::2]
    assert drawn[1::2] == drawn[::2] and (worse, better) == (COLOURS[1], COLOURS[0]) and open_ not in COLOURS


def test_effects_are_on_a_logarithmic_scale_only_if_one_is_large(figures: list[Figure], tmp_path: Path) -> None:
    for lowest in (-0.99, -1.01):
        forest([Group("tokenizer", [("okt", (-0.5, lowest, -0.2))])], tmp_path / "x.png", "points", linear=1.0)
    linear, logarithmic = (figure.axes[0] for figure in figures)
    assert (linear.get_xscale(), linear.get_xlabel()) == ("linear", "points")
    assert logarithmic.get_xscale() == "symlog"
    assert logarithmic.get_xlabel() == "points (linear up to 1, logarithmic beyond)"
    names = {
        tick.get_text(): x for x, tick in zip(logarithmic.get_xticks(), logarithmic.get_xticklabels(), strict=True)
    }
    assert {"-10", "-2", "-1", "-0.5", "0", "0.5", "1"} <= names.keys() and names["-10"] == -10
    transform = logarithmic.get_xaxis_transform()
    places = [float(transform.transform((x, 0))[0]) for x in (0.0, -0.25, -0.5, -1.0, -2.0)]
    steps = np.diff(places)
    assert steps[1] == pytest.approx(steps[0]) and abs(steps[3]) < 2 * abs(steps[2])


def test_strips_have_a_dot_for_each_value_and_their_deviation(figures: list[Figure], tmp_path: Path) -> None:
    values = {"three": np.array([3.0, 1.0, 2.0]), "two": np.array([85.9, 86.1]), "one": np.array([84.0])}
    strips(values, tmp_path / "x.png", "accuracy (%)")
    (axes,) = figures[0].axes
    assert [points(line) for line in axes.lines] == [
        [(1, 0), (3, 0)],
        [(3, 0), (1, 0), (2, 0)],
        [(85.9, 1), (86.1, 1)],
        [(85.9, 1), (86.1, 1)],
        [(84, 2), (84, 2)],
        [(84, 2)],
    ]
    assert [(y, text) for _, y, text in written(axes)] == [(0, "n = 3, deviation 1.00"), (1, "n = 2"), (2, "n = 1")]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["three", "two", "one"]
    assert axes.get_xlabel() == "accuracy (%)"
