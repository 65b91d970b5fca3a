"""Bahdanau, Cho and Bengio (2015): sizes, systems, claims, and a whole run on the embedded sentences."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from reproductions.bahdanau2014 import REPRODUCTION
from reproductions.protocol.conclude import conclude
from reproductions.protocol.results import Result
from reproductions.tasks.translation.trainings import AT_SCALE
from tests.reproductions.support import by_items, claims_by_id, dead_settings, run_and_score
from tests.reproductions.translating import (
    OTHER,
    SEARCH_SETTINGS,
    SENTENCES,
    counts,
    learns_in_one_step,
    parameter_count,
    rnnencdec_parameters,
    translated,
)

SMOKE, CPU = REPRODUCTION.preset("smoke"), REPRODUCTION.preset("cpu")


def test_rnnsearch_has_the_matrices_of_appendix_a() -> None:
    """n = 1000, m = 620, l = 500, n' = 1000 and 30 000 words; one encoder per direction."""
    n, m, hidden, readout, words = 1000, 620, 1000, 500, 30_000
    encoder = 2 * 3 * (n * (m + n) + 2 * n)  # MXNet's unit has two biases per gate.
    attention = hidden * n + hidden * 2 * n + hidden
    decoder = 3 * n * (m + n + 2 * n) + 3 * n
    initial = n * n + n
    maxout = 2 * readout * (n + m + 2 * n) + 2 * readout
    expected = 2 * words * m + encoder + attention + decoder + initial + maxout + words * (readout + 1)
    assert parameter_count("bahdanau2014", "search-all", words, words) == expected


def test_rnnencdec_has_the_matrices_of_appendix_a() -> None:
    expected = rnnencdec_parameters(n=1000, m=620, readout=500, words=30_000)
    assert parameter_count("bahdanau2014", "encdec-all", 30_000, 30_000) == expected


def test_the_systems_of_table_1_differ_in_attention_and_length_of_training_sentences() -> None:
    def changed(first: str, second: str) -> dict[str, object]:
        one, other = CPU.variant(first), CPU.variant(second)
        assert one.recipe == other.recipe
        settings = asdict(other.settings)
        return {name: settings[name] for name, value in asdict(one.settings).items() if settings[name] != value}

    for length in ("short", "all"):
        assert changed(f"search-{length}", f"encdec-{length}") == {"attention": False}
    for name in ("search", "encdec"):
        assert changed(f"{name}-all", f"{name}-short") == {"max_length": 12}


def test_at_scale_the_short_systems_have_the_limit_of_the_paper() -> None:
    paper = REPRODUCTION.preset("paper")
    for name, words in (("encdec-short", 30), ("search-short", 30), ("encdec-all", 50), ("search-all", 50)):
        variant = paper.variant(name)
        assert (variant.settings.max_length, variant.differs) == (words, AT_SCALE)
        assert "smaller" not in variant.title and "captions" not in variant.title
    assert paper.variant("search-short").title == "RNNsearch, trained on sentences of up to 30 words"


def test_each_language_pair_has_the_same_settings() -> None:
    names = ("rnnsearch", "rnnsearch-fr", "rnnsearch-ko-en", "rnnsearch-en-ko")
    assert len({CPU.variant(name).settings for name in names}) == 1
    assert len({CPU.task(name) for name in names}) == 4


def test_text_of_other_domains_is_added_to_the_training_of_korean_only() -> None:
    for direction in ("ko-en", "en-ko"):
        plain, more = (f"rnnsearch-{direction}{end}" for end in ("", "-more"))
        assert CPU.variant(more).settings == CPU.variant(plain).settings
        assert CPU.task(more) == replace(CPU.task(plain), extra=("python-docs", "bible"))
    assert {variant.name for variant in CPU.variants} - {variant.name for variant in SMOKE.variants} == {
        "rnnsearch-ko-en-more",
        "rnnsearch-en-ko-more",
    }


@pytest.mark.slow
@pytest.mark.corpus("ko_en")
def test_text_of_other_domains_leaves_the_other_splits_as_they_are() -> None:
    plain, more = (
        CPU.task(name).prepare(CPU.variant(name).settings).prepared
        for name in ("rnnsearch-ko-en", "rnnsearch-ko-en-more")
    )
    pairs = [
        len(prepared.splits["train"]) * CPU.variant(name).recipe.epochs
        for prepared, name in ((plain, "rnnsearch-ko-en"), (more, "rnnsearch-ko-en-more"))
    ]
    assert len(more.splits["train"]) > 4 * len(plain.splits["train"]) and 1 < pairs[1] / pairs[0] < 1.1
    for split in ("validation", "test"):
        assert more.splits[split].source.text.tolist() == plain.splits[split].source.text.tolist()
        assert more.references(split) == plain.references(split)


@pytest.mark.slow
def test_no_setting_is_dead() -> None:
    assert set(dead_settings(SMOKE.variant("rnnsearch"), REPRODUCTION.task, OTHER)) == SEARCH_SETTINGS


@pytest.mark.parametrize("variant", [variant.name for variant in SMOKE.variants])
def test_every_variant_learns_in_one_step(variant: str) -> None:
    learns_in_one_step("bahdanau2014", variant)


def test_claims_of_length_and_order_are_judged_from_outcomes(tmp_path: Path) -> None:
    words = np.where(np.arange(SENTENCES) % 2, 20, 5)
    third = SENTENCES // 3
    halved = np.where((words > 12)[:, None], counts(0.4), counts(0.9))
    outcomes = [
        translated(tmp_path, "encdec-all", 0.8, joined_3=3 * counts(0.4, third), words=words, bleu=halved),
        translated(tmp_path, "search-all", 0.9, joined_3=3 * counts(0.9, third), words=words),
        *(
            translated(tmp_path, "rnnsearch", 0.9, seed=seed, monotone=np.full(SENTENCES, order))
            for seed, order in ((1, 0.7), (2, 0.5))
        ),
    ]
    claims = claims_by_id(conclude(REPRODUCTION, SMOKE, outcomes)[1])
    assert set(claims) == {"attention", "length", "length-share", "length-captions", "monotone"}
    assert {by_items(claim) for claim in claims.values()} == {"supported"}
    assert claims["monotone"].effect == pytest.approx(0.6)
    assert claims["monotone"].basis == "2 seeds" and "bootstrap over sentences" in claims["monotone"].measure


@pytest.mark.slow
def test_the_smoke_preset_runs_completely(tmp_path: Path) -> None:
    names = ("rnnsearch", "encdec-all", "search-all")
    flags = [flag for name in names for flag in ("--variant", name)]
    done = run_and_score("bahdanau2014", "--preset", "smoke", *flags, "--runs", tmp_path, "--jobs", "2")
    assert done.code == 0, done.err
    result = Result.read(next(tmp_path.rglob("results.json")))
    assert {row.variant for row in result.rows} == set(names)
    assert {claim.id for claim in result.claims} >= {"attention", "length", "length-share", "length-captions"}
    figures = {path.name for path in tmp_path.rglob("figures/*.png")}
    assert figures >= {"bleu_by_length.png", "training_curves.png", "alignment_rnnsearch_1.png"}
    assert not any("search-all" in name for name in figures)
