"""Vaswani et al. (2017): sizes, systems, claims, and a whole run on the embedded sentences."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.plots import curves
from gluon_attn.plots.style import COLOURS
from reproductions.protocol.conclude import conclude
from reproductions.protocol.reproduction import Draw
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome
from reproductions.tasks.translation.transformer_figures import positional_encoding, scores_by_width
from reproductions.vaswani2017 import ABLATIONS, REPRODUCTION
from tests.reproductions.support import by_items, claims_by_id, dead_settings, run_and_score
from tests.reproductions.translating import (
    OTHER,
    SEARCH_SETTINGS,
    SENTENCES,
    learns_in_one_step,
    parameter_count,
    translated,
)

SMOKE, CPU, PAPER = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
RECIPES: dict[str, dict[str, Any]] = {
    "epochs-28": {"epochs": 28},
    "schedule": {"decay": "inverse-sqrt", "average": 5},
}
WORDS = 37_000


def size(d: int, hidden: int, layers: int = 6, keys: int | None = None, positions: int = 0, words: int = WORDS) -> int:
    """The matrices of sec. 3, one of embeddings among them, with the biases and gains of layer normalisation; ``keys``
    is the width of the keys of all heads."""
    attention = 2 * d * d + 2 * d * (keys or d)
    feed_forward, norm = 2 * d * hidden + hidden + d, 2 * d
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    return layers * (encoder + decoder) + words * (d + 1) + 2 * positions * d


@pytest.mark.parametrize(
    ("variant", "sizes", "millions"),
    [
        ("transformer", {}, 65),
        ("keys-8", {"keys": 8 * 16}, 58),
        ("keys-16", {"keys": 8 * 32}, 60),
        ("layers-1", {"layers": 2}, 36),
        ("units-64", {"d": 256}, 28),
        ("units-256", {"d": 1024}, 168),
        ("hidden-128", {"hidden": 1024}, 53),
        ("hidden-512", {"hidden": 4096}, 90),
        ("learned", {"positions": 64}, 65),
        ("transformer-fr", {"d": 1024, "hidden": 4096}, 213),
    ],
)
def test_networks_have_the_parameters_of_the_equations_and_those_of_table_3(
    variant: str, sizes: dict[str, int], millions: int
) -> None:
    """``millions`` is what Table 3 states. Its vocabulary is "about 37 000"; with 41 000 words, all numbers but the one
    of the big network round to those of the table; that one does with the 37 000."""
    sizes = {"d": 512, "hidden": 2048, **sizes}
    assert parameter_count("vaswani2017", variant, WORDS, WORDS) == size(**sizes)
    if variant == "transformer-fr":
        assert size(**sizes) / 1e6 == pytest.approx(millions, abs=1.5)
    else:
        assert round(size(**sizes, words=41_000) / 1e6) == millions


def test_the_paper_preset_has_table_3_and_both_networks_of_table_2() -> None:
    names = {variant.name for variant in PAPER.variants}
    assert names == {"transformer", "transformer-fr", *ABLATIONS} - {"schedule", "post-norm", *RECIPES}
    reported = {name: PAPER.variant(name).beside for name in ("transformer", "transformer-fr", "keys-8")}
    assert {name: (one.system, one.value) for name, one in reported.items() if one} == {
        "transformer": ("base", 27.3),
        "transformer-fr": ("big", 41.8),
        "keys-8": ("keys of 16", 25.1),
    }
    base = PAPER.variant("transformer").settings
    assert PAPER.variant("small").settings == base
    assert (base.units, base.layers, base.heads, base.hidden_units, base.dropout) == (512, 6, 8, 2048, 0.1)
    assert (base.norm, base.positions, base.smoothing, base.beam, base.alpha) == ("post", "sinusoidal", 0.1, 4, 0.6)
    recipe = PAPER.variant("transformer").recipe
    for name, units in (("transformer", 512), ("transformer-fr", 1024), ("units-64", 256)):
        assert PAPER.variant(name).recipe.rate(3999, 100_000) == pytest.approx(units**-0.5 * 4000**-0.5)  # eq. 3
    assert recipe.optimizer_arguments == {"beta2": 0.98, "epsilon": 1e-9}


@pytest.mark.parametrize("preset", [CPU, PAPER], ids=["cpu", "paper"])
def test_each_row_of_table_3_changes_one_thing(preset: Any) -> None:
    base = asdict(preset.variant("small").settings)
    for name in (name for name in ABLATIONS if name not in RECIPES and name in preset.names):
        variant = preset.variant(name)
        changed = {key for key, value in asdict(variant.settings).items() if value != base[key]}
        assert changed == ({ABLATIONS[name].setting} if name != "small" else set()), name
        rate = variant.recipe.learning_rate  # depends on the units in the paper
        assert variant.recipe == replace(preset.variant("small").recipe, learning_rate=rate)


@pytest.mark.parametrize("name", RECIPES)
def test_a_row_of_the_recipe_changes_that_alone(name: str) -> None:
    row, base = CPU.variant(name), CPU.variant("small")
    assert row.settings == base.settings
    assert row.recipe == replace(base.recipe, **RECIPES[name])


def test_each_language_pair_has_the_same_network_and_baseline() -> None:
    for system in ("transformer", "rnnsearch"):
        variants = [variant for variant in CPU.variants if variant.name.startswith(system)]
        assert len(variants) == {"transformer": 7, "rnnsearch": 4}[system]
        assert len({replace(variant.settings, alphas=()) for variant in variants}) == 1
    longer, french = CPU.variant("transformer-fr-longer"), CPU.variant("transformer-fr")
    assert longer.recipe == replace(french.recipe, epochs=44) and longer.settings.alphas and not french.settings.alphas


def test_rnnsearch_has_as_many_parameters() -> None:
    """For vocabularies of the size that they have here: 4 971 tokens of both languages, 2 896 and 3 635 of each."""
    transformer = parameter_count("vaswani2017", "transformer", 4971, 4971, "cpu")
    rnnsearch = parameter_count("vaswani2017", "rnnsearch", 2896, 3635, "cpu")
    assert rnnsearch == pytest.approx(transformer, rel=0.01)


@pytest.mark.slow
def test_no_setting_is_dead() -> None:
    other = {
        **OTHER,
        "norm": {"pre": "post"},
        "positions": {"sinusoidal": "learned"},
        "key_units": {None: 2},
        "embedding_units": {None: 8},
    }
    other["heads"] = {2: 1}
    assert set(dead_settings(SMOKE.variant("transformer"), REPRODUCTION.task, other)) == SEARCH_SETTINGS


@pytest.mark.parametrize("variant", ["transformer", "rnnsearch", "keys-8", "learned", "post-norm"])
def test_variants_learn_in_one_step(variant: str) -> None:
    learns_in_one_step("vaswani2017", variant)


def trained(folder: Path, variant: str, seed: int, curve: dict[float, float], **arrays: Any) -> Outcome:
    """A made-up outcome with validation BLEU by minutes."""
    history = [{"cpu_seconds": 60 * minute, "validation_bleu": bleu} for minute, bleu in curve.items()]
    return translated(folder, variant, 0.9, seed=seed, history=history, **arrays)


LOSERS = ("heads-1", "keys-8", "layers-1", "units-64", "no-dropout", "no-positions", "post-norm", "schedule")
WON = ("attention-alone-fr", "time", "heads", "keys", "depth", "width", "dropout", "smoothing-bleu", "order", "norm")


def test_claims_are_judged_from_outcomes(tmp_path: Path) -> None:
    qualities = dict.fromkeys(LOSERS, 0.7)
    qualities |= {"rnnsearch-fr": 0.8, "small": 0.8, "no-smoothing": 0.7, "learned": 0.8}
    outcomes = [translated(tmp_path, name, quality) for name, quality in qualities.items()]
    attending = {f"heads_{name}": np.full((SENTENCES, 1, 2), 0.7) for name in ("before", "lexicon")}
    nouns = {f"head_{name}": np.full(SENTENCES, share) for name, share in (("noun", 0.6), ("second_word", 0.2))}
    outcomes += [translated(tmp_path, "transformer-fr", 0.9, **nouns)]
    outcomes += [trained(tmp_path, "transformer", 1, {5: 50.0}, **attending)]
    outcomes += [trained(tmp_path, "rnnsearch", 1, {9: 50.0})]
    claims = claims_by_id(conclude(REPRODUCTION, SMOKE, outcomes)[1])
    assert set(claims) == {claim.id for claim in REPRODUCTION.claims}
    assert by_items(claims["attention-alone"]) == "inconclusive"
    assert by_items(claims["smoothing-perplexity"]) == "contradicted"
    for name in (*WON, "schedule"):
        assert by_items(claims[name]) == "supported", name
    assert claims["head-before"].effect == claims["head-aligns"].effect == pytest.approx(0.7)
    assert claims["head-noun"].effect == pytest.approx(0.4)
    assert claims["positions"].effect == pytest.approx(0.0)
    assert claims["heads"].reported == pytest.approx(0.9)


@pytest.mark.slow
def test_the_smoke_preset_runs_completely(tmp_path: Path) -> None:
    names = ("transformer", "rnnsearch", "small", "heads-1")
    flags = [flag for name in names for flag in ("--variant", name)]
    done = run_and_score("vaswani2017", "--preset", "smoke", *flags, "--runs", tmp_path, "--jobs", "2")
    assert done.code == 0, done.err
    result = Result.read(next(tmp_path.rglob("results.json")))
    assert {row.variant for row in result.rows} == set(names)
    assert {claim.id for claim in result.claims} >= {"attention-alone", "heads"}
    figures = {path.name for path in tmp_path.rglob("figures/*.png")}
    assert figures >= {"bleu_by_length.png", "training_curves_attention.png", "heads_transformer.png"}


@pytest.mark.parametrize("draw", [scores_by_width, positional_encoding])
def test_two_figures_need_no_outcomes(draw: Draw, tmp_path: Path) -> None:
    (path,) = draw({}, tmp_path).values()
    assert path.stat().st_size > 10_000


def test_the_figure_of_positions_has_sinusoids_and_their_products(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = list[np.ndarray]()
    monkeypatch.setattr(curves, "positional_encoding", lambda code, similarity, path: drawn.extend((code, similarity)))
    positional_encoding({}, tmp_path)
    code, similarity = drawn
    angles = np.arange(len(code))[:, None] / 10_000 ** (np.arange(64) / 64)
    np.testing.assert_allclose(code, np.hstack([np.sin(angles), np.cos(angles)]), atol=1e-4)
    np.testing.assert_allclose(similarity, np.cos(angles).mean(axis=1), atol=1e-4)


def test_no_figure_of_training_curves_has_too_many_systems() -> None:
    groups = [CPU.task(variant.name).group for variant in CPU.variants]
    assert max(groups.count(group) for group in groups) <= 2 * len(COLOURS)
