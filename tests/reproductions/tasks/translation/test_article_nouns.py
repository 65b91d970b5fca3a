"""The rule that finds the nouns of articles."""

from __future__ import annotations

import numpy as np
import pytest

from reproductions.tasks.translation.article_nouns import article_nouns, noun_of_article


@pytest.mark.parametrize(
    ("sentence", "pairs"),
    [
        ("a man in an old orange hat is sleeping .", ["an hat"]),
        ("a small dog with a red upside-down ball runs", ["a dog"]),
        ("a young man and a tall woman on a bench .", ["a man", "a woman"]),
        # The next word, plural articles, and phrases in which a word may be a verb.
        ("a man .", []),
        ("the old man .", []),
        ("a man wearing a hat .", []),
        ("a dog runs in the snow .", []),
        ("a man dressed in black .", []),
        ("a blue dress .", ["a dress"]),
        ("a red king .", ["a king"]),
        ("a man 's hat .", []),
        ("a large brown dog", []),
    ],
)
def test_an_article_has_the_last_noun_of_its_phrase(sentence: str, pairs: list[str]) -> None:
    words = sentence.split()
    assert [f"{words[article]} {words[noun]}" for article, noun in article_nouns(words)] == pairs


def test_all_pieces_of_the_noun_are_marked() -> None:
    pieces = ["a", "re@@", "d", "snow@@", "mob@@", "ile", "in", "a", "field", "."]
    expected = np.zeros((10, 10), bool)
    expected[0, 3:6] = True
    np.testing.assert_array_equal(noun_of_article(pieces), expected)
    assert noun_of_article([]).shape == (0, 0)
