"""Values over time: each part in its panel, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gluon_attn.errors import UsageError
from gluon_attn.plots.style import COLOURS, INK
from gluon_attn.plots.time_series import over_time
from tests.gluon_attn.plots.drawn import labels, points

NAMES = {"step_name": "frame", "label": "degrees", "truth_name": "human"}


def test_each_part_has_the_truth_and_every_system(figures: list[Figure], tmp_path: Path) -> None:
    truth = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    systems = {"cnn": truth + 10, "lstm": truth * 2}
    over_time(truth, systems, [np.array([3, 4]), np.array([0, 1, 2])], tmp_path / "x.png", **NAMES)
    first, second = figures[0].axes
    expected = [
        (first, [[(1, 3), (2, 4)], [(1, 13), (2, 14)], [(1, 6), (2, 8)]]),
        (second, [[(1, 0), (2, 1), (3, 2)], [(1, 10), (2, 11), (3, 12)], [(1, 0), (2, 2), (3, 4)]]),
    ]
    for axes, values in expected:
        _, *lines = axes.lines
        assert [points(line) for line in lines] == values
        assert [line.get_color() for line in lines] == [INK, *COLOURS[:2]]
    assert labels(first) == ["human", "cnn", "lstm"] and second.get_legend() is None
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["block 1", "block 2"]
    assert [axes.get_ylabel() for axes in (first, second)] == ["degrees"] * 2
    assert (first.get_xlabel(), second.get_xlabel()) == ("", "frame")
    assert first.get_ylim() == second.get_ylim(), "panels can be compared"


def test_no_parts_and_too_many_systems_are_refused(tmp_path: Path) -> None:
    truth = np.zeros(3)
    with pytest.raises(UsageError, match="over time: 0 parts and 1 systems; draw some parts"):
        over_time(truth, {"cnn": truth}, [], tmp_path / "x.png", **NAMES)
    with pytest.raises(UsageError, match="over time: 1 parts and 8 systems"):
        over_time(truth, {str(n): truth for n in range(8)}, [np.arange(3)], tmp_path / "x.png", **NAMES)
    assert list(tmp_path.iterdir()) == []
