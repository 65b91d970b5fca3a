"""A project of two toy papers, one of which is the baseline of the other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reproductions.protocol import papers, report
from tests.reproductions.protocol.tabulated import CLAIM, FLOOR, REPORTED, publish, result, three
from tests.reproductions.toy import REPRODUCTION


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A project with the toy paper, which has a baseline, and the paper of the baseline; a README, and benchmarks."""
    declared = {"toy": replace(REPRODUCTION, baselines=("floor",)), "floor": FLOOR}
    monkeypatch.setattr(papers, "names", lambda: tuple(declared))
    monkeypatch.setattr(papers, "load", declared.__getitem__)
    monkeypatch.setattr(papers, "results_folder", lambda paper: tmp_path / "results")
    benchmarks = tmp_path / "benchmarks"
    (benchmarks / "results").mkdir(parents=True)
    met = {"measure": "cold preprocessing", "measured": "13.0 x", "target": "12 x", "met": True}
    missed = met | {"measure": "from the cache", "met": False}
    record = {"hardware": "AMD EPYC, 2 cores, x86_64", "load_average_at_start": 0.25, "table": [met]}
    (benchmarks / "results" / "cold.json").write_text(json.dumps(record), encoding="utf-8")
    record |= {"vectors": "AVX2", "table": [missed]}
    (benchmarks / "results" / "from_the_cache.json").write_text(json.dumps(record), encoding="utf-8")
    (benchmarks / "README.md").write_text("# Speed\n\n<!-- speed -->\n<!-- /speed -->\n\nEnd\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("# Title\n\n<!-- papers -->\n<!-- /papers -->\n\nEnd\n", encoding="utf-8")
    monkeypatch.setattr(report, "BENCHMARKS", benchmarks)
    monkeypatch.setattr(report, "README", tmp_path / "README.md")
    publish(result(*three("curved", reported=REPORTED, comparable=True), *three("straight"), claims=(CLAIM, CLAIM)))
    return tmp_path
