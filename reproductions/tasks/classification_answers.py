"""Classifying lines of text with a trained network."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from gluon_attn.errors import UsageError
from reproductions.protocol.task import TrainedModel
from reproductions.tasks.lines import lines
from reproductions.tasks.text_predictions import classify


def answer(trained: TrainedModel[Any, Any], stream: BinaryIO, *, weights: bool) -> Iterator[str]:
    """Yield a line for each line of UTF-8: label, its probability, and the tokens with their weights if asked for.

    Raises:
        UsageError: a line is not UTF-8, or weights are asked of a network without attention.
    """
    data = trained.data
    max_length = data.inputs.max_length
    for number, text in lines(stream):
        if not text:
            yield ""
            continue
        encoded = data.prepared.encode([text])
        if max_length and (tokens := len(data.prepared.tokenizer.tokenize(text))) > max_length:
            print(f"line {number}: {tokens} tokens, only the first {max_length} are read", file=sys.stderr)
        predictions = classify(trained.model, data.inputs, data.inputs.texts(encoded))
        if weights and encoded.lengths[0] and not predictions.has_weights:
            name = trained.variant.name
            raise UsageError(f"variant {name} has no attention and so no weights; choose another --variant")
        label = int(predictions.predicted[0])
        line = f"{data.labels[label]}\t{predictions.probabilities[0, label]:.4f}"
        if weights:
            pairs = zip(encoded.words(0)[:max_length], predictions.token_weights[0], strict=True)
            line += "\t" + " ".join(f"{token}:{weight:.3f}" for token, weight in pairs)
        yield line
