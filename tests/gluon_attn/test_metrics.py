"""Intervals that cover, entropies at their ends, and the rank correlation of SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from gluon_attn.metrics import bootstrap, normalised_entropy, rank_correlation


def test_the_interval_of_a_mean_is_the_one_of_the_normal_law() -> None:
    """Of 4 000 answers 3 000 are right: the mean's standard error is sqrt(p (1 - p) / n)."""
    right = np.arange(4_000) % 4 > 0
    estimate = bootstrap(right, seed=1)
    error = math.sqrt(0.75 * 0.25 / 4_000)
    assert estimate.mean == 0.75
    assert estimate.low == pytest.approx(0.75 - 1.96 * error, abs=0.1 * error)
    assert estimate.high == pytest.approx(0.75 + 1.96 * error, abs=0.1 * error)


def test_ninety_five_of_a_hundred_intervals_cover_the_truth() -> None:
    generator = np.random.RandomState(0)
    covered = 0
    for trial in range(200):
        estimate = bootstrap(generator.normal(3.0, 2.0, size=80), seed=trial, resamples=200)
        covered += estimate.low <= 3.0 <= estimate.high
    assert 0.91 <= covered / 200 <= 0.985


def test_a_paired_difference_is_narrower_than_its_parts() -> None:
    """Two systems fail on the same hard items; one is better by a tenth on each."""
    first = np.random.RandomState(0).normal(size=200)
    alone, difference = bootstrap(first, seed=1), bootstrap((first + 0.1) - first, seed=1)
    assert alone.high - alone.low > 0.2
    assert difference.low == pytest.approx(0.1) and difference.high == pytest.approx(0.1)


def test_the_same_seed_resamples_the_same() -> None:
    values = np.random.RandomState(0).normal(size=50)
    assert bootstrap(values, seed=1) == bootstrap(values.tolist(), seed=1)
    assert bootstrap(values, seed=1) != bootstrap(values, seed=2)
    np.random.seed(0)
    expected = np.random.uniform()
    np.random.seed(0)
    bootstrap(values, seed=1)
    assert np.random.uniform() == expected, "the global generator was drawn from"


@pytest.mark.parametrize(
    ("weights", "expected"),
    [([1, 0, 0, 0], 0.0), ([0.25] * 4, 1.0), ([0.5, 0.5, 0, 0], 0.5), ([0.5, 0.25, 0.25], 1.5 / math.log2(3))],
)
def test_entropy_is_that_of_the_formula(weights: list[float], expected: float) -> None:
    assert normalised_entropy(np.array(weights)) == pytest.approx(expected)


@given(st.lists(st.floats(0.001, 1.0), min_size=2, max_size=30))
def test_entropy_lies_between_nothing_and_uniform(values: list[float]) -> None:
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


def test_rank_correlation_sees_order_and_nothing_else() -> None:
    values = np.array([0.1, 0.2, 0.5, 0.7])
    assert rank_correlation(values, np.exp(9 * values)) == pytest.approx(1.0)
    assert rank_correlation(values, -values) == pytest.approx(-1.0)
    assert rank_correlation(values, np.full(4, 0.3)) == 0.0
