"""Labelled sentences with official splits, such as the Stanford Sentiment Treebank: from files to ids.

    from preprocessing import sentences
    result = sentences.prepare("sst-5")
    result.train.ids, result.train.offsets, result.train.label, result.vocabulary, result.card

The steps, in order: read-sentences, drop-empty, mark-copies, tokenize, truncate, vocabulary, encode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from preprocessing.corpora import CorpusFiles
from preprocessing.corpora.reading import check_count, check_text, read_lines
from preprocessing.errors import InputError, ParameterError, check_positive
from preprocessing.pipeline.step import SPLITS, Context, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import (
    DropEmpty,
    Encode,
    LearnVocabulary,
    Tokenize,
    Truncate,
    labels_of_copies,
    leaks,
    survey,
)
from preprocessing.text.tokenizers.plain import Whitespace
from preprocessing.text.writing import write as write

LABELS: Mapping[str, tuple[str, ...]] = {
    "sst-2": ("negative", "positive"),
    "sst-5": ("very negative", "negative", "neutral", "positive", "very positive"),
}
"""Label names of each corpus; the index is the label."""

_LONGEST = 100_000  # characters of a sentence in your own files


def labels_of(corpus: str) -> tuple[str, ...]:
    """Names of the labels of a corpus (``sst-5``, ``sample sst-5``); any other corpus has negative and positive."""
    return LABELS.get(corpus.removeprefix("sample "), LABELS["sst-2"])


def pipeline(
    *, classes: int = 2, max_length: int | None = None, min_freq: int = 2, max_size: int | None = None
) -> TextPipeline:
    """The pipeline for SST and files in its layout.

    ``classes``: number of labels, at most ten; labels are the numbers below it. ``max_length``: maximum tokens per
    sentence (None: no limit). ``min_freq`` and ``max_size``: limits of the vocabulary, which is learned on the training
    split. Raises ParameterError for an invalid value.
    """
    check_positive(classes=classes, max_length=max_length, min_freq=min_freq, max_size=max_size)
    if not 2 <= classes <= 10:
        raise ParameterError("classes", classes, "must be from 2 to 10: a label is one digit", remedy="choose 2 or 5")
    words = Whitespace()
    steps = (
        ReadSentences(classes),
        DropEmpty(),
        MarkCopies(),
        Tokenize(words),
        Truncate(max_length),
        LearnVocabulary(min_freq, max_size),
        Encode(),
    )
    return TextPipeline("sentences", steps, words, sample=f"sample sst-{5 if classes == 5 else 2}")


def prepare(
    corpus: str | CorpusFiles = "sst-2",
    *,
    classes: int | None = None,
    processes: int | None = None,
    cache: bool = True,
    **options: Any,
) -> Result:
    """Run :func:`pipeline` with ``options`` on ``sst-2``, ``sst-5``, ``sample`` or your own files (``locate.given``).
    ``classes`` defaults to the number of labels of the corpus, and to 2 for your own files."""
    name = corpus if isinstance(corpus, str) else corpus.name
    classes = len(labels_of(name)) if classes is None else classes
    return pipeline(classes=classes, **options).run(corpus, processes=processes, cache=cache)


@dataclass(frozen=True)
class ReadSentences(Step[Data]):
    """Read the files of the three splits, strictly."""

    name: ClassVar[str] = "read-sentences"
    classes: int = 2

    @property
    def rule(self) -> str:
        return (
            f"Each line is a label, one digit from 0 to {self.classes - 1}, one space and the sentence, in UTF-8, and "
            "ends with a line feed; anything else is an error. The splits are those of the files. The sentence is "
            "not changed: those of SST are tokenised and lower-cased already, brackets are -lrb- and -rrb-, a "
            "slash is \\/, quotation marks are `` and ''."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        files = context.corpus(self.name)
        splits = {
            part: read_sentences(files.path(part), classes=self.classes, rows=files.rows.get(part)) for part in SPLITS
        }
        if files.origin == "given":
            for part, split in splits.items():
                for line, text in enumerate(split.text, start=1):
                    check_text(files.path(part), text, line=line, longest=_LONGEST)
        facts = {"survey": {part: survey(split, width=5) for part, split in splits.items()}}
        return data.with_splits(splits), Notes(facts=facts)


def read_sentences(path: Path, *, classes: int, rows: int | None = None) -> Split:
    """Read one file as a Split; row ids are line numbers. Raises InputError with file, line, reason and remedy for the
    first error: one of :func:`.reading.read_lines`, a line that does not begin with a label and a space, or a number of
    lines other than ``rows`` (if given)."""
    lines = read_lines(path)
    known = [str(label) for label in range(classes)]
    for number, line in enumerate(lines, start=1):
        if line[:1] not in known or line[1:2] != " ":
            start = line.split(" ")[0][:20]
            remedy = f"begin the line with one of {', '.join(known)} and one space"
            raise InputError(path, f"label {start!r}, expected 0 to {classes - 1}", line=number, remedy=remedy)
    check_count(path, len(lines), rows)
    return Split.of(
        [line[2:] for line in lines],
        row_id=[str(number) for number in range(1, len(lines) + 1)],
        label=np.array([int(line[0]) for line in lines], np.int8),
    )


@dataclass(frozen=True)
class MarkCopies(Step[Data]):
    """Mark the validation and test rows whose text occurs in train."""

    name: ClassVar[str] = "mark-copies"

    @property
    def rule(self) -> str:
        return (
            "A row of validation or test is marked seen_in_train when its text occurs verbatim in train. Nothing is "
            "dropped: accuracies can be reported with and without the marked rows."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        splits, facts = dict(data.splits), {}
        for name in ("validation", "test"):
            split = data.splits[name]
            copies = labels_of_copies([train], split)
            seen = np.array([text in copies for text in split.text], np.bool_)
            splits[name] = replace(split, seen_in_train=seen)
            facts[f"{name} in train"] = leaks(copies, split)
        test = data.splits["test"]
        facts["test in validation"] = leaks(labels_of_copies([data.splits["validation"]], test), test)
        return data.with_splits(splits), Notes(facts={"copies": facts})
