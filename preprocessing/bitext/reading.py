"""The collections of a parallel corpus, and the step that reads their pairs, strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from preprocessing.bitext.data import Bitext, Pair
from preprocessing.bitext.segments import RULE as SEGMENTS, is_markup, read_segments
from preprocessing.corpora import CorpusFiles
from preprocessing.corpora.reading import FETCH_AGAIN, check_count, check_text, read_lines
from preprocessing.errors import InputError, MissingError
from preprocessing.pipeline import card
from preprocessing.pipeline.step import Context, Dropped, Notes, Step
from preprocessing.text.data import Split
from preprocessing.text.steps import SHOWN

UNSPLIT = "unsplit"
"""Name of the split before the step ``split-by-hash``."""

_WEB = " In the training text a carriage return is white space like any other."


@dataclass(frozen=True)
class Collection:
    """A collection of pairs in one corpus, and the split to which it belongs.

    Without ``columns`` it is two files, ``<part>.<language>``, one sentence per line. With ``columns`` it is one file,
    ``<part>``, of columns between tabs; ``columns`` are the languages of the first ones, ``ignored`` how many more may
    follow. ``member``: the name of the file in a zip archive, if it is in one. ``without``: what happens if an
    ``optional`` collection is missing. ``carriage_returns``: carriage returns are white space like any other, also at
    the end of a line (web text has them). ``markup``: some files may be SGML, so the rule says
    how SGML is read; a file is SGML if its name says so.
    """

    part: str
    split: str
    columns: tuple[str, ...] = ()
    ignored: int = 0
    header: bool = False
    member: str | None = None
    optional: bool = False
    note: str = ""
    without: str = "continuing without it"
    carriage_returns: bool = False
    markup: bool = False

    def parts(self, source: str, target: str) -> tuple[str, ...]:
        """The parts of the corpus that contain it."""
        return (self.part,) if self.columns else (f"{self.part}.{source}", f"{self.part}.{target}")


@dataclass(frozen=True)
class ReadPairs(Step[Bitext]):
    """Read the pairs of all collections. ``source`` and ``target`` are the languages in the names or columns of the
    files; ``stand_ins`` maps a requested language to its replacement."""

    name: ClassVar[str] = "read-pairs"
    source: str
    target: str
    collections: tuple[Collection, ...]
    empty: str = "refuse"
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    longest: int = 10_000

    @property
    def rule(self) -> str:
        blank = {
            "refuse": "A side that is empty or only white space is an error.",
            "drop": "A pair with a side that is empty or only white space is left out.",
        }[self.empty]
        return (
            "Files are UTF-8 without a byte order mark, every line ends with a line feed, nothing else ends a line. Of "
            "two files with one sentence per line, lines with the same number are a pair, and both have as many lines; "
            "of a file of columns between tabs, every line has the same number of columns, and a quotation mark is a "
            f"character like any other. {blank} A sentence of more than {self.longest} characters is an error. The "
            "text is not changed; its id is the part and the line number."
            + (f" {SEGMENTS}" if any(collection.markup for collection in self.collections) else "")
            + (_WEB if any(collection.carriage_returns for collection in self.collections) else "")
        )

    def parameters(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "target": self.target,
            "collections": {
                collection.part: {"split": collection.split, "columns": list(collection.columns)}
                for collection in self.collections
            },
            "stand_ins": dict(self.stand_ins),
            "empty": self.empty,
            "longest": self.longest,
        }

    def apply(self, data: Bitext, context: Context) -> tuple[Bitext, Notes]:
        files = context.corpus(self.name)
        rows: dict[str, list[tuple[str, str, str]]] = {}
        surveys: dict[str, Any] = {}
        missing: dict[str, str] = {}
        dropped, warnings = [], list[str]()
        for collection in self.collections:
            absent = [part for part in collection.parts(self.source, self.target) if part not in files.paths]
            if absent and collection.optional:
                missing[collection.part] = missing_part(collection)
                continue
            if absent:
                raise missing_files(files, absent)
            pairs = read_collection(files, collection, self.source, self.target, longest=self.longest)
            blank = [row_id for row_id, source, target in pairs if not source.strip() or not target.strip()]
            if blank and self.empty == "refuse":
                raise _empty(files, collection, blank[0], pairs, self.source, self.target)
            if blank:
                left_out = set(blank)
                pairs = [pair for pair in pairs if pair[0] not in left_out]
                dropped.append(Dropped(collection.split, "an empty side", len(blank), blank[:SHOWN]))
            if files.origin == "given" and len(pairs) == 1 and collection.split == "train":
                warnings.append(f"{collection.part}: only one pair to train on")
            surveys[collection.part] = {"split": collection.split, "note": collection.note, **survey(pairs)}
            rows.setdefault(collection.split, []).extend(pairs)
        splits = {name: _pair(pairs) for name, pairs in rows.items()}
        facts: dict[str, Any] = {"collections": surveys}
        if missing:
            facts["missing"] = missing
        if self.stand_ins:
            facts["stand_ins"] = {
                requested: stand_in(requested, replacement) for requested, replacement in self.stand_ins.items()
            }
        return data.with_splits(splits), Notes(facts=facts, dropped=dropped, warnings=warnings)


def missing_files(files: CorpusFiles, parts: Sequence[str]) -> MissingError:
    """The error for parts of a corpus that are not optional."""
    reason = f"has no {' and no '.join(parts)} (it has {', '.join(files.paths)})"
    return MissingError(f"corpus {files.name}", reason, remedy="give files in the layout of the corpus")


def missing_part(collection: Collection) -> str:
    """What a card states about an optional collection that is missing."""
    return f"{collection.note} Not found; {collection.without}.".strip()


def stand_in(requested: str, replacement: str) -> str:
    """What a card states about a language that another one replaces."""
    return f"The corpus has no text in {requested}; its text in {replacement} is used instead."


def read_collection(
    files: CorpusFiles, collection: Collection, source: str, target: str, *, longest: int
) -> list[tuple[str, str, str]]:
    """Read (id, source, target) of each pair, as in the files; raises InputError for the first error."""
    paths = [files.path(part) for part in collection.parts(source, target)]
    texts = (
        read_columns(paths[0], collection, (source, target))
        if collection.columns
        else read_parallel(paths[0], paths[1], collection)
    )
    first = 2 if collection.header else 1
    for path, column in zip((paths[0], paths[-1]), texts, strict=True):
        for line, text in enumerate(column, first):
            if len(text) > longest:
                reason = f"a sentence of {len(text)} characters, at most {longest} are allowed"
                raise InputError(path, reason, line=line, remedy="one sentence per line: are line feeds missing?")
            if files.origin == "given":
                check_text(path, text, line=line, longest=longest)
    for part in collection.parts(source, target):
        check_count(files.path(part), len(texts[0]), files.rows.get(part))
    ids = (f"{collection.part}:{line}" for line in range(first, first + len(texts[0])))
    return list(zip(ids, *texts, strict=True))


def read_parallel(source: Path, target: Path, collection: Collection | None) -> tuple[list[str], list[str]]:
    """The lines of two parallel files; raises InputError when one has more lines than the other."""
    web = collection is not None and collection.carriage_returns

    def lines_of(path: Path) -> list[str]:
        return read_segments(path) if is_markup(path) else read_lines(path, carriage_returns=web)

    lines = lines_of(source), lines_of(target)
    if len(lines[0]) != len(lines[1]):
        reason = f"{len(lines[0])} lines, but {target.name} has {len(lines[1])}: they are not parallel"
        line = min(len(lines[0]), len(lines[1])) + 1
        raise InputError(source, reason, line=line, remedy=f"find the first misaligned line, or {FETCH_AGAIN}")
    return lines


def read_columns(path: Path, collection: Collection, wanted: Sequence[str]) -> tuple[list[str], list[str]]:
    """The two wanted columns of a file; raises InputError for a line with more or fewer columns than the others."""
    lines = read_lines(path, collection.member if path.suffix == ".zip" else None)
    names = list(collection.columns)
    expected = [len(names) + more for more in range(collection.ignored + 1)]
    if collection.header:
        expected = [len(names)]
        if lines[0].split("\t") != names:
            reason = f"the header is {lines[0][:60]!r}, expected {', '.join(names)} between tabs"
            raise InputError(path, reason, line=1, remedy="add the header line, with tabs between the columns")
    rows = [line.split("\t") for line in lines]
    width = len(rows[0])
    if width not in expected:
        reason = f"{width} column{'s' if width > 1 else ''}, expected {' or '.join(map(str, expected))}"
        raise InputError(path, reason, line=1, remedy="put single tabs between the columns, none into the text")
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            reason = f"{len(row)} column{'s' if len(row) > 1 else ''}, the first line has {width}"
            remedy = "put single tabs between the columns, none into the text"
            raise InputError(path, reason, line=number, remedy=remedy)
    body = rows[1:] if collection.header else rows
    if not body:
        raise InputError(path, "no rows below the header", line=1, remedy=FETCH_AGAIN)
    source, target = (names.index(name) for name in wanted)
    return [row[source] for row in body], [row[target] for row in body]


def survey(pairs: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """Counts of a collection before any step, without pairs that were left out because a side is empty."""
    sides = {"source": [source for _, source, _ in pairs], "target": [target for *_, target in pairs]}
    distinct = {side: len(set(texts)) for side, texts in sides.items()}
    return {
        "rows": len(pairs),
        "distinct_source": distinct["source"],
        "distinct_target": distinct["target"],
        "repeated_pairs": len(pairs) - len(set(zip(*sides.values(), strict=True))),
        "padded_with_space": sum(text != text.strip() for texts in sides.values() for text in texts),
        "characters": {
            side: card.profile(np.fromiter(map(len, texts), np.int64, len(texts)), width=5)
            for side, texts in sides.items()
        },
    }


def _empty(
    files: CorpusFiles,
    collection: Collection,
    row_id: str,
    pairs: Sequence[tuple[str, str, str]],
    source: str,
    target: str,
) -> InputError:
    """The error for the first pair with an empty side, at the file of that side."""
    texts = next((source, target) for pair_id, source, target in pairs if pair_id == row_id)
    side = 0 if not texts[0].strip() else 1
    path = files.path(collection.parts(source, target)[0 if collection.columns else side])
    return empty_side(path, (source, target)[side], int(row_id.rpartition(":")[2]))


def empty_side(path: Path, language: str, line: int) -> InputError:
    """The error for a pair with an empty side."""
    remedy = "fix the line; preprocess translation can drop such pairs (--empty drop, in Python empty='drop')"
    return InputError(path, f"the {language} side is empty", line=line, remedy=remedy)


def _pair(rows: Sequence[tuple[str, str, str]]) -> Pair:
    ids = [row_id for row_id, *_ in rows]
    return Pair(
        Split.of([source for _, source, _ in rows], row_id=ids), Split.of([target for *_, target in rows], row_id=ids)
    )
