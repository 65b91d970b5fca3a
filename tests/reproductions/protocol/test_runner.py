"""An experiment: each run once and in its own process, which ends with the command that started it."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from preprocessing.corpora.locate import SAMPLE_ROOT
from preprocessing.errors import InputError
from reproductions.protocol import papers
from reproductions.protocol.loading import preset_of
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.runner import combine_all, corpus_or_sample, default_jobs, runs_of, train_all
from reproductions.protocol.runs import Run, training_of
from reproductions.protocol.training import train
from tests.reproductions.support import ROOT, gluon_attn, outcome, run
from tests.reproductions.toy import REPRODUCTION

CPU = REPRODUCTION.preset("cpu")


def runs(*variants: str, seeds: tuple[int, ...] = (), preset: Preset = CPU, folder: Path = Path("runs")) -> list[Run]:
    return runs_of("toy.py", preset, variants=variants, seeds=seeds, profile="portable", threads=None, runs=folder)


# --- runs ---


def test_runs_are_ordered_by_seed_and_each_occurs_once() -> None:
    """Two trainings of one run at the same time would write into the same files."""
    ordered = runs("straight", "curved", "straight", seeds=(3, 1, 3))
    assert [(one.variant, one.seed) for one in ordered] == [
        ("straight", 3),
        ("curved", 3),
        ("straight", 1),
        ("curved", 1),
    ]


def test_all_variants_are_run_with_the_seeds_of_the_preset_or_their_own() -> None:
    assert [one.label for one in runs()] == ["curved/1", "straight/1", "pretrained/1", "curved/2", "straight/2"]
    assert [one.label for one in runs(seeds=(2,))] == ["curved/2", "straight/2", "pretrained/2"]
    own = replace(CPU, variants=(replace(CPU.variant("straight"), seeds=(2,)), CPU.variant("curved")))
    assert [one.label for one in runs(preset=own)] == ["curved/1", "straight/2", "curved/2"]
    more = replace(CPU, variants=(replace(CPU.variant("straight"), seeds=(1, 3)), CPU.variant("curved")))
    assert [one.label for one in runs(preset=more)] == ["straight/1", "curved/1", "curved/2", "straight/3"]
    assert [one.label for one in runs("curved", preset=more)] == ["curved/1", "curved/2"]


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(UsageError, match="variant 'hard' is unknown"):
        runs("curved", "hard")


def test_an_ensemble_is_not_trained() -> None:
    (ensemble,) = CPU.ensembles
    with pytest.raises(
        UsageError, match=rf"^{ensemble.name} is an ensemble of {ensemble.members}; .* {ensemble.members}"
    ):
        runs("straight", ensemble.name)


def test_the_portable_profile_runs_one_training_per_core() -> None:
    assert (default_jobs("portable"), default_jobs("fast")) == (len(os.sched_getaffinity(0)), 1)


# --- the corpus, or the sample ---


def test_a_missing_corpus_is_replaced_by_the_sample_for_the_whole_run(
    toy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    preset = papers.load(toy).preset("cpu")
    on_sample = corpus_or_sample(preset)
    assert on_sample == replace(preset, on_sample=True)
    printed = capsys.readouterr().err
    assert "corpus nsmc is missing" in printed and "*** nsmc IS MISSING: USING THE EMBEDDED SAMPLE" in printed
    (one,) = runs("curved", seeds=(1,), preset=on_sample)
    assert one.on_sample and preset_of(replace(one, paper=toy)) == on_sample


def test_a_preset_on_the_sample_needs_no_corpus(toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    smoke = papers.load(toy).preset("smoke")
    assert corpus_or_sample(smoke) == smoke
    assert capsys.readouterr().err == ""
    (one,) = runs("curved", preset=smoke)
    assert not one.on_sample and preset_of(replace(one, paper=toy)) == smoke


@pytest.mark.parametrize("damaged", ["ratings_train.txt", "ratings_test.txt"])
def test_a_damaged_corpus_is_an_error(damaged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nsmc").mkdir()
    shutil.copy(SAMPLE_ROOT / "reviews" / damaged, tmp_path / "nsmc" / damaged)
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    if damaged == "ratings_test.txt":  # The first file is missing.
        assert corpus_or_sample(CPU).on_sample
    else:
        with pytest.raises(InputError, match="SHA-256"):
            corpus_or_sample(CPU)


# --- in parallel ---


Program = Callable[[str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Run a shell script instead of each training: $paper, $variant, $seed and $flags are its run."""

    def write(text: str) -> None:
        script = tmp_path / "program"
        parse = 'paper=$4 variant=$8 seed=${10} flags=""; for word in "$@"; do case $word in --resume|--overwrite) '
        parse += 'flags="$flags $word";; esac; done\n'
        script.write_text("#!/bin/sh\n" + parse + text + "\n", encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))

    return write


def test_nothing_is_trained_when_one_of_the_runs_exists(tmp_path: Path, program: Program) -> None:
    program(f"touch {tmp_path}/trained")
    existing, other = runs("curved", "straight", seeds=(1,), folder=tmp_path)
    existing.directory.mkdir(parents=True)
    (existing.directory / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"1 of 2 runs exist already; continue them \(--resume\) or replace them"):
        train_all([other, existing], jobs=2, resume=False, overwrite=False)
    with pytest.raises(UsageError, match="--resume continues what --overwrite would delete; choose one"):
        train_all([other], jobs=2, resume=True, overwrite=True)
    assert not other.directory.exists() and not (tmp_path / "trained").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_is_reported_once_and_the_other_runs_finish(
    jobs: int, tmp_path: Path, toy: str, program: Program, capfd: pytest.CaptureFixture[str]
) -> None:
    program(
        "echo warning of $variant >&2\n"
        "if [ $variant = straight ]; then echo gluon-attn: no room >&2; exit 2; fi\n"
        f"touch {tmp_path}/$variant"
    )
    some = [run(tmp_path, name, paper=toy, preset="cpu") for name in ("curved", "straight", "pretrained")]
    for one in (some[0], some[2]):
        outcome(tmp_path, one.variant, 1, paper=toy, preset="cpu")
    with pytest.raises(UsageError) as caught:
        train_all(some, jobs=jobs, resume=True, overwrite=False)
    assert str(caught.value) == "straight seed 1: no room"
    printed = capfd.readouterr().err.splitlines()
    warnings = sorted(line for line in printed if line.startswith("warning"))
    assert warnings == [f"warning of {name}" for name in ("curved", "pretrained", "straight")]
    assert "gluon-attn: no room" not in printed  # it is the reason, which the command prints
    train_all([some[0], some[2]], jobs=jobs, resume=True, overwrite=False)


@pytest.mark.parametrize("names", [("further",), ("curved", "further"), ("further", "curved", "pretrained")])
def test_each_network_is_trained_after_the_one_that_it_starts_from(
    names: tuple[str, ...], tmp_path: Path, toy: str, program: Program
) -> None:
    """Also when one that another starts from was asked for by name, and the one between them was not."""
    own = 'Variant("further", "", Settings(), RECIPE, pretrained="toy/pretrained"),'
    text = Path(toy).read_text(encoding="utf-8")
    Path(toy).write_text(text.replace('Variant("pretrained"', f'{own}\n        Variant("pretrained"'), encoding="utf-8")
    program(f"echo $variant >> {tmp_path}/order")
    some = [run(tmp_path, name, paper=toy, preset="cpu") for name in names]
    train_all(some, jobs=2, resume=False, overwrite=False)
    assert (tmp_path / "order").read_text(encoding="utf-8").split() == ["curved", "pretrained", "further"]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ("echo Traceback >&2; echo 'KeyError: 1' >&2; exit 1", "ended with status 1: KeyError: 1"),
        ("exit 3", "ended with status 3: without a message"),
        ("kill -SEGV $$", "was ended by SIGSEGV"),
        ("kill -KILL $$", "was ended by SIGKILL; most likely the memory is full: use fewer --jobs"),
    ],
)
def test_a_training_that_ends_without_a_word_is_reported_with_how_it_ended(
    ending: str, reason: str, jobs: int, tmp_path: Path, toy: str, program: Program
) -> None:
    program(ending)
    with pytest.raises(UsageError) as caught:
        train_all([run(tmp_path, "curved", paper=toy, preset="cpu")], jobs=jobs, resume=True, overwrite=False)
    assert str(caught.value) == f"curved seed 1: {reason}"


def test_ctrl_c_ends_the_trainings_at_once(tmp_path: Path, toy: str) -> None:
    """Only the command gets the signal, as from ``kill -INT``."""
    one = run(tmp_path, "curved", paper=long(toy, 10_000))
    command = [sys.executable, "-m", "reproductions", "run", *one.arguments()]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not lock_of(one).exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr and process.stderr.read() == "gluon-attn: interrupted; continue with --resume\n"
        assert process.wait() == 130
    with lock_of(one).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # The training has ended.


@pytest.mark.parametrize("finished", [False, True])
def test_a_pretrained_network_is_trained_once_before_those_that_need_it(
    finished: bool, toy: str, tmp_path: Path, program: Program
) -> None:
    """It is always resumed, whatever the options of the others: it may belong to a finished experiment."""
    log = tmp_path / "log"
    program(f'echo "$variant $seed$flags" >> {log}')
    some = [run(tmp_path, "pretrained", seed, paper=toy, preset="cpu") for seed in (1, 2)]
    for one in some:
        outcome(tmp_path, "pretrained", one.seed, paper=toy, preset="cpu")
    if finished:
        outcome(tmp_path, "curved", 1, paper=toy, preset="cpu")
    train_all(some, jobs=1, resume=False, overwrite=True)
    expected = [f"pretrained {seed} --overwrite" for seed in (1, 2)]
    assert log.read_text("utf-8").splitlines() == ([] if finished else ["curved 1 --resume"]) + expected


def test_a_pretrained_network_among_the_runs_is_trained_first_with_their_options(
    toy: str, tmp_path: Path, program: Program
) -> None:
    log = tmp_path / "log"
    program(f'echo "$variant $seed$flags" >> {log}')
    labels = (("pretrained", 1), ("curved", 2), ("curved", 1))
    for name, seed in labels:
        outcome(tmp_path, name, seed, paper=toy, preset="cpu")
    some = [run(tmp_path, name, seed, paper=toy, preset="cpu") for name, seed in labels]
    train_all(some, jobs=1, resume=False, overwrite=True)
    order = log.read_text("utf-8").splitlines()
    assert order == ["curved 1 --overwrite", "pretrained 1 --overwrite", "curved 2 --overwrite"]


def test_a_network_whose_pretraining_was_continued_is_trained_after_both(tmp_path: Path, program: Program) -> None:
    log = tmp_path / "log"
    program(f'echo "$variant $seed$flags" >> {log}')
    before = ["pretraining 1 --resume", "pretraining-continued 1 --resume"]
    for names in (("bert-continued",), ("bert-continued", "bert")):
        log.unlink(missing_ok=True)
        some = [run(tmp_path, name, paper="devlin2018") for name in names]
        train_all(some, jobs=1, resume=False, overwrite=False)
        assert log.read_text("utf-8").splitlines() == [*before, *(f"{name} 1" for name in names)]


def test_a_network_that_starts_from_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = run(tmp_path, "bert", paper="devlin2018")
    monkeypatch.setattr("reproductions.protocol.preparing.prerequisites", lambda _: {"pretrained": one})
    with pytest.raises(UsageError, match="bert: its training needs its own network"):
        train_all([one], jobs=1, resume=False, overwrite=False)


def test_ensembles_have_two_members_or_more(toy: str, tmp_path: Path) -> None:
    preset = papers.load(toy).preset("smoke")
    members = [run(tmp_path, "curved", seed, paper=toy) for seed in (1, 2)]
    for member in members:
        train(member, resume=False, overwrite=False, then_score=True)
    other = run(tmp_path, "straight", paper=toy)
    assert combine_all(preset, [members[0], other]) == []
    assert [one.label for one in combine_all(preset, [*members, other])] == ["committee/1+2"]


def test_an_ensemble_may_have_some_of_the_seeds(toy: str, tmp_path: Path) -> None:
    preset = papers.load(toy).preset("smoke")
    first = replace(preset, ensembles=tuple(replace(one, seeds=(1, 3)) for one in preset.ensembles))
    members = [run(tmp_path, "curved", seed, paper=toy) for seed in (1, 2, 3)]
    for member in members:
        train(member, resume=False, overwrite=False, then_score=True)
    assert combine_all(first, members[:2]) == []
    assert [one.label for one in combine_all(first, members)] == ["committee/1+3"]


# --- killed ---


def test_a_training_ends_with_its_parent() -> None:
    """It would run for an hour; it ends when the other end of its standard input is closed, as by a kill."""
    program = (
        "import time; from gluon_attn.runtime import end_with_parent; end_with_parent();"
        "print('on', flush=True); time.sleep(3600)"
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


def long(toy: str, epochs: int) -> str:
    """The toy paper with this many epochs in the smoke preset."""
    text = Path(toy).read_text(encoding="utf-8")
    Path(toy).write_text(text.replace("replace(RECIPE, epochs=2)", f"replace(RECIPE, epochs={epochs})"), "utf-8")
    return toy


def lock_of(one: Run) -> Path:
    return one.directory.with_name(f".seed-{one.seed}.lock")


def test_killing_a_command_ends_its_trainings(toy: str, tmp_path: Path) -> None:
    """Killed when a training that takes minutes has just started."""
    one = run(tmp_path, "curved", paper=long(toy, 10_000))
    command = [sys.executable, "-m", "reproductions", "run", *one.arguments()]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not lock_of(one).exists():
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    with lock_of(one).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # Waits for the end of the training.
    assert not one.is_trained


def test_killed_at_a_random_instant_and_resumed_it_ends_with_the_same_bytes(
    toy: str, tmp_path: Path, fresh_seed: int
) -> None:
    """Only the command is killed, as a user would do it: some time after a training has started, and again some time
    after an epoch was saved.
    """
    instants = random.Random(fresh_seed)
    one = run(tmp_path / "killed", "curved", paper=long(toy, 20))
    log, killed = tmp_path / "log", 0
    for sign, longest in ((lock_of(one), 2.0), (one.directory / "checkpoint.npz", 0.5)):
        with log.open("ab") as stream:
            command = [sys.executable, "-m", "reproductions", "run", *one.arguments(), "--resume"]
            process = subprocess.Popen(command, cwd=ROOT, stdout=stream, stderr=stream)
        while process.poll() is None and not sign.exists():
            time.sleep(0.01)
        time.sleep(instants.uniform(0.0, longest))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
    assert killed >= 1, log.read_text(encoding="utf-8")
    answer = gluon_attn("run", *one.arguments(), "--resume")  # Refused while a training holds its lock.
    assert answer.code == 0, answer.err
    whole = replace(one, runs=tmp_path / "whole")
    train(whole, resume=False, overwrite=False)
    assert training_of(one)["parameters_sha256"] == training_of(whole)["parameters_sha256"]
    epochs = (one.directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(epoch)["epoch"] for epoch in epochs] == list(range(1, 21))
