"""Rows: their seeds, their peers, and marks of the sample."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import Estimate, bootstrap_metric
from reproductions.protocol.reported import Reported
from reproductions.protocol.results import Row
from reproductions.protocol.rows import (
    alone,
    best_validation,
    bootstrapped_row,
    row,
    seed_range,
    stacked,
    validation_row,
)
from tests.reproductions.support import outcome
from tests.reproductions.toy import PEER, REPRODUCTION

CURVED, STRAIGHT, _ = REPRODUCTION.variants


def row_of(folder: Path, *seeds: int, variant: Any = CURVED, values: Any = None, **changes: Any) -> Row:
    outcomes = [outcome(folder, variant.name, seed, train_seconds=2.0 * seed, **changes) for seed in seeds]
    given = {"split": "test", "metric": "accuracy", "signature": "all"}
    return row(outcomes, variant, **given, values=values or [80.0, 90.0][: len(seeds)], ci95=Estimate(85, 84, 86))


def test_a_row_is_the_mean_and_the_deviation_over_seeds_with_the_given_interval(tmp_path: Path) -> None:
    one = row_of(tmp_path, 1, 7)
    assert one.per_seed == {"1": 80.0, "7": 90.0}
    assert (one.mean, one.train_seconds, one.parameters, one.ci95) == (85.0, 8.0, 10, (84, 86))
    assert one.std == pytest.approx(np.sqrt(50))  # Two seeds: 80 and 90, divided by one.
    assert (one.corpus, one.comparable, one.differs) == ("nsmc", True, "our points")
    assert one.reported is not None and Reported(**one.reported) == PEER


@pytest.mark.parametrize(
    ("metric", "interval", "cut"),
    [
        ("accuracy", (-3.0, 104.0), (0.0, 100.0)),
        ("sacrebleu", (-3.0, 104.0), (0.0, 100.0)),
        ("error", (-3.0, 104.0), (0.0, 104.0)),
        ("perplexity", (-3.0, 104.0), (1.0, 104.0)),
        ("difference", (-3.0, 104.0), (-3.0, 104.0)),
    ],
)
def test_an_interval_is_cut_at_the_bounds_of_the_metric(
    tmp_path: Path, metric: str, interval: tuple[float, float], cut: tuple[float, float]
) -> None:
    outcomes = [outcome(tmp_path, CURVED.name, 1)]
    estimate = Estimate(50.0, *interval)
    one = row(outcomes, CURVED, split="test", metric=metric, signature="", values=[50.0], ci95=estimate)
    assert one.ci95 == cut


def test_one_seed_has_no_deviation(tmp_path: Path) -> None:
    assert row_of(tmp_path, 1).std == 0.0


def test_a_row_has_a_value_for_each_seed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="zip"):
        row_of(tmp_path, 1, 2, values=[80.0])


def test_an_array_that_one_seed_lacks_is_named(tmp_path: Path) -> None:
    both = [outcome(tmp_path, "curved", 1, {"right": np.ones(2)}), outcome(tmp_path, "curved", 2, {"more": np.ones(2)})]
    assert stacked(both[:1], "right").shape == (1, 2)
    with pytest.raises(
        UsageError, match="has no right, which another seed of curved or its claim has; train and score"
    ):
        stacked(both, "right")


def test_the_number_of_a_peer_is_in_the_test_row_of_its_metric(tmp_path: Path) -> None:
    outcomes = [outcome(tmp_path, "curved", 1)]
    for split, metric, variant in (
        ("validation", "accuracy", CURVED),
        ("test", "loss", CURVED),
        ("test", "accuracy", STRAIGHT),
    ):
        one = row(
            outcomes, variant, split=split, metric=metric, signature="", values=[1.0], ci95=Estimate(1.0, 1.0, 1.0)
        )
        assert (one.reported, one.comparable) == (None, False)


def test_a_row_with_another_signature_has_no_peer(tmp_path: Path) -> None:
    one = row_of(tmp_path, 1)
    assert alone(one) == replace(one, reported=None, comparable=False)


def test_a_row_on_the_sample_says_so_and_is_not_comparable(tmp_path: Path) -> None:
    one = row_of(tmp_path, 1, corpus="sample")
    assert (one.corpus, one.comparable, one.differs) == ("sample", False, "SAMPLE: means nothing")


def test_a_metric_without_items_has_the_range_of_its_seeds() -> None:
    assert seed_range([3.0, 1.0, 2.0]) == Estimate(2.0, 1.0, 3.0)


def test_the_validation_result_is_the_best_of_all_epochs(tmp_path: Path) -> None:
    history = [{f"validation_{metric}": value for metric in ("accuracy", "error", "loss")} for value in (6.0, 7.5, 6.5)]
    one = outcome(tmp_path, "curved", 1, history=history)
    assert [best_validation(one, metric) for metric in ("accuracy", "error", "loss")] == [7.5, 6.0, 6.0]


def test_the_validation_row_has_the_best_result_of_each_seed_and_their_range(tmp_path: Path) -> None:
    histories = {1: (80.0, 90.0, 85.0), 2: (70.0, 60.0, 50.0)}
    outcomes = [
        outcome(tmp_path, "curved", seed, history=[{"validation_accuracy": value} for value in values])
        for seed, values in histories.items()
    ]
    one = validation_row(outcomes, CURVED, "accuracy")
    assert (one.split, one.metric, one.signature) == ("validation", "accuracy", "best epoch")
    assert (one.mean, one.per_seed, one.ci95) == (80.0, {"1": 90.0, "2": 70.0}, (70.0, 90.0))
    assert one.reported is None


def test_a_metric_of_sums_is_scored_for_each_seed_and_bootstrapped_over_items(tmp_path: Path) -> None:
    outcomes = [outcome(tmp_path, "curved", seed) for seed in (1, 2)]
    each = np.stack([np.stack([np.arange(10.0) + seed, np.full(10, 2.0)], axis=1) for seed in (1, 2)])

    def ratio(totals: np.ndarray) -> float:
        return float(totals[0] / totals[1])

    one = bootstrapped_row(outcomes, CURVED, each, ratio, metric="accuracy", signature="all")
    assert one.per_seed == {"1": 55 / 20, "2": 65 / 20} and one.mean == 3.0
    interval = bootstrap_metric(each, ratio, seed=0)
    assert one.ci95 == (interval.low, interval.high) and interval.low < 3.0 < interval.high
    assert one.split == "test" and one.comparable
