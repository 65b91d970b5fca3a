"""Batches of texts as the classifiers read them.

A *text* is the input of one row: ids (tokens,); ids with the syllables of each token (tokens, 1 + width); or, for a
document, a list of the ids of its sentences. An empty text becomes one unknown token.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gluon_attn.models.fasttext import bags
from gluon_attn.training.batching import length_batches, pad, pad_documents, shuffled_batches
from preprocessing.text.data import Split
from preprocessing.text.syllables import Spelling
from preprocessing.text.vocabulary import PADDING_ID, UNKNOWN_ID

SYLLABLES = "syllables"
"""Name of the syllables in the saved state."""

Text = Any
"""An array, or a list of arrays."""


class TextInputs(ABC):
    """Inputs of one kind of network.

    Attributes:
        batch_size: number of texts in a batch in evaluation.
        max_length: maximum number of tokens of a text; None for no limit.
        spelling: the syllables of tokens, for networks that read them.
    """

    batch_size: ClassVar[int] = 500
    max_length: int | None = None
    spelling: Spelling | None = None

    @property
    def longest_text(self) -> int | None:
        """Maximum number of tokens of a text, before any are added; None for no limit."""
        return self.max_length

    @property
    def learned(self) -> dict[str, bytes]:
        """State learned from the training split in addition to the vocabulary, by name."""
        return {SYLLABLES: self.spelling.state()} if self.spelling else {}

    def texts(self, split: Split) -> Sequence[Text]:
        """The text of each row."""
        return split.sequences()

    @abstractmethod
    def arrays(self, texts: Sequence[Text]) -> tuple[np.ndarray, ...]:
        """The network's arguments for a batch of texts."""

    def training_batches(
        self, texts: Sequence[Text], batch_size: int, generator: np.random.RandomState
    ) -> list[np.ndarray]:
        """The rows of each batch of an epoch: batches of texts of similar length, in random order."""
        return length_batches(np.array([len(text) for text in texts]), batch_size, generator)

    def shortened(self, text: Text) -> Text:
        """A text cut to ``max_length``, with at least one token."""
        return text[: self.max_length] if len(text) else _unknown(text)


@dataclass(frozen=True)
class TokenSequences(TextInputs):
    """Ids padded to a multiple of four, (batch, length, ...), and the length of each text, (batch,)."""

    max_length: int | None = None
    spelling: Spelling | None = None

    def texts(self, split: Split) -> Sequence[Text]:
        return self.spelling.sequences(split) if self.spelling else split.sequences()

    def arrays(self, texts: Sequence[Text]) -> tuple[np.ndarray, ...]:
        texts = [self.shortened(text) for text in texts]
        lengths = np.array([len(text) for text in texts], dtype=np.float32)
        return pad(texts, PADDING_ID, multiple=4), lengths


@dataclass(frozen=True)
class FixedLength(TextInputs):
    """Ids cut and padded to a fixed length, (batch, length). Batches are random, since similar lengths save nothing."""

    max_length: int

    def arrays(self, texts: Sequence[Text]) -> tuple[np.ndarray, ...]:
        return (pad([self.shortened(text) for text in texts], PADDING_ID, multiple=self.max_length),)

    def training_batches(
        self, texts: Sequence[Text], batch_size: int, generator: np.random.RandomState
    ) -> list[np.ndarray]:
        return shuffled_batches(len(texts), batch_size, generator)


@dataclass(frozen=True)
class BagsOfNgrams(TokenSequences):
    """As :class:`TokenSequences`. The tokens of a text are its words and, with ids after the vocabulary, the buckets of
    its n-grams.

    Attributes:
        vocabulary_size: number of words.
        orders: orders of the n-grams.
        buckets: number of buckets.
        max_words: maximum number of words of a text, before n-grams are added; None for no limit. ``max_length`` limits
            words and n-grams together.
    """

    vocabulary_size: int = 0
    orders: tuple[int, ...] = ()
    buckets: int = 1
    max_words: int | None = None

    @property
    def longest_text(self) -> int | None:
        return self.max_words or self.max_length

    def texts(self, split: Split) -> Sequence[Text]:
        words = [ids[: self.max_words] for ids in split.sequences()]
        ngrams = bags(words, self.orders, self.buckets, first=self.vocabulary_size)
        return [np.concatenate(pair) for pair in zip(words, ngrams, strict=True)]


@dataclass(frozen=True)
class SequencesWithBags(TokenSequences):
    """Ids as in :class:`TokenSequences`; the bag of words and n-grams of each text, (batch, words and n-grams), and its
    number of entries, (batch,); and the length of each text, (batch,).

    The rows of a text have one more column for each order: the n-gram that begins with this token, as a bucket of
    :class:`BagsOfNgrams`, or padding if the text ends before the n-gram does.

    Attributes:
        vocabulary_size, orders, buckets: as in :class:`BagsOfNgrams`.
    """

    vocabulary_size: int = 0
    orders: tuple[int, ...] = (2,)
    buckets: int = 1

    def texts(self, split: Split) -> Sequence[Text]:
        tokens = [ids.reshape(len(ids), -1) for ids in super().texts(split)]
        words = [ids[:, 0] for ids in tokens]
        ngrams = [bags(words, (order,), self.buckets, first=self.vocabulary_size) for order in self.orders]
        columns = [[_column(row, len(ids)) for row, ids in zip(rows, words, strict=True)] for rows in ngrams]
        return [np.column_stack(row) for row in zip(tokens, *columns, strict=True)]

    def arrays(self, texts: Sequence[Text]) -> tuple[np.ndarray, ...]:
        rows, lengths = super().arrays(texts)
        ids, ngrams = np.split(rows, [-len(self.orders)], axis=2)
        bag = [
            np.concatenate([words[: int(length)], following[following != PADDING_ID]])
            for words, following, length in zip(ids[..., 0], ngrams, lengths, strict=True)
        ]
        entries = np.array([len(row) for row in bag], dtype=np.float32)
        return ids if self.spelling else ids[..., 0], pad(bag, PADDING_ID, multiple=4), entries, lengths


class Documents(TextInputs):
    """Ids (documents, sentences, words), number of sentences of each document, and number of words of each sentence."""

    batch_size = 100

    def texts(self, split: Split) -> Sequence[Text]:
        rows = zip(split.sequences(), (split.sentence_ranges(row) for row in range(len(split))), strict=True)
        return [[ids[start:stop] for start, stop in ranges] for ids, ranges in rows]

    def arrays(self, texts: Sequence[Text]) -> tuple[np.ndarray, ...]:
        return pad_documents([text or [_unknown(np.empty(0, np.int32))] for text in texts], PADDING_ID)


def _unknown(ids: np.ndarray) -> np.ndarray:
    """One unknown token; without syllables, if tokens have syllables."""
    token = np.full((1, *ids.shape[1:]), PADDING_ID, np.int32)
    token.reshape(-1)[0] = UNKNOWN_ID
    return token


def _column(values: np.ndarray, length: int) -> np.ndarray:
    """The values and then padding, (length,) of int32."""
    column = np.full(length, PADDING_ID, np.int32)
    column[: len(values)] = values
    return column


def drop_tokens(texts: Sequence[Text], rate: float, generator: np.random.RandomState) -> Sequence[Text]:
    """Replace each token by the unknown token with probability ``rate``, so that unknown words occur in training. In a
    bag of n-grams, each n-gram is replaced on its own, and those that contain a replaced word stay. If tokens have
    syllables or n-grams, half of the replaced tokens lose these too."""
    if rate == 0:
        return texts
    dropped: list[Text] = []
    for ids in texts:
        if isinstance(ids, list):
            dropped.append(list(drop_tokens(ids, rate, generator)))
            continue
        if not len(ids):  # cleaning or stop words may leave nothing of a text
            dropped.append(ids)
            continue
        draw = generator.uniform(size=len(ids))
        remaining = ids.copy()
        columns = remaining.reshape(len(ids), -1)
        columns[draw < rate, 0] = UNKNOWN_ID
        columns[draw < rate / 2, 1:] = PADDING_ID
        dropped.append(remaining)
    return dropped
