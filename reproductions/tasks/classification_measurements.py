"""What is measured of a trained classifier besides accuracy: examples for figures, faithfulness of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gluon_attn.evaluation.attention import faithfulness
from gluon_attn.training.checkpoint import parameter_arrays, set_parameters
from reproductions.tasks.classification import Findings, Measurement, Reading
from reproductions.tasks.text_predictions import TextPredictions, classify


def featured(*texts: str) -> Measurement:
    """A measurement whose example ``featured`` has these texts, with all weights of each; none without attention."""

    def measure(reading: Reading) -> Findings:
        data = reading.data
        encoded = data.prepared.encode(list(texts), processes=1)
        predictions = classify(reading.model, data.inputs, data.inputs.texts(encoded), matrices=True)
        if not predictions.has_weights:
            return Findings()
        examples = [
            {"text": text, **example(predictions, number, encoded.words(number), matrix=True)}
            for number, text in enumerate(texts)
        ]
        return Findings(examples={"featured": examples})

    return measure


def of_length(tokens: int, count: int, *, matrix: bool = False) -> Measurement:
    """A measurement whose example ``of_length_<tokens>`` has the test texts whose number of tokens is nearest to this
    one, nearest first, the earlier of equals first; with ``row``, their position in the test split. They are the same
    for all networks that read the same tokens, so that a figure can choose those that several are right about.

    Args:
        tokens: wanted number of tokens.
        count: number of texts.
        matrix: whether all weights are kept, or only those of the tokens.
    """

    def measure(reading: Reading) -> Findings:
        data = reading.data
        lengths = np.array([len(weights) for weights in reading.predictions.token_weights])
        rows = np.argsort(np.abs(lengths - tokens), kind="stable")[:count]
        texts = reading.test.take(rows)
        predictions = classify(reading.model, data.inputs, data.inputs.texts(texts), matrices=matrix)
        examples = [
            {"row": int(row), **example(predictions, number, texts.words(number), matrix=matrix)}
            for number, row in enumerate(rows)
        ]
        return Findings(examples={f"of_length_{tokens}": examples})

    return measure


def example(predictions: TextPredictions, number: int, words: list[str], *, matrix: bool) -> dict[str, Any]:
    """One text as JSON values: the tokens that were read, their weights, the likeliest class, the probability of each
    class, and all weights if asked for."""
    weights = predictions.token_weights[number]
    values: dict[str, Any] = {
        "tokens": words[: len(weights)],
        "weights": weights.tolist(),
        "predicted": int(predictions.predicted[number]),
        "probabilities": predictions.probabilities[number].tolist(),
    }
    return values | ({"matrix": predictions.matrices[number].tolist()} if matrix else {})


def faithfulness_of_epochs(reading: Reading) -> Findings:
    """A measurement of how faithful the attention weights are at the best epoch and at the last, on 1 000 validation
    texts of 5 to 29 tokens: ``entropy_best``, ``agreement_best``, ``entropy_last`` and ``agreement_last``, as of
    :class:`~gluon_attn.evaluation.attention.Faithfulness`. The network has the parameters of its best epoch
    afterwards."""
    model, data = reading.model, reading.data
    sequences = [ids for ids in data.prepared.validation.sequences() if 5 <= len(ids) <= 29][:1_000]

    def read(some: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        predictions = classify(model, data.inputs, some)
        return predictions.probability, predictions.token_weights

    best = parameter_arrays(model)
    measured = {"best": faithfulness(read, sequences)}
    set_parameters(model, reading.last.group("parameters"))
    measured["last"] = faithfulness(read, sequences)
    set_parameters(model, best)
    return Findings(
        {
            f"{what}_{when}": getattr(value, what)
            for when, value in measured.items()
            for what in ("entropy", "agreement")
        }
    )
