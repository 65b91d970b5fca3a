"""The nearest words of some words: as a table, as a map, and as answers to what is asked on standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gluon_attn.evaluation.word_vectors import mds, nearest
from gluon_attn.plots.embedding_map import word_map
from preprocessing.files import write_text
from reproductions.tasks.lines import lines
from reproductions.tasks.word_vectors import WordVectors

NEIGHBOURS = 10
_DRAWN_EACH = 6


def write_table(trained: Mapping[str, WordVectors], asked: Sequence[str], path: Path) -> None:
    """Write a TSV of the ten nearest words of each word that is asked for, with their cosines, a line for each
    training."""
    near: dict[str, dict[str, list[str]]] = {}
    for name, found in trained.items():
        there = [word for word in asked if word in found.words]
        ids, cosines = nearest(found.vectors, np.array([found.words.index(word) for word in there], int), NEIGHBOURS)
        near[name] = {
            word: [_said(found.words[one], cosine) for one, cosine in zip(*row, strict=True)]
            for word, *row in zip(there, ids.tolist(), cosines.tolist(), strict=True)
        }
    lines = ["\t".join(["word", "variant", *map(str, range(1, NEIGHBOURS + 1))])]
    for word in asked:
        lines += ["\t".join([word, name, *found.get(word, ["no vector"])]) for name, found in near.items()]
    write_text(path, "\n".join(lines) + "\n")


def draw_map(trained: WordVectors, asked: Sequence[str], path: Path, title: str) -> bool:
    """Draw the words that are asked for, each with the nearest that no other has already; whether any of them has a
    vector and a map was drawn."""
    drawn = [trained.words.index(word) for word in asked if word in trained.words]
    if not drawn:
        return False
    near, _ = nearest(trained.vectors, np.array(drawn), _DRAWN_EACH)
    taken, groups = set(drawn), []
    for word, others in zip(drawn, near.tolist(), strict=True):
        groups.append([word, *(one for one in others if one not in taken)])
        taken.update(others)
    places = mds(trained.vectors[np.concatenate(groups)])
    word_map([[trained.words[one] for one in group] for group in groups], places, path, title)
    return True


def answers(
    trained: WordVectors, tokenize: Callable[[str], Sequence[str]], stream: BinaryIO, *, cosines: bool
) -> Iterator[str]:
    """Read words, one a line of UTF-8, and yield the ten nearest of each, with tabs between, and cosines if asked for.

    A line of several tokens asks for what is nearest to the mean of their directions; an empty line, or one that has no
    token with a vector, gives an empty answer.

    Raises:
        UsageError: a line is not UTF-8.
    """
    directions = trained.vectors / np.maximum(np.linalg.norm(trained.vectors, axis=1, keepdims=True), 1e-12)
    places = {word: place for place, word in enumerate(trained.words)}
    for number, text in lines(stream):
        asked = sorted({places[token] for token in tokenize(text) if token in places})
        if not asked:
            if text:
                print(f"line {number}: no word of it has a vector", file=sys.stderr)
            yield ""
            continue
        with_mean = np.vstack([directions, directions[asked].mean(axis=0)])
        others = np.setdiff1d(np.arange(len(directions)), asked)
        found, near = nearest(with_mean, np.array([len(directions)]), NEIGHBOURS, others)
        pairs = zip([trained.words[one] for one in found[0]], near[0].tolist(), strict=True)
        yield "\t".join(_said(word, cosine) if cosines else word for word, cosine in pairs)


def _said(word: str, cosine: float) -> str:
    return f"{word} {cosine:.2f}"
