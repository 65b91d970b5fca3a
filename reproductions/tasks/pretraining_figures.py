"""Figures of classifiers that were pretrained: accuracy by minutes of pretraining and by labelled reviews, and the
pieces that are predicted for a mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from gluon_attn.plots.curves import score_by_amount
from gluon_attn.plots.masks import masked_tokens
from reproductions.protocol.reproduction import Draw, Groups


def accuracy_by_minutes(pretrained: Mapping[str, str], without: str) -> Draw:
    """A figure of test accuracy by the processor minutes of pretraining.

    Args:
        pretrained: for each classifier the variant that it was initialised from.
        without: the same network from random weights, with none.
    """

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        points = {}
        if without in groups:
            points[0.0] = _accuracies(groups, without)
        for classifier, source in pretrained.items():
            if classifier in groups and source in groups:
                spent = groups[source][0].record["history"][-1]
                points[spent.get("cpu_seconds", spent.get("seconds", 0.0)) / 60] = _accuracies(groups, classifier)
        if len(points) < 2:
            return {}
        path = directory / "accuracy_by_pretraining.png"
        score_by_amount({"BERT": points}, path, "minutes of pretraining, one core", "accuracy, %", root=True)
        return {"accuracy by minutes of pretraining": path}

    return draw


def accuracy_by_labelled(systems: Mapping[str, Mapping[int, str]]) -> Draw:
    """A figure of test accuracy by the number of labelled reviews.

    Args:
        systems: for each title the variant of each number of reviews.
    """

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        series = {
            title: {float(count): _accuracies(groups, name) for count, name in variants.items() if name in groups}
            for title, variants in systems.items()
        }
        series = {title: points for title, points in series.items() if points}
        if not series:
            return {}
        path = directory / "accuracy_by_labelled.png"
        score_by_amount(series, path, "labelled reviews", "accuracy, %", logarithmic=True)
        return {"accuracy by labelled reviews": path}

    return draw


def masks(variant: str) -> Draw:
    """Figures of the pieces that a network predicts for each masked piece of its sentences."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        if variant in groups:
            for number, example in enumerate(groups[variant][0].examples.get("masks", ()), start=1):
                path = directory / f"masks_{number}.png"
                masked_tokens(example["tokens"], example["probability"], example["predicted"], path)
                paths[f"pieces predicted for a mask, {number}"] = path
        return paths

    return draw


def _accuracies(groups: Groups, variant: str) -> Sequence[float]:
    return [100.0 * float(np.mean(outcome.predictions["right"])) for outcome in groups[variant]]
