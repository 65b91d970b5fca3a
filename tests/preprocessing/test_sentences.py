"""Sentences in official splits: strict reading, duplicates between splits, and the card of SST."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from preprocessing import sentences
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.errors import InputError
from preprocessing.text.pipeline import Result

GOOD = "1 a fine film .\n0 a bad film .\n"

# Pinned: when these change, raise the version of the step that changed.
SAMPLE_DIGESTS = {
    2: "a9a0cfd345c403f7fb2315d7384c8b2d04083783f62831610d19bc3fb3e48b84",
    5: "e7089e5aeeb3fdb966bc608932429865f73c4524109488372243bb309b3c4698",
}


def own(root: Path, **contents: str | bytes) -> CorpusFiles:
    """Your own files; a split that is not given has ``GOOD``."""
    paths = {}
    for split in ("train", "validation", "test"):
        paths[split] = root / split
        content = contents.get(split, GOOD)
        paths[split].write_bytes(content if isinstance(content, bytes) else content.encode())
    return locate.given("mine", paths)


def prepared(files: CorpusFiles, **options: Any) -> Result:
    return sentences.prepare(files, cache=False, processes=1, **{"min_freq": 1, **options})


def test_a_valid_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("4 crème brûlée\u00a0!\n0  two\tspaces \n2 \n".encode())
    split = sentences.read_sentences(path, classes=5, rows=3)
    assert split.text.tolist() == ["crème brûlée\u00a0!", " two\tspaces ", ""]
    assert split.label.tolist() == [4, 0, 2] and split.label.dtype == np.int8
    assert split.row_id.tolist() == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("content", "line", "reason", "remedy"),
    [
        (b"", 1, "no lines", "fetch"),
        (b"\xef\xbb\xbf1 a\n", 1, "begins with a byte order mark", "without it"),
        (b"1 a\r\n", 1, "Windows line endings", "Unix line endings"),
        (b"1 a", 1, "the last line has no line feed", "add it"),
        (b"1 a\n2 b\n", 2, "label '2', expected 0 to 1", "one of 0, 1 and one space"),
        (b"1 a\n10 b\n", 2, "label '10'", "one space"),
        (b"1 a\n1\tb\n", 2, "label '1\\tb'", "one space"),
        (b"1 a\npos b\n", 2, "label 'pos'", "one space"),
        (b"1 a\n\n", 2, "label ''", "one space"),
        ("1 a\n١ b\n".encode(), 2, "label '١'", "one space"),
        (b"1 a\n0 \xff\n", 2, "invalid UTF-8 (byte 0xff", "UTF-8"),
        (b"1 a\n0 b\n1 c\n", None, "3 rows, the official corpus has 2", "fetch"),
    ],
)
def test_each_fault_is_named_with_its_line(
    content: bytes, line: int | None, reason: str, remedy: str, tmp_path: Path
) -> None:
    path = tmp_path / "stsa.binary.dev"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        sentences.read_sentences(path, classes=2, rows=2)
    assert (caught.value.where, caught.value.line) == (str(path), line)
    assert caught.value.reason.startswith(reason) and remedy in caught.value.remedy
    assert "\n" not in str(caught.value)


def test_a_fault_leaves_no_cache(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="test, line 1: label 'x'"):
        sentences.prepare(own(tmp_path, test="x y\n"))
    assert list(Path(os.environ["GLUON_ATTN_CACHE"]).glob("*.npz")) == []


def test_the_splits_are_those_of_the_files_and_duplicates_are_marked(tmp_path: Path) -> None:
    files = own(
        tmp_path,
        train="1 a b\n0 a b\n0 c\n1 \n",
        validation="1 c\n1 d\n",
        test="1 a b\n0 d\n1 e\n0  \n",
    )
    result = prepared(files)
    assert {name: split.text.tolist() for name, split in result.splits.items()} == {
        "train": ["a b", "a b", "c"],
        "validation": ["c", "d"],
        "test": ["a b", "d", "e"],
    }
    assert result.validation.seen_in_train.tolist() == [True, False]
    assert result.test.seen_in_train.tolist() == [True, False, False]
    copies = result.card["facts"]["copies"]
    assert [copies[which]["rows"] for which in ("validation in train", "test in train", "test in validation")] == [
        1
    ] * 3
    assert copies["test in train"]["label_of_a_copy_agrees"] == 1
    assert copies["test in train"]["label_of_all_copies_agrees"] == 0
    dropped = next(step for step in result.card["steps"] if step["name"] == "drop-empty")["dropped"]
    assert [(drop["split"], drop["rows"], drop["examples"]) for drop in dropped] == [
        ("train", 1, ["4"]),
        ("test", 1, ["4"]),
    ]
    assert result.card["facts"]["survey"]["train"]["texts_with_both_labels"] == 1
    assert "doubled_quotes" not in result.card["facts"]["survey"]["train"]
    assert result.vocabulary.idx_to_token == ["<unk>", "<pad>", "a", "b", "c"]
    assert result.test.padded().tolist() == [[2, 3], [0, 1], [0, 1]]


@given(st.lists(st.tuples(st.integers(0, 4), st.text("ab .é", max_size=8)), min_size=1, max_size=8))
def test_any_labelled_text_is_read_verbatim(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str]]
) -> None:
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_text("".join(f"{label} {text}\n" for label, text in rows), encoding="utf-8", newline="\n")
    split = sentences.read_sentences(path, classes=5)
    assert list(zip(split.label.tolist(), split.text.tolist(), strict=True)) == rows


@pytest.mark.parametrize("classes", [2, 5])
def test_the_sample(classes: int) -> None:
    result = sentences.prepare("sample", classes=classes)
    assert result.digest == SAMPLE_DIGESTS[classes] and result.card["sample"] is True
    assert sentences.prepare(f"sample sst-{classes}").digest == result.digest
    assert set(result.train.label.tolist()) == set(range(classes))
    again = sentences.prepare("sample", classes=classes)
    assert again.test.words(0) == result.test.words(0) == result.test.text[0].split()
    assert (again.encode(result.test.text.tolist()).ids == result.test.ids).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": 1}, "classes 1: must be from 2 to 10"),
        ({"classes": 11}, "classes 11: must be from 2 to 10"),
        ({"max_length": 0}, "max_length 0: must be at least 1"),
        ({"min_freq": 0}, "min_freq 0: must be at least 1"),
    ],
)
def test_invalid_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sentences.pipeline(**options)


def test_written_files_have_no_sentence_bounds(tmp_path: Path) -> None:
    result = sentences.prepare("sample", classes=5, max_length=4)
    sentences.write(result, tmp_path / "out")
    with np.load(tmp_path / "out" / "test.npz") as arrays:
        assert (arrays["ids"] == result.test.ids).all() and "sentence_offsets" not in arrays
    header, first, *_ = (tmp_path / "out" / "test.tsv").read_text(encoding="utf-8").split("\n")
    assert header == "id\tlabel\ttokens" and len(first.split("\t")[2].split(" ")) == 4


@pytest.mark.corpus("sentence_classification")
@pytest.mark.parametrize(
    ("corpus", "rows", "words", "types", "digest"),
    [
        (
            "sst-2",
            [6_920, 872, 1_821],
            [133_555, 17_046, 35_023],
            7_142,
            "5aba2954e8201d9a423eeae408b8f5c449a7cb85e74102d75d4d486b671ed17f",
        ),
        (
            "sst-5",
            [8_544, 1_101, 2_210],
            [163_566, 21_274, 42_405],
            8_217,
            "e8c475360886b4253fb016ca5226adcb1506c4c59645f6f43139bf3ac0ed319c",
        ),
    ],
)
def test_the_card_of_sst(corpus: str, rows: list[int], words: list[int], types: int, digest: str) -> None:
    result = sentences.prepare(corpus, processes=1)
    assert [len(split) for split in result.splits.values()] == rows
    assert [len(split.ids) for split in result.splits.values()] == words
    assert (len(result.vocabulary), result.digest) == (types, digest)
    copies = result.card["facts"]["copies"]
    assert [copies[f"{split} in train"]["rows"] for split in ("validation", "test")] == [0 if types < 8_000 else 2, 2]
    assert int(result.test.seen_in_train.sum()) == 2 and copies["test in validation"]["rows"] == 0
    assert all(text == text.lower() for split in result.splits.values() for text in split.text)
