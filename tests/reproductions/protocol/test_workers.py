"""The processes of a training on several workers: they end together, and say which ended first."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint
from preprocessing.errors import InputError
from reproductions.cli.one_run import train_run
from reproductions.protocol import workers
from reproductions.protocol.cluster import Cluster
from reproductions.protocol.runs import CHECKPOINT, Run, training_of
from reproductions.protocol.workers import train_together
from tests.gluon_attn.training.distributed.test_workers import difference
from tests.reproductions.support import ROOT, gluon_attn, run

SECONDS = 120.0
"""In which all processes must have ended after one of them has: a few on an idle machine, more on one that is busy."""


def stand_in_for_ssh(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A program ``ssh`` on the path that logs its host and command, then runs a script; returns the log."""
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    program = folder / "ssh"
    program.write_text(
        f'#!/bin/sh\nwhile [ "$1" = -o ]; do shift 2; done\necho "$1 $2" >> {log}\n{script}\n', encoding="utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return log


# --- supervision ---


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -9 $$", "was ended by SIGKILL; run again with --resume"),
        ("exit 137", "was ended by SIGKILL; run again with --resume"),
        ("echo of no use >&2; exit 3", "ended with status 3: of no use; run again with --resume"),
        ("echo 'gluon-attn: the corpus is missing' >&2; exit 2", "^the corpus is missing$"),
    ],
)
def test_one_process_that_fails_ends_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    stand_in_for_ssh(tmp_path, monkeypatch, f'case "$2" in *ROLE=worker*) {script};; *) exec sleep 600;; esac')
    started = time.monotonic()
    with pytest.raises(UsageError, match=message) as caught:
        train_together(Cluster(("localhost",), servers=1), ["train-run"])
    if "SIGKILL" in message:
        assert str(caught.value).startswith("worker 0 on localhost ")
    assert time.monotonic() - started < SECONDS


def test_a_command_for_another_machine_has_folder_roles_and_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = stand_in_for_ssh(tmp_path, monkeypatch, 'case "$2" in *ROLE=worker*) exit 2;; *) exec sleep 600;; esac')
    monkeypatch.setenv("GLUON_ATTN_DATA", "/a folder")
    with pytest.raises(UsageError):
        train_together(Cluster(("localhost", "127.0.0.1"), servers=2), ["train-run", "a script.py"])
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if "ROLE=worker" in line]
    assert f" cd {shlex.quote(os.getcwd())} && " in lines[0]
    for part in ("DMLC_NUM_WORKER=2", "DMLC_NUM_SERVER=2", "'GLUON_ATTN_DATA=/a folder'", "train-run 'a script.py'"):
        assert part in lines[0]


def test_a_port_in_use_is_refused() -> None:
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"^port {port}: Address already in use; choose another --port"):
            train_together(Cluster.local(2, port), ["train-run"])


@pytest.mark.parametrize("host", ["no.such.host.invalid", "node..1", "user@node..1", f"{'x' * 64}.invalid"])
def test_a_host_without_an_address_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match=rf"^host '{re.escape(host)}': .+; correct its name$") as caught:
        train_together(Cluster((host,)), ["train-run"])
    assert "\n" not in str(caught.value) and "None" not in str(caught.value)


def test_a_file_of_hosts_has_one_worker_on_each_line(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text("a\nb  # the large one\n\nuser@a\na\n", encoding="utf-8")
    assert Cluster.read(path) == Cluster(("a", "b", "user@a", "a"), servers=3)
    path.write_text("# none\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no hosts"):
        Cluster.read(path)
    with pytest.raises(InputError, match="write the name of one host on each line"):
        Cluster.read(tmp_path / "other.txt")
    path.write_bytes("knoten-für-zwei\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"hosts\.txt: is not UTF-8 text; write the name of one host on each line"):
        Cluster.read(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--local-workers", "2", "--workers", "hosts.txt"], "choose one of them"),
        (["--port", "9000"], "--port is for several workers"),
        (["--compression", "0.1"], "--compression is for several workers"),
        (["--local-workers", "2", "--compression", "nan"], "invalid value for '--compression'"),
        (["--local-workers", "2", "--compression", "inf"], "--compression must be a finite number, not inf; choose"),
        (["--asynchronous"], "--asynchronous is for several workers"),
        (["--local-workers", "2", "--asynchronous", "--compression", "0.1"], "leave out --asynchronous"),
        (["--local-workers", "2", "--port", "9000", "--jobs", "2"], "--port is for one training at a time"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(toy: str, tmp_path: Path, options: list[str], message: str) -> None:
    answer = gluon_attn("run", *run(tmp_path, "curved", paper=toy).arguments(), *options)
    assert answer.code == 2
    assert message in answer.err
    assert len(answer.err.splitlines()) == 1


def test_local_workers_share_the_processors_in_the_fast_profile(
    toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured, started = list[tuple[str, int | None]](), list[list[str]]()
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(runtime, "configure", lambda *profile: configured.append(profile))
    monkeypatch.setattr(runtime, "end_with_parent", lambda: None)
    monkeypatch.setattr(workers, "train_together", lambda cluster, command: started.append(command))
    train_run(toy, "smoke", "curved", 1, "fast", tmp_path, local_workers=4)
    assert configured == [("fast", 2)]
    (command,) = started
    assert command[command.index("--threads") + 1] == "2"


# --- whole trainings ---


def parameters(one: Run) -> dict[str, object]:
    return Checkpoint(one.directory / CHECKPOINT).group("best")


@pytest.mark.slow
def test_local_workers_and_those_of_a_file_train_as_one_process_does(
    toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of them through a program in the place of ssh that runs its command here."""
    stand_in_for_ssh(tmp_path / "bin", monkeypatch, 'exec sh -c "$2"')
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("localhost\nlocalhost\n", encoding="utf-8")
    ways = {
        "alone": [],
        "local": ["--local-workers", "2"],
        "hosts": ["--workers", hosts],
        "micro_batches": ["--micro-batches", "3"],
    }
    runs = {name: run(tmp_path / name, "curved", paper=toy) for name in ways}
    for name, options in ways.items():
        answer = gluon_attn("run", *runs[name].arguments(), *options)
        assert answer.code == 0, answer.err
    for name in ("local", "hosts", "micro_batches"):
        assert 0 < difference(parameters(runs["alone"]), parameters(runs[name])) < 1e-5
    assert training_of(runs["local"])["workers"] == training_of(runs["hosts"])["workers"] == 2
    assert "workers" not in training_of(runs["alone"])


@pytest.mark.slow
@pytest.mark.parametrize(("option", "value"), [("asynchronous", True), ("compression", 0.05)])
def test_gradients_are_shared_as_asked_for_and_the_record_says_so(
    toy: str, tmp_path: Path, option: str, value: float | bool
) -> None:
    one = run(tmp_path, "curved", paper=toy)
    words = [f"--{option}"] if value is True else [f"--{option}", value]
    answer = gluon_attn("run", *one.arguments(), "--local-workers", 2, *words)
    assert answer.code == 0, answer.err
    assert training_of(one).items() >= {"workers": 2, option: value}.items()


@pytest.mark.slow
def test_a_device_that_is_not_here_is_named_once(toy: str, tmp_path: Path) -> None:
    one = run(tmp_path, "curved", paper=toy)
    answer = gluon_attn("run", *one.arguments(), "--local-workers", 2, "--device", "gpu:0")
    assert "device gpu:0: this build of MXNet is for CPUs" in answer.refusal
    assert not one.directory.exists()


def members(command: int) -> dict[str, list[int]]:
    """The processes of a training by their role, of those that a command has started."""
    found: dict[str, list[int]] = {}
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    for process in parents:
        above, depth = process, 0
        while above in parents and above != command and depth < 10:
            above, depth = parents[above], depth + 1
        if above != command or depth != 2:
            continue
        try:
            variables = dict(
                line.split("=", 1) for line in Path(f"/proc/{process}/environ").read_text().split("\0") if "=" in line
            )
        except OSError:
            continue
        if "DMLC_ROLE" in variables:
            found.setdefault(variables["DMLC_ROLE"], []).append(process)
    return found


def lengthened(toy: str) -> str:
    """The toy paper with a training that is still going on when one of its processes is killed."""
    text = Path(toy).read_text(encoding="utf-8")
    Path(toy).write_text(text.replace("replace(RECIPE, epochs=2)", "replace(RECIPE, epochs=120)"), "utf-8")
    return toy


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The parameters of that training."""
    folder = tmp_path_factory.mktemp("undisturbed")
    toy = lengthened(str(shutil.copy(Path(__file__).parents[1] / "toy.py", folder)))
    one = run(folder, "curved", paper=toy)
    assert gluon_attn("run", *one.arguments()).code == 0
    return parameters(one)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("killed", "starting"),
    [("worker", False), ("server", False), ("scheduler", False), ("command", False), ("worker", True)],
)
def test_killing_one_of_them_ends_all_and_the_training_resumes(
    toy: str, tmp_path: Path, killed: str, starting: bool, undisturbed: dict[str, object]
) -> None:
    """In the middle of the training, or before the processes have found each other."""
    one = run(tmp_path, "curved", paper=lengthened(toy))
    saved = one.directory / CHECKPOINT
    command = [sys.executable, "-m", "reproductions", "run", *one.arguments(), "--local-workers", "2"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    processes: dict[str, list[int]] = {}
    while process.poll() is None and (sum(map(len, processes.values())) < 4 or not (starting or saved.exists())):
        time.sleep(0.05)
        processes = members(process.pid)
    assert {role: len(each) for role, each in processes.items()} == {"scheduler": 1, "server": 1, "worker": 2}
    victim = process.pid if killed == "command" else sorted(processes[killed])[-1]
    started = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    _, err = process.communicate(timeout=SECONDS)
    while any(Path(f"/proc/{each}").exists() for role in processes.values() for each in role):
        assert time.monotonic() - started < SECONDS
        time.sleep(0.05)
    if killed != "command":
        name = {"worker": "worker 1", "server": "server 0", "scheduler": "scheduler"}[killed]
        assert f"{name} was ended by SIGKILL; run again with --resume" in err.splitlines()[-1]
    if not starting:
        Checkpoint(saved).group("best")
    answer = gluon_attn("run", *one.arguments(), "--resume")  # alone
    assert answer.code == 0, answer.err
    assert difference(parameters(one), undisturbed) < 1e-5
