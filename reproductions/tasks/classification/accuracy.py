"""Accuracy of classifiers, of texts or of images: of predictions, by seed, by item, and of two sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gluon_attn.evaluation.statistics import Estimate, bootstrap
from reproductions.protocol.claims import Effect
from reproductions.protocol.runs import Outcome, paired

CLUSTER = "cluster"
"""Name of the array of predictions with the cluster of each test item, if items depend on each other."""


def clusters_of(outcomes: Sequence[Outcome]) -> np.ndarray | None:
    """The cluster of each test item; None if items are independent."""
    return outcomes[0].predictions.get(CLUSTER)


def drawn(items: str, clusters: np.ndarray | None) -> str:
    """What is drawn in a bootstrap, as claims state it."""
    return items if clusters is None else f"clusters of {items}"


def per_cent(right: np.ndarray) -> float:
    """Share of items that are right, in per cent."""
    return 100.0 * float(right.mean())


def scores(probabilities: np.ndarray, label: np.ndarray) -> dict[str, float]:
    """Accuracy in per cent and mean cross-entropy in nats, of probabilities (items, classes) and labels (items,)."""
    of_label = probabilities[np.arange(len(label)), label]
    return {
        "accuracy": per_cent(probabilities.argmax(axis=1) == label),
        "loss": float(-np.log(np.maximum(of_label, 1e-12)).mean()),
    }


def accuracies(outcomes: Sequence[Outcome]) -> list[float]:
    """Test accuracy of each seed, in per cent."""
    return [per_cent(outcome.predictions["right"]) for outcome in outcomes]


def share_right(outcomes: Sequence[Outcome]) -> np.ndarray:
    """Share of the seeds that classify each test item correctly, in per cent: (items,)."""
    share: np.ndarray = 100.0 * np.mean([outcome.predictions["right"] for outcome in outcomes], axis=0)
    return share


def compare(better: Sequence[Outcome], worse: Sequence[Outcome], items: str) -> Effect:
    """Difference in accuracy points of the first side minus the second; paired bootstrap over items, or over their
    clusters if the outcomes have any (:data:`CLUSTER`)."""
    clusters = clusters_of(better)
    estimate = bootstrap(share_right(better) - share_right(worse), seed=0, clusters=clusters)
    return Effect(estimate, "accuracy points", drawn(items, clusters))


def widest(*groups: Sequence[Outcome], items: str) -> Effect:
    """Difference between the best and the worst of several systems. They are chosen once, by their means over seeds;
    the effect of a seed is the difference of these two, negative if their order is reversed in that seed. They are
    chosen on the same test items and seeds, so that even equal systems differ: a claim on them needs a margin."""
    means = [share_right(group).mean() for group in groups]
    best, worst = groups[int(np.argmax(means))], groups[int(np.argmin(means))]
    clusters = clusters_of(best)
    estimate = bootstrap(share_right(best) - share_right(worst), seed=0, clusters=clusters)
    by_seed = {one.seed: accuracies([one])[0] - accuracies([other])[0] for one, other in paired(best, worst)}
    return Effect(estimate, "accuracy points, best minus worst", drawn(items, clusters), by_seed=by_seed)


def level(margin: float, items: str) -> Callable[..., Effect]:
    """Return the effect of the claim that several variants have about the same accuracy: ``margin`` minus the
    difference of best and worst (:func:`widest`). With many variants the largest of the measured differences exceeds
    that of the true ones, and a true claim is contradicted too often: with three variants in 4 to 5 % of
    cases instead of 2.5 %."""

    def effect(*groups: Sequence[Outcome]) -> Effect:
        apart = widest(*groups, items=items)
        widest_apart = apart.estimate
        low, high = margin - widest_apart.high, margin - widest_apart.low
        estimate = Estimate(margin - widest_apart.mean, low, high, widest_apart.degrees)
        by_seed = {seed: margin - difference for seed, difference in (apart.by_seed or {}).items()}
        return Effect(estimate, f"{margin} accuracy points minus the largest distance", apart.items, by_seed=by_seed)

    return effect
