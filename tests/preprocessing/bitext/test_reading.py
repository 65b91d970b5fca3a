"""Pairs are read strictly: every fault is one line with file, line and remedy, and no row is lost."""

from __future__ import annotations

import gzip
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from preprocessing.bitext.data import Bitext
from preprocessing.bitext.reading import UNSPLIT, Collection, ReadPairs
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.errors import InputError, MissingError
from preprocessing.pipeline.step import Context, Notes
from tests.preprocessing.bitexts import texts

LINES = Collection("train", "train")
COLUMNS = Collection("pairs", UNSPLIT, ("en", "ko"), ignored=1, member="kor.txt", note="By people.")
HEADED = Collection("train", "train", ("ko", "en", "fr"), header=True)


def given(folder: Path, **contents: str | bytes) -> CorpusFiles:
    """Files by part; a double underscore in a name is a full stop."""
    paths = {}
    for part, content in contents.items():
        name = part.replace("__", ".")
        paths[name] = folder / name
        paths[name].write_bytes(content.encode() if isinstance(content, str) else content)
    return locate.given("mine", paths)


def read(files: CorpusFiles, *collections: Collection, **options: object) -> tuple[Bitext, Notes]:
    step = ReadPairs("en", "ko", collections, **options)  # type: ignore[arg-type]
    return step.apply(Bitext(), Context(files))


def test_two_files_with_one_sentence_per_line(tmp_path: Path) -> None:
    files = given(tmp_path, train__en='A "quoted"\tb \n c\u2028d\n', train__ko="가\n나\n")
    data, notes = read(files, LINES)
    assert texts(data, "train") == [('A "quoted"\tb ', "가"), (" c\u2028d", "나")], "not changed"
    assert data.splits["train"].row_id.tolist() == ["train:1", "train:2"]
    facts = notes.facts["collections"]["train"]
    assert (facts["rows"], facts["distinct_source"], facts["padded_with_space"]) == (2, 2, 2)
    assert "missing" not in notes.facts


@pytest.mark.parametrize("more", ["", "\tCC-BY 2.0"])
def test_columns_of_one_file_in_either_direction(tmp_path: Path, more: str) -> None:
    files = given(tmp_path, pairs=f"Go.\t가.{more}\nGo.\t가.{more}\nHi.\t안녕.{more}\n")
    data, notes = read(files, COLUMNS)
    assert texts(data, UNSPLIT) == [("Go.", "가."), ("Go.", "가."), ("Hi.", "안녕.")]
    facts = notes.facts["collections"]["pairs"]
    assert (facts["note"], facts["repeated_pairs"], facts["characters"]["target"]["max"]) == ("By people.", 1, 3)
    turned, _ = ReadPairs("ko", "en", (COLUMNS,)).apply(Bitext(), Context(files))
    assert texts(turned, UNSPLIT)[2] == ("안녕.", "Hi.")


def test_a_header_names_the_columns(tmp_path: Path) -> None:
    files = given(tmp_path, train="ko\ten\tfr\n가\tGo.\tVa.\n")
    data, _ = read(files, HEADED)
    assert texts(data, "train") == [("Go.", "가")] and data.splits["train"].row_id.tolist() == ["train:2"]


def test_compressed_files_and_archives_are_read_alike(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "kor-eng.zip", "w") as archive:
        archive.writestr("kor-eng/kor.txt", "Go.\t가.\n")
    (tmp_path / "train.en.gz").write_bytes(gzip.compress(b"a\n"))
    (tmp_path / "train.ko").write_bytes("가\n".encode())
    paths = {"pairs": "kor-eng.zip", "train.en": "train.en.gz", "train.ko": "train.ko"}
    files = locate.given("mine", {part: tmp_path / name for part, name in paths.items()})
    data, _ = read(files, LINES, COLUMNS)
    assert (texts(data, "train"), texts(data, UNSPLIT)) == ([("a", "가")], [("Go.", "가.")])


@pytest.mark.parametrize(
    ("en", "ko", "file", "line", "reason"),
    [
        ("a\nb\n", "가\n", "train.en", 2, "2 lines, but train.ko has 1: they are not parallel"),
        ("a\n", "가\n나\n다\n", "train.en", 2, "1 lines, but train.ko has 3"),
        ("a\n \nc\n", "가\n나\n다\n", "train.en", 2, "the en side is empty"),
        ("a\nb\nc\n", "가\n나\n\n", "train.ko", 3, "the ko side is empty"),
        ("a\n\u3000\nc\n", "가\n\n다\n", "train.en", 2, "the en side is empty"),
        ("a\nb", "가\n나\n", "train.en", 2, "the last line has no line feed"),
        ("a\nb\n", "가\r\n나\r\n", "train.ko", 1, "Windows line endings"),
        ("a\nb\n", "가\n나\n".encode("euc-kr"), "train.ko", 1, "invalid UTF-8 (byte 0xb0"),
        ("a\n" + "b" * 10_001 + "\n", "가\n나\n", "train.en", 2, "a sentence of 10001 characters, at most 10000"),
        ("a\nb\n", "가\n" + "나" * 20_000 + "\n", "train.ko", 2, "a sentence of 20000 characters"),
        ("", "", "train.en", 1, "no lines"),
    ],
)
def test_each_fault_of_parallel_files_is_named(
    tmp_path: Path, en: str, ko: str | bytes, file: str, line: int, reason: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(given(tmp_path, train__en=en, train__ko=ko), LINES)
    error = caught.value
    assert (error.where, error.line) == (str(tmp_path / file), line)
    assert error.reason.startswith(reason) and error.remedy and "\n" not in str(error)


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("Go.\n", 1, "1 column, expected 2 or 3"),
        ("a\tb\tc\td\n", 1, "4 columns, expected 2 or 3"),
        ("Go.\t가.\nHi.\n", 2, "1 column, the first line has 2"),
        ("Go.\t가.\tx\nHi.\t안녕.\n", 2, "2 columns, the first line has 3"),
        ("Go.\t가.\nHi.\t \n", 2, "the ko side is empty"),
        ("Go.\t가.\n\t안녕.\n", 2, "the en side is empty"),
        ("Go.\t가.\nHi." + "i" * 9_998 + "\t안녕.\n", 2, "a sentence of 10001 characters"),
    ],
)
def test_each_fault_of_a_file_of_columns_is_named(tmp_path: Path, content: str, line: int, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        read(given(tmp_path, pairs=content), COLUMNS)
    error = caught.value
    assert (error.where, error.line) == (str(tmp_path / "pairs"), line)
    assert error.reason.startswith(reason) and error.remedy


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("en\tko\tfr\na\tb\tc\n", 1, "the header is 'en\\tko\\tfr', expected ko, en, fr"),
        ("ko\ten\tfr\n", 1, "no rows below the header"),
        ("ko\ten\tfr\na\tb\n", 2, "2 columns, the first line has 3"),
        ("ko\ten\tfr\na\tb\tc\n\tb\tc\n", 3, "the ko side is empty"),
    ],
)
def test_each_fault_of_a_file_with_a_header_is_named(tmp_path: Path, content: str, line: int, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        read(given(tmp_path, train=content), HEADED)
    assert caught.value.line == line and caught.value.reason.startswith(reason)


def test_pairs_with_an_empty_side_are_dropped_on_request_and_counted(tmp_path: Path) -> None:
    files = given(tmp_path, train__en="a\n\nc\nd\n", train__ko="가\n나\n \n라\n")
    data, notes = read(files, LINES, empty="drop")
    assert texts(data, "train") == [("a", "가"), ("d", "라")]
    assert data.splits["train"].row_id.tolist() == ["train:1", "train:4"], "ids are line numbers"
    assert [(d.split, d.reason, d.rows, d.examples) for d in notes.dropped] == [
        ("train", "an empty side", 2, ["train:2", "train:3"])
    ]


def test_the_official_number_of_rows_is_checked(tmp_path: Path) -> None:
    files = given(tmp_path, train__en="a\nb\n", train__ko="가\n나\n")
    data, _ = read(replace(files, rows={"train.en": 2}), LINES)
    assert len(data.splits["train"]) == 2
    with pytest.raises(InputError, match=r"train\.ko: 2 rows, the official corpus has 3; fetch"):
        read(replace(files, rows={"train.ko": 3}), LINES)


def test_a_missing_collection_is_an_error_unless_it_is_optional(tmp_path: Path) -> None:
    files = given(tmp_path, train__en="a\n", train__ko="가\n", news__en="n\n")
    with pytest.raises(MissingError, match=r"corpus mine: has no news\.ko \(it has train\.en, train\.ko, news\.en\)"):
        read(files, LINES, Collection("news", "train"))
    data, notes = read(files, LINES, Collection("news", "train", optional=True, note="News."))
    assert len(data.splits["train"]) == 1
    assert notes.facts["missing"] == {"news": "News. Not found; continuing without it."}
    assert "news" not in notes.facts["collections"]


def test_collections_of_one_split_are_concatenated(tmp_path: Path) -> None:
    files = given(tmp_path, train__en="a\n", train__ko="가\n", pairs="b\t나\n")
    data, _ = read(files, LINES, replace(COLUMNS, split="train"))
    assert texts(data, "train") == [("a", "가"), ("b", "나")]
    assert data.splits["train"].row_id.tolist() == ["train:1", "pairs:1"]


def test_the_step_needs_files() -> None:
    with pytest.raises(InputError, match="no corpus files are given"):
        ReadPairs("en", "ko", (LINES,)).apply(Bitext(), Context())
