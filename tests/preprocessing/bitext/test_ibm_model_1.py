"""The word dictionary of IBM model 1: known solutions, and independence of order."""

from __future__ import annotations

import numpy as np
import pytest

from preprocessing.bitext import ibm_model_1


def split(*texts: str) -> list[list[str]]:
    return [text.split() for text in texts]


def test_words_that_always_co_occur_are_translations() -> None:
    """The classical example: no single sentence shows what *the* means, all together do."""
    source = split("the house", "the book", "a book", "the", "")
    target = split("das haus", "das buch", "ein buch", "das", "nichts")
    assert ibm_model_1.translations(source, target, iterations=20) == {
        "the": "das",
        "house": "haus",
        "book": "buch",
        "a": "ein",
    }


def test_matches_the_equations_word_by_word() -> None:
    """Brown et al. (1993): counts are shares of each target word among the source words of its sentence."""
    generator = np.random.RandomState(3)
    source = [[f"s{word}" for word in generator.randint(0, 6, 5)] for _ in range(40)]
    target = [[f"t{word}" for word in generator.randint(0, 7, 4)] for _ in range(40)]
    t = {(s, w): 1.0 for s in {w for row in source for w in row} for w in {w for row in target for w in row}}
    for _ in range(3):
        counts = dict.fromkeys(t, 0.0)
        for sentence, words in zip(source, target, strict=True):
            for word in words:
                total = sum(t[s, word] for s in sentence)
                for s in sentence:
                    counts[s, word] += t[s, word] / total
        totals: dict[str, float] = {}
        for (s, _), count in counts.items():
            totals[s] = totals.get(s, 0.0) + count
        t = {(s, word): count / totals[s] for (s, word), count in counts.items()}
    lexicon = ibm_model_1.translations(source, target, iterations=3)
    assert set(lexicon) == {s for s, _ in t}
    for s, word in lexicon.items():
        assert t[s, word] == pytest.approx(max(t[s, other] for other in {w for _, w in t}))


def test_the_first_of_equally_likely_translations_is_chosen() -> None:
    assert ibm_model_1.translations(split("x"), split("b a")) == {"x": "b"}
    assert ibm_model_1.translations([], []) == {}


def test_sides_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 source sentences but 1 target"):
        ibm_model_1.translations(split("a", "b"), split("c"))
