"""The script of Yang et al.: its networks, variants and claims, and parts of the smoke preset."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproductions import mikolov2013
from reproductions.protocol.conclude import conclude
from reproductions.protocol.results import JudgedClaim
from reproductions.protocol.runs import Outcome
from reproductions.yang2016 import REPRODUCTION
from tests.reproductions.support import by_items, claims_by_id, dead_settings, gluon_attn, outcome, run_and_score

SMOKE, CPU, PAPERS_OWN = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]


@pytest.mark.parametrize("name", ALL)
def test_no_setting_is_dead(name: str) -> None:
    """Except settings of attention in networks without it, and of the family of ``flat`` that it does not use.

    It has one hop and no penalty, no syllables, and a length that no text of the sample reaches.
    """
    of_flat = {"max_length", "syllables", "penalty"}
    spared = {"ave": {"attention_units"}, "max": {"attention_units"}, "flat": of_flat, "flat-whole": of_flat}
    other: dict[str, Any] = {
        "pooling": {"attention": "mean", "mean": "max", "max": "mean", None: "mean"},
        "cell": {"gru": "lstm"},
        "syllables": {None: None},
        "penalty": {0.0: 0.0},
    }
    assert set(dead_settings(SMOKE.variant(name), SMOKE.task(name), other)) == spared.get(name, set())


def test_presets_differ_in_scale_and_systems_in_one_setting() -> None:
    assert [variant.name for variant in SMOKE.variants] == ALL
    for preset in (SMOKE, CPU):
        att, ave, maximum, flat = (preset.variant(name) for name in ("att", "ave", "max", "flat"))

        def differing(first: Any, second: Any) -> set[str]:
            shared = {field.name for field in fields(first.settings)} & {
                field.name for field in fields(second.settings)
            }
            assert len(shared) > 7
            return {name for name in shared if getattr(first.settings, name) != getattr(second.settings, name)}

        assert differing(att, ave) == differing(att, maximum) == differing(att, flat) == {"pooling"}
        assert (ave.settings.pooling, maximum.settings.pooling, flat.settings.hops) == ("mean", "max", 1)
        assert att.recipe == ave.recipe == maximum.recipe == flat.recipe
        assert differing(flat, preset.variant("flat-whole")) == {"max_length"}
        tasks: list[Any] = [preset.task(variant.name) for variant in (att, ave, maximum, flat)]
        assert all(replace(task, measurements=()) == tasks[-1] for task in tasks)
        assert (tasks[-1].max_words, tasks[-1].overlong) == (50, "wrap")


def test_every_word_is_initialised_from_a_vector_of_the_same_reviews() -> None:
    """Both scripts have the same words and vectors of the same width."""
    for preset in (SMOKE, CPU, PAPERS_OWN):
        script = mikolov2013.REPRODUCTION.preset(preset.name)
        vectors = script.variant("imdb").settings
        assert script.task("imdb").corpus == "imdb"
        for variant in preset.variants:
            assert variant.pretrained == "mikolov2013/imdb" and preset.task(variant.name).corpus == "imdb"
            assert variant.settings.embedding_units == vectors.units
            assert preset is SMOKE or variant.settings.min_freq == vectors.min_freq


def test_the_paper_preset_has_the_sizes_of_section_3() -> None:
    """Embeddings of 200, 50 units per direction, context vectors of 100, words seen more than five times, batches of
    64.
    """
    (variant,) = PAPERS_OWN.variants
    assert variant == CPU.variant("att")
    settings = variant.settings
    assert (settings.embedding_units, settings.units, settings.attention_units, settings.min_freq) == (200, 50, 100, 6)
    assert variant.recipe.batch_size == 64


def made_up(folder: Path, name: str, right: float, **arrays: Any) -> Outcome:
    reviews = {"right": np.arange(60) < right * 60, "seen_in_train": np.zeros(60, bool), "label": np.arange(60) % 2}
    return outcome(folder, name, arrays=reviews | arrays)


def judged(*outcomes: Outcome) -> dict[str, JudgedClaim]:
    return claims_by_id(conclude(REPRODUCTION, SMOKE, outcomes)[1])


def test_words_with_more_weight_in_their_class_support_the_claims(tmp_path: Path) -> None:
    rows, label = np.arange(60), np.arange(60) % 2
    arrays = {
        "rows_of_good": np.repeat(rows, 2),
        "weights_of_good": np.repeat(np.where(label == 1, 2.0, 0.5), 2),
        "rows_of_bad": rows,
        "weights_of_bad": np.where(label == 1, 2.0, 0.5),
    }
    claims = judged(made_up(tmp_path, "att", 0.5, **arrays))
    assert set(claims) == {"context-good", "context-bad"}
    assert claims["context-good"].effect == pytest.approx(1.5) and by_items(claims["context-good"]) == "supported"
    assert claims["context-bad"].effect == pytest.approx(-1.5) and by_items(claims["context-bad"]) == "contradicted"


@pytest.mark.parametrize(("other", "verdict"), [(0.5, "supported"), (0.0, "contradicted")])
def test_mean_and_maximum_are_equal_within_the_margin_only(other: float, verdict: str, tmp_path: Path) -> None:
    claims = judged(made_up(tmp_path, "ave", 0.5), made_up(tmp_path, "max", other))
    assert by_items(claims["ave-max"]) == verdict


@pytest.mark.slow
def test_trained_on_the_sample_it_draws_and_answers(tmp_path: Path) -> None:
    chosen = ("--variant", "best", "--variant", "att")
    answer = run_and_score("yang2016", "--preset", "smoke", "--runs", tmp_path, "--jobs", 2, *chosen)
    assert answer.code == 0, answer.err
    root = tmp_path / "yang2016" / "smoke-portable"
    drawn = {path.name for path in (root / "figures").iterdir()}
    assert {"training_curves.png", "weights_of_good.png"} <= drawn
    # A network this small gives all reviews one label: it has a correctly classified review of that class alone.
    assert len(drawn & {"review_positive.png", "review_negative.png"}) == 1
    assert (root / "reviews.html").stat().st_size > 10_000
    options = ("yang2016", "--preset", "smoke", "--runs", tmp_path, "--variant", "att", "--weights")
    answer = gluon_attn("predict", *options, stdin=b"A good film. Not bad at all!\n\n...")
    assert answer.code == 0, answer.err
    first, second, third = answer.out.splitlines()
    tokens = [pair.rpartition(":")[0] for pair in first.split("\t")[2].split(" ")]
    assert tokens == ["a", "good", "film", ".", "not", "bad", "at", "all", "!"] and second == "" and third
    endless = b"Good. " * 3_000 + b"\nbad\n" + b"word " * 2_000 + b"\n"
    answer = gluon_attn("predict", *options, stdin=endless)
    assert answer.code == 0 and answer.out.count("\t") == answer.out.count("\n") * 2 == 6
    assert len(answer.out.splitlines()[0].split("\t")[2].split(" ")) == 6_000
