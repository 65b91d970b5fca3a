"""From finished units to rows and claims: means over seeds, intervals over test items, paired comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from gluon_attn.evaluation.statistics import Estimate, bootstrap
from reproductions.protocol.experiment import Preset, Variant
from reproductions.protocol.results import Row
from reproductions.protocol.runs import Outcome

SAMPLE_WARNING = "SAMPLE: means nothing"


def by_variant(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes of each variant, in the order in which variants and seeds were run."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.unit.variant, []).append(outcome)
    return groups


def measured(what: str, items: str, preset: Preset, *sides: Sequence[Outcome], split: str = "test") -> str:
    """How an effect was measured, as a claim says it; ``items``: what the bootstrap resamples; ``sides``: the trainings
    of both, or of the only one, or none where ``what`` tells them."""
    counts = [len(side) for side in sides]
    if len(set(counts)) == 2:
        trainings = f", means of {counts[0]} and {counts[1]} trainings"
    elif counts:
        number = "one training" if counts[0] == 1 else f"mean{'s' * (len(counts) - 1)} of {counts[0]} trainings"
        trainings = f", {number}{' a side' * (len(counts) - 1)}"
    else:
        trainings = ""
    warning = f"; {SAMPLE_WARNING}" if preset.corpus == "sample" else ""
    return f"{split}, {what}, {'' if len(counts) == 1 else 'paired '}bootstrap over {items}{trainings}{warning}"


def mean_right(outcomes: Sequence[Outcome]) -> np.ndarray:
    """Share of the seeds that are right on each test item, in per cent: (items,)."""
    return 100.0 * np.mean([outcome.predictions["right"] for outcome in outcomes], axis=0)


def accuracy_row(
    outcomes: Sequence[Outcome], variant: Variant, *, split: str, signature: str, items: np.ndarray | None = None
) -> Row:
    """One row of accuracy in per cent.

    Args:
        outcomes: one for each seed.
        variant: what was trained.
        split: ``test``, or ``validation`` for the accuracy that selected the epoch.
        signature: which items of the split are counted.
        items: (items,) of bool, to count some of the test items only.

    The interval of a test row is the bootstrap's over items; that of a validation row is the range over seeds.
    """
    if split == "test":
        rights = [outcome.predictions["right"] for outcome in outcomes]
        keep = np.ones(len(rights[0]), bool) if items is None else items
        values = [100.0 * float(right[keep].mean()) for right in rights]
        estimate = bootstrap(mean_right(outcomes)[keep], seed=0)
    else:
        values = [max(row["validation_accuracy"] for row in outcome.facts["history"]) for outcome in outcomes]
        estimate = Estimate(float(np.mean(values)), min(values), max(values))
    row = row_of(outcomes, variant, split=split, metric="accuracy", signature=signature, values=values, ci95=estimate)
    return row if items is None else replace(row, reported=None, comparable=False)


def row_of(
    outcomes: Sequence[Outcome],
    variant: Variant,
    *,
    split: str,
    metric: str,
    signature: str,
    values: Sequence[float],
    ci95: Estimate,
) -> Row:
    """One row of any metric: its value for each outcome, in their order, and an interval. What a peer reports stands
    beside its own metric on test."""
    corpus = outcomes[0].facts["corpus"]
    on_sample = corpus == "sample"
    reported = variant.reported
    if split != "test" or (reported and reported.metric != metric):
        reported = None
    return Row(
        variant=variant.name,
        corpus=corpus,
        split=split,
        metric=metric,
        signature=signature,
        mean=float(np.mean(values)),
        std=float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
        per_seed={str(outcome.unit.seed): value for outcome, value in zip(outcomes, values, strict=True)},
        ci95=(ci95.low, ci95.high),
        parameters=outcomes[0].facts["parameters"],
        train_seconds=float(np.mean([outcome.facts["train_seconds"] for outcome in outcomes])),
        reported=asdict(reported) if reported else None,
        comparable=bool(reported) and variant.comparable and not on_sample,
        differs=SAMPLE_WARNING if on_sample else variant.differs,
    )


def averaged_row(
    outcomes: Sequence[Outcome], variant: Variant, *, signature: str, items: np.ndarray | None = None
) -> Row:
    """One row of test accuracy for all seeds as one classifier, whose probability is the mean of theirs.

    Arguments are those of :func:`accuracy_row`; the standard deviation of one classifier is 0.
    """
    probability = np.mean([outcome.predictions["probability"] for outcome in outcomes], axis=0)
    first = outcomes[0].predictions
    positive = (first["probability"] > 0.5) == first["right"]
    right = 100.0 * ((probability > 0.5) == positive)
    estimate = bootstrap(right if items is None else right[items], seed=0)
    row = accuracy_row(outcomes, variant, split="test", signature=signature, items=items)
    return replace(
        row,
        variant=f"{variant.name}-averaged",
        mean=estimate.mean,
        std=0.0,
        per_seed={"+".join(row.per_seed): estimate.mean},
        ci95=(estimate.low, estimate.high),
        parameters=row.parameters * len(outcomes),
        train_seconds=row.train_seconds * len(outcomes),
        comparable=False,
        differs=SAMPLE_WARNING if row.corpus == "sample" else f"{len(outcomes)} networks, their probabilities averaged",
    )


def paired_difference(groups: Mapping[str, Sequence[Outcome]], first: str, second: str) -> Estimate:
    """Accuracy of the first variant minus that of the second, in points, by paired bootstrap over the test items."""
    return bootstrap(mean_right(groups[first]) - mean_right(groups[second]), seed=0)
