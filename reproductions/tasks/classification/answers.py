"""Classifying lines of text with a trained network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from gluon_attn.errors import UsageError
from reproductions.protocol.task import AnswerOptions, TrainedModel
from reproductions.tasks.classification.predictions import classify
from reproductions.tasks.lines import Line, blocks, name_unknown, too_long


def answer(trained: TrainedModel[Any, Any], stream: BinaryIO, options: AnswerOptions) -> Iterator[str]:
    """Yield an answer for each line of UTF-8: label, its probability, and the tokens with their weights if requested,
    separated by tabs; with ``options.json``, an object with these and the probability of every label. The answer to a
    blank line is an empty line, or an object whose ``label`` is ``null``.

    Raises:
        UsageError: if a line is not UTF-8, or weights are requested from a network without attention.
    """
    batch_size = options.batch_size or trained.data.inputs.batch_size
    for block in blocks(stream, options, batch_size):
        yield from _answers(trained, block, options, batch_size)


def _answers(
    trained: TrainedModel[Any, Any], block: Sequence[Line], options: AnswerOptions, batch_size: int
) -> Iterator[str]:
    data, max_length = trained.data, trained.data.inputs.max_length
    written = [(number, text) for number, text in block if text]
    encoded = data.prepared.encode([text for _, text in written], processes=1)
    _name_long(trained, written, encoded.lengths)
    name_unknown(written, encoded.sequences())
    predictions = classify(trained.model, data.inputs, data.inputs.texts(encoded), batch_size=batch_size)
    row = -1
    for number, text in block:
        if not text:
            yield json.dumps({"line": number, "text": "", "label": None}) if options.json else ""
            continue
        row += 1
        probabilities, weights = predictions.probabilities[row], predictions.token_weights[row]
        tokens = encoded.words(row)[:max_length] if options.weights else []
        if tokens and not predictions.has_weights:
            name = trained.variant.name
            raise UsageError(f"variant {name} has no attention and so no weights; choose another --variant")
        label = int(probabilities.argmax())
        if options.json:
            record: dict[str, Any] = {
                "line": number,
                "text": text,
                "label": data.labels[label],
                "probability": round(float(probabilities[label]), 6),
                "probabilities": dict(zip(data.labels, np.round(probabilities, 6).tolist(), strict=True)),
            }
            if options.weights:
                record |= {"tokens": tokens, "weights": [round(float(weight), 6) for weight in weights]}
            yield json.dumps(record, ensure_ascii=False)
            continue
        line = f"{data.labels[label]}\t{probabilities[label]:.4f}"
        if options.weights:
            line += "\t" + " ".join(f"{token}:{weight:.3f}" for token, weight in zip(tokens, weights, strict=True))
        yield line


def _name_long(trained: TrainedModel[Any, Any], texts: Sequence[Line], lengths: np.ndarray) -> None:
    """Report on standard error the lines of which not all tokens are read."""
    longest, prepared = trained.data.inputs.longest_text, trained.data.prepared
    if longest is None:
        return
    # The preprocessing may have cut them already, so those of full length are encoded once more.
    full = [texts[row] for row in np.flatnonzero(lengths >= longest)]
    counts = prepared.encode([text for _, text in full], processes=1, whole=True).lengths if full else []
    tokens = {number: int(count) for (number, _), count in zip(full, counts, strict=True) if count > longest}
    if tokens:
        print(too_long([*tokens], next(iter(tokens.values())), longest, "read", prepared.keeps), file=sys.stderr)
