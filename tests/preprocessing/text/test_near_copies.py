"""Near copies against a comparison of all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from preprocessing.errors import InputError
from preprocessing.text import near_copies as near_copies_module
from preprocessing.text.near_copies import NGRAM, SHORTEST, collapsed_key, near_copies


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("정말 재밌어요!!! ㅋㅋㅋㅋ", "정말재밌어요\u110f"),
        ("ＧＯＯＤ  movie", "godmovie"),
        ("!!!", "!"),
        ("", ""),
    ],
)
def test_a_key_has_letters_and_digits_without_repetitions(text: str, key: str) -> None:
    assert collapsed_key(text) == key


def grams(key: str) -> set[str]:
    return {key[start : start + NGRAM] for start in range(len(key) - NGRAM + 1)} if len(key) >= SHORTEST else set()


@pytest.mark.parametrize("threshold", [0.3, 0.6, 1.0])
def test_the_same_are_found_as_by_comparing_all_pairs(threshold: float) -> None:
    draw = np.random.RandomState(3)
    originals = ["".join(draw.choice(list("가나다라마바"), draw.randint(4, 30))) for _ in range(120)]
    keys = []
    for original in originals[:80]:
        letters = list(original)
        for _ in range(draw.randint(0, 4)):
            letters[draw.randint(len(letters))] = str(draw.randint(10))
        keys.append("".join(letters))
    references = originals[20:]
    expected = []
    for key in keys:
        pairs = [(grams(key), grams(each)) for each in references]
        expected.append(any(a and b and len(a & b) >= threshold * len(a | b) - 1e-9 for a, b in pairs))
    assert near_copies(keys, references, threshold).tolist() == expected
    assert 0 < sum(expected) < len(keys)


def test_nothing_is_near_nothing() -> None:
    assert near_copies([], [], 0.6).tolist() == []
    assert near_copies(["abcdefghij"], [], 0.6).tolist() == [False]
    assert near_copies(["short"], ["short"], 0.6).tolist() == [False], "too short to be compared by n-grams"


def test_more_characters_than_fit_into_16_bits_are_refused() -> None:
    """An n-gram would be taken for another."""
    characters = "".join(map(chr, [*range(1, 0xD800), *range(0xE000, 0x12000)]))
    fitting, one_more = characters[: 1 << 16], characters[: (1 << 16) + 1]
    assert near_copies([fitting], [fitting], 0.6).tolist() == [True]
    with pytest.raises(InputError, match="65537 different characters; compare fewer texts at once"):
        near_copies([one_more], [one_more], 0.6)


def test_pairs_are_compared_in_parts_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, references = ["abcdefghij", "nothing alike", "klmnopqrst"], ["klmnopqrst", "abcdefghij"]
    for size in (1, 2, 3, 100):
        monkeypatch.setattr(near_copies_module, "_PAIRS_AT_ONCE", size)
        assert near_copies(keys, references, 0.6).tolist() == [True, False, True]
        assert near_copies(keys[:1], keys[:1], 1.0).tolist() == [True]


def test_characters_beyond_16_bits_are_their_own() -> None:
    key = "가나다라마바사아"
    other = "".join(chr(0x20000 + ord(character)) for character in key)
    assert near_copies([key, other], [other], 1.0).tolist() == [False, True]
