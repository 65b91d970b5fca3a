"""One run: trained once, resumed to the same bytes, initialised from another, loaded as it was trained, ensembled."""

from __future__ import annotations

import fcntl
import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint, parameter_arrays, parameters_sha256
from reproductions.protocol import papers, training
from reproductions.protocol.loading import load, load_directory, preset_of
from reproductions.protocol.manifest import environment_digest
from reproductions.protocol.models import export, trained_directory
from reproductions.protocol.preparing import by_stage, networks_to_train_first, prerequisites, with_corpus
from reproductions.protocol.runs import Outcome, Run, training_of
from reproductions.protocol.training import combine, score, train
from tests.reproductions.support import outcome, run


@pytest.fixture
def one(toy: str, tmp_path: Path) -> Run:
    """A run of the toy paper that is not trained yet."""
    return run(tmp_path / "runs", "curved", paper=toy)


def trained(one: Run, *, resume: bool = False, overwrite: bool = False) -> Outcome:
    """Train and score."""
    train(one, resume=resume, overwrite=overwrite)
    return score(one)


def edit(toy: str, old: str, new: str) -> None:
    """Change the script of the toy paper before it is loaded."""
    text = Path(toy).read_text(encoding="utf-8")
    assert text.count(old) == 1
    Path(toy).write_text(text.replace(old, new), encoding="utf-8")


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def best(one: Run) -> dict[str, np.ndarray]:
    return Checkpoint(one.directory / "checkpoint.npz").group("best")


# --- one run ---


def test_a_run_writes_its_configuration_checkpoint_metrics_and_outcome(one: Run) -> None:
    finished = trained(one)
    assert {path.name for path in one.directory.iterdir()} == {
        "checkpoint.npz", "config.json", "examples.json", "metrics.csv", "metrics.jsonl", "outcome.json",
        "predictions.npz", "preprocessing.npz", "processes.json", "texts.npz", "training.json",
    }  # fmt: skip
    config = json.loads((one.directory / "config.json").read_text(encoding="utf-8"))
    variant = papers.load(one.paper).preset("smoke").variant("curved")
    assert config["settings"] == {"points": 60, "units": 8}
    assert config["recipe"]["epochs"] == variant.recipe.epochs == 2 == len(finished.record["history"])
    names = ("paper", "preset", "variant", "seed", "profile", "threads", "task")
    assert [config[name] for name in names] == ["toy", "smoke", "curved", 1, "portable", 1, "quadrants"]
    record = finished.record
    assert record["parameters"] == 2 * 8 + 8 + 8 * 2 + 2
    assert record["parameters_sha256"] == parameters_sha256(best(one))
    assert record["corpus"] == "sample" and list(record["corpora"]) == ["train", "validation", "test"]
    assert record["pipeline"] == config["pipeline"] and record["corpora"] == config["corpora"]
    assert record["environment"] == environment_digest(["scipy"]), "a package of the task"
    assert record["metrics"]["accuracy"] == pytest.approx(100 * finished.predictions["right"].mean())


def test_the_same_seed_gives_the_same_parameters_and_another_seed_others(one: Run, tmp_path: Path) -> None:
    first, again, other = (
        trained(replace(one, runs=tmp_path / folder, seed=seed)) for folder, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first.record["parameters_sha256"] == again.record["parameters_sha256"]
    assert first.record["parameters_sha256"] != other.record["parameters_sha256"]


def test_the_test_split_is_scored_with_the_parameters_of_the_best_epoch(
    toy: str, one: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task has those of the last epoch too."""
    edit(toy, "replace(RECIPE, epochs=2)", "replace(RECIPE, epochs=3)")
    task = type(papers.load(toy).task)
    evaluate, seen = task.evaluate, {}

    def spy(self: Any, model: Any, settings: Any, data: Any, last: Checkpoint) -> Any:
        seen.update(model=parameter_arrays(model), last=last.group("parameters"), best=last.group("best"))
        return evaluate(self, model, settings, data, last)

    accuracies = iter([50.0, 90.0, 40.0])
    monkeypatch.setattr(task, "evaluate", spy)
    objective = task.objective
    monkeypatch.setattr(
        task,
        "objective",
        lambda *args: replace(objective(*args), evaluate=lambda model: {"accuracy": next(accuracies), "loss": 1.0}),
    )
    finished = trained(one)
    assert finished.record["best_epoch"] == 2
    digests = {name: parameters_sha256(arrays) for name, arrays in seen.items()}
    assert digests["model"] == digests["best"] == finished.record["parameters_sha256"] != digests["last"]


# --- again ---


def test_an_existing_run_is_refused_and_not_changed(one: Run) -> None:
    trained(one)
    before = contents(one.directory)
    with pytest.raises(UsageError, match=r"seed-1: .*--resume.*--overwrite"):
        trained(one)
    assert contents(one.directory) == before


def test_a_finished_run_is_loaded_and_not_trained_again(one: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trained(one)
    before = contents(one.directory)
    monkeypatch.setattr("reproductions.protocol.training.fit", lambda *_, **__: pytest.fail("trained again"))
    again = trained(one, resume=True)
    assert again.record == whole.record
    assert again.predictions["right"].tolist() == whole.predictions["right"].tolist()
    after = contents(one.directory)
    assert {name: raw for name, (raw, _) in after.items()} == {name: raw for name, (raw, _) in before.items()}
    assert all(after[name] == before[name] for name in before if name != "config.json")


def test_a_run_interrupted_before_its_outcome_ends_with_the_same_bytes(
    one: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = trained(replace(one, runs=tmp_path / "whole"))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(papers.load(one.paper).task), "evaluate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trained(one)
    assert one.is_trained and not one.is_scored and (one.directory / "checkpoint.npz").exists()
    again = trained(one, resume=True)
    seconds = ("train_seconds", "history")  # The time that the epochs took.
    facts = [{name: value for name, value in each.record.items() if name not in seconds} for each in (whole, again)]
    assert facts[0] == facts[1]
    assert (again.directory / "predictions.npz").stat().st_size == (whole.directory / "predictions.npz").stat().st_size
    assert again.predictions["probability"].tobytes() == whole.predictions["probability"].tobytes()


def test_a_resumed_training_names_its_commits_and_keeps_its_environment(
    one: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was killed after its last epoch."""
    first = trained(one)
    for name in ("training.json", "outcome.json"):
        (one.directory / name).unlink()
    monkeypatch.setattr(training, "environment_digest", lambda _: "0" * 64)
    with pytest.raises(UsageError, match=r"began in another environment; continue it there, or replace it"):
        trained(one, resume=True)
    monkeypatch.undo()
    monkeypatch.setattr(training, "commit", lambda: "2" * 40)
    assert trained(one, resume=True).record["commit"] == f"{first.record['commit']}, {'2' * 40}"


def test_the_environment_of_scoring_is_recorded_if_it_is_another_one(one: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "scored_environment" not in trained(one).record
    (one.directory / "outcome.json").unlink()
    monkeypatch.setattr(training, "environment_digest", lambda _: "0" * 64)
    assert training.score(one).record["scored_environment"] == "0" * 64


def test_all_divisions_of_the_work_of_a_training_are_recorded(one: Run) -> None:
    train(one, resume=False, overwrite=False, micro_batches=2)
    assert training_of(one)["micro_batches"] == 2
    for micro_batches, divisions in ((2, None), (1, [{"micro_batches": 2}, {}]), (2, [{"micro_batches": 2}, {}])):
        (one.directory / "training.json").unlink()
        train(one, resume=True, overwrite=False, micro_batches=micro_batches)
        record = training_of(one)
        assert record.get("divisions") == divisions and ("micro_batches" in record) == (divisions is None)


@pytest.mark.parametrize("content", ["[]", "{}", '{"commit": "1"}'])
def test_a_damaged_record_of_the_processes_is_refused(content: str, one: Run) -> None:
    trained(one)
    for name in ("training.json", "outcome.json"):
        (one.directory / name).unlink()
    (one.directory / "processes.json").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"processes\.json: damaged; replace the run \(--overwrite\)"):
        trained(one, resume=True)


def test_overwriting_leaves_nothing_of_the_old_run(one: Run) -> None:
    first = trained(one)
    (one.directory / "outcome.json").write_text("{}", encoding="utf-8")
    (one.directory / "stale").touch()
    again = trained(one, overwrite=True)
    assert not (one.directory / "stale").exists()
    assert again.record["parameters_sha256"] == first.record["parameters_sha256"]


def test_a_run_with_other_settings_is_not_resumed(one: Run) -> None:
    trained(one)
    path = one.directory / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["settings"]["units"] += 1
    path.write_text(json.dumps(config), encoding="utf-8")
    before = contents(one.directory)
    with pytest.raises(UsageError, match="differs in settings"):
        trained(one, resume=True)
    assert contents(one.directory) == before


# --- one process for each run ---


@pytest.fixture
def lock(one: Run) -> Iterator[Any]:
    """The lock file of the run, open as by another process."""
    one.directory.parent.mkdir(parents=True)
    with (one.directory.parent / ".seed-1.lock").open("a") as stream:
        yield stream


def test_a_second_process_says_whom_it_waits_for_and_repeats_nothing(
    one: Run, lock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fcntl.flock(lock, fcntl.LOCK_EX)
    lock.write("process 17\n")
    lock.flush()
    copy = replace(one, runs=one.runs / "copy")
    trained(copy)

    def finish() -> None:
        assert not one.directory.exists()
        shutil.copytree(copy.directory, one.directory)
        fcntl.flock(lock, fcntl.LOCK_UN)

    threading.Timer(0.3, finish).start()
    trained(one, resume=True)
    assert f"{one.directory}: waiting for process 17, which is training or scoring it\n" in capsys.readouterr().err
    theirs, ours = contents(copy.directory), contents(one.directory)
    assert {name: value[0] for name, value in ours.items()} == {name: value[0] for name, value in theirs.items()}


def test_what_another_process_scores_meanwhile_is_not_scored_again(one: Run, lock: Any) -> None:
    fcntl.flock(lock, fcntl.LOCK_EX)

    def finish() -> None:
        outcome(one.runs, "curved", 1, {"right": [True]}, paper=one.paper)
        fcntl.flock(lock, fcntl.LOCK_UN)

    threading.Timer(0.3, finish).start()
    assert score(one).predictions["right"].tolist() == [True]


def test_an_ensemble_that_another_process_evaluates_meanwhile_is_not_evaluated_again(one: Run) -> None:
    (ensemble,) = papers.load(one.paper).ensembles
    members = [replace(one, seed=seed) for seed in (1, 2)]
    for member in members:
        outcome(one.runs, "curved", member.seed, paper=one.paper)
    (one.root / "committee").mkdir()
    with (one.root / "committee" / ".seed-1+2.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def finish() -> None:
            committee(one)
            fcntl.flock(lock, fcntl.LOCK_UN)

        threading.Timer(0.3, finish).start()
        assert combine(ensemble, members).predictions["right"].tolist() == [True]


def test_the_lock_ends_with_the_run_even_if_that_fails(one: Run, lock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(type(papers.load(one.paper).task), "prepare", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            trained(one)
    trained(one)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


# --- from a pretrained network ---


def test_a_pretrained_network_is_a_run_of_another_variant_with_seed_1(one: Run) -> None:
    assert prerequisites(one) == {}
    wanted = replace(one, variant="pretrained", seed=3, on_sample=True)
    assert prerequisites(wanted) == {"pretrained": replace(one, on_sample=True)}


def test_a_pretrained_network_may_be_of_another_paper(toy: str, one: Run) -> None:
    edit(toy, '"toy/curved"', '"cho2014/a"')
    wanted = replace(one, variant="pretrained", seed=2)
    assert prerequisites(wanted) == {"pretrained": replace(one, paper="cho2014", variant="a")}


@pytest.mark.parametrize("name", ["skip-gram", "mikolov2013", "mikolov2013/", "/curved", "glove/skip-gram", "toy/", ""])
def test_a_pretrained_network_is_named_by_paper_and_variant(toy: str, one: Run, name: str) -> None:
    edit(toy, '"toy/curved"', repr(name))
    with pytest.raises(UsageError, match=f"network '{name}' is unknown; write it as PAPER/VARIANT"):
        prerequisites(replace(one, variant="pretrained"))


def test_a_pretrained_run_differs_from_one_without(one: Run) -> None:
    """The two variants have the same settings and recipe."""
    source = trained(one).record
    curved, pretrained = (trained(replace(one, variant=name, seed=2)).record for name in ("curved", "pretrained"))
    assert pretrained["parameters_sha256"] != curved["parameters_sha256"]
    assert pretrained["history"][0]["train_loss"] != curved["history"][0]["train_loss"]
    assert pretrained["corpora"] == {**curved["corpora"], "pretrained": source["parameters_sha256"]}


def test_a_network_starts_with_the_parameters_of_the_pretrained_one(toy: str, one: Run) -> None:
    """Trained at a rate of 0, its hidden layer is that of the other, and the rest is its own."""
    edit(toy, "replace(RECIPE, epochs=2)", "replace(RECIPE, learning_rate=0.1 * (variant.name == 'curved'))")
    trained(one)
    pretrained = replace(one, variant="pretrained")
    trained(pretrained)
    source, copied = best(one), best(pretrained)
    assert copied["hidden.weight"].tobytes() == source["hidden.weight"].tobytes()
    assert copied["output.weight"].tobytes() != source["output.weight"].tobytes()


def test_a_pretrained_network_may_come_with_the_paper(one: Run) -> None:
    one = replace(one, preset="cpu")
    source = trained(one).record["parameters_sha256"]
    export(one.directory, papers.models_folder(one.paper) / "curved")
    shutil.rmtree(one.directory)
    record = trained(replace(one, variant="pretrained", seed=2)).record
    assert record["corpora"]["pretrained"] == source


@pytest.mark.parametrize("other", [{"seed": 2}, {"on_sample": True}, {"preset": "smoke"}, {"variant": "plain"}])
def test_a_network_that_comes_with_the_paper_stands_for_its_own_run_only(one: Run, other: dict[str, Any]) -> None:
    one = replace(one, preset="cpu")
    trained(one)
    export(one.directory, included := papers.models_folder(one.paper) / "curved")
    assert trained_directory(one) == one.directory
    shutil.rmtree(one.directory)
    assert trained_directory(one) == included
    assert trained_directory(replace(one, **other)) is None


def test_without_its_pretrained_network_nothing_is_trained(one: Run) -> None:
    wanted = replace(one, variant="pretrained")
    with pytest.raises(UsageError, match=r"curved with seed 1 has not been trained yet. Train it with: gluon-attn run"):
        trained(wanted)
    assert not wanted.directory.exists()


def test_a_task_that_cannot_use_a_pretrained_network_refuses_it(one: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(type(papers.load(one.paper).task), "initialize")
    trained(one)
    with pytest.raises(UsageError, match="curved: quadrants cannot be initialised from a pretrained network"):
        trained(replace(one, variant="pretrained"))


def test_a_run_is_not_resumed_from_another_pretrained_network(one: Run, tmp_path: Path) -> None:
    pretrained = replace(one, variant="pretrained")
    trained(one)
    trained(pretrained)
    shutil.rmtree(one.directory)
    trained(replace(one, seed=2)).directory.rename(one.directory)
    with pytest.raises(UsageError, match="differs in corpora"):
        trained(pretrained, resume=True)


# --- taught by trained networks ---


@pytest.fixture
def taught(toy: str, one: Run) -> Run:
    """A run whose targets are the predictions of two seeds of another variant, the second first."""
    edit(toy, 'pretrained="toy/curved"', 'teachers=("toy/curved/2", "toy/curved/1")')
    return replace(one, variant="pretrained")


def test_teachers_are_runs_with_the_seeds_that_are_named(one: Run, taught: Run) -> None:
    teachers = {"teacher 1": replace(one, seed=2), "teacher 2": one}
    assert prerequisites(taught) == prerequisites(replace(taught, seed=3)) == teachers
    assert networks_to_train_first([taught]) == [replace(one, seed=2), one]
    assert by_stage([taught, one]) == [[one], [taught]]


def test_the_seed_of_a_teacher_is_a_number(taught: Run) -> None:
    edit(taught.paper, "toy/curved/2", "toy/curved/two")
    with pytest.raises(UsageError, match="network 'toy/curved/two' has no seed 'two'; write it as PAPER/VARIANT/SEED"):
        prerequisites(taught)


def test_the_task_gets_the_teachers_and_they_are_recorded(
    one: Run, taught: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = [trained(replace(one, seed=seed)).record["parameters_sha256"] for seed in (2, 1)]
    task, given = papers.load(one.paper).task, []

    def taught_by(self: Any, teachers: Any) -> Any:
        given.extend(teacher.parameters_sha256 for teacher in teachers)
        return self

    monkeypatch.setattr(type(task), "taught_by", taught_by)
    finished = trained(taught)
    assert given == hashes
    recorded = finished.record["corpora"]
    assert [recorded["teacher 1"], recorded["teacher 2"]] == hashes and "pretrained" not in recorded
    assert "train" in recorded


def test_a_task_that_has_no_use_for_teachers_refuses_them(one: Run, taught: Run) -> None:
    for seed in (2, 1):
        trained(replace(one, seed=seed))
    with pytest.raises(UsageError, match="quadrants learns from no other network; remove `teachers` from the variant"):
        trained(taught)


# --- loaded again ---


def test_a_run_is_loaded_as_it_was_trained(one: Run) -> None:
    finished = trained(one)
    again = load(one)
    assert parameters_sha256(parameter_arrays(again.model)) == again.parameters_sha256
    assert again.parameters_sha256 == finished.record["parameters_sha256"]
    assert again.variant.name == "curved" and again.data.digest == finished.record["pipeline"]
    whole = with_corpus(again, one)
    last = Checkpoint(one.directory / "checkpoint.npz")
    evaluation = whole.task.evaluate(whole.model, whole.variant.settings, whole.data, last)
    assert evaluation.predictions["probability"].tobytes() == finished.predictions["probability"].tobytes()


def test_what_is_chosen_on_validation_is_recorded_and_used(one: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    task, used = type(papers.load(one.paper).task), []
    evaluate = task.evaluate

    def evaluated(self: Any, model: Any, settings: Any, *rest: Any) -> Any:
        used.append(settings.units)
        return evaluate(self, model, settings, *rest)

    monkeypatch.setattr(task, "choose", lambda self, trained: {"units": trained.variant.settings.units + 1})
    monkeypatch.setattr(task, "evaluate", evaluated)
    train(one, resume=False, overwrite=False, then_score=True)
    assert training_of(one)["chosen"] == {"units": 9} == Outcome.of(one).record["chosen"]
    (one.directory / "outcome.json").unlink()
    score(one)
    assert used == [9, 9], "by the process that trained, and after loading"
    record = one.directory / "training.json"
    record.write_text(record.read_text(encoding="utf-8").replace('"units": 9', '"width": 9'), encoding="utf-8")
    with pytest.raises(UsageError, match=r"damaged \('chosen' is not of its settings\); replace the run"):
        load(one)


def test_the_test_split_is_not_scored_on_other_data(one: Run) -> None:
    train(one, resume=False, overwrite=False)
    (one.directory / "preprocessing.npz").write_text("0" * 64, encoding="utf-8")
    with pytest.raises(UsageError, match="trained on other data than the sample corpus here; run it again"):
        score(one)
    assert not one.is_scored


def test_a_copied_directory_is_loaded_without_the_corpus(
    one: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = trained(one)
    shutil.move(one.directory, tmp_path / "copy")
    monkeypatch.setattr(type(papers.load(one.paper).task), "prepare", lambda *_, **__: pytest.fail("read a corpus"))
    again = load_directory(one.paper, tmp_path / "copy")
    assert again.parameters_sha256 == finished.record["parameters_sha256"]
    with pytest.raises(UsageError, match="a network of toy, not of cho2014; name that paper"):
        load_directory("cho2014", tmp_path / "copy")
    with pytest.raises(UsageError, match="nothing: no trained network is here; name a run directory"):
        load_directory(one.paper, tmp_path / "nothing")


def test_a_run_with_other_settings_is_not_loaded(one: Run) -> None:
    trained(one)
    path = one.directory / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["settings"]["units"] += 1
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(UsageError, match="trained with other settings than curved has now; run it again"):
        load(one)


@pytest.mark.parametrize("content", ["{}", "[]", "null"])
def test_what_is_no_configuration_is_refused(content: str, one: Run) -> None:
    trained(one)
    (one.directory / "config.json").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"config\.json: damaged \(no configuration of a run\); replace the run"):
        load(one)


def test_a_network_of_a_variant_that_is_gone_is_not_loaded(one: Run) -> None:
    trained(one)
    path = one.directory / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "variant": "bent"}), encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"seed-1: a network of variant 'bent', which preset .* no longer has; train one of .*curved"
    ):
        load(one)


def test_a_folder_of_runs_that_cannot_be_written_is_named(one: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    elsewhere = replace(one, runs=tmp_path / "file" / "runs")
    with pytest.raises(UsageError, match=r"seed-1: cannot be written \(Not a directory\); make .* with --runs$"):
        train(elsewhere, resume=False, overwrite=False)


@pytest.mark.parametrize("name", ["config.json", "checkpoint.npz", "training.json"])
@pytest.mark.parametrize("damaged", [True, False])
def test_a_run_with_a_damaged_file_is_not_loaded(name: str, damaged: bool, one: Run) -> None:
    trained(one)
    path = one.directory / name
    path.write_bytes(path.read_bytes()[:-30]) if damaged else path.unlink()
    with pytest.raises(UsageError, match=name if damaged or name != "training.json" else "not been trained") as caught:
        load(one)
    assert "\n" not in str(caught.value)


def test_the_parameters_of_another_run_are_not_loaded(one: Run) -> None:
    trained(one)
    other = trained(replace(one, seed=2))
    shutil.copy(other.directory / "checkpoint.npz", one.directory / "checkpoint.npz")
    with pytest.raises(UsageError, match=r"checkpoint\.npz: not the parameters that training\.json states"):
        load(one)


def test_a_preset_is_on_the_sample_if_the_run_is(one: Run) -> None:
    assert preset_of(one).on_sample
    assert not preset_of(replace(one, preset="cpu")).on_sample
    assert preset_of(replace(one, preset="cpu", on_sample=True)).on_sample


# --- ensembles ---


def committee(one: Run, **record: Any) -> Outcome:
    """A made-up outcome of the ensemble of seeds 1 and 2."""
    settings = preset_of(one).variant("curved").settings.as_json()
    record = {"settings": settings, **record}
    return outcome(one.runs, "committee", "1+2", {"right": [True]}, paper=one.paper, **record)


def test_an_ensemble_is_evaluated_with_all_its_members(one: Run) -> None:
    (ensemble,) = papers.load(one.paper).ensembles
    members = [replace(one, seed=seed) for seed in (1, 2, 3)]
    outcomes = [trained(member) for member in members]
    committee = combine(ensemble, members)
    assert committee.label == "committee/1+2+3" and committee.is_ensemble
    mean = np.mean([each.predictions["probability"] for each in outcomes], axis=0)
    assert committee.predictions["probability"].tolist() == mean.tolist()
    assert committee.record["parameters"] == 3 * outcomes[0].record["parameters"]
    assert committee.record["parameters_sha256"].split("+") == [each.record["parameters_sha256"] for each in outcomes]
    assert committee.record["history"] == []
    assert Outcome.of(replace(one, variant="committee", seed="1+2+3")).record == committee.record


def test_a_finished_ensemble_is_not_evaluated_again(one: Run) -> None:
    (ensemble,) = papers.load(one.paper).ensembles
    members = [replace(one, seed=seed) for seed in (1, 2)]
    for member in members:
        outcome(one.runs, "curved", member.seed, paper=one.paper)
    finished = committee(one)
    again = combine(ensemble, members)
    assert again.record == finished.record


@pytest.mark.parametrize("changed", [{"settings": {}}, {"commit": "f" * 40}, {"pipeline": "f" * 64}])
def test_an_ensemble_is_evaluated_again_when_settings_code_or_data_changed(one: Run, changed: Any) -> None:
    """Settings of the search leave the parameters of its members as they were."""
    (ensemble,) = papers.load(one.paper).ensembles
    members = [replace(one, seed=seed) for seed in (1, 2)]
    for member in members:
        trained(member)
    before = combine(ensemble, members)
    committee(one, **{**before.record, **changed})
    after = combine(ensemble, members)
    assert after.predictions.keys() == before.predictions.keys() != {"right"}
    assert after.record == before.record


def test_an_ensemble_is_evaluated_again_when_a_member_was_trained_again(one: Run) -> None:
    (ensemble,) = papers.load(one.paper).ensembles
    members = [replace(one, seed=seed) for seed in (1, 2)]
    outcomes = [trained(member) for member in members]
    before = combine(ensemble, members).predictions["probability"].tolist()
    arrays = outcomes[1].predictions
    other = {**arrays, "probability": 1 - arrays["probability"]}
    outcome(one.runs, "curved", 2, other, paper=one.paper, parameters_sha256="f" * 64)
    after = combine(ensemble, members)
    assert after.record["parameters_sha256"] == f"{outcomes[0].record['parameters_sha256']}+{'f' * 64}"
    mean = np.mean([outcomes[0].predictions["probability"], other["probability"]], axis=0)
    assert after.predictions["probability"].tolist() == mean.tolist() != before


def test_an_ensemble_is_the_same_in_whatever_order_its_members_are_named(one: Run) -> None:
    (ensemble,) = papers.load(one.paper).ensembles
    members = [replace(one, seed=seed) for seed in (10, 9, 1)]
    outcomes = [trained(member) for member in members]
    backwards = combine(ensemble, members)
    assert backwards.label == "committee/1+9+10"
    assert backwards.record["parameters_sha256"].split("+") == [
        each.record["parameters_sha256"] for each in reversed(outcomes)
    ]
    assert combine(ensemble, members[::-1]).record == backwards.record


def test_an_ensemble_needs_all_its_members(one: Run) -> None:
    (ensemble,) = papers.load(one.paper).ensembles
    trained(one)
    with pytest.raises(UsageError, match="curved with seed 2 has not been trained yet"):
        combine(ensemble, [one, replace(one, seed=2)])
    assert not (one.root / "committee").exists()


def test_the_seed_of_a_run_is_that_of_its_first_parameters_and_of_its_training(
    toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: dict[int, str] = {}
    fit = training.fit

    def spy(model: Any, *args: Any, seed: int, **options: Any) -> Any:
        begun[seed] = parameters_sha256(parameter_arrays(model))
        return fit(model, *args, seed=seed, **options)

    monkeypatch.setattr(training, "fit", spy)
    for seed in (1, 2):
        train(run(tmp_path / "runs", "curved", seed, paper=toy), resume=False, overwrite=False)
    assert set(begun) == {1, 2} and begun[1] != begun[2]
