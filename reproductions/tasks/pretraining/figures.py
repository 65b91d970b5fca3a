"""Figures of pretrained classifiers: accuracy by pretraining time and by number of labelled reviews, predictions for a
mask, and attention heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.plots.curves import score_by_amount
from gluon_attn.plots.heads import attention_lines
from gluon_attn.plots.masks import masked_tokens
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.tasks.classification.accuracy import accuracies
from reproductions.tasks.classification.task import EvaluatedModel, Measurement, MeasurementResult
from reproductions.tasks.pretraining import attention_views


def accuracy_by_minutes(pretrained: Mapping[str, Sequence[str]], without: str, labelled: int) -> Draw:
    """A figure of test accuracy by pretraining time in processor minutes.

    Args:
        pretrained: for each classifier, the variant that it was initialised from, after those that this one continues.
        without: the same network with random initial weights.
        labelled: number of labelled reviews that all of them are trained on.
    """

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        points = {}
        if without in groups:
            points[0.0] = accuracies(groups[without])
        for classifier, sources in pretrained.items():
            if {classifier, *sources} <= groups.keys():
                spent = [groups[source][0].record["history"][-1] for source in sources]
                if all("cpu_seconds" in each for each in spent):
                    seconds = sum(each["cpu_seconds"] for each in spent)
                    points[seconds / 60] = accuracies(groups[classifier])
        if len(points) < 2:
            return {}
        path, label = directory / "accuracy_by_pretraining.png", f"accuracy with {labelled} labels, %"
        score_by_amount({"BERT": points}, path, "minutes of processor time for pretraining", label, scale="sqrt")
        return {"accuracy by minutes of pretraining": path}

    return draw


def accuracy_by_labelled(systems: Mapping[str, Mapping[int, str]]) -> Draw:
    """A figure of test accuracy by the number of labelled reviews.

    Args:
        systems: for each title, the variants by number of reviews.
    """

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        series = {
            title: {float(count): accuracies(groups[name]) for count, name in variants.items() if name in groups}
            for title, variants in systems.items()
        }
        series = {title: points for title, points in series.items() if points}
        if len({count for points in series.values() for count in points}) < 2:
            return {}
        path = directory / "accuracy_by_labelled.png"
        score_by_amount(series, path, "labelled reviews", "accuracy, %", scale="log")
        return {"accuracy by labelled reviews": path}

    return draw


def masks(variant: str) -> Draw:
    """Figures of a network's predictions for each masked piece of its example sentences."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        if variant in groups:
            for number, example in enumerate(groups[variant][0].examples.get("masks", ()), start=1):
                path = directory / f"masks_{number}.png"
                masked_tokens(example["tokens"], example["probability"], example["predicted"], path)
                paths[f"pieces predicted for a mask, {number}"] = path
        return paths

    return draw


def heads_over(text: str) -> Measurement:
    """A measurement whose example ``heads`` has this text and the weights of all heads, (layers, heads, tokens,
    tokens), including special tokens."""

    def measure(evaluated: EvaluatedModel) -> MeasurementResult:
        model: Any = evaluated.model
        shown = attention_views.heads_over(model.bert, evaluated.data.prepared, text)
        values = np.round(shown.weights.astype(np.float64), 4).tolist()
        return MeasurementResult(examples={"heads": {"tokens": list(shown.rows), "weights": values}})

    return measure


def heads(variant: str) -> Draw:
    """Figures of all heads, layer by layer, over the text of :func:`heads_over`."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        example = groups[variant][0].examples.get("heads", {}) if variant in groups else {}
        paths = {}
        for layer, of_layer in enumerate(example.get("weights", ()), start=1):
            path = directory / f"heads_{layer}.png"
            shown = [
                (f"layer {layer}, head {head}", example["tokens"], example["tokens"], np.array(weights))
                for head, weights in enumerate(of_layer, start=1)
            ]
            attention_lines(shown, path)
            paths[f"heads of layer {layer}"] = path
        return paths

    return draw
