"""The rule that finds the nouns of articles."""

from __future__ import annotations

import numpy as np
import pytest

from reproductions.tasks.translation.article_nouns import article_nouns, noun_of_article


@pytest.mark.parametrize(
    ("sentence", "pairs"),
    [
        ("a man in an old orange hat is sleeping .", ["an hat"]),
        ("a small brown dog with a red upside-down ball runs", ["a dog"]),
        ("a very young man and a tall blond woman on a bench .", ["a man", "a woman"]),
        # The next two words, plural articles, and phrases in which a word may be a verb.
        ("a young man .", []),
        ("a man .", []),
        ("the very old man .", []),
        ("a young man wearing a hat .", []),
        ("a brown dog runs in the snow .", []),
        ("a young man dressed in black .", []),
        ("a dark blue dress .", ["a dress"]),
        ("a tall red king .", ["a king"]),
        ("a young man 's hat .", []),
        ("a large brown dog", []),
    ],
)
def test_an_article_has_the_last_noun_of_its_phrase(sentence: str, pairs: list[str]) -> None:
    words = sentence.split()
    assert [f"{words[article]} {words[noun]}" for article, noun in article_nouns(words)] == pairs


def test_all_pieces_of_the_noun_and_of_the_second_word_are_marked() -> None:
    pieces = ["a", "re@@", "d", "tr@@", "ail", "snow@@", "mob@@", "ile", "in", "a", "field", "."]
    nouns, second_words = (np.zeros((12, 12), bool) for _ in range(2))
    nouns[0, 5:8] = second_words[0, 3:5] = True
    np.testing.assert_array_equal(noun_of_article(pieces), (nouns, second_words))
    assert [marks.shape for marks in noun_of_article([])] == [(0, 0), (0, 0)]
