"""The script of Bengio et al.: sizes, mixtures, its claims and figures, and a run of networks and n-grams."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from mxnet import init

from gluon_attn import runtime
from gluon_attn.evaluation.mixture import mixed, mixture_weights
from gluon_attn.models.kneser_ney import KneserNey
from gluon_attn.training.checkpoint import parameter_count
from gluon_attn.training.contexts import context_losses
from preprocessing import ptb
from reproductions.bengio2003 import LISTED, MAPPED, NGRAMS, REPRODUCTION
from reproductions.protocol.conclude import conclude, draw_figures
from reproductions.protocol.loading import load
from reproductions.protocol.own_data import DataOptions, OwnData
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome
from reproductions.tasks.language_modelling.ngram_results import gains_more
from reproductions.tasks.language_modelling.task import by_line
from tests.reproductions.support import by_items, claims_by_id, dead_settings, gluon_attn, outcome, run, run_and_score

SMOKE, CPU, PAPERS_OWN = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
NETWORKS = ("n2", "n3", "n5", "n8", "n5-direct")
COUNTED = tuple(f"kn{order}" for order in NGRAMS)

pytestmark = pytest.mark.filterwarnings("ignore:.*lazy_update")


def test_every_preset_has_all_systems() -> None:
    for preset in (SMOKE, CPU, PAPERS_OWN):
        *in_perplexity, vectors = preset.variants
        assert tuple(variant.name for variant in in_perplexity) == NETWORKS + COUNTED and vectors.name == "skip-gram"
        assert [variant.deterministic for variant in in_perplexity] == 5 * [False] + len(NGRAMS) * [True]
        for variant in in_perplexity:
            assert variant.settings.order == int(variant.name.removeprefix("k").split("-")[0][1:])


@pytest.mark.parametrize("name", ["n5", "n5-direct", "kn3"])
def test_no_setting_is_dead(name: str) -> None:
    """Except what is only measured with; n-grams have no batches, so nothing of them changes one."""
    if name.startswith("kn"):
        data = SMOKE.task(name).prepare(SMOKE.variant(name).settings, sample=True)
        sizes = [parameter_count(SMOKE.variant(each).settings.build(data)) for each in ("kn2", "kn3")]
        assert sizes[0] < sizes[1]
    else:
        assert dead_settings(SMOKE.variant(name), SMOKE.task(name)) == ["mixed_with"]


def test_the_paper_preset_has_the_papers_parameters() -> None:
    """Section 2: |V| (1 + nm + h) + h (1 + (n - 1) m), of which the direct connections have |V| (n - 1) m."""
    v, n, m, h = 10_000, 5, 30, 100
    data = cast(Any, SimpleNamespace(vocabulary_size=v))
    whole = v * (1 + n * m + h) + h * (1 + (n - 1) * m)
    assert parameter_count(PAPERS_OWN.variant("n5-direct").settings.build(data)) == whole
    assert parameter_count(PAPERS_OWN.variant("n5").settings.build(data)) == whole - v * (n - 1) * m
    recipe = PAPERS_OWN.variant("n5").recipe
    assert (recipe.optimizer, recipe.batch_size, recipe.weight_decay) == ("sgd", 1, 1e-4)


def test_reviews_are_needed_too() -> None:
    assert CPU.corpora == ("ptb", "imdb")


def test_vectors_are_compared_at_equal_width() -> None:
    assert CPU.variant("skip-gram").settings.units == CPU.variant("n5").settings.feature_units


def test_words_on_the_map_are_in_the_list_too() -> None:
    assert set(MAPPED) <= set(LISTED) and len(set(LISTED)) == len(LISTED)


def test_mixtures_are_of_the_test_split() -> None:
    variant, task = SMOKE.variant("n3"), SMOKE.task("n3")
    data = task.prepare(variant.settings, sample=True)
    runtime.seed_all(1)
    model: Any = variant.settings.build(data)
    model.initialize(init.Normal(0.5))
    measured = task.evaluate(model, variant.settings, data, None)  # type: ignore[arg-type]
    test, first = data.prepared.test, data.end_of_line
    ngrams = KneserNey(order=5, vocabulary_size=data.vocabulary_size, first=first, text=data.prepared.train.ids)
    ngrams.initialize()
    network, counted = -context_losses(model, test.ids, first), ngrams.log_probabilities(test.ids)
    weights = np.array(measured.examples["mixture"]["weights"])
    assert sum(measured.examples["mixture"]["words"]) == len(data.prepared.validation.ids)
    for name, log_p in (
        ("likelihood", network),
        ("even_mixture", np.log((np.exp(network) + np.exp(counted)) / 2)),
        ("mixture", mixed(network, counted, weights[ngrams.context_lengths(test.ids)])),
    ):
        assert measured.predictions[name][:, 1].tolist() == test.lengths.tolist()
        np.testing.assert_allclose(measured.predictions[name][:, 0], by_line(test, -log_p), rtol=1e-5)
    assert measured.metrics["perplexity"] == pytest.approx(np.exp(-network.mean()), rel=1e-5)
    vectors = SMOKE.task("skip-gram")
    words = vectors.prepare(SMOKE.variant("skip-gram").settings, sample=True)
    for name, wanted in words.measured(model.vectors()).items():
        np.testing.assert_array_equal(measured.predictions[name], wanted, err_msg=name)
    assert measured.metrics["agreement"] == pytest.approx(measured.predictions["agreement"].mean())


def test_on_text_of_ones_own_neighbours_are_not_compared_by_the_sentiment_of_reviews(tmp_path: Path) -> None:
    """It may be of any language; no reviews are read, and what needs them is left out."""
    train, test = tmp_path / "a.txt", tmp_path / "b.txt"
    train.write_text("".join(f"wir sehen {row % 7} von {row % 11}\n" for row in range(80)), encoding="utf-8")
    test.write_text("".join(f"wir sehen {row % 5} von {row % 3}\n" for row in range(20)), encoding="utf-8")
    preset = SMOKE.on(OwnData(ptb.own_lines(train, test), DataOptions(train=train, test=test)))
    variant, task = preset.variant("n5"), preset.task("n5")
    assert preset.corpora == (ptb.OWN_LINES,)
    data = task.prepare(variant.settings)
    model: Any = variant.settings.build(data)
    model.initialize(init.Normal(0.5))
    measured = task.evaluate(model, variant.settings, data, None)  # type: ignore[arg-type]
    assert set(measured.predictions) == {"likelihood", "mixture", "even_mixture"}
    assert set(measured.metrics) == {"perplexity", "mixture perplexity"}
    history = [{"epoch": 1, "train_loss": 3.0, "validation_perplexity": 20.0, "validation_loss": 3.0}]
    record = {"corpus": data.corpus, "metrics": measured.metrics, "history": history}
    finished = outcome(tmp_path, "n5", arrays=measured.predictions, examples=measured.examples, **record)
    rows, claims = conclude(REPRODUCTION, preset, [finished])
    assert {row.metric for row in rows} == {"perplexity"}
    assert [claim.id for claim in claims] == ["mixture-network"]


# --- claims and figures ---

NATS = {"n2": 5.1, "n3": 4.95, "n5": 4.8, "n8": 4.75, "n5-direct": 4.85}
NATS |= dict(zip(COUNTED, (5.3, 5.05, 5.0, 4.95, 4.94, 4.935, 4.93), strict=True))


def made_up(folder: Path) -> list[Outcome]:
    """Outcomes with the same nats for every word; mixtures are a tenth better than networks. Features have 60 per cent
    of neighbours with the sentiment of their word, skip-gram's vectors 58, words drawn at random 50."""
    words = 3.0 + np.arange(30) % 7
    agreement = {"chance": np.full(30, 50.0), "rare": words < 4, "agreement": 60.0 + words % 2}
    groups = [["rose", "fell"], ["bank", "banks"]]
    return [
        outcome(
            folder,
            name,
            seed,
            {
                kind: np.stack([(nats - better) * words, words], axis=1)
                for kind, better in (("likelihood", 0.0), ("mixture", 0.1), ("even_mixture", 0.05))
            }
            | ({} if name in COUNTED else agreement),
            corpus="ptb",
            history=[{"epoch": 1, "train_loss": 5.0, "validation_perplexity": 90.0, "validation_loss": 4.5}],
            examples={"map": {"groups": groups, "positions": np.eye(4)[:, :2].tolist()}},
        )
        for name, nats in NATS.items()
        for seed in ((1,) if name in COUNTED else (1, 2, 3))
    ] + [
        outcome(
            folder,
            "skip-gram",
            seed,
            agreement | {"agreement": 58.0 + words % 3},
            corpus="ptb",
            metrics={"loss": 2.0},
            history=[{"epoch": 1, "train_loss": 2.0, "validation_loss": 2.0, "validation_agreement": 58.0}],
        )
        for seed in (1, 2, 3)
    ]


def test_a_gain_over_ngrams_needs_no_more_than_the_seeds_that_both_networks_have(tmp_path: Path) -> None:
    outcomes = made_up(tmp_path)
    kn3, kn5 = ([one for one in outcomes if one.variant == name] for name in ("kn3", "kn5"))
    n3, n5 = ([one for one in outcomes if one.variant == name] for name in ("n3", "n5"))
    whole, fewer = gains_more(n3, n5, kn3, kn5), gains_more(n3, n5[:2], kn3, kn5)
    assert whole and fewer and fewer.estimate.mean == pytest.approx(whole.estimate.mean)  # the seeds are alike
    assert gains_more(n3[:1], n5[1:], kn3, kn5) is None


def test_claims_compare_the_sides_that_they_name(tmp_path: Path) -> None:
    rows, claims = conclude(REPRODUCTION, CPU, made_up(tmp_path))
    p = {name: math.exp(nats) for name, nats in NATS.items()}
    better, words = math.exp(-0.1), 3.0 + np.arange(30) % 7
    assert {id: claim.effect for id, claim in claims_by_id(claims).items()} == pytest.approx(
        {
            "network": p["kn5"] - p["n5"],
            "mixture-network": p["n5"] * (1 - better),
            "mixture-ngrams": p["kn5"] - better * p["n5"],
            "longer-5": p["n3"] - p["n5"],
            "longer-8": p["n5"] - p["n8"],
            "longer-ngrams": p["kn8"] - p["kn5"],
            "longer-more-5": 100 * (p["kn5"] / p["kn3"] - p["n5"] / p["n3"]),
            "longer-more-8": 100 * (p["kn8"] / p["kn5"] - p["n8"] / p["n5"]),
            "direct": p["n5-direct"] - p["n5"],
            "alike": np.mean(10 + words % 2),
            "skip-gram": np.mean(-2 + words % 3 - words % 2),
        }
    )
    contradicted = {claim.id for claim in claims if by_items(claim) == "contradicted"}
    assert contradicted == {"longer-ngrams", "skip-gram"} and {claim.verdict for claim in claims} == {
        "supported",
        "contradicted",
    }
    bases = {claim.id: claim.basis for claim in claims}
    assert bases.pop("longer-ngrams") == "no random part; interval over items" and set(bases.values()) == {"3 seeds"}
    reported = {(row.variant, row.signature[:5]): row.reported["value"] for row in rows if row.reported}
    assert reported == {("n5", "of ea"): 140.2, ("kn5", "of ea"): 141.2}, "mixtures have none next to them"
    assert claims_by_id(claims)["network"].reported is None, "both numbers are of Mikolov et al."
    assert claims_by_id(claims)["mixture-ngrams"].reported == pytest.approx(60.0)


def test_what_is_drawn(tmp_path: Path) -> None:
    """N-grams have no training curves; without outcomes of networks there is a figure of n-grams alone."""
    outcomes = made_up(tmp_path)
    drawn = draw_figures(REPRODUCTION, CPU, outcomes, tmp_path / "all")
    curves = {f"training_curves_{name}.png" for name in ("language_modelling", "word_vectors")}
    names = curves | {"perplexity_by_context.png", "map_n5.png"}
    assert {path.name for path in drawn.values()} == names and all(path.exists() for path in drawn.values())
    counted = [one for one in outcomes if one.variant in COUNTED]
    drawn = draw_figures(REPRODUCTION, CPU, counted, tmp_path / "counted")
    assert {path.name for path in drawn.values()} == {"perplexity_by_context.png"}


# --- from the command line ---


@pytest.mark.slow
def test_trained_on_the_sample_it_has_the_committed_results_and_answers(tmp_path: Path) -> None:
    names = ("n5", "kn5", "skip-gram")
    chosen = [flag for name in names for flag in ("--variant", name)]
    answer = run_and_score("bengio2003", "--preset", "smoke", "--runs", tmp_path, "--jobs", 2, *chosen)
    assert answer.code == 0, answer.err
    folder = tmp_path / "bengio2003" / "smoke-portable"
    committed = Result.read(Path("reproductions/results/bengio2003.smoke.json").resolve())
    for name in names:
        finished = Outcome.of(run(tmp_path, name, paper="bengio2003"))
        assert finished.record["parameters_sha256"] == committed.manifest["parameters_sha256"][f"{name}/1"]
    header, *lines = [line.split("\t") for line in (folder / "neighbours.tsv").read_text(encoding="utf-8").splitlines()]
    assert header[:2] == ["word", "variant"] and [line[0] for line in lines[::2]] == list(LISTED)
    counted = load(run(tmp_path, "kn5", paper="bengio2003"))
    assert counted.model.log_probabilities(np.array([1, 2])).shape == (2,), "restored without a text"
    options = ("bengio2003", "--preset", "smoke", "--runs", tmp_path, "--variant")
    for name in names[:2]:
        first, blank, last = gluon_attn(
            "perplexity", *options, name, stdin=b"the company said\n\nzebra\n"
        ).out.splitlines()
        assert float(first.split("\t")[0]) > 1 and first.split("\t")[1:] == ["3", "0"]
        assert blank == "" and last.split("\t")[1:] == ["1", "1"]
        refused = gluon_attn("perplexity", *options, name, "--weights", stdin=b"the company\n")
        assert refused.code == 2 and f"variant {name} has no attention" in refused.err


def test_the_weights_of_a_mixture_are_estimated_on_validation() -> None:
    variant, task = SMOKE.variant("n3"), SMOKE.task("n3")
    data = task.prepare(variant.settings, sample=True)
    runtime.seed_all(1)
    model: Any = variant.settings.build(data)
    model.initialize(init.Normal(0.5))
    measured = task.evaluate(model, variant.settings, data, cast(Any, None))
    first, counted = data.end_of_line, variant.settings.mixed_with
    ngrams = KneserNey(order=counted, vocabulary_size=data.vocabulary_size, first=first, text=data.prepared.train.ids)
    ngrams.initialize()
    weights = {
        split: mixture_weights(
            -context_losses(model, ids, first), ngrams.log_probabilities(ids), ngrams.context_lengths(ids), counted
        )
        for split, ids in (("validation", data.prepared.validation.ids), ("test", data.prepared.test.ids))
    }
    stated = measured.examples["mixture"]["weights"]
    assert stated == pytest.approx(weights["validation"].tolist())
    assert np.abs(weights["validation"] - weights["test"]).max() > 0.01, "the two splits can be told apart"


def test_ngrams_are_measured_in_nats() -> None:
    variant, task = SMOKE.variant("kn3"), SMOKE.task("kn3")
    data = task.prepare(variant.settings, sample=True)
    model: Any = variant.settings.build(data)
    model.initialize()
    test, validation = data.prepared.test, data.prepared.validation
    measured = task.evaluate(model, variant.settings, data, cast(Any, None))
    assert measured.metrics["perplexity"] == pytest.approx(np.exp(-model.log_probabilities(test.ids).mean()))
    assert measured.predictions["likelihood"].sum(axis=0) == pytest.approx(
        [-model.log_probabilities(test.ids).sum(), len(test.ids)]
    )
    selected = task.objective(variant.settings, variant.recipe, data).evaluate(model)
    assert selected["perplexity"] == pytest.approx(np.exp(-model.log_probabilities(validation.ids).mean()))
