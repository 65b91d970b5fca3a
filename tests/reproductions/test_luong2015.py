"""Luong, Pham and Manning (2015): sizes, systems, claims, and a whole run on the embedded sentences."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from reproductions.luong2015 import REPRODUCTION
from reproductions.protocol.conclude import conclude
from reproductions.protocol.results import Result
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


@pytest.mark.parametrize(
    ("variant", "attention"),
    [
        ("base", 0),
        ("dot", 0),
        ("general", 1000 * 1000),
        ("concat", 2 * 1000 * 1000 + 1000),
        ("location", 50 * 1000),
        ("local-p-general", 2 * 1000 * 1000 + 1000),
    ],
)
def test_it_has_four_layers_of_1000_and_the_matrices_of_its_attention(variant: str, attention: int) -> None:
    n, words = 1000, 50_000
    encoder, embeddings, output = 4 * lstm(n, n, 2), 2 * words * n, words * (n + 1)
    # Without input feeding the decoder's layers are MXNet's, with two biases; with it the first also reads the feature.
    fed = variant not in ("base", "location")
    decoder = lstm(n, 2 * n, 1) + 3 * lstm(n, n, 1) if fed else 4 * lstm(n, n, 2)
    attentional = 0 if variant == "base" else 2 * n * n
    expected = encoder + embeddings + output + decoder + attentional + attention
    assert parameter_count("luong2015", variant, words, words) == expected


@pytest.mark.parametrize("preset", ["cpu", "paper"])
def test_the_systems_differ_in_one_setting_each(preset: str) -> None:
    """Table 1 adds one technique after another; Table 4 changes the attention only."""
    chosen = REPRODUCTION.preset(preset)

    def changes(first: str, second: str) -> set[str]:
        one, other = (asdict(chosen.variant(name).settings) for name in (first, second))
        assert chosen.variant(first).recipe == chosen.variant(second).recipe
        return {name for name in one if one[name] != other[name]}

    assert changes("base", "reverse") == {"reverse_source"}
    assert changes("reverse", "dropout") == {"dropout"}
    assert changes("dropout", "location") == {"attention", "score"}
    assert changes("location", "feed") == {"input_feeding"}
    assert changes("feed", "local-p-general") == {"attention", "score"}
    for name in ("dot", "concat"):
        assert changes("general", name) == {"score"}
    for name in ("local-m-general", "local-p-general"):
        assert changes("general", name) == {"attention"}
        assert changes(name, name.replace("general", "dot")) == {"score"}


@pytest.mark.slow
def test_no_setting_is_dead() -> None:
    other = {**OTHER, "radius": {5: 1}, "attention": {"local-p": "global"}, "score": {"general": "dot"}}
    dead = dead_settings(SMOKE.variant("local-p-general"), REPRODUCTION.task, other)
    assert set(dead) == SEARCH_SETTINGS | {"operations"}, "its tokens are words"


@pytest.mark.parametrize("variant", [variant.name for variant in SMOKE.variants])
def test_every_variant_learns_in_one_step(variant: str) -> None:
    learns_in_one_step("luong2015", variant)


def test_claims_other_than_comparisons_of_two_variants(tmp_path: Path) -> None:
    words = np.where(np.arange(SENTENCES) % 2, 20, 5)
    better_long = np.where((words > 12)[:, None], counts(0.9), counts(0.6))
    outcomes = [
        translated(tmp_path, "feed", 0.7, words=words),
        translated(tmp_path, "local-p-general", 0.7, bleu_replaced=counts(0.8), words=words),
        translated(tmp_path, "dropout", 0.6, words=words),
        translated(tmp_path, "location", 0.6, words=words, bleu=better_long),
    ]
    claims = claims_by_id(conclude(REPRODUCTION, SMOKE, outcomes)[1])
    assert set(claims) == {"unknown", "long", "attention", "feeding", "local"}
    gained = bleu(counts(0.8).sum(axis=0)) - bleu(counts(0.7).sum(axis=0))
    assert claims["unknown"].effect == pytest.approx(gained)
    gained_on_long = bleu(counts(0.9).sum(axis=0)) - bleu(counts(0.6).sum(axis=0))
    assert claims["long"].effect == pytest.approx(gained_on_long)
    assert by_items(claims.pop("feeding")) == "contradicted", "feed is worse than location here"
    assert by_items(claims.pop("local")) == "inconclusive", "local-p-general and feed are equal here"
    assert {by_items(claim) for claim in claims.values()} == {"supported"}
    assert all("bootstrap over sentences" in claim.measure for claim in claims.values())
    assert all(claim.basis == "one seed" for claim in claims.values())


@pytest.mark.slow
def test_unknown_words_are_replaced_and_alignments_drawn(tmp_path: Path) -> None:
    flags = ["--preset", "smoke", "--variant", "local-p-general", "--variant", "dropout", "--runs", tmp_path]
    done = run_and_score("luong2015", *flags)
    assert done.code == 0, done.err
    result = Result.read(next(tmp_path.rglob("results.json")))
    replaced = {row.variant for row in result.rows if "unknown words replaced" in row.signature}
    assert replaced == {"local-p-general"}, "a network without attention cannot replace words"
    assert {claim.id for claim in result.claims} == {"unknown"}
    names = {path.name for path in tmp_path.rglob("figures/*.png")}
    assert names >= {"bleu_by_length.png", "training_curves.png", "alignment_local-p-general_1.png"}
