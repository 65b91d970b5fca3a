"""The steps from the text of a document to its sentences and their words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from preprocessing.errors import check_choice
from preprocessing.pipeline import card
from preprocessing.pipeline.ragged import Ragged
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Data, Split, object_column
from preprocessing.text.english import PLAIN_RULE, SENTENCES_RULE, plain_text, split_sentences
from preprocessing.text.parallel import tokenize_all
from preprocessing.text.steps import SHOWN, Tokenize

OVERLONG = ("cut", "wrap")
SENTENCES_OF_INTEREST = (5, 10, 15, 20, 30, 40, 60, 80, 100)
WORDS_OF_INTEREST = (20, 30, 40, 50, 60, 80, 100)
_LONGEST_EXAMPLE = 300


@dataclass(frozen=True)
class PlainText(Step[Data]):
    """Remove markup, leaving paragraphs of plain text, one per line."""

    name: ClassVar[str] = "plain-text"
    for_new_rows: ClassVar[bool] = True

    @property
    def rule(self) -> str:
        return PLAIN_RULE

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        splits, changed, examples = {}, {}, []
        for name, split in data.splits.items():
            plain = object_column([plain_text(text) for text in split.prepared])
            splits[name] = replace(split, normalized=plain)
            differs = [row for row, text in enumerate(plain) if text != split.text[row]]
            changed[name] = len(differs)
            examples += [(split.text[row], plain[row].replace("\n", " ¶ ")) for row in differs[:1]]
        return data.with_splits(splits), Notes(facts={"normalized": changed}, examples=_shortened(examples))


@dataclass(frozen=True)
class SplitSentences(Step[Data]):
    """Split paragraphs into sentences, one per line."""

    name: ClassVar[str] = "sentences"
    for_new_rows: ClassVar[bool] = True

    @property
    def rule(self) -> str:
        return SENTENCES_RULE

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        splits = {}
        for name, split in data.splits.items():
            sentences = object_column(["\n".join(split_sentences(text)) for text in split.prepared])
            splits[name] = replace(split, normalized=sentences)
        first, after = (next(iter(each.values())) for each in (data.splits, splits))
        examples = [
            (first.prepared[row].replace("\n", " ¶ "), after.prepared[row].replace("\n", " | "))
            for row in range(min(SHOWN, len(first)))
        ]
        return data.with_splits(splits), Notes(examples=_shortened(examples))


@dataclass(frozen=True)
class TokenizeSentences(Tokenize):
    """Tokenize each sentence of each document."""

    @property
    def rule(self) -> str:
        return f"{self.tokenizer.rule} Sentences without a word are removed; a document may be left without any."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        lines = {name: [text.split("\n") for text in split.prepared] for name, split in data.splits.items()}
        texts = [line for rows in lines.values() for row in rows for line in row]
        fitted = data.tokenizer or self.tokenizer.fit([line for row in lines["train"] for line in row])
        symbols, words = tokenize_all(fitted, texts, context.processes)
        splits, start = {}, 0
        for name, split in data.splits.items():
            sentences = np.fromiter(map(len, lines[name]), np.int64, len(split))
            stop = start + int(sentences.sum())
            splits[name] = _of_sentences(replace(split, symbols=symbols), words.slice(start, stop), sentences)
            start = stop
        facts = {
            "lengths": {name: card.profile(split.tokenized.lengths, width=20) for name, split in splits.items()},
            "sentences_per_document": {n: card.profile(split.sentence_lengths.lengths) for n, split in splits.items()},
            "words_per_sentence": {n: card.profile(split.sentence_lengths.ids) for n, split in splits.items()},
        }
        first = next(iter(splits.values()))
        examples = [
            (first.prepared[row].replace("\n", " | "), " | ".join(map(" ".join, first.sentence_words(row))))
            for row in range(min(SHOWN, len(first)))
        ]
        return replace(data, splits=splits, tokenizer=fitted), Notes(facts=facts, examples=_shortened(examples))


@dataclass(frozen=True)
class LimitSentences(Step[Data]):
    """Limit the words of each sentence and the sentences of each document."""

    name: ClassVar[str] = "limit-sentences"
    for_new_rows: ClassVar[bool] = True
    max_sentences: int | None = None
    max_words: int | None = None
    overlong: str = "cut"

    def __post_init__(self) -> None:
        check_choice("overlong", self.overlong, OVERLONG)

    @property
    def rule(self) -> str:
        rules = []
        if self.max_words is not None and self.overlong == "cut":
            rules += [f"The first {self.max_words} words of each sentence are kept, the others are cut off."]
        if self.max_words is not None and self.overlong == "wrap":
            rules += [
                f"A sentence of more than {self.max_words} words becomes several of {self.max_words} and the rest."
            ]
        if self.max_sentences is not None:
            rules += [f"The first {self.max_sentences} sentences of each document are kept, the others are cut off."]
        return " ".join(rules) or "No sentence and no document is cut."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        tokens = {name: split.tokenized for name, split in data.splits.items()}
        before = {name: split.sentence_lengths for name, split in data.splits.items()}
        words = {name: Ragged.from_lengths(tokens[name].ids, before[name].ids) for name in tokens}
        facts = {
            "word_truncation": _truncation(words, WORDS_OF_INTEREST, self.max_words),
            "sentence_truncation": _truncation(before, SENTENCES_OF_INTEREST, self.max_sentences),
        }
        return data.with_splits({n: self._limited(s, words[n]) for n, s in data.splits.items()}), Notes(facts=facts)

    def _limited(self, split: Split, words: Ragged) -> Split:
        """The split with its limits applied. ``words``: the words of the split, one row per sentence."""
        sentences = split.sentence_lengths
        if self.max_words is not None and self.overlong == "cut":
            words = words.truncated(self.max_words)
            sentences = Ragged(words.lengths.astype(np.int32), sentences.offsets)
        elif self.max_words is not None:
            parts = -(-words.lengths // self.max_words)
            lengths = np.full(int(parts.sum()), self.max_words, np.int64)
            lengths[np.cumsum(parts) - 1] = words.lengths - (parts - 1) * self.max_words
            sentences = Ragged.from_lengths(lengths, Ragged.from_lengths(parts, sentences.lengths).sums())
            words = Ragged.from_lengths(words.ids, lengths)
        if self.max_sentences is not None:
            within = np.arange(len(words)) - np.repeat(sentences.offsets[:-1], sentences.lengths)
            words, sentences = words.take(within < self.max_sentences), sentences.truncated(self.max_sentences)
        return replace(split, tokens=Ragged(words.ids, words.offsets[sentences.offsets]), sentences=sentences)


def _of_sentences(split: Split, words: Ragged, sentences: np.ndarray) -> Split:
    """The split with the words of its sentences. ``words`` has a row for each sentence, ``sentences`` (documents,) is
    the number of sentences of each document; sentences without a word are left out."""
    lengths = Ragged.from_lengths(words.lengths, sentences)
    with_words = Ragged.from_lengths(words.lengths > 0, sentences).sums()
    return replace(
        split,
        tokens=Ragged(words.ids, words.offsets[lengths.offsets]),
        sentences=Ragged.from_lengths(lengths.ids[lengths.ids > 0], with_words),
    )


def _truncation(rows: Mapping[str, Ragged], lengths: tuple[int, ...], own: int | None) -> list[dict[str, Any]]:
    return card.truncation(rows, sorted({*lengths, *([] if own is None else [own])}))


def _shortened(examples: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The beginning of each side of an example: documents are long."""
    return [(_beginning(before), _beginning(after)) for before, after in examples]


def _beginning(text: str) -> str:
    return text if len(text) <= _LONGEST_EXAMPLE else text[:_LONGEST_EXAMPLE] + " …"
