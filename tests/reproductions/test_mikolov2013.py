"""The script of word vectors: what is trained, what is asked of the vectors, and what becomes of its outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from mxnet import init, nd

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint, parameter_count
from preprocessing import naver_crawl
from preprocessing.text.vocabulary import SPECIALS
from reproductions import mikolov2013, yang2016
from reproductions.mikolov2013 import ASKED, ASKED_IN_ENGLISH, DRAWN, DRAWN_IN_ENGLISH, Data
from reproductions.protocol.results import Claim, Result
from reproductions.protocol.runs import Outcome, Unit
from reproductions.tasks import classification
from reproductions.tasks.neighbours import NEIGHBOURS
from reproductions.tasks.word_vectors import word_vectors
from tests.reproductions.support import Answer, gluon_attn, outcome

SMOKE, CPU, PAPERS_OWN = (mikolov2013.PRESETS[name] for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]
SKIP_GRAM = SMOKE.variant("skip-gram")


@pytest.fixture(scope="module")
def data() -> Data:
    return mikolov2013.prepare(SMOKE, SKIP_GRAM)


# --- what is trained ---


def test_presets_differ_in_scale_and_variants_in_what_their_titles_say() -> None:
    for preset in (SMOKE, CPU, PAPERS_OWN):
        assert [variant.name for variant in preset.variants] == ALL
        skip_gram, cbow, everything, imdb = preset.variants
        for other, differing in ((cbow, {"kind"}), (everything, {"threshold"})):
            assert other.recipe == skip_gram.recipe
            assert {
                name for name in skip_gram.settings if skip_gram.settings[name] != other.settings[name]
            } == differing
        assert skip_gram.settings.keys() == CPU.variants[0].settings.keys()
        without = {name: value for name, value in skip_gram.settings.items() if name not in ("tokenizer", "one_in")}
        as_yang = {"corpus": "imdb", "min_freq": 6, "units": min(200, skip_gram.settings["units"])}
        assert imdb.settings == {**without, **as_yang} and imdb.recipe == skip_gram.recipe


def test_vectors_in_english_are_those_of_the_reviews_that_classifiers_train_on() -> None:
    """No word of a review held out by them is among those that are trained on."""
    data = mikolov2013.prepare(SMOKE, SMOKE.variant("imdb"))
    classified = classification.prepare(yang2016.PRESETS["smoke"], yang2016.PRESETS["smoke"].variant("att"))
    for name, split in classified.prepared.splits.items():
        assert data.prepared.splits[name].text.tolist() == split.text.tolist()
    assert data.prepared.tokenizer.name == classified.prepared.tokenizer.name
    assert data.corpora == classified.corpora and data.corpus == "sample"


def test_the_paper_preset_has_the_sizes_of_the_authors() -> None:
    """300 units for 692 000 words, which are predicting and predicted."""
    variant = PAPERS_OWN.variant("skip-gram")
    words = cast(Data, SimpleNamespace(prepared=SimpleNamespace(vocabulary=range(692_000))))
    assert parameter_count(mikolov2013.build(variant, words)) == 2 * 692_000 * 300
    sampling = mikolov2013.sampling_of(variant)
    assert (sampling.window, sampling.negatives, sampling.threshold) == (5, 15, 1e-5)


def test_texts_hold_the_words_that_have_a_vector_and_no_others(data: Data) -> None:
    for name, split in data.prepared.splits.items():
        words = data.texts[name]
        known = [ids[ids >= len(SPECIALS)] for ids in split.sequences()]
        np.testing.assert_array_equal(words.ids, np.concatenate(known))
        np.testing.assert_array_equal(words.text, np.repeat(np.arange(len(split)), [len(ids) for ids in known]))
        assert words.counts.sum() == len(words.ids) and len(words.counts) == len(data.prepared.vocabulary)
    assert (data.prepared.validation.ids < len(SPECIALS)).any(), "some words are unknown"


def test_the_crawl_is_known_by_what_is_in_it_not_by_its_archive(data: Data) -> None:
    assert data.corpus == "sample" and set(data.corpora) == {"raw", "train", "test"}
    of_the_folder = naver_crawl.files("sample").sha256["raw"]
    assert data.corpora["raw"] == data.prepared.card["facts"]["crawl"]["sha256"] != of_the_folder


def test_words_are_asked_for_in_validation_or_on_test(data: Data) -> None:
    validation, test = (data.clear_words(test=asked) for asked in (False, True))
    assert len(validation) and len(test) and not set(validation) & set(test)
    assert sorted([*validation, *test]) == data.clear.tolist()
    assert min(data.clear.min(), data.frequent.min()) >= len(SPECIALS)


def test_a_corpus_too_small_to_judge_by_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mikolov2013, "_AT_MOST_ON_SAMPLE", {})
    for setting in ({"frequent": 10_000}, {"clear": 1e3}):
        with pytest.raises(UsageError, match=r"corpus sample: [0-9]+ words clearly speak .* give more rated reviews"):
            mikolov2013.prepare(SMOKE, replace(SKIP_GRAM, settings={**SKIP_GRAM.settings, **setting}))


def test_without_the_crawl_the_sample_stands_in_at_any_preset() -> None:
    data = mikolov2013.prepare(replace(CPU, corpus="sample"), CPU.variant("skip-gram"))
    assert data.corpus == "sample" and all(len(data.clear_words(test=test)) for test in (False, True))
    assert len(data.texts["validation"].ids) and len(data.frequent) > NEIGHBOURS


OTHER = {"kind": "cbow", "tokenizer": "syllable", "min_freq": 2, "one_in": 9, "frequent": 4, "clear": 0.9}


def fingerprint(settings: Mapping[str, Any]) -> list[object]:
    """Everything that a setting could change: data, words asked for, a batch, what is computed of it."""
    variant = replace(SKIP_GRAM, settings=settings)
    data = mikolov2013.prepare(SMOKE, variant)
    runtime.seed_all(1)
    model = mikolov2013.build(variant, data)
    model.initialize(init.Xavier())
    batch = next(iter(mikolov2013.task(variant, data).batches(np.random.RandomState(1))))
    outputs = model(*(nd.array(array, dtype=array.dtype) for array in batch.inputs))
    arrays = [*batch.inputs, *(output.asnumpy() for output in outputs), data.clear, data.frequent]
    return [data.digest, model.vectors().shape, [array.tobytes() for array in arrays]]


def test_no_setting_is_dead() -> None:
    before = fingerprint(SKIP_GRAM.settings)
    assert fingerprint(SKIP_GRAM.settings) == before
    for name, value in SKIP_GRAM.settings.items():
        other = OTHER.get(name, value / 2 if isinstance(value, float) else value)
        changed = {**SKIP_GRAM.settings, name: other if other != value else value + 1}
        assert fingerprint(changed) != before, name


def test_an_epoch_is_selected_by_its_loss_and_both_are_measured(data: Data) -> None:
    task = mikolov2013.task(SKIP_GRAM, data)
    assert task.select == "loss" and not task.higher_is_better
    model = mikolov2013.build(SKIP_GRAM, data)
    model.initialize()
    found = task.evaluate(model)
    assert found["loss"] == pytest.approx(6 * np.log(2), rel=1e-3) and 0 < found["agreement"] < 100
    assert task.evaluate(model) == found


# --- rows and claims ---


def made(folder: Path, variant: str, agreement: np.ndarray, seed: int = 1, **facts: Any) -> Outcome:
    arrays = {"agreement": agreement, "chance": np.full(100, 50.0), "reviews": np.where(np.arange(100) < 40, 3, 9)}
    history = [{"epoch": 1, "validation_loss": 3.0}, {"epoch": 2, "validation_loss": 2.5}]
    given = {"corpus": "sample", "history": history, "metrics": {"loss": 2.0 + seed}} | facts
    return outcome(folder, variant, seed, arrays, paper="mikolov2013", **given)


def by_id(claims: list[Claim]) -> dict[str, tuple[float, str]]:
    return {claim.id: (round(claim.effect, 6), claim.verdict) for claim in claims}


def test_rows_are_of_all_words_of_rare_ones_and_of_the_losses(tmp_path: Path) -> None:
    seeds = [made(tmp_path, "cbow", np.where(np.arange(100) < 40, 20.0, 70.0) + seed, seed) for seed in (1, 2)]
    rows, claims = mikolov2013.conclude(seeds, SMOKE)
    assert [(row.metric, row.split, row.mean, row.per_seed) for row in rows] == [
        ("agreement", "test", 51.5, {"1": 51.0, "2": 52.0}),
        ("agreement", "test", 21.5, {"1": 21.0, "2": 22.0}),
        ("loss", "test", 3.5, {"1": 3.0, "2": 4.0}),
        ("loss", "validation", 2.5, {"1": 2.5, "2": 2.5}),
    ]
    assert "100 words that clearly speak" in rows[0].signature and "40 rare ones" in rows[1].signature
    assert "for each word, 5 negatives, threshold 0.01" in rows[2].signature
    low, high = rows[0].ci95
    assert low < 51.5 < high and high - low > 5, "the interval is that over words"
    for column, row in zip(mikolov2013.COLUMNS, rows, strict=False):
        assert (column.metric, column.signature in row.signature) == (row.metric, True)
    assert "clearly" not in rows[1].signature
    assert by_id(claims) == {"alike-cbow": (1.5, "inconclusive")}


def test_claims_compare_what_they_say(tmp_path: Path) -> None:
    rare = np.arange(100) < 40
    level = np.full(100, 60.0) + np.arange(100) % 3
    outcomes = [
        made(tmp_path, "skip-gram", level),
        made(tmp_path, "cbow", level + np.where(rare, -10, 20)),
        made(tmp_path, "skip-gram-all", level + np.where(rare, 5, -20)),
    ]
    _, claims = mikolov2013.conclude(outcomes, SMOKE)
    assert by_id(claims) == {
        "subsampling": (-5.0, "not supported"),
        "meaning": (-8.0, "not supported"),
        "rare": (10.0, "supported"),
        "alike-skip-gram": (10.99, "supported"),
        "alike-cbow": (18.99, "supported"),
    }
    assert all("SAMPLE" in claim.measure and "one training" in claim.measure for claim in claims)


def test_without_rare_words_nothing_is_claimed_of_them(tmp_path: Path) -> None:
    outcomes = [made(tmp_path, name, np.full(100, 60.0)) for name in ("skip-gram", "cbow")]
    for one in outcomes:
        with np.load(one.unit.directory / "predictions.npz") as arrays:
            np.savez(one.unit.directory / "predictions.npz", **{**arrays, "reviews": np.full(100, 9)})
    rows, claims = mikolov2013.conclude(outcomes, SMOKE)
    assert {claim.id for claim in claims} == {"meaning", "alike-skip-gram", "alike-cbow"}
    assert [row.metric for row in rows] == 2 * ["agreement", "loss", "loss"]


# --- the smoke preset, whole ---


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Answer]]:
    """All variants, trained one after the other: the folder of the runs, and what the command said."""
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GLUON_ATTN_DATA", raising=False)
        patch.setenv("GLUON_ATTN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield runs, gluon_attn("run", "mikolov2013", "--preset", "smoke", "--runs", runs, "--jobs", 1)


def unit(runs: Path, variant: str = "skip-gram") -> Unit:
    return Unit("mikolov2013", "smoke", variant, 1, "portable", None, runs)


def test_a_run_writes_results_maps_and_neighbours(trained: tuple[Path, Answer]) -> None:
    runs, answer = trained
    assert answer.code == 0, answer.err
    assert "MEAN NOTHING" in answer.out
    place = unit(runs).place
    result = Result.read(place / "results.json")
    assert {row.variant for row in result.rows} == set(ALL) and {row.corpus for row in result.rows} == {"sample"}
    assert {claim.id for claim in result.claims} == {"subsampling", "meaning", "rare", "alike-skip-gram", "alike-cbow"}
    drawn = {path.name for path in (place / "figures").iterdir()}
    assert drawn == {"training_curves.png", *(f"map_{name}.png" for name in ALL)}
    assert set(DRAWN) <= set(ASKED) and set(DRAWN_IN_ENGLISH) <= set(ASKED_IN_ENGLISH)
    for file, asked, names in (
        ("neighbours.tsv", ASKED, ALL[:-1]),
        ("neighbours_english.tsv", ASKED_IN_ENGLISH, ALL[-1:]),
    ):
        lines = [line.split("\t") for line in (place / file).read_text(encoding="utf-8").splitlines()]
        assert [line[:2] for line in lines[1:]] == [[word, name] for word in asked for name in names]
        assert {len(line) for line in lines} == {2 + NEIGHBOURS, 3}
        without = {line[0] for line in lines if line[2:] == ["no vector"]}
        assert 0 < len(without) < len(asked)
        for line in lines[1:]:
            cosines = [float(cell.rsplit(" ", 1)[1]) for cell in line[2:] if cell != "no vector"]
            assert cosines == sorted(cosines, reverse=True)


def test_another_training_has_the_same_bits(trained: tuple[Path, Answer], tmp_path: Path) -> None:
    again = gluon_attn("run", "mikolov2013", "--preset", "smoke", "--variant", "skip-gram", "--runs", tmp_path)
    assert again.code == 0, again.err
    outcomes = [Outcome.read(unit(runs)) for runs in (trained[0], tmp_path)]
    assert outcomes[0].facts["parameters_sha256"] == outcomes[1].facts["parameters_sha256"]
    assert outcomes[0].facts["metrics"] == outcomes[1].facts["metrics"]


def test_vectors_of_a_finished_run_are_those_of_its_best_epoch(trained: tuple[Path, Answer], data: Data) -> None:
    directory = unit(trained[0]).directory
    best = Checkpoint(directory / "checkpoint.npz").group("best")["predicting.weight"]
    vocabulary = data.prepared.vocabulary
    vectors = word_vectors(unit(trained[0]))
    rows, found = vectors.rows_for(vocabulary.idx_to_token, CPU.variants[0].settings["tokenizer"])
    assert vectors.sha256 == Outcome.read(unit(trained[0])).facts["parameters_sha256"]
    assert found.tolist() == [False] * len(SPECIALS) + [True] * len(vocabulary.learned)
    np.testing.assert_array_equal(rows[found], best[len(SPECIALS) :])


def ask(trained: tuple[Path, Answer], text: bytes, *more: object) -> Answer:
    options = ("--preset", "smoke", "--variant", "skip-gram", "--runs", trained[0])
    return gluon_attn("predict", "mikolov2013", *options, *more, stdin=text)


def test_the_nearest_words_of_each_line(trained: tuple[Path, Answer]) -> None:
    answer = ask(trained, "\ufeff배우\n\n배우 눈물\nxyzzy\n".encode(), "--weights")
    assert answer.code == 0, answer.err
    one, empty, two, unknown = answer.out.split("\n")[:-1]
    assert empty == unknown == "" and "line 4: no word of it has a vector" in answer.err and "SAMPLE" in answer.err
    table = (unit(trained[0]).place / "neighbours.tsv").read_text(encoding="utf-8")
    assert f"배우\tskip-gram\t{one}\n" in table
    words = [cell.rsplit(" ", 1)[0] for cell in two.split("\t")]
    assert len(words) == NEIGHBOURS and not {"배우", "눈물"} & set(words)
    plain = ask(trained, "배우\n".encode())
    assert plain.out.rstrip("\n").split("\t") == [cell.rsplit(" ", 1)[0] for cell in one.split("\t")]


def test_what_cannot_be_answered_is_refused_in_one_line(trained: tuple[Path, Answer]) -> None:
    answer = ask(trained, "배우\n".encode() + "배우\n".encode("euc-kr"))
    assert answer.code == 2 and "standard input, line 2: not UTF-8" in answer.err.splitlines()[-1]
    refusal = gluon_attn("translate", "mikolov2013", "--preset", "smoke", "--variant", "cbow").refusal
    assert refusal == "mikolov2013 does not translate; gluon-attn predict mikolov2013 reads texts"
