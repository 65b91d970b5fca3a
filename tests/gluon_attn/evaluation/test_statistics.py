"""Intervals and their coverage, entropy at its limits, and rank correlation against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import spearmanr

from gluon_attn.evaluation import statistics
from gluon_attn.evaluation.statistics import (
    MANY,
    Resampled,
    bootstrap,
    bootstrap_difference,
    bootstrap_metric,
    in_blocks,
    in_clusters,
    normalised_entropy,
    rank_correlation,
    widening,
)
from gluon_attn.runtime import derive


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution() -> None:
    """Of 4 000 answers 3 000 are correct: the standard error of the mean is sqrt(p (1 - p) / n)."""
    right = np.arange(4_000) % 4 > 0
    estimate = bootstrap(right, seed=1)
    error = math.sqrt(0.75 * 0.25 / 4_000)
    assert estimate.mean == 0.75
    assert estimate.low == pytest.approx(0.75 - 1.96 * error, abs=0.1 * error)
    assert estimate.high == pytest.approx(0.75 + 1.96 * error, abs=0.1 * error)


def test_ninety_five_percent_of_the_intervals_cover_the_truth() -> None:
    generator = np.random.RandomState(0)
    covered = 0
    for trial in range(200):
        estimate = bootstrap(generator.normal(3.0, 2.0, size=80), seed=trial, resamples=200)
        covered += estimate.low <= 3.0 <= estimate.high
    assert 0.91 <= covered / 200 <= 0.985


def test_intervals_over_few_units_cover_the_truth_as_often() -> None:
    generator = np.random.RandomState(1)
    estimates = [bootstrap(generator.normal(3.0, 2.0, size=8), seed=trial, resamples=300) for trial in range(500)]
    covered = np.mean([estimate.low <= 3.0 <= estimate.high for estimate in estimates])
    narrow = np.mean([abs(estimate.mean - 3.0) * widening(8) <= 1.96 * estimate.error for estimate in estimates])
    assert 0.92 <= covered <= 0.98 and narrow < 0.90, "without the factor they would be too narrow"


def test_the_factor_for_few_units() -> None:
    """t with 8 degrees of freedom is 2.306 at 97.5 %."""
    assert widening(9) == pytest.approx(2.306 / 1.95996 * math.sqrt(9 / 8), rel=1e-3)
    values = np.arange(MANY, dtype=float)
    few, many = bootstrap(values[:9], seed=1), bootstrap(values, seed=1)
    assert (few.degrees, many.degrees, bootstrap(values[:1], seed=1).degrees) == (8, math.inf, 0)
    assert few.error == pytest.approx((few.high - few.low) / (2 * 2.306), rel=1e-3)
    assert many.error == pytest.approx((many.high - many.low) / (2 * 1.95996), rel=1e-3)


def test_a_paired_difference_is_narrower_than_its_parts() -> None:
    """Two systems fail on the same hard items; one is better by 0.1 on each."""
    first = np.random.RandomState(0).normal(size=200)
    alone, difference = bootstrap(first, seed=1), bootstrap((first + 0.1) - first, seed=1)
    assert alone.high - alone.low > 0.2
    assert difference.low == pytest.approx(0.1) and difference.high == pytest.approx(0.1)


def test_the_same_seed_draws_the_same_samples() -> None:
    values = np.random.RandomState(0).normal(size=50)
    assert bootstrap(values, seed=1) == bootstrap(values.tolist(), seed=1)
    assert bootstrap(values, seed=1) != bootstrap(values, seed=2)
    np.random.seed(0)
    expected = np.random.uniform()
    np.random.seed(0)
    bootstrap(values, seed=1)
    assert np.random.uniform() == expected, "the global generator was used"


@pytest.mark.parametrize("items", [255, 256, 257, 300])
def test_kept_draws_are_those_that_would_be_drawn_again(items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.RandomState(0).normal(size=(2, items))
    estimates = []
    for kept in (statistics.KEPT_BYTES, 0):
        monkeypatch.setattr(statistics, "KEPT_BYTES", kept)
        made = [bootstrap(one, seed=seed, resamples=100) for one in values for seed in (1, 2, 1)]
        estimates += [(estimate.low, estimate.high) for estimate in made]
    assert estimates[:6] == estimates[6:]
    assert estimates[0] == estimates[2] != estimates[1]


def accuracy(totals: np.ndarray) -> float:
    """A metric of two sums: correct answers over answers."""
    return float(totals[0] / totals[1])


def geometric(totals: np.ndarray) -> float:
    """A metric that is not a mean over items, as BLEU."""
    return float(np.exp(np.log(totals[:3]).mean()) / totals[3])


def counts(runs: int, items: int, seed: int, *, higher: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).randint(1, 9 + higher, (runs, items, 4)).astype(float)


def test_a_mean_of_totals_has_the_interval_of_the_mean() -> None:
    """With one count per item the ratio of sums is the mean, and the same seed draws the same items."""
    generator = np.random.RandomState(0)
    first, second = (generator.randint(0, 2, 300).astype(float) for _ in range(2))
    ours, theirs = (np.stack([values, np.ones(300)], axis=1)[None] for values in (first, second))
    estimate = bootstrap_difference(ours, theirs, accuracy, seed=4, resamples=500)
    expected = bootstrap(first - second, seed=4, resamples=500)
    assert (estimate.mean, estimate.low, estimate.high) == pytest.approx((expected.mean, expected.low, expected.high))
    assert estimate.low < estimate.mean < estimate.high


def test_totals_are_summed_before_they_are_scored() -> None:
    """Resampling item by item: the metric of sums, not the mean of metrics; runs are averaged after it."""
    first, second = counts(3, MANY, 1, higher=4), counts(2, MANY, 2)
    estimate = bootstrap_difference(first, second, geometric, seed=7, resamples=200)

    def difference(rows: np.ndarray) -> float:
        ours, theirs = (
            np.mean([geometric(np.sum([run[row] for row in rows], axis=0)) for run in system])
            for system in (first, second)
        )
        return float(ours - theirs)

    generator = np.random.RandomState(derive(7, "bootstrap"))
    drawn = [difference(generator.randint(0, MANY, MANY)) for _ in range(200)]
    assert estimate.mean == pytest.approx(difference(np.arange(MANY)))
    assert (estimate.low, estimate.high) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])))


def test_blocks_are_sums_of_consecutive_items() -> None:
    totals = np.arange(2 * 7 * 3).reshape(2, 7, 3)
    blocks = in_blocks(totals, 3, 2)
    assert blocks.shape == (2, 3, 3)
    np.testing.assert_array_equal(blocks[:, 0], totals[:, :3].sum(axis=1))
    np.testing.assert_array_equal(blocks[:, 2], totals[:, 6])
    assert in_blocks(totals, 3, 4).shape == (2, 7, 3), "blocks of one item, since two would make too few"
    assert in_blocks(totals, 100, 2).shape == (2, 3, 3)


def test_blocks_of_items_that_depend_on_each_other_have_wider_intervals() -> None:
    values = np.repeat(np.random.default_rng(3).standard_normal(100), 10)[None, :, None]
    single, blocked = (
        bootstrap_metric(each, lambda sums: sums[0] / 1_000, seed=0) for each in (values, in_blocks(values, 10, 20))
    )
    assert blocked.mean == pytest.approx(single.mean)
    assert blocked.error / single.error == pytest.approx(math.sqrt(10), rel=0.1)


def test_items_of_a_cluster_count_as_often_as_the_clusters_differ() -> None:
    """Copies of an item add nothing; clusters of one item are items."""
    values = np.random.RandomState(2).normal(size=300)
    copies, clusters = np.repeat(values, 4), np.repeat(np.arange(300), 4)
    single, clustered = bootstrap(values, seed=1), bootstrap(copies, seed=1, clusters=clusters[::-1] + 7)
    independent = bootstrap(copies, seed=1)
    np.testing.assert_allclose(bootstrap(values, seed=1, clusters=np.arange(300)).interval, single.interval)
    assert clustered.mean == pytest.approx(single.mean) and clustered.error == pytest.approx(single.error, rel=0.05)
    assert clustered.error == pytest.approx(2 * independent.error, rel=0.1)


def test_clusters_of_different_sizes_have_the_mean_of_their_items() -> None:
    values, clusters = np.array([1.0, 1, 1, 5]), np.array(["a", "a", "a", "b"])
    estimate = bootstrap(values, seed=1, clusters=clusters)
    assert isinstance(estimate, Resampled)
    assert estimate.mean == 2 and set(np.round(estimate._resample(), 9)) == {1, 2, 5}


def test_clusters_are_sums_of_their_items() -> None:
    totals = np.arange(12.0).reshape(1, 4, 3)
    (summed,) = in_clusters(totals, np.array(["b", "a", "b", "c"]))
    np.testing.assert_array_equal(summed, [totals[0, 1], totals[0, 0] + totals[0, 2], totals[0, 3]])


def test_nothing_is_resampled_until_the_interval_is_read() -> None:
    scored: list[float] = []

    def counted(totals: np.ndarray) -> float:
        scored.append(geometric(totals))
        return scored[-1]

    estimate = bootstrap_metric(counts(1, 20, 1), counted, seed=1, resamples=100)
    assert estimate.mean == geometric(counts(1, 20, 1)[0].sum(axis=0)) and len(scored) == 1
    assert estimate.low < estimate.mean < estimate.high and len(scored) == 101


def test_both_systems_are_resampled_on_the_same_items() -> None:
    """Two systems that differ by a tenth of the first count: their difference hardly depends on the sample."""
    second = counts(1, 200, 3)
    first = second * [1.1, 1, 1, 1]
    paired = bootstrap_difference(first, second, geometric, seed=1)
    shuffled = bootstrap_difference(first[:, ::-1], second, geometric, seed=1)
    assert paired.mean == pytest.approx(shuffled.mean)
    assert paired.low > 0 and (shuffled.high - shuffled.low) > 5 * (paired.high - paired.low)


def test_a_difference_of_totals_changes_sign_with_its_order() -> None:
    first, second = counts(1, 50, 1), counts(2, 50, 2)
    one, turned = (
        bootstrap_difference(*pair, geometric, seed=3, resamples=200) for pair in ((first, second), (second, first))
    )
    assert (turned.mean, turned.low, turned.high) == pytest.approx((-one.mean, -one.high, -one.low))
    assert bootstrap_difference(first, second, geometric, seed=3, resamples=200) == one
    assert bootstrap_difference(first, second, geometric, seed=4, resamples=200) != one
    same = bootstrap_difference(first, first, geometric, seed=3, resamples=200)
    assert (same.mean, same.low, same.high) == (0, 0, 0)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [([1, 0, 0, 0], 0.0), ([0.25] * 4, 1.0), ([0.5, 0.5, 0, 0], 0.5), ([0.5, 0.25, 0.25], 1.5 / math.log2(3))],
)
def test_entropy_is_the_formula(weights: list[float], expected: float) -> None:
    assert normalised_entropy(np.array(weights)) == pytest.approx(expected)


@given(st.lists(st.floats(0.001, 1.0), min_size=2, max_size=30))
def test_entropy_is_between_zero_and_uniform(values: list[float]) -> None:
    weights = np.array(values) / sum(values)
    entropy = normalised_entropy(weights)
    assert -1e-9 <= entropy <= 1 + 1e-9
    assert normalised_entropy(weights[::-1]) == pytest.approx(entropy)


@given(st.integers(0, 10_000), st.integers(3, 30), st.integers(2, 6))
def test_rank_correlation_is_spearmans_with_ties(seed: int, items: int, levels: int) -> None:
    generator = np.random.RandomState(seed)
    first, second = generator.randint(0, levels, items), generator.normal(size=items)
    first[:2] = 0, 1
    assert rank_correlation(first, second) == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)


def test_rank_correlation_depends_on_order_only() -> None:
    values = np.array([0.1, 0.2, 0.5, 0.7])
    assert rank_correlation(values, np.exp(9 * values)) == pytest.approx(1.0)
    assert rank_correlation(values, -values) == pytest.approx(-1.0)
    assert rank_correlation(values, np.full(4, 0.3)) == 0.0
    assert np.isnan(rank_correlation(np.array([0.1, 0.2, np.nan]), values[:3]))
