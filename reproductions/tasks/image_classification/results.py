"""Effects and figures that compare several variants of image classification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap
from gluon_attn.plots.curves import score_by_amount
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.rows import best_validation
from reproductions.protocol.runs import Outcome
from reproductions.tasks.classification.accuracy import accuracies, level, share_right

ITEMS = "images"


def level_at_best_rate(margin: float, rates: int) -> Callable[..., Effect]:
    """As :func:`level` for two systems, each trained with ``rates`` learning rates; for each, the learning rate with
    the best validation accuracy counts."""

    def effect(*groups: Sequence[Outcome]) -> Effect:
        return level(margin, ITEMS)(_best(groups[:rates]), _best(groups[rates:]))

    return effect


def _best(groups: Sequence[Sequence[Outcome]]) -> Sequence[Outcome]:
    return max(groups, key=lambda group: np.mean([best_validation(outcome, "accuracy") for outcome in group]))


def gap_closes(
    ahead_few: Sequence[Outcome], behind_few: Sequence[Outcome], ahead: Sequence[Outcome], behind: Sequence[Outcome]
) -> Effect:
    """Return by how many points the difference of two systems is smaller with many training images than with few."""
    few, many = share_right(ahead_few) - share_right(behind_few), share_right(ahead) - share_right(behind)
    return Effect(bootstrap(few - many, seed=0), "accuracy points by which the distance shrinks", ITEMS)


def accuracy_by_images(series: Mapping[str, Mapping[int, str]]) -> Draw:
    """Draw test accuracy by the number of training images (Figure 4).

    Args:
        series: for each system, its variants by number of training images.
    """

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        values = {
            name: {images: accuracies(groups[variant]) for images, variant in of_system.items() if variant in groups}
            for name, of_system in series.items()
        }
        values = {name: of_system for name, of_system in values.items() if of_system}
        if not values:
            return {}
        path = directory / "accuracy_by_images.png"
        score_by_amount(values, path, "training images", "test accuracy, %", scale="log")
        return {"accuracy by the number of training images (Figure 4)": path}

    return draw
