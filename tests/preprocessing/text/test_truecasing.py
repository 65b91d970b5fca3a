"""Truecasing is learned from train only, and from words inside sentences."""

from __future__ import annotations

import json

import pytest

from preprocessing.bitext.data import BothSides
from preprocessing.pipeline.step import Context
from preprocessing.text.truecasing import LEARNED, Truecase, detruecased, learn
from tests.preprocessing.bitexts import WORDS, bitext, facts, run

TRAIN = [
    ("The dog sees Anna .", "x"),
    ("Anna sees the dog . Dogs see the US", "x"),
    ("He asks us , Ted !", "x"),
    ("then the US and us", "x"),
]


def words(*rows: str) -> list[list[str]]:
    return [row.split() for row in rows]


def test_the_first_word_of_a_sentence_is_not_counted() -> None:
    forms = learn(words(*(source for source, _ in TRAIN)))
    assert "he" not in forms and "dogs" not in forms and "then" not in forms
    assert forms["anna"] == ["Anna"] and forms["dog"] == ["dog"] and forms["the"] == ["the"]
    assert forms["us"] == ["US", "us"], "two of each: ties by code points"
    assert list(forms) == sorted(forms)


def test_first_words_get_their_usual_case_and_known_forms_stay() -> None:
    test = [("The US asks us . ANNA sees dogs", "x"), ('" Dog sees Fido', "x"), ("The | pipe < b >", "x")]
    data, notes = run(bitext(train=TRAIN, test=test), WORDS, BothSides(Truecase(), None))
    rows = [data.splits["test"].source.words(row) for row in range(3)]
    assert rows[0] == ["the", "US", "asks", "us", ".", "Anna", "sees", "dogs"]
    assert rows[1] == ['"', "dog", "sees", "Fido"]
    assert rows[2] == ["the", "|", "pipe", "<", "b", ">"]
    assert data.splits["test"].target.words(0) == ["x"] and LEARNED not in data.target.learned
    assert facts(notes)["truecase"]["source"]["with_several_ways"] == 1
    assert notes[1].examples[0] == ("The dog sees Anna .", "the dog sees Anna .")


def test_the_test_split_does_not_affect_what_is_learned() -> None:
    one, _ = run(bitext(train=TRAIN, test=[("a", "x")]), WORDS, BothSides(Truecase(), None))
    other, _ = run(bitext(train=TRAIN, test=[("so DOG and DOG and anna", "x")] * 9), WORDS, BothSides(Truecase(), None))
    assert one.source.learned == other.source.learned
    assert json.loads(one.source.learned[LEARNED])["dog"] == ["dog"]


def test_new_text_uses_the_learned_cases() -> None:
    data, _ = run(bitext(train=TRAIN), WORDS, BothSides(Truecase(), None))
    new = run(bitext(train=[("Dog THE", "x")]), WORDS)[0].source
    state = new.with_learned(**data.source.learned)
    done, notes = Truecase().apply(state, Context())
    assert done.splits["train"].words(0) == ["dog", "the"] and notes.facts == {}


@pytest.mark.parametrize(
    ("tokens", "cased"),
    [
        ("the dog . he barks : yes", "The dog . He barks : Yes"),
        ('" ¿ und ?', '" ¿ und ?'),
        ("( das ist Anna ! )", "( Das ist Anna ! )"),
    ],
)
def test_detokenised_sentences_are_capitalised(tokens: str, cased: str) -> None:
    assert " ".join(detruecased(tokens.split())) == cased
