"""Words tokenised one by one, and rules that are skipped: what sacremoses gives for the whole sentence."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from preprocessing.text.moses import WordwiseMoses
from preprocessing.text.normalization import normalizer
from preprocessing.text.tokenizers.reversible import Moses

LANGUAGES = ("en", "de", "fr")
PIECES = st.sampled_from(
    [
        *"'.,- aB5()\"é%:;`!?M«»&ü²",
        "\u00a0",
        "Mr.",
        "No.",
        "Nr.",
        "e.g.",
        "...",
        "''",
        "l'",
        "DOTMULTI",
        "\u0663",
        "–",
        "’",
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)
SENTENCES = [
    "Mr. Smith paid 5,300 dollars, i.e. No. 7 of the U.S. list ... on 3.5. in Bonn.",
    "the dogs' house isn't 'ours' , said l'homme d'hier .'",
    "a.m. etc. and so on. Then? p. 5 and pp. five.",
    " 'tis spaced ' ",
    "'tis all. 'Yes', 'No' '",
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_tokens_are_those_of_whole_sentences(language: str) -> None:
    ours, theirs, normalize = WordwiseMoses(language), MosesTokenizer(language), normalizer(language)

    @hypothesis.settings(max_examples=60)
    @hypothesis.given(TEXTS)
    def check(text: str) -> None:
        for form in (text, normalize(text)):
            assert ours.tokenize(form) == theirs.tokenize(form, escape=False), form

    check()
    for sentence in (*SENTENCES, *map(str.lower, SENTENCES)):
        assert Moses(language).tokenize(sentence) == theirs.tokenize(sentence, escape=False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_punctuation_is_normalised_as_by_all_rules(language: str) -> None:
    every, ours = MosesPunctNormalizer(language), normalizer(language)

    @hypothesis.settings(max_examples=60)
    @hypothesis.given(TEXTS.filter(lambda text: "«" not in text and "»" not in text))
    def check(text: str) -> None:
        assert ours(text) == " ".join(every.normalize(text).split())

    check()


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preprocessing.text.moses.REMEMBERED", 3)
    ours, theirs = WordwiseMoses("en"), MosesTokenizer("en")
    text = "one, two, three, four, five, one, two."
    assert ours.tokenize(text) == ours.tokenize(text) == theirs.tokenize(text, escape=False)
