"""The script of word vectors: its variants, its claims, and the smoke preset as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from gluon_attn.evaluation.statistics import bootstrap
from gluon_attn.training.checkpoint import Checkpoint, parameter_count
from preprocessing import documents
from preprocessing.text.vocabulary import SPECIALS
from reproductions.mikolov2013 import LISTED, LISTED_IN_ENGLISH, MAPPED, MAPPED_IN_ENGLISH, REPRODUCTION, Settings
from reproductions.protocol import papers
from reproductions.protocol.conclude import conclude
from reproductions.protocol.loading import load
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome
from reproductions.tasks.word_vectors.results import better_at_best_epochs
from reproductions.tasks.word_vectors.task import WordVectorData
from reproductions.tasks.word_vectors.trained_vectors import NEIGHBOURS, TrainedVectors
from tests.reproductions.support import Answer, by_items, claims_by_id, gluon_attn, outcome, run, run_and_score

SMOKE, CPU, PAPERS_OWN = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]


def differing(first: Settings, second: Settings) -> set[str]:
    return {field.name for field in fields(first) if getattr(first, field.name) != getattr(second, field.name)}


@pytest.mark.parametrize("preset", [SMOKE, CPU, PAPERS_OWN], ids=lambda preset: preset.name)
def test_variants_differ_as_their_titles_say(preset: Preset) -> None:
    assert [variant.name for variant in preset.variants] == ALL
    skip_gram, cbow, everything, imdb = preset.variants
    assert differing(skip_gram.settings, cbow.settings) == {"kind"}
    assert differing(skip_gram.settings, everything.settings) == {"threshold"} and everything.settings.threshold == 1.0
    assert imdb.settings.min_freq == 6 and imdb.settings.units <= 200, "as the networks that are initialised from it"
    assert differing(skip_gram.settings, imdb.settings) <= {"tokenizer", "one_in", "min_freq", "units"}
    assert len({variant.recipe for variant in preset.variants}) == 1
    for variant in preset.variants[:3]:
        assert (variant.settings.held_out_rows, variant.settings.tokenizer) == (
            8 if preset is SMOKE else variant.recipe.batch_size,
            "mecab",
        )


def test_on_the_sample_words_of_the_crawl_need_to_occur_only_once() -> None:
    assert [variant.settings.on_sample().min_freq for variant in SMOKE.variants] == [1, 1, 1, 2]


def test_english_vectors_are_trained_on_the_train_reviews_of_the_classifiers() -> None:
    """No word of a review that a classifier holds out is used for training."""
    variant = SMOKE.variant("imdb")
    data = SMOKE.task("imdb").prepare(variant.settings, sample=True)
    classified = documents.prepare("sample", min_freq=2)
    for name, split in classified.splits.items():
        assert data.prepared.splits[name].text.tolist() == split.text.tolist()
    assert data.prepared.tokenizer.name == classified.tokenizer.name
    assert data.corpora == classified.corpora and data.corpus == "sample"


def test_the_paper_preset_has_the_sizes_of_the_authors() -> None:
    """300 units for 692 000 words, two vectors each."""
    settings = PAPERS_OWN.variant("skip-gram").settings
    words = cast(WordVectorData, SimpleNamespace(prepared=SimpleNamespace(vocabulary=range(692_000))))
    assert parameter_count(settings.build(words)) == 2 * 692_000 * 300
    assert (settings.window, settings.negatives, settings.threshold, settings.min_freq) == (5, 15, 1e-5, 5)


def test_words_on_the_map_are_in_the_list_too() -> None:
    assert set(MAPPED) <= set(LISTED) and set(MAPPED_IN_ENGLISH) <= set(LISTED_IN_ENGLISH)


def test_claims_compare_the_sides_that_they_name(tmp_path: Path) -> None:
    words = np.arange(100)
    level = np.full(100, 60.0) + words % 3
    agreement = {
        "skip-gram": level,
        "cbow": level + np.where(words < 40, -10, 20),
        "skip-gram-all": level + np.where(words < 40, 5, -20),
    }
    best = {"skip-gram": 81.0, "cbow": 80.0, "skip-gram-all": 79.0}  # the other way round than on test
    outcomes = [
        outcome(
            tmp_path,
            name,
            arrays={"agreement": values, "chance": np.full(100, 50.0), "reviews": words, "rare": words < 40},
            corpus="sample",
            metrics={"loss": 3.0},
            history=[
                {"epoch": 1, "train_loss": 2.0, "validation_loss": 2.0, "validation_agreement": best[name]},
                {"epoch": 2, "train_loss": 1.0, "validation_loss": 1.0, "validation_agreement": 50.0},
            ],
        )
        for name, values in agreement.items()
    ]
    _, claims = conclude(REPRODUCTION, SMOKE, outcomes)
    assert {id: (round(claim.effect, 6), by_items(claim)) for id, claim in claims_by_id(claims).items()} == {
        "subsampling": (-5.0, "contradicted"),
        "meaning": (1.0, "inconclusive"),
        "rare": (10.0, "supported"),
        "alike-skip-gram": (10.99, "supported"),
        "alike-cbow": (18.99, "supported"),
    }
    assert all("SAMPLE" in claim.measure and "one seed" in claim.basis for claim in claims)


# --- the smoke preset as a whole ---


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Answer]]:
    """All variants, trained one after the other: the folder of the runs, and the output of the command."""
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GLUON_ATTN_DATA", raising=False)
        patch.setenv("GLUON_ATTN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield runs, run_and_score("mikolov2013", "--preset", "smoke", "--runs", runs, "--jobs", 1)


def test_a_run_writes_results_maps_and_neighbours(trained: tuple[Path, Answer]) -> None:
    runs, answer = trained
    assert answer.code == 0, answer.err
    assert "MEAN NOTHING" in answer.out
    folder = runs / "mikolov2013" / "smoke-portable"
    result = Result.read(folder / "results.json")
    assert {row.variant for row in result.rows} == set(ALL) and {row.corpus for row in result.rows} == {"sample"}
    assert {claim.id for claim in result.claims} == {claim.id for claim in REPRODUCTION.claims}
    drawn = {path.name for path in (folder / "figures").iterdir()}
    assert drawn == {"training_curves.png", *(f"map_{name}.png" for name in ALL)}
    for file, listed, names in (
        ("neighbours.tsv", LISTED, ALL[:-1]),
        ("neighbours_english.tsv", LISTED_IN_ENGLISH, ALL[-1:]),
    ):
        lines = [line.split("\t") for line in (folder / file).read_text(encoding="utf-8").splitlines()]
        assert [line[:2] for line in lines[1:]] == [[word, name] for word in listed for name in names]
        assert {len(line) for line in lines} == {2 + NEIGHBOURS, 3}
        without = {line[0] for line in lines if line[2:] == ["no vector"]}
        assert 0 < len(without) < len(listed)
        for line in lines[1:]:
            cosines = [float(cell.rsplit(" ", 1)[1]) for cell in line[2:] if cell != "no vector"]
            assert cosines == sorted(cosines, reverse=True)


def test_a_run_has_the_committed_parameters(trained: tuple[Path, Answer]) -> None:
    committed = Result.read(papers.results_path("mikolov2013", "smoke")).manifest["parameters_sha256"]
    for name in ALL:
        finished = Outcome.of(run(trained[0], name, paper="mikolov2013"))
        assert finished.record["parameters_sha256"] == committed[finished.label]


def test_vectors_of_a_finished_run_are_those_of_its_best_epoch(trained: tuple[Path, Answer]) -> None:
    finished = run(trained[0], "skip-gram", paper="mikolov2013")
    best = Checkpoint(finished.directory / "checkpoint.npz").group("best")["predicting.weight"]
    loaded = load(finished)
    vocabulary = loaded.data.prepared.vocabulary
    rows, known = TrainedVectors.of(loaded).rows_for(vocabulary.idx_to_token, "mecab")
    assert known.tolist() == [False] * len(SPECIALS) + [True] * len(vocabulary.learned)
    np.testing.assert_array_equal(rows[known], best[len(SPECIALS) :])


def ask(trained: tuple[Path, Answer], text: bytes, *more: object) -> Answer:
    options = ("--preset", "smoke", "--variant", "skip-gram", "--runs", trained[0])
    return gluon_attn("neighbours", "mikolov2013", *options, *more, stdin=text)


def test_each_line_gets_its_nearest_words(trained: tuple[Path, Answer]) -> None:
    answer = ask(trained, "\ufeff배우\n\n배우 눈물\nxyzzy\n".encode(), "--cosines")
    assert answer.code == 0, answer.err
    one, empty, two, unknown = answer.out.split("\n")[:-1]
    assert empty == unknown == "" and "line 4: none of its words has a vector" in answer.err and "SAMPLE" in answer.err
    assert "line 2" not in answer.err
    table = (trained[0] / "mikolov2013" / "smoke-portable" / "neighbours.tsv").read_text(encoding="utf-8")
    assert f"배우\tskip-gram\t{one}\n" in table
    words = [cell.rsplit(" ", 1)[0] for cell in two.split("\t")]
    assert len(words) == NEIGHBOURS and not {"배우", "눈물"} & set(words)
    plain = ask(trained, "배우\n".encode())
    assert plain.out.rstrip("\n").split("\t") == [cell.rsplit(" ", 1)[0] for cell in one.split("\t")]


def test_invalid_queries_are_refused_in_one_line(trained: tuple[Path, Answer]) -> None:
    answer = ask(trained, "배우\n".encode() + "배우\n".encode("euc-kr"))
    assert answer.code == 2 and "standard input, line 2: not UTF-8" in answer.err.splitlines()[-1]
    refusal = gluon_attn("translate", "mikolov2013", "--preset", "smoke", "--variant", "cbow").refusal
    assert "its task is word vectors; use gluon-attn neighbours mikolov2013" in refusal


def test_the_interval_at_best_epochs_is_that_on_test_around_the_effect(tmp_path: Path) -> None:
    """It is not symmetric where a few words differ by much."""
    values = np.where(np.arange(100) < 5, 90.0, 60.0)
    history = [{"epoch": 1, "train_loss": 1.0, "validation_loss": 1.0, "validation_agreement": 0.0}]
    sides = [
        [outcome(tmp_path, name, arrays={"agreement": each}, history=[history[0] | {"validation_agreement": best}])]
        for name, each, best in (("a", values, 70.0), ("b", np.full(100, 60.0), 66.0))
    ]
    on_test, estimate = bootstrap(values - 60.0, seed=0), better_at_best_epochs(*sides).estimate
    assert estimate.mean == 4.0 and on_test.high - on_test.mean > 1.05 * (on_test.mean - on_test.low)
    assert (estimate.low, estimate.high) == pytest.approx(
        (4.0 - on_test.mean + on_test.low, 4.0 - on_test.mean + on_test.high)
    )
