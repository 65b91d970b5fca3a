"""Trainings side by side: none twice, none over another, none left behind; and the manifest that comes of them."""

from __future__ import annotations

import fcntl
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from preprocessing.corpora.locate import SAMPLE_ROOT
from preprocessing.errors import InputError
from reproductions.protocol.manifest import commit, environment_digest, manifest
from reproductions.protocol.papers import preset
from reproductions.protocol.report import results_path
from reproductions.protocol.results import Result
from reproductions.protocol.runner import Preset, corpus_or_sample, draw_afresh, train_all, train_unit, units_of
from reproductions.protocol.runs import Outcome, Unit, preset_of, vectors_of
from tests.reproductions.support import PAPER, ROOT, gluon_attn, outcome

CPU = preset(PAPER, "cpu")


def units(runs: Path, *variants: str, seeds: tuple[int, ...] | None = (1,), chosen: Preset = CPU) -> list[Unit]:
    return units_of(PAPER, chosen, variants=variants, seeds=seeds, profile="portable", threads=None, runs=runs)


# --- units ---


def test_units_come_seed_by_seed_and_each_once(tmp_path: Path) -> None:
    """Two trainings of one unit, side by side, would write into the same files."""
    wanted = [("last", 3), ("mean", 3), ("last", 1), ("mean", 1)]
    found = units(tmp_path, "last", "mean", "last", seeds=(3, 1, 3))
    assert [(unit.variant, unit.seed) for unit in found] == wanted
    assert len({unit.directory for unit in found}) == 4


def test_a_variant_with_seeds_of_its_own_is_trained_with_those_unless_others_are_asked_for(tmp_path: Path) -> None:
    one = CPU.variant("last")
    chosen = replace(CPU, variants=(replace(one, seeds=(2,)), CPU.variant("mean")), seeds=(1, 2))
    found = units(tmp_path, "last", "mean", seeds=None, chosen=chosen)
    assert [unit.label for unit in found] == ["mean/1", "last/2", "mean/2"]
    asked = units(tmp_path, "last", "mean", seeds=(1,), chosen=chosen)
    assert [unit.label for unit in asked] == ["last/1", "mean/1"]


def test_a_unit_says_what_the_command_line_reads(tmp_path: Path) -> None:
    unit = Unit(PAPER, "cpu", "mean", 7, "fast", 2, tmp_path, on_sample=True)
    assert unit.arguments() == (
        f"{PAPER} --preset cpu --variant mean --seed 7 --profile fast --runs {tmp_path} --on-sample --threads 2".split()
    )
    assert unit.directory == tmp_path / PAPER / "cpu-fast-sample" / "mean" / "seed-7"
    assert unit.label == "mean/7"


def test_an_unknown_variant_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="variant 'hard' is unknown"):
        units(tmp_path, "mean", "hard")


# --- the corpus, or the sample ---


def test_a_missing_corpus_is_replaced_by_the_sample_for_the_whole_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = corpus_or_sample(CPU)
    assert (found.corpus, found.name, found.variants) == ("sample", "cpu", CPU.variants)
    said = capsys.readouterr().err
    assert "corpus nsmc is missing" in said and "*** NO nsmc" in said
    [unit] = units(tmp_path, "mean", chosen=found)
    assert unit.on_sample
    assert preset_of(unit) == found


def test_a_corpus_that_is_here_is_taken_and_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smoke = preset(PAPER, "smoke")
    assert corpus_or_sample(smoke) == smoke
    assert capsys.readouterr().err == ""
    [unit] = units(tmp_path, "mean", chosen=smoke)
    assert not unit.on_sample
    assert preset_of(unit) == smoke


@pytest.mark.parametrize("damaged", ["ratings_train.txt", "ratings_test.txt"])
def test_a_damaged_corpus_is_an_error(damaged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nsmc").mkdir()
    shutil.copy(SAMPLE_ROOT / "reviews" / damaged, tmp_path / "nsmc" / damaged)
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    if damaged == "ratings_test.txt":  # what comes first is missing: the sample, and the damage is not hidden for long
        assert corpus_or_sample(CPU).corpus == "sample"
    else:
        with pytest.raises(InputError, match="SHA-256"):
            corpus_or_sample(CPU)


# --- outcomes ---


def test_what_is_not_trained_to_its_end_has_no_outcome(tmp_path: Path) -> None:
    [unit] = units(tmp_path, "mean")
    unit.directory.mkdir(parents=True)
    (unit.directory / "checkpoint.npz").touch()
    with pytest.raises(UsageError, match=f"train it with gluon-attn run {PAPER} --preset cpu --variant mean --seed 1"):
        Outcome.read(unit)


def test_a_damaged_outcome_is_refused_with_what_to_do(tmp_path: Path) -> None:
    whole = outcome(tmp_path, "mean", 1, {})
    path = whole.unit.directory / "outcome.json"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(UsageError, match=r"outcome\.json: damaged .*; delete it and run again with --resume"):
        Outcome.read(whole.unit)


def test_a_finished_unit_is_read_and_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = outcome(tmp_path, "mean", 1, {"right": [True]})
    monkeypatch.setattr("reproductions.protocol.runner.asdict", lambda recipe: {})
    train_unit(whole.unit, resume=True, overwrite=False)
    again = train_unit(whole.unit, resume=True, overwrite=False)
    assert again.facts == whole.facts
    assert again.predictions["right"].tolist() == [True]
    assert not (whole.unit.directory / "checkpoint.npz").exists()


def test_a_published_unit_copied_back_counts_as_trained(tmp_path: Path) -> None:
    whole = outcome(tmp_path / "runs", "mean", 1, {"right": [True], "token_weights": [0.5, 0.5]})
    for name in ("config.json", "checkpoint.npz"):
        (whole.unit.directory / name).write_text("{}", encoding="utf-8")
    whole.unit.publish(tmp_path / "published")
    published = sorted(
        path.relative_to(tmp_path / "published").as_posix() for path in tmp_path.rglob("published/*/*/*")
    )
    assert published == [f"mean/seed-1/{name}" for name in ("config.json", "outcome.json", "predictions.npz")]
    elsewhere = replace(whole.unit, runs=tmp_path / "elsewhere")
    shutil.copytree(tmp_path / "published", elsewhere.place)
    found = Outcome.read(elsewhere)
    assert found.facts == whole.facts
    assert {name: array.tolist() for name, array in found.predictions.items()} == {"right": [True]}


def test_figures_drawn_afresh_leave_none_that_the_script_has_ceased_to_draw(tmp_path: Path) -> None:
    for name in ("curves.png", "old.png", "notes.txt"):
        (tmp_path / name).touch()
    draw_afresh(lambda *_: {"curves": tmp_path / "curves.png"}, [], CPU, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.png", "notes.txt"]


# --- word vectors to begin with ---


def test_a_name_of_vectors_means_the_training_beside_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = Unit(PAPER, "cpu", "mean", 3, "portable", None, tmp_path, on_sample=True)
    assert vectors_of(unit) is None
    for name in ("mikolov2013/skip-gram", "skip-gram", "mikolov2013", "mikolov2013/", "glove/skip-gram", ""):
        variant = replace(CPU.variant("mean"), settings={"vectors": name})
        monkeypatch.setattr(
            "reproductions.protocol.runs.preset_of", lambda unit, v=variant: replace(CPU, variants=(v,))
        )
        if name == "mikolov2013/skip-gram":
            assert vectors_of(unit) == replace(unit, paper="mikolov2013", variant="skip-gram", seed=1)
        else:
            with pytest.raises(UsageError, match="are unknown; name script and variant"):
                vectors_of(unit)


@pytest.mark.parametrize("there", [False, True])
def test_vectors_are_trained_before_what_begins_with_them_and_once(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of trainings, a program that writes down what it is asked for."""
    script, log = tmp_path / "program", tmp_path / "log"
    script.write_text(f'#!/bin/sh\necho "$4 $8 ${{10}}" >> {log}\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    for seed in (1, 2):
        outcome(tmp_path, "nsmc-r6-vectors", seed, {}, paper="lin2017")
    some = units_of(
        "lin2017",
        preset("lin2017", "smoke"),
        variants=["nsmc-r6-vectors"],
        seeds=(1, 2),
        profile="portable",
        threads=None,
        runs=tmp_path,
    )
    if there:
        outcome(tmp_path, "skip-gram", 1, {}, paper="mikolov2013")
    train_all(some, jobs=1, resume=True, overwrite=False)
    wanted = ["lin2017 nsmc-r6-vectors 1", "lin2017 nsmc-r6-vectors 2"]
    assert log.read_text(encoding="utf-8").splitlines() == ([] if there else ["mikolov2013 skip-gram 1"]) + wanted


# --- side by side ---


def test_nothing_is_trained_when_one_of_the_runs_is_there(tmp_path: Path) -> None:
    there, other = units(tmp_path, "mean", "last")
    there.directory.mkdir(parents=True)
    (there.directory / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"1 of 2 runs are here already; go on with them \(--resume\) or replace"):
        train_all([other, there], jobs=2, resume=False, overwrite=False)
    assert not other.directory.exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_is_told_once_and_the_others_go_on_to_their_end(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Instead of trainings, a program that fails for one variant; it keeps standard input open, as a training does."""
    program = (
        "import sys; name = sys.argv[sys.argv.index('--variant') + 1]; print('warning of', name, file=sys.stderr);"
        "name == 'last' and sys.exit('gluon-attn: no room')"
    )
    script = tmp_path / "program"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    for variant in ("mean", "dot"):
        outcome(tmp_path, variant, 1, {})
    monkeypatch.setattr(sys, "executable", str(script))
    some = units(tmp_path, "mean", "last", "dot", chosen=preset(PAPER, "smoke"))
    with pytest.raises(UsageError) as caught:
        train_all(some, jobs=jobs, resume=True, overwrite=False)
    assert str(caught.value) == f"last seed 1: {'no room' if jobs > 1 else 'see above'}"
    said = capfd.readouterr().err.splitlines()
    assert sorted(line for line in said if line.startswith("warning")) == [
        f"warning of {n}" for n in ("dot", "last", "mean")
    ]
    assert ("gluon-attn: no room" in said) == (jobs == 1)
    done = train_all([some[0], some[2]], jobs=jobs, resume=True, overwrite=False)
    assert [one.unit.variant for one in done] == ["mean", "dot"]


def test_two_processes_do_not_train_in_one_directory(tmp_path: Path) -> None:
    [unit] = units(tmp_path, "mean", chosen=preset(PAPER, "smoke"))
    unit.directory.parent.mkdir(parents=True)
    with (unit.directory.parent / ".seed-1.lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="seed-1: another process is training here"):
            train_unit(unit, resume=True, overwrite=False)
        assert not unit.directory.exists()


def test_a_training_ends_with_whoever_started_it(tmp_path: Path) -> None:
    """It would run for an hour; it ends when the other end of its standard input is closed, as by a kill."""
    program = (
        "import time; from reproductions import runner;end_with_parent(); print('on', flush=True); time.sleep(3600)"
    )
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        process.stdin.write(b"a word is no end\n")
        process.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.stdin.close()
        assert process.wait(60) == 1


def test_when_a_run_is_killed_its_trainings_do_not_go_on(tmp_path: Path) -> None:
    """Killed when a training has just begun, which then would need seconds to its end."""
    [unit] = units(tmp_path, "mean", chosen=preset(PAPER, "smoke"))
    lock = unit.directory.with_name(".seed-1.lock")
    command = [sys.executable, "-m", "reproductions", "run", *unit.arguments()]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not lock.exists():
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    with lock.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # when whoever trained has ended
    assert not unit.is_trained


def test_killed_at_a_random_instant_and_resumed_it_ends_with_the_committed_bytes(
    tmp_path: Path, fresh_seed: int
) -> None:
    """Kill the command alone, as a person would, and its trainings end with it: some time after a training has begun,
    and again some time after an epoch was saved."""
    instants = random.Random(fresh_seed)
    names = ("as-written", "best")
    options = ["--preset", "smoke", "--runs", str(tmp_path), *(word for name in names for word in ("--variant", name))]
    found = units(tmp_path, *names, chosen=preset(PAPER, "smoke"))
    locks = [unit.directory.with_name(".seed-1.lock") for unit in found]
    saved = [unit.directory / "checkpoint.npz" for unit in found]
    log, killed = tmp_path / "log", 0
    for signs, longest in ((locks, 3.0), (saved, 1.0)):
        with log.open("ab") as stream:
            command = [sys.executable, "-m", "reproductions", "run", PAPER, *options, "--resume"]
            process = subprocess.Popen(command, cwd=ROOT, stdout=stream, stderr=stream)
        while process.poll() is None and not any(sign.exists() for sign in signs):
            time.sleep(0.01)
        time.sleep(instants.uniform(0.0, longest))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
    assert killed >= 1, log.read_text(encoding="utf-8")
    # A training that was left behind would hold its lock still.
    answer = gluon_attn("run", PAPER, *options, "--resume")
    assert answer.code == 0, answer.err
    committed = Result.read(results_path(PAPER, "smoke")).manifest["parameters_sha256"]
    hashes = Result.read(found[0].place / "results.json").manifest["parameters_sha256"]
    assert hashes == {f"{name}/1": committed[f"{name}/1"] for name in names}
    for unit in found:
        rows = (unit.directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(row)["epoch"] for row in rows] == [1, 2]


# --- the manifest ---


def test_the_manifest_holds_what_is_needed_to_get_the_numbers_again(tmp_path: Path) -> None:
    commits = {"mean": "d" * 40, "last": "f" * 40}
    outcomes = [outcome(tmp_path, name, seed, {}, commit=commits[name]) for seed in (2, 1) for name in commits]
    found = manifest(outcomes, "gluon-attn run", time.time() - 5)
    assert found["seeds"] == [1, 2]
    assert found["parameters_sha256"] == {one.unit.label: one.facts["parameters_sha256"] for one in outcomes}
    assert found["corpora"] == {"nsmc/train": "a" * 64, "nsmc/test": "b" * 64}
    assert found["commit"] == f"{'d' * 40}, {'f' * 40}" and found["environment"] == "e" * 64
    assert found["pipeline"] == {name: "c" * 64 for name in ("mean", "last")}
    assert (found["command"], found["profile"], found["threads"]) == ("gluon-attn run", "portable", 1)
    assert found["started"].endswith("+00:00") and found["seconds"] == 4 * 2.0
    assert json.loads(json.dumps(found)) == found


def test_trainings_of_two_environments_make_no_table(tmp_path: Path) -> None:
    outcomes = [outcome(tmp_path, "mean", seed, {}, environment=str(seed) * 64) for seed in (1, 2)]
    with pytest.raises(UsageError, match="2 environments"):
        manifest(outcomes, "gluon-attn run", time.time())


def test_the_environment_has_one_digest_and_the_commit_its_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment_digest()
    assert before == environment_digest()
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0" if name == "numpy" else version(name))
    assert environment_digest() != before
    monkeypatch.setattr("reproductions.protocol.manifest._ROOT", Path("/"))
    assert commit() == "unknown"


@pytest.mark.parametrize(("changed", "mark"), [(False, ""), (True, "-modified")])
def test_a_commit_with_other_files_than_its_own_is_marked(
    changed: bool, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    code, test = tmp_path / "gluon_attn" / "code.py", tmp_path / "tests" / "test_code.py"
    for file in (code, test):
        file.parent.mkdir()
        file.write_text("1\n", encoding="utf-8")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first", "--no-verify")
    test.write_text("2\n", encoding="utf-8")  # what tests the code does not train
    if changed:
        code.write_text("2\n", encoding="utf-8")
    monkeypatch.setattr("reproductions.protocol.manifest._ROOT", tmp_path)
    assert commit() == git("rev-parse", "HEAD").strip() + mark
