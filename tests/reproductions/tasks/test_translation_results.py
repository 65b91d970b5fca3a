"""Rows, claims and figures of the scripts that translate, from made-up outcomes and from real ones of the sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import autograd, init, nd

from gluon_attn import runtime
from reproductions import bahdanau2014, luong2015, sutskever2014
from reproductions.protocol.papers import preset, script
from reproductions.protocol.results import Result
from reproductions.tasks import translation, translation_results
from reproductions.tasks.bleu import bleu
from reproductions.tasks.translation_results import (
    Comparison,
    by_halves,
    conclude,
    difference,
    ensemble_row,
    long_minus_short,
)
from tests.reproductions.support import gluon_attn, outcome

SMOKE = bahdanau2014.PRESETS["smoke"]
TRANSLATING = ("sutskever2014", "cho2014", "bahdanau2014", "luong2015")
SENTENCES = 40


def counts(quality: float, sentences: int = SENTENCES) -> np.ndarray:
    """Counts of sentences of ten words of which a share is right."""
    right = int(10 * quality)
    row = [right, max(0, right - 1), max(0, right - 2), max(0, right - 3), 10, 9, 8, 7, 10, 10]
    return np.array([row] * sentences, np.int32)


def made(folder: Path, variant: str, quality: float, *, seed: int = 1, **arrays: Any) -> Any:
    given: Mapping[str, Any] = {
        "bleu": counts(quality),
        "sacrebleu": counts(quality - 0.1),
        "likelihood": np.tile([20.0 / quality, 10.0], (SENTENCES, 1)),
        "words": np.arange(SENTENCES),
        **arrays,
    }
    facts = {"history": [{"validation_bleu": 1.0}, {"validation_bleu": 3.0}], "metrics": {"chrf": 50.0}}
    return outcome(folder, variant, seed, given, **facts)


@pytest.fixture(scope="module")
def data() -> translation.Data:
    return translation.prepare(SMOKE, SMOKE.variant("search-all"))


def test_rows_come_from_the_counts(tmp_path: Path, data: translation.Data) -> None:
    good = made(tmp_path, "search-all", 0.9)
    rows = translation_results.rows([good], SMOKE.variant("search-all"), data)
    values = {(row.split, row.metric): row.mean for row in rows}
    assert values["test", "bleu"] == pytest.approx(bleu(counts(0.9).sum(axis=0)))
    assert values["test", "sacrebleu"] < values["test", "bleu"]
    assert values["test", "perplexity"] == pytest.approx(np.exp(2.0 / 0.9))
    assert values["test", "chrf"] == 50.0 and values["validation", "bleu"] == 3.0
    assert all(row.ci95[0] <= row.mean + 1e-9 and row.mean <= row.ci95[1] + 1e-9 for row in rows)
    better = difference({"a": [good], "b": [made(tmp_path, "encdec-all", 0.6)]}, "a", "b")
    expected = bleu(counts(0.9).sum(axis=0)) - bleu(counts(0.6).sum(axis=0))
    assert better.mean == pytest.approx(expected) and better.low > 0


def test_other_searches_have_rows_of_their_own(tmp_path: Path, data: translation.Data) -> None:
    arrays = {"bleu_beam_2": counts(0.8), "bleu_beam_1": counts(0.7), "bleu_replaced": counts(1.0)}
    variant = sutskever2014.PRESETS["smoke"].variant("reversed")
    rows = translation_results.rows([made(tmp_path, "reversed", 0.9, **arrays)], variant, data)
    found = {row.signature.split("; ")[1]: row.mean for row in rows if (row.split, row.metric) == ("test", "bleu")}
    assert found == pytest.approx(
        {
            "beam 12, alpha 0": bleu(counts(0.9).sum(axis=0)),
            "beam 1, alpha 0": bleu(counts(0.7).sum(axis=0)),
            "beam 2, alpha 0": bleu(counts(0.8).sum(axis=0)),
            "beam 12, alpha 0, unknown words replaced": bleu(counts(1.0).sum(axis=0)),
        }
    )


def test_every_column_of_a_script_finds_its_rows(tmp_path: Path) -> None:
    from reproductions.protocol.report import row_of

    arrays = {"bleu_beam_2": counts(0.8), "bleu_beam_1": counts(0.7)}
    outcomes = [made(tmp_path, "reversed", 0.9, **arrays)]
    rows, _ = conclude(outcomes, sutskever2014.PRESETS["smoke"], ())
    result = Result("sutskever2014", "smoke", rows, [], {})
    values = [row_of(result, "reversed", column) for column in sutskever2014.COLUMNS]
    assert [row and row.mean for row in values[:3]] == pytest.approx(
        [bleu(counts(quality).sum(axis=0)) for quality in (0.9, 0.8, 0.7)]
    )
    assert all(values)


def test_a_claim_is_a_comparison_of_what_is_there(tmp_path: Path) -> None:
    outcomes = [made(tmp_path, "search-all", 0.9), made(tmp_path, "encdec-all", 0.6)]
    comparisons = (
        Comparison("a", "attention helps", "Table 1", "search-all", "encdec-all"),
        Comparison("b", "it does not", "Table 1", "encdec-all", "search-all"),
        Comparison("c", "it has a better perplexity", "Table 1", "search-all", "encdec-all", "likelihood"),
        Comparison("d", "not trained", "Table 1", "search-short", "encdec-all"),
    )
    _, claims = conclude(outcomes, SMOKE, comparisons)
    assert {claim.id: claim.verdict for claim in claims} == {"a": "supported", "b": "not supported", "c": "supported"}
    assert claims[0].effect == -claims[1].effect > 0
    assert claims[2].effect == pytest.approx(np.exp(2.0 / 0.6) - np.exp(2.0 / 0.9))
    assert all("SAMPLE" in claim.measure for claim in claims)


def test_the_row_of_an_ensemble_counts_all_its_members(tmp_path: Path) -> None:
    variant = sutskever2014.PRESETS["smoke"].variant("reversed")
    members = [made(tmp_path, "reversed", quality, seed=seed) for seed, quality in ((1, 0.5), (2, 0.6))]
    row = ensemble_row(members, replace(variant, name="both"), counts(0.9), 12)
    assert (row.variant, row.parameters, row.std) == ("both", 20, 0.0)
    assert row.per_seed == {"1+2": row.mean} and row.mean == pytest.approx(bleu(counts(0.9).sum(axis=0)))
    assert "; beam 12," in row.signature


def test_long_and_short_sentences_are_counted_apart() -> None:
    words = np.array([5, 12, 13, 30])
    each = np.concatenate([counts(0.5, 2), counts(0.9, 2)])
    totals = by_halves([{"words": words, "bleu": each}])[0].sum(axis=0)
    expected = bleu(counts(0.9).sum(axis=0)) - bleu(counts(0.5).sum(axis=0))
    assert long_minus_short(totals) == pytest.approx(expected)


@pytest.mark.parametrize("paper", TRANSLATING)
def test_every_variant_learns_something_in_one_step(paper: str) -> None:
    """Each is built as its settings say; a gradient reaches all that it has, and the loss falls."""
    module, chosen = script(paper), preset(paper, "smoke")
    for variant in chosen.variants:
        data = module.prepare(chosen, variant)
        runtime.seed_all(3)
        model = module.build(variant, data)
        model.initialize(init.Xavier())
        task = module.task(variant, data)
        batch = next(iter(task.batches(np.random.RandomState(1))))
        inputs, tokens = [nd.array(array, dtype=array.dtype) for array in batch.inputs], nd.array(batch.target)
        losses = []
        for _ in range(2):
            with autograd.record(train_mode=False):
                loss = task.loss(model(*inputs), tokens)
            loss.backward()
            for name, parameter in model.collect_params().items():
                gradient = parameter.grad().tostype("default").asnumpy()
                assert np.abs(gradient).max() > 0, f"{variant.name}: {name} learns nothing"
                parameter.set_data(parameter.data() - 0.05 * nd.array(gradient))
            losses.append(float(loss.asscalar()))
        assert losses[1] < losses[0], variant.name


def test_the_systems_of_luong_differ_in_one_thing_each() -> None:
    """Table 1 adds one thing after another; Table 4 changes the attention alone."""
    chosen = luong2015.PRESETS["cpu"]

    def changes(first: str, second: str) -> set[str]:
        one, other = chosen.variant(first).settings, chosen.variant(second).settings
        assert chosen.variant(first).recipe == chosen.variant(second).recipe
        return {name for name in one if one[name] != other[name]}

    assert changes("base", "reverse") == {"backwards"}
    assert changes("reverse", "dropout") == {"dropout"}
    assert changes("dropout", "location") == {"attention", "score"}
    assert changes("location", "feed") == {"feeding"}
    for name in ("dot", "general", "concat"):
        assert changes("feed", name) == {"score"}
    for name in ("local-m-general", "local-p-general"):
        assert changes("general", name) == {"attention"}
        assert changes(name, name.replace("general", "dot")) == {"score"}


def test_sutskever_runs_whole_with_beams_and_ensemble(tmp_path: Path) -> None:
    done = gluon_attn("run", "sutskever2014", "--preset", "smoke", "--variant", "reversed", "--runs", tmp_path)
    assert done.code == 0, done.err
    result = Result.read(next(tmp_path.rglob("results.json")))
    beams = {row.signature.split("; ")[1] for row in result.rows if row.variant == "reversed-ensemble"}
    assert beams == {"beam 12, alpha 0", "beam 2, alpha 0", "beam 1, alpha 0"}
    assert {claim.id for claim in result.claims} == {"beam-2", "long", "ensemble"}
    ensemble = [row for row in result.rows if row.variant == "reversed-ensemble"]
    assert all(row.per_seed == {"1+2": row.mean} for row in ensemble)
    assert len(list(tmp_path.rglob("figures/*.png"))) == 2
    (page,) = tmp_path.rglob("translations_reversed.tsv")
    lines = page.read_text("utf-8").splitlines()
    assert lines[0].split("\t") == ["source", "reference", "translation"]
    assert len(lines) > 20 and all(line.count("\t") == 2 for line in lines)


def test_luong_replaces_unknown_words_and_draws_alignments(tmp_path: Path) -> None:
    flags = ["--preset", "smoke", "--variant", "local-p-general", "--variant", "dropout", "--runs", tmp_path]
    done = gluon_attn("run", "luong2015", *flags)
    assert done.code == 0, done.err
    result = Result.read(next(tmp_path.rglob("results.json")))
    replaced = {row.variant for row in result.rows if "unknown words replaced" in row.signature}
    assert replaced == {"local-p-general"}, "a network without attention has nowhere to look"
    assert {claim.id for claim in result.claims} == {"unknown"}
    names = {path.name for path in tmp_path.rglob("figures/*.png")}
    assert names >= {"bleu_by_length.png", "training_curves.png", "alignment_local-p-general_1.png"}
