"""Training, scoring and reproducing the toy paper on the embedded sample."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint, save
from preprocessing.corpora.locate import SAMPLE_ROOT
from reproductions.protocol import readings, runner
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome, Run, training_of
from tests.reproductions.cli.project import WARNING, Project, files
from tests.reproductions.support import ROOT, Answer, gluon_attn, run_and_score
from tests.reproductions.toy import REPRODUCTION


def test_score_writes_results_figures_and_pages(trained: tuple[Project, Answer]) -> None:
    project, answer = trained
    assert answer.code == 0, answer.err
    root = project.run("curved").root
    result = Result.read(root / "results.json")
    assert [row.variant for row in result.rows] == ["curved"] * 3 + ["straight"] * 3  # As in the table.
    assert list(result.manifest["parameters_sha256"]) == ["curved/1", "straight/1"]
    command = f"gluon-attn score {project.script} --preset smoke --variant straight --variant curved --jobs 2"
    assert result.manifest["command"] == command  # Without the folder of the runs.
    assert [claim.id for claim in result.claims] == ["bend", "chance"]
    named = dict(line.split(": ", 1) for line in answer.out.splitlines() if ": /" in line)
    figures = ("training curves", "points of curved", "points of straight", "both")
    pages = ("all points of curved", "all points of straight", "notes")
    assert list(named) == ["results", *(f"figure, {title}" for title in figures), *pages]
    assert all(Path(path).stat().st_size > 0 for path in named.values())


def test_results_on_the_sample_are_marked_everywhere(trained: tuple[Project, Answer]) -> None:
    project, answer = trained
    assert answer.out.rstrip().endswith(WARNING)
    assert "SAMPLE: means nothing" in answer.out
    raw = json.loads((project.run("curved").root / "results.json").read_text(encoding="utf-8"))
    for row in raw["rows"]:
        assert (row["corpus"], row["comparable"], row["differs"]) == ("sample", False, "SAMPLE: means nothing")
    assert all("SAMPLE" in claim["measure"] for claim in raw["claims"])


def test_a_second_run_is_refused_and_nothing_is_lost(trained: tuple[Project, Answer]) -> None:
    project, _ = trained
    before = files(project.runs)
    refusal = project.command("run", "--variant", "curved", "--variant", "pretrained").refusal
    assert str(project.run("curved").directory) in refusal
    assert "--resume" in refusal and "--overwrite" in refusal
    assert "choose one" in project.command("run", "--variant", "curved", "--resume", "--overwrite").refusal
    assert files(project.runs) == before  # Nor was the other variant trained.


def test_run_reports_validation_and_leaves_the_test_split_alone(project: Project) -> None:
    answer = project.command("run", "--variant", "curved")
    assert answer.code == 0, answer.err
    one = project.run("curved")
    assert one.is_trained and not one.is_scored and not (one.root / "results.json").exists()
    record = training_of(one)
    best = record["history"][record["best_epoch"] - 1]["validation_accuracy"]
    (line,) = [line for line in answer.out.splitlines() if line.startswith(" curved ")]
    assert re.split(" {2,}", line.strip())[:4] == ["curved", "1", str(record["best_epoch"]), f"accuracy {best:.2f}"]
    command = f"gluon-attn score {project.script} --preset smoke --variant curved --runs {project.runs}"
    assert f"score the test split: {command}" in " ".join(answer.out.split())
    assert WARNING in answer.out


def test_score_refuses_what_is_not_trained_and_scores_nothing(copy: Project) -> None:
    one = copy.run("curved")
    (one.directory / "outcome.json").unlink()
    refusal = copy.command("score", "--variant", "curved", "--variant", "pretrained").refusal
    assert "pretrained with seed 1 has not been trained yet. Train it with: gluon-attn run" in refusal
    assert not one.is_scored


def test_scored_runs_are_not_scored_again(copy: Project) -> None:
    before = files(copy.run("curved").directory)
    assert copy.command("score", "--variant", "curved").code == 0
    assert files(copy.run("curved").directory) == before


def test_resume_does_not_change_finished_runs(copy: Project) -> None:
    before = files(copy.run("curved").directory)
    answer = copy.command("run", "--variant", "curved", "--resume")
    assert answer.code == 0, answer.err
    after = files(copy.run("curved").directory)
    assert {**after, "config.json": ""} == {**before, "config.json": ""}
    assert after["config.json"][0] == before["config.json"][0]


def test_overwrite_replaces_and_gives_the_same_parameters(copy: Project) -> None:
    one = copy.run("curved")
    before = Outcome.of(one).record["parameters_sha256"]
    (one.directory / "outcome.json").write_text("{}", encoding="utf-8")
    (one.directory / "stale").touch()
    answer = copy.command("run", "--variant", "curved", "--overwrite")
    assert answer.code == 0, answer.err
    assert not (one.directory / "stale").exists() and not one.is_scored
    assert copy.command("score", "--variant", "curved").code == 0
    assert Outcome.of(one).record["parameters_sha256"] == before


def test_a_run_with_other_settings_is_not_resumed(copy: Project) -> None:
    """The reason is that of the training process."""
    path = copy.run("curved").directory / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["settings"]["units"] += 1
    path.write_text(json.dumps(config), encoding="utf-8")
    before = files(copy.runs)
    refusal = copy.command("run", "--variant", "curved", "--resume", "--jobs", 2).refusal
    assert "curved seed 1" in refusal and "differs in settings" in refusal
    assert files(copy.runs) == before


def test_a_failed_training_ends_with_its_reason_and_status_2_in_a_file_log(copy: Project, tmp_path: Path) -> None:
    """A checkpoint of other code: it has no state of the optimizer."""
    one = copy.run("curved")
    (one.directory / "training.json").unlink()
    (one.directory / "outcome.json").unlink()
    saved = Checkpoint(one.directory / "checkpoint.npz")
    groups = {name: saved.group(name) for name in saved.sha256} | {"optimizer": {}}
    save(one.directory / "checkpoint.npz", groups, {**saved.state, "history": saved.state["history"][:1]})
    command = [sys.executable, "-m", "reproductions", "run", *one.arguments(), "--resume", "--jobs", "1"]
    with (tmp_path / "log").open("wb") as log:
        status = subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, check=False).returncode
    last = (tmp_path / "log").read_text(encoding="utf-8").splitlines()[-1]
    assert last.startswith("gluon-attn: curved seed 1: the optimizer's state is not that of") and status == 2


def test_reproduce_continues_and_ends_with_table_figures_and_pages(copy: Project) -> None:
    """One of the headline's two variants was trained."""
    shutil.rmtree(copy.run("straight").directory)
    before = files(copy.run("curved").directory)
    answer = copy.command("reproduce")
    assert answer.code == 0, answer.err
    assert files(copy.run("curved").directory)["outcome.json"] == before["outcome.json"]
    assert Outcome.of(copy.run("straight"))
    for heading in ("variant", "ours", "reported", "differs"):
        assert heading in answer.out
    for variant in REPRODUCTION.headline:
        assert f"\n {variant} " in answer.out
    named = dict(line.split(": ", 1) for line in answer.out.splitlines() if ": /" in line)
    assert {"results", "figure, both", "notes"} <= named.keys()
    assert WARNING in answer.out
    assert answer.out.splitlines()[-1].startswith("test split: scored once by each of 2 trainings")
    assert not readings.record_path(copy.script).exists()


def test_reproduce_trains_the_seed_that_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def train_all(runs: Sequence[Run], **_: object) -> None:
        raise UsageError(", ".join(one.label for one in runs))

    monkeypatch.setattr(runner, "train_all", train_all)
    assert project.command("reproduce", "--seed", 2).refusal == "curved/2, straight/2"


@pytest.mark.slow
def test_a_whole_preset_is_trained_combined_and_published(project: Project) -> None:
    """Two seeds, so that there is an ensemble, and a network that is initialised from another of them."""
    script = Path(project.script)
    text = script.read_text(encoding="utf-8").replace("smoke=Override(smoke)", "smoke=Override(smoke, seeds=(1, 2))")
    script.write_text(text, encoding="utf-8")
    assert project.command("run").code == 0
    answer = project.command("score", "--publish")
    assert answer.code == 0, answer.err
    published = Result.read(path := script.parent / "results" / "toy.smoke.json")
    assert f"published results: {path}" in answer.out
    assert published == Result.read(project.run("curved").root / "results.json")
    labels = ["curved/1", "curved/2", "straight/1", "straight/2", "pretrained/1"]
    assert list(published.manifest["parameters_sha256"]) == labels
    assert all(row.per_seed.keys() == {"1+2"} for row in published.rows if row.variant == "committee")
    compared = gluon_attn("compare", project.script, "--preset", "smoke")
    for name in ("curved", "straight", "pretrained", "committee"):
        assert f"\n {name} " in compared.out and f"\n {name} " in answer.out
    assert "bootstrap" in compared.out and compared.out.rstrip().endswith(WARNING)


def test_a_smoke_table_is_published_whole_and_none_of_the_sample_in_its_place(project: Project) -> None:
    for more in (("--variant", "curved"), ("--seed", 1)):
        assert "a table of preset smoke is published whole" in project.command("score", "--publish", *more).refusal
    answer = gluon_attn("score", project.script, "--preset", "cpu", "--runs", project.runs, "--publish")
    assert answer.code == 2 and "on the embedded sample are not published" in answer.err.splitlines()[-1]
    assert sorted(path.name for path in project.runs.parent.iterdir()) == ["toy.py"]


def test_results_grow_over_commands(project: Project) -> None:
    for variant in ("curved", "straight"):
        assert (
            run_and_score(project.script, "--preset", "smoke", "--runs", project.runs, "--variant", variant).code == 0
        )
    result = Result.read(project.run("curved").root / "results.json")
    assert {row.variant for row in result.rows} == {"curved", "straight"}
    assert [claim.id for claim in result.claims] == ["bend", "chance"]


def test_without_the_corpus_the_sample_is_used_and_marked(project: Project) -> None:
    options = ("--variant", "curved", "--seed", 1, "--seed", 1, "--runs", project.runs)
    answer = run_and_score(project.script, "--preset", "cpu", *options)
    assert answer.code == 0, answer.err
    assert "corpus nsmc is missing" in answer.err
    assert "*** nsmc IS MISSING: USING THE EMBEDDED SAMPLE" in answer.err
    assert WARNING in answer.out
    assert not project.run("curved", preset="cpu").root.exists()  # Where a run on the corpus would be.
    on_sample = project.run("curved", preset="cpu", on_sample=True)
    result = Result.read(on_sample.root / "results.json")
    assert [(row.corpus, row.comparable) for row in result.rows] == [("sample", False)] * 3
    assert len(Outcome.of(on_sample).record["history"]) == 3  # The recipe is that of the preset.
    answer = gluon_attn("predict", project.script, "--runs", project.runs, stdin=b"0.5 0.5\n")
    assert (answer.code, answer.out.count("\n")) == (0, 1)
    assert "TRAINED ON THE EMBEDDED SAMPLE" in answer.err


@pytest.mark.parametrize("command", ["run", "score", "reproduce"])
def test_a_damaged_corpus_is_refused_and_not_replaced_by_the_sample(
    command: str, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nsmc").mkdir()
    for name in ("ratings_train.txt", "ratings_test.txt"):
        shutil.copy(SAMPLE_ROOT / "reviews" / name, tmp_path / "nsmc" / name)
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    refusal = gluon_attn(command, project.script, "--preset", "cpu", "--runs", project.runs).refusal
    assert str(tmp_path / "nsmc" / "ratings_train.txt") in refusal and "SHA-256" in refusal
    assert not project.runs.exists()


def test_an_empty_folder_of_runs_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    answer = gluon_attn("run", project.script, "--preset", "smoke", "--runs", "")
    assert answer.code == 2 and "the name of the folder is empty" in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["toy.py"]


def test_a_negative_seed_is_refused(project: Project) -> None:
    answer = gluon_attn("run", project.script, "--preset", "smoke", "--seed", "-3")
    assert answer.code == 2 and "greater than or equal to 0" in answer.err


def test_score_names_all_networks_that_are_not_trained(project: Project) -> None:
    seeds = ("--preset", "smoke", "--seed", "1", "--seed", "2")
    refusal = gluon_attn("score", project.script, *seeds, "--variant", "curved").refusal
    assert "curved with seed 1 has not been trained yet (nor curved/2). Train it with: gluon-attn run" in refusal


@pytest.mark.parametrize("arguments", [("--jobs", 0), ("--jobs", "many"), ("--seed", "one"), ("--colour",)])
def test_an_option_without_effect_is_refused(project: Project, arguments: tuple[object, ...]) -> None:
    answer = project.command("run", *arguments)
    assert answer.code == 2
    assert str(arguments[0]) in answer.err
    assert "Traceback" not in answer.err


def test_a_folder_that_cannot_be_written_is_refused(project: Project) -> None:
    project.runs.touch()
    assert str(project.runs) in project.command("run", "--variant", "curved", "--jobs", 2).refusal
