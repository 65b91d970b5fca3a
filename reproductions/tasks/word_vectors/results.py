"""Table rows, effects, figures and pages from the outcomes of word vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.evaluation.statistics import Estimate, bootstrap
from gluon_attn.plots.curves import Score, training_curves as draw_training_curves
from gluon_attn.plots.embedding_map import word_map
from preprocessing.files import write_text
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.results import Row
from reproductions.protocol.rows import best_validation, row, validation_row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Column, Variant
from reproductions.tasks.word_vectors.trained_vectors import NEIGHBOURS

COLUMNS = (
    Column("neighbours of the same sentiment, %", "agreement", "words of clear sentiment"),
    Column("of rare words", "agreement", "rare words"),
    Column("loss", "loss"),
)
RARE = "agreement of rare words"
"""Metric that compares rare words only."""
METRICS = ("agreement", RARE)


def rows(outcomes: Sequence[Outcome], variant: Variant[Any], frequent: int) -> list[Row]:
    """Rows of one variant: agreement on test for all words with a clear sentiment and for the rare ones, with bootstrap
    intervals over words; loss on test, and on validation at the best epoch, with ranges over seeds. A word is rare if
    it occurs in fewer than ``frequent`` rated reviews."""
    made = agreement_rows(outcomes, variant, frequent)
    settings = variant.settings
    signature = f"nats per {settings.example}, {settings.negatives} negatives, threshold {settings.threshold:g}"
    values = [outcome.record["metrics"]["loss"] for outcome in outcomes]
    made.append(row(outcomes, variant, split="test", metric="loss", signature=signature, values=values))
    return [*made, validation_row(outcomes, variant, "loss", signature)]


def agreement_rows(outcomes: Sequence[Outcome], variant: Variant[Any], frequent: int) -> list[Row]:
    """The rows of :func:`rows` that apply to all word vectors, however they were trained."""
    rare = outcomes[0].predictions["rare"]
    made = []
    for only_rare, words in (
        (False, f"{len(rare)} words of clear sentiment"),
        (True, f"{int(rare.sum())} rare words, in fewer than {frequent} rated reviews"),
    ):
        if only_rare and not rare.any():
            continue
        made.append(
            row(
                outcomes,
                variant,
                split="test",
                metric="agreement",
                signature=f"{NEIGHBOURS} nearest words of {words}",
                values=[float(_by_word([outcome], only_rare).mean()) for outcome in outcomes],
                ci95=bootstrap(_by_word(outcomes, only_rare), seed=0),
            )
        )
    return made


def _measured(outcomes: Sequence[Outcome]) -> bool:
    """Whether neighbours were measured: networks that are trained on the user's own text have no rated reviews."""
    return all("agreement" in outcome.predictions for outcome in outcomes)


def _by_word(outcomes: Sequence[Outcome], only_rare: bool) -> np.ndarray:
    """The agreement of each word with a clear sentiment, averaged over seeds: (words,), or (rare words,)."""
    predictions = [outcome.predictions for outcome in outcomes]
    mean: np.ndarray = np.mean([each["agreement"] for each in predictions], axis=0)
    return mean[predictions[0]["rare"]] if only_rare else mean


def compare(metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect | None:
    """Gain in agreement of the first side over the second, for metric :data:`RARE` over rare words only; paired
    bootstrap over words. None if no word is rare, or without measured neighbours."""
    if not (_measured(better) and _measured(worse)):
        return None
    only_rare = metric == RARE
    sides = [_by_word(outcomes, only_rare) for outcomes in (better, worse)]
    if not len(sides[0]):
        return None
    what = f"percentage points of the neighbours of {'rare' if only_rare else 'all'} words"
    return Effect(bootstrap(sides[0] - sides[1], seed=0), what, "words")


def better_at_best_epochs(better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
    """Gain in validation agreement of the first side over the second, each training at its best epoch.

    Only the mean over words is stored for each epoch. The width of the interval over words is therefore taken from the
    test words, the other half of the words with a clear sentiment, at the epochs that were kept.
    """
    first, second = (np.mean([best_validation(one, "agreement") for one in side]) for side in (better, worse))
    on_test = bootstrap(_by_word(better, only_rare=False) - _by_word(worse, only_rare=False), seed=0)
    difference = float(first - second)
    shift = difference - on_test.mean
    estimate = Estimate(difference, shift + on_test.low, shift + on_test.high, on_test.degrees)
    what = "percentage points of the neighbours of all words, best epoch minus best epoch"
    return Effect(estimate, what, "words of test", split="validation")


def above_chance(outcomes: Sequence[Outcome]) -> Effect | None:
    """Gain in agreement over random neighbours; bootstrap over words. None without measured neighbours."""
    if not _measured(outcomes):
        return None
    difference = _by_word(outcomes, only_rare=False) - outcomes[0].predictions["chance"]
    return Effect(bootstrap(difference, seed=0), "percentage points of the neighbours above chance", "words")


def training_curves(outcomes: Mapping[str, Outcome], path: Path) -> None:
    """Training loss and validation agreement; the epoch with the lowest loss is marked."""
    draw_training_curves(
        {name: outcome.record["history"] for name, outcome in outcomes.items()},
        path,
        score=Score("agreement", "neighbours of the same sentiment", " %"),
        loss_label="negative sampling",
        selected_epochs={name: outcome.record["best_epoch"] for name, outcome in outcomes.items()},
    )


def draw_map(outcome: Outcome, directory: Path) -> dict[str, Path]:
    """The map of an outcome's words and their nearest neighbours; none if no word has a vector."""
    words = outcome.examples.get("map")
    if not words:
        return {}
    path = directory / f"map_{outcome.variant}.png"
    title = f"{outcome.variant}: nearest neighbours of some words, 2-D projection ({outcome.record['corpus']})"
    word_map(words["groups"], np.array(words["positions"]), path, title)
    return {f"map of {outcome.variant}": path}


def map_of(variant: str) -> Draw:
    """The map of one variant, for tasks that draw none."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        return draw_map(groups[variant][0], directory) if variant in groups else {}

    return draw


def neighbours_page(title: str, file: str, *variants: str) -> Draw:
    """A TSV of the nearest neighbours of the listed words with their cosines, a line for each word and variant."""

    def write(groups: Groups, directory: Path) -> dict[str, Path]:
        tables = {name: groups[name][0].examples.get("neighbours") for name in variants if name in groups}
        tables = {name: table for name, table in tables.items() if table}
        if not tables:
            return {}
        lines = [["word", "variant", *map(str, range(1, NEIGHBOURS + 1))]]
        for entries in zip(*tables.values(), strict=True):
            for name, entry in zip(tables, entries, strict=True):
                nearest = [f"{word} {cosine:.2f}" for word, cosine in entry["nearest"]]
                lines.append([entry["word"], name, *(nearest or ["no vector"])])
        path = directory / file
        write_text(path, "\n".join("\t".join(line) for line in lines) + "\n")
        return {title: path}

    return write
