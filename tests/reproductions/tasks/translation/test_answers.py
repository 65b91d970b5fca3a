"""The command that translates lines, end to end on the embedded sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gluon_attn.decoding.beam_search import length_penalty
from reproductions.protocol import papers
from tests.reproductions.support import gluon_attn


@pytest.fixture(scope="module")
def flags(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Options of a small network that was trained from Korean to English."""
    flags = ["--preset", "smoke", "--variant", "rnnsearch-ko-en", "--runs", tmp_path_factory.mktemp("runs")]
    trained = gluon_attn("run", "bahdanau2014", *flags, "--jobs", "1")
    assert trained.code == 0, trained.err
    assert "MEAN NOTHING" in trained.out and "rnnsearch-ko-en" in trained.out
    return flags


def test_each_line_is_translated_and_aligned(flags: list[object], tmp_path: Path) -> None:
    lines = "아이가 앉아 있다.\n\n기차가 떠났다.\n".encode()
    folder = tmp_path / "alignments"
    answer = gluon_attn("translate", "bahdanau2014", *flags, "--alignments", folder, stdin=lines)
    assert answer.code == 0, answer.err
    assert answer.out.count("\n") == 3 and answer.out.split("\n")[1] == ""
    records = [json.loads(line) for line in (folder / "alignments.jsonl").read_text("utf-8").splitlines()]
    assert [record["line"] for record in records] == [1, 3]
    assert all((folder / f"line-{record['line']}.png").stat().st_size > 1_000 for record in records)
    assert all(len(row) == len(record["source"]) for record in records for row in record["weights"])
    assert all(len(record["weights"]) == len(record["target"]) for record in records)
    again = gluon_attn("translate", "bahdanau2014", *flags, "--alignments", folder, stdin=lines)
    assert "is there already" in again.refusal or "exists" in again.refusal


def test_lines_without_a_token_of_the_vocabulary_are_named(flags: list[object]) -> None:
    """Their translations are inventions."""
    answer = gluon_attn("translate", "bahdanau2014", *flags, stdin="아이가 앉아 있다.\n\u200b\n".encode())
    assert answer.code == 0 and answer.out.count("\n") == 2
    assert answer.err.endswith("line 2: no token is in the vocabulary\n")


def test_alignments_are_complete_or_absent(flags: list[object], tmp_path: Path) -> None:
    folder, options = tmp_path / "alignments", ("translate", "bahdanau2014", *flags, "--batch-size", "1")
    failed = gluon_attn(*options, "--alignments", folder, stdin="아이가 앉아 있다.\n".encode() + b"caf\xe9\n")
    assert failed.code == 2 and "line 2: not UTF-8" in failed.err and failed.out.count("\n") == 1
    assert not list(tmp_path.iterdir())
    again = gluon_attn(*options, "--alignments", folder, stdin="아이가 앉아 있다.\n".encode())
    assert again.code == 0 and len((folder / "alignments.jsonl").read_text("utf-8").splitlines()) == 1, again.err


def test_long_lines_are_truncated_and_have_no_heatmap(flags: list[object], tmp_path: Path) -> None:
    lines = b"\n".join("가 ".encode() * number for number in (90, 600)) + "\n아이가 앉아 있다.\n".encode()
    answer = gluon_attn("translate", "bahdanau2014", *flags, "--alignments", tmp_path / "long", stdin=lines)
    assert answer.code == 0 and answer.out.count("\n") == 3, answer.err
    assert "line 1: too long for a heatmap" in answer.err
    assert "line 2: 600 tokens, only the first 500 are translated" in answer.err
    assert len((tmp_path / "long" / "alignments.jsonl").read_text("utf-8").splitlines()) == 3
    assert [path.name for path in (tmp_path / "long").glob("*.png")] == ["line-3.png"]


def test_each_line_has_its_likeliest_translations_in_order(flags: list[object], tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("아이가 앉아 있다.\n\n기차가 떠났다.\n", encoding="utf-8")
    options = ("bahdanau2014", *flags, "--input", questions, "--beam", 4, "--n-best", 3)
    answer = gluon_attn("translate", *options)
    assert [line.count("\t") for line in answer.out.splitlines()] == [2, 0, 2], answer.err
    records = [json.loads(line) for line in gluon_attn("translate", *options, "--json").out.splitlines()]
    assert [record["line"] for record in records] == [1, 2, 3] and records[1]["translations"] == []
    shown = ["\t".join(one["text"] for one in record["translations"]) for record in records]
    assert shown == answer.out.splitlines()
    likelihoods = [one["log_p"] for one in records[0]["translations"]]
    assert len(set(likelihoods)) == 3 and all(value < 0 for value in likelihoods)
    alpha = papers.load("bahdanau2014").preset("smoke").variant("rnnsearch-ko-en").settings.alpha
    for record in records:
        lengths = [len(one["tokens"]) + 1 for one in record["translations"]]  # with the end of sentence
        scores = [
            one["log_p"] / length_penalty(length, alpha)
            for one, length in zip(record["translations"], lengths, strict=True)
        ]
        assert scores == sorted(scores, reverse=True)
    greedy, narrow = (gluon_attn("translate", *options[:-4], "--beam", beam).out for beam in (1, 4))
    assert greedy.count("\n") == narrow.count("\n") == 3
    assert narrow.splitlines()[0] == records[0]["translations"][0]["text"]
    refused = gluon_attn("translate", *options[:-4], "--beam", 2, "--n-best", 3)
    assert refused.code == 2 and "--n-best 3: a beam of 2 has no more than 2; raise --beam" in refused.err


def test_lines_that_are_not_utf8_are_refused(flags: list[object]) -> None:
    answer = gluon_attn("translate", "bahdanau2014", *flags, stdin=b"caf\xe9\n")
    assert answer.code == 2 and "line 1: not UTF-8" in answer.err
