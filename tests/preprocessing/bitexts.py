"""What the tests of parallel text share: a bitext from pairs, and applying steps to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from preprocessing.bitext.data import Bitext, BothSides, Pair
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Split
from preprocessing.text.steps import Tokenize
from preprocessing.text.tokenizers.registry import get

Pairs = Sequence[tuple[str, str]]
WORDS = BothSides(Tokenize(get("whitespace")), Tokenize(get("whitespace")))


def bitext(**splits: Pairs) -> Bitext:
    """Splits of (source, target); ids are ``<split>:<line>``."""
    return Bitext().with_splits({name: pair(name, rows) for name, rows in splits.items()})


def pair(name: str, rows: Pairs) -> Pair:
    ids = [f"{name}:{line}" for line in range(1, len(rows) + 1)]
    return Pair(
        Split.of([source for source, _ in rows], row_id=ids), Split.of([target for _, target in rows], row_id=ids)
    )


def texts(data: Bitext, name: str) -> list[tuple[str, str]]:
    return list(zip(data.splits[name].source.text, data.splits[name].target.text, strict=True))


def run(data: Bitext, *steps: Step[Bitext]) -> tuple[Bitext, list[Notes]]:
    """The data after all steps, and the notes of each."""
    notes = []
    for step in steps:
        data, note = step.apply(data, Context(processes=1))
        notes.append(note)
    return data, notes


def facts(notes: Sequence[Notes]) -> dict[str, Any]:
    return {topic: fact for note in notes for topic, fact in note.facts.items()}
