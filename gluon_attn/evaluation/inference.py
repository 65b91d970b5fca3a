"""Inference over seeds and test items: is a difference between two systems more than noise?

A measured difference varies for two reasons: other test items would give a different one, and so would trainings with
other seeds. A bootstrap over items covers the first source of variation, a t interval over seeds the second. Here the
squares of their half-widths are added,

    half^2 = (t_{n-1} s / sqrt n)^2 + (z SE_items)^2

with s the standard deviation of the effect over n seeds and SE_items its standard error by bootstrap over items. With
fewer than 30 items, the quantile z of the normal distribution is replaced by that of a t distribution.

The method was chosen by simulation (``tests/gluon_attn/evaluation/test_inference.py``): with two, three and five seeds,
and for any share of the variance that is due to seeds, a claim whose true effect is 0 gets a verdict in at most one
case in twenty. With two seeds, a bootstrap over seeds and items gives one in up to 29 % of the cases, because it sees
half of the variance, and Welch and Satterthwaite's degrees of freedom in up to 13 %. The price is a wider interval:
with three seeds, up to 1.75 times the shortest possible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import brentq

LEVEL = 0.95


@dataclass(frozen=True)
class Inference:
    """An effect with its errors over seeds and items.

    Attributes:
        effect: mean over seeds.
        seed_error: standard error of the mean over seeds, with its degrees of freedom.
        degrees: see ``seed_error``.
        item_error: standard error over items, with its degrees of freedom.
        item_degrees: see ``item_error``.
    """

    effect: float
    seed_error: float
    degrees: float
    item_error: float
    item_degrees: float = math.inf

    def half(self, level: float = LEVEL) -> float:
        """Half-width of the interval over seeds and items."""
        return float(half_width(level, self.seed_error, self.degrees, self.item_error, self.item_degrees))

    def half_of_seeds(self, level: float = LEVEL) -> float:
        """Half-width of the interval over seeds alone."""
        return float(half_width(level, self.seed_error, self.degrees, 0.0))

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The interval of the effect over seeds and items."""
        return self.effect - self.half(level), self.effect + self.half(level)

    @property
    def p(self) -> float:
        """p-value: one minus the level of the interval that just includes zero."""

        def beyond(level: float) -> float:
            return self.half(level) - abs(self.effect)

        most = 1 - 1e-12
        if self.effect == 0:
            return 1.0
        return 1 - most if beyond(most) < 0 else 1 - float(brentq(beyond, 0.0, most))


def over_seeds(effects: np.ndarray, item_error: float, item_degrees: float = math.inf) -> Inference:
    """Inference from the effect of each seed; for a comparison, the difference of two systems with the same seed.

    Args:
        effects: (seeds,), two seeds or more.
        item_error: standard error of the mean effect over items, by bootstrap.
        item_degrees: degrees of freedom of this error.

    Raises:
        ValueError: if there is only one seed.
    """
    if len(effects) < 2:
        raise ValueError("a deviation over seeds needs two seeds or more")
    seed_error = float(np.std(effects, ddof=1)) / math.sqrt(len(effects))
    return Inference(float(np.mean(effects)), seed_error, len(effects) - 1, item_error, item_degrees)


def half_width(
    level: float, seed_error: ArrayLike, degrees: float, item_error: float, item_degrees: float = math.inf
) -> np.ndarray:
    """Half-width of the interval at a confidence level.

    Args:
        level: confidence level, such as 0.95.
        seed_error: standard errors of means over seeds, of any shape.
        degrees: degrees of freedom of these errors.
        item_error: standard error over items.
        item_degrees: degrees of freedom of this error.

    Returns:
        An array of the shape of ``seed_error``.
    """
    tail = 0.5 + level / 2
    of_items = stats.t.ppf(tail, item_degrees) * item_error
    width: np.ndarray = np.hypot(stats.t.ppf(tail, degrees) * np.asarray(seed_error), of_items)
    return width


def holm(p_values: list[float]) -> list[float]:
    """Return the adjusted p-values of several tests (Holm, 1979), in the given order."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


class Deviation(NamedTuple):
    """A standard deviation over seeds and its degrees of freedom."""

    value: float
    degrees: int


def pooled_deviation(samples: list[np.ndarray]) -> Deviation | None:
    """Standard deviation over seeds, pooled over systems with two seeds or more; None if there are no such systems."""
    several = [sample for sample in samples if len(sample) > 1]
    if not several:
        return None
    squares = sum(float(np.var(sample, ddof=1)) * (len(sample) - 1) for sample in several)
    degrees = sum(len(sample) - 1 for sample in several)
    return Deviation(math.sqrt(squares / degrees), degrees)


def largest_deviation(samples: list[np.ndarray]) -> Deviation | None:
    """The largest standard deviation over seeds of the systems with two seeds or more, with the degrees of freedom of
    all; None if there are no such systems. A system with one seed may vary as much as the one that varies most."""
    pooled = pooled_deviation(samples)
    if pooled is None:
        return None
    return Deviation(max(float(np.std(sample, ddof=1)) for sample in samples if len(sample) > 1), pooled.degrees)


def seeds_needed(
    effect: float, deviation: float, item_error: float, *, power: float = 0.8, most: int = 100
) -> int | None:
    """Number of paired seeds needed to show an effect with the given power; None if even ``most`` are too few, as where
    the test split is too small, or if there is no effect to show.

    Args:
        effect: the true effect.
        deviation: standard deviation of the effect over seeds.
        item_error: standard error of the effect over items, which more seeds do not lower.
        power: probability of a definite verdict.
        most: the largest number tried.
    """
    if not deviation and not item_error:
        return 2 if effect else None
    quantiles = (np.arange(200) + 0.5) / 200
    for seeds in range(2, most + 1):
        seed_error = deviation / math.sqrt(seeds)
        # The interval is computed from the deviation that these seeds will happen to have.
        measured = seed_error * np.sqrt(stats.chi2.ppf(quantiles, seeds - 1) / (seeds - 1))
        missing = abs(effect) - half_width(LEVEL, measured, seeds - 1, item_error)
        if stats.norm.cdf(missing / math.hypot(seed_error, item_error)).mean() >= power:
            return seeds
    return None
