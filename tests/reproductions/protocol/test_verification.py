"""`verify` trains again and compares bits; what it could not compare it does not train."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reproductions.protocol import report, runner
from reproductions.protocol.report import results_path
from reproductions.protocol.results import Result
from tests.reproductions.support import PAPER, ROOT, gluon_attn, outcome


def test_verify_finds_the_committed_bytes_again() -> None:
    answer = gluon_attn("verify", PAPER, "--preset", "smoke", "--variant", "last")
    assert answer.code == 0, answer.out + answer.err
    committed = Result.read(results_path(PAPER, "smoke")).manifest["parameters_sha256"]["last/1"]
    assert f"same    last/1 {committed}" in answer.out
    assert f"same bits as {PAPER}.smoke.json" in answer.out


def test_verify_in_the_fast_profile_trains_twice() -> None:
    command = [sys.executable, "-m", "reproductions", "verify", PAPER, "--preset", "smoke", "--variant", "mean"]
    done = subprocess.run([*command, "--profile", "fast", "--threads", "1"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "same    mean/1" in done.stdout
    assert "profile fast: same bits as a second training" in done.stdout


def altered(monkeypatch: pytest.MonkeyPatch, folder: Path, **changes: object) -> None:
    """Let other results pass for the committed ones."""
    raw = json.loads(results_path(PAPER, "smoke").read_text(encoding="utf-8"))
    raw["manifest"] |= changes
    monkeypatch.setattr(report, "RESULTS", folder)
    results_path(PAPER, "smoke").write_text(json.dumps(raw), encoding="utf-8")


def test_verify_says_which_bits_differ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    altered(monkeypatch, tmp_path, parameters_sha256={"mean/1": "0" * 64, "last/1": f"{1:064x}"})
    trained = [outcome(tmp_path, variant, 1, {}) for variant in ("mean", "last")]
    monkeypatch.setattr(runner, "train_all", lambda units, **options: trained)
    answer = gluon_attn("verify", PAPER, "--preset", "smoke", "--variant", "mean")
    assert answer.code == 1
    lines = answer.out.splitlines()
    assert lines[:2] == [f"DIFFERS mean/1 {1:064x}", f"same    last/1 {1:064x}"]
    assert "NOT the same bits" in answer.out


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"parameters_sha256": {}}, "holds no parameters of mean/1"),
        ({"profile": "fast"}, "made in the fast profile"),
        ({"corpora": {"train": "0" * 64, "test": "1" * 64}}, "other files than the sample corpus has here"),
    ],
)
def test_verify_trains_nothing_that_it_could_not_compare(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    altered(monkeypatch, tmp_path, **changes)
    answer = gluon_attn("verify", PAPER, "--preset", "smoke", "--variant", "mean")
    assert reason in answer.refusal
    assert "epoch" not in answer.out


def test_verify_wants_the_corpus_itself() -> None:
    assert "corpus nsmc is not there" in gluon_attn("verify", PAPER, "--preset", "cpu", "--variant", "mean").refusal
