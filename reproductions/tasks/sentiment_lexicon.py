"""Which words speak for a film and which against it, counted from ratings: a thing that near words should share, and
that the training of word vectors has never seen."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from gluon_attn.evaluation.word_vectors import nearest
from preprocessing.text.data import Split
from reproductions.tasks.neighbours import NEIGHBOURS

_CLEAR = 1.0


@dataclass(frozen=True)
class Polarity:
    """How words stand to labels.

    Attributes:
        reviews: (words,) labelled reviews in which each word stands.
        log_odds: (words,) ln of how much more often a review with the word is positive than negative, than any review
            is; half a review is added to either side.
        error: (words,) its standard error.
    """

    reviews: np.ndarray
    log_odds: np.ndarray
    error: np.ndarray

    @classmethod
    def of(cls, split: Split, words: int) -> Polarity:
        """Counted from the labelled reviews of a split; ``words``: size of the vocabulary."""
        review = np.repeat(np.arange(len(split)), split.lengths)
        labelled = split.label[review] >= 0
        # A word counts once in a review, however often it is repeated there.
        once = np.unique(review[labelled].astype(np.int64) * words + split.ids[labelled])
        word, of_positive = once % words, split.label[once // words] == 1
        positive, negative = (np.bincount(word[chosen], minlength=words) for chosen in (of_positive, ~of_positive))
        all_positive, all_negative = (int((split.label == label).sum()) for label in (1, 0))
        log_odds = np.log((positive + 0.5) / (negative + 0.5)) - np.log((all_positive + 0.5) / (all_negative + 0.5))
        return cls(positive + negative, log_odds, np.sqrt(1 / (positive + 0.5) + 1 / (negative + 0.5)))

    def clear(self, errors: float) -> np.ndarray:
        """Ids, ascending, of the words that clearly speak for or against: log odds of at least 1 either way, and of at
        least so many standard errors."""
        strength = np.abs(self.log_odds)
        return np.flatnonzero((strength >= _CLEAR) & (strength >= errors * self.error))


@dataclass(frozen=True)
class Agreement:
    """For some words, in per cent: how many of their neighbours are of the same sign (words,), and how many of all
    candidates are, which is what neighbours drawn at random would give (words,)."""

    share: np.ndarray
    chance: np.ndarray


def agreement(vectors: np.ndarray, polarity: Polarity, asked: np.ndarray, candidates: np.ndarray) -> Agreement:
    """Whether the ten nearest candidates of a word speak for or against as it does.

    Args:
        vectors: (words, units).
        polarity: of these words.
        asked: ids (words asked for,).
        candidates: ids, ascending, of the words to choose from, so frequent that their sign means something.
    """
    positive = polarity.log_odds > 0
    count = min(NEIGHBOURS, len(candidates) - 1)
    found, _ = nearest(vectors, asked, count, candidates)
    same = positive[found] == positive[asked][:, None]
    own = np.isin(asked, candidates)
    of_its_sign = np.bincount(positive[candidates], minlength=2)[positive[asked].astype(int)] - own
    return Agreement(100.0 * same.mean(axis=1), 100.0 * of_its_sign / (len(candidates) - own))


def for_test(words: list[str]) -> np.ndarray:
    """Which words are asked for on test (words,), the others on validation: about half, by the first digit of their
    SHA-256."""
    return np.array([hashlib.sha256(word.encode("utf-8")).digest()[0] < 128 for word in words], np.bool_)
