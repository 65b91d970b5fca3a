"""The steps that any text corpus can use. Each is pure, named and versioned, and states its rule in words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from preprocessing.errors import InputError, ParameterError
from preprocessing.pipeline import card
from preprocessing.pipeline.step import Context, Dropped, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.parallel import tokenize_all
from preprocessing.text.tokenizers.tokenizer import Tokenizer
from preprocessing.text.vocabulary import SPECIALS, UNKNOWN_ID, Vocabulary

SHOWN = 3
MOST_FREQUENT = 20
LENGTHS_OF_INTEREST = (10, 20, 30, 40, 50, 60, 80, 100)


@dataclass(frozen=True)
class DropEmpty(Step[Data]):
    """Leave out rows without text."""

    name = "drop-empty"

    @property
    def rule(self) -> str:
        return "Rows whose text is empty or only white space are left out of every split."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        splits, dropped = {}, []
        for name, split in data.splits.items():
            blank = np.array([not text.strip() for text in split.prepared], np.bool_)
            splits[name] = split.take(~blank)
            if rows := int(blank.sum()):
                dropped.append(Dropped(name, "empty text", rows, split.row_id[blank][:SHOWN].tolist()))
        return data.with_splits(splits), Notes(dropped=dropped)


@dataclass(frozen=True)
class SplitByHash(Step[Data]):
    """Split validation rows off the training rows."""

    name = "split-by-hash"
    one_in: int = 10

    @property
    def rule(self) -> str:
        return (
            "A row of the official train file goes to validation when the first 8 hexadecimal digits of the SHA-256 "
            f"of its text (UTF-8), read as a number, are divisible by {self.one_in}; otherwise it stays in train. The "
            "choice depends on the text alone: all copies of a text are in the same split, and neither row order "
            "nor a seed matters. Test is not changed."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        chosen = hash_numbers(train.text) % self.one_in == 0
        splits = {**data.splits, "train": train.take(~chosen), "validation": train.take(chosen)}
        warnings = [
            f"too few rows ({len(train)}) to hold out one in {self.one_in}: none is left for {name}"
            for name in ("train", "validation")
            if not len(splits[name])
        ]
        return data.with_splits(splits), Notes(warnings=warnings)


def hash_numbers(texts: Iterable[str], *, first_digit: int = 0) -> np.ndarray:
    """Eight hexadecimal digits of the SHA-256 of each text (UTF-8), from ``first_digit`` (even) on, as numbers
    (texts,) int64."""
    start = first_digit // 2
    digests = b"".join(hashlib.sha256(text.encode("utf-8")).digest()[start : start + 4] for text in texts)
    return np.frombuffer(digests, ">u4").astype(np.int64)


@dataclass(frozen=True)
class MarkLeaks(Step[Data]):
    """Mark the test rows whose text occurs in the train file."""

    name = "mark-leaks"

    @property
    def rule(self) -> str:
        return (
            "A test row is marked seen_in_train when its text occurs verbatim in the official train file (train or "
            "validation). Nothing is dropped: accuracies can be reported with and without the marked rows."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        has_own_validation = context.files is not None and "validation" in context.files.paths
        of_train = ("train",) if has_own_validation else ("train", "validation")
        sources = [data.splits[name] for name in of_train if name in data.splits]
        test = data.splits["test"]
        copies = labels_of_copies(sources, test)
        seen = np.array([text in copies for text in test.text], np.bool_)
        splits = {**data.splits, "test": replace(test, seen_in_train=seen)}
        return data.with_splits(splits), Notes(facts={"leaks": leaks(copies, test)})


def survey(split: Split, *, width: int) -> dict[str, Any]:
    """Counts of a file before any step; ``width`` is the bin width of the histogram of characters."""
    texts = split.text.tolist()
    labels: dict[str, int] = {}
    several = set()
    for text, label in zip(texts, split.label.tolist(), strict=True):
        if labels.setdefault(text, label) != label:
            several.add(text)
    return {
        "rows": len(split),
        "empty": texts.count(""),
        "distinct_texts": len(labels),
        "duplicate_rows": len(split) - len(labels),
        "texts_with_both_labels": len(several),
        **label_balance(split.label),
        "characters": card.profile(np.fromiter(map(len, texts), np.int64, len(texts)), width=width),
    }


def label_balance(label: np.ndarray) -> dict[str, Any]:
    """Number of rows with each label (-1 means no label), and the fraction of rows with label 1."""
    labels = card.label_counts(label)
    return {"labels": labels, "rate_of_label_1": card.rate(labels.get("1", 0), len(label))}


def labels_of_copies(sources: Sequence[Split], test: Split) -> dict[str, list[int]]:
    """For each test text that occurs in the sources: the labels of its copies there, in order."""
    wanted = set(test.text)
    labels: dict[str, list[int]] = {}
    for split in sources:
        for text, label in zip(split.text, split.label.tolist(), strict=True):
            if text in wanted:
                labels.setdefault(text, []).append(label)
    return labels


def leaks(copies: Mapping[str, list[int]], test: Split) -> dict[str, Any]:
    """How many test rows have a copy in training, and how often the labels agree.

    Copies of one text may have different labels, hence three counts: the label of the last copy agrees, that of at
    least one, that of all.
    """
    copied = [(copies[text], own) for text, own in zip(test.text, test.label.tolist(), strict=True) if text in copies]
    return {
        "rows": len(copied),
        "of_test": card.rate(len(copied), len(test)),
        "empty": sum(not text for text in test.text if text in copies),
        "label_of_last_copy_agrees": sum(labels[-1] == own for labels, own in copied),
        "label_of_a_copy_agrees": sum(own in labels for labels, own in copied),
        "label_of_all_copies_agrees": sum(all(label == own for label in labels) for labels, own in copied),
    }


@dataclass(frozen=True)
class Tokenize(Step[Data]):
    """Tokenize each text."""

    name = "tokenize"
    for_new_rows = True
    tokenizer: Tokenizer

    @property
    def rule(self) -> str:
        return self.tokenizer.rule

    def parameters(self) -> dict[str, Any]:
        return self.tokenizer.described()

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        fitted = data.tokenizer or self.tokenizer.fit(data.splits["train"].prepared.tolist())
        texts = [text for split in data.splits.values() for text in split.prepared]
        symbols, rows = tokenize_all(fitted, texts, context.processes)
        splits, start = {}, 0
        for name, split in data.splits.items():
            splits[name] = replace(split, symbols=symbols, tokens=rows.slice(start, start + len(split)))
            start += len(split)
        lengths = {name: card.profile(split.tokenized.lengths) for name, split in splits.items()}
        first = next(iter(splits.values()))
        examples = [(first.prepared[row], " ".join(first.words(row))) for row in range(min(SHOWN, len(first)))]
        return replace(data, splits=splits, tokenizer=fitted), Notes(facts={"lengths": lengths}, examples=examples)


@dataclass(frozen=True)
class Truncate(Step[Data]):
    """Limit the length of each row."""

    name = "truncate"
    for_new_rows = True
    keeps = "first"
    max_length: int | None = None

    @property
    def rule(self) -> str:
        if self.max_length is None:
            return "No row is cut."
        return f"The first {self.max_length} tokens of each row are kept, the others are cut off."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        rows = {name: split.tokenized for name, split in data.splits.items()}
        own = [] if self.max_length is None else [self.max_length]
        table = card.truncation(rows, sorted({*LENGTHS_OF_INTEREST, *own}))
        if self.max_length is None:
            return data, Notes(facts={"truncation": table})
        splits = {
            name: replace(split, tokens=rows[name].truncated(self.max_length)) for name, split in data.splits.items()
        }
        return data.with_splits(splits), Notes(facts={"truncation": table})


@dataclass(frozen=True)
class LearnVocabulary(Step[Data]):
    """Learn the vocabulary."""

    name = "vocabulary"
    specials: ClassVar[tuple[str, ...]] = SPECIALS
    min_freq: int = 1
    max_size: int | None = None

    @property
    def rule(self) -> str:
        limit = "" if self.max_size is None else f", at most {self.max_size} of them"
        ids = ", ".join(f"{special} is {index}" for index, special in enumerate(self.specials))
        return (
            f"Tokens that occur at least {self.min_freq} times in the training split{limit}, by "
            f"descending frequency, ties by the token (code points); {ids}. A token spelled like "
            f"{' or '.join(self.specials)} counts as unknown."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        counts = train.tokenized.counts(len(train.symbols))
        vocabulary = self.learn(train.symbols, counts)
        return replace(data, vocabulary=vocabulary), Notes(facts={"vocabulary": self.facts(vocabulary, train)})

    def learn(self, symbols: Sequence[str], counts: np.ndarray) -> Vocabulary:
        """The vocabulary of the tokens that occur often enough. Raises InputError if no token does."""
        if not counts.any():
            raise InputError("train", "no tokens are left", remedy="check the texts, and which of them steps leave out")
        vocabulary = Vocabulary.learn(
            symbols, counts, min_freq=self.min_freq, max_size=self.max_size, specials=self.specials
        )
        if not vocabulary.learned and self.min_freq > 1:
            reason = f"no token of train occurs so often, the most frequent one {counts.max()} times"
            raise ParameterError("min_freq", self.min_freq, reason, remedy="choose less")
        return vocabulary

    def facts(self, vocabulary: Vocabulary, train: Split) -> dict[str, Any]:
        """What a card states about a vocabulary and the text that it is learned on."""
        return self.facts_of_counts(vocabulary, train.symbols, train.tokenized.counts(len(train.symbols)))

    def facts_of_counts(self, vocabulary: Vocabulary, symbols: Sequence[str], counts: np.ndarray) -> dict[str, Any]:
        """:meth:`facts` from the tokens of train and the count of each."""
        frequency = dict(zip(symbols, counts.tolist(), strict=True))
        learned = vocabulary.learned
        kept_tokens, all_tokens = sum(frequency.get(token, 0) for token in learned), int(counts.sum())
        return {
            "size": len(vocabulary),
            "specials": list(self.specials),
            "min_freq": self.min_freq,
            "max_size": self.max_size,
            "types_in_train": int((counts > 0).sum()),
            "types_kept": sum(token in frequency for token in learned),
            "tokens_in_train": all_tokens,
            "rate_of_train_tokens_kept": card.rate(kept_tokens, all_tokens),
            "most_frequent": [[token, frequency.get(token, 0)] for token in learned[:MOST_FREQUENT]],
        }


@dataclass(frozen=True)
class Encode(Step[Data]):
    """Replace tokens by ids."""

    name = "encode"
    for_new_rows = True

    @property
    def rule(self) -> str:
        index = f"Each token is replaced by its index in the vocabulary, by {UNKNOWN_ID} when it is not in it."
        return f"{index} No begin or end token is added."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        if data.vocabulary is None:
            raise InputError("step encode", "there is no vocabulary yet", remedy="put a vocabulary step before it")
        symbols = next(iter(data.splits.values())).symbols
        table = data.vocabulary.indices(symbols)
        splits = {name: replace(split, encoded=split.tokenized.mapped(table)) for name, split in data.splits.items()}
        return data.with_splits(splits), Notes(facts={"unknown": {name: _unknown(splits[name]) for name in splits}})


def _unknown(split: Split) -> dict[str, Any]:
    missed = np.flatnonzero(split.ids == UNKNOWN_ID)
    rows_with = len(np.unique(np.searchsorted(split.offsets, missed, side="right")))
    counts = np.bincount(split.tokenized.ids[missed])
    return unknown_facts(split.symbols, counts, tokens=len(split.ids), rows=len(split), rows_with_unknown=rows_with)


def unknown_facts(
    symbols: Sequence[str], counts: np.ndarray, *, tokens: int, rows: int, rows_with_unknown: int
) -> dict[str, Any]:
    """What a card states about the unknown tokens of a split; ``counts``: how often each symbol occurs as an unknown
    token, (len(symbols),) or only the first of them."""
    types = np.flatnonzero(counts).tolist()
    types.sort(key=lambda symbol: (-counts[symbol], symbols[symbol]))
    return {
        "tokens": tokens,
        "unknown": int(counts.sum()),
        "rate": card.rate(int(counts.sum()), tokens),
        "rows_with_unknown": rows_with_unknown,
        "rate_of_rows": card.rate(rows_with_unknown, rows),
        "types": len(types),
        "most_frequent": [[symbols[symbol], int(counts[symbol])] for symbol in types[:MOST_FREQUENT]],
    }
