"""From finished trainings of a script that classifies to its rows, claims and pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reproductions.attention_viewer import viewer
from reproductions.attention_viewer.viewer import Review
from reproductions.protocol.experiment import Column, Preset, Variant
from reproductions.protocol.papers import script
from reproductions.protocol.results import Claim, Row
from reproductions.protocol.rows import accuracy_row, averaged_row, by_variant, measured, paired_difference
from reproductions.protocol.runs import Outcome, load
from reproductions.tasks.classification import Data, Read, classify, prepare

COLUMNS = (
    Column("accuracy, %", "accuracy", "empty ones left out"),
    Column("without leaked", "accuracy", "does not stand in train"),
)


@dataclass(frozen=True)
class Comparison:
    """A claim that one variant classifies better than another that reads the same corpus."""

    id: str
    statement: str
    source: str
    better: str
    worse: str


def conclude(
    outcomes: Sequence[Outcome], preset: Preset, comparisons: Sequence[Comparison], averaged: Sequence[str] = ()
) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the comparisons of which both sides are there; ``averaged`` are the variants whose
    networks are also counted as one, their probabilities averaged."""
    groups = by_variant(outcomes)
    rows = []
    for name, group in groups.items():
        variant = preset.variant(name)
        rows += _rows(group, variant, prepare(preset, variant), averaged=name in averaged)
    claims = []
    for one in comparisons:
        if one.better in groups and one.worse in groups:
            measure = measured("accuracy points", "reviews", preset, groups[one.better], groups[one.worse])
            effect = paired_difference(groups, one.better, one.worse)
            claims.append(Claim.judge(one.id, one.statement, one.source, measure, effect))
    return rows, claims


def _rows(outcomes: Sequence[Outcome], variant: Variant, data: Data, *, averaged: bool) -> list[Row]:
    """Accuracy on test, on those of its texts that were not seen in training, and the one that selected the epoch."""
    unseen = ~data.prepared.splits["test"].seen_in_train
    everything = f"{len(unseen)} test reviews, the empty ones left out"
    without = f"{int(unseen.sum())} test reviews whose text does not stand in train"
    rows = [
        accuracy_row(outcomes, variant, split="test", signature=everything),
        accuracy_row(outcomes, variant, split="test", signature=without, items=unseen),
        accuracy_row(outcomes, variant, split="validation", signature="best epoch"),
    ]
    if averaged and len(outcomes) > 1:
        rows.append(averaged_row(outcomes, variant, signature=everything))
        rows.append(averaged_row(outcomes, variant, signature=without, items=unseen))
    return rows


def write_reading_page(
    outcome: Outcome, path: Path, *, featured: str | None = None, every: int = 1, language: str = "ko"
) -> None:
    """The page on which test reviews can be found and read with the weights of one trained network.

    Args:
        outcome: of a network with attention.
        path: of the page.
        featured: a text that stands first, with its whole matrix of weights.
        every: only each so many-th review is on the page, where all of them would be too much for a browser.
        language: of the reviews.
    """
    model, variant, data = load(outcome.unit)
    test, arrays = data.prepared.splits["test"], outcome.predictions
    weights = np.split(arrays["token_weights"], np.cumsum(arrays["token_counts"])[:-1])
    probabilities = arrays["probability"]
    if probabilities.ndim == 1:
        probabilities = np.stack([1 - probabilities, probabilities], axis=1)
    predicted = probabilities.argmax(axis=1)
    reviews = [] if featured is None else [_featured(model, variant, data, featured)]
    reviews += [
        Review(
            id=str(test.row_id[row]),
            tokens=test.words(row)[: len(weights[row])],
            weights=weights[row],
            predicted=int(predicted[row]),
            probability=float(probabilities[row, predicted[row]]),
            label=int(test.label[row]),
            text=test.text[row],
            in_train=bool(test.seen_in_train[row]),
        )
        for row in range(0, len(test.label), every)
    ]
    note = {
        "model": f"{variant.name}: {variant.title}, seed {outcome.unit.seed}",
        "corpus": data.corpus,
        "digest": data.digest,
        "parameters": outcome.facts["parameters_sha256"],
    }
    if every > 1:
        note["shown"] = f"one in {every} of the {len(test.label)} test reviews"
    title = script(outcome.unit.paper).TITLE
    viewer.write(path, title=title, reviews=reviews, note=note, labels=data.labels, language=language)


def _featured(model: Any, variant: Variant, data: Data, text: str) -> Review:
    encoded = data.prepared.encode([text])
    read: Read = classify(model, variant, data.texts(encoded), matrices=True)
    return Review(
        id="the post's sentence",
        tokens=encoded.words(0),
        weights=read.token_weights[0],
        predicted=int(read.predicted[0]),
        probability=float(read.probabilities[0].max()),
        text=text,
        matrix=read.matrices[0],
    )
