"""Publishing: a complete table with its outcomes and figures, which can be generated again from the outcomes alone."""

from __future__ import annotations

import json
import math
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from reproductions.protocol import conclude, papers, publishing, readings
from reproductions.protocol.judging import known_deviation
from reproductions.protocol.manifest import manifest
from reproductions.protocol.publishing import check_addition, publish, publish_again, with_published
from reproductions.protocol.results import Result
from reproductions.protocol.runner import combine_all, runs_of
from reproductions.protocol.runs import Outcome, Run, in_order
from reproductions.protocol.training import score, train
from tests.reproductions.support import gluon_attn, outcome

FILES = {
    "toy.json",
    "toy/README.md",
    "toy/figures.json",
    *(
        f"toy/{name}.png"
        for name in ("both", "points_curved", "points_pretrained", "points_straight", "training_curves")
    ),
    *(
        f"toy/outcomes/{run}/{name}"
        for run in ("curved/seed-1", "curved/seed-2", "straight/seed-1", "straight/seed-2", "pretrained/seed-1")
        for name in ("config.json", "examples.json", "outcome.json", "predictions.npz")
    ),
    "toy/outcomes/committee/seed-1+2/outcome.json",
    "toy/outcomes/committee/seed-1+2/predictions.npz",
}


def trained(toy: str, preset: str, folder: Path) -> list[Outcome]:
    """All runs of a preset, with its ensembles."""
    declared = papers.load(toy).preset(preset)
    runs = runs_of(toy, declared, profile="portable", threads=None, runs=folder)
    for run in runs:
        train(run, resume=True, overwrite=False)
    outcomes = [score(run) for run in runs]
    return in_order([*outcomes, *combine_all(declared, runs)], declared.names)


def publish_all(toy: str, preset: str, outcomes: list[Outcome]) -> Result:
    paper = papers.load(toy)
    declared = paper.preset(preset)
    rows, claims = conclude.conclude(paper, declared, outcomes)
    record = manifest(outcomes, f"gluon-attn run toy.py --preset {preset}", time.time())
    result = Result("toy", preset, rows, claims, record)
    publish(toy, declared, outcomes, result)
    return result


@pytest.fixture(scope="module")
def toy_paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy paper with its runs and its published table, which no test changes."""
    folder = tmp_path_factory.mktemp("made")
    toy = shutil.copy(Path(__file__).parents[1] / "toy.py", folder / "toy.py")
    publish_all(str(toy), "cpu", trained(str(toy), "cpu", folder / "runs"))
    return folder


@pytest.fixture
def published(toy_paper: Path, tmp_path: Path) -> Path:
    """A copy of the toy paper with its published table."""
    shutil.copytree(toy_paper, tmp_path / "published")
    return tmp_path / "published" / "toy.py"


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock"]
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


# --- publish ---


def test_results_figures_readme_and_outcomes_are_published_next_to_the_script(toy_paper: Path) -> None:
    results = toy_paper / "results"
    assert contents(results).keys() == FILES
    result = Result.read(results / "toy.json")
    assert [claim.id for claim in result.claims] == ["bend", "chance"]
    assert list(dict.fromkeys(row.variant for row in result.rows)) == ["curved", "straight", "pretrained", "committee"]
    assert "[`toy.py`](../../toy.py)" in (results / "toy" / "README.md").read_text(encoding="utf-8")
    for path in (results / "toy" / "outcomes").rglob("*.json"):
        run = toy_paper / "runs" / "toy" / "cpu-portable" / path.relative_to(results / "toy" / "outcomes")
        assert path.read_bytes() == run.read_bytes()


def test_publishing_again_removes_obsolete_files(published: Path) -> None:
    folder = published.parent / "results" / "toy"
    shutil.copytree(folder / "outcomes" / "curved", folder / "outcomes" / "gone")
    (folder / "gone.png").touch()
    before = contents(published.parent / "results")
    publish_all(str(published), "cpu", trained(str(published), "cpu", published.parent / "runs"))
    after = contents(published.parent / "results")
    assert after.keys() == FILES
    # The results file has the time when the table was started.
    assert all(raw == before[name][0] for name, (raw, _) in after.items() if name != "toy.json")


def test_of_the_smoke_preset_only_the_results_file_is_published(toy: str, tmp_path: Path) -> None:
    publish_all(toy, "smoke", trained(toy, "smoke", tmp_path / "runs"))
    assert contents(Path(toy).parent / "results").keys() == {"toy.smoke.json"}


@pytest.mark.parametrize("step", ["draw_figures", "results_readme", "Result.write"])
def test_a_failure_leaves_a_table_with_its_outcomes(
    step: str, runs: tuple[str, dict[str, Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old table as it was, or, if only the results file could not be written, with more outcomes than it has."""
    toy, outcomes = runs
    folder = Path(toy).parent / "results"
    publish_more(toy, [outcomes["straight/1"]])
    before = contents(folder)
    fail_at(step, monkeypatch)
    with pytest.raises(RuntimeError, match="stopped"):
        publish_all(toy, "cpu", [outcomes["straight/1"], outcomes["straight/2"]])
    after = contents(folder)
    assert after["toy.json"] == before["toy.json"]
    assert after.keys() >= before.keys()
    assert step == "Result.write" or after == before


@pytest.mark.parametrize("step", ["draw_figures", "results_readme", "shutil.copytree", "Result.write"])
def test_a_table_that_could_not_be_published_again_can_be_later(
    step: str, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = {name: raw for name, (raw, _) in contents(published.parent / "results").items()}
    table = published.parent / "results" / "toy.json"
    table.write_text(table.read_text(encoding="utf-8").replace('"mean": ', '"mean": 1'), encoding="utf-8")
    (table.parent / "toy" / "both.png").unlink()
    before = contents(table.parent)
    with monkeypatch.context() as failing:
        fail_at(step, failing)
        with pytest.raises(RuntimeError, match="stopped"):
            publish_again(str(published), "cpu", check=False)
    assert contents(table.parent)["toy.json"] == before["toy.json"]
    assert step == "Result.write" or contents(table.parent) == before
    assert publish_again(str(published), "cpu", check=False)
    assert {name: raw for name, (raw, _) in contents(table.parent).items()} == complete


def fail_at(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("stopped")

    monkeypatch.setattr(f"reproductions.protocol.publishing.{step}", fail)


# --- add to what is published ---


def publish_more(toy: str, outcomes: list[Outcome]) -> Result:
    return publish_all(toy, "cpu", with_published(toy, papers.load(toy).preset("cpu"), outcomes))


@pytest.fixture
def runs(toy_paper: Path, tmp_path: Path) -> tuple[str, dict[str, Outcome]]:
    """The toy paper, trained but not published, and its outcomes by their labels."""
    shutil.copytree(toy_paper, tmp_path / "trained")
    toy = str(tmp_path / "trained" / "toy.py")
    shutil.rmtree(tmp_path / "trained" / "results")
    return toy, {outcome.label: outcome for outcome in trained(toy, "cpu", tmp_path / "trained" / "runs")}


def test_a_table_that_grows_ends_as_one_that_is_published_at_once(
    toy_paper: Path, runs: tuple[str, dict[str, Outcome]]
) -> None:
    toy, outcomes = runs
    readme = Path(toy).parent / "results" / "toy" / "README.md"
    publish_more(toy, [outcomes["curved/1"]])
    assert (
        "Declared, but not in this table yet: `curved` (seed 2), `straight`, `pretrained`; without a verdict until "
        "then: "
        "`bend`, `chance`.\n"
    ) in readme.read_text(encoding="utf-8")
    result = publish_more(toy, [outcomes["straight/1"], outcomes["straight/2"]])
    assert [claim.id for claim in result.claims] == ["bend", "chance"]
    assert "Declared, but not in this table yet: `curved` (seed 2), `pretrained`.\n" in readme.read_text(
        encoding="utf-8"
    )
    publish_more(toy, [outcomes[label] for label in ("curved/1", "curved/2", "committee/1+2", "pretrained/1")])
    assert "not in this table yet" not in readme.read_text(encoding="utf-8")
    # The manifest has the time when the table was started.
    same = {name: raw for name, (raw, _) in contents(toy_paper / "results").items() if name != "toy.json"}
    assert {n: raw for n, (raw, _) in contents(readme.parents[1]).items() if n != "toy.json"} == same
    at_once = Result.read(toy_paper / "results" / "toy.json")
    grown = Result.read(Path(toy).parent / "results" / "toy.json")
    assert (grown.rows, grown.claims) == (at_once.rows, at_once.claims)


def test_a_seed_is_not_added_without_its_ensemble(runs: tuple[str, dict[str, Outcome]]) -> None:
    toy, outcomes = runs
    publish_more(toy, [outcomes["curved/1"]])
    with pytest.raises(UsageError, match="ensemble committee is of seeds 1, 2 of curved; score these together"):
        publish_more(toy, [outcomes["curved/2"]])


@pytest.mark.parametrize("seeds", [(1, 2), (2, 1)])
def test_an_ensemble_is_added_in_whatever_order_its_seeds_are_named(
    seeds: tuple[int, ...], runs: tuple[str, dict[str, Outcome]]
) -> None:
    toy, _ = runs
    preset = papers.load(toy).preset("cpu")
    folder = Path(toy).parent / "runs"
    chosen = runs_of(toy, preset, variants=["curved"], seeds=seeds, profile="portable", threads=None, runs=folder)
    check_addition(toy, preset, chosen)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"environment": "0" * 64}, "made in 2 environments"),
        ({"pipeline": "0" * 64}, "were trained on differently prepared data"),
        ({"asynchronous": True}, "was trained with --asynchronous, so its result cannot be repeated; train it again"),
        ({"divisions": [{}, {"workers": 2}]}, "was continued with other workers, micro-batches or device"),
    ],
)
def test_what_cannot_be_published_does_not_read_the_test_split(
    change: dict[str, Any], reason: str, runs: tuple[str, dict[str, Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproductions.protocol.runner.corpus_or_sample", lambda preset, _: preset)
    toy, outcomes = runs
    publish_more(toy, [outcomes["straight/1"]])
    directory = outcomes["straight/2"].directory
    (directory / "outcome.json").unlink()
    record = json.loads((directory / "training.json").read_text(encoding="utf-8"))
    (directory / "training.json").write_text(json.dumps(record | change), encoding="utf-8")
    options = ("--variant", "straight", "--seed", 2, "--runs", Path(toy).parent / "runs", "--publish")
    assert reason in gluon_attn("score", toy, *options).refusal
    assert not readings.record_path(toy).exists() and not (directory / "outcome.json").exists()


@pytest.mark.parametrize("alone", [True, False])
def test_runs_with_an_older_recipe_or_asynchronous_workers_do_not_read_the_test_split(
    alone: bool, runs: tuple[str, dict[str, Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether they are to be added to a table or are the whole of it."""
    monkeypatch.setattr("reproductions.protocol.runner.corpus_or_sample", lambda preset, _: preset)
    toy, outcomes = runs
    directory = outcomes["straight/2"].directory
    (directory / "outcome.json").unlink()
    options = ["--runs", Path(toy).parent / "runs", "--publish"]
    options += ["--variant", "straight", "--seed", 2] if alone else []
    training = directory / "training.json"
    record = json.loads(training.read_text(encoding="utf-8"))
    training.write_text(json.dumps(record | {"asynchronous": True}), encoding="utf-8")
    assert "was trained with --asynchronous" in gluon_attn("score", toy, *options).refusal
    training.write_text(json.dumps(record), encoding="utf-8")
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    config["recipe"]["epochs"] += 1
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    refusal = gluon_attn("score", toy, *options).refusal
    assert "trained with other settings or another recipe than straight has now; train it again" in refusal
    assert not readings.record_path(toy).exists() and not (directory / "outcome.json").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"corpora": {"points": "0" * 64, "pretrained": "0" * 64}}, "its network `pretrained` is not the one that"),
        ({"corpora": {"teacher 1": "0" * 64}}, "trained with other settings or another recipe than pretrained has now"),
        ({"task": "another"}, "trained with other settings or another recipe than pretrained has now"),
    ],
)
def test_a_training_from_another_network_or_for_another_task_does_not_read_the_test_split(
    change: dict[str, Any], reason: str, runs: tuple[str, dict[str, Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproductions.protocol.runner.corpus_or_sample", lambda preset, _: preset)
    toy, outcomes = runs
    directory = outcomes["pretrained/1"].directory
    (directory / "outcome.json").unlink()
    for name in ("config.json", "training.json"):
        raw = json.loads((directory / name).read_text(encoding="utf-8"))
        (directory / name).write_text(json.dumps(raw | change), encoding="utf-8")
    options = ("--variant", "pretrained", "--runs", Path(toy).parent / "runs")
    assert reason in gluon_attn("score", toy, *options).refusal
    assert not readings.record_path(toy).exists() and not (directory / "outcome.json").exists()


def test_nothing_is_added_to_trainings_with_other_settings(published: Path) -> None:
    config = published.parent / "results" / "toy" / "outcomes" / "straight" / "seed-2" / "config.json"
    raw = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps({**raw, "settings": {**raw["settings"], "units": 7}}), encoding="utf-8")
    with pytest.raises(UsageError, match="seed-2: published with other settings than straight has now"):
        with_published(str(published), papers.load(str(published)).preset("cpu"), [])


def test_the_command_adds_what_it_names(runs: tuple[str, dict[str, Outcome]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproductions.protocol.runner.corpus_or_sample", lambda preset, _: preset)
    toy, outcomes = runs
    publish_more(toy, [outcomes["curved/1"]])
    options = ("--runs", Path(toy).parent / "runs", "--publish")
    assert gluon_attn("score", toy, "--variant", "straight", *options).code == 0
    result = Result.read(Path(toy).parent / "results" / "toy.json")
    assert {row.variant: list(row.per_seed) for row in result.rows} == {"curved": ["1"], "straight": ["1", "2"]}
    local = Result.read(outcomes["straight/1"].directory.parent.parent / "results.json")
    assert {row.variant for row in local.rows} >= {"curved", "straight", "pretrained"}, "scored by earlier commands"


def test_what_another_command_publishes_at_the_same_time_is_kept(
    runs: tuple[str, dict[str, Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one begins when this one has read what is published, and would be finished before this one writes."""
    monkeypatch.setattr("reproductions.protocol.runner.corpus_or_sample", lambda preset, _: preset)
    toy, outcomes = runs

    def publish_theirs() -> None:
        with papers.locked_results(toy):
            publish_more(toy, [outcomes["curved/1"]])

    other = threading.Thread(target=publish_theirs)

    def interrupted(*given: Any) -> None:
        other.start()
        other.join(2)
        publish(*given)

    monkeypatch.setattr(publishing, "publish", interrupted)
    answer = gluon_attn("score", toy, "--variant", "straight", "--runs", Path(toy).parent / "runs", "--publish")
    other.join()
    assert answer.code == 0, answer.err
    assert f"{Path(toy).parent / 'results'}: waiting for process {os.getpid()}, which is writing" in answer.err
    result = Result.read(Path(toy).parent / "results" / "toy.json")
    assert {row.variant: list(row.per_seed) for row in result.rows} == {"curved": ["1"], "straight": ["1", "2"]}


def test_a_reading_that_is_recorded_while_a_table_is_published_again_is_kept(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins when the new folder is complete, just before that replaces the published one."""
    (published.parent / "results" / "toy" / "README.md").unlink()
    run = Run(str(published), "cpu", "curved", 1, "portable", None, published.parent / "runs")
    other = threading.Thread(target=readings.append, args=(run.paper, [run]))
    copy = shutil.copytree

    def interrupted(*given: Any, **options: Any) -> Any:
        if other.ident is None:  # the function that is replaced calls itself
            other.start()
            other.join(1)
        return copy(*given, **options)

    monkeypatch.setattr(shutil, "copytree", interrupted)
    assert publish_again(str(published), "cpu", check=False)
    other.join()
    assert [one.seed for one in readings.read_readings(str(published))] == [1]


def test_what_cannot_be_added_is_refused_before_the_test_split_is_read(
    runs: tuple[str, dict[str, Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproductions.protocol.runner.corpus_or_sample", lambda preset, _: preset)
    toy, outcomes = runs
    publish_more(toy, [outcomes["curved/1"]])
    run = Run(toy, "cpu", "curved", 2, "portable", None, Path(toy).parent / "runs")
    (run.directory / "outcome.json").unlink()
    options = ("--variant", "curved", "--seed", "2", "--runs", Path(toy).parent / "runs", "--publish")
    answer = gluon_attn("score", toy, *options)
    assert answer.code == 2 and "ensemble committee is of seeds 1, 2 of curved; score these together" in answer.err
    assert not run.is_scored
    assert not (Path(toy).parent / "results" / "toy" / "test_readings.json").exists()


# --- publish again ---


def test_publishing_again_changes_nothing(published: Path) -> None:
    before = contents(published.parent)
    for check in (True, False):
        assert publish_again(str(published), "cpu", check=check) == []
        assert contents(published.parent) == before
    answer = gluon_attn("publish", published, "--check")
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_no_corpus_is_read_and_no_network_is_built(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = papers.load(str(published))
    monkeypatch.setattr(type(paper.task), "prepare", lambda *_, **__: pytest.fail("prepared"))
    monkeypatch.setattr(type(paper.variants[0].settings), "build", lambda *_: pytest.fail("built"))
    assert publish_again(str(published), "cpu", check=False) == []


def test_without_a_paper_all_published_tables_are_generated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    regenerated = []

    def publish_one(paper: str, preset_name: str, *, check: bool) -> list[Path]:
        regenerated.append((paper, preset_name, check))
        return [Path(paper)] if paper == "joulin2016" else []

    monkeypatch.setattr(publishing, "publish_again", publish_one)
    answer = gluon_attn("publish", "--check")
    assert (answer.code, answer.out) == (1, "would change: joulin2016\n")
    published = [name for name in papers.names() if papers.results_path(name, "cpu").exists()]
    assert regenerated == [(name, "cpu", True) for name in published]
    assert "no paper has results of preset paper" in gluon_attn("publish", "--preset", "paper").refusal


def test_all_tables_are_generated_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that changes can change verdicts of papers that come before it."""
    changes = {"joulin2016": 1, "bengio2003": 2}

    def publish_one(paper: str, preset_name: str, *, check: bool) -> list[Path]:
        changes[paper] = changes.get(paper, 0) - 1
        return [Path(paper)] if changes[paper] >= 0 else []

    monkeypatch.setattr(publishing, "publish_again", publish_one)
    answer = gluon_attn("publish")
    assert (answer.code, answer.out.split()[1::2]) == (0, ["bengio2003", "joulin2016", "bengio2003"])


@pytest.mark.parametrize("name", ["toy.json", "toy/README.md", "toy/both.png", "toy/points_curved.png"])
@pytest.mark.parametrize("damage", ["edited", "deleted"])
def test_manual_changes_are_noticed_and_overwritten(name: str, damage: str, published: Path) -> None:
    path = published.parent / "results" / name
    before = contents(published.parent / "results")
    if name == "toy.json":
        path.write_text(path.read_text(encoding="utf-8").replace('"mean": ', '"mean": 1'), encoding="utf-8")
    elif damage == "edited":
        path.write_bytes(path.read_bytes() + b" ")
    else:
        path.unlink()
    changed = contents(published.parent / "results")
    answer = gluon_attn("publish", published, "--check")
    assert answer.code == 1 and f"would change: {path}" in answer.out.splitlines()
    assert contents(published.parent / "results") == changed
    answer = gluon_attn("publish", published)
    assert answer.code == 0 and f"written: {path}" in answer.out.splitlines()
    after = contents(published.parent / "results")
    assert {file: raw for file, (raw, _) in after.items()} == {file: raw for file, (raw, _) in before.items()}


def test_a_figure_that_is_no_longer_drawn_is_removed(published: Path) -> None:
    folder = published.parent / "results" / "toy"
    for name in ("old.png", "old.txt", "mine/old.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    assert folder / "old.png" in publish_again(str(published), "cpu", check=True)
    assert (folder / "old.png").exists()
    assert folder / "old.png" in publish_again(str(published), "cpu", check=False)
    assert not (folder / "old.png").exists() and (folder / "old.txt").exists() and (folder / "mine/old.txt").exists()
    assert publish_again(str(published), "cpu", check=True) == []


def test_the_origin_of_the_table_stays_and_trainings_are_those_of_the_outcomes(published: Path) -> None:
    path = published.parent / "results" / "toy.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    raw["manifest"] |= {"command": "gluon-attn run mine", "hardware": "mine", "started": "then", "seeds": [7]}
    path.write_text(json.dumps(raw), encoding="utf-8")
    shutil.rmtree(published.parent / "results" / "toy" / "outcomes" / "straight")
    publish_again(str(published), "cpu", check=False)
    result = Result.read(path)
    manifest = [result.manifest[name] for name in ("command", "hardware", "started", "profile", "threads")]
    assert manifest == ["gluon-attn run mine", "mine", "then", "portable", 1]
    assert result.manifest["seeds"] == [1, 2]
    assert list(result.manifest["parameters_sha256"]) == ["curved/1", "curved/2", "pretrained/1"]
    assert result.claims == []


def test_a_damaged_outcome_is_refused_and_nothing_is_written(published: Path) -> None:
    outcome = published.parent / "results" / "toy" / "outcomes" / "curved" / "seed-1" / "outcome.json"
    outcome.write_bytes(outcome.read_bytes()[:-9])
    before = contents(published.parent)
    assert f"{outcome}: damaged" in gluon_attn("publish", published).refusal
    assert contents(published.parent) == before


def test_without_outcomes_nothing_can_be_published_again(published: Path) -> None:
    """As in an installed wheel, which has none; those of the smoke preset are not published either."""
    smoke = published.parent / "results" / "toy.smoke.json"
    shutil.copy(published.parent / "results" / "toy.json", smoke)
    with pytest.raises(UsageError, match="no outcomes of preset smoke here; use a clone of the project"):
        publish_again(str(published), "smoke", check=True)
    shutil.rmtree(published.parent / "results" / "toy" / "outcomes")
    with pytest.raises(UsageError, match="no outcomes of preset cpu here; use a clone of the project"):
        publish_again(str(published), "cpu", check=True)


def test_an_unpublished_table_cannot_be_published_again(toy: str) -> None:
    for check in (True, False):
        with pytest.raises(UsageError, match="no results here; score the reproduction first"):
            publish_again(toy, "cpu", check=check)
    assert not papers.results_folder(toy).exists()


# --- the papers of this project ---


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("paper", [name for name in papers.names() if papers.results_path(name, "cpu").exists()])
def test_published_tables_are_generated_again_from_their_outcomes(paper: str) -> None:
    """Without corpora: the results to the byte, figures and README."""
    assert publish_again(paper, "cpu", check=True) == []


@pytest.mark.parametrize("paper", [name for name in papers.names() if papers.results_path(name, "cpu").exists()])
def test_claims_with_one_seed_use_the_deviation_of_all_published_tables(paper: str) -> None:
    """A new table of one paper changes the deviation over seeds for the others of its task: ``gluon-attn publish``."""
    reproduction, result = papers.load(paper), Result.read(papers.results_path(paper, "cpu"))
    declared = {claim.id: claim for claim in reproduction.claims}
    for claim in result.claims:
        if len(claim.per_seed) < 2 and claim.seed_deviation:  # zero between systems without a random part
            known = known_deviation(reproduction, declared[claim.id], reproduction.preset("cpu"), result.rows)
            assert known is not None
            assert claim.seed_deviation == pytest.approx(known.value * math.sqrt(2), rel=1e-12), claim.id


@pytest.mark.parametrize("paper", [name for name in papers.names() if papers.results_path(name, "cpu").exists()])
def test_published_outcomes_are_of_the_declared_variants(paper: str) -> None:
    reproduction, result = papers.load(paper), Result.read(papers.results_path(paper, "cpu"))
    preset = reproduction.preset("cpu")
    hashes = {}
    for path in sorted((papers.results_folder(paper) / paper / "outcomes").glob("*/*/outcome.json")):
        outcome = Outcome.read(path.parent, path.parts[-3], path.parts[-2].removeprefix("seed-"))
        if "+" in str(outcome.seed):
            assert outcome.variant in {ensemble.name for ensemble in preset.ensembles}
            continue
        hashes[outcome.label] = outcome.record["parameters_sha256"]
        config = json.loads((path.parent / "config.json").read_text(encoding="utf-8"))
        variant = preset.variant(outcome.variant)
        given = (config["variant"], config["seed"], config["preset"], config["profile"], config["task"])
        profile = outcome.record.get("profile", "portable")
        assert given == (variant.name, int(outcome.seed), "cpu", profile, preset.task(variant.name).name)
        assert config["settings"] == json.loads(json.dumps(variant.settings.as_json())), outcome.label
        assert config["recipe"] == json.loads(json.dumps(variant.recipe.as_json())), outcome.label
        assert config["corpora"] == outcome.record["corpora"] and config["pipeline"] == outcome.record["pipeline"]
        assert ("pretrained" in config["corpora"]) == (variant.pretrained is not None)
    assert hashes == result.manifest["parameters_sha256"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"asynchronous": True}, "was trained with --asynchronous, so its result cannot be repeated"),
        ({"scored_environment": "0" * 64}, "was scored in another environment than it was trained in"),
    ],
)
def test_what_no_training_repeats_is_not_published(
    record: dict[str, Any], reason: str, toy: str, tmp_path: Path
) -> None:
    one = outcome(tmp_path / "runs", "curved", 1, {"right": np.ones(4, bool)}, **record)
    with pytest.raises(UsageError, match=reason):
        publish(toy, papers.load(toy).preset("cpu"), [one], Result("toy", "cpu", [], [], {}))
    assert not (Path(toy).parent / "results").exists()
