"""The film that each document is about, by the lists of URLs that IMDb comes with, and a validation split by film.

Line n of ``train/urls_neg.txt`` is the address of the film that document n of ``train/neg`` is about, and the same with
``pos``, and in ``test``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from preprocessing.corpora.archives import contents
from preprocessing.corpora.reading import FETCH_AGAIN, decoded
from preprocessing.document_reading import LABELS, PART
from preprocessing.errors import InputError
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Data
from preprocessing.text.steps import hash_numbers

_FILM = re.compile(r"/title/(tt\d+)(?:/|$)", re.ASCII)
_REMEDY = "add the lists of URLs in the layout of IMDB, or split by hash"


@dataclass(frozen=True)
class SplitByFilm(Step[Data]):
    """Split validation documents off the training documents, all documents on a film together."""

    name = "split-by-film"
    one_in: int = 10

    @property
    def rule(self) -> str:
        return (
            "A document of the official train folder goes to validation when the first 8 hexadecimal digits of the "
            f"SHA-256 of its film's identifier (tt and digits), read as a number, are divisible by {self.one_in}; "
            "otherwise it stays in train. The film is in the line of train/urls_{neg,pos}.txt that has the number of "
            "the document, counted from 0. So no film is both in train and in validation. Test is not changed."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        path = context.corpus(self.name).path(PART)
        train = data.splits["train"]
        of_rows = films_of(path, train.row_id.tolist())
        chosen = hash_numbers(of_rows) % self.one_in == 0
        splits = {**data.splits, "train": train.take(~chosen), "validation": train.take(chosen)}
        for name in ("train", "validation"):
            if not len(splits[name]):
                reason = f"split by the films of train/urls_*.txt, {name} has no documents"
                raise InputError(path, reason, remedy="split by hash")
        counts = {
            name: len(set(np.array(of_rows)[rows])) for name, rows in (("train", ~chosen), ("validation", chosen))
        }
        return data.with_splits(splits), Notes(facts={"films": counts})


def films_of(path: Path, row_ids: Sequence[str]) -> list[str]:
    """The identifier of the film (tt and digits) of each document of a folder or archive, by ids such as
    ``train/pos/0_9``.

    Raises InputError if a list of URLs is missing or too short, or for the first line without a film.
    """
    parts = dict.fromkeys(row_id.partition("/")[0] for row_id in row_ids)
    films = {part: read_films(path, part) for part in parts}
    return [_film(path, films, row_id) for row_id in row_ids]


def read_films(path: Path, part: str = "train") -> dict[str, list[str]]:
    """Read the film of each document of the train or test folder of a folder or archive, by label.

    Raises InputError if a list is missing, or for the first line without a film.
    """
    lists = {(part, f"urls_{label}.txt"): label for label in LABELS}
    films: dict[str, list[str]] = {}
    for name, raw in contents(path, lambda name: PurePosixPath(name).parts[-2:] in lists):
        lines = decoded(f"{path}: {name}", raw).splitlines()
        for number, line in enumerate(lines, start=1):
            if _FILM.search(line) is None:
                raise InputError(f"{path}: {name}", f"line {number} has no film: {line[:60]!r}", remedy=FETCH_AGAIN)
        folder, file = PurePosixPath(name).parts[-2:]
        films[lists[folder, file]] = [matched[1] for line in lines if (matched := _FILM.search(line))]
    for label in LABELS:
        if label not in films:
            raise InputError(path, f"has no {part}/urls_{label}.txt", remedy=_REMEDY)
    return films


def _film(path: Path, films: Mapping[str, Mapping[str, list[str]]], row_id: str) -> str:
    part, label, name = row_id.split("/")
    number, listed = int(name.partition("_")[0]), films[part][label]
    if number >= len(listed):
        reason = f"{part}/urls_{label}.txt has {len(listed)} lines, none for document {number}"
        raise InputError(path, reason, remedy=_REMEDY)
    return listed[number]
