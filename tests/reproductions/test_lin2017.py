"""The script of Lin et al.: its networks, variants and claims, and parts of the smoke preset."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gluon_attn.training.checkpoint import parameter_count
from reproductions import mikolov2013
from reproductions.lin2017 import REPRODUCTION, Settings
from reproductions.protocol.conclude import conclude
from reproductions.tasks.classification.inputs import TokenSequences
from tests.reproductions.support import by_items, dead_settings, gluon_attn, outcome, run_and_score

SMOKE, CPU, PAPERS_OWN = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]


@pytest.mark.parametrize("name", ["best", "nsmc-r6-unmasked", "imdb-r6-strict", "sst-max"])
def test_no_setting_is_dead(name: str) -> None:
    """Except settings of attention in networks without it, and lengths that no text of the sample reaches."""
    variant = SMOKE.variant(name)
    spared = set() if name in ("best", "nsmc-r6-unmasked") else {"max_length"}
    if name == "sst-max":
        spared |= {"attention_units", "penalty"}
    syllables = variant.settings.syllables
    other = {
        "cell": {"lstm": "gru"},
        "pooling": {None: "mean", "max": "mean"},
        "syllables": {syllables: replace(syllables, units=5) if syllables else None},
    }
    if not syllables:
        spared.add("syllables")
    if name in ("best", "nsmc-r6-unmasked"):
        variant = replace(variant, settings=replace(variant.settings, max_length=3))
    assert set(dead_settings(variant, SMOKE.task(name), other)) == spared


def test_presets_differ_in_scale_and_the_ablations_of_a_corpus_in_one_setting() -> None:
    assert [variant.name for variant in SMOKE.variants] == ALL
    for preset in (SMOKE, CPU):
        for one, other, settings in (
            ("nsmc-r1", "nsmc-r6", {"hops"}),
            ("nsmc-r2", "nsmc-r10", {"hops"}),
            ("nsmc-r6-free", "nsmc-r6", {"penalty"}),
            ("nsmc-r6-free", "nsmc-r6-strict", {"penalty"}),
            ("nsmc-r6", "nsmc-r6-unmasked", {"masked"}),
            ("nsmc-r6", "nsmc-r6-warm", {"penalty_warmup"}),
            ("nsmc-r6-vectors", "nsmc-r6-wide", set()),
            ("imdb-r6-free", "imdb-r6-strict", {"penalty", "penalty_warmup"}),
            ("imdb-r6-free", "imdb-r6", {"penalty"}),
            ("nsmc-r1-free", "nsmc-r6-free", {"hops"}),
            ("imdb-r1-free", "imdb-r6-free", {"hops"}),
            ("sst-r6-free", "sst-r6-strict", {"penalty"}),
            ("imdb-r6-free", "imdb-max", {"hops", "attention_units", "pooling"}),
        ):
            first, second = preset.variant(one), preset.variant(other)
            differing = {
                field.name
                for field in fields(Settings)
                if getattr(first.settings, field.name) != getattr(second.settings, field.name)
            }
            assert differing == settings, (one, other)
            if preset.task(one).corpus != "sst-5":  # where each network has the epochs that validation is best with
                assert first.recipe == second.recipe, (one, other)


def test_word_vectors_are_those_of_the_crawl_and_as_wide_as_the_embeddings() -> None:
    for preset in (SMOKE, CPU):
        pretrained = {variant.name: variant.pretrained for variant in preset.variants if variant.pretrained}
        assert pretrained == {"nsmc-r6-vectors": "mikolov2013/skip-gram"}
        vectors = mikolov2013.REPRODUCTION.preset(preset.name).variant("skip-gram").settings
        assert preset.variant("nsmc-r6-vectors").settings.embedding_units == vectors.units


def test_the_paper_preset_has_the_sizes_of_section_4() -> None:
    """300 units per direction, d_a = 350, r = 30, 3 000 hidden units; the authors' embeddings of 100."""
    words, classes, units, d_a, hops, hidden = 1_000, 2, 300, 350, 30, 3_000
    (variant,) = PAPERS_OWN.variants
    data: Any = SimpleNamespace(vocabulary_size=words, classes=classes, inputs=TokenSequences())
    lstm = 2 * 4 * units * (100 + units + 2)
    attention = d_a * 2 * units + hops * d_a
    expected = words * 100 + lstm + attention + hidden * (hops * 2 * units + 1) + classes * (hidden + 1)
    assert variant.settings == Settings() and parameter_count(Settings().build(data)) == expected
    assert variant.settings.penalty == 1.0 and variant.recipe.optimizer == "sgd" and variant.recipe.batch_size == 32


def test_only_networks_in_figures_store_texts() -> None:
    """Each figure needs the outcomes of its variants, with three correct texts of five classes."""
    storing = {variant.name for variant in CPU.variants if len(CPU.task(variant.name).measurements) > 1}  # type: ignore[attr-defined]
    pairs = {f"{corpus}-r6-{penalty}" for corpus in ("nsmc", "imdb", "sst") for penalty in ("free", "strict")}
    assert storing == {"best", *pairs}


def test_less_overlap_with_the_penalty_supports_the_claim(tmp_path: Path) -> None:
    outcomes = [
        outcome(
            tmp_path,
            name,
            arrays={
                "right": np.arange(40) < 20,
                "seen_in_train": np.zeros(40, bool),
                "overlap": np.where(np.arange(40) == 0, np.nan, shared),
            },
            corpus="sample",
        )
        for name, shared in (("nsmc-r6-free", 0.8), ("nsmc-r6-strict", 0.3))
    ]
    rows, (claim,) = conclude(REPRODUCTION, SMOKE, outcomes)
    assert claim.id == "overlap-nsmc" and claim.effect == pytest.approx(0.5) and by_items(claim) == "supported"
    assert claim.basis == "one seed" and claim.verdict == "not judged"
    assert {row.variant for row in rows} == {"nsmc-r6-free", "nsmc-r6-strict"}


@pytest.mark.slow
def test_trained_on_the_sample_it_draws_and_answers(tmp_path: Path) -> None:
    """Five of its networks, from the command line: figures, page and predictions."""
    names = ("best", "nsmc-r6-free", "nsmc-r6-strict", "imdb-r6-free", "imdb-r6-strict")
    chosen = [flag for name in names for flag in ("--variant", name)]
    answer = run_and_score("lin2017", "--preset", "smoke", "--runs", tmp_path, "--jobs", 2, *chosen)
    assert answer.code == 0, answer.err
    root = tmp_path / "lin2017" / "smoke-portable"
    assert sorted(path.name for path in (root / "figures").iterdir()) == [
        "hops_best.png",
        "hops_nsmc-r6-free.png",
        "hops_nsmc-r6-strict.png",
        "penalty_by_length.png",
        "summed_hops_imdb.png",
        "summed_hops_nsmc.png",
        "training_curves_imdb.png",
        "training_curves_nsmc.png",
    ]
    assert (root / "reviews.html").stat().st_size > 10_000
    options = ("lin2017", "--preset", "smoke", "--runs", tmp_path, "--variant", "imdb-r6-strict", "--weights")
    predicted = gluon_attn("predict", *options, stdin=b"A good film.\n\nbad")
    label, probability, weights = predicted.out.splitlines()[0].split("\t")
    assert label in ("negative", "positive") and 0 < float(probability) < 1
    shares = [pair.rpartition(":") for pair in weights.split(" ")]
    assert [token for token, _, _ in shares] == ["a", "good", "film", "."]
    assert sum(float(share) for _, _, share in shares) == pytest.approx(1, abs=0.01)
    assert predicted.out.splitlines()[1] == "" and predicted.out.splitlines()[2].count("\t") == 2
