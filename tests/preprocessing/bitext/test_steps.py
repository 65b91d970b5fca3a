"""Steps on both sides: duplicates, overlap, lengths; and how a step for one text is applied to two."""

from __future__ import annotations

import numpy as np
import pytest

from preprocessing.bitext.data import Bitext, BothSides, Pair
from preprocessing.bitext.steps import CheckRoundTrip, Deduplicate, FilterLengths, Overlap, detokenized
from preprocessing.errors import InputError
from preprocessing.text.data import Split
from preprocessing.text.normalization import Lowercase, Normalize
from preprocessing.text.steps import Tokenize
from preprocessing.text.tokenizers.reversible import JoinedMecab, Moses
from tests.preprocessing.bitexts import WORDS, bitext, facts, run, texts
from tests.preprocessing.purity import apply_to_unchanged_input

TRAIN = [("a b", "x y"), ("A b!", "X y."), ("a b", "x y"), ("a b", "z"), ("c", "x y")]


def test_only_train_loses_duplicate_pairs() -> None:
    data, notes = run(bitext(train=TRAIN, test=[("a", "b"), ("a", "b")]), Deduplicate())
    assert texts(data, "train") == [TRAIN[0], TRAIN[1], TRAIN[3], TRAIN[4]] and len(data.splits["test"]) == 2
    assert [(d.split, d.rows, d.examples) for d in notes[0].dropped] == [("train", 1, ["train:3"])]
    assert notes[0].examples == [("a b ||| x y", "left out: a repeated pair")]
    lowered, _ = run(bitext(train=TRAIN), BothSides(Lowercase(), Lowercase()), Deduplicate())
    assert len(lowered.splits["train"]) == 4, "another punctuation mark is another text"


TEST = [("a b", "q"), ("A B", "x, y"), ("new", "news"), ("c", "x y")]


def test_overlap_is_counted_verbatim_and_by_letters_and_drops_nothing() -> None:
    data, notes = run(bitext(train=TRAIN, test=TEST, validation=[("new", "q")]), Overlap())
    assert len(data.splits["train"]) == 5 and notes[0].dropped == []
    assert facts(notes)["overlap"] == {
        "test": {
            "rows": 4,
            "letters": {"source": 3, "target": 2, "either": 3, "pair": 2},
            "verbatim": {"source": 2, "target": 1, "either": 2, "pair": 1},
        },
        "validation": {
            "rows": 1,
            "letters": {"source": 0, "target": 0, "either": 0, "pair": 0},
            "verbatim": {"source": 0, "target": 0, "either": 0, "pair": 0},
        },
    }
    assert data.splits["test"].source.seen_in_train.tolist() == [True, True, False, True]
    assert data.splits["test"].target.seen_in_train.tolist() == [False, True, False, True]
    assert not data.splits["train"].source.seen_in_train.any()


def test_a_split_that_is_in_train_as_a_whole_is_named() -> None:
    rows = {"train": [*TRAIN, ("d", "w")], "test": [TRAIN[0], ("A, b", "x Y")], "validation": [TRAIN[0], ("new", "q")]}
    _, notes = run(bitext(**rows), Overlap())
    assert notes[0].warnings == ["test: every pair is in train too; BLEU says little"]
    _, notes = run(bitext(**rows), Overlap(drop=True))
    assert notes[0].warnings == [], "such pairs are left out of train"


def test_overlap_drops_train_pairs_on_request_and_never_test_pairs() -> None:
    train = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]
    data, notes = run(bitext(train=train, test=[("A!", "9")], other=[("z", "3.")]), Overlap(drop=True))
    assert texts(data, "train") == [("b", "2"), ("d", "4")]
    assert len(data.splits["test"]) == len(data.splits["other"]) == 1
    assert notes[0].dropped[0].rows == 2 and notes[0].dropped[0].examples == ["train:1", "train:3"]
    assert facts(notes)["overlap"]["test"]["letters"]["source"] == 1, "counted before anything was dropped"
    assert not data.splits["test"].source.seen_in_train.any()
    with pytest.raises(InputError, match="no pair is left"):
        run(bitext(train=train[:1], test=[("a", "x")]), Overlap(drop=True))


def test_lengths_are_limited_in_train_only_and_dropped_pairs_are_shown() -> None:
    long, unequal = "w " * 6, ("w w w w", "w")
    train = [("ok", "ok"), (long, "w w w"), ("w w", long), unequal, ("w w w", "w"), (" ", "w")]
    data, notes = run(bitext(train=train, test=[(long, "w"), ("", "w")]), WORDS, FilterLengths(5, 3.0))
    assert texts(data, "train") == [("ok", "ok"), ("w w w", "w")]
    assert data.splits["test"].source.words(0) == ["w"] * 6 and len(data.splits["test"]) == 2
    dropped = [(d.reason, d.rows, d.examples) for d in notes[1].dropped]
    assert dropped == [
        ("a side without tokens", 1, ["train:6"]),
        ("more than 5 tokens", 2, ["train:2", "train:3"]),
        ("a length ratio above 3", 1, ["train:4"]),
    ]
    assert (f"{unequal[0]} ||| {unequal[1]}", "left out: a length ratio above 3") in notes[1].examples
    unlimited, notes = run(bitext(train=train), WORDS, FilterLengths(None, None))
    assert len(unlimited.splits["train"]) == 5 and [d.rows for d in notes[1].dropped] == [1]


def test_a_step_for_one_text_is_applied_to_both_sides_and_described_as_one() -> None:
    both = BothSides(Normalize("de"), Normalize("ko"))
    data, notes = run(bitext(train=[("„A“", "“가”(나)")]), both)
    assert data.splits["train"].source.prepared.tolist() == ['"A"']
    assert data.splits["train"].target.prepared.tolist() == ['"가"(나)']
    assert texts(data, "train") == [("„A“", "“가”(나)")], "the raw text is unchanged"
    assert facts(notes)["normalized"] == {"source": {"train": 1}, "target": {"train": 1}}
    description = both.describe()
    assert (
        description["name"] == "normalize"
        and description["rule"].startswith("Source: ")
        and " Target: " in description["rule"]
    )
    assert description["parameters"]["target"] == {"language": "ko", "versions": {}}
    assert BothSides(Lowercase(), Lowercase()).describe()["rule"] == Lowercase().rule
    one = BothSides(Lowercase(), None)
    assert one.rule.endswith("Target: not changed.") and one.parameters() == {}
    lowered, _ = run(bitext(train=[("A", "A")]), one)
    assert lowered.splits["train"].source.prepared.tolist() == ["a"]
    assert lowered.splits["train"].target.prepared.tolist() == ["A"]


def test_text_that_detokenisation_does_not_restore_is_counted_and_shown() -> None:
    tokenize = BothSides(Tokenize(Moses("en")), Tokenize(JoinedMecab()))
    check = BothSides(CheckRoundTrip(), CheckRoundTrip())
    test = [("It's 2:30 .", "오후 2:30이다."), ("It is.", "그렇다.")]
    data, notes = run(bitext(train=test, test=test), tokenize, check)
    assert facts(notes)["round_trip"] == {
        "source": {"test": {"rows": 2, "exact": 1, "but_for_spaces": 2}},
        "target": {"test": {"rows": 2, "exact": 2, "but_for_spaces": 2}},
    }
    assert notes[1].examples == [("It's 2:30 .", "It's 2: 30.")]
    assert data.splits["test"].source.words(1) == ["It", "is", "."]


def test_detokenisation_needs_a_tokenizer_with_an_inverse() -> None:
    data, _ = run(bitext(train=[("a", "b")]), WORDS)
    with pytest.raises(InputError, match="no tokenizer with an inverse"):
        detokenized(data.source, ["a"])


def test_the_two_sides_of_a_pair_have_the_same_rows() -> None:
    with pytest.raises(ValueError, match="2 source rows but 1 target rows"):
        Pair(Split.of(["a", "b"]), Split.of(["c"]))
    data = bitext(train=[("a", "b"), ("c", "d")])
    assert texts(data.with_splits({"train": data.splits["train"].take(np.array([False, True]))}), "train") == [
        ("c", "d")
    ]


def test_steps_do_not_change_their_input_and_arrays_restore_it() -> None:
    data = bitext(train=[*TRAIN, ("more", "plus")], test=TEST)
    tokenize = BothSides(Tokenize(Moses("en")), Tokenize(Moses("fr")))
    for step in (BothSides(Lowercase(), Lowercase()), Deduplicate(), Overlap(True), tokenize, FilterLengths(9, 9.0)):
        data = apply_to_unchanged_input(step, data)
    stored = data.finished().to_arrays()
    again = Bitext.from_arrays(stored, Moses("en"), Moses("fr"))
    assert {name: array.tobytes() for name, array in again.to_arrays().items()} == {
        name: array.tobytes() for name, array in stored.items()
    }
