"""Byte pair encoding: learned on train only, exactly invertible, and equal to the subword-nmt command."""

from __future__ import annotations

import io
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from preprocessing.bitext import subwords
from preprocessing.bitext.data import BothSides
from preprocessing.bitext.subwords import CODES, PIECES, ApplyBPE, LearnBPE, joined
from preprocessing.errors import InputError
from preprocessing.pipeline.step import Context
from tests.preprocessing.bitexts import WORDS, bitext, facts, run

TRAIN = [
    ("low lower lowest", "niedrig niedriger"),
    ("new newer newest", "neu neuer neueste"),
    ("wide wider widest low", "weit weiter weiteste"),
] * 4
WORD = st.text("lowernstidg@", min_size=1, max_size=8).filter(lambda word: not word.endswith("@@"))


def encoded(operations: int = 30, min_freq: int = 1, **splits: list[tuple[str, str]]):  # type: ignore[no-untyped-def]
    data = bitext(**{"train": TRAIN, **splits})
    return run(data, WORDS, LearnBPE(operations), BothSides(ApplyBPE(min_freq), ApplyBPE(min_freq)))


def test_words_of_the_test_split_change_neither_merges_nor_pieces() -> None:
    without, _ = encoded(test=[("low", "neu")])
    strange = [("zyzzyva zyzzyva zyzzyva", "quokka quokka quokka")] * 50
    with_them, _ = encoded(test=strange, validation=strange)
    for side in ("source", "target"):
        assert getattr(with_them, side).learned == getattr(without, side).learned
    assert "z" not in with_them.source.learned[CODES].decode()
    assert with_them.splits["train"].source.words(0) == without.splits["train"].source.words(0)
    assert with_them.splits["test"].source.words(0)[:3] == ["z@@", "y@@", "z@@"]
    trained, _ = run(bitext(train=[*TRAIN, *strange]), WORDS, LearnBPE(30))
    assert "z y" in trained.source.learned[CODES].decode(), "in train they would have"


def test_words_without_a_pair_to_merge_are_refused() -> None:
    """subword-nmt would end the process when it reads codes without a merge."""
    with pytest.raises(InputError, match="step learn-bpe: no two adjacent characters occur twice"):
        run(bitext(train=[("ab cd", "ef gh")]), WORDS, LearnBPE(30))


def test_merges_are_learned_jointly() -> None:
    data, notes = encoded()
    assert data.source.learned[CODES] == data.target.learned[CODES]
    merges = data.source.learned[CODES].decode().splitlines()
    assert merges[0] == "#version: 0.2" and len(merges) == 31
    assert facts(notes)["bpe"] == {"asked_for": 30, "learned": 30, "types_in_train": 17}
    assert any("w" in merge for merge in merges) and any("u" in merge for merge in merges)
    # cd is the more frequent on the target side, ab on both together.
    joint, _ = run(bitext(train=[("ab ab", "ab ab cd cd cd")]), WORDS, LearnBPE(1))
    assert joint.source.learned[CODES] == b"#version: 0.2\na b</w>\n"


@given(st.lists(st.sampled_from(["low", "lowest", "newer", "weite", "a", "가나", "￭다"]), min_size=1, max_size=40))
def test_the_order_of_the_words_does_not_matter(words: list[str]) -> None:
    counts = Counter([*words, "low", "low"])  # without a pair that occurs twice there is nothing to learn
    backwards = Counter(dict(reversed(counts.items())))
    assert subwords.learn(counts, 10) == subwords.learn(backwards, 10)


@given(st.lists(WORD, max_size=8))
def test_joining_inverts_the_segmentation(words: list[str]) -> None:
    data, _ = encoded(test=[(" ".join(words), "neu")])
    test = data.splits["test"].source
    assert joined(test.words(0)) == words
    assert all(len(word) <= 1 or not word.endswith("@@@@") for word in test.words(0))


def test_pieces_of_a_model_may_end_anywhere() -> None:
    assert joined(["lo@@", "w", "e@@"]) == ["low", "e"]
    assert joined(["@@", "a", "<unk>"]) == ["a", "<unk>"]
    assert joined([]) == []


def test_pieces_that_are_rare_on_their_own_side_are_split_again() -> None:
    # "weit" is frequent on the target side, and occurs on the source side once.
    train = [("low low low", "weit weit weit")] * 5 + [("weit", "low")]
    data = bitext(train=train, test=[("weit low", "weit low")])
    rare, _ = run(data, WORDS, LearnBPE(20), BothSides(ApplyBPE(2), ApplyBPE(2)))
    assert rare.splits["test"].source.words(0) == ["w@@", "e@@", "i@@", "t", "low"]
    assert rare.splits["test"].target.words(0) == ["weit", "l@@", "o@@", "w"]
    unlimited, _ = run(data, WORDS, LearnBPE(20), BothSides(ApplyBPE(1), ApplyBPE(1)))
    assert unlimited.splits["test"].source.words(0) == ["weit", "low"]
    assert "weit 1\n" in rare.source.learned[PIECES].decode()


@pytest.mark.parametrize("min_freq", [1, 5])
def test_the_files_give_the_same_pieces_with_subword_nmt_itself(min_freq: int, tmp_path: Path) -> None:
    lines = ["low lower widest zoo", "newest wider 가나다"]
    data, _ = encoded(30, min_freq, test=[(line, "neu") for line in lines])
    (tmp_path / "codes").write_bytes(data.source.learned[CODES])
    (tmp_path / "pieces").write_bytes(data.source.learned[PIECES])
    command = [sys.executable, "-m", "subword_nmt.apply_bpe", "--codes", str(tmp_path / "codes")]
    command += ["--vocabulary", str(tmp_path / "pieces"), "--vocabulary-threshold", str(min_freq)]
    done = subprocess.run(command, input="\n".join(lines).encode(), capture_output=True, check=True)
    ours = [" ".join(data.splits["test"].source.words(row)) for row in range(len(lines))]
    assert done.stdout.decode().splitlines() == ours and "@@" in ours[0]


def test_an_empty_corpus_and_steps_out_of_order_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="the training split has no word of two characters"):
        run(bitext(train=[("a b", "c")]), WORDS, LearnBPE(10))
    with pytest.raises(InputError, match="put a learn-bpe step before it"):
        ApplyBPE().apply(run(bitext(train=TRAIN), WORDS)[0].source, Context())
    with pytest.raises(InputError, match="put a tokenize step before it"):
        LearnBPE().apply(bitext(train=TRAIN), Context())
    codes = subwords.learn(Counter({"low": 2, "new": 1}), 1)
    assert capsys.readouterr() == ("", ""), "subword-nmt prints nothing"
    assert io.StringIO(codes).readlines() == ["#version: 0.2\n", "o w</w>\n"]


def test_merges_of_a_large_vocabulary_are_learned_from_its_most_frequent_words(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"be": 2, "aa": 3, "ab": 2, "dd": 5, "ac": 2}
    assert list(subwords.most_frequent(counts, 4).items()) == [("aa", 3), ("ab", 2), ("dd", 5), ("ac", 2)]
    assert subwords.most_frequent(counts, 5) == counts
    _, notes = encoded()
    assert "learned_from_types" not in facts(notes)["bpe"]
    monkeypatch.setattr(subwords, "TYPES", 2)
    data, notes = encoded()
    assert facts(notes)["bpe"]["learned_from_types"] == 2 and facts(notes)["bpe"]["types_in_train"] > 2
    assert data.source.learned[CODES].decode().split("\n")[1:2] == ["l o"], "low is one of them"
