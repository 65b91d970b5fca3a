"""The sentiment lexicon counted by hand, and whether the neighbours of a word agree with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from preprocessing.pipeline.ragged import Ragged
from preprocessing.text.data import Split
from reproductions.tasks.sentiment_lexicon import SentimentLexicon, agreement, for_test

NEIGHBOURS = 10


def reviews(rows: list[list[int]], label: list[int]) -> Split:
    return replace(Split.of([""] * len(rows), label=np.array(label, np.int8)), encoded=Ragged.from_rows(rows))


def test_log_odds_by_hand() -> None:
    """A word counts once in a review; a review without label does not count."""
    split = reviews([[1, 1, 2], [1], [2], [0, 2], [1, 2, 3]], [1, 1, 1, 0, -1])
    found = SentimentLexicon.of(split, 5)
    assert found.reviews.tolist() == [1, 2, 3, 0, 0]
    base = np.log(3.5 / 1.5)
    np.testing.assert_allclose(found.log_odds, np.log([0.5 / 1.5, 2.5 / 0.5, 2.5 / 1.5, 1, 1]) - base)
    np.testing.assert_allclose(found.standard_error[1:3] ** 2, [1 / 2.5 + 1 / 0.5, 1 / 2.5 + 1 / 1.5])


def test_clear_is_strong_and_sure() -> None:
    found = SentimentLexicon(np.zeros(5), np.array([0.9, -1.1, 1.1, -4.0, 4.0]), np.array([0.1, 0.3, 0.4, 1.0, 2.0]))
    assert found.clear(3.0).tolist() == [1, 3]
    assert found.clear(1.0).tolist() == [1, 2, 3, 4]


def test_agreement_counts_the_nearest_of_the_same_sign() -> None:
    """Two bundles of directions: in one all words but one are positive, in the other all are negative."""
    words = 2 * (NEIGHBOURS + 2)
    angle = np.where(np.arange(words) % 2, 2.0, 0.0) + np.linspace(0, 0.1, words)
    vectors = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    log_odds = np.where(np.arange(words) % 2, -1.0, 1.0)
    log_odds[4] = -1.0
    lexicon = SentimentLexicon(np.ones(words), log_odds, np.ones(words))
    found = agreement(vectors, lexicon, np.array([1, 2, 4]), np.arange(words), NEIGHBOURS)
    # A word is not its own neighbour, so a bundle has one more than are counted.
    assert found.share.tolist() == [100.0, 90.0, 0.0]
    alike = np.array([words / 2, words / 2 - 2, words / 2])  # of the words with its sign all but itself
    np.testing.assert_allclose(found.chance, 100 * alike / (words - 1))


def test_words_that_are_no_candidates_can_be_queries() -> None:
    vectors = np.array([[1, 0], [1, 0.1], [0, 1], [1, 0.05]], np.float32)
    lexicon = SentimentLexicon(np.ones(4), np.array([1.0, 1.0, -1.0, 1.0]), np.ones(4))
    found = agreement(vectors, lexicon, np.array([3]), np.array([0, 1, 2]), NEIGHBOURS)
    assert found.share.tolist() == [100.0], "the two nearest of three candidates"
    assert found.chance.tolist() == [pytest.approx(200 / 3)]


def test_whether_a_word_is_for_test_depends_on_no_other_word() -> None:
    words = [f"낱말{number}" for number in range(1_000)]
    chosen = for_test(words)
    assert 440 < chosen.sum() < 560
    np.testing.assert_array_equal(for_test(words[::-1]), chosen[::-1])
