"""Rows of a results table, computed from the outcomes of a variant's seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import Estimate, bootstrap_metric
from gluon_attn.metrics import bounds, lower_is_better
from reproductions.protocol.results import Row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Variant

SAMPLE_WARNING = "SAMPLE: means nothing"


def row(
    outcomes: Sequence[Outcome],
    variant: Variant[Any],
    *,
    split: str,
    metric: str,
    signature: str,
    values: Sequence[float],
    ci95: Estimate | None = None,
) -> Row:
    """One row: the value of a metric for each outcome, in the order of the outcomes, and an interval, cut at the bounds
    of the metric; by default, their range.

    A reported number is attached to the test row of its metric; :func:`alone` removes it if the row counts the metric
    in another way.
    """
    first, interval = outcomes[0], ci95 or seed_range(values)
    least, most = bounds(metric)
    reported = variant.beside if split == "test" and variant.beside and variant.beside.metric == metric else None
    return Row(
        variant=variant.name,
        corpus=first.record["corpus"],
        split=split,
        metric=metric,
        signature=signature,
        mean=float(np.mean(values)),
        std=float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
        per_seed={str(outcome.seed): value for outcome, value in zip(outcomes, values, strict=True)},
        ci95=(max(interval.low, least), min(interval.high, most)),
        parameters=first.record["parameters"],
        train_seconds=float(np.mean([outcome.record["train_seconds"] for outcome in outcomes])),
        reported=asdict(reported) if reported else None,
        comparable=bool(reported) and variant.comparable and not first.on_sample,
        differs=SAMPLE_WARNING if first.on_sample else variant.differs,
    )


def bootstrapped_row(
    outcomes: Sequence[Outcome],
    variant: Variant[Any],
    each: np.ndarray,
    score: Callable[[np.ndarray], float],
    *,
    metric: str,
    signature: str,
) -> Row:
    """The row of a metric of sums over test items, with its bootstrap interval over items.

    Args:
        outcomes, variant: the outcomes of a variant.
        each: (seeds, items, counts), the contribution of each item to each sum.
        score: maps sums over items (counts,) to the metric.
        metric, signature: name of the metric, and how it is counted.
    """
    values, interval = [score(one.sum(axis=0)) for one in each], bootstrap_metric(each, score, seed=0)
    return row(outcomes, variant, split="test", metric=metric, signature=signature, values=values, ci95=interval)


def validation_row(
    outcomes: Sequence[Outcome], variant: Variant[Any], metric: str, signature: str = "best epoch"
) -> Row:
    """The row of the best validation results, with their range over seeds."""
    values = [best_validation(outcome, metric) for outcome in outcomes]
    return row(outcomes, variant, split="validation", metric=metric, signature=signature, values=values)


def alone(row: Row) -> Row:
    """The row without its reported number."""
    return replace(row, reported=None, comparable=False)


def stacked(outcomes: Sequence[Outcome], array: str) -> np.ndarray:
    """An array of the predictions of each seed: (seeds, items, ...).

    Raises:
        UsageError: if an outcome lacks it.
    """
    for outcome in outcomes:
        if array not in outcome.predictions:
            raise UsageError(
                f"{outcome.directory}: has no {array}, which another seed of {outcome.variant} or its claim has; train "
                "and score this seed again"
            )
    return np.stack([outcome.predictions[array] for outcome in outcomes])


def seed_range(values: Sequence[float]) -> Estimate:
    """Mean and range over seeds, for metrics without an interval over items."""
    return Estimate(float(np.mean(values)), min(values), max(values))


def best_validation(outcome: Outcome, metric: str) -> float:
    """The best validation result of all epochs: that of the selected one, if this metric selects."""
    values = [epoch[f"validation_{metric}"] for epoch in outcome.record["history"]]
    return float(min(values) if lower_is_better(metric) else max(values))
