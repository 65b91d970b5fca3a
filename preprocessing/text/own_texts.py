"""Your own labelled texts: TSV files for any text pipeline, whatever corpus it was written for."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from preprocessing.corpora import CorpusFiles, given
from preprocessing.corpora.reading import check_text
from preprocessing.errors import InputError
from preprocessing.pipeline.step import SPLITS, Context, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.pipeline import TextPipeline
from preprocessing.text.steps import DropEmpty, SplitByHash, labels_of_copies, leaks, survey
from preprocessing.text.table import read_table

OWN_TEXTS = "own texts"
"""Corpus name of the user's own texts."""

LABELS = "labels"
"""Name of the labels in the learned state."""

_MOST_LABELS = 100


def own_texts(
    train: Path | str, test: Path | str, validation: Path | str | None = None, licence: str = "not stated"
) -> CorpusFiles:
    """Your own TSV files, in the layout of NSMC, as a corpus. Raises InputError for a missing file."""
    paths = {"train": train, **({"validation": validation} if validation else {}), "test": test}
    return given(OWN_TEXTS, paths, licence)


def own_texts_of(folder: Path | str) -> CorpusFiles:
    """:func:`own_texts` of a folder: ``train.tsv``, ``test.tsv`` and, if it is there, ``validation.tsv``."""
    folder = Path(folder)
    validation = folder / "validation.tsv"
    return own_texts(folder / "train.tsv", folder / "test.tsv", validation if validation.exists() else None)


def reading_own_texts(pipeline: TextPipeline) -> TextPipeline:
    """A pipeline of labelled texts that reads :func:`own_texts` instead of its corpus, holds out validation rows if no
    validation file is given, and does not undo the quoting of NSMC's official files. Its other steps are the same."""
    steps: list[Step] = [ReadTexts()]
    for step in pipeline.steps[1:]:
        if step.name == "unquote":
            continue
        # Any other way to hold rows out would replace a validation file that was given.
        steps.append(HoldOut() if step.name.startswith("split-") else step)
    if not any(isinstance(step, HoldOut) for step in steps):
        position = next(number for number, step in enumerate(steps, start=1) if isinstance(step, DropEmpty))
        steps.insert(position, HoldOut())
    return replace(pipeline, steps=tuple(steps))


def learned_labels(learned: Mapping[str, bytes]) -> tuple[str, ...] | None:
    """The labels of own texts, by number; None for another corpus."""
    state = learned.get(LABELS)
    return None if state is None else tuple(json.loads(state))


@dataclass(frozen=True)
class ReadTexts(Step[Data]):
    """Read the TSV files, strictly."""

    name: ClassVar[str] = "read-texts"
    version: ClassVar[int] = 2
    longest: int = 100_000

    @property
    def rule(self) -> str:
        return (
            "Each file is UTF-8, its first line is `id<TAB>document<TAB>label`, every further line has exactly these "
            "three columns and ends with a line feed; a quotation mark is a character like any other. A label is any "
            "text but an empty one; those of train are numbered in the order of their numbers if all are numbers, "
            "otherwise of their code points, and the other files have no other label. A text of more than "
            f"{self.longest} characters or with a NUL is an error. The text is not changed."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        files = context.corpus(self.name)
        parts = [part for part in SPLITS if part in files.paths]
        labels: tuple[str, ...] = ()
        splits, warnings = {}, list[str]()
        for part in parts:
            splits[part], labels = self._read(files.path(part), labels, warnings)
        texts = {part: {str(text) for text in split.text if text.strip()} for part, split in splits.items()}
        for part, other in (("validation", "train"), ("test", "train"), ("test", "validation")):
            if {part, other} <= texts.keys() and (copies := texts[part] & texts[other]):
                known = "every text is" if copies == texts[part] else f"{len(copies)} of {len(texts[part])} texts are"
                little = "; accuracy says little" if copies == texts[part] else ""
                warnings.append(f"{files.path(part).name}: {known} in {other} too{little}")
        facts: dict[str, Any] = {
            LABELS: list(labels),
            "survey": {part: survey(split, width=5) for part, split in splits.items()},
            "leaks_as_read": leaks(labels_of_copies([splits["train"]], splits["test"]), splits["test"]),
        }
        state = json.dumps(labels, ensure_ascii=False).encode("utf-8")
        return data.with_splits(splits).with_learned(**{LABELS: state}), Notes(facts=facts, warnings=warnings)

    def _read(self, path: Path, labels: tuple[str, ...], warnings: list[str]) -> tuple[Split, tuple[str, ...]]:
        """Read one file; return its split and the labels, which are learned from this file if there are none yet."""
        table = read_table(path)
        for line, text in enumerate(table.texts, start=2):
            check_text(path, text, line=line, longest=self.longest)
        for line, row_id in enumerate(table.row_ids, start=2):
            check_text(path, row_id, line=line, longest=_LONGEST_ID)
        if not any(text.strip() for text in table.texts):
            raise InputError(path, "no row has text", remedy="give texts in the second column")
        if "" in table.labels:
            line = table.labels.index("") + 2
            raise InputError(path, "has no label", line=line, remedy="write one, or leave the row out")
        of_texts = [label for label, text in zip(table.labels, table.texts, strict=True) if text.strip()]
        with_text = set(of_texts)
        if not labels:
            labels = _in_order(set(table.labels))
            if len(labels) > _MOST_LABELS:
                reason = f"{len(labels)} different labels, at most {_MOST_LABELS} are allowed"
                raise InputError(path, reason, remedy="put the label into the third column")
            if len(with_text) == 1:
                rows = len(of_texts)
                every = "its only row with text has" if rows == 1 else f"all {rows} rows with text have"
                remedy = "give rows of two labels or more"
                raise InputError(path, f"{every} the label {of_texts[0]!r}", remedy=remedy)
            warnings += _look_the_same(path, labels)
            if blank := [label for label in labels if label not in with_text]:
                warnings.append(f"{path.name}: no row of {_named(blank)} has text")
        elif len(with_text) == 1:
            warnings.append(f"{path.name}: all rows have the label {of_texts[0]!r}; accuracy says little")
        number = {label: index for index, label in enumerate(labels)}
        for line, label in enumerate(table.labels, start=2):
            if label not in number:
                remedy = f"known are {', '.join(labels[:10])}"
                if _as_seen(label) in map(_as_seen, labels):
                    remedy = f"one of train looks the same, but is spelled otherwise; {_SPELLING}"
                raise InputError(path, f"label {label[:20]!r} is not in train", line=line, remedy=remedy)
        warnings += _odd_ids(path, table.row_ids) + _decomposed(path, table.texts) + _quoted(path, table.texts)
        padded = [line for line, label in enumerate(table.labels, start=2) if label != label.strip()]
        if padded:
            label = table.labels[padded[0] - 2]
            warnings.append(f"{path.name}, line {padded[0]}: label {label!r} begins or ends with white space")
        numbers = np.array([number[label] for label in table.labels], np.int8)
        return Split.of(table.texts, row_id=table.row_ids, label=numbers), labels


_LONGEST_ID = 1_000
"""Maximum number of characters of an id: the array of all ids is as wide as the longest."""


def _as_seen(label: str) -> str:
    """A label as it looks: composed, without format characters such as a zero-width space."""
    return "".join(char for char in unicodedata.normalize("NFC", label) if unicodedata.category(char) != "Cf")


def _look_the_same(path: Path, labels: Sequence[str]) -> list[str]:
    """A warning for two labels that differ, but look the same."""
    first: dict[str, str] = {}
    for label in labels:
        if (other := first.setdefault(_as_seen(label), label)) != label:
            names = f"labels {other!a} and {label!a} look the same, but count as two"
            return [f"{path.name}: {names}; {_SPELLING}"]
    return []


_SPELLING = "convert the files to NFC, and remove invisible characters"


def _named(labels: Sequence[str]) -> str:
    """Labels as a message names them: ``label 'a'``, ``labels 'a' and 'b'``."""
    *others, last = map(repr, labels)
    return f"labels {', '.join(others)} and {last}" if others else f"label {last}"


def _in_order(labels: set[str]) -> tuple[str, ...]:
    """Labels by number if all consist of digits, otherwise by code points."""
    if all(label.isascii() and label.isdigit() for label in labels):
        return tuple(sorted(labels, key=_number))
    return tuple(sorted(labels))


def _number(label: str) -> tuple[int, str, str]:
    """A key that sorts digits like their numbers, of any size."""
    digits = label.lstrip("0")
    return len(digits), digits, label


def _odd_ids(path: Path, row_ids: Sequence[str]) -> list[str]:
    """A warning for empty ids and one for ids that several rows have; they are not needed, but suggest a mistake."""
    warnings = []
    counts = Counter(row_ids)
    if empty := counts.pop("", 0):
        warnings.append(f"{path.name}, line {row_ids.index('') + 2}: {empty} of {len(row_ids)} ids are empty")
    if repeated := {row_id: count for row_id, count in counts.items() if count > 1}:
        first = next(iter(repeated))
        line = row_ids.index(first, row_ids.index(first) + 1) + 2
        more = f" (and {len(repeated) - 1} more ids)" if len(repeated) > 1 else ""
        warnings.append(f"{path.name}, line {line}: {repeated[first]} rows have the id {first!r}{more}")
    return warnings


def _quoted(path: Path, texts: Sequence[str]) -> list[str]:
    """A warning if most texts are in quotation marks, as a spreadsheet writes them."""
    quoted = sum(len(text) > 1 and text[0] == text[-1] == '"' for text in texts)
    if quoted <= len(texts) / 2:
        return []
    rows = f"{quoted} of {len(texts)} texts are in quotation marks, which are read as part of the text"
    return [f"{path.name}: {rows}; save the file without quoting"]


def _decomposed(path: Path, texts: Sequence[str]) -> list[str]:
    """A warning for Hangul in decomposed form, as in file names of macOS: analysers take it for unknown characters."""
    lines = [line for line, text in enumerate(texts, start=2) if DECOMPOSED.search(text)]
    if not lines:
        return []
    rows = f"{len(lines)} of {len(texts)} texts have Hangul in decomposed form (NFD)"
    return [f"{path.name}, line {lines[0]}: {rows}; most tokenizers need it composed, so convert the file to NFC"]


DECOMPOSED = re.compile(r"[\u1100-\u1112][\u1161-\u1175]")
"""A leading consonant and a vowel that NFC would compose to a syllable block."""


@dataclass(frozen=True)
class HoldOut(SplitByHash):
    """Hold out validation rows if no validation file is given."""

    name: ClassVar[str] = "hold-out"

    @property
    def rule(self) -> str:
        return (
            "Only where there is no validation file: a row of train goes to validation when the first 8 hexadecimal "
            f"digits of the SHA-256 of its text (UTF-8), read as a number, are divisible by {self.one_in}; otherwise "
            "it stays in train. The choice depends on the text alone. Test is not changed."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        if "validation" in data.splits:
            return data, Notes()
        held_out, notes = super().apply(data, context)
        if notes.warnings:
            raise InputError("train", notes.warnings[0], remedy="give a validation file, or more rows")
        left = _labels_with_text(held_out.splits["train"])
        lost = sorted(_labels_with_text(data.splits["train"]) - left)
        if not lost:
            return held_out, notes
        labels = learned_labels(data.learned) or ()
        reason = f"all rows of {_named([labels[number] for number in lost])} are held out for validation"
        remedy = "give a validation file"
        if len(left) == 1:
            raise InputError("train", f"{reason}, and those left have one label", remedy=remedy)
        return held_out, replace(notes, warnings=[f"train: {reason}; {remedy}"])


def _labels_with_text(split: Split) -> set[int]:
    """The numbers of the labels of rows that are not blank."""
    return {int(label) for label, text in zip(split.label, split.text, strict=True) if text.strip()}
