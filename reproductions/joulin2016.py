"""Bag of tricks: fastText's linear classifier (Joulin, Grave, Bojanowski and Mikolov, 2017, EACL, arXiv:1607.01759).

The mean of the vectors of a text's words and bigrams, and one linear layer: no order beyond two words, no attention. It
is the floor that every network with attention has to clear, on the same texts, cut by the same rules: morphemes of
NSMC, words of IMDb's reviews and of the sentences of SST. It reads them whole, and with its own vocabulary: words seen
once are unknown, those of SST are not.

Bigrams are hashed into buckets that share one table with the words (sec. 2.2); the hash is FNV-1a of the ids. The
paper's ten million buckets are a hundred thousand to one million here, for corpora a hundredth of its size. Vectors
have 16 units, the paper's 10; Adam and a rate that falls as a cosine stand for its SGD and linear decay. Rate and the
share of dropped words were chosen on the validation split of NSMC and are the same everywhere; epochs are the more,
the smaller the corpus.

Claim: bigrams help (Table 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from mxnet.gluon import HybridBlock

from gluon_attn.models.fasttext import NgramClassifier, bags
from gluon_attn.plots.curves import training_curves
from gluon_attn.training.recipe import Recipe
from preprocessing.text.data import Split
from reproductions.protocol.experiment import Preset, Reported, Variant
from reproductions.protocol.results import Claim, Row
from reproductions.protocol.rows import by_variant
from reproductions.protocol.runs import Outcome
from reproductions.tasks import classification, classification_results
from reproductions.tasks.classification import Data, Text, evaluate as evaluate, predict as predict, task as task
from reproductions.tasks.classification_results import COLUMNS as COLUMNS, Comparison

TITLE = "Bag of tricks: words and bigrams without attention"
SOURCE = "Joulin et al. (2017), arXiv:1607.01759"

_YELP = {"corpus": "yelp polarity", "metric": "accuracy", "checked": "secondary"}
REPORTED = (
    Reported("fastText", 85.50, corpus="nsmc", metric="accuracy", source="monologg/KoBERT-nsmc"),
    Reported("fastText, h = 10", 93.8, source="Joulin et al. (2017), Table 1", **_YELP),
    Reported("fastText, h = 10, bigrams", 95.7, source="Joulin et al. (2017), Table 1", **_YELP),
)
_PEER, _WORDS, _BIGRAMS = REPORTED

_SETTINGS = {"model": "bag", "units": 16, "token_dropout": 0.3, "max_length": 4_000}
_RECIPES = {
    corpus: Recipe(epochs=epochs, batch_size=64, learning_rate=3e-3, decay="cosine")
    for corpus, epochs in (("nsmc", 4), ("imdb", 12), ("sst2", 40), ("sst5", 40))
}
_SMOKE_RECIPES = dict.fromkeys(_RECIPES, Recipe(epochs=2, batch_size=16, learning_rate=1e-2, decay="cosine"))
_ON: Mapping[str, Mapping[str, Any]] = {
    "nsmc": {"corpus": "nsmc", "tokenizer": "mecab", "min_freq": 2, "buckets": 500_000},
    "imdb": {"corpus": "imdb", "min_freq": 2, "buckets": 1_000_000},
    "sst2": {"corpus": "sst-2", "min_freq": 1, "buckets": 100_000},
    "sst5": {"corpus": "sst-5", "min_freq": 1, "buckets": 100_000},
}
_TITLES = {"nsmc": "NSMC", "imdb": "IMDb", "sst2": "SST, two classes", "sst5": "SST, five classes"}
_SCALE = "another corpus, of 560 000 reviews"
_BESIDE: Mapping[str, tuple[Reported | None, bool, str]] = {
    "nsmc-bigrams": (_PEER, True, "how the peer cuts reviews into tokens is not stated"),
    "imdb-words": (_WORDS, False, _SCALE),
    "imdb-bigrams": (_BIGRAMS, False, _SCALE),
}


def _variants(recipes: Mapping[str, Recipe], changed: Mapping[str, Any]) -> tuple[Variant, ...]:
    """Words alone and with bigrams, on each corpus."""
    variants = []
    for corpus, title in _TITLES.items():
        settings = {**_SETTINGS, **_ON[corpus], **changed}
        for what, said, orders in (("words", "words", []), ("bigrams", "words and bigrams", [2])):
            name = f"{corpus}-{what}"
            reported, comparable, differs = _BESIDE.get(name, (None, False, ""))
            of_both = {**settings, "orders": orders}
            variants.append(Variant(name, f"{title}: {said}", of_both, recipes[corpus], reported, comparable, differs))
    return tuple(variants)


_HEADLINE = ("nsmc-words", "nsmc-bigrams")
PRESETS = {
    "smoke": Preset(
        "smoke", "sample", (1,), _variants(_SMOKE_RECIPES, {"min_freq": 1, "units": 8, "buckets": 500}), _HEADLINE
    ),
    "cpu": Preset("cpu", "nsmc", (1, 2, 3), _variants(_RECIPES, {}), _HEADLINE),
    "paper": Preset("paper", "nsmc", (1,), _variants(_RECIPES, {"units": 10, "buckets": 10_000_000}), _HEADLINE),
}


@dataclass(frozen=True)
class Bags(Data):
    """Texts as rows of the table: their words, and behind the vocabulary the buckets of their n-grams.

    Attributes:
        orders: n of the n-grams.
        buckets: how many there are.
    """

    orders: tuple[int, ...] = ()
    buckets: int = 1

    def texts(self, split: Split) -> Sequence[Text]:
        words = split.sequences()
        grams = bags(words, self.orders, self.buckets, first=len(self.prepared.vocabulary))
        return [np.concatenate(pair) for pair in zip(words, grams, strict=True)]


def prepare(preset: Preset, variant: Variant) -> Bags:
    """Read and preprocess the corpus of a variant, as :func:`.text_classification.prepare` does."""
    data = classification.prepare(preset, variant)
    common = {field.name: getattr(data, field.name) for field in fields(data)}
    return Bags(**common, orders=tuple(variant.settings["orders"]), buckets=variant.settings["buckets"])


def build(variant: Variant, data: Bags) -> HybridBlock:
    """The network of a variant, not yet initialized."""
    rows = len(data.prepared.vocabulary) + (data.buckets if data.orders else 0)
    return NgramClassifier(rows=rows, units=variant.settings["units"], classes=len(data.labels))


def conclude(outcomes: Sequence[Outcome], preset: Preset) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the claims for which both sides are there."""
    comparisons = [
        Comparison(
            f"bigrams-{corpus}", f"Bigrams help: {_TITLES[corpus]}", "Table 1", f"{corpus}-bigrams", f"{corpus}-words"
        )
        for corpus in _ON
    ]
    return classification_results.conclude(outcomes, preset, comparisons)


def figures(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """Training curves, a figure for each corpus; of several seeds the first is drawn."""
    histories = {name: group[0].facts["history"] for name, group in by_variant(outcomes).items()}
    paths = {}
    for corpus, title in _TITLES.items():
        curves = {name: history for name, history in histories.items() if name.startswith(f"{corpus}-")}
        if curves:
            paths[f"training curves, {title}"] = directory / f"training_curves_{corpus}.png"
            training_curves(curves, paths[f"training curves, {title}"])
    return paths


def pages(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """None: without weights there is nothing to read."""
    return {}
