"""Hierarchical attention networks (Yang et al., 2016, NAACL, "Hierarchical attention networks for document
classification").

Words make a sentence and sentences make a document, and on both levels a bidirectional GRU reads and attention says
what counts. The paper's corpora, Yelp's reviews and 348 415 of IMDb in ten classes, were never published as they were
used; here are the 50 000 reviews of Maas et al. (2011) in two classes, official halves. So the paper's accuracies stand
beside ours without being comparable; what can be compared are its differences.

A review is cut into sentences and words by rule (:mod:`preprocessing.documents`); a sentence of more than 50 words
goes on as another, so nothing is left out. Words seen more often than five times have an embedding, as in the paper,
and it begins with a vector of word2vec's that was trained on the same reviews, as there: the variant *imdb* of
``mikolov2013``. Adam stands for the paper's SGD, and dropout of embeddings, of words and of the vectors of sentences
and document makes up for a corpus a tenth of its size. Batches are reviews with like numbers of sentences. Everything
was chosen on the validation split, a tenth of the training reviews by the SHA-256 of the text.

*Best* is the network of the paper at twice its width; the systems compared all have the paper's width, 50 units each
way and a context vector of 100, and one shorter training. *Flat* reads the first 400 words as one sequence with the
same GRU and the same attention, but for its bias, once; it has no sentences, so no dropout of theirs.

Claims: attention is better than the mean (HN-AVE) and the maximum (HN-MAX), which are alike; hierarchical is better
than flat; and the weight of a word depends on its context, measured as the paper shows it: "good" weighs more in
positive reviews, "bad" in negative ones (Figures 3 and 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from mxnet.gluon import HybridBlock

from gluon_attn.evaluation.statistics import bootstrap_metric
from gluon_attn.models.hierarchical_attention import HierarchicalAttentionNetwork
from gluon_attn.models.structured_classifier import StructuredClassifier
from gluon_attn.plots import highlighted_text
from gluon_attn.plots.curves import training_curves
from gluon_attn.plots.distributions import weights_histogram
from gluon_attn.plots.highlighted_text import Paragraph
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.recipe import Recipe
from reproductions.protocol.experiment import Preset, Reported, Variant
from reproductions.protocol.results import Claim, Row
from reproductions.protocol.rows import by_variant, measured
from reproductions.protocol.runs import Outcome, load
from reproductions.tasks import classification, classification_results
from reproductions.tasks.classification import (
    Data,
    begin_with as begin_with,
    classify,
    predict as predict,
    prepare as prepare,
    task as task,
)
from reproductions.tasks.classification_results import COLUMNS as COLUMNS, Comparison, write_reading_page

TITLE = "Hierarchical attention networks"
SOURCE = "Yang et al. (2016), NAACL"

_OWN = {
    "corpus": "imdb, 10 classes",
    "metric": "accuracy",
    "source": "Yang et al. (2016), Table 2",
    "checked": "memory",
}
_MAAS = {"corpus": "imdb", "metric": "accuracy"}
REPORTED = (
    Reported("hierarchical attention network, pretrained vectors", 90.4, source="richliao/textClassifier", **_MAAS),
    Reported("hierarchical LSTM without attention", 89.4, source="richliao/textClassifier", **_MAAS),
    Reported("LSTM of 200 units", 85.60, source="GluonNLP model zoo, trained from scratch", **_MAAS),
    Reported("HN-ATT", 49.4, **_OWN),
    Reported("HN-AVE", 47.8, **_OWN),
    Reported("HN-MAX", 48.2, **_OWN),
    Reported("LSTM-GRNN", 45.3, **_OWN),
)
_PEER, _, _PEER_FLAT, _ATT, _AVE, _MAX, _ = REPORTED
_SCALE = "the paper has 348 415 reviews in ten classes"
WORDS = ("good", "bad")
"""Whose weights are measured in context."""
_MARGIN = 0.5  # accuracy points within which HN-AVE and HN-MAX count as alike: half of what attention gains in Table 2

# The paper's sizes; the dropouts are ours.
_SIZES = {
    "corpus": "imdb",
    "min_freq": 6,
    "max_words": 50,
    "overlong": "wrap",
    "embedding_units": 200,
    "vectors": "mikolov2013/imdb",
    "units": 50,
    "attention_units": 100,
    "embedding_dropout": 0.3,
    "dropout": 0.3,
    "token_dropout": 0.1,
}
_BEST = {"units": 100, "attention_units": 200, "embedding_dropout": 0.5, "dropout": 0.5, "token_dropout": 0.2}
_RECIPE = Recipe(epochs=4, batch_size=64, learning_rate=1e-3, warmup_steps=100, decay="cosine", clip_norm=5.0)
_BEST_RECIPE = replace(_RECIPE, epochs=8)
_TINY = {"min_freq": 1, "embedding_units": 16, "units": 8, "attention_units": 8}
_SMOKE_RECIPE = Recipe(epochs=2, batch_size=16, learning_rate=5e-3, clip_norm=5.0)


def _variants(
    best: Mapping[str, Any], best_recipe: Recipe, small: Mapping[str, Any], recipe: Recipe
) -> tuple[Variant, ...]:
    """The best network, the paper's three, and the flat one."""
    sizes = {**_SIZES, **small}
    nested = {**sizes, "model": "hierarchical"}
    flat = {"model": "structured", "max_length": 400, "cell": "gru", "layers": 1, "hops": 1, "hidden": 0}
    flat |= {"pooling": None, "masked": True}
    return (
        Variant(
            "best",
            "HN-ATT of twice the width, trained longer",
            {**nested, **best, "pooling": "attention"},
            best_recipe,
            _PEER,
            differs="the peer's is the accuracy on a fifth of the training reviews, which were not trained on; it has "
            "vectors of another corpus",
        ),
        Variant(
            "att", "HN-ATT: attention on both levels", {**nested, "pooling": "attention"}, recipe, _ATT, False, _SCALE
        ),
        Variant("ave", "HN-AVE: means on both levels", {**nested, "pooling": "mean"}, recipe, _AVE, False, _SCALE),
        Variant("max", "HN-MAX: maxima on both levels", {**nested, "pooling": "max"}, recipe, _MAX, False, _SCALE),
        Variant(
            "flat",
            "one Bi-GRU with attention over the first 400 words",
            {**sizes, **flat},
            recipe,
            _PEER_FLAT,
            comparable=True,
            differs="the peer has one LSTM of 200 units and the mean of its states, and begins without word vectors",
        ),
    )


_HEADLINE = ("att", "ave", "flat")
PRESETS = {
    "smoke": Preset("smoke", "sample", (1,), _variants({"units": 12}, _SMOKE_RECIPE, _TINY, _SMOKE_RECIPE), _HEADLINE),
    "cpu": Preset("cpu", "imdb", (1, 2), _variants(_BEST, _BEST_RECIPE, {}, _RECIPE), _HEADLINE),
    # The paper's widths are small enough to train here as they are: `paper` is its row of `cpu` alone.
    "paper": Preset("paper", "imdb", (1, 2), _variants(_BEST, _BEST_RECIPE, {}, _RECIPE)[1:2], ("att",)),
}


def build(variant: Variant, data: Data) -> HybridBlock:
    """The network of a variant, not yet initialized."""
    settings = variant.settings
    names = ("embedding_units", "units", "attention_units", "pooling", "embedding_dropout", "dropout")
    common = {name: settings[name] for name in names}
    common |= {"vocabulary_size": len(data.prepared.vocabulary), "classes": len(data.labels)}
    if settings["model"] == "hierarchical":
        return HierarchicalAttentionNetwork(**common)
    rest = {name: settings[name] for name in ("cell", "layers", "hops", "hidden", "masked")}
    return StructuredClassifier(**common, **rest)


def evaluate(
    model: HybridBlock, variant: Variant, data: Data, last: Checkpoint
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """As :func:`.text_classification.evaluate`; with attention on both levels also, for each of :data:`WORDS` and each
    time it stands in the test split: ``weights_of_<word>``, its weight in its sentence times the words of that
    sentence, so that 1 is an even weight, and ``rows_of_<word>``, the review."""
    metrics, arrays = classification.evaluate(model, variant, data, last)
    if "sentence_weights" not in arrays:
        return metrics, arrays
    test = data.prepared.splits["test"]
    sentences = test.sentence_lengths
    words_of_sentence = np.repeat(sentences.ids, sentences.ids)
    of_sentence = np.repeat(arrays["sentence_weights"], sentences.ids)
    row = np.repeat(np.arange(len(test)), test.lengths)
    for word in WORDS:
        there = np.flatnonzero(test.ids == data.prepared.vocabulary[word])
        weights = arrays["token_weights"][there] / np.maximum(of_sentence[there], 1e-9)
        arrays[f"weights_of_{word}"] = (weights * words_of_sentence[there]).astype(np.float32)
        arrays[f"rows_of_{word}"] = row[there]
    return metrics, arrays


_COMPARISONS = (
    Comparison("att-ave", "Attention is better than the mean", "Table 2", better="att", worse="ave"),
    Comparison("att-max", "Attention is better than the maximum", "Table 2", better="att", worse="max"),
    Comparison("hierarchical", "Hierarchical is better than flat", "Table 2", better="att", worse="flat"),
    Comparison(
        "structure", "Hierarchical without attention is better than flat with it", "Table 2", better="ave", worse="flat"
    ),
)


def conclude(outcomes: Sequence[Outcome], preset: Preset) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the claims for which both sides are there."""
    rows, claims = classification_results.conclude(outcomes, preset, _COMPARISONS)
    groups = by_variant(outcomes)
    if "ave" in groups and "max" in groups:
        claims.append(_alike(groups["ave"], groups["max"], preset))
    if group := groups.get("att"):
        label = prepare(preset, preset.variant("att")).prepared.splits["test"].label
        claims += [
            Claim.judge(
                f"context-{word}",
                f'"{word}" weighs more in {where} reviews',
                "Figures 3 and 4",
                measured(f"mean weight, 1 is even, {where} minus others", "reviews", preset, group),
                bootstrap_metric(
                    np.stack([_weight_by_label(outcome, word, label == wanted) for outcome in group]),
                    lambda totals: totals[0] / max(totals[1], 1) - totals[2] / max(totals[3], 1),
                    seed=0,
                ),
            )
            for word, where, wanted in zip(WORDS, ("positive", "negative"), (1, 0), strict=True)
        ]
    return rows, claims


def _alike(first: Sequence[Outcome], second: Sequence[Outcome], preset: Preset) -> Claim:
    """The claim that two systems are no more than the margin apart."""
    right = [np.mean([one.predictions["right"] for one in group], axis=0) for group in (first, second)]
    counts = np.stack([*right, np.ones(len(right[0]))], axis=1)
    apart = bootstrap_metric(
        counts[None], lambda totals: _MARGIN - 100 * abs(totals[0] - totals[1]) / totals[2], seed=0
    )
    what = f"{_MARGIN} accuracy points minus their distance"
    measure = measured(what, "reviews", preset, first, second)
    return Claim.judge("ave-max", f"Mean and maximum are alike: at most {_MARGIN} apart", "Table 2", measure, apart)


def _weight_by_label(outcome: Outcome, word: str, wanted: np.ndarray) -> np.ndarray:
    """(reviews, 4): sum of the word's weights and how often it stands, in the wanted reviews, then in the others."""
    weights, rows = (outcome.predictions[f"{what}_of_{word}"] for what in ("weights", "rows"))
    sums = np.bincount(rows, weights, minlength=len(wanted))
    times = np.bincount(rows, minlength=len(wanted))
    return np.stack([sums * wanted, times * wanted, sums * ~wanted, times * ~wanted], axis=1)


def figures(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """Training curves; a positive and a negative review with the weights of words and sentences; and the weights of
    "good" and "bad" in reviews of either class. Of several seeds the first is drawn."""
    first = {name: group[0] for name, group in by_variant(outcomes).items()}
    paths = {"training curves": directory / "training_curves.png"}
    training_curves({name: one.facts["history"] for name, one in first.items()}, paths["training curves"])
    if "att" in first:
        for label, name in enumerate(Data.labels):
            paths[f"{name} review"] = directory / f"review_{name}.png"
            _draw_review(first["att"], label, paths[f"{name} review"])
        label_of = prepare(preset, preset.variant("att")).prepared.splits["test"].label
        arrays = first["att"].predictions
        for word in WORDS:
            weights, of = arrays[f"weights_of_{word}"], label_of[arrays[f"rows_of_{word}"]]
            samples = {f'"{word}" in {name} reviews': weights[of == label] for label, name in enumerate(Data.labels)}
            if all(len(sample) for sample in samples.values()):
                paths[f"weights of {word}"] = directory / f"weights_of_{word}.png"
                weights_histogram(samples, paths[f"weights of {word}"])
    return paths


def _draw_review(outcome: Outcome, label: int, path: Path) -> None:
    """The test review of that class, rightly classified, that is nearest to nine sentences and 120 words. As in the
    paper the shade of a word is that in its sentence times the root of that of the sentence."""
    model, variant, data = load(outcome.unit)
    test = data.prepared.splits["test"]
    far = 10 * np.abs(test.sentence_lengths.lengths - 9) + np.abs(test.lengths - 120)
    row = int(np.argmin(far + 10_000 * ((test.label != label) | ~outcome.predictions["right"])))
    review = test.take(np.array([row]))
    read = classify(model, variant, data.texts(review))
    sentences = read.sentence_weights[0]
    # Rounding apart, a sentence of no weight would have words of no weight known.
    of_sentence = np.repeat(np.maximum(sentences, 1e-9), review.sentence_lengths[0])
    shades = read.token_weights[0] / np.sqrt(of_sentence)
    shades /= shades.max()
    ends = np.cumsum(review.sentence_lengths[0])[:-1]
    paragraphs = [
        Paragraph(words, shade, float(weight / sentences.max()))
        for words, shade, weight in zip(review.sentence_words(0), np.split(shades, ends), sentences, strict=True)
    ]
    found, probability = data.labels[read.predicted[0]], read.probabilities[0].max()
    highlighted_text.draw(
        paragraphs, path, f"{variant.name}: {found}, {probability:.2f} (test review {row + 1}, {data.corpus})"
    )


def pages(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """A page of test reviews, one in fifty, with the weights of the best network."""
    group = by_variant(outcomes).get("best")
    if not group:
        return {}
    every = 1 if preset.corpus == "sample" else 50
    write_reading_page(group[0], directory / "reviews.html", every=every, language="en")
    return {"reading page": directory / "reviews.html"}
