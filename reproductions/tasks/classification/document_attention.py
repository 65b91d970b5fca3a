"""Hierarchical attention over documents: the weight of a word in context, and reviews shaded by both levels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap_metric, in_clusters
from gluon_attn.plots import highlighted_text
from gluon_attn.plots.distributions import weights_histogram
from gluon_attn.plots.highlighted_text import Paragraph
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.runs import Outcome
from reproductions.tasks.classification.accuracy import clusters_of, drawn
from reproductions.tasks.classification.predictions import classify
from reproductions.tasks.classification.task import EvaluatedModel, Measurement, MeasurementResult

LABELS = ("negative", "positive")


def words_in_context(*words: str) -> Measurement:
    """Return a measurement of each occurrence of these words in the test split: ``weights_of_<word>``, its weight in
    its sentence times the number of words of the sentence, so that 1 is the uniform weight, and ``rows_of_<word>``, its
    document. A word outside the vocabulary has none."""

    def measure(evaluated: EvaluatedModel) -> MeasurementResult:
        test, predictions = evaluated.test, evaluated.predictions
        sentences = test.sentence_lengths
        words_of_sentence = np.repeat(sentences.ids, sentences.ids)
        of_sentence = np.repeat(np.concatenate(predictions.sentence_weights), sentences.ids)
        of_word = np.concatenate(predictions.token_weights).astype(np.float32)
        row = np.repeat(np.arange(len(test)), test.lengths)
        arrays, vocabulary = {}, evaluated.data.prepared.vocabulary
        for word in words:
            # The vocabulary gives a word that it does not have the id of unknown words, which are other words.
            positions = np.flatnonzero((test.ids == vocabulary[word]) & (word in vocabulary))
            weights = of_word[positions] / np.maximum(of_sentence[positions], 1e-9)
            arrays[f"weights_of_{word}"] = (weights * words_of_sentence[positions]).astype(np.float32)
            arrays[f"rows_of_{word}"] = row[positions]
        return MeasurementResult(arrays)

    return measure


def shaded_reviews(evaluated: EvaluatedModel) -> MeasurementResult:
    """Return an example for each of the first two classes: the correctly classified test review that is nearest to nine
    sentences and 120 words; none for a class without one. As in the paper, the shade of a word is its weight in its
    sentence times the square root of the sentence's weight."""
    test, data = evaluated.test, evaluated.data
    distance = 10 * np.abs(test.sentence_lengths.lengths - 9) + np.abs(test.lengths - 120)
    right = evaluated.predictions.predicted == test.label
    examples = {}
    for label, name in enumerate(LABELS):
        rows = np.flatnonzero(right & (test.label == label))
        if not len(rows):
            continue
        row = int(rows[np.argmin(distance[rows])])
        review = test.take(np.array([row]))
        predictions = classify(evaluated.model, data.inputs, data.inputs.texts(review))
        sentences = predictions.sentence_weights[0]
        # The weights of the words of a sentence with weight 0 are lost; 1e-9 avoids a division by 0.
        shades = predictions.token_weights[0] / np.sqrt(
            np.repeat(np.maximum(sentences, 1e-9), review.sentence_lengths[0])
        )
        examples[f"review_{name}"] = {
            "row": row,
            "sentences": review.sentence_words(0),
            "shades": (shades / shades.max()).tolist(),
            "sentence_shades": (sentences / sentences.max()).tolist(),
            "label": data.labels[int(predictions.predicted[0])],
            "probability": float(predictions.probabilities[0].max()),
        }
    return MeasurementResult(examples=examples)


def weighs_more(word: str, label: int, outcomes: Sequence[Outcome]) -> Effect | None:
    """Increase of the mean weight of a word in the reviews of a class over that in the other reviews. None if the word
    does not occur in both, and for a user's own texts, which have other classes."""
    if outcomes[0].on_own_data:
        return None

    def totals(outcome: Outcome) -> np.ndarray:
        """(reviews, 4): sum of the word's weights and its number of occurrences, for the class and for the others."""
        wanted = outcome.predictions["label"] == label
        weights, rows = (outcome.predictions[f"{what}_of_{word}"] for what in ("weights", "rows"))
        sums, times = np.bincount(rows, weights, len(wanted)), np.bincount(rows, minlength=len(wanted))
        return np.stack([sums * wanted, times * wanted, sums * ~wanted, times * ~wanted], axis=1)

    def difference(sums: np.ndarray) -> float:
        return float(sums[0] / max(sums[1], 1) - sums[2] / max(sums[3], 1))

    by_review = np.stack([totals(outcome) for outcome in outcomes])
    if not by_review[..., [1, 3]].sum(axis=1).all():
        return None
    clusters, what = clusters_of(outcomes), f"mean weight, 1 is uniform, {LABELS[label]} minus others"
    units = by_review if clusters is None else in_clusters(by_review, clusters)
    return Effect(bootstrap_metric(units, difference, seed=0), what, drawn("reviews", clusters))


def draw_shaded_reviews(variant: str) -> Draw:
    """Draw a review of each class with the weights of words and sentences; of a user's own texts, one of each of the
    first two labels."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        for number, name in enumerate(LABELS) if variant in groups else ():
            outcome = groups[variant][0]
            if example := outcome.examples.get(f"review_{name}"):
                ends = np.cumsum([len(words) for words in example["sentences"]])[:-1]
                shades = np.split(np.array(example["shades"], np.float32), ends)
                sentences = zip(example["sentences"], shades, example["sentence_shades"], strict=True)
                answer = f"{example['label']}, {example['probability']:.2f}"
                title = f"{variant}: {answer} (test review {example['row'] + 1}, {outcome.record['corpus']})"
                what, file = f"{name} review", f"review_{name}.png"
                if outcome.on_own_data:
                    what, file = f"text with label {outcome.texts['labels'][number]}", f"text_{number + 1}.png"
                path = paths[what] = directory / file
                highlighted_text.draw([Paragraph(*sentence) for sentence in sentences], path, title)
        return paths

    return draw


def weights_by_label(variant: str, *words: str) -> Draw:
    """Draw the weights of each of these words in the reviews of either class."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        for word in words if variant in groups else ():
            arrays = groups[variant][0].predictions
            weights, label = arrays[f"weights_of_{word}"], arrays["label"][arrays[f"rows_of_{word}"]]
            names = [f"{name} reviews" for name in LABELS]
            if groups[variant][0].on_own_data:
                names = [f"texts with label {name}" for name in groups[variant][0].texts["labels"]]
            samples = {f'"{word}" in {name}': weights[label == number] for number, name in enumerate(names)}
            if all(len(sample) for sample in samples.values()):
                path = paths[f"weights of {word}"] = directory / f"weights_of_{word}.png"
                weights_histogram(samples, path)
        return paths

    return draw
