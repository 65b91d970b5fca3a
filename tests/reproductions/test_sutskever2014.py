"""Sutskever, Vinyals and Le (2014): sizes, claims, and a whole run with ensembles on the embedded sentences."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from reproductions.protocol.conclude import conclude
from reproductions.protocol.results import JudgedClaim, Result
from reproductions.protocol.runs import Outcome
from reproductions.sutskever2014 import REPRODUCTION
from reproductions.tasks.bleu import bleu
from tests.reproductions.support import by_items, claims_by_id, dead_settings, run_and_score
from tests.reproductions.translating import (
    OTHER,
    SEARCH_SETTINGS,
    SENTENCES,
    counts,
    learns_in_one_step,
    lstm,
    parameter_count,
    translated,
)

SMOKE, CPU = REPRODUCTION.preset("smoke"), REPRODUCTION.preset("cpu")


def score(quality: float) -> float:
    return bleu(counts(quality).sum(axis=0))


def beams(one: float, two: float) -> dict[str, np.ndarray]:
    return {"bleu_beam_1": counts(one), "bleu_beam_2": counts(two)}


def concluded(*outcomes: Outcome) -> dict[str, JudgedClaim]:
    return claims_by_id(conclude(REPRODUCTION, SMOKE, outcomes)[1])


def test_it_has_384_million_parameters() -> None:
    """Section 3.4: 4 layers of 1 000 cells on either side, embeddings of 1 000, 160 000 and 80 000 words; 64 million
    are recurrent."""
    number = parameter_count("sutskever2014", "reversed", 160_000, 80_000)
    recurrent = 2 * 4 * lstm(1000, 1000, 2)
    assert recurrent == pytest.approx(64e6, rel=0.002)
    assert number == 1000 * (160_000 + 80_000) + 80_000 * (1000 + 1) + recurrent
    assert number == pytest.approx(384e6, rel=0.001)
    assert number == parameter_count("sutskever2014", "forward", 160_000, 80_000)


def test_the_systems_differ_in_the_direction_only() -> None:
    forward, backward = CPU.variant("forward"), CPU.variant("reversed")
    assert forward.recipe == backward.recipe
    assert asdict(forward.settings).items() ^ asdict(backward.settings).items() == {
        ("reverse_source", False),
        ("reverse_source", True),
    }


@pytest.mark.slow
def test_no_setting_is_dead() -> None:
    assert set(dead_settings(SMOKE.variant("reversed"), REPRODUCTION.task, OTHER)) == SEARCH_SETTINGS


@pytest.mark.parametrize("variant", [variant.name for variant in SMOKE.variants])
def test_every_variant_learns_in_one_step(variant: str) -> None:
    learns_in_one_step("sutskever2014", variant)


def test_most_of_the_gain_from_a_beam_comes_from_the_second(tmp_path: Path) -> None:
    def effect(one: float, two: float, twelve: float) -> float:
        return concluded(translated(tmp_path, "reversed", twelve, **beams(one, two)))["beam-2"].effect

    assert effect(0.5, 0.8, 0.9) > 0 > effect(0.5, 0.6, 0.9)
    assert effect(0.5, 0.8, 0.8) == pytest.approx(score(0.8) - score(0.5))


def test_long_sentences_may_be_two_points_worse(tmp_path: Path) -> None:
    words = np.where(np.arange(SENTENCES) % 2, 20, 5)
    equal = translated(tmp_path, "reversed", 0.8, words=words, **beams(0.5, 0.8))
    assert concluded(equal)["long"].effect == pytest.approx(0.0)
    halves = np.where((words > 12)[:, None], counts(0.7), counts(0.8))
    worse = translated(tmp_path, "reversed", 0.8, words=words, bleu=halves, **beams(0.5, 0.8))
    assert concluded(worse)["long"].effect == pytest.approx(score(0.7) - score(0.8))


def test_an_ensemble_is_compared_with_the_mean_of_its_members(tmp_path: Path) -> None:
    members = [
        translated(tmp_path, "reversed", quality, seed=seed, **beams(0.4, 0.4))
        for seed, quality in ((1, 0.5), (2, 0.7))
    ]
    together = translated(tmp_path, "reversed-ensemble", 0.8, seed="1+2", **beams(0.4, 0.4))
    claim = concluded(*members, together)["ensemble"]
    assert claim.effect == pytest.approx(score(0.8) - (score(0.5) + score(0.7)) / 2) and by_items(claim) == "supported"
    assert claim.verdict == "not judged"  # An ensemble has no seeds of its own.


@pytest.mark.slow
def test_the_smoke_preset_runs_completely_with_beams_and_ensembles(tmp_path: Path) -> None:
    done = run_and_score("sutskever2014", "--preset", "smoke", "--variant", "reversed", "--runs", tmp_path)
    assert done.code == 0, done.err
    result = Result.read(next(tmp_path.rglob("results.json")))
    ensemble = [row for row in result.rows if row.variant == "reversed-ensemble"]
    assert {row.signature.split("; ")[1] for row in ensemble} == {f"beam {n}, alpha 0" for n in (12, 2, 1)}
    assert all(row.per_seed == {"1+2": row.mean} for row in ensemble)
    assert {claim.id for claim in result.claims} == {"beam-2", "long", "ensemble"}
    assert len(list(tmp_path.rglob("figures/*.png"))) == 2
    (page,) = tmp_path.rglob("translations_reversed.tsv")
    lines = page.read_text("utf-8").splitlines()
    assert lines[0].split("\t") == ["source", "reference", "translation"]
    assert len(lines) > 20 and all(line.count("\t") == 2 for line in lines)
