"""The sentiment lexicon counted by hand, and agreement of neighbouring words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from preprocessing.pipeline.ragged import Ragged
from preprocessing.text.data import Split
from reproductions.tasks.word_vectors.sentiment_lexicon import SentimentLexicon, agreement, for_test

NEIGHBOURS = 10


def reviews(rows: list[list[int]], label: list[int]) -> Split:
    return replace(Split.of([""] * len(rows), label=np.array(label, np.int8)), encoded=Ragged.from_rows(rows))


def test_log_odds_by_hand() -> None:
    """A word counts once per review; a review without label does not count."""
    split = reviews([[1, 1, 2], [1], [2], [0, 2], [1, 2, 3]], [1, 1, 1, 0, -1])
    lexicon = SentimentLexicon.of(split, 5)
    assert lexicon.reviews.tolist() == [1, 2, 3, 0, 0]
    base = np.log(3.5 / 1.5)
    np.testing.assert_allclose(lexicon.log_odds, np.log([0.5 / 1.5, 2.5 / 0.5, 2.5 / 1.5, 1, 1]) - base)
    np.testing.assert_allclose(lexicon.standard_error[1:3] ** 2, [1 / 2.5 + 1 / 0.5, 1 / 2.5 + 1 / 1.5])


def test_clear_words_are_strong_and_significant() -> None:
    lexicon = SentimentLexicon(np.zeros(5), np.array([0.9, -1.1, 1.1, -4.0, 4.0]), np.array([0.1, 0.3, 0.4, 1.0, 2.0]))
    assert lexicon.clear(3.0).tolist() == [1, 3]
    assert lexicon.clear(1.0).tolist() == [1, 2, 3, 4]


def test_agreement_counts_nearest_words_of_the_same_sign() -> None:
    """Two clusters of directions: in one all words but one are positive, in the other all are negative."""
    words = 2 * (NEIGHBOURS + 2)
    angle = np.where(np.arange(words) % 2, 2.0, 0.0) + np.linspace(0, 0.1, words)
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    log_odds = np.where(np.arange(words) % 2, -1.0, 1.0)
    log_odds[4] = -1.0
    lexicon = SentimentLexicon(np.ones(words), log_odds, np.ones(words))
    result = agreement(vectors, lexicon, np.array([1, 2, 4]), np.arange(words), NEIGHBOURS)
    # A word is not its own neighbour, so a cluster has one more than are counted.
    assert result.share.tolist() == [100.0, 90.0, 0.0]
    same_sign = np.array([words / 2, words / 2 - 2, words / 2])  # Of the words with its sign, all but itself.
    np.testing.assert_allclose(result.chance, 100 * same_sign / (words - 1))


def test_queries_need_not_be_candidates() -> None:
    vectors = np.array([[1, 0], [1, 0.1], [0, 1], [1, 0.05]], np.float32)
    lexicon = SentimentLexicon(np.ones(4), np.array([1.0, 1.0, -1.0, 1.0]), np.ones(4))
    result = agreement(vectors, lexicon, np.array([3]), np.array([0, 1, 2]), NEIGHBOURS)
    assert result.share.tolist() == [100.0], "the two nearest of three candidates"
    assert result.chance.tolist() == [pytest.approx(200 / 3)]


def test_the_split_of_a_word_depends_on_no_other_word() -> None:
    words = [f"낱말{number}" for number in range(1_000)]
    chosen = for_test(words)
    assert 440 < chosen.sum() < 560
    np.testing.assert_array_equal(for_test(words[::-1]), chosen[::-1])
