"""The script of the post: what its variants are made of, and what becomes of their outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.training.checkpoint import parameter_count
from preprocessing import naver
from reproductions import mikolov2013, naver_self_attention as post
from reproductions.protocol.experiment import Preset, Variant
from reproductions.protocol.report import results_path
from reproductions.protocol.results import Result
from reproductions.tasks.classification import inputs
from tests.reproductions.support import PAPER, dead_settings, outcome

SMOKE, CPU, PAPERS_OWN = (post.PRESETS[name] for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]


# --- parameters ---


def count(settings: Mapping[str, Any], vocabulary: int, syllables: int) -> int:
    """Trained numbers of a variant, from the equations of its parts."""
    embedding, units, classes = settings["embedding_units"], settings["units"], 2

    def recurrent(width: int, gates: int) -> int:
        """Two directions; each gate reads the input and the state, and MXNet has a bias for both."""
        return 2 * gates * units * (width + units + 2)

    total = vocabulary * embedding
    if settings["model"] == "stacked":
        gates = {"gru": 3, "lstm": 4}[settings["cell"]]
        spelled = settings["syllables_of_a_token"] * settings["syllable_units"]
        total += syllables * settings["syllable_units"] + embedding * (spelled + 1)
        total += recurrent(embedding, gates) + (settings["layers"] - 1) * recurrent(2 * units, gates)
        total += settings["attention_units"] * (2 * units + 1) + settings["attention_units"]  # hidden layer, its query
        return total + classes * (2 * 2 * units + 1)  # context and maximum
    total += recurrent(embedding, 3)
    if settings["attention"] == "additive":  # W q + b, U k, v
        total += settings["attention_units"] * (2 * units + 1) + settings["attention_units"] * 2 * units
        total += settings["attention_units"]
    positions = settings["max_length"] if settings["model"] == "as written" else 1
    return total + classes * (positions * 2 * units + 1)


def built(variant: Variant, vocabulary: int, syllables: int) -> Any:
    """The network of a variant, with all its shapes known."""
    text, spelling = np.array([2, 3, 4], np.int32), None
    if variant.settings["model"] == "stacked":
        spelling = SimpleNamespace(syllables=range(syllables), width=variant.settings["syllables_of_a_token"])
        text = np.full((3, 1 + spelling.width), 2, np.int32)
    data = SimpleNamespace(prepared=SimpleNamespace(vocabulary=range(vocabulary)), spelling=spelling)
    model = post.build(variant, data)  # type: ignore[arg-type]
    model.initialize()
    model(*(nd.array(array, dtype=array.dtype) for array in inputs(variant, [text])))
    return model


@pytest.mark.parametrize("name", ALL)
def test_every_variant_has_the_parameters_that_its_equations_count(name: str) -> None:
    for chosen in (SMOKE, CPU):
        variant = chosen.variant(name)
        assert parameter_count(built(variant, 1_000, 70)) == count(variant.settings, 1_000, 70)


def test_the_network_of_the_post_is_the_one_it_describes() -> None:
    """30 tokens, 30 units of attention; at the size of our vocabulary, 13 656, nearly all parameters are embeddings."""
    assert PAPERS_OWN.variants == (CPU.variant("as-written"),)
    settings = CPU.variant("as-written").settings
    assert {
        name: settings[name] for name in ("tokenizer", "max_length", "dropout", "attention_units", "attention_dropout")
    } == {
        "tokenizer": "mecab",
        "max_length": 30,
        "dropout": 0.3,
        "attention_units": 30,
        "attention_dropout": 0.2,
    }


@pytest.mark.corpus("nsmc")
def test_on_the_corpus_the_committed_parameters_are_those_of_the_actual_vocabulary() -> None:
    """The vocabularies are counted here from the whole reviews: what is seen often enough and not cut off."""
    train = naver.prepare("nsmc", processes=2).train
    assert train.tokens is not None
    expected = {}
    for variant in CPU.variants:
        settings = variant.settings
        assert settings["tokenizer"] == "mecab"
        seen = train.tokens.truncated(settings["max_length"]).counts(len(train.symbols))
        vocabulary, syllables = 2 + int((seen >= settings["min_freq"]).sum()), 0
        assert 13_000 < vocabulary < 30_000
        if settings["model"] == "stacked":
            characters: Counter[str] = Counter()
            for symbol, times in zip(train.symbols, seen.tolist(), strict=True):
                characters.update({character: times * symbol.count(character) for character in set(symbol)})
            syllables = 2 + sum(times >= settings["syllable_min_freq"] for times in characters.values())
            assert 1_000 < syllables < 3_000
        expected[variant.name] = count(settings, vocabulary, syllables)
        assert parameter_count(built(variant, vocabulary, syllables)) == expected[variant.name]
    if results_path(PAPER, "cpu").exists():
        committed = Result.read(results_path(PAPER, "cpu"))
        for row in committed.rows:
            networks = len(committed.manifest["seeds"]) if row.variant.endswith("-averaged") else 1
            assert row.parameters == networks * expected[row.variant.removesuffix("-averaged")]


# --- settings ---

OTHER: dict[str, Any] = {
    "model": {"as written": "masked", "masked": "as written", "stacked": "masked"},
    "attention": {"additive": "scaled dot", "scaled dot": "additive", None: "additive"},
    "pooling": {"attention": "mean", "mean": "last", "last": "mean"},
    "cell": {"gru": "lstm", "lstm": "gru"},
    "tokenizer": {"mecab": "syllable"},
    "vectors": {"mikolov2013/skip-gram": "mikolov2013/cbow"},
}


@pytest.mark.parametrize("name", [name for name in ALL if name != "over-fitted"])  # its settings are those of `masked`
def test_no_setting_is_dead(name: str) -> None:
    """But for what the runner reads."""
    assert dead_settings(post, SMOKE, name, OTHER) == (["vectors"] if name == "vectors" else [])


def test_presets_differ_in_scale_alone() -> None:
    assert [variant.name for variant in SMOKE.variants] == ALL
    for small, large in zip(SMOKE.variants, CPU.variants, strict=True):
        assert small.settings.keys() == large.settings.keys()
        kinds = ("model", "attention", "pooling", "cell", "layers", "tokenizer", "max_length")
        assert [small.settings.get(kind) for kind in kinds] == [large.settings.get(kind) for kind in kinds]
        titles = [one.title.replace(str(one.settings["embedding_units"]), "so many") for one in (small, large)]
        assert titles[0] == titles[1] and (small.reported, small.differs) == (large.reported, large.differs)


@pytest.mark.parametrize(
    ("name", "differing"),
    [
        ("dot", {"attention", "attention_units"}),
        ("no-attention", {"attention", "attention_units", "attention_dropout"}),
        ("masked", {"model", "pooling"}),
        ("mean", {"model", "pooling", "attention", "attention_units", "attention_dropout"}),
        ("last", {"model", "pooling", "attention", "attention_units", "attention_dropout"}),
        ("wide", {"model", "pooling", "embedding_units"}),
    ],
)
def test_a_comparison_differs_from_the_network_of_the_post_in_one_thing(name: str, differing: set[str]) -> None:
    """Same corpus, same sizes, same recipe: else the difference would not be that of the mechanism."""
    written, other = CPU.variant("as-written"), CPU.variant(name)
    keys = written.settings.keys() | other.settings.keys()
    assert {key for key in keys if written.settings.get(key) != other.settings.get(key)} == differing
    assert other.recipe == written.recipe


def test_networks_with_vectors_and_without_differ_in_these_alone() -> None:
    for chosen in (SMOKE, CPU):
        wide, vectors = chosen.variant("wide"), chosen.variant("vectors")
        assert vectors.settings == {**wide.settings, "vectors": "mikolov2013/skip-gram"}
        assert vectors.recipe == wide.recipe
        widths = mikolov2013.PRESETS[chosen.name].variant("skip-gram").settings
        assert vectors.settings["embedding_units"] == widths["units"]


def test_over_fitted_is_masked_with_a_longer_training() -> None:
    over_fitted, masked = CPU.variant("over-fitted"), CPU.variant("masked")
    assert over_fitted.settings == masked.settings
    assert over_fitted.recipe.epochs > masked.recipe.epochs and over_fitted.recipe.patience >= over_fitted.recipe.epochs


# --- rows and claims ---


def concluded(tmp_path: Path, chosen: Preset = SMOKE, **right: np.ndarray) -> tuple[Any, Any]:
    outcomes = [
        outcome(tmp_path, name.replace("_", "-"), seed, {"right": values}, corpus="sample")
        for seed in (1, 2)
        for name, values in right.items()
    ]
    return post.conclude(outcomes, chosen)


def test_rows_count_all_of_test_and_what_is_not_leaked_and_validation(tmp_path: Path) -> None:
    right = np.arange(80) % 4 > 0
    rows, claims = concluded(tmp_path, mean=right)
    assert [(row.variant, row.split, row.mean) for row in rows] == [
        ("mean", "test", 75.0),
        ("mean", "test", 75.0),
        ("mean", "validation", 50.0),
    ]
    assert "80 test reviews" in rows[0].signature
    assert claims == []


def test_claims_compare_what_they_say_and_only_what_is_there(tmp_path: Path) -> None:
    better, worse = np.arange(80) % 4 > 0, np.arange(80) % 4 > 2
    _, claims = concluded(tmp_path, as_written=worse, no_attention=better, masked=better, mean=worse)
    found = {claim.id: (claim.effect, claim.verdict) for claim in claims}
    assert found == {
        "attention": (-50.0, "not supported"),
        "attention-mean": (50.0, "supported"),
        "masking": (50.0, "supported"),
    }
    assert all("SAMPLE" in claim.measure for claim in claims)


def test_readability_compares_the_last_epoch_with_the_best_and_counts_a_review_once(tmp_path: Path) -> None:
    """Three seeds that agree on every review tell no more about reviews than one seed does."""
    reviews = np.random.RandomState(0).standard_normal(200)
    arrays = {
        "right": np.ones(80, bool),
        "agreement_best": 0.5 + 0.1 * reviews,
        "agreement_last": np.full(200, 0.4),
        "entropy_best": np.full(200, 0.9),
        "entropy_last": np.full(200, 0.7),
    }
    intervals = []
    for seeds in ((1,), (1, 2, 3)):
        outcomes = [outcome(tmp_path / str(len(seeds)), "over-fitted", seed, arrays, corpus="sample") for seed in seeds]
        _, claims = post.conclude(outcomes, SMOKE)
        agreement, entropy = claims
        assert agreement.effect == pytest.approx(0.1 + 0.1 * reviews.mean())
        assert agreement.verdict == "supported"  # less agreement at the last epoch
        assert entropy.effect == pytest.approx(-0.2)
        assert entropy.verdict == "not supported"  # more concentrated there
        intervals.append(agreement.ci95)
    assert intervals[0] == pytest.approx(intervals[1])
