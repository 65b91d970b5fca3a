"""Classifiers whose words attend to the previous words: an example and its figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gluon_attn.plots.heatmap import attention_matrix
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.tasks.classification.examples import example
from reproductions.tasks.classification.predictions import classify
from reproductions.tasks.classification.published_examples import CORRECT_SENTENCE
from reproductions.tasks.classification.task import EvaluatedModel, Measurement, MeasurementResult


def correct_sentence(tokens: int) -> Measurement:
    """Return a measurement whose example ``correct_sentence`` is the correctly classified validation sentence with the
    nearest number of tokens, the first of equals, with all weights and ``row``, its position in the split. None without
    attention, or if no sentence is classified correctly."""

    def measure(evaluated: EvaluatedModel) -> MeasurementResult:
        if not evaluated.predictions.has_weights:
            return MeasurementResult()
        data, split = evaluated.data, evaluated.data.prepared.validation
        right = classify(evaluated.model, data.inputs, data.inputs.texts(split)).predicted == split.label
        rows = np.flatnonzero(right)
        if not len(rows):
            return MeasurementResult()
        row = int(rows[np.argmin(np.abs(split.lengths[rows] - tokens))])
        text = split.take(np.array([row]))
        predictions = classify(evaluated.model, data.inputs, data.inputs.texts(text), matrices=True)
        shown = example(predictions, 0, text.words(0), data.labels, matrix=True)
        return MeasurementResult(examples={CORRECT_SENTENCE: {"row": row, **shown}})

    return measure


def attention_to_earlier_words(*variants: str) -> Draw:
    """Draw the example ``correct_sentence`` of each of these variants, without the row of its first word, which has no
    previous words, and the column of the last one, to which no word attends."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        for outcome in (groups[name][0] for name in variants if name in groups):
            sentence = outcome.examples.get(CORRECT_SENTENCE)
            if not sentence:
                continue
            name, words = outcome.variant, sentence["tokens"]
            weights = np.array(sentence["matrix"], np.float32)[1:, :-1]
            where = f"validation sentence {sentence['row'] + 1}, {outcome.record['corpus']}"
            path = paths[f"attention of {name}"] = directory / f"attention_of_{name}.png"
            attention_matrix(
                words[1:],
                words[:-1],
                weights,
                path,
                f"{name}: {sentence['label']}, {max(sentence['probabilities']):.2f} ({where})",
                axis_labels=("word", "memory before it"),
                masked=np.triu(np.ones(weights.shape, bool), 1),
            )
        return paths

    return draw
