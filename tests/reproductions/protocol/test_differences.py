"""The differences that a table shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproductions.protocol import papers
from reproductions.protocol.conclude import conclude
from reproductions.protocol.differences import COLUMN
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome
from reproductions.protocol.tables import lines_of
from tests.reproductions.support import outcome
from tests.reproductions.toy import REPRODUCTION

CPU = REPRODUCTION.preset("cpu")
AGAINST = replace(CPU, variants=(CPU.variant("straight"), replace(CPU.variant("curved"), against="straight")))


@pytest.fixture(autouse=True)
def no_other_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "names", tuple)


def finished(folder: Path, variant: str, seed: int, right: float) -> Outcome:
    return outcome(folder, variant, seed, {"right": np.arange(400) < 400 * right})


def test_a_difference_is_that_of_the_seeds_that_both_have(tmp_path: Path) -> None:
    outcomes = [finished(tmp_path, "straight", seed, right) for seed, right in ((1, 0.80), (2, 0.82))]
    outcomes += [finished(tmp_path, "curved", seed, right) for seed, right in ((1, 0.85), (2, 0.89), (3, 0.99))]
    rows, _ = conclude(REPRODUCTION, AGAINST, outcomes)
    (difference,) = (row for row in rows if row.metric == COLUMN.metric)
    assert difference.variant == "curved" and difference.signature.startswith("against straight; test, ")
    assert difference.per_seed == pytest.approx({"1": 5.0, "2": 7.0}) and difference.mean == pytest.approx(6.0)
    assert difference.ci95[0] < 5.0 < 7.0 < difference.ci95[1]
    straight, curved = sorted(
        lines_of(AGAINST, Result("toy", "cpu", rows, [], {}), (*REPRODUCTION.table_columns, COLUMN)),
        key=lambda line: line.name != "straight",
    )
    low, high = difference.ci95
    assert straight.numbers[-1] == "" and curved.numbers[-1] == f"+6.00 [{low:+.2f}, {high:+.2f}]"


def test_without_the_other_variant_or_a_common_seed_there_is_no_difference(tmp_path: Path) -> None:
    curved, straight = finished(tmp_path, "curved", 1, 0.9), finished(tmp_path, "straight", 2, 0.8)
    for outcomes in ([curved], [curved, straight]):
        rows, _ = conclude(REPRODUCTION, AGAINST, outcomes)
        assert not [row for row in rows if row.metric == COLUMN.metric]


def test_one_common_seed_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "names", tuple)
    outcomes = [finished(tmp_path, name, seed, 0.8) for name, seed in (("straight", 1), ("curved", 1), ("curved", 2))]
    rows, _ = conclude(REPRODUCTION, AGAINST, outcomes)
    assert not [one for one in rows if one.metric == COLUMN.metric]
