"""Odd data and options that any pipeline names: parameters, NUL characters, ratings, enormous texts."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from preprocessing import documents, naver, ptb, sentences, translation
from preprocessing.corpora import given
from preprocessing.errors import InputError, ParameterError


@pytest.mark.parametrize("processes", [0, -4])
def test_a_number_of_processes_below_one_is_refused(processes: int) -> None:
    with pytest.raises(ParameterError, match=f"processes {processes}: must be at least 1"):
        sentences.prepare("sample sst-2", processes=processes)


def test_a_minimum_frequency_that_leaves_no_token_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"min_freq 9999999: no token of train occurs so often, the most frequent"):
        sentences.prepare("sample sst-2", min_freq=9_999_999)
    with pytest.raises(ParameterError, match=r"min_freq 9999999: no token of train occurs so often"):
        translation.prepare("sample", joint_vocabulary=True, min_freq=9_999_999)


def folder(path: Path, **ratings: str) -> Path:
    """Documents of one's own, all with the text of their name."""
    names = {"train_neg": "1_2", "train_pos": "1_9", "test_neg": "2_4", "test_pos": "2_7"} | ratings
    for place, name in names.items():
        file = path / place.replace("_", "/") / f"{name}.txt"
        file.parent.mkdir(parents=True)
        file.write_text(f"A film as in {place}, of its own kind. Number {name}.", encoding="utf-8")
    for number in range(3, 40):
        (path / "train" / "neg" / f"{number}_3.txt").write_text(f"Bad number {number}.", encoding="utf-8")
    return path


def test_a_rating_in_the_wrong_folder_is_named(tmp_path: Path) -> None:
    usual = documents.prepare(documents.own_documents(folder(tmp_path / "usual")), min_freq=1)
    assert usual.warnings == []
    odd = documents.prepare(documents.own_documents(folder(tmp_path / "odd", train_neg="1_10")), min_freq=1)
    assert odd.warnings == [
        "train/neg/1_10.txt is rated 10 but in neg/, test/pos/2_7.txt 7 but in pos/: are documents in the wrong folder?"
    ]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"a\0b", r"train/neg/3_3\.txt: contains a NUL character; remove it"),
        (b"x" * 1_000_001, r"train/neg/3_3\.txt: a text of 1000001 characters, at most 1000000 are allowed; divide it"),
    ],
)
def test_documents_that_cannot_be_meant_are_refused(content: bytes, fault: str, tmp_path: Path) -> None:
    (folder(tmp_path) / "train" / "neg" / "3_3.txt").write_bytes(content)
    with pytest.raises(InputError, match=fault):
        documents.prepare(documents.own_documents(tmp_path))


def test_documents_without_text_are_refused(tmp_path: Path) -> None:
    for file in (folder(tmp_path) / "test").rglob("*.txt"):
        file.write_text(" \n", encoding="utf-8")
    with pytest.raises(InputError, match="test: no document has text"):
        documents.prepare(documents.own_documents(tmp_path))


def test_lines_of_ones_own_are_held_out_and_checked(tmp_path: Path) -> None:
    train, test = tmp_path / "train.txt", tmp_path / "test.txt"
    train.write_text("".join(f"line number {number}\n" for number in range(25)), encoding="utf-8")
    test.write_text("a line\n", encoding="utf-8")
    result = ptb.reading_own_lines(ptb.pipeline()).run(ptb.own_lines(train, test))
    assert result.validation.text.tolist() == ["line number 22", "line number 23", "line number 24"]
    assert len(result.train) == 22
    given_one = ptb.reading_own_lines(ptb.pipeline()).run(ptb.own_lines(train, test, test))
    assert given_one.validation.text.tolist() == ["a line"] and len(given_one.train) == 25
    test.write_text("a\0line\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"test\.txt, line 1: contains a NUL"):
        ptb.reading_own_lines(ptb.pipeline()).run(ptb.own_lines(train, test))


def parallel(path: Path, pairs: int) -> Path:
    for split, count in (("train", pairs), ("test", 2)):
        for language in ("en", "de"):
            lines = "".join(f"sentence {number} {language}\n" for number in range(count))
            (path / f"{split}.{language}").write_text(lines, encoding="utf-8")
    return path


def test_parallel_files_without_validation_have_pairs_held_out(tmp_path: Path) -> None:
    files = translation.own_files(parallel(tmp_path, 120), "en", "de")
    splits = translation.prepare(files, source="en", target="de", min_freq=1).splits
    held_out = splits["validation"].source.text.tolist()
    hashes = [hashlib.sha256(f"sentence{number}de".encode()).hexdigest() for number in range(120)]
    assert held_out == [f"sentence {number} en" for number in range(120) if int(hashes[number][:8], 16) % 20 == 0]
    assert 0 < len(held_out) < 20 and not set(held_out) & set(splits["train"].source.text)
    assert len(held_out) + len(splits["train"]) == 120
    reverse = translation.own_files(tmp_path, "de", "en")
    other = translation.prepare(reverse, source="de", target="en", min_freq=1).splits
    assert other["validation"].target.text.tolist() == held_out
    (tmp_path / "validation.en").write_text("one\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"validation\.de: no such file"):
        translation.own_files(tmp_path, "en", "de")


def test_one_pair_is_odd_and_too_little_to_hold_out_another(tmp_path: Path) -> None:
    files = translation.own_files(parallel(tmp_path, 1), "en", "de")
    with pytest.raises(InputError, match=r"too few pairs \(1\) to hold out one in 20"):
        translation.prepare(files, source="en", target="de")
    for language in ("en", "de"):
        (tmp_path / f"validation.{language}").write_text("another\n", encoding="utf-8")
    result = translation.prepare(translation.own_files(tmp_path, "en", "de"), source="en", target="de", min_freq=1)
    assert result.warnings == ["train: only one pair to train on"]


def test_a_nul_in_parallel_files_is_refused(tmp_path: Path) -> None:
    (parallel(tmp_path, 60) / "train.de").write_text("a\0b\n" * 60, encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.de, line 1: contains a NUL"):
        translation.prepare(translation.own_files(tmp_path, "en", "de"), source="en", target="de")


def test_sentences_and_reviews_of_ones_own_are_checked(tmp_path: Path) -> None:
    for split in ("train", "validation", "test"):
        (tmp_path / split).write_text(f"1 good\n0 bad {'x' * 100_000}\n", encoding="utf-8")
    files = given("mine", {split: tmp_path / split for split in ("train", "validation", "test")})
    with pytest.raises(InputError, match=r"train, line 2: a text of 100004 characters"):
        sentences.prepare(files)
    with pytest.raises(ParameterError, match=r"max_length 30\.0: must be a whole number"):
        naver.pipeline(max_length=30.0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="max_size 0: must be at least 1"):
        naver.pipeline(max_size=0)
