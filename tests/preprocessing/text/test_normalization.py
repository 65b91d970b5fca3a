"""Normalization: one spelling for equivalent ones, language by language."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given, strategies as st

from preprocessing.errors import InputError
from preprocessing.pipeline.step import Context
from preprocessing.text.data import Data, Split
from preprocessing.text.normalization import JOINER, LANGUAGES, SPACE, Lowercase, Normalize, loose_key, normalizer

ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.mark.parametrize(
    ("language", "raw", "normal"),
    [
        ("en", "It’s “fine” – really…", 'It\'s "fine" - really...'),
        ("en", 'He said "no".', 'He said "no."'),
        ("en", "two(2)dogs", "two (2) dogs"),
        ("de", "Er rief: „Halt!“", 'Er rief: "Halt!"'),
        ("de", 'Er sagte "nein," und ging.', 'Er sagte "nein", und ging.'),
        ("fr", "Il dit\u00a0: «\u00a0Non\u202f!\u00a0»", 'Il dit: "Non!"'),
        ("fr", "« la mer »", '"la mer"'),
        ("fr", "Où est-ce ?", "Où est-ce ?"),
        ("fr", "5\u00a0000", "5,000"),
        ("ko", "그는 “안녕(hello)”이라고…", '그는 "안녕(hello)"이라고...'),
        ("ko", "ＡＢＣ１２３！　정말？", "ABC123! 정말?"),
        ("ko", "1~2시、3·4시", "1~2시,3·4시"),
    ],
)
def test_by_example(language: str, raw: str, normal: str) -> None:
    assert normalizer(language)(raw) == normal


@pytest.mark.parametrize("language", LANGUAGES)
def test_unicode_forms_white_space_and_invisible_characters(language: str) -> None:
    decomposed = unicodedata.normalize("NFD", "été 한국")
    assert normalizer(language)(decomposed) == "été 한국"
    assert normalizer(language)("  a\t b\u3000\n c\u2028d  ") == "a b c d"
    assert normalizer(language)("soft\u00adhy\u200bphen\u0012\ufeff") == "softhyphen"
    assert normalizer(language)("😀 👍🏽") == "😀 👍🏽"


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=ANY)
def test_normal_text_has_single_spaces_and_no_token_marks(language: str, text: str) -> None:
    normal = normalizer(language)(text)
    assert JOINER not in normal and SPACE not in normal
    assert normal == " ".join(normal.split())
    assert not any(unicodedata.category(character) in ("Cc", "Cf") for character in normal)


@given(text=ANY)
def test_normalising_korean_twice_changes_nothing_more(text: str) -> None:
    normal = normalizer("ko")(text)
    assert normalizer("ko")(normal) == normal


@pytest.mark.parametrize(("text", "normal"), [("e\u200d\u0301", "é"), ("\uff1d\u0338", "≠")])
def test_a_mark_joins_its_letter_when_what_was_between_is_gone(text: str, normal: str) -> None:
    assert normalizer("ko")(text) == normal


def test_korean_spacing_is_never_changed() -> None:
    text = "한국(Korea)은 100%다: 정말? 그래요; '네'"
    assert normalizer("ko")(text) == text
    assert normalizer("en")("한국(Korea)은") != "한국(Korea)은", (
        "the Moses script sets spaces, hence the table for Korean"
    )


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InputError, match="language 'xx': has no rules here; known are de, en, fr, ko"):
        normalizer("xx")


def test_the_steps_do_not_change_the_raw_text_and_report_their_changes() -> None:
    data = Data({"train": Split.of(["“A”  B", "C"]), "test": Split.of(["D"])})
    done, notes = Normalize("en").apply(data, Context())
    assert done.splits["train"].text.tolist() == ["“A”  B", "C"]
    assert done.splits["train"].prepared.tolist() == ['"A" B', "C"]
    assert notes.facts == {"normalized": {"train": 1, "test": 0}} and notes.examples == [("“A”  B", '"A" B')]
    lowered, _ = Lowercase().apply(done, Context())
    assert lowered.splits["train"].prepared.tolist() == ['"a" b', "c"]
    assert lowered.splits["train"].text.tolist() == data.splits["train"].text.tolist()
    assert lowered.splits["train"].take(np.array([1])).prepared.tolist() == ["c"]


@given(text=ANY, marks=st.text(" .,!?()", max_size=3))
def test_the_loose_key_depends_on_letters_and_digits_only(text: str, marks: str) -> None:
    shouted = f" {text.upper()}!!"
    if any(character.isalnum() for character in text):
        assert loose_key(text.lower()) == loose_key(text) and loose_key(f"({text}).") == loose_key(text)
        assert loose_key(text.casefold()) in (loose_key(text), loose_key(shouted))
        assert loose_key(marks.join(text)) == loose_key(text)
    assert bool(loose_key(text)) == bool(text)


def test_the_loose_key_by_example() -> None:
    assert loose_key("Run!") == loose_key("run.") == "run"
    assert loose_key("할 수 있어.") == loose_key("할수있어!")
    assert loose_key("?!") == "?!" != loose_key("!")
    assert loose_key("Go on.") != loose_key("Go in.")
