"""Answers to lines of a file or of standard input, with the network that comes with the repository."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from reproductions.cli import answers
from tests.reproductions.support import gluon_attn

TEXTS = ["정말 재미있는 영화", "", "최악", "음악은 좋지만 이야기는 지루하고 배우들도 어색하다", "   ", "좋다"]
PREDICT = ("predict", "naver_self_attention")


@pytest.fixture(autouse=True)
def without_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return path


def test_line_n_of_the_output_file_answers_line_n_of_the_input(questions: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.txt"
    done = gluon_attn(*PREDICT, "--input", questions, "--output", answers)
    assert done.code == 0 and done.out == f"written: {answers}\n", done.err
    lines = answers.read_text(encoding="utf-8").split("\n")
    assert len(lines) == len(TEXTS) + 1 and lines[-1] == ""
    assert [bool(line) for line in lines[:-1]] == [bool(text.strip()) for text in TEXTS]
    assert lines[0].startswith("positive\t") and lines[2].startswith("negative\t")
    piped = gluon_attn(*PREDICT, stdin=questions.read_bytes())
    assert piped.out == answers.read_text(encoding="utf-8")


def test_the_answer_does_not_depend_on_the_batch(questions: Path) -> None:
    alone, together = (gluon_attn(*PREDICT, "--input", questions, "--batch-size", size) for size in (1, 500))
    of_alone, of_together = (
        [line.split("\t") for line in answer.out.splitlines() if line] for answer in (alone, together)
    )
    assert [label for label, _ in of_alone] == [label for label, _ in of_together]
    for (_, one), (_, other) in zip(of_alone, of_together, strict=True):
        assert float(one) == pytest.approx(float(other), abs=2e-4)


def test_json_has_an_object_for_each_line(questions: Path) -> None:
    answer = gluon_attn(*PREDICT, "--input", questions, "--json", "--weights")
    records = [json.loads(line) for line in answer.out.splitlines()]
    assert [record["line"] for record in records] == [1, 2, 3, 4, 5, 6]
    assert [record["text"] for record in records] == [text.strip() for text in TEXTS]
    assert records[1]["label"] is None and records[4]["label"] is None
    first = records[0]
    assert first["label"] == "positive" and first["probability"] == first["probabilities"]["positive"]
    assert sum(first["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert len(first["tokens"]) == len(first["weights"]) > 2


def test_a_line_that_is_not_utf8_leaves_no_output_file(tmp_path: Path) -> None:
    (tmp_path / "questions.txt").write_bytes("좋다\n".encode() + b"caf\xe9\n")
    refusal = gluon_attn(*PREDICT, "--input", "questions.txt", "--output", "answers.txt").refusal
    assert refusal.startswith("questions.txt, line 2: not UTF-8")
    assert [path.name for path in tmp_path.iterdir()] == ["questions.txt"]
    (tmp_path / "questions.txt").write_bytes("좋은 영화\n".encode("cp949"))
    assert "it looks like CP949 (EUC-KR)" in gluon_attn(*PREDICT, "--input", "questions.txt").refusal


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--input", "none.txt"), "none.txt: no such file; name a text file"),
        (("--input", "."), ".: is not a regular file; name a text file"),
        (("--output", "."), ".: is a directory; name a file for the answers"),
    ],
)
def test_files_that_cannot_be_read_or_written_are_refused(options: tuple[str, ...], reason: str) -> None:
    assert gluon_attn(*PREDICT, *options).refusal == reason


def test_the_answers_do_not_replace_the_questions(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to(questions)
    refusal = gluon_attn(*PREDICT, "--input", questions, "--output", tmp_path / "link.txt").refusal
    assert refusal == f"{tmp_path / 'link.txt'}: is also the input; name another file for the answers"
    assert questions.read_text(encoding="utf-8").split("\n")[:-1] == list(TEXTS)


def test_options_that_name_another_network_than_model_are_refused() -> None:
    refusal = gluon_attn(*PREDICT, "--model", "folder", "--seed", "2", "--runs", "elsewhere").refusal
    assert refusal == "--model names a network, and so its variant and seed; leave out --seed and --runs"
    assert gluon_attn(*PREDICT, "--model", "folder", "--preset", "smoke").refusal.endswith("leave out --preset")


def test_a_pipe_is_not_replaced_by_the_answers(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file; name a file for the answers" in gluon_attn(*PREDICT, "--output", "pipe").refusal
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_to_an_open_file_is_not_replaced_by_the_answers() -> None:
    refusal = gluon_attn(*PREDICT, "--output", "/dev/stdout").refusal
    assert refusal == "/dev/stdout: is not a regular file; name a file for the answers"
    assert Path("/dev/stdout").is_symlink()


def test_the_answers_are_in_the_file_that_a_link_points_to(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to("answers.txt")
    gluon_attn(*PREDICT, "--input", questions, "--output", "link.txt")
    lines = (tmp_path / "answers.txt").read_text(encoding="utf-8").splitlines()
    assert (tmp_path / "link.txt").is_symlink() and len(lines) == len(TEXTS)


def test_a_closed_standard_input_is_refused() -> None:
    """As of ``gluon-attn predict ... <&-``."""
    refusal = gluon_attn(*PREDICT, stdin=None).refusal
    assert refusal == "standard input is closed; name a file with --input"


def test_a_closed_standard_output_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of ``gluon-attn predict ... >&-``."""
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(UsageError, match=r"^standard output is closed; name a file with --output$"):
        answers._write(["an answer"], None)


@pytest.mark.parametrize(
    ("command", "where"),
    [
        (PREDICT, "reproductions.protocol.loading.load_directory"),
        (("preprocess", "naver", "--sample", "--out", "out"), "preprocessing.pipeline.pipeline.Pipeline.run"),
    ],
)
def test_ctrl_c_ends_in_a_line_without_an_option_that_the_command_lacks(
    command: tuple[str, ...], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    answer = gluon_attn(*command)
    assert (answer.code, answer.out, answer.err.strip()) == (130, "", "gluon-attn: interrupted")
