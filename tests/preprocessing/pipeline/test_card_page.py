"""The page of any card: histograms that add up, percentages, and no import from other folders."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given, strategies as st

from preprocessing.pipeline.card_page import card_page
from preprocessing.pipeline.card_page.card_page import histograms
from tests.preprocessing.pages import profile


@given(
    lengths=st.lists(st.integers(0, 3000), min_size=1, max_size=60),
    others=st.lists(st.integers(0, 30), max_size=20),
    width=st.integers(1, 7),
    cut=st.none() | st.integers(1, 400),
)
def test_bars_add_up_to_all_rows_and_are_inside_the_plot(
    lengths: list[int], others: list[int], width: int, cut: int | None
) -> None:
    plots = histograms({"train": profile(lengths, width), "test": profile(others, width)}, cut)
    assert len(plots) == (2 if others else 1)
    for plot, rows in zip(plots, (lengths, others), strict=False):
        matches = [re.search(r": ([\d,]+) rows", bar.tooltip) for bar in plot.bars]
        counts = [int(match[1].replace(",", "")) for match in matches if match]
        assert sum(counts) == len(rows)
        assert len(plot.bars) <= 101
        heights = np.array([bar.height for bar in plot.bars])
        np.testing.assert_allclose(heights / heights.max(), np.array(counts) / max(counts), atol=1e-3)
        for bar in plot.bars:
            assert -0.01 <= bar.x <= bar.x + bar.width <= card_page.WIDTH + 0.2
            assert -0.01 <= bar.y <= bar.y + bar.height <= card_page.HEIGHT + 0.02
        assert all(0 <= x <= card_page.WIDTH for x, *_ in [*plot.ticks, *plot.marks])
        assert all(0 <= y <= card_page.HEIGHT for y, _ in plot.grid)


def test_a_bar_names_its_lengths_and_the_last_one_includes_all_longer_rows() -> None:
    (plot,) = histograms({"train": profile([1] * 990 + [2] * 9 + [500])})
    assert [bar.tooltip for bar in plot.bars] == [
        "length 0: 0 rows, 0.00 %",
        "length 1: 990 rows, 99.00 %",
        "length 2 to 500: 10 rows, 1.00 %",
    ]


def test_small_percentages_are_never_rounded_to_zero() -> None:
    assert card_page.percent(0.000001) == "< 0.01 %"
    assert card_page.percent(0) == "0.00 %"
    assert card_page.percent(0.9973) == "99.73 %"


def test_the_page_imports_nothing_from_other_folders() -> None:
    rooms = "{'mxnet', 'matplotlib', 'gluon_attn'}"
    program = f"import sys, preprocessing.pipeline.card_page.card_page; print({rooms} & set(sys.modules))"
    root = Path(card_page.__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "set()"
