"""The crawl as text for word vectors: excluded and held-out reviews, every invalid input, and the real crawl."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from preprocessing import naver, naver_crawl
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.crawl_reading import read_crawl
from preprocessing.errors import InputError
from preprocessing.text.pipeline import Result

# Pinned: when this changes, raise the version of the step that changed.
SAMPLE_DIGEST = "1603dda2947f4eedf04e077a5d23f7f789f3658a8c1e96b028ba023ff12c481c"

Rows = list[tuple[str, str, str]]  # review_id, review, rating


def film(rows: Rows) -> bytes:
    reviews = [{"review_id": number, "review": text, "rating": rating} for number, text, rating in rows]
    return json.dumps(reviews, ensure_ascii=False).encode("utf-8")


def archive(path: Path, films: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:xz") as tar:
        for name, content in films.items():
            member = tarfile.TarInfo(f"raw/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def number(text: str, digits: slice) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[digits], 16)


def chosen_by(digits: slice, one_in: int, wanted: int, word: str) -> str:
    """A text of this word and a number, whose SHA-256 falls into the wanted split."""
    texts = (f"{word} {count}" for count in range(10_000))
    return next(text for text in texts if number(text, digits) % one_in == wanted)


FIRST, SECOND = slice(0, 8), slice(8, 16)
IN_VALIDATION = chosen_by(FIRST, 10, 0, "검증")  # Of NSMC.
IN_TRAIN = next(text for text in (chosen_by(SECOND, 3, 2, f"훈련 {n}") for n in range(99)) if number(text, FIRST) % 10)
QUOTED = 'he said "go" twice'
HELD_OUT = [chosen_by(SECOND, 3, part, "영화") for part in (0, 1)]
FILMS = {
    # As strings the names order 10.json, 9.json.
    "9.json": film(
        [
            ("1", HELD_OUT[0], "10"),
            ("2", chosen_by(SECOND, 3, 2, "좋다"), "5"),
            ("3", " \t ", "1"),
            ("4", IN_VALIDATION, "9"),
            ("5", QUOTED, "3"),
        ]
    ),
    "10.json": film(
        [
            ("6", HELD_OUT[1].replace(" ", "\r\n\t"), "4"),
            ("7", IN_TRAIN, "9"),
            ("8", "시험 글", "8"),
            ("9", "시험글", "2"),
            ("10", IN_VALIDATION.replace(" ", "  "), "1"),
        ]
    ),
}
OFFICIAL = {
    "train": f"id\tdocument\tlabel\n4\t{IN_VALIDATION}\t1\n7\t{IN_TRAIN}\t1\n70\t\t0\n",
    "test": 'id\tdocument\tlabel\n8\t시험 글\t1\n5\t"""he said """"go"""" twice"""\t0\n60\t없는 글\t0\n',
}


def own(root: Path, films: dict[str, bytes] | None = None, **official: str) -> CorpusFiles:
    paths = {"raw": archive(root / "raw.tar.xz", FILMS if films is None else films)}
    for part, content in (OFFICIAL | official).items():
        paths[part] = root / part
        paths[part].write_text(content, encoding="utf-8", newline="\n")
    return locate.given("mine", paths)


def prepared(files: CorpusFiles, **options: Any) -> Result:
    return naver_crawl.prepare(files, **{"one_in": 3, "min_freq": 1, "cache": False, "processes": 1, **options})


def test_a_small_crawl_by_hand(tmp_path: Path) -> None:
    result = prepared(own(tmp_path))
    ids = {name: split.row_id.tolist() for name, split in result.splits.items()}
    assert ids == {"train": ["7", "2"], "validation": ["1"], "test": ["6"]}
    assert [split.label.tolist() for split in result.splits.values()] == [[1, -1], [1], [0]]
    assert result.test.text.tolist() == [HELD_OUT[1]], "each run of white space is one space"
    facts = result.card["facts"]
    assert facts["left_out"] == {
        "test": {"official_rows": 3, "of_them_empty": 0, "of_them_in_the_crawl": 2, "reviews_left_out": 3},
        "validation": {"official_rows": 2, "of_them_empty": 1, "of_them_in_the_crawl": 1, "reviews_left_out": 2},
    }
    assert facts["crawl"]["films"] == 2 and facts["crawl"]["reviews_without_label"] == 2
    assert facts["survey"]["crawl"]["rows"] == 10
    steps = {step["name"]: step for step in result.card["steps"]}
    assert list(steps) == ["read-crawl", "drop-empty", "leave-out", "hold-out", "tokenize", "vocabulary", "encode"]
    assert [(one["reason"], one["examples"]) for one in steps["leave-out"]["dropped"]] == [
        ("text occurs in the test split of NSMC", ["8", "9", "5"]),
        ("text occurs in the validation split of NSMC", ["10", "4"]),
    ]
    assert steps["drop-empty"]["dropped"][0]["examples"] == ["3"]


def test_archive_folder_and_cache_give_the_same_bytes(tmp_path: Path) -> None:
    files = own(tmp_path)
    (tmp_path / "raw").mkdir()
    for name, content in FILMS.items():
        (tmp_path / "raw" / name).write_bytes(content)
    folder = locate.given("mine", {**files.paths, "raw": tmp_path / "raw"}, folders=True)
    digests = [prepared(one, cache=cache).digest for one in (files, folder) for cache in (False, True, True)]
    assert len(set(digests)) == 1


def test_duplicates_of_a_held_out_text_are_held_out(tmp_path: Path) -> None:
    texts = 3 * [f"글 {count}" for count in range(40)]
    copies = {"1.json": film([(str(row), text, "10") for row, text in enumerate(texts)])}
    result = prepared(own(tmp_path, copies), one_in=4)
    train, validation, test = (set(split.text) for split in result.splits.values())
    assert len(train) + len(validation) + len(test) == 40 == sum(map(len, result.splits.values())) / 3
    assert {number(text, SECOND) % 4 for text in validation} == {0}
    assert {number(text, SECOND) % 4 for text in test} == {1}
    assert {number(text, SECOND) % 4 for text in train} == {2, 3}


@pytest.mark.parametrize(
    ("films", "official", "reason"),
    [
        ({"1.json": b"[{"}, {}, "raw.tar.xz:raw/1.json: not JSON"),
        ({"1.json": film([("1", "a", "9"), ("2", "b", "11")])}, {}, "1.json: review 2 has the rating '11'"),
        ({"notes": b""}, {}, "raw.tar.xz: contains no <movie id>.json"),
        ({"1.json": film([("1", "가", "9")])}, {}, "step hold-out: of 1 reviews none is left for"),
        (None, {"test": "id\tdocument\tlabel\n1\tx\t2\n"}, "test, line 2: label '2', expected 0 or 1"),
        (None, {"train": "id\tdocument\n"}, "train, line 1: the header is"),
    ],
)
def test_each_fault_is_named_with_its_location_and_leaves_nothing(
    films: dict[str, bytes] | None, official: dict[str, str], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        prepared(own(tmp_path, films, **official), cache=True)
    assert reason in str(caught.value) and "\n" not in str(caught.value)
    assert list(Path(os.environ["GLUON_ATTN_CACHE"]).glob("*.npz")) == []


def test_another_crawl_is_not_accepted_as_the_official_one(tmp_path: Path) -> None:
    files = own(tmp_path)
    sha256 = read_crawl(files.paths["raw"]).sha256
    assert len(prepared(replace(files, rows={"raw": 10}, contents={"raw": sha256})).splits) == 3
    with pytest.raises(InputError, match=r"raw\.tar\.xz: 10 reviews, the official corpus has 712404; fetch it again"):
        prepared(replace(files, rows={"raw": 712_404}))
    with pytest.raises(InputError, match=f"SHA-256 of its films is {sha256}, the official crawl has 00"):
        prepared(replace(files, contents={"raw": "0" * 64}))


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    files = own(tmp_path).only(["raw"])
    with pytest.raises(InputError, match="corpus mine: has no train and no test; give all of raw, train, test"):
        prepared(files)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_freq": 0}, "min_freq 0: must be at least 1"),
        ({"max_size": 0}, "max_size 0: must be at least 1"),
        ({"one_in": 2}, "one_in 2: must be at least 3"),
        ({"tokenizer": "mecab2"}, "tokenizer 'mecab2': no such choice"),
    ],
)
def test_invalid_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        naver_crawl.pipeline(**options)


def test_the_sample_with_and_without_the_cache() -> None:
    result, again = (naver_crawl.prepare("sample", one_in=10, min_freq=1) for _ in range(2))
    assert result.digest == again.digest == SAMPLE_DIGEST and result.card["sample"] is True
    assert result.card["corpus"]["name"] == "sample"
    assert {name: len(split) for name, split in again.splits.items()} == {"train": 280, "validation": 32, "test": 32}
    left_out = result.card["facts"]["left_out"]
    assert left_out["test"]["official_rows"] == left_out["test"]["of_them_in_the_crawl"] == 80
    assert left_out["test"]["reviews_left_out"] == 82, "two are duplicates by other users, one with other spacing"
    official = naver.prepare("sample", cache=False, processes=1)
    ours = {row for split in result.splits.values() for row in split.row_id}
    assert not ours & {*official.test.row_id, *official.validation.row_id}
    assert set(official.train.row_id) <= ours


def test_without_the_official_files_the_crawl_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    (tmp_path / "nsmc" / "raw").mkdir(parents=True)
    with pytest.raises(InputError, match="corpus nsmc is missing"):
        naver_crawl.files()


@pytest.mark.slow
@pytest.mark.corpus("nsmc")
def test_the_card_of_the_crawl() -> None:
    """With the fastest tokenizer: nothing that is counted here depends on tokens."""
    result = naver_crawl.prepare("nsmc-raw", tokenizer="whitespace")
    facts = result.card["facts"]
    assert facts["crawl"]["films"] == 14_730 and facts["survey"]["crawl"]["rows"] == 712_404
    left_out = facts["left_out"]
    for name, official in naver.prepare("nsmc", tokenizer="whitespace").splits.items():
        if name == "train":
            continue
        # Every row that is not empty is found, so no held-out text can remain.
        counts = left_out[name]
        assert counts["official_rows"] == counts["of_them_in_the_crawl"] + counts["of_them_empty"]
        assert counts["official_rows"] - counts["of_them_empty"] == len(official)
        ids = set(official.row_id)
        texts = {"".join(naver.unquote(text).split()) for text in official.text}
        for split in result.splits.values():
            assert not ids.intersection(split.row_id)
            assert not any("".join(text.split()) in texts for text in split.text)
    rows = [len(split) for split in result.splits.values()]
    dropped = [one["rows"] for step in result.card["steps"] for one in step["dropped"]]
    assert (rows, dropped) == ([620_508, 6_334, 6_353], [21, 63_981, 15_207])
    assert sum(rows) + sum(dropped) == 712_404
