"""`verify` trains again and compares bits; a variant without published parameters is not trained."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from gluon_attn.training.recipe import Recipe
from preprocessing.arrays import write_arrays
from reproductions.protocol import conclude, papers, runner
from reproductions.protocol.manifest import manifest
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome, Run
from reproductions.protocol.task import Variant
from reproductions.protocol.training import score, train
from reproductions.protocol.verification import _checks, _with_published
from tests.reproductions.support import ROOT, gluon_attn, outcome, run
from tests.reproductions.toy import REPRODUCTION

ACCURACY = "test accuracy, validation accuracy"
HOW: dict[str, Any] = {"profile": "portable", "threads": None, "runs": Path("runs")}


@pytest.fixture
def published(toy: str, tmp_path: Path) -> str:
    """The toy paper with published results of its smoke preset."""
    publish([run(tmp_path / "runs", name, paper=toy) for name in ("curved", "pretrained")])
    return toy


def publish(runs: Sequence[Run], **how: int) -> None:
    """Train runs of the toy paper and publish their results."""
    toy = runs[0].paper
    for one in runs:
        train(one, resume=False, overwrite=False, **how)  # type: ignore[arg-type]
    outcomes = [score(one) for one in runs]
    rows, _ = conclude.conclude(papers.load(toy), papers.load(toy).preset("smoke"), outcomes)
    record = manifest(outcomes, "gluon-attn run toy.py", time.time())
    Result("toy", "smoke", rows, [], record).write(papers.results_path(toy, "smoke"))


def alter(paper: str, **changes: object) -> None:
    """Publish a changed manifest."""
    path = papers.results_path(paper, "smoke")
    raw = json.loads(path.read_text(encoding="utf-8"))
    raw["manifest"] |= changes
    path.write_text(json.dumps(raw), encoding="utf-8")


def declare(published: Path, variant: Variant[Any]) -> None:
    """Write the configuration of a training with these settings and this recipe."""
    config = {"settings": variant.settings.as_json(), "recipe": variant.recipe.as_json()}
    config |= {"task": REPRODUCTION.task.name, "corpora": {}}
    (published / "config.json").write_text(json.dumps(config), encoding="utf-8")


def hashes(paper: str) -> dict[str, str]:
    digests: dict[str, str] = Result.read(papers.results_path(paper, "smoke")).manifest["parameters_sha256"]
    return digests


def test_the_published_bits_are_reproduced(published: str) -> None:
    """Of a variant that needs another one's network, which is trained for it."""
    answer = gluon_attn("verify", published, "--variant", "pretrained")
    assert answer.code == 0, answer.out + answer.err
    same = f"same    pretrained/1 {hashes(published)['pretrained/1']}: parameters, pipeline, environment, {ACCURACY}"
    assert same in answer.out.splitlines() and "same    curved" not in answer.out
    assert answer.out.endswith("toy, preset smoke, profile portable: same bits as toy.smoke.json\n")


def test_another_environment_with_the_same_bits_is_named_and_does_not_fail(published: str) -> None:
    """Python 3.11.2 has another digest than 3.11.7."""
    alter(published, environment="0" * 64)
    answer = gluon_attn("verify", published, "--variant", "pretrained")
    assert answer.code == 0, answer.out + answer.err
    lines = answer.out.splitlines()
    same = f"same    pretrained/1 {hashes(published)['pretrained/1']}: parameters, pipeline, {ACCURACY}"
    assert f"{same}; in another environment" in lines and lines[-1].endswith("same bits as toy.smoke.json")


def test_batches_are_divided_as_those_of_the_published_training(toy: str, tmp_path: Path) -> None:
    publish([run(tmp_path / "runs", "curved", paper=toy)], micro_batches=3)
    answer = gluon_attn("verify", toy, "--variant", "curved")
    assert answer.code == 0, answer.out + answer.err
    alter(toy, options={})
    assert gluon_attn("verify", toy, "--variant", "curved").out.startswith("DIFFERS curved/1")


def test_a_network_that_another_starts_from_is_trained_with_its_own_options(toy: str, tmp_path: Path) -> None:
    first, second = (run(tmp_path / "runs", name, paper=toy) for name in ("curved", "pretrained"))
    publish([first], micro_batches=3)
    in_micro_batches = Outcome.of(first)
    publish([second])  # at once
    alter(toy, options={first.label: ["--micro-batches", "3"]})
    assert in_micro_batches.record["micro_batches"] == 3
    answer = gluon_attn("verify", toy, "--variant", "pretrained")
    assert answer.code == 0, answer.out + answer.err


def test_published_outcomes_are_compared_item_by_item(toy: str, tmp_path: Path) -> None:
    """Those of the tables, as `verify PAPER --preset cpu` compares them."""
    preset = papers.load(toy).preset("cpu")
    runs, same = tmp_path / "runs", {"pipeline": "1" * 64, "environment": "1" * 64}
    arrays = {"right": np.array([True, False]), "label": np.array([0, 1])}
    ours = outcome(runs, "curved", 1, arrays, paper=toy, preset="cpu", **same)
    rows, _ = conclude.conclude(papers.load(toy), preset, [ours])
    Result("toy", "cpu", rows, [], manifest([ours], "gluon-attn run", time.time())).write(
        papers.results_path(toy, "cpu")
    )
    published = papers.results_path(toy, "cpu").parent / "toy" / "outcomes" / "curved" / "seed-1"
    shutil.copytree(ours.directory, published)
    declare(published, preset.variant("curved"))
    _, _, compare = _with_published(toy, preset, [run(runs, "curved", paper=toy, preset="cpu")], prepare=False)
    names = {"parameters", "pipeline", "environment", "metrics", "predictions"}
    assert compare(ours) == dict.fromkeys(names, True)
    with np.load(published / "predictions.npz") as stored:
        other = {**stored, "right": ~stored["right"]}
    write_arrays(published / "predictions.npz", other, compressed=True)
    assert [name for name, equal in compare(ours).items() if not equal] == ["predictions"]


def test_in_the_fast_profile_everything_is_trained_twice(toy: str) -> None:
    command = [sys.executable, "-m", "reproductions", "verify", toy, "--preset", "smoke", "--variant", "curved"]
    done = subprocess.run([*command, "--profile", "fast", "--threads", "1"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("curved, seed 1: epoch 2 of 2") == 2
    assert "same    curved/1" in done.stdout
    assert "toy, preset smoke, profile fast: same bits as a second training" in done.stdout


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, object]]:
    """Predefined records instead of trainings, by the label of the run."""
    records: dict[str, dict[str, object]] = {}

    def train_all(runs: Sequence[Run], **_: object) -> None:
        for one in runs:
            record = dict(records.pop(f"{one.label} again", records[one.label]))
            arrays = record.pop("arrays", ARRAYS)
            outcome(one.runs, one.variant, one.seed, arrays, paper=one.paper, profile=one.profile, **record)

    monkeypatch.setattr(runner, "train_all", train_all)
    return records


ARRAYS = {"right": [True, False], "probability": [0.5, float("nan")], "label": [0, 1]}


def test_differing_bits_are_named(published: str, given: dict[str, dict[str, object]]) -> None:
    manifest = Result.read(papers.results_path(published, "smoke")).manifest
    same = {"pipeline": manifest["pipeline"]["curved"], "environment": manifest["environment"]}
    given |= {
        "curved/1": {"parameters_sha256": "1" * 64, **same, "environment": "0" * 64},
        "pretrained/1": {"parameters_sha256": "2" * 64, **same},
    }
    alter(published, parameters_sha256={"curved/1": "0" * 64, "pretrained/1": "2" * 64})
    answer = gluon_attn("verify", published, "--variant", "curved", "--variant", "pretrained")
    assert answer.code == 1
    lines = answer.out.splitlines()
    assert lines[0].startswith(f"DIFFERS curved/1 {'1' * 64}: parameters, environment")
    assert lines[1].startswith(f"DIFFERS pretrained/1 {'2' * 64}: test accuracy")  # Of which none is published.
    assert lines[2] == "toy, preset smoke, profile portable: NOT the same bits as toy.smoke.json"


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ""),
        ({"parameters_sha256": "2" * 64}, "parameters"),
        ({"pipeline": "2" * 64}, "pipeline"),
        ({"metrics": {"accuracy": 50.0}}, "metrics"),
        ({"arrays": {**ARRAYS, "label": [0, 0]}}, "predictions"),
        ({"arrays": {**ARRAYS, "probability": [0.5, 0.5]}}, "predictions"),
        ({"arrays": {"right": [True, False]}}, "predictions"),
    ],
)
def test_everything_of_a_second_training_is_compared(
    changes: dict[str, object], names: str, toy: str, given: dict[str, dict[str, object]]
) -> None:
    from reproductions.protocol.verification import verify  # In this process, which has the portable profile.

    record = {"parameters_sha256": "1" * 64, "pipeline": "1" * 64, "environment": "1" * 64, "metrics": {"accuracy": 1}}
    given |= {"curved/1": record, "curved/1 again": {**record, **changes}}
    lines, same = verify(toy, "smoke", ["curved"], [], "fast", 1, None)
    if not names:
        everything = "parameters, pipeline, environment, metrics, predictions"
        assert same and lines[0] == f"same    curved/1 {'1' * 64}: {everything}"
    else:
        assert not same and lines == [
            f"DIFFERS curved/1 {'1' * 64}: {names}",
            "toy, preset smoke, profile fast: NOT the same bits as a second training",
        ]


def test_finished_runs_are_compared_without_training(published: str, tmp_path: Path) -> None:
    answer = gluon_attn("verify", published, "--variant", "curved", "--finished", tmp_path / "runs")
    assert answer.code == 0, answer.out + answer.err
    assert answer.out.startswith(f"same    curved/1 {hashes(published)['curved/1']}: parameters")
    assert "epoch" not in answer.out
    missing = gluon_attn("verify", published, "--variant", "curved", "--finished", tmp_path / "none")
    assert "curved with seed 1 has not been trained yet" in missing.refusal


def test_the_seed_that_is_named_is_verified(toy: str, tmp_path: Path) -> None:
    publish([run(tmp_path / "runs", "curved", 2, paper=toy)])
    answer = gluon_attn("verify", toy, "--variant", "curved", "--seed", 2, "--finished", tmp_path / "runs")
    assert answer.out.startswith(f"same    curved/2 {hashes(toy)['curved/2']}: parameters"), answer.err


def test_nothing_is_trained_to_compare_with_a_run_that_is_not_finished(
    toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the fast profile, a finished run is compared with a second training."""
    from reproductions.protocol.verification import verify  # In this process, which has the portable profile.

    monkeypatch.setattr(runner, "train_all", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(UsageError, match="curved with seed 1 has not been trained yet"):
        verify(toy, "smoke", ["curved"], [], "fast", 1, None, tmp_path / "none")


def test_the_checkpoint_of_a_finished_run_must_have_the_stated_parameters(published: str, tmp_path: Path) -> None:
    first, other = (run(tmp_path / "runs", name, paper=published).directory for name in ("curved", "pretrained"))
    shutil.copy(other / "checkpoint.npz", first / "checkpoint.npz")
    refusal = gluon_attn("verify", published, "--variant", "curved", "--finished", tmp_path / "runs").refusal
    assert "curved/seed-1/checkpoint.npz: not the parameters that training.json states" in refusal


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"parameters_sha256": {}}, "has no parameters of curved/1; publish them first"),
        ({"options": {"curved/1": ["--profile", "fast"]}}, "curved/1 made in the fast profile"),
        ({"profile": "fast"}, "made in the fast profile, whose bits belong to one machine"),
        ({"pipeline": {"curved": "0" * 64}}, "curved was trained on other data than the sample corpus gives here"),
    ],
)
def test_runs_without_published_parameters_are_not_trained(
    published: str, changes: dict[str, object], reason: str
) -> None:
    alter(published, **changes)
    answer = gluon_attn("verify", published, "--variant", "curved")
    assert answer.refusal.startswith(str(papers.results_path(published, "smoke"))) and reason in answer.refusal
    assert answer.out == ""


def test_a_training_that_starts_from_one_in_the_fast_profile_is_not_repeated(published: str) -> None:
    """It would be trained in a folder that is not read."""
    alter(published, options={"curved/1": ["--profile", "fast"]})
    answer = gluon_attn("verify", published, "--variant", "pretrained")
    assert "curved/1 made in the fast profile" in answer.refusal and answer.out == ""


def test_without_names_what_is_published_is_verified_and_the_rest_is_named(toy: str, tmp_path: Path) -> None:
    publish([run(tmp_path / "runs", "curved", paper=toy)])
    answer = gluon_attn("verify", toy)
    assert answer.code == 0, answer.out + answer.err
    others = [
        run.label for run in runner.runs_of(toy, papers.load(toy).preset("smoke"), **HOW) if run.variant != "curved"
    ]
    assert others and answer.out.endswith(f"; not published, so not compared: {', '.join(others)}\n")
    assert answer.out.count("same    ") == 1


def test_a_training_with_another_recipe_than_the_declared_one_is_not_repeated(toy: str, tmp_path: Path) -> None:
    preset, runs = papers.load(toy).preset("cpu"), tmp_path / "runs"
    digest = preset.task("curved").prepare(preset.variant("curved").settings, sample=False).digest
    ours = outcome(runs, "curved", 1, {"right": np.array([True])}, paper=toy, preset="cpu", pipeline=digest)
    rows, _ = conclude.conclude(papers.load(toy), preset, [ours])
    made = manifest([ours], "gluon-attn run", time.time())
    Result("toy", "cpu", rows, [], made).write(papers.results_path(toy, "cpu"))
    published = papers.outcome_folder(toy, "curved", 1)
    shutil.copytree(ours.directory, published)
    wanted = [run(runs, "curved", paper=toy, preset="cpu")]
    declare(published, preset.variant("curved"))
    _with_published(toy, preset, wanted, prepare=True)
    declare(published, replace(preset.variant("curved"), recipe=Recipe(epochs=99, batch_size=1, learning_rate=1.0)))
    with pytest.raises(UsageError, match="curved/seed-1: published with other settings than curved has now"):
        _with_published(toy, preset, wanted, prepare=True)
    _with_published(toy, preset, wanted, prepare=False)  # finished runs are compared, whatever their recipe


def test_without_published_results_nothing_is_trained(toy: str) -> None:
    answer = gluon_attn("verify", toy, "--variant", "curved")
    assert "toy.smoke.json: no results here" in answer.refusal and answer.out == ""


def test_a_missing_corpus_is_not_replaced_by_the_sample(toy: str) -> None:
    answer = gluon_attn("verify", toy, "--preset", "cpu", "--variant", "curved")
    assert "corpus nsmc is missing" in answer.refusal and answer.out == ""


def test_a_paper_of_this_project_has_the_committed_bytes() -> None:
    paper = "cho2014"
    variant = papers.load(paper).headline[0]
    answer = gluon_attn("verify", paper, "--variant", variant)
    assert answer.code == 0, answer.out + answer.err
    committed = Result.read(papers.results_path(paper, "smoke")).manifest["parameters_sha256"]
    assert f"same    {variant}/1 {committed[f'{variant}/1']}" in answer.out


def test_a_training_of_today_may_measure_more_than_a_published_one(tmp_path: Path) -> None:
    record = dict.fromkeys(("parameters_sha256", "pipeline", "environment"), "1" * 64)
    before = outcome(tmp_path / "before", "curved", 1, {"right": np.ones(2)}, **record)
    today = outcome(tmp_path / "today", "curved", 1, {"right": np.ones(2), "more": np.ones(2)}, **record)
    assert all(_checks(today, before, newer=True).values())
    assert not _checks(today, before)["predictions"] and not _checks(before, today, newer=True)["predictions"]
    with_metric = replace(today, record={**today.record, "metrics": {**today.record["metrics"], "more": 1.0}})
    assert all(_checks(with_metric, before, newer=True).values()) and not _checks(with_metric, before)["metrics"]
    assert not _checks(today, with_metric, newer=True)["metrics"]


@pytest.mark.parametrize(("difference", "same"), [(1e-14, True), (1e-9, False)])
def test_a_metric_may_differ_in_its_last_bits_alone(difference: float, same: bool, tmp_path: Path) -> None:
    record = dict.fromkeys(("parameters_sha256", "pipeline", "environment"), "1" * 64)
    before, today = (
        outcome(tmp_path / name, "curved", 1, {"right": np.ones(2)}, metrics={"accuracy": accuracy}, **record)
        for name, accuracy in (("before", 50.0), ("today", 50.0 * (1 + difference)))
    )
    assert _checks(today, before)["metrics"] == same


def test_every_row_of_a_table_without_outcomes_is_compared(toy: str, tmp_path: Path) -> None:
    """Also if several rows have one metric, counted in different ways."""
    preset = papers.load(toy).preset("smoke")
    one = outcome(
        tmp_path, "curved", 1, {"right": np.arange(8) < 6}, paper=toy, pipeline="1" * 64, environment="1" * 64
    )
    rows, _ = conclude.conclude(papers.load(toy), preset, [one])
    assert [row.split for row in rows].count("test") > 1
    for number, changed in enumerate(rows):
        other = replace(changed, per_seed={"1": changed.per_seed["1"] + 1})
        published = Result("toy", "smoke", [*rows[:number], other, *rows[number + 1 :]], [], {})
        replace(published, manifest=manifest([one], "gluon-attn run", time.time())).write(
            papers.results_path(toy, "smoke")
        )
        _, _, compare = _with_published(toy, preset, [run(tmp_path, "curved", paper=toy)], prepare=False)
        differing = [name for name, same in compare(one).items() if not same]
        assert differing == [f"{changed.split} {changed.metric}"]
