"""Examples for figures: texts with the predictions and weights of a trained classifier."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.plots.heatmap import attention_matrix
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.tasks.classification.predictions import TextPredictions, classify
from reproductions.tasks.classification.task import EvaluatedModel, Measurement, MeasurementResult


def featured(text: str, name: str) -> Measurement:
    """Return a measurement whose example ``featured`` is the given text with all its weights; none without attention.

    Args:
        text: any text, not from the corpus.
        name: source of the text, shown on pages.
    """

    def measure(evaluated: EvaluatedModel) -> MeasurementResult:
        data = evaluated.data
        encoded = data.prepared.encode([text], processes=1)
        predictions = classify(evaluated.model, data.inputs, data.inputs.texts(encoded), matrices=True)
        if not predictions.has_weights:
            return MeasurementResult()
        values = example(predictions, 0, encoded.words(0), data.labels, matrix=True)
        return MeasurementResult(examples={"featured": {"name": name, "text": text, **values}})

    return measure


def of_length(tokens: int, count: int, *, matrix: bool = False) -> Measurement:
    """Return a measurement whose example ``of_length_<tokens>`` has the test texts with the nearest number of tokens,
    nearest first, ties in the order of the split, with ``row``, their position in the test split. They are the same for
    all networks that read the same tokens, so a figure can choose texts that several networks classify correctly.

    Args:
        tokens: target number of tokens.
        count: number of texts.
        matrix: whether to keep all weights, or only those of the tokens.
    """

    def measure(evaluated: EvaluatedModel) -> MeasurementResult:
        data = evaluated.data
        lengths = np.array([len(weights) for weights in evaluated.predictions.token_weights])
        rows = np.argsort(np.abs(lengths - tokens), kind="stable")[:count]
        texts = evaluated.test.take(rows)
        predictions = classify(evaluated.model, data.inputs, data.inputs.texts(texts), matrices=matrix)
        examples = [
            {"row": int(row), **example(predictions, number, texts.words(number), data.labels, matrix=matrix)}
            for number, row in enumerate(rows)
        ]
        return MeasurementResult(examples={f"of_length_{tokens}": examples})

    return measure


def example(
    predictions: TextPredictions, number: int, words: list[str], labels: Sequence[str], *, matrix: bool = False
) -> dict[str, Any]:
    """Return a text as JSON values: the tokens read, their weights, the most probable class and its name, the
    probability of each class, and all weights if requested."""
    weights = predictions.token_weights[number]
    values: dict[str, Any] = {
        "tokens": words[: len(weights)],
        "weights": weights.tolist(),
        "predicted": int(predictions.predicted[number]),
        "label": labels[int(predictions.predicted[number])],
        "probabilities": predictions.probabilities[number].tolist(),
    }
    return values | ({"matrix": predictions.matrices[number].tolist()} if matrix else {})


def attention_of_featured(*variants: str) -> Draw:
    """Draw the featured text of each of these variants with its whole matrix of weights; its title has the label that
    is most probable."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        for outcome in (groups[name][0] for name in variants if name in groups):
            if example := outcome.examples.get("featured"):
                name, probability = outcome.variant, max(example["probabilities"])
                title = f"{name}: {example['label']} with probability {probability:.2f} ({outcome.record['corpus']})"
                padding = 1 - float(np.array(example["weights"], np.float32).sum())
                if padding > 0.005:
                    title += f"; {padding:.0%} of the weight is on padding"
                path = paths[f"attention of {name}"] = directory / f"attention_{name}.png"
                matrix = np.array(example["matrix"], np.float32)
                attention_matrix(example["tokens"], example["tokens"], matrix, path, title)
        return paths

    return draw
