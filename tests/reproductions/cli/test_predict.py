"""Answers of a trained network to lines of standard input."""

from __future__ import annotations

import pytest

from tests.reproductions.cli.project import Project
from tests.reproductions.support import Answer


def test_predict_answers_each_line(trained: tuple[Project, Answer]) -> None:
    answer = trained[0].command("predict", stdin=b"0.9 0.9\n\n   \n-0.9 0.9\r\n-0.9 -0.9")
    assert answer.code == 0, answer.err
    lines = answer.out.split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, True, False]
    assert {line for line in lines if line} <= {"0", "1"}
    assert "MEAN NOTHING" in answer.err
    nothing = trained[0].command("predict", stdin=b"")
    said = "standard input: no line to answer; each line gets one answer\n"
    assert (nothing.code, nothing.out) == (0, "") and said in nothing.err and said not in answer.err


def test_predict_uses_the_first_variant_of_the_headline_or_another(trained: tuple[Project, Answer]) -> None:
    project, _ = trained
    assert project.command("predict", "--variant", "straight", stdin=b"1 1").code == 0
    refusal = project.command("predict", "--variant", "pretrained", stdin=b"1 1").refusal
    assert "pretrained with seed 1 has not been trained yet. Train it with: gluon-attn run" in refusal
    assert f"{project.script} --preset smoke --variant pretrained --seed 1 --runs " in refusal
    assert "curved with seed 2 has not been trained" in project.command("predict", "--seed", 2).refusal


def test_predict_refuses_invalid_utf8_after_the_lines_before_it(trained: tuple[Project, Answer]) -> None:
    answer = trained[0].command("predict", stdin="1 1\n영화\n".encode("euc-kr"))
    assert (answer.code, answer.out.count("\n")) == (2, 1)
    assert answer.err.splitlines()[-1].startswith("gluon-attn: standard input, line 2: not UTF-8")


@pytest.mark.parametrize("command", ["neighbours", "perplexity", "translate"])
def test_a_command_of_another_task_names_that_of_the_paper(trained: tuple[Project, Answer], command: str) -> None:
    project, _ = trained
    refusal = project.command(command).refusal
    assert refusal == f"{project.script} curved: its task is quadrants; use gluon-attn predict {project.script}"
