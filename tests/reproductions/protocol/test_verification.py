"""`verify` trains again and compares bits; what could not be compared is not trained."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from reproductions.protocol import papers, runner
from reproductions.protocol.manifest import manifest
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome, Run
from reproductions.protocol.training import train
from tests.reproductions.support import ROOT, gluon_attn, outcome, run


@pytest.fixture
def published(toy: str, tmp_path: Path) -> str:
    """The toy paper with published results of its smoke preset."""
    runs = [run(tmp_path / "runs", name, paper=toy) for name in ("curved", "pretrained")]
    outcomes = [train(one, resume=False, overwrite=False) for one in runs]
    record = manifest(outcomes, "gluon-attn run toy.py", time.time(), 1, "portable")
    Result("toy", "smoke", [], [], record).write(papers.results_path(toy, "smoke"))
    return toy


def alter(paper: str, **changes: object) -> None:
    """Publish another manifest."""
    path = papers.results_path(paper, "smoke")
    raw = json.loads(path.read_text(encoding="utf-8"))
    raw["manifest"] |= changes
    path.write_text(json.dumps(raw), encoding="utf-8")


def hashes(paper: str) -> dict[str, str]:
    found: dict[str, str] = Result.read(papers.results_path(paper, "smoke")).manifest["parameters_sha256"]
    return found


def test_the_published_bits_come_again(published: str) -> None:
    """Of a variant that needs another one's network, which is trained for it."""
    answer = gluon_attn("verify", published, "--variant", "pretrained")
    assert answer.code == 0, answer.out + answer.err
    same = f"same    pretrained/1 {hashes(published)['pretrained/1']}"
    assert same in answer.out.splitlines() and "same    curved" not in answer.out
    assert answer.out.endswith("toy, preset smoke, profile portable: same bits as toy.smoke.json\n")


def test_in_the_fast_profile_everything_is_trained_twice(toy: str) -> None:
    command = [sys.executable, "-m", "reproductions", "verify", toy, "--preset", "smoke", "--variant", "curved"]
    done = subprocess.run([*command, "--profile", "fast", "--threads", "1"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("curved, seed 1: epoch 2 of 2") == 2
    assert "same    curved/1" in done.stdout
    assert "toy, preset smoke, profile fast: same bits as a second training" in done.stdout


@pytest.fixture
def bits(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Instead of trainings, the parameters that they give, by the label of the run."""
    given: dict[str, str] = {}

    def train_all(runs: Sequence[Run], **_: object) -> list[Outcome]:
        made = []
        for one in runs:
            record = {"parameters_sha256": given.pop(f"{one.label} again", given[one.label])}
            made.append(outcome(one.runs, one.variant, one.seed, paper=one.paper, **record))
        return made

    monkeypatch.setattr(runner, "train_all", train_all)
    return given


def test_it_says_which_bits_differ(published: str, bits: dict[str, str]) -> None:
    bits |= {"curved/1": "1" * 64, "pretrained/1": "2" * 64}
    alter(published, parameters_sha256=bits | {"curved/1": "0" * 64})
    answer = gluon_attn("verify", published, "--variant", "curved", "--variant", "pretrained")
    assert answer.code == 1
    assert answer.out.splitlines() == [
        f"DIFFERS curved/1 {'1' * 64}",
        f"same    pretrained/1 {'2' * 64}",
        "toy, preset smoke, profile portable: NOT the same bits as toy.smoke.json",
    ]


def test_a_second_training_that_differs_is_reported(toy: str, bits: dict[str, str]) -> None:
    from reproductions.protocol.verification import verify  # in this process, which has the portable profile

    bits |= {"curved/1": "1" * 64, "curved/1 again": "2" * 64}
    lines, same = verify(toy, "smoke", ["curved"], [], "fast", 1, None)
    assert not same and lines == [
        f"DIFFERS curved/1 {'1' * 64}",
        "toy, preset smoke, profile fast: NOT the same bits as a second training",
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"parameters_sha256": {}}, "holds no parameters of curved/1; run them with --publish"),
        ({"profile": "fast"}, "made in the fast profile, whose bits belong to one machine"),
        ({"pipeline": {"curved": "0" * 64}}, "curved was trained on other data than the sample corpus gives here"),
    ],
)
def test_nothing_is_trained_that_could_not_be_compared(published: str, changes: dict[str, object], reason: str) -> None:
    alter(published, **changes)
    answer = gluon_attn("verify", published, "--variant", "curved")
    assert answer.refusal.startswith(str(papers.results_path(published, "smoke"))) and reason in answer.refusal
    assert answer.out == ""


def test_without_published_results_nothing_is_trained(toy: str) -> None:
    answer = gluon_attn("verify", toy, "--variant", "curved")
    assert "toy.smoke.json: no results here" in answer.refusal and answer.out == ""


def test_a_missing_corpus_is_not_replaced_by_the_sample(toy: str) -> None:
    answer = gluon_attn("verify", toy, "--preset", "cpu", "--variant", "curved")
    assert "corpus nsmc is missing" in answer.refusal and answer.out == ""


def test_a_paper_of_this_project_has_the_committed_bytes() -> None:
    paper = "cho2014"
    variant = papers.load(paper).headline[0]
    answer = gluon_attn("verify", paper, "--variant", variant)
    assert answer.code == 0, answer.out + answer.err
    committed = Result.read(papers.results_path(paper, "smoke")).manifest["parameters_sha256"]
    assert f"same    {variant}/1 {committed[f'{variant}/1']}" in answer.out
