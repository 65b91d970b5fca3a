"""Long short-term memory-networks (Cheng, Dong and Lapata, 2016, EMNLP, arXiv:1601.06733): an LSTM whose state before a
word is what it attends to of all states before.

Section 5.1, Table 1, perplexity of the Penn Treebank with a memory of 300: LSTM 115, LSTMN 108; of three layers LSTMN
102, other deep LSTMs 107 to 115. Section 5.2, sentiment: the mean of the states classifies a sentence of SST. Numbers
and sizes of the paper are from memory; those of its sentiment table are not given, for want of a source.

Language: one layer of 300 units, embeddings of 150, the treebank as Mikolov left it, 10 000 words. The text is one
stream, the end of a line a word like any other. 20 rows of it side by side are read 35 words at a time; the state goes
on from one call to the next, and gradients end where a call begins. Once in a hundred calls a row begins without a
state, or an LSTMN would not learn to begin (:mod:`gluon_attn.training.bptt`). *The tape is bounded*: it holds
the last 3 states. It too is carried on: a state of the call before is attended to, but passes no gradient. Test
perplexity is that of the whole file read as one row: every word of it is predicted, behind all that stand before it.

What a word attends to has no order, so an LSTMN must learn which memory is the latest: the longer the tape, the more
slowly it learns. Ten epochs are what is affordable here, so the tape is short; one of 15 states was tried (with Adam,
more dropout and no row begun anew), and after three epochs its validation perplexity was a fifth above the LSTM's.

One recipe for both readers: Adam, lazy for embeddings, whose rate rises to 0.002 in 200 updates and falls to 0 as a
cosine over 10 epochs, gradients clipped to a norm of 1, and a dropout of 0.2. It was chosen on validation, as what both
can learn by. SGD of rate 20 was tried in short trials, with less dropout and tighter clipping: its validation
perplexity was better than Adam's for the LSTM (121 after three epochs for 135) and worse for the LSTMN (186 after two
for 155). Six epochs without dropout are worse for both (LSTM 126, LSTMN 129 on validation with one seed, for 121 and
121; test was read there too, 118.9 and 121.7); in ten without dropout the LSTM overfits. Forget gates begin open. Kept
is the epoch with the best validation perplexity. Equal memory is not equal size: attention adds 4 % of parameters.

Sentiment: 168 units and embeddings of 300, which begin at random where the paper's are GloVe's; trained on the whole
sentences of the official split; a tape of 56 states, as long as the longest sentence. Adam for 8 epochs, dropout 0.5.

Claims: the LSTMN predicts better than the LSTM of equal memory, and classifies better; and of what is on the tape, it
attends most to the recent. Section 5.1 says so of all that was read before; of a tape of three states it says little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from mxnet.gluon import HybridBlock

from gluon_attn.evaluation.statistics import bootstrap_metric
from gluon_attn.models.language_model import LanguageModel
from gluon_attn.models.lstmn import LSTMN, FusedLSTM, SentenceClassifier, SequenceEncoder
from gluon_attn.plots.curves import Score, training_curves, weights_by_distance
from gluon_attn.plots.heatmap import attention_matrix
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.objective import Objective
from gluon_attn.training.recipe import Recipe
from preprocessing.text.data import Split
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.protocol.experiment import Column, Preset, Reported, Variant
from reproductions.protocol.results import Claim, Row
from reproductions.protocol.rows import by_variant, measured
from reproductions.protocol.runs import Outcome, Unit, load
from reproductions.tasks import classification, classification_results, language_modelling
from reproductions.tasks.classification import Data, classify
from reproductions.tasks.classification_results import Comparison, write_reading_page
from reproductions.tasks.language_modelling import what_words_look_at

TITLE = "Long short-term memory-networks"
SOURCE = "Cheng, Dong and Lapata (2016), arXiv:1601.06733"
COLUMNS = (Column("perplexity", "perplexity"), classification_results.COLUMNS[0])

_PTB = {"corpus": "ptb", "metric": "perplexity", "checked": "memory"}
_TABLE_1 = {**_PTB, "source": "Cheng et al. (2016), Table 1"}
_TEXT_CNN = {"metric": "accuracy", "source": "GluonNLP 0.10, scripts/sentiment_analysis"}
_LSTM = Reported("LSTM, memory of 300", 115.0, **_TABLE_1)
_LSTMN = Reported("LSTMN, memory of 300", 108.0, **_TABLE_1)
_CNN_5 = Reported("convolutions, vectors from scratch", 44.3, "sst-5", **_TEXT_CNN)
_CNN_2 = Reported("convolutions, vectors from scratch", 82.1, "sst-2", **_TEXT_CNN)
REPORTED = (
    Reported("Kneser-Ney, 5 words", 141.0, **_TABLE_1),
    Reported("RNN, memory of 300", 129.0, **_TABLE_1),
    _LSTM,
    _LSTMN,
    Reported("stacked LSTM, 3 layers", 115.0, **_TABLE_1),
    Reported("gated-feedback LSTM, 3 layers", 107.0, **_TABLE_1),
    Reported("depth-gated LSTM, 3 layers", 109.0, **_TABLE_1),
    Reported("LSTMN, 3 layers", 102.0, **_TABLE_1),
    Reported("LSTM, 2 layers of 650, dropout", 82.7, source="Zaremba et al. (2014)", **_PTB),
    Reported("AWD-LSTM, 3 layers", 58.8, "ptb", "perplexity", "salesforce/awd-lstm-lm", "secondary"),
    _CNN_5,
    _CNN_2,
)

_LANGUAGE = {
    "corpus": "ptb",
    "embedding_units": 150,
    "units": 300,
    "attention_units": 300,
    "window": 3,
    "steps": 35,
    "restart": 0.01,
    "dropout": 0.2,
}
_LANGUAGE_RECIPE = Recipe(epochs=10, batch_size=20, learning_rate=2e-3, warmup_steps=200, decay="cosine", clip_norm=1.0)
_SENTIMENT = {
    "min_freq": 1,
    "max_length": 56,
    "embedding_units": 300,
    "units": 168,
    "attention_units": 168,
    "window": 56,
    "hidden_units": 168,
    "embedding_dropout": 0.5,
    "dropout": 0.5,
}
_SENTIMENT_RECIPE = Recipe(epochs=8, batch_size=32, learning_rate=1e-3, decay="cosine", clip_norm=5.0)
_OF_LSTMN = ("attention_units", "window")

_ANOTHER_RECIPE = "another recipe, with dropout; whether the authors' state goes on from line to line is not known"
_ANOTHER_NETWORK = "a convolutional network; trained for 200 epochs"


def _variants(
    language: Mapping[str, Any], language_recipe: Recipe, sentiment: Mapping[str, Any], sentiment_recipe: Recipe
) -> tuple[Variant, ...]:
    """Of each task the LSTM and the LSTMN, which differ in the reader alone."""

    def pair(
        prefix: str,
        settings: Mapping[str, Any],
        recipe: Recipe,
        peers: tuple[Reported, Reported],
        what: str,
        differs: tuple[str, str],
    ) -> tuple[Variant, Variant]:
        plain = {name: value for name, value in settings.items() if name not in _OF_LSTMN}
        lstm, lstmn = {**plain, "model": "lstm"}, {**settings, "model": "lstmn"}
        return (
            Variant(f"{prefix}lstm", f"LSTM, {what}", lstm, recipe, peers[0], True, differs[0]),
            Variant(f"{prefix}lstmn", f"LSTM with intra-attention, {what}", lstmn, recipe, peers[1], True, differs[1]),
        )

    bounded = f"{_ANOTHER_RECIPE}; the tape holds the last {language['window']} states"
    return (
        *pair("", language, language_recipe, (_LSTM, _LSTMN), "language", (_ANOTHER_RECIPE, bounded)),
        *(
            variant
            for corpus, peer, what in (("sst-5", _CNN_5, "sentiment in five grades"), ("sst-2", _CNN_2, "sentiment"))
            for variant in pair(
                f"{corpus.replace('-', '')}-",
                {"corpus": corpus, **sentiment},
                sentiment_recipe,
                (peer, peer),
                what,
                (_ANOTHER_NETWORK, _ANOTHER_NETWORK),
            )
        ),
    )


_TINY = {"embedding_units": 8, "units": 12, "attention_units": 10}
_TINY_LANGUAGE = {**_LANGUAGE, **_TINY, "window": 9, "steps": 5}
_TINY_SENTIMENT = {**_SENTIMENT, **_TINY, "hidden_units": 8}
_SMOKE_RECIPE = Recipe(epochs=2, batch_size=4, learning_rate=5e-3, clip_norm=1.0)
# Nothing leaves the tape within a sentence, of which none has more than 82 words; rows and batches are the authors'; of
# a dropout in language modelling nothing is known.
_AUTHORS = _variants(
    {**_LANGUAGE, "window": 83, "dropout": 0.0},
    replace(_LANGUAGE_RECIPE, batch_size=40),
    _SENTIMENT,
    replace(_SENTIMENT_RECIPE, batch_size=5),
)

_HEADLINE = ("lstm", "lstmn")
PRESETS = {
    "smoke": Preset(
        "smoke", "sample", (1,), _variants(_TINY_LANGUAGE, _SMOKE_RECIPE, _TINY_SENTIMENT, _SMOKE_RECIPE), _HEADLINE
    ),
    "cpu": Preset(
        "cpu", "ptb", (1, 2), _variants(_LANGUAGE, _LANGUAGE_RECIPE, _SENTIMENT, _SENTIMENT_RECIPE), _HEADLINE
    ),
    "paper": Preset("paper", "ptb", (1,), _AUTHORS, _HEADLINE),
}


def _is_of_language(variant: Variant) -> bool:
    return bool(variant.settings["corpus"] == "ptb")


def prepare(preset: Preset, variant: Variant) -> Data:
    """Read and preprocess the corpus of a variant; on the embedded sample the part that stands for it."""
    return (language_modelling if _is_of_language(variant) else classification).prepare(preset, variant)


def build(variant: Variant, data: Data) -> HybridBlock:
    """The network of a variant, not yet initialized."""
    settings = variant.settings
    common = {
        "vocabulary_size": len(data.prepared.vocabulary),
        "embedding_units": settings["embedding_units"],
        "encoder": _encoder(settings),
        "dropout": settings["dropout"],
    }
    if _is_of_language(variant):
        return LanguageModel(**common)
    return SentenceClassifier(
        hidden_units=settings["hidden_units"],
        classes=len(data.labels),
        embedding_dropout=settings["embedding_dropout"],
        **common,
    )


def _encoder(settings: Mapping[str, Any]) -> SequenceEncoder:
    sizes = settings["units"], settings["embedding_units"]
    if settings["model"] == "lstm":
        return FusedLSTM(*sizes)
    return LSTMN(*sizes, settings["window"], settings["attention_units"])


def task(variant: Variant, data: Data) -> Objective:
    """Training batches, loss and validation of a variant."""
    if not _is_of_language(variant):
        return classification.task(variant, data)
    # A network of its own, of which nothing is asked but the shapes of its state.
    start = build(variant, data).start(variant.recipe.batch_size)
    return language_modelling.task(variant, data, start)


def evaluate(
    model: HybridBlock, variant: Variant, data: Data, last: Checkpoint
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """As :func:`language_modelling.evaluate` or :func:`classification.evaluate`."""
    room = language_modelling if _is_of_language(variant) else classification
    return room.evaluate(model, variant, data, last)


def predict(unit: Unit, stream: BinaryIO, *, weights: bool) -> Iterator[str]:
    """As :func:`language_modelling.predict` or :func:`classification.predict`."""
    of_language = _is_of_language(PRESETS[unit.preset].variant(unit.variant))
    return (language_modelling if of_language else classification).predict(unit, stream, weights=weights)


_COMPARISONS = tuple(
    Comparison(
        f"sentiment-{what}",
        f"The LSTM with intra-attention classifies better than the LSTM ({what})",
        "sec. 5.2",
        better=f"{corpus}-lstmn",
        worse=f"{corpus}-lstm",
    )
    for what, corpus in (("fine", "sst5"), ("binary", "sst2"))
)


def conclude(outcomes: Sequence[Outcome], preset: Preset) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the claims for which both sides are there."""
    groups = by_variant(outcomes)
    of_language = {name: group for name, group in groups.items() if _is_of_language(preset.variant(name))}
    rows, claims = [], []
    for name, group in of_language.items():
        rows += language_modelling.rows(group, preset.variant(name))
    if {"lstm", "lstmn"} <= of_language.keys():
        claims.append(
            Claim.judge(
                "perplexity",
                "Of equal memory, an LSTM with intra-attention predicts better than one without",
                "Table 1",
                measured("by how much perplexity is lower", "lines", preset, of_language["lstm"], of_language["lstmn"]),
                language_modelling.difference(of_language, "lstm", "lstmn"),
            )
        )
    if "lstmn" in of_language:
        claims.append(_recent(of_language["lstmn"], preset))
    rest = [outcome for outcome in outcomes if outcome.unit.variant not in of_language]
    of_sentiment = classification_results.conclude(rest, preset, _COMPARISONS)
    return rows + of_sentiment[0], claims + of_sentiment[1]


def _recent(outcomes: Sequence[Outcome], preset: Preset) -> Claim:
    """The claim that the nearest third of the memories gets more than a third of the weight."""
    each = [outcome.predictions for outcome in outcomes]
    window = each[0]["looked"].shape[1]
    nearest = window // 3
    totals = np.stack([np.stack([one["looked"][:, :nearest].sum(axis=1), one["likelihood"][:, 1]]) for one in each])

    def more_than_even(sums: np.ndarray) -> float:
        return float(100 * (sums[0] / sums[1] - nearest / window))

    return Claim.judge(
        "recent",
        f"The nearest third of the {window} memories on the tape gets more than a third of the attention",
        "sec. 5.1",
        measured(
            f"per cent of the weight on the nearest {nearest} of {window}, minus the even share",
            "lines",
            preset,
            outcomes,
        ),
        bootstrap_metric(totals.swapaxes(1, 2), more_than_even, seed=0),
    )


def figures(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """Training curves; what the words of three lines and of a sentence of each sentiment corpus look at; and the weight
    of memories by their distance. Of several seeds the first is drawn."""
    first = {name: group[0] for name, group in by_variant(outcomes).items()}
    paths: dict[str, Path] = {}

    def place(title: str) -> Path:
        paths[title] = directory / f"{title.replace(',', '').replace(' ', '_')}.png"
        return paths[title]

    curves = {name: outcome.facts["history"] for name, outcome in first.items()}
    language = {name: history for name, history in curves.items() if _is_of_language(preset.variant(name))}
    sentiment = {name: history for name, history in curves.items() if name not in language}
    if language:
        path = place("training curves, language")
        training_curves(language, path, score=Score("perplexity", "perplexity"), loss_per="word", lower_is_better=True)
    if sentiment:
        training_curves(sentiment, place("training curves, sentiment"))
    if "lstmn" in first:
        arrays = first["lstmn"].predictions
        by_distance = arrays["looked"].sum(axis=0) / arrays["likelihood"][:, 1].sum()
        weights_by_distance({"lstmn": by_distance}, place("weights by distance"))
        for number, line in enumerate(_lines_to_draw(first["lstmn"], preset), start=1):
            _draw_line(first["lstmn"], line, place(f"attention {number}"))
    for name in ("sst5-lstmn", "sst2-lstmn"):
        if name in first:
            _draw_sentence(first[name], place(f"attention of {name}"))
    return paths


def _lines_to_draw(outcome: Outcome, preset: Preset) -> list[int]:
    """The first three validation lines of known words alone that have six to twelve of them."""
    split: Split = prepare(preset, preset.variant(outcome.unit.variant)).prepared.splits["validation"]
    words = split.lengths - 1
    unknown = np.add.reduceat(split.ids == UNKNOWN_ID, split.offsets[:-1], dtype=int)
    chosen: list[int] = np.flatnonzero((words >= 6) & (words <= 12) & (unknown == 0))[:3].tolist()
    return chosen


def _draw_line(outcome: Outcome, line: int, path: Path) -> None:
    """What each word of a validation line looks at, the end of the line before it included."""
    model, variant, data = load(outcome.unit)
    split = data.prepared.splits["validation"]
    weights = what_words_look_at(model, variant, data, split, line)
    *words, end = split.words(line)
    before = 1 - weights.sum() / len(words)
    attention_matrix(
        words,
        [end, *words[:-1]],
        weights,
        path,
        f"{variant.name}: validation line {line + 1} ({data.corpus}); {before:.0%} of the weight is on lines before",
        axis_labels=("word", "memory before it"),
        masked=_off_the_tape(weights, variant.settings["window"]),
    )


def _draw_sentence(outcome: Outcome, path: Path) -> None:
    """What the words look at of the validation sentence nearest to twelve words, among those rightly classified."""
    model, variant, data = load(outcome.unit)
    split = data.prepared.splits["validation"]
    right = classify(model, variant, data.texts(split)).predicted == split.label
    row = int(np.argmin(np.abs(split.lengths - 12) + 1_000 * ~right))
    sentence = split.take(np.array([row]))
    read, words = classify(model, variant, data.texts(sentence), matrices=True), sentence.words(0)
    weights = read.matrices[0][1:, :-1]  # the first word has nothing to look at, and none looks at the last
    label, probability = data.labels[read.predicted[0]], read.probabilities[0].max()
    attention_matrix(
        words[1:],
        words[:-1],
        weights,
        path,
        f"{variant.name}: {label}, {probability:.2f} (validation sentence {row + 1}, {data.corpus})",
        axis_labels=("word", "memory before it"),
        masked=_off_the_tape(weights, variant.settings["window"]),
    )


def _off_the_tape(weights: np.ndarray, window: int) -> np.ndarray:
    """Where a row cannot have weight, of words in order and the memories before them: behind the word before it, and
    further back than the tape reaches."""
    everywhere = np.ones(weights.shape, bool)
    return np.triu(everywhere, 1) | np.tril(everywhere, -window)


def pages(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """The page of all test sentences in five grades, with how much of the others' attention each word has."""
    group = by_variant(outcomes).get("sst5-lstmn")
    if not group:
        return {}
    write_reading_page(group[0], directory / "reviews.html", language="en")
    return {"reading page": directory / "reviews.html"}
