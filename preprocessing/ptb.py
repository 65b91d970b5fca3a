"""Text for language modelling in Mikolov's layout of the Penn Treebank: from files to one stream of ids per split.

    from preprocessing import ptb
    result = ptb.prepare("ptb")
    result.train.ids, result.train.offsets      # the stream, <eos> where a line ends, and where each line begins
    result.vocabulary[ptb.END_OF_LINE]          # comes before the first word, so that the first word is predicted too

The steps, in order: read-lines, (hold-out), tokenize, vocabulary, encode. Unlike the other vocabularies here, this one
has no padding token: 1 is the id of a word, and padded batches need a mask.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from preprocessing.corpora import CorpusFiles, given
from preprocessing.corpora.reading import check_count, check_text, read_lines
from preprocessing.errors import InputError, check_positive
from preprocessing.pipeline.step import SPLITS, Context, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import Encode, LearnVocabulary, Tokenize
from preprocessing.text.tokenizers.tokenizer import Tokenizer
from preprocessing.text.vocabulary import END as END_OF_LINE, STREAM_SPECIALS, UNKNOWN
from preprocessing.text.writing import write as write

OWN_LINES = "own lines"
"""Corpus name of the user's own text."""

_LONGEST = 100_000  # characters of a line in your own files


def pipeline(*, min_freq: int = 1, max_size: int | None = None) -> TextPipeline:
    """The pipeline for PTB and files in its layout.

    ``min_freq`` and ``max_size``: limits of the vocabulary, which is learned on the training split; ``<unk>`` is not
    counted, ``<eos>`` is. By default, every word of the training split has an id: 10 000 in PTB, including these two.
    Raises ParameterError for an invalid value.
    """
    check_positive(min_freq=min_freq, max_size=max_size)
    words = WordsAndLineEnds()
    steps = (ReadLines(), Tokenize(words), LearnStreamVocabulary(min_freq, max_size), Encode())
    return TextPipeline("ptb", steps, words, STREAM_SPECIALS, "sample ptb")


def prepare(
    corpus: str | CorpusFiles = "ptb", *, processes: int | None = None, cache: bool = True, **options: Any
) -> Result:
    """Run :func:`pipeline` with ``options`` on ``ptb``, ``sample`` or your own files (``locate.given``)."""
    return pipeline(**options).run(corpus, processes=processes, cache=cache)


@dataclass(frozen=True)
class ReadLines(Step[Data]):
    """Read the files of the three splits, strictly."""

    name: ClassVar[str] = "read-lines"

    @property
    def rule(self) -> str:
        return (
            "Each line is a sentence, words between spaces, in UTF-8, and ends with a line feed; a line without words "
            f"is kept. The word {END_OF_LINE} is an error: it marks the ends of lines. {UNKNOWN} and N, which the "
            "corpus has for rare words and for numbers, are not changed."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        files = context.corpus(self.name)
        parts = [part for part in SPLITS if part != "validation" or part in files.paths]
        splits = {part: read_text(files.path(part), rows=files.rows.get(part)) for part in parts}
        if files.origin == "given":
            for part, split in splits.items():
                for line, text in enumerate(split.text, start=1):
                    check_text(files.path(part), text, line=line, longest=_LONGEST)
        facts = {"lines": {name: _survey(split) for name, split in splits.items()}}
        return data.with_splits(splits), Notes(facts=facts)


def own_lines(train: Path, test: Path, validation: Path | None = None, licence: str = "not stated") -> CorpusFiles:
    """Your own text, one sentence per line with spaces between words, as a corpus. Raises InputError for a missing
    file."""
    paths = {"train": train, **({"validation": validation} if validation else {}), "test": test}
    return given(OWN_LINES, paths, licence)


def reading_own_lines(pipeline: TextPipeline) -> TextPipeline:
    """The pipeline adapted to :func:`own_lines`, which may have no validation file."""
    reading, *others = pipeline.steps
    return replace(pipeline, steps=(reading, HoldOutLines(), *others))


@dataclass(frozen=True)
class HoldOutLines(Step[Data]):
    """Hold out the last lines of train if no validation file is given."""

    name: ClassVar[str] = "hold-out"
    one_in: int = 10

    @property
    def rule(self) -> str:
        return (
            f"Only where there is no validation file: the last lines of train go to validation, one in {self.one_in} "
            "of all (rounded up), so that both splits are connected text."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        if "validation" in data.splits:
            return data, Notes()
        train = data.splits["train"]
        last = len(train) - -(-len(train) // self.one_in)
        if not last:
            raise InputError("train", "one line is too little to hold out another", remedy="give more lines")
        rows = np.arange(len(train))
        splits = {**data.splits, "train": train.take(rows[:last]), "validation": train.take(rows[last:])}
        return data.with_splits(splits), Notes()


def read_text(path: Path, *, rows: int | None = None) -> Split:
    """Read one file as a Split of its lines; row ids are line numbers. Raises InputError with file, line, reason and
    remedy for an error of :func:`preprocessing.corpora.reading.read_lines`, the word ``<eos>``, or a number of lines
    other than ``rows`` (if given)."""
    lines = read_lines(path)
    for number, line in enumerate(lines, start=1):
        if END_OF_LINE in line.split():
            reason = f"contains the word {END_OF_LINE}, which marks the ends of lines"
            raise InputError(path, reason, line=number, remedy="remove it: the end of the line is added")
    check_count(path, len(lines), rows, "lines")
    return Split.of(lines, row_id=[str(number) for number in range(1, len(lines) + 1)])


def _survey(split: Split) -> dict[str, Any]:
    lines = [line.split() for line in split.text]
    words = sum(map(len, lines))
    return {
        "lines": len(lines),
        "without_words": lines.count([]),
        "words": words,
        "words_and_line_ends": words + len(lines),
        "unknown_as_it_stands": sum(line.count(UNKNOWN) for line in lines),
        "types": len({word for line in lines for word in line}),
    }


class WordsAndLineEnds(Tokenizer):
    """Tokenizer that returns the words of a line and a token for its end."""

    name = "words-and-line-ends"
    rule = f"Tokens are the pieces between white space (Unicode), and {END_OF_LINE} at the end of each line."

    def tokenize(self, text: str) -> list[str]:
        return [*text.split(), END_OF_LINE]


@dataclass(frozen=True)
class LearnStreamVocabulary(LearnVocabulary):
    """Learn a vocabulary without padding."""

    specials: ClassVar[tuple[str, ...]] = STREAM_SPECIALS

    @property
    def rule(self) -> str:
        limit = "" if self.max_size is None else f", at most {self.max_size} of them"
        return (
            f"Tokens that occur at least {self.min_freq} times in the training split{limit}, by descending frequency, "
            f"ties by the token (code points), after {UNKNOWN}, which is 0: both the word {UNKNOWN} of the text and "
            f"any word that is not in the vocabulary. {END_OF_LINE} is a token like any other; there is no padding."
        )
