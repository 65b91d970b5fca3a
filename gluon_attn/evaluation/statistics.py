"""Numbers that describe predictions and attention weights, with their intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gluon_attn.runtime import derive


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def bootstrap(values: np.ndarray, *, seed: int, resamples: int = 2_000) -> Estimate:
    """Mean of per-item values and its 95 % percentile interval over items drawn with replacement.

    For a paired comparison of two systems, give the difference of their scores on each item (Koehn, 2004): both are
    then judged on the same resampled items.

    Args:
        values: (items,) one number for each item.
        seed: of the resampling.
        resamples: number of resamples.
    """
    values = np.asarray(values, dtype=np.float64)
    generator = np.random.RandomState(derive(seed, "bootstrap"))
    means = np.empty(resamples)
    for index in range(resamples):
        means[index] = values[generator.randint(0, len(values), len(values))].mean()
    low, high = np.percentile(means, [2.5, 97.5])
    return Estimate(float(values.mean()), float(low), float(high))


def bootstrap_of_totals(
    first: np.ndarray,
    second: np.ndarray | None,
    score: Callable[[np.ndarray], float],
    *,
    seed: int,
    resamples: int = 1_000,
) -> Estimate:
    """A metric of sums over items, such as BLEU, or the difference of two systems in it, with its bootstrap interval
    over items (Koehn, 2004): two systems are judged on the same resampled items.

    Args:
        first, second: (runs, items, counts) what each item adds to each sum; scores of several runs of a system are
            averaged. No second system: the metric of the first.
        score: (counts,) sums over items to the metric.
        seed: of the resampling.
        resamples: number of resamples.
    """
    generator = np.random.RandomState(derive(seed, "bootstrap"))
    items = first.shape[1]

    def measured(rows: np.ndarray) -> float:
        # A product with how often each item was drawn is the sum over the draw.
        drawn = np.bincount(rows, minlength=items)
        means = [np.mean([score(drawn @ run) for run in system]) for system in (first, second) if system is not None]
        return float(means[0] - means[1]) if len(means) == 2 else float(means[0])

    resampled = [measured(generator.randint(0, items, items)) for _ in range(resamples)]
    low, high = np.percentile(resampled, [2.5, 97.5])
    return Estimate(measured(np.arange(items)), float(low), float(high))


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's rank correlation; 0 where one of the two is constant and ranks nothing.

    Args:
        first, second: (items,).
    """
    from scipy.stats import rankdata

    ranks = np.stack([rankdata(first), rankdata(second)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    scale = np.sqrt((ranks**2).sum(axis=1).prod())
    return float(ranks[0] @ ranks[1] / scale) if scale > 0 else 0.0
