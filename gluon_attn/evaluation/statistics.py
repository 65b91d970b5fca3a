"""Statistics of predictions and attention weights: bootstrap intervals, rank correlation, entropy, perplexity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.stats import norm, rankdata, t

from gluon_attn.metrics import perplexity_of
from gluon_attn.runtime import derive

MANY = 30
"""Minimum number of resampled units for which a percentile interval is left as it is."""

KEPT_BYTES = 2**28
"""Size up to which the numbers of the drawn items are kept for the next estimate."""


@dataclass(frozen=True)
class Estimate:
    """A mean with an interval: by the functions of this module, the 95 % bootstrap interval over items.

    Attributes:
        mean, low, high: the mean and the ends of the interval.
        degrees: degrees of freedom of the t distribution that the interval is of; infinite for a normal distribution, 0
            for a single item, whose interval says nothing.
    """

    mean: float
    low: float
    high: float
    degrees: float = math.inf

    @property
    def error(self) -> float:
        """Standard error of a t distribution with this 95 % interval; NaN for a single item."""
        quantile = 1.959964 if math.isinf(self.degrees) else float(t.ppf(0.975, self.degrees))
        return (self.high - self.low) / (2 * quantile)


class Resampled(Estimate):
    """An estimate that resamples when its interval is first read; of the effect of a single seed, only the mean is
    needed. ``dataclasses.replace`` cannot copy it.

    Args:
        mean: the mean.
        resample: computes the statistic of each resample.
        units: number of units that are drawn. A percentile interval over fewer than :data:`MANY` is too narrow, and is
            widened to that of a t distribution, about the mean.
    """

    def __init__(self, mean: float, resample: Callable[[], Sequence[float] | np.ndarray], units: int) -> None:
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "degrees", units - 1 if units < MANY else math.inf)
        self._resample, self._units = resample, units

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Its two ends."""
        low, high = np.percentile(self._resample(), [2.5, 97.5])
        if 0 < self.degrees < math.inf:
            factor = widening(self._units)
            low, high = self.mean - factor * (self.mean - low), self.mean + factor * (high - self.mean)
        return float(low), float(high)

    @property
    def low(self) -> float:
        return self.interval[0]

    @property
    def high(self) -> float:
        return self.interval[1]


def widening(units: int) -> float:
    """Half-width of the 95 % t interval of a mean over that of the percentile interval, which divides squares by n
    instead of n - 1, and uses normal quantiles (the "narrowness bias" of Hesterberg, 2015, "What teachers should know
    about the bootstrap").

    Args:
        units: number of units, two or more.
    """
    return float(t.ppf(0.975, units - 1) / norm.ppf(0.975) * np.sqrt(units / (units - 1)))


def bootstrap(values: np.ndarray, *, seed: int, resamples: int = 2_000, clusters: np.ndarray | None = None) -> Estimate:
    """Mean of per-item values and its 95 % percentile interval over items drawn with replacement.

    For a paired comparison of two systems, pass the difference of their scores on each item (Koehn, 2004), so that both
    are evaluated on the same resampled items.

    Args:
        values: (items,), one number per item.
        seed: seed of the resampling.
        resamples: number of resamples.
        clusters: (items,), the cluster of each item, any values; whole clusters are drawn, since their items depend on
            each other: drawn one by one, they would give intervals that are too narrow.
    """
    values = np.asarray(values, dtype=np.float64)

    if clusters is not None:
        return _bootstrap_of_clusters(values, clusters, seed, resamples)

    def resample() -> list[float]:
        return [values[drawn].mean() for drawn in _draws(seed, len(values), resamples)]

    return Resampled(float(values.mean()), resample, len(values))


def _bootstrap_of_clusters(values: np.ndarray, clusters: np.ndarray, seed: int, resamples: int) -> Estimate:
    ((sums, sizes),) = in_clusters(np.stack([values, np.ones(len(values))], axis=1)[None], clusters).swapaxes(1, 2)

    def resample() -> list[float]:
        return [sums[drawn].sum() / sizes[drawn].sum() for drawn in _draws(seed, len(sums), resamples)]

    return Resampled(float(values.mean()), resample, len(sums))


def bootstrap_metric(
    totals: np.ndarray, score: Callable[[np.ndarray], float], *, seed: int, resamples: int = 1_000
) -> Estimate:
    """A metric of sums over items, such as BLEU, and its 95 % percentile interval over items drawn with replacement.

    Args:
        totals: (runs, items, counts), the contribution of each item to each sum; the scores of several runs of a system
            are averaged.
        score: maps sums over items (counts,) to the metric.
        seed: seed of the resampling.
        resamples: number of resamples.
    """

    def mean_score(times_drawn: np.ndarray) -> float:
        return _mean_score(totals, score, times_drawn)

    return _bootstrap_of_sums(mean_score, totals.shape[1], seed, resamples)


def bootstrap_difference(
    first: np.ndarray,
    second: np.ndarray,
    score: Callable[[np.ndarray], float],
    *,
    seed: int,
    resamples: int = 1_000,
) -> Estimate:
    """The metric of the first system minus that of the second, by the paired bootstrap (Koehn, 2004): both systems are
    evaluated on the same resampled items.

    Args:
        first, second: (runs, items, counts) as in :func:`bootstrap_metric`; the numbers of runs may differ.
        score, seed, resamples: as in :func:`bootstrap_metric`.
    """

    def difference(times_drawn: np.ndarray) -> float:
        return _mean_score(first, score, times_drawn) - _mean_score(second, score, times_drawn)

    return _bootstrap_of_sums(difference, first.shape[1], seed, resamples)


def in_blocks(totals: np.ndarray, length: int, fewest: int) -> np.ndarray:
    """Sums over consecutive blocks that do not overlap (Carlstein, 1986), for the bootstrap of items that depend on
    their neighbours, such as the lines of a text: drawn one by one, they would give intervals that are too narrow.

    Args:
        totals: (runs, items, counts) as in :func:`bootstrap_metric`.
        length: number of items of a block; the last block may have fewer.
        fewest: minimum number of blocks; with fewer than ``fewest * length`` items, blocks are shorter.

    Returns:
        (runs, blocks, counts).
    """
    items = totals.shape[1]
    blocks: np.ndarray = np.add.reduceat(totals, np.arange(0, items, max(1, min(length, items // fewest))), axis=1)
    return blocks


def in_clusters(totals: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Sums over clusters, for the bootstrap of items that depend on the others of their cluster.

    Args:
        totals: (runs, items, counts) as in :func:`bootstrap_metric`.
        clusters: (items,), the cluster of each item, any values.

    Returns:
        (runs, clusters, counts).
    """
    _, numbers = np.unique(clusters, return_inverse=True)
    sums = [[np.bincount(numbers, counts) for counts in run.T] for run in totals]
    return np.array(sums).swapaxes(1, 2)


def _mean_score(totals: np.ndarray, score: Callable[[np.ndarray], float], times_drawn: np.ndarray) -> float:
    # A product with the number of times that each item was drawn is the sum over the resample.
    return float(np.mean([score(times_drawn @ run) for run in totals]))


def _bootstrap_of_sums(statistic: Callable[[np.ndarray], float], items: int, seed: int, resamples: int) -> Estimate:
    """``statistic`` is called with the number of times that each item was drawn, (items,)."""

    def resample() -> list[float]:
        return [statistic(np.bincount(drawn, minlength=items)) for drawn in _draws(seed, items, resamples)]

    return Resampled(statistic(np.ones(items, np.int64)), resample, items)


def _draws(seed: int, items: int, resamples: int) -> Iterable[np.ndarray]:
    """The numbers of the items of each resample, (items,). All estimates on one test set draw the same numbers, and
    drawing takes most of their time, so the last ones are kept unless they are large."""
    if resamples * items * np.min_scalar_type(items).itemsize <= KEPT_BYTES:
        return _kept_draws(seed, items, resamples)
    return _new_draws(seed, items, resamples)


@lru_cache(maxsize=1)
def _kept_draws(seed: int, items: int, resamples: int) -> np.ndarray:
    drawn = np.empty((resamples, items), np.min_scalar_type(items))
    for number, numbers in enumerate(_new_draws(seed, items, resamples)):
        drawn[number] = numbers
    return drawn


def _new_draws(seed: int, items: int, resamples: int) -> Iterator[np.ndarray]:
    generator = np.random.RandomState(derive(seed, "bootstrap"))
    return (generator.randint(0, items, items) for _ in range(resamples))


def perplexity(totals: np.ndarray) -> float:
    """exp of the mean of -ln p over all tokens; totals (2,): the sum of -ln p in nats, and the number of tokens."""
    return perplexity_of(totals[0] / totals[1])


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's rank correlation; 0 if one of the two is constant, NaN if a value is NaN.

    Args:
        first, second: (items,).
    """
    ranks = np.stack([rankdata(first), rankdata(second)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    scale = np.sqrt((ranks**2).sum(axis=1).prod())
    return 0.0 if scale == 0 else float(ranks[0] @ ranks[1] / scale)


def normalised_entropy(weights: np.ndarray) -> float:
    """Entropy of a distribution over tokens divided by that of the uniform distribution: 0 if one token has all the
    weight, 1 if all have the same.

    Args:
        weights: (tokens,), non-negative with sum 1; at least two tokens.
    """
    positive = weights[weights > 0]
    return float(-(positive * np.log2(positive)).sum() / np.log2(len(weights)))
