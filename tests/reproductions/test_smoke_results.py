"""The smoke results that come with the repository are those that the code of today trains."""

from __future__ import annotations

from pathlib import Path

import pytest

from gluon_attn import runtime
from reproductions.protocol import papers
from reproductions.protocol.results import Result
from tests.reproductions.support import ROOT, gluon_attn

RESULTS = ROOT / "reproductions" / "results"
SMOKE = sorted(path.name.removesuffix(".smoke.json") for path in RESULTS.glob("*.smoke.json"))


def test_every_paper_has_smoke_results() -> None:
    assert list(papers.names()) == SMOKE


@pytest.mark.slow
@pytest.mark.parametrize("paper", SMOKE)
def test_the_main_system_and_one_of_each_other_kind_train_to_their_published_smoke_parameters(
    paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recipe that is changed without publishing the smoke results again fails here. The other kinds are trained only
    on the processor that the results are from, since it is not known whether they have the same bits on all."""
    trained_on = Result.read(papers.results_path(paper, "smoke")).manifest["hardware"]
    if papers.load(paper).bits_of_one_processor and trained_on != runtime.hardware():
        pytest.skip(f"the published network was trained on {trained_on}, and its bits belong to that processor")
    monkeypatch.delenv("GLUON_ATTN_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    names = one_of_each_kind(paper) if trained_on == runtime.hardware() else [papers.load(paper).main]
    chosen = [word for name in names for word in ("--variant", name)]
    answer = gluon_attn("verify", paper, "--preset", "smoke", *chosen, "--jobs", 1)
    assert answer.code == 0, answer.out + answer.err
    assert answer.out.endswith(f"same bits as {paper}.smoke.json\n")


def one_of_each_kind(paper: str) -> list[str]:
    """The main system, and the first system of every other class of settings."""
    reproduction = papers.load(paper)
    smoke = reproduction.preset("smoke")
    kinds: dict[type, str] = {}
    for variant in (smoke.variant(reproduction.main), *smoke.variants):
        kinds.setdefault(type(variant.settings), variant.name)
    return list(kinds.values())
