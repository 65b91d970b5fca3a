"""NSMC: strict reading, the repair of doubled quotes, the written files, and the card of the real corpus."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import gluonnlp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from preprocessing import naver
from preprocessing.corpora import locate
from preprocessing.errors import InputError
from preprocessing.pipeline.step import Context
from preprocessing.text import writing
from preprocessing.text.data import Data, Split
from preprocessing.text.pipeline import Result
from preprocessing.text.steps import MarkLeaks

ROOT = Path(naver.__file__).parents[1]
HEADER = b"id\tdocument\tlabel\n"
GOOD = HEADER + "1\t좋다\t1\n2\t나쁘다\t0\n".encode()


@pytest.fixture(scope="module")
def sample() -> Result:
    return naver.prepare("sample", cache=False, processes=1)


def test_a_valid_file(tmp_path: Path) -> None:
    path = tmp_path / "ratings.txt"
    path.write_bytes(HEADER + '7\t"a" \u2028 b\u3000\x85\t1\n8\t\t0\n'.encode())
    split = naver.read_ratings(path, rows=2)
    assert split.row_id.tolist() == ["7", "8"]
    assert split.text.tolist() == ['"a" \u2028 b\u3000\x85', ""]
    assert split.label.tolist() == [1, 0] and split.label.dtype == np.int8


@pytest.mark.parametrize(
    ("content", "line", "reason", "remedy"),
    [
        (b"", 1, "the header is ''", "make it the first line, with tabs"),
        (b"\xef\xbb\xbf" + GOOD, 1, "begins with a byte order mark", "without it"),
        (GOOD.replace(b"\n", b"\r\n"), 1, "Windows line endings", "Unix line endings"),
        ("영화\t평\n".encode(), 1, "the header is '영화\\t평'", "make it the first line, with tabs"),
        (b"document\tlabel\n", 1, "the header is 'document\\tlabel'", "make it the first line, with tabs"),
        (b"1\tx\t1\n", 1, "the header is '1\\tx\\t1'", "add this line if the file begins with a row"),
        (
            b"id,document,label\n",
            1,
            "the header is 'id,document,label'",
            "write the commas between the columns as tabs",
        ),
        (HEADER, 1, "no rows", "fetch"),
        (GOOD + b"3\tx\n", 4, "2 columns, expected 3", "single tabs"),
        (GOOD + b"3\tx\ty\t1\n", 4, "4 columns, expected 3", "single tabs"),
        (GOOD + b"\n", 4, "an empty line", "remove it"),
        (GOOD + b'3\t"x\ny"\t1\n', 4, "2 columns, expected 3", "a quoted text continues in the next line"),
        (GOOD + b"3\tx\n4\ty\tz\t0\n", 4, "2 columns", "single tabs"),
        (GOOD + b"3\tx\t2\n", 4, "label '2', expected 0 or 1", "0 for negative"),
        (GOOD + b"3\tx\t\n", 4, "label ''", "0 for negative"),
        (GOOD + b"3\tx\t10\n", 4, "label '10'", "0 for negative"),
        (GOOD + b"3\tx\t1\r\n", 4, "Windows line endings", "Unix line endings"),
        (GOOD + "3\tx\t가\n".encode(), 4, "label '가'", "0 for negative"),
        (GOOD + b"3\t\xff\t1\n4\ty\t1\n", 4, "invalid UTF-8 (byte 0xff", "UTF-8"),
        (GOOD + "3\t좋".encode()[:-1], 4, "invalid UTF-8", "fetch"),
        (GOOD + b"3\tx\t1", 4, "the last line has no line feed", "fetch"),
        (GOOD + b"3\tx\t1\n", None, "3 rows, the official corpus has 2", "fetch"),
    ],
)
def test_each_fault_is_named_with_its_line(
    tmp_path: Path, content: bytes, line: int | None, reason: str, remedy: str
) -> None:
    path = tmp_path / "ratings_train.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        naver.read_ratings(path, rows=2)
    error = caught.value
    assert (error.where, error.line) == (str(path), line)
    assert error.reason.startswith(reason) and remedy in error.remedy
    assert "\n" not in str(error)


def test_a_fault_leaves_neither_cache_nor_output(tmp_path: Path) -> None:
    (tmp_path / "train").write_bytes(GOOD)
    (tmp_path / "test").write_bytes(GOOD[:-3])
    files = locate.given("mine", {part: tmp_path / part for part in ("train", "test")})
    with pytest.raises(InputError, match="test, line 3: the last line has no line feed"):
        naver.prepare(files)
    assert list(Path(os.environ["GLUON_ATTN_CACHE"]).glob("*.npz")) == []


def test_own_files_of_the_same_layout(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / part).write_bytes(GOOD)
    result = naver.prepare(locate.given("mine", {part: tmp_path / part for part in ("train", "test")}), min_freq=1)
    assert result.test.seen_in_train.all() and result.card["sample"] is False
    assert result.card["corpus"]["files"]["train"]["url"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 0}, "max_length 0: must be at least 1"),
        ({"max_length": np.int64(3)}, "max_length 3: is int64, not int; give a positive whole number"),
        ({"min_freq": 2.5}, "min_freq 2.5: must be a whole number"),
        ({"min_freq": 0}, "min_freq 0: must be at least 1"),
        ({"max_size": -1}, "max_size -1: must be at least 1"),
        ({"text": "raw"}, "text 'raw': no such choice; choose official or repaired"),
        ({"tokenizer": "mecab2"}, "tokenizer 'mecab2': no such choice; choose mecab, okt"),
    ],
)
def test_invalid_parameters_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        naver.pipeline(**options)


def quoted(text: str) -> str:
    written = io.StringIO()
    csv.writer(written, delimiter="\t", lineterminator="").writerow(["1", text])
    return written.getvalue()[2:]


@given(st.text('가"a, ', min_size=1, max_size=12).filter(lambda text: '"' in text))
def test_unquote_inverts_two_quotings(text: str) -> None:
    assert naver.unquote(quoted(quoted(text))) == text


@given(st.text("가a, .", max_size=12))
def test_unquote_does_not_change_unquoted_text(text: str) -> None:
    assert naver.unquote(text) == text == quoted(text)


def test_unquote_by_example() -> None:
    assert naver.unquote('"A" and "B"') == '"A" and "B"', "not quoted: the marks inside are not doubled"
    assert naver.unquote('"""영화 """"정말"""" 좋다"""') == '영화 "정말" 좋다'
    assert [naver.unquote(text) for text in ('"', '""', '"""', '""""')] == ['"', "", '"""', '"']


def test_the_vocabulary_is_learned_from_train_only(sample: Result) -> None:
    words = [sample.train.words(row) for row in range(len(sample.train))]
    counts: dict[str, int] = {}
    for token in (token for row in words for token in row):
        counts[token] = counts.get(token, 0) + 1
    expected = sorted((token for token in counts if counts[token] >= 2), key=lambda token: (-counts[token], token))
    assert sample.vocabulary.idx_to_token[2:] == expected
    for split in sample.splits.values():
        surface = [token for row in range(len(split)) for token in split.words(row)]
        assert split.ids.tolist() == [sample.vocabulary[token] for token in surface]
        assert split.padded(7).shape == (len(split), 7)


def test_results_on_the_sample_are_marked_as_such(sample: Result) -> None:
    assert sample.card["sample"] is True
    rows = {name: len(split) for name, split in sample.splits.items()}
    assert rows == {"train": 295, "validation": 25, "test": 80}


def test_everything_written_is_read_back_without_mxnet(sample: Result, tmp_path: Path) -> None:
    naver.write(sample, tmp_path / "out")
    program = """
import json, sys
sys.modules["mxnet"] = sys.modules["gluonnlp"] = sys.modules["preprocessing"] = None
import numpy as np
from pathlib import Path
out = Path(sys.argv[1])
vocabulary = json.loads((out / "vocab.json").read_text(encoding="utf-8"))["idx_to_token"]
card = json.loads((out / "card.json").read_text(encoding="utf-8"))
seen = {"files": sorted(path.name for path in out.iterdir()), "digest": card["digest"]}
for name in ("train", "validation", "test"):
    arrays = np.load(out / f"{name}.npz", allow_pickle=False)
    lines = (out / f"{name}.tsv").read_text(encoding="utf-8").split("\\n")
    assert lines[0] == "id\\tlabel\\ttokens" and lines[-1] == ""
    for row, line in enumerate(lines[1:-1]):
        row_id, label, tokens = line.split("\\t")
        ids = arrays["ids"][arrays["offsets"][row]:arrays["offsets"][row + 1]]
        assert (row_id, int(label)) == (arrays["row_id"][row], arrays["label"][row])
        known = [token if token in vocabulary else "<unk>" for token in tokens.split(" ")]
        assert [vocabulary[i] for i in ids] == known
        text = bytes(arrays["text_utf8"][arrays["text_offsets"][row]:arrays["text_offsets"][row + 1]]).decode()
        assert "".join(tokens.split()) == "".join(text.split())
    seen[name] = [len(lines) - 2, len(arrays["ids"]), str(arrays["ids"].dtype), int(arrays["seen_in_train"].sum())]
print(json.dumps(seen))
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "out")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    names = [f"{name}.{kind}" for name in ("test", "train", "validation") for kind in ("npz", "tsv")]
    assert seen.pop("files") == sorted([*names, "card.json", "vocab.json"])
    assert seen.pop("digest") == sample.digest
    assert seen == {n: [len(s), len(s.ids), "int32", int(s.seen_in_train.sum())] for n, s in sample.splits.items()}


def test_writing_twice_gives_the_same_bytes_and_gluonnlp_reads_the_vocabulary(sample: Result, tmp_path: Path) -> None:
    naver.write(sample, tmp_path / "a")
    naver.write(sample, tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    vocabulary = gluonnlp.Vocab.from_json((tmp_path / "a" / "vocab.json").read_text(encoding="utf-8"))
    assert vocabulary.idx_to_token == sample.vocabulary.idx_to_token


def test_only_an_earlier_result_is_overwritten_and_only_on_request(sample: Result, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    naver.write(sample, out)
    (out / "more").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="not empty"):
        naver.write(sample, out)
    assert (out / "more").exists()
    naver.write(sample, out, overwrite=True)
    assert not (out / "more").exists() and (out / "card.json").exists()
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="files that are not a result"):
        naver.write(sample, tmp_path, overwrite=True)
    with pytest.raises(InputError, match="is a file"):
        naver.write(sample, tmp_path / "precious", overwrite=True)
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "mine"


def test_a_card_of_something_else_is_no_result(sample: Result, tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text('{"name": "a card of mine"}', encoding="utf-8")
    with pytest.raises(InputError, match="files that are not a result"):
        naver.write(sample, tmp_path, overwrite=True)
    assert (tmp_path / "card.json").exists()


def test_repaired_text_is_split_as_the_official_one(tmp_path: Path) -> None:
    rows = "".join(f'{row}\t"""a ""film"" {row}"""\t{row % 2}\n' for row in range(60))
    for part in ("train", "test"):
        (tmp_path / part).write_text(f"id\tdocument\tlabel\n{rows}", encoding="utf-8")
    files = locate.given("mine", {part: tmp_path / part for part in ("train", "test")})
    official, repaired = (naver.prepare(files, text=text, min_freq=1) for text in ("official", "repaired"))
    for name, split in official.splits.items():
        other = repaired.splits[name]
        assert other.row_id.tolist() == split.row_id.tolist() and other.text[0] != split.text[0]


def test_labels_are_those_of_the_smallest_hashes_and_the_vocabulary_is_that_of_all_texts(sample: Result) -> None:
    few = naver.prepare("sample", labelled=20)
    numbers = [int(hashlib.sha256(text.encode()).hexdigest()[16:24], 16) for text in sample.train.text]
    expected = sorted(sorted(range(len(numbers)), key=numbers.__getitem__)[:20])
    assert few.train.row_id.tolist() == sample.train.row_id[expected].tolist()
    assert few.vocabulary.idx_to_token == sample.vocabulary.idx_to_token


def test_a_trained_tokenizer_is_written_too(tmp_path: Path) -> None:
    result = naver.prepare("sample", tokenizer="sentencepiece", cache=False)
    naver.write(result, tmp_path / "out")
    assert (tmp_path / "out" / "tokenizer.model").read_bytes() == result.tokenizer.state()


def test_a_failed_write_leaves_nothing(sample: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, value: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(writing, "write_json", fail)
    with pytest.raises(InputError, match="no space"):
        naver.write(sample, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.corpus("nsmc")
def test_the_card_of_nsmc_reports_its_known_issues() -> None:
    result = naver.prepare("nsmc", processes=2)
    facts, steps = result.card["facts"], {step["name"]: step for step in result.card["steps"]}
    train, test = facts["survey"]["train"], facts["survey"]["test"]
    counted = ("rows", "empty", "doubled_quotes", "duplicate_rows")
    assert [train[count] for count in counted] == [150_000, 5, 623, 3_817]
    assert [test[count] for count in counted] == [50_000, 3, 233, 842]
    assert train["labels"] == {"0": 75_173, "1": 74_827} and test["labels"] == {"0": 24_827, "1": 25_173}
    as_read, leaks = facts["leaks_as_read"], facts["leaks"]
    assert (as_read["rows"], as_read["empty"], as_read["label_of_last_copy_agrees"]) == (1_571, 3, 1_379)
    assert (as_read["label_of_a_copy_agrees"], leaks["rows"], leaks["empty"]) == (1_502, 1_568, 0)
    assert int(result.test.seen_in_train.sum()) == 1_568
    assert [(d["split"], d["rows"]) for d in steps["drop-empty"]["dropped"]] == [("train", 5), ("test", 3)]
    assert {name: len(split) for name, split in result.splits.items()} == {
        "train": 134_980,
        "validation": 15_015,
        "test": 49_997,
    }
    assert not set(result.validation.text) & set(result.train.text)
    assert facts["lengths"]["train"]["percentiles"]["50"] == 14 and facts["lengths"]["train"]["percentiles"]["99"] <= 72
    at_30 = next(entry for entry in facts["truncation"] if entry["max_length"] == 30)["splits"]["test"]
    lengths = result.test.lengths
    assert at_30["rows_cut"] == int((lengths > 30).sum()) > 0
    assert at_30["tokens_cut"] == int((lengths - 30).clip(0).sum()) > 0
    for name in ("validation", "test"):
        assert facts["unknown"][name]["unknown"] == int((result.splits[name].ids == 0).sum()) > 0
    assert facts["unknown"]["train"]["unknown"] < facts["vocabulary"]["types_in_train"]


@pytest.mark.slow
@pytest.mark.corpus("nsmc")
def test_the_repaired_text_equals_the_crawl() -> None:
    with tarfile.open(locate.find("nsmc-raw").paths["raw"]) as archive:
        crawl: dict[str, set[str]] = {}
        for member in archive:
            if member.isfile():
                for review in json.load(archive.extractfile(member)):  # type: ignore[arg-type]
                    if '"' in review["review"]:
                        crawl.setdefault(review["review_id"], set()).add(re.sub(r"\s+", " ", review["review"]))
    files = locate.find("nsmc")
    agreeing = []
    for part in ("train", "test"):
        split = naver.read_ratings(files.paths[part])
        rows = [row for row, text in enumerate(split.text) if '"' in text]
        agreeing.append(sum(naver.unquote(split.text[row]) in crawl[split.row_id[row]] for row in rows))
        assert agreeing[-1] == len(rows)
    assert agreeing == [623, 233]


def test_a_test_text_is_seen_in_train_also_if_its_copy_is_held_out() -> None:
    splits = {"train": Split.of(["a", "b"]), "validation": Split.of(["c"]), "test": Split.of(["b", "c", "d"])}
    data, notes = MarkLeaks().apply(Data(splits), Context())
    assert data.splits["test"].seen_in_train.tolist() == [True, True, False]
    assert notes.facts["leaks"]["rows"] == 2
