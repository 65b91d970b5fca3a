"""The script of the post: its networks, variants and claims, and the smoke preset as a whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.training.checkpoint import parameter_count
from preprocessing import naver
from reproductions import joulin2016, mikolov2013
from reproductions.naver_self_attention import REPRODUCTION, SENTENCE
from reproductions.protocol import papers
from reproductions.protocol.conclude import conclude
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome, training_of
from reproductions.protocol.task import Variant
from reproductions.tasks.classification.inputs import SequencesWithBags, TokenSequences
from reproductions.tasks.classification.post_settings import Additive, Pooled, Post, ScaledDot
from reproductions.tasks.classification.settings import StackedSettings, Syllables
from reproductions.tasks.classification.wide_and_deep_settings import WideAndDeepSettings
from tests.reproductions.support import by_items, claims_by_id, dead_settings, gluon_attn, outcome, run, run_and_score

PAPER = "naver_self_attention"
SMOKE, CPU, PAPERS_OWN = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]


# --- parameters ---


def count(settings: Any, vocabulary: int, syllables: int) -> int:
    """Trained parameters of a variant, from the equations of its parts."""
    embedding, units, classes = settings.embedding_units, settings.units, 2

    def recurrent(width: int, gates: int) -> int:
        """Two directions; each gate reads the input and the state, and MXNet has a bias for both."""
        return 2 * gates * units * (width + units + 2)

    total = vocabulary * embedding
    if isinstance(settings, StackedSettings):
        gates = {"gru": 3, "lstm": 4}[settings.cell]
        if settings.syllables:
            spelled = settings.syllables.per_token * settings.syllables.units
            total += syllables * settings.syllables.units + embedding * (spelled + 1)
        total += recurrent(embedding, gates) + (settings.layers - 1) * recurrent(2 * units, gates)
        total += settings.attention_units * (2 * units + 1) + settings.attention_units  # Hidden layer, its query.
        if isinstance(settings, WideAndDeepSettings):  # Vectors of words and n-grams, and their own dense layer.
            total += (vocabulary + settings.buckets) * settings.bag_units + classes * (settings.bag_units + 1)
        return total + classes * (2 * 2 * units + 1)  # Context and maximum.
    total += recurrent(embedding, 3)
    if isinstance(settings.attention, Additive):  # W q + b, U k, v.
        total += settings.attention.units * (2 * units + 1) + settings.attention.units * 2 * units
        total += settings.attention.units
    positions = 1 if isinstance(settings, Pooled) else settings.max_length
    return total + classes * (positions * 2 * units + 1)


def built(settings: Any, vocabulary: int, syllables: int) -> Any:
    """The network of a variant, with all its shapes known."""
    text, inputs = np.array([2, 3, 4], np.int32), TokenSequences(settings.max_length)
    if isinstance(settings, StackedSettings) and settings.syllables:
        width = settings.syllables.per_token
        spelling: Any = SimpleNamespace(syllables=range(syllables), width=width)
        text, inputs = np.full((3, 1 + width), 2, np.int32), TokenSequences(settings.max_length, spelling)
        if isinstance(settings, WideAndDeepSettings):
            ngrams = {"orders": settings.orders, "buckets": settings.buckets}
            inputs = SequencesWithBags(settings.max_length, spelling, vocabulary_size=vocabulary, **ngrams)
            text = np.full((3, 1 + width + len(settings.orders)), 2, np.int32)
    elif not isinstance(settings, StackedSettings):
        inputs = settings.inputs(None)
    data: Any = SimpleNamespace(vocabulary_size=vocabulary, classes=2, inputs=inputs)
    model = settings.build(data)
    model.initialize()
    model(*(nd.array(array, dtype=array.dtype) for array in inputs.arrays([text])))
    return model


@pytest.mark.parametrize("name", ALL)
def test_parameter_counts_match_the_equations(name: str) -> None:
    for preset in (SMOKE, CPU):
        settings = preset.variant(name).settings
        assert parameter_count(built(settings, 1_000, 70)) == count(settings, 1_000, 70)


def test_the_network_of_the_post_has_the_described_size() -> None:
    """30 tokens, 30 units of attention; at the size of our vocabulary, 13 656, nearly all parameters are embeddings."""
    assert PAPERS_OWN.variants == (CPU.variant("as-written"),)
    settings = Post()
    assert PAPERS_OWN.variants[0].settings == settings and PAPERS_OWN.task("as-written").prepare  # type: ignore[truthy-function]
    assert (settings.max_length, settings.dropout, settings.attention) == (30, 0.3, Additive(units=30, dropout=0.2))
    assert REPRODUCTION.task.tokenizer == "mecab"  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.corpus("nsmc")
def test_on_the_corpus_the_committed_parameter_counts_are_those_of_the_vocabulary() -> None:
    """Vocabularies are counted here from the reviews: words that are frequent enough and not truncated."""
    train = naver.prepare("nsmc", processes=2).train
    assert train.tokens is not None
    expected = {}
    for variant in CPU.variants:
        settings = variant.settings
        seen = train.tokens.truncated(settings.max_length).counts(len(train.symbols))
        vocabulary, syllables = 2 + int((seen >= settings.min_freq).sum()), 0
        assert 13_000 < vocabulary < 30_000
        if isinstance(settings, StackedSettings) and settings.syllables:
            characters: Counter[str] = Counter()
            for symbol, times in zip(train.symbols, seen.tolist(), strict=True):
                characters.update({character: times * symbol.count(character) for character in set(symbol)})
            syllables = 2 + sum(times >= settings.syllables.min_freq for times in characters.values())
            assert 1_000 < syllables < 3_000
        expected[variant.name] = count(settings, vocabulary, syllables)
        assert parameter_count(built(settings, vocabulary, syllables)) == expected[variant.name]
    committed = Result.read(papers.results_path(PAPER, "cpu"))
    for row in committed.rows:
        (members, *_) = row.per_seed
        networks = members.count("+") + 1  # an ensemble has one entry, such as 1+2+3
        assert row.parameters == networks * expected[row.variant.removesuffix("-averaged")]


# --- settings ---


ALIKE = "over-fitted", "vectors", "best-vectors", "best-short", "best-narrow", "best-distilled", "best-self-trained"


@pytest.mark.parametrize("name", [name for name in ALL if name not in ALIKE])
def test_no_setting_is_dead(name: str) -> None:
    """The settings of the others are those of ``masked``, ``wide`` and ``best``."""
    variant = SMOKE.variant(name)
    syllables = getattr(variant.settings, "syllables", None)
    other = {
        "attention": {Additive(): ScaledDot(), ScaledDot(): Additive(), None: Additive()},
        "pooling": {"attention": "mean", "mean": "last", "last": "mean"},
        "cell": {"gru": "lstm"},
        "syllables": {syllables: replace(syllables or Syllables(), units=5)},
        "orders": {(2,): (2, 3)},
    }
    assert dead_settings(variant, SMOKE.task(name), other) == []


def test_presets_differ_in_scale_only() -> None:
    assert [variant.name for variant in SMOKE.variants] == ALL
    for small, large in zip(SMOKE.variants, CPU.variants, strict=True):
        assert type(small.settings) is type(large.settings) and small.task == large.task
        for kind in ("attention", "pooling", "cell", "layers", "max_length", "dropout", "token_dropout"):
            assert getattr(small.settings, kind, None) == getattr(large.settings, kind, None)
        assert (small.title, small.beside, small.differs) == (large.title, large.beside, large.differs)


def differing(first: Variant[Any], second: Variant[Any]) -> set[str]:
    names = {field.name for settings in (first.settings, second.settings) for field in fields(settings)}
    return {name for name in names if getattr(first.settings, name, None) != getattr(second.settings, name, None)}


@pytest.mark.parametrize(
    ("name", "other", "settings"),
    [
        ("as-written", "dot", {"attention"}),
        ("as-written", "no-attention", {"attention"}),
        ("as-written", "masked", {"pooling"}),
        ("masked", "mean", {"pooling", "attention"}),
        ("masked", "last", {"pooling", "attention"}),
        ("masked", "wide", {"embedding_units"}),
        ("wide", "vectors", set()),
    ],
)
def test_compared_systems_differ_in_one_setting(name: str, other: str, settings: set[str]) -> None:
    """Same corpus, sizes and recipe: otherwise the difference would not be that of the mechanism."""
    for preset in (SMOKE, CPU):
        first, second = preset.variant(name), preset.variant(other)
        # In the smoke preset all are equally narrow.
        expected = settings - {"embedding_units"} if preset is SMOKE else settings
        assert differing(first, second) == expected
        assert first.recipe == second.recipe and preset.task(name).corpus == preset.task(other).corpus


def test_word_vectors_are_those_of_the_crawl_and_as_wide_as_the_embeddings() -> None:
    for preset in (SMOKE, CPU):
        given = [variant for variant in preset.variants if variant.pretrained]
        assert [variant.name for variant in given] == [
            "vectors",
            "best-vectors",
            "best-ngrams",
            "best-words",
            "best-whole",
            "best-short",
            "best-narrow",
            "best-distilled",
            "best-self-trained",
        ]
        vectors = mikolov2013.REPRODUCTION.preset(preset.name).variant("skip-gram").settings
        for variant in given:
            assert variant.pretrained == "mikolov2013/skip-gram"
            assert variant.settings.embedding_units == vectors.units


def test_the_networks_with_word_vectors_differ_from_the_best_in_one_setting() -> None:
    best = CPU.variant("best")
    for name, changed in {
        "best-vectors": {},
        "best-words": {"syllables": None},
        "best-whole": {"token_dropout": 0.0},
        "best-short": {"max_length": 30},
        "best-narrow": {"units": 32},
    }.items():
        variant = CPU.variant(name)
        assert variant.settings == replace(best.settings, **changed) and variant.recipe == best.recipe
    for name in ("best-self-trained", "best-distilled"):
        student = CPU.variant(name)
        assert student.settings == best.settings
        assert student.recipe == replace(best.recipe, epochs=student.recipe.epochs)
        assert set(student.teachers) == {f"{PAPER}/best-words/1", f"{PAPER}/best-whole/1"}
    wide_and_deep = CPU.variant("best-ngrams")
    shared = {each.name: getattr(wide_and_deep.settings, each.name) for each in fields(best.settings)}
    assert type(best.settings)(**shared) == best.settings and wide_and_deep.recipe == best.recipe
    wide, alone = wide_and_deep.settings, joulin2016.REPRODUCTION.preset("cpu").variant("nsmc-bigrams").settings
    assert (wide.orders, wide.buckets, wide.bag_units) == (alone.orders, alone.buckets, alone.units)


def test_over_fitted_is_masked_with_a_longer_training() -> None:
    over_fitted, masked = CPU.variant("over-fitted"), CPU.variant("masked")
    assert over_fitted.settings == masked.settings
    assert over_fitted.recipe.epochs > masked.recipe.epochs and over_fitted.recipe.patience >= over_fitted.recipe.epochs


# --- rows and claims ---


def concluded(tmp_path: Path, **right: np.ndarray) -> tuple[Any, Any]:
    outcomes = [
        outcome(
            tmp_path,
            name.replace("_", "-"),
            seed,
            {"right": values, "seen_in_train": np.arange(len(values)) < 8},
            corpus="sample",
        )
        for seed in (1, 2)
        for name, values in right.items()
    ]
    return conclude(REPRODUCTION, SMOKE, outcomes)


def test_claims_compare_the_sides_that_they_name_and_only_available_ones(tmp_path: Path) -> None:
    better, worse = np.arange(80) % 4 > 0, np.arange(80) % 4 > 2
    rows, claims = concluded(tmp_path, as_written=worse, no_attention=better, masked=better, mean=worse)
    assert [(row.variant, row.split) for row in rows[:3]] == [
        ("as-written", split) for split in ("test", "test", "validation")
    ]
    effects = {claim.id: (claim.effect, by_items(claim)) for claim in claims}
    assert effects == {
        "attention": (-50.0, "contradicted"),
        "attention-mean": (50.0, "supported"),
        "masking": (50.0, "supported"),
    }
    assert all("SAMPLE" in claim.measure for claim in claims)


def test_less_readable_weights_at_the_last_epoch_support_the_claims(tmp_path: Path) -> None:
    arrays = {
        "right": np.ones(80, bool),
        "seen_in_train": np.zeros(80, bool),
        "agreement_best": np.full(200, 0.5),
        "agreement_last": np.full(200, 0.4),
        "entropy_best": np.full(200, 0.7),
        "entropy_last": np.full(200, 0.9),
    }
    _, claims = conclude(REPRODUCTION, SMOKE, [outcome(tmp_path, "over-fitted", 1, arrays)])
    judged = claims_by_id(claims)
    assert judged.keys() == {"readable-agreement", "readable-entropy"}
    assert judged["readable-agreement"].effect == pytest.approx(0.1)
    assert judged["readable-entropy"].effect == pytest.approx(0.2)
    assert all(by_items(claim) == "supported" for claim in claims)


# --- end to end ---


def test_the_smoke_preset_draws_figures_and_answers(tmp_path: Path) -> None:
    """The end-to-end test of the task: two networks, figures, page and predictions, from the command line."""
    chosen = ("--variant", "as-written", "--variant", "over-fitted")
    answer = run_and_score(PAPER, "--preset", "smoke", "--runs", tmp_path, "--jobs", 2, *chosen)
    assert answer.code == 0, answer.err
    root = tmp_path / PAPER / "smoke-portable"
    drawn = {path.name for path in (root / "figures").iterdir()}
    assert drawn == {"training_curves.png", "attention_as-written.png", "readability.png"}
    page = (root / "reviews.html").read_text(encoding="utf-8")
    assert "example sentence from the post" in page and "as-written, seed 1" in page
    trained = Outcome.of(run(tmp_path, "as-written", paper=PAPER))
    assert trained.examples["featured"]["text"] == SENTENCE
    assert len(trained.examples["featured"]["matrix"]) == len(trained.examples["featured"]["tokens"])
    options = (PAPER, "--preset", "smoke", "--runs", tmp_path, "--variant", "as-written", "--weights")
    predicted = gluon_attn("predict", *options, stdin="정말 좋은 영화\n\n".encode())
    label, probability, weights = predicted.out.splitlines()[0].split("\t")
    assert label in ("negative", "positive") and 0.5 <= float(probability) < 1 and weights.startswith("정말:")
    assert predicted.out.splitlines()[1] == ""


@pytest.mark.slow
def test_initialisation_from_word_vectors_changes_the_network(tmp_path: Path) -> None:
    """``wide`` and ``vectors`` differ in nothing else; both are those of the committed smoke results."""
    chosen = ("--variant", "wide", "--variant", "vectors")
    answer = run_and_score(PAPER, "--preset", "smoke", "--runs", tmp_path, "--jobs", 2, *chosen)
    assert answer.code == 0, answer.err
    trained = {name: Outcome.of(run(tmp_path, name, paper=PAPER)).record for name in ("wide", "vectors")}
    committed = Result.read(papers.results_path(PAPER, "smoke")).manifest["parameters_sha256"]
    for name, record in trained.items():
        assert record["parameters_sha256"] == committed[f"{name}/1"]
    assert trained["wide"]["parameters_sha256"] != trained["vectors"]["parameters_sha256"]
    vectors = training_of(run(tmp_path, "skip-gram", paper="mikolov2013"))
    assert trained["vectors"]["corpora"]["pretrained"] == vectors["parameters_sha256"]
    assert "pretrained" not in trained["wide"]["corpora"]
