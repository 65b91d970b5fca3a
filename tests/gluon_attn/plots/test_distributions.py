"""Histograms: shares in per cent, medians, and numbers of values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from gluon_attn.plots.distributions import entropy_and_agreement, weights_histogram
from tests.gluon_attn.plots.drawn import labels


def shares(axes: Axes) -> list[dict[int, float]]:
    """For each sample, the bins that are not empty and their heights."""
    steps = [patch.get_data() for patch in axes.patches if isinstance(patch, StepPatch) and not patch.get_fill()]
    return [{int(bin_): float(values[bin_]) for bin_ in np.flatnonzero(values)} for values, *_ in steps]


def medians(axes: Axes) -> list[float]:
    """Where the line of each sample is."""
    lines = [one for one in axes.collections if isinstance(one, LineCollection)]
    return [float(segment[0, 0]) for line in lines for segment in line.get_segments()]


def test_weights_are_in_bins_of_a_sixth_of_a_doubling(figures: list[Figure], tmp_path: Path) -> None:
    """Weights below 1/32 and above 32 are in the first and in the last bin."""
    best, last = np.array([0.0, 2**-0.9, 2**0.1, 40.0]), np.array([2**0.1, 2**0.1, 1 / 100, 2**0.15, 2**0.1])
    weights_histogram({"best": best, "last": last}, tmp_path / "x.png")
    (axes,) = figures[0].axes
    assert shares(axes) == [{0: 25, 24: 25, 30: 25, 59: 25}, {0: 20, 30: 80}]
    assert medians(axes) == pytest.approx([-0.4, 0.1])
    assert labels(axes) == ["best: median 0.76×, n = 4", "last: median 1.07×, n = 5"]
    assert axes.get_ylabel() == "share of tokens (%)"
    assert dict(zip(axes.get_xticks(), [one.get_text() for one in axes.get_xticklabels()], strict=True))[3] == "8"


def test_undefined_values_are_not_counted(figures: list[Figure], tmp_path: Path) -> None:
    entropy = {"best": np.array([0.21, 0.71, np.nan, 0.91, 0.915])}
    for agreement in ([np.nan, -0.49, 0.43, 0.43], [0.43, np.nan, 0.43, 0.51]):
        entropy_and_agreement(entropy, {"best": np.array(agreement)}, tmp_path / "x.png", "hit rate")
    (left, negative), (_, positive) = (figure.axes for figure in figures)
    assert shares(left) == [{10: 25, 35: 25, 45: 50}] and medians(left) == pytest.approx([0.81])
    assert labels(left) == ["best: median 0.81, n = 4"]
    assert shares(negative) == [{12: pytest.approx(100 / 3), 35: pytest.approx(200 / 3)}]
    assert shares(positive) == [{21: pytest.approx(200 / 3), 25: pytest.approx(100 / 3)}]
    assert labels(negative) == labels(positive) == ["best: median 0.43, n = 3"]
    assert (negative.get_xlim(), positive.get_xlim()) == ((-1, 1), (0, 1))
    assert (left.get_ylabel(), negative.get_xlabel()) == ("share of reviews (%)", "hit rate")
