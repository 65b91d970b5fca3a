"""Cho et al. (2014): sizes, systems, and a whole run on the embedded sentences."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from reproductions.cho2014 import REPRODUCTION
from reproductions.protocol.results import Result
from tests.reproductions.support import dead_settings, run_and_score
from tests.reproductions.translating import (
    OTHER,
    SEARCH_SETTINGS,
    learns_in_one_step,
    parameter_count,
    rnnencdec_parameters,
)

SMOKE, CPU = REPRODUCTION.preset("smoke"), REPRODUCTION.preset("cpu")


def test_it_has_the_matrices_of_appendix_a() -> None:
    """1 000 units, embeddings of 100, 500 maxout units, 15 000 words."""
    expected = rnnencdec_parameters(n=1000, m=100, readout=500, words=15_000)
    assert parameter_count("cho2014", "encdec", 15_000, 15_000) == expected


def test_the_compared_systems_differ_in_one_thing_each() -> None:
    whole = CPU.variant("encdec-small")
    for name, changed in (("start-only", "context_at_every_step"), ("plain-readout", "maxout")):
        part = CPU.variant(name)
        assert part.recipe == whole.recipe
        settings = asdict(part.settings).items() - asdict(whole.settings).items()
        assert settings == {(changed, False)}


@pytest.mark.slow
def test_no_setting_is_dead() -> None:
    assert set(dead_settings(SMOKE.variant("encdec"), REPRODUCTION.task, OTHER)) == SEARCH_SETTINGS


@pytest.mark.parametrize("variant", [variant.name for variant in SMOKE.variants])
def test_every_variant_learns_in_one_step(variant: str) -> None:
    learns_in_one_step("cho2014", variant)


@pytest.mark.slow
def test_the_smoke_preset_runs_completely(tmp_path: Path) -> None:
    done = run_and_score("cho2014", "--preset", "smoke", "--runs", tmp_path, "--jobs", "2")
    assert done.code == 0, done.err
    result = Result.read(next(tmp_path.rglob("results.json")))
    assert {row.variant for row in result.rows} == {variant.name for variant in SMOKE.variants}
    assert {claim.id for claim in result.claims} == {"everywhere", "maxout"}
    assert {path.name for path in tmp_path.rglob("figures/*.png")} == {"bleu_by_length.png", "training_curves.png"}
