"""Largest differences between systems, chosen once for all seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reproductions.protocol.runs import Outcome
from reproductions.tasks.classification.accuracy import level, widest
from tests.reproductions.support import outcome

ITEMS = 400


def system(folder: Path, name: str, *right: float) -> list[Outcome]:
    """Outcomes of the seeds 1, 2, ..., each right about a share of the items."""
    return [
        outcome(folder, name, seed, {"right": np.arange(ITEMS) < ITEMS * share})
        for seed, share in enumerate(right, start=1)
    ]


def test_every_seed_measures_the_difference_of_the_same_two_systems(tmp_path: Path) -> None:
    first, second = system(tmp_path, "first", 0.70, 0.70, 0.75), system(tmp_path, "second", 0.68, 0.72, 0.70)
    apart = widest(first, second, system(tmp_path, "third", 0.71, 0.71, 0.71), items="reviews")
    assert apart.estimate.mean == pytest.approx(5 / 3)
    assert apart.by_seed == pytest.approx({1: 2, 2: -2, 3: 5})


def test_a_seed_in_which_the_order_is_another_is_not_folded(tmp_path: Path) -> None:
    first, second = system(tmp_path, "first", 0.75, 0.70), system(tmp_path, "second", 0.70, 0.72)
    effect = level(2.0, "reviews")(second, first)
    assert effect.estimate.mean == pytest.approx(2 - 1.5) and effect.by_seed == pytest.approx({1: -3, 2: 4})
    assert effect.estimate.low < effect.estimate.mean < effect.estimate.high
    apart = widest(second, first, items="reviews").estimate
    assert (effect.estimate.low, effect.estimate.high) == pytest.approx((2 - apart.high, 2 - apart.low))


def test_equal_systems_are_level(tmp_path: Path) -> None:
    effect = level(2.0, "reviews")(system(tmp_path, "one", 0.7, 0.7), system(tmp_path, "other", 0.7, 0.7))
    assert effect.estimate.mean == 2 and effect.by_seed == {1: 2, 2: 2}
