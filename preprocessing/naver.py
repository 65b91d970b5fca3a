"""The Naver sentiment movie corpus: from the official TSV files to ids, with every decision stated.

    from preprocessing import naver
    result = naver.prepare("nsmc", tokenizer="mecab", max_length=30, min_freq=2)
    naver.write(result, Path("out"))

The steps, in order: read-ratings, drop-empty, (drop-copies), split-by-hash or split-tail, (unquote), mark-leaks,
(clean), tokenize, (stop-words), truncate or keep-last, vocabulary, encode, (limit-labelled).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.corpora import CorpusFiles
from preprocessing.corpora.reading import check_count
from preprocessing.errors import InputError, ParameterError, check_choice, check_positive
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text import steps
from preprocessing.text.choices import (
    STOP_WORDS,
    Clean,
    DropCopies,
    KeepLast,
    LimitLabelled,
    MecabByTag,
    RemoveStopWords,
    SplitTail,
)
from preprocessing.text.data import Data, Split
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import (
    SHOWN,
    DropEmpty,
    Encode,
    LearnVocabulary,
    MarkLeaks,
    SplitByHash,
    Tokenize,
    Truncate,
    labels_of_copies,
    leaks,
)
from preprocessing.text.table import HEADER as HEADER, read_table
from preprocessing.text.tokenizers import registry
from preprocessing.text.tokenizers.tokenizer import Tokenizer
from preprocessing.text.writing import write as write

LABELS = {"0": 0, "1": 1}


def pipeline(
    *,
    tokenizer: str | Tokenizer = "mecab",
    max_length: int | None = None,
    min_freq: int = 2,
    max_size: int | None = None,
    text: str = "official",
    clean: Sequence[str] = (),
    stop_words: str | None = None,
    keep: str = "first",
    copies: str = "keep",
    validation: str = "hash",
    labelled: int | None = None,
) -> TextPipeline:
    """The pipeline for NSMC and files in its layout.

    ``tokenizer``: its name, or a tokenizer. ``max_length``: maximum tokens per review (None: no limit). ``min_freq``
    and ``max_size``: limits of the vocabulary, which is learned on the training split. ``text="repaired"`` restores the
    texts whose quotes were doubled when the corpus was created; the rows of each split are the same in both cases.

    The other parameters are choices that descriptions of experiments leave open. ``clean``: rules of
    :data:`.choices.CLEANING`, applied in the given order. ``stop_words``: a list of :data:`.choices.STOP_WORDS`, or
    ``tags`` to remove tokens by part of speech, only with Mecab. ``keep``: keep the ``first`` or the ``last`` tokens of
    a long review. ``copies``: ``keep`` equal texts in the training file, or drop copies ``of-train`` or ``of-test``.
    ``validation``: a tenth of the training file by ``hash``, or its ``tail``. ``labelled``: number of training rows
    whose labels are used (None: all); the vocabulary is learned from all texts.

    Raises ParameterError for an invalid value.
    """
    check_choice("text", text, ("official", "repaired"))
    check_choice("keep", keep, ("first", "last"))
    check_choice("copies", copies, ("keep", "of-train", "of-test"))
    check_choice("validation", validation, ("hash", "tail"))
    if stop_words is not None:
        check_choice("stop_words", stop_words, (*STOP_WORDS, "tags"))
    check_positive(max_length=max_length, min_freq=min_freq, max_size=max_size, labelled=labelled)
    chosen = registry.get(tokenizer) if isinstance(tokenizer, str) else tokenizer
    if stop_words == "tags":
        if chosen.name != "mecab":
            reason, remedy = f"{chosen.name} has no tags here", "choose the tokenizer mecab"
            raise ParameterError("stop_words", stop_words, reason, remedy=remedy)
        chosen = MecabByTag()
    chain: list[Step] = [ReadRatings(), DropEmpty()]
    chain += [] if copies == "keep" else [DropCopies(copies.removeprefix("of-"))]
    chain += [SplitByHash() if validation == "hash" else SplitTail()]
    chain += [Unquote()] if text == "repaired" else []
    chain += [MarkLeaks()]
    chain += [Clean(tuple(clean))] if clean else []
    chain += [Tokenize(chosen)]
    chain += [RemoveStopWords(stop_words)] if stop_words not in (None, "tags") else []
    chain += [Truncate(max_length) if keep == "first" or max_length is None else KeepLast(max_length)]
    chain += [LearnVocabulary(min_freq, max_size), Encode()]
    chain += [] if labelled is None else [LimitLabelled(labelled)]
    return TextPipeline("naver", tuple(chain), chosen)


def prepare(
    corpus: str | CorpusFiles = "nsmc", *, processes: int | None = None, cache: bool = True, **options: Any
) -> Result:
    """Run :func:`pipeline` with ``options`` on ``nsmc``, ``sample`` or your own files (``locate.given``)."""
    return pipeline(**options).run(corpus, processes=processes, cache=cache)


@dataclass(frozen=True)
class ReadRatings(Step):
    """Read the TSV files, strictly."""

    name = "read-ratings"

    @property
    def rule(self) -> str:
        return (
            "Each file is UTF-8, its first line is `id<TAB>document<TAB>label`, every further line has exactly these "
            "three columns and ends with a line feed; a quotation mark is a character like any other (reading with "
            "quoting on would join rows); the label is 0 (negative) or 1 (positive). Anything else is an error. The "
            "text is not changed."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        files = context.corpus(self.name)
        if "validation" in files.paths:
            remedy = "use own_texts.reading_own_texts(naver.pipeline(...)), which reads one"
            raise InputError(files.path("validation"), "this pipeline makes its own validation split", remedy=remedy)
        splits = {part: read_ratings(files.path(part), rows=files.rows.get(part)) for part in ("train", "test")}
        facts = {
            "survey": {part: survey(split) for part, split in splits.items()},
            "leaks_as_read": leaks(labels_of_copies([splits["train"]], splits["test"]), splits["test"]),
        }
        return data.with_splits(splits), Notes(facts=facts)


def read_ratings(path: Path, *, rows: int | None = None) -> Split:
    """Read one file in the layout of NSMC as a Split. Raises InputError with file, line, reason and remedy for the
    first error: invalid UTF-8, a wrong header, a wrong number of columns, a label that is not 0 or 1, a last line
    without its line feed, or a number of rows other than ``rows`` (if given)."""
    table = read_table(path)
    for number, label in enumerate(table.labels, start=2):
        if label not in LABELS:
            reason = f"label {label[:20]!r}, expected 0 or 1"
            raise InputError(path, reason, line=number, remedy="use 0 for negative, 1 for positive")
    labels = [LABELS[label] for label in table.labels]
    check_count(path, len(labels), rows)
    return Split.of(table.texts, row_id=table.row_ids, label=np.array(labels, np.int8))


def survey(split: Split) -> dict[str, Any]:
    """Counts of an official file before any step."""
    counts = steps.survey(split, width=5)
    doubled = sum('""' in text for text in split.text)
    return {"rows": counts["rows"], "empty": counts["empty"], "doubled_quotes": doubled, **counts}


@dataclass(frozen=True)
class Unquote(Step):
    """Undo the quoting that was applied when the corpus was written and not removed when it was read."""

    name = "unquote"

    @property
    def rule(self) -> str:
        return (
            "Twice: the quotation marks around a text that begins and ends with one are removed, and each doubled "
            "quotation mark inside becomes a single one. The official files were written with CSV quoting twice more "
            "often than they were read with it; this restores the text of the raw crawl (white space runs as single "
            "spaces) for every quoted review of the corpus."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        splits, changed, examples = {}, {}, []
        for name, split in data.splits.items():
            text = split.text.copy()
            rows = [row for row, value in enumerate(text) if value.startswith('"')]
            for row in rows:
                text[row] = unquote(text[row])
            splits[name] = replace(split, text=text)
            differs = [row for row in rows if text[row] != split.text[row]]
            changed[name] = len(differs)
            examples += [(split.text[row], text[row]) for row in differs[:SHOWN]]
        return data.with_splits(splits), Notes(facts={"quotes": changed}, examples=examples[:SHOWN])


def unquote(text: str) -> str:
    """The text before it was quoted twice, as those of the official files that begin with a quotation mark were. Of any
    other text it removes up to two pairs of marks around it, its own included."""
    for _ in range(2):
        inside = text[1:-1]
        # Quoting doubles every mark inside; a single one is part of the text.
        if len(text) < 2 or not text[0] == text[-1] == '"' or '"' in inside.replace('""', ""):
            break
        text = inside.replace('""', '"')
    return text
