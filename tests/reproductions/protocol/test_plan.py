"""What is printed before and after trainings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from preprocessing.files import write_json
from reproductions.protocol import papers
from reproductions.protocol.plan import compared_with_published, plan
from reproductions.protocol.results import Result
from reproductions.protocol.runner import scored_before
from reproductions.protocol.runs import Run
from reproductions.protocol.training import train
from tests.reproductions.support import outcome, run

PAPER = "naver_self_attention"


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    return [run(tmp_path, name, paper=PAPER, preset="cpu") for name in ("last", "mean")]


def test_the_plan_has_the_minutes_of_the_published_trainings(runs: list[Run]) -> None:
    published = Result.read(papers.results_path(PAPER, "cpu"))
    seconds = {row.variant: row.train_seconds for row in published.rows}
    preset = papers.load(PAPER).preset("cpu")
    lines = plan(preset, runs, jobs=1)
    minutes = round((seconds["last"] + seconds["mean"]) / 60)
    assert lines == [
        "plan: 2 trainings of naver_self_attention: last, mean; seed 1",
        "  corpus nsmc; 1 process at a time",
        f"  about {minutes} minutes (measured on {published.manifest['hardware']})",
    ]
    outcome(runs[0].runs, "last", paper=PAPER, preset="cpu")
    lines = plan(preset, runs, jobs=2)
    assert lines[1:3] == ["  corpus nsmc; 2 processes at a time", "  1 trained already"]
    assert lines[3].startswith("  about ") and f"about {minutes} minutes" not in lines[3]


def test_the_plan_names_the_networks_that_are_trained_before(tmp_path: Path) -> None:
    preset, names = papers.load("devlin2018").preset("cpu"), ("bert", "bert-30", "vectors-100")
    lines = plan(preset, [run(tmp_path, name, paper="devlin2018", preset="cpu") for name in names], jobs=1)
    assert lines[2] == "  trained first, since others start from them: pretraining-30, mikolov2013/skip-gram"


def test_without_published_trainings_the_plan_says_so(tmp_path: Path) -> None:
    one = run(tmp_path, "last", paper=PAPER, preset="cpu", profile="fast")
    assert plan(papers.load(PAPER).preset("cpu"), [one], jobs=1)[-1].startswith("  how long is not known")


def test_minutes_of_other_variants_say_nothing(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    published = Result.read(papers.results_path(PAPER, "cpu"))
    others = replace(published, rows=[row for row in published.rows if row.variant == "dot"])
    monkeypatch.setattr("reproductions.protocol.plan._published", lambda _: others)
    lines = plan(papers.load(PAPER).preset("cpu"), runs, jobs=1)
    assert lines[-1] == "  how long is not known: nothing is published for these trainings"


def test_parameters_are_compared_with_the_published_ones(runs: list[Run]) -> None:
    known = Result.read(papers.results_path(PAPER, "cpu")).manifest["parameters_sha256"]
    runs.append(run(runs[0].runs, "last", 77, paper=PAPER, preset="cpu"))
    for one, sha256 in zip(runs, (known["last/1"], "0" * 64, "1" * 64), strict=True):
        outcome(one.runs, one.variant, one.seed, paper=PAPER, preset="cpu", parameters_sha256=sha256)
    first, second, third = compared_with_published(runs)
    assert first == f"last seed 1: parameters SHA-256 {known['last/1'][:16]}: the same as published"
    assert second.startswith("mean seed 1: parameters SHA-256 0000000000000000: NOT THE PUBLISHED ONES, ")
    assert third == "last seed 77: parameters SHA-256 1111111111111111: nothing is published to compare with"


def test_a_training_with_other_options_is_not_expected_to_have_the_published_bits(runs: list[Run]) -> None:
    one = runs[0]
    outcome(one.runs, one.variant, one.seed, paper=PAPER, preset="cpu", parameters_sha256="0" * 64, workers=2)
    (line,) = compared_with_published([one])
    assert line.endswith(
        "other than published, as expected: those were trained by one worker, in one piece, and sums have another order"
    )


def test_a_training_of_another_recipe_is_not_expected_to_have_the_published_bits(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = papers.load(PAPER)
    changed = [replace(one, recipe=replace(one.recipe, epochs=one.recipe.epochs + 1)) for one in declared.variants]
    monkeypatch.setattr(papers, "load", lambda _: replace(declared, variants=tuple(changed)))
    outcome(runs[0].runs, runs[0].variant, 1, paper=PAPER, preset="cpu", parameters_sha256="0" * 64)
    (line,) = compared_with_published(runs[:1])
    assert line.endswith("other than published, as expected: those were trained with other settings or another recipe")


def test_bits_of_one_processor_are_not_called_wrong(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    one = runs[0]
    declared = replace(papers.load(PAPER), bits_of_one_processor=True)
    outcome(one.runs, one.variant, one.seed, paper=PAPER, preset="cpu", parameters_sha256="0" * 64)
    monkeypatch.setattr(papers, "load", lambda _: declared)
    (line,) = compared_with_published([one])
    assert line.endswith("other than published; the bits of this paper's networks belong to one model of processor")


def test_runs_of_earlier_commands_belong_to_the_results_unless_they_have_other_settings(
    toy: str, tmp_path: Path
) -> None:
    preset = papers.load(toy).preset("smoke")
    first, second = (run(tmp_path, name, paper=toy) for name in ("curved", "straight"))
    for one in (first, second):
        train(one, resume=False, overwrite=False, then_score=True)
    assert scored_before(preset, [first]) == [second] and scored_before(preset, [first, second]) == []
    write_json(second.directory / "config.json", {"settings": {}, "recipe": {}})
    assert scored_before(preset, [first]) == []


@pytest.mark.parametrize(
    "change", [{"pipeline": "0" * 64}, {"corpora": {"train": "0" * 64}}, {"environment": "0" * 64}]
)
def test_runs_of_earlier_commands_on_other_data_or_in_another_environment_do_not_belong_to_the_results(
    change: dict[str, object], toy: str, tmp_path: Path
) -> None:
    preset = papers.load(toy).preset("smoke")
    first, second = (run(tmp_path, "curved", seed, paper=toy) for seed in (1, 2))
    for one in (first, second):
        train(one, resume=False, overwrite=False, then_score=True)
    assert scored_before(preset, [first]) == [second]
    record = second.directory / "training.json"
    write_json(record, json.loads(record.read_text()) | change)
    assert scored_before(preset, [first]) == []
