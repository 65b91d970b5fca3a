"""A sentiment lexicon estimated from ratings (smoothed log odds), and whether neighbouring words share a sentiment."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from gluon_attn.evaluation.word_vectors import nearest
from preprocessing.text.data import Split

_STRONG = 1.0


@dataclass(frozen=True)
class SentimentLexicon:
    """The sentiment of each word of a vocabulary.

    Attributes:
        reviews: (words,), number of labelled reviews in which the word occurs.
        log_odds: (words,), log odds that a review with the word is positive, minus those of all reviews; 0.5 is added
            to the positive and to the negative count.
        standard_error: (words,), standard error of ``log_odds``.
    """

    reviews: np.ndarray
    log_odds: np.ndarray
    standard_error: np.ndarray

    @classmethod
    def of(cls, split: Split, words: int) -> SentimentLexicon:
        """Estimate the lexicon from the labelled reviews of a split; ``words`` is the size of the vocabulary."""
        review = np.repeat(np.arange(len(split)), split.lengths)
        labelled = split.label[review] >= 0
        # A word counts once in a review, however often it is repeated there.
        once = np.unique(review[labelled].astype(np.int64) * words + split.ids[labelled])
        word, of_positive = once % words, split.label[once // words] == 1
        positive, negative = (np.bincount(word[chosen], minlength=words) for chosen in (of_positive, ~of_positive))
        all_positive, all_negative = (int((split.label == label).sum()) for label in (1, 0))
        log_odds = np.log((positive + 0.5) / (negative + 0.5)) - np.log((all_positive + 0.5) / (all_negative + 0.5))
        return cls(positive + negative, log_odds, np.sqrt(1 / (positive + 0.5) + 1 / (negative + 0.5)))

    def of_words(self, ids: np.ndarray) -> SentimentLexicon:
        """The lexicon of another vocabulary, given the ids of its words in this one (words,). A word with id -1 is not
        in this vocabulary and occurs in no review."""
        known = ids >= 0
        return SentimentLexicon(
            np.where(known, self.reviews[ids], 0),
            np.where(known, self.log_odds[ids], 0.0),
            np.where(known, self.standard_error[ids], np.inf),
        )

    def clear(self, errors: float) -> np.ndarray:
        """Ids, ascending, of the words with a clear sentiment: absolute log odds of at least 1, and of at least this
        many standard errors."""
        strength = np.abs(self.log_odds)
        return np.flatnonzero((strength >= _STRONG) & (strength >= errors * self.standard_error))


@dataclass(frozen=True)
class Agreement:
    """For each query word, in per cent: the share of its neighbours with the same sign of sentiment (words,), and the
    share of all candidates with it (words,), which is the expectation for random neighbours."""

    share: np.ndarray
    chance: np.ndarray


def agreement(
    vectors: np.ndarray, lexicon: SentimentLexicon, queries: np.ndarray, candidates: np.ndarray, neighbours: int
) -> Agreement:
    """How many of the nearest neighbours of a word share its sentiment.

    Args:
        vectors: (words, units).
        lexicon: lexicon of these words.
        queries: (queries,), ids of the query words.
        candidates: ids, ascending, of the words that may be neighbours: those frequent enough for a reliable sign.
        neighbours: number of nearest neighbours.
    """
    positive = lexicon.log_odds > 0
    count = min(neighbours, len(candidates) - 1)
    nearest_ids, _ = nearest(vectors, queries, count, candidates)
    same = positive[nearest_ids] == positive[queries][:, None]
    own = np.isin(queries, candidates)
    of_its_sign = np.bincount(positive[candidates], minlength=2)[positive[queries].astype(int)] - own
    return Agreement(100.0 * same.mean(axis=1), 100.0 * of_its_sign / (len(candidates) - own))


def for_test(words: list[str]) -> np.ndarray:
    """Which words (words,) are test queries; the others are validation queries. About half of the words, by the first
    digit of their SHA-256."""
    return np.array([hashlib.sha256(word.encode("utf-8")).digest()[0] < 128 for word in words], np.bool_)
