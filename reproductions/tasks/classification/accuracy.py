"""Accuracy of classifiers, of texts or of images: of predictions, by seed, by item, and of two sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap
from reproductions.protocol.claims import Effect
from reproductions.protocol.runs import Outcome


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
    """Difference in accuracy points of the first side minus the second; paired bootstrap over items."""
    estimate = bootstrap(share_right(better) - share_right(worse), seed=0)
    return Effect(estimate, "accuracy points", items)
