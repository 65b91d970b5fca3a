"""From predictions to rows: which items are counted, over which seeds, with which sign."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reproductions.protocol.experiment import Reported, Variant
from reproductions.protocol.papers import preset
from reproductions.protocol.rows import accuracy_row, averaged_row, by_variant, mean_right, measured, paired_difference
from tests.reproductions.support import PAPER, outcome

MEAN = preset(PAPER, "cpu").variant("mean")


def test_outcomes_are_grouped_by_variant_in_their_order(tmp_path: Path) -> None:
    outcomes = [outcome(tmp_path, name, seed, {}) for seed in (1, 2) for name in ("mean", "last")]
    groups = by_variant(outcomes)
    assert {name: [one.unit.seed for one in group] for name, group in groups.items()} == {
        "mean": [1, 2],
        "last": [1, 2],
    }


@pytest.mark.parametrize(
    ("trainings", "said"),
    [
        ((), "paired bootstrap over reviews"),
        ((1,), "bootstrap over reviews, one training"),
        ((2,), "bootstrap over reviews, mean of 2 trainings"),
        ((1, 1), "paired bootstrap over reviews, one training a side"),
        ((3, 3), "paired bootstrap over reviews, means of 3 trainings a side"),
        ((2, 1), "paired bootstrap over reviews, means of 2 and 1 trainings"),
    ],
)
def test_a_claim_says_how_many_trainings_stand_on_its_sides(
    trainings: tuple[int, ...], said: str, tmp_path: Path
) -> None:
    names = ("mean", "last")
    sides = [
        [outcome(tmp_path, name, seed, {}) for seed in range(count)]
        for name, count in zip(names, trainings, strict=False)
    ]
    assert measured("points", "reviews", preset(PAPER, "cpu"), *sides) == f"test, points, {said}"
    on_sample = measured("points", "reviews", preset(PAPER, "smoke"), *sides, split="validation")
    assert on_sample == f"validation, points, {said}; SAMPLE: means nothing"


def test_a_row_is_the_mean_over_seeds_with_the_interval_over_items(tmp_path: Path) -> None:
    right = np.arange(1_000) % 10
    outcomes = [
        outcome(tmp_path, "mean", 1, {"right": right < 8}, train_seconds=2.0),
        outcome(tmp_path, "mean", 7, {"right": right < 9}, train_seconds=4.0),
    ]
    row = accuracy_row(outcomes, MEAN, split="test", signature="all")
    assert row.per_seed == {"1": 80.0, "7": 90.0}
    assert (row.mean, row.train_seconds, row.parameters) == (85.0, 3.0, 10)
    assert row.std == pytest.approx(np.sqrt(50))  # two seeds: 80 and 90, divided by one
    # Eight in ten items are right with both seeds, one with one of them: 100, 50 and 0 per cent.
    deviation = np.sqrt(0.8 * 15**2 + 0.1 * 35**2 + 0.1 * 85**2) / np.sqrt(1_000)
    low, high = row.ci95
    assert low == pytest.approx(85 - 1.96 * deviation, abs=0.3)
    assert high == pytest.approx(85 + 1.96 * deviation, abs=0.3)
    assert (row.corpus, row.comparable, row.differs) == ("nsmc", MEAN.comparable, MEAN.differs)
    assert row.reported is not None and MEAN.reported is not None
    assert Reported(**row.reported) == MEAN.reported


def test_a_row_counts_the_items_it_is_given(tmp_path: Path) -> None:
    one = outcome(tmp_path, "mean", 1, {"right": np.array([True, True, False, False, False])})
    row = accuracy_row([one], MEAN, split="test", signature="some", items=np.array([True, True, True, True, False]))
    assert (row.mean, row.std, row.per_seed) == (50.0, 0.0, {"1": 50.0})
    assert row.reported is None and not row.comparable  # others report all of the test split


def test_a_validation_row_is_the_epoch_that_was_chosen(tmp_path: Path) -> None:
    history = [{"epoch": epoch, "validation_accuracy": value} for epoch, value in enumerate([60.0, 70.0, 65.0], 1)]
    outcomes = [
        outcome(tmp_path, "mean", 1, {}, history=history, best_epoch=2),
        outcome(tmp_path, "mean", 2, {}, history=history[:1]),
    ]
    row = accuracy_row(outcomes, MEAN, split="validation", signature="best epoch")
    assert (row.per_seed, row.mean) == ({"1": 70.0, "2": 60.0}, 65.0)
    assert row.reported is None


def test_a_row_on_the_sample_says_so_and_is_comparable_with_nothing(tmp_path: Path) -> None:
    one = outcome(tmp_path, "mean", 1, {"right": np.array([True, False])}, corpus="sample")
    comparable = Variant("mean", "", {}, MEAN.recipe, reported=MEAN.reported, comparable=True, differs="in nothing")
    for items in (None, np.array([True, True])):
        row = accuracy_row([one], comparable, split="test", signature="all", items=items)
        assert (row.corpus, row.comparable) == ("sample", False)
        assert "SAMPLE" in row.differs


def test_a_paired_difference_has_the_sign_of_the_first_and_knows_which_items_go_together(tmp_path: Path) -> None:
    """The second system is right wherever the first is, but for 20 of 1 000 items: a small, certain difference."""
    easy = np.arange(1_000) < 700
    first = easy | (np.arange(1_000) >= 980)
    groups = by_variant(
        [outcome(tmp_path, "mean", seed, {"right": first}) for seed in (1, 2)]
        + [outcome(tmp_path, "last", seed, {"right": easy}) for seed in (1, 2)]
    )
    forth, back = paired_difference(groups, "mean", "last"), paired_difference(groups, "last", "mean")
    assert forth.mean == pytest.approx(2.0)
    deviation = 100 * np.sqrt(0.02 * 0.98 / 1_000)
    assert forth.low == pytest.approx(2 - 1.96 * deviation, abs=0.15)
    assert forth.high == pytest.approx(2 + 1.96 * deviation, abs=0.15)
    assert (back.mean, back.low, back.high) == pytest.approx((-forth.mean, -forth.high, -forth.low), abs=0.05)
    # Of two unrelated systems as good as these, nobody could tell which is better.
    shuffled = np.random.RandomState(0).permutation(easy)
    unpaired = by_variant([*groups["mean"], outcome(tmp_path / "other", "last", 1, {"right": shuffled})])
    estimate = paired_difference(unpaired, "mean", "last")
    assert estimate.low < 0 < estimate.high


def test_a_difference_of_nothing_is_nothing(tmp_path: Path) -> None:
    right = np.arange(50) % 2 == 0
    groups = by_variant([outcome(tmp_path, name, 1, {"right": right}) for name in ("mean", "last")])
    estimate = paired_difference(groups, "mean", "last")
    assert (estimate.mean, estimate.low, estimate.high) == (0.0, 0.0, 0.0)
    assert mean_right(groups["mean"]).tolist() == (100.0 * right).tolist()


def test_averaged_seeds_are_one_classifier(tmp_path: Path) -> None:
    # Labels 1, 1, 0, 0. The seeds disagree on the first and the third review; the surer one decides.
    probabilities = [np.array([0.9, 0.6, 0.4, 0.2]), np.array([0.3, 0.8, 0.9, 0.1])]
    rights = [np.array([True, True, True, True]), np.array([False, True, False, True])]
    outcomes = [
        outcome(tmp_path, "mean", seed, {"probability": probability, "right": right})
        for seed, probability, right in zip((1, 2), probabilities, rights, strict=True)
    ]
    row = averaged_row(outcomes, MEAN, signature="all")
    assert (row.variant, row.mean, row.std, row.per_seed) == ("mean-averaged", 75.0, 0.0, {"1+2": 75.0})
    assert row.parameters == 2 * 10
    some = averaged_row(outcomes, MEAN, signature="some", items=np.array([True, True, False, True]))
    assert some.mean == 100.0
