"""Without --variant: every paper has a network to name, and an included one answers in a new process anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reproductions.cli.network import NetworkOptions, tell_which
from reproductions.protocol import papers
from reproductions.protocol.models import included_models
from reproductions.protocol.results import Result
from tests.reproductions.support import DRAWING, ROOT, gluon_attn

COMMANDS = {"predict": 1, "translate": 1, "neighbours": 1, "perplexity": 1, "caption": 0, "classify": 0}
"""Whether the paper is an argument; where images are, it is an option."""
LINES = {"naver_self_attention": "정말 재미있는 영화", "bahdanau2014": "아이가 앉아 있다."}


@pytest.mark.parametrize("paper", papers.names())
def test_the_command_of_a_paper_answers_or_names_the_training_that_it_needs(
    paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    declared = papers.load(paper).preset("cpu")
    first = declared.headline[0]
    command = declared.task(first).command
    answer = gluon_attn(command, *([paper] if COMMANDS[command] else [DRAWING, "--paper", paper]))
    if any(declared.task(variant).command == command for variant in included_models(paper)):
        assert answer.code == 0, answer.err
    else:
        training = f"gluon-attn run {paper} --preset cpu --variant {first} --seed 1"
        assert f"has not been trained yet. Train it with: {training}; or name the folder" in answer.refusal
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("paper", LINES)
def test_an_included_network_answers_in_a_new_process_without_corpus_cache_or_runs(paper: str, tmp_path: Path) -> None:
    declared = papers.load(paper).preset("cpu")
    words = [sys.executable, "-m", "reproductions", declared.task(declared.headline[0]).command, paper]
    home, here = tmp_path / "home", tmp_path / "here"
    here.mkdir()
    own = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "GLUON_ATTN_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GLUON_ATTN")} | own
    stdin = f"{LINES[paper]}\n\n{LINES[paper]}\n".encode()
    done = subprocess.run(words, input=stdin, capture_output=True, cwd=here, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()
    first, blank, again, end = done.stdout.decode().split("\n")
    assert first and first == again and blank == end == ""
    assert "SAMPLE" not in done.stderr.decode()
    assert list(here.iterdir()) == [] and not list(home.rglob("gluon-attn"))


def test_a_variant_outside_the_headline_answers_where_nothing_else_is_trained(tmp_path: Path, toy: str) -> None:
    options = ("--preset", "smoke", "--runs", tmp_path / "runs")
    assert gluon_attn("run", toy, *options, "--variant", "pretrained", "--jobs", 1).code == 0
    for name in ("curved", "straight"):
        for path in (tmp_path / "runs").rglob(f"{name}/seed-1/training.json"):
            path.unlink()
    assert gluon_attn("predict", toy, *options, stdin=b"1 1\n").out in ("0\n", "1\n")


def test_the_published_number_beside_an_answer_has_the_name_of_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pseudo-perplexity is not comparable with the perplexity of pretraining."""
    monkeypatch.delenv("GLUON_ATTN_DATA", raising=False)
    answer = gluon_attn("perplexity", "devlin2018", stdin="재미있는 영화\n".encode())
    assert answer.code == 0, answer.err
    assert answer.err.splitlines()[-1].startswith("answered by pretraining (")
    assert "; published test perplexity of pretraining " in answer.err and answer.err.endswith(", not comparable\n")


def test_the_published_number_is_that_of_the_seed_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLUON_ATTN_DATA", raising=False)
    answer = gluon_attn("translate", "bahdanau2014", stdin=b"a dog runs\n")
    rows = Result.read(papers.results_path("bahdanau2014", "cpu")).rows
    (row,) = (each for each in rows if (each.variant, each.split, each.metric) == ("rnnsearch", "test", "bleu"))
    assert row.per_seed["1"] != row.mean
    assert answer.err.splitlines()[-1].endswith(f"; published test BLEU {row.per_seed['1']:.2f}")


def test_the_seed_that_answers_is_known_by_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    declared = papers.load("bahdanau2014").preset("cpu")
    result = Result.read(papers.results_path("bahdanau2014", "cpu"))
    (row,) = (each for each in result.rows if (each.variant, each.split, each.metric) == ("rnnsearch", "test", "bleu"))
    trained: Any = SimpleNamespace(
        variant=declared.variant("rnnsearch"),
        task=declared.task("rnnsearch"),
        data=SimpleNamespace(corpus=row.corpus),
        parameters_sha256=result.manifest["parameters_sha256"]["rnnsearch/2"],
    )
    tell_which(NetworkOptions("bahdanau2014", None, "cpu", 1, "portable", None, Path("runs"), None), trained)
    assert capsys.readouterr().err.endswith(f"; published test BLEU {row.per_seed['2']:.2f}\n")
