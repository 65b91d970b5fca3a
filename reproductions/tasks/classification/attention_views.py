"""Attention of classifiers on one text, and their published examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.protocol.attention_view import AttentionView, joined_tokens
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import TrainedModel
from reproductions.tasks.classification.predictions import classify
from reproductions.tasks.classification.published_examples import examples_with_split
from reproductions.tasks.classification.settings import ClassificationData


def of_text(trained: TrainedModel[Any, ClassificationData], text: str) -> AttentionView:
    """Return the attention of a classifier on a text.

    Raises:
        UsageError: if the text has no tokens.
    """
    data = trained.data
    encoded = data.prepared.encode([text], processes=1)
    words = encoded.words(0)
    if not words:
        raise UsageError("there is no token in this text; type a sentence")
    predictions = classify(trained.model, data.inputs, data.inputs.texts(encoded), matrices=True)
    weights = predictions.token_weights[0]
    limit = data.inputs.longest_text or len(words)
    notes = []
    if len(words) >= limit and (total := int(data.prepared.encode([text], processes=1, whole=True).lengths[0])) > limit:
        notes.append(f"{total} tokens, of which only the {data.prepared.keeps} {limit} are read.")
    if not predictions.has_weights:
        notes.append("This network has no attention: there are no weights to show.")
    sentences: list[tuple[float, int]] = []
    if len(predictions.sentence_weights[0]):
        counts = encoded.sentence_lengths[0].tolist()
        sentences = list(zip(predictions.sentence_weights[0].tolist(), counts, strict=True))
    tokens = words[:limit]
    return AttentionView(
        tokens=tokens,
        joined=joined_tokens(text, tokens),
        unknown=np.flatnonzero(encoded.sequences()[0][:limit] == UNKNOWN_ID).tolist(),
        weights=weights if predictions.has_weights else None,
        **_matrix(predictions.matrices[0], predictions.queries),
        sentences=sentences,
        classes=list(zip(data.labels, predictions.probabilities[0].tolist(), strict=True)),
        text=text,
        notes=[*notes, *_padding(weights)],
    )


def of_examples(outcome: Outcome, labels: Sequence[str]) -> list[AttentionView]:
    """Return the published examples of an outcome with their weights, in order."""
    views = []
    for split, example in examples_with_split(outcome):
        title = example.get("name") or (f"{split} text {example['row'] + 1}" if "row" in example else "")
        if "sentences" in example:
            views.append(_document(example, labels, title))
        elif example.keys() >= {"tokens", "weights", "probabilities"}:  # heads without a prediction are a figure
            views.append(_text(example, labels, title))
    return views


def _text(example: Mapping[str, Any], labels: Sequence[str], title: str) -> AttentionView:
    tokens, weights = example["tokens"], np.array(example["weights"], np.float32)
    matrix = np.array(example.get("matrix", []), np.float32)
    text = example.get("text", "")
    probabilities = example["probabilities"]
    names = labels if len(labels) == len(probabilities) else [f"class {n}" for n in range(len(probabilities))]
    return AttentionView(
        tokens=tokens,
        joined=joined_tokens(text, tokens) if text else (),
        weights=weights,
        **_matrix(matrix, "token" if len(matrix) == len(tokens) else "hop"),
        classes=list(zip(names, probabilities, strict=True)),
        text=text,
        title=title,
        notes=_padding(weights),
    )


def _document(example: Mapping[str, Any], labels: Sequence[str], title: str) -> AttentionView:
    """A document whose shades are the weights of words times the square root of the weight of their sentence (Yang et
    al., 2016, Figure 5), relative to the largest."""
    counts = [len(words) for words in example["sentences"]]
    sentences = np.array(example["sentence_shades"], np.float64)
    weights = np.array(example["shades"], np.float64) * np.sqrt(np.repeat(np.maximum(sentences, 1e-9), counts))
    probability = example["probability"]
    return AttentionView(
        tokens=[word for words in example["sentences"] for word in words],
        weights=weights / weights.sum(),
        sentences=list(zip((sentences / sentences.sum()).tolist(), counts, strict=True)),
        classes=[(name, probability if name == example["label"] else 1 - probability) for name in labels],
        title=title,
    )


def _matrix(matrix: np.ndarray, queries: str) -> dict[str, Any]:
    return {"matrix": matrix, "queries": queries} if len(matrix) > 1 else {}


def _padding(weights: np.ndarray) -> list[str]:
    rest = 1 - float(np.sum(weights, dtype=np.float64))
    return [f"{100 * rest:.0f} % of the weight is on padding."] if len(weights) and rest > 0.005 else []
