"""Inference over seeds and items: known cases, and coverage and false verdicts by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gluon_attn.evaluation.inference import (
    Inference,
    half_width,
    holm,
    largest_deviation,
    over_seeds,
    pooled_deviation,
    seeds_needed,
)

SEEDS = (2, 3, 5)
TRIALS = 20_000


class Simulated:
    """Differences of two systems, measured with several seeds on the same test items; the true effect is 0.

    Items give the mean difference a standard error of 1; each seed adds a deviation of ``seed_deviation``, in the same
    unit, to both systems together.
    """

    def __init__(self, seeds: int, seed_deviation: float) -> None:
        generator = np.random.RandomState(100 * seeds + int(10 * seed_deviation))
        items = generator.standard_normal((TRIALS, 1))
        self.effects = items + seed_deviation * generator.standard_normal((TRIALS, seeds))
        self.generator = generator

    def missed(self, half_widths: np.ndarray) -> float:
        """Share of the trials whose interval misses the true effect."""
        return float((np.abs(self.effects.mean(axis=1)) > half_widths).mean())

    def by_items(self) -> float:
        return self.missed(np.full(TRIALS, 1.96))

    def by_seeds(self) -> float:
        seeds = self.effects.shape[1]
        error = self.effects.std(axis=1, ddof=1) / np.sqrt(seeds)
        return self.missed(stats.t.ppf(0.975, seeds - 1) * error)

    def by_hierarchical_bootstrap(self) -> float:
        """Seeds are drawn with replacement, then items, whose error is 1."""
        seeds, draws = self.effects.shape[1], 400
        misses = 0
        for effects in self.effects[:1_000]:
            drawn = effects[self.generator.randint(0, seeds, (draws, seeds))].mean(axis=1)
            low, high = np.percentile(drawn + self.generator.standard_normal(draws), [2.5, 97.5])
            misses += not low <= 0 <= high
        return misses / 1_000

    def by_both(self) -> float:
        seeds = self.effects.shape[1]
        error = self.effects.std(axis=1, ddof=1) / np.sqrt(seeds)
        return self.missed(half_width(0.95, error, seeds - 1, 1.0))


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("seed_deviation", [0.0, 0.5, 1.0, 2.0, 5.0])
def test_false_verdicts_are_at_most_one_in_twenty(seeds: int, seed_deviation: float) -> None:
    assert Simulated(seeds, seed_deviation).by_both() <= 0.05 + 0.003  # Two standard errors of the simulation.


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_alternatives_give_more_false_verdicts(seeds: int) -> None:
    assert Simulated(seeds, 2.0).by_items() > 0.10  # Ignores seeds.
    assert Simulated(seeds, 0.5).by_seeds() > 0.10  # Ignores items.


def test_a_bootstrap_over_two_seeds_is_too_narrow() -> None:
    assert Simulated(2, 5.0).by_hierarchical_bootstrap() > 0.20


def test_a_true_effect_is_detected() -> None:
    generator = np.random.RandomState(1)
    detected = [
        over_seeds(4.0 + generator.standard_normal() + generator.standard_normal(3), 1.0).interval()[0] > 0
        for _ in range(500)
    ]
    assert np.mean(detected) > 0.5


def test_without_item_error_it_is_the_t_interval() -> None:
    effects = np.array([0.3, 0.5, 0.1])
    expected = stats.ttest_1samp(effects, 0.0)
    result = over_seeds(effects, 0.0)
    assert result.p == pytest.approx(expected.pvalue)
    assert result.interval() == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_without_seed_deviation_it_is_the_normal_interval() -> None:
    result = over_seeds(np.array([1.0, 1.0]), 0.5)
    assert result.interval() == pytest.approx((1.0 - 1.95996 * 0.5, 1.0 + 1.95996 * 0.5), abs=1e-4)


def test_over_few_items_it_is_a_t_interval_at_every_level() -> None:
    values = np.array([0.1, 0.9, -0.3, 0.6, 0.8])
    expected = stats.ttest_1samp(values, 0.0)
    result = Inference(float(values.mean()), 0.0, 1, float(stats.sem(values)), item_degrees=4)
    assert result.p == pytest.approx(expected.pvalue)
    for level in (0.9, 0.99):
        assert result.interval(level) == pytest.approx(tuple(expected.confidence_interval(level)))


def test_equal_systems_have_no_effect() -> None:
    assert over_seeds(np.zeros(2), 0.0).p == 1.0


def test_one_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="two seeds or more"):
        over_seeds(np.array([1.0]), 0.1)


def test_holms_adjustment_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_pooled_deviation_by_hand() -> None:
    samples = [np.array([1.0, 3.0]), np.array([5.0]), np.array([2.0, 2.0, 5.0])]
    pooled = pooled_deviation(samples)
    assert pooled is not None and pooled.value == pytest.approx(np.sqrt((2.0 + 6.0) / 3)) and pooled.degrees == 3
    assert pooled_deviation([np.array([1.0])]) is None


def test_the_largest_deviation_by_hand() -> None:
    samples = [np.array([1.0, 3.0]), np.array([50.0]), np.array([2.0, 2.0, 5.0])]
    assert largest_deviation(samples) == pytest.approx((np.sqrt(3.0), 3))
    assert largest_deviation([np.array([1.0])]) is None


@pytest.mark.parametrize(("effect", "items"), [(0.3, 0.08), (2.2, 0.0), (0.7, 0.0)])
def test_seeds_needed_have_the_power_that_was_asked_for(effect: float, items: float) -> None:
    """With few seeds, too, whose own deviation is often smaller or larger than the true one."""
    seeds = seeds_needed(effect, 0.2, items)
    assert seeds is not None
    generator = np.random.RandomState(2)

    def power(number: int) -> float:
        effects = (
            effect + items * generator.standard_normal((20_000, 1)) + 0.2 * generator.standard_normal((20_000, number))
        )
        errors = effects.std(axis=1, ddof=1) / np.sqrt(number)
        return float((effects.mean(axis=1) > half_width(0.95, errors, number - 1, items)).mean())

    assert power(seeds) > 0.79
    assert seeds == 2 or power(seeds - 1) < 0.81


def test_seeds_without_an_answer_and_without_a_question() -> None:
    assert seeds_needed(0.1, 0.0, 1.0) is None
    assert seeds_needed(-0.1, 0.0, 0.0) == 2, "nothing varies: any effect is seen at once"
    assert seeds_needed(0.0, 0.0, 0.0) is None
