"""A user's own paper is one short file anywhere: listed, trained, compared, verified and used by its path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reproductions.protocol.results import Result
from tests.reproductions.support import ROOT, Answer, gluon_attn, run_and_score

SCRIPT = Path(__file__).with_name("toy_paper.py")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder outside the package with the script, which is trained on the embedded sample and published there."""
    folder = tmp_path_factory.mktemp("own")
    shutil.copy(SCRIPT, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GLUON_ATTN_DATA", raising=False)
        patch.setenv("GLUON_ATTN_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        answer = run_and_score("toy_paper.py", "--preset", "smoke", publish=True)
        assert answer.code == 0, answer.err
        assert "Attention over a bag of words (sample, preset smoke)" in " ".join(answer.out.split())
        yield folder


@pytest.fixture(autouse=True)
def in_the_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)


def test_the_script_has_less_than_70_lines() -> None:
    assert len(SCRIPT.read_text(encoding="utf-8").splitlines()) < 70


def test_it_is_listed() -> None:
    lines = gluon_attn("list", "toy_paper.py").out.splitlines()
    assert lines[:5] == [
        "toy_paper.py  Attention over a bag of words",
        "  Nobody (2026)",
        "  preset smoke: corpus sample, seeds 1, results of 2 of 2 variants",
        "    attention: attention over words [headline] [results of seed 1; less than a minute each]",
        "    mean: mean of all words [headline] [results of seed 1; less than a minute each]",
    ]


def test_it_was_run(project: Path) -> None:
    """Runs are in the current folder, published results next to the script."""
    root = project / "runs" / "toy_paper" / "smoke-portable"
    result = Result.read(root / "results.json")
    assert result == Result.read(project / "results" / "toy_paper.smoke.json")
    assert list(result.manifest["parameters_sha256"]) == ["attention/1", "mean/1"]
    assert [row.variant for row in result.rows] == ["attention"] * 3 + ["mean"] * 3
    (claim,) = result.claims
    assert claim.measure.startswith("test, accuracy points, bootstrap over reviews")
    assert (root / "figures" / "training_curves.png").stat().st_size > 1_000


def test_it_is_compared() -> None:
    answer = gluon_attn("compare", "toy_paper.py", "--preset", "smoke")
    assert answer.code == 0, answer.err
    for shown in ("\n attention ", "\n mean ", "MEAN NOTHING"):
        assert shown in answer.out


def test_it_is_verified(project: Path) -> None:
    answer = gluon_attn("verify", "toy_paper.py", "--variant", "attention")
    assert answer.code == 0, answer.out + answer.err
    published = Result.read(project / "results" / "toy_paper.smoke.json").manifest["parameters_sha256"]
    checks = "parameters, pipeline, environment, test accuracy, validation accuracy"
    assert f"same    attention/1 {published['attention/1']}: {checks}" in answer.out.splitlines()
    assert "same bits as toy_paper.smoke.json" in answer.out


# --- predict ---


def predict(text: bytes | str, *more: object) -> Answer:
    stdin = text.encode() if isinstance(text, str) else text
    return gluon_attn("predict", "toy_paper.py", "--preset", "smoke", *more, stdin=stdin)


def test_it_predicts_a_label_for_each_line() -> None:
    answer = predict("재미있다\n\n   \n정말 최악의 영화\r\n끝이 없다")
    assert answer.code == 0, answer.err
    lines = answer.out.split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, True, False]
    for line in filter(None, lines):
        label, probability = line.split("\t")
        assert label in ("negative", "positive")
        assert 0.5 <= float(probability) <= 1  # The probability of the label, whichever it is.
    assert "MEAN NOTHING" in answer.err


def test_predict_shows_the_weight_of_each_token() -> None:
    answer = predict("정말 최악의 영화 :)\n", "--weights")
    assert answer.code == 0, answer.err
    pairs = [pair.rsplit(":", 1) for pair in answer.out.rstrip("\n").split("\t")[2].split(" ")]
    assert "".join(token for token, _ in pairs) == "정말최악의영화:)"
    assert all(0 < float(weight) < 1 for _, weight in pairs)
    assert sum(float(weight) for _, weight in pairs) == pytest.approx(1, abs=0.01)


def test_predict_refuses_weights_of_a_network_without_attention() -> None:
    answer = predict("재미\n", "--weights", "--variant", "mean")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.splitlines()[-1].startswith("gluon-attn: variant mean has no attention and so no weights")
    assert predict("재미\n", "--variant", "mean").code == 0


def test_predict_truncates_a_very_long_line_and_says_so() -> None:
    text = "재미있는 영화 " * 20_000
    answer = predict(f"{text}\n{text[:400]}\n", "--weights")
    assert answer.code == 0
    long, cut = answer.out.splitlines()
    assert long == cut
    assert "line 1: 60000 tokens, only the first 50 are read" in answer.err


def test_predict_ignores_a_byte_order_mark_and_accepts_a_line_without_tokens() -> None:
    with_mark, without, no_token = (predict(text, "--weights") for text in ("\ufeff재미있다\n", "재미있다\n", b"\0\n"))
    assert with_mark.out == without.out
    assert no_token.code == 0
    assert no_token.out.endswith("\t\n")


def test_predict_writes_hangul_to_a_terminal_of_another_encoding(project: Path) -> None:
    command = [sys.executable, "-m", "reproductions", "predict", "toy_paper.py", "--preset", "smoke", "--weights"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "euc-kr"}
    done = subprocess.run(command, cwd=project, input="재미\U0001f600\n".encode(), env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "재미" in done.stdout.decode("euc-kr")
    assert "\\U0001f600" in done.stdout.decode("euc-kr")
