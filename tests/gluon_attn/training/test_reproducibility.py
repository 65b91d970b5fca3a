"""The same seed gives the same bytes: in another process, after another network, and after any number of kills."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gluon_attn.training.checkpoint import Checkpoint
from tests.gluon_attn import small_run
from tests.gluon_attn.small_run import EPOCHS, digest_in

ROOT = Path(__file__).parents[3]


def start(folder: Path, *options: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, small_run.__file__, str(folder), *options],
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    """The digest of a run that must finish."""
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    digest = digest_in(output.splitlines())
    assert digest
    return digest


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """An uninterrupted run of each network: its folder and its digest."""
    folders = {model: tmp_path_factory.mktemp("whole") / model for model in ("masked", "stacked")}
    running = {model: start(folder, "--model", model) for model, folder in folders.items()}
    return {model: (folders[model], finish(process)) for model, process in running.items()}


def metrics(folder: Path) -> list[dict[str, float]]:
    """The rows of ``metrics.jsonl`` without seconds; those of ``metrics.csv`` must be the same once a run has ended."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    header, *table = (line.split(",") for line in (folder / "metrics.csv").read_text(encoding="utf-8").splitlines())
    assert [[float(value) for value in row] for row in table] == [list(row.values()) for row in rows]
    assert header == list(rows[0])
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]


def epochs_saved(folder: Path) -> int:
    """Epochs in the checkpoint, which must be complete whenever it exists; so must every other file."""
    for path in folder.glob("[!.]*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["model"]
    for path in folder.glob("[!.]*.jsonl"):
        rows = path.read_text(encoding="utf-8").splitlines()
        assert [json.loads(row)["epoch"] for row in rows] == list(range(1, len(rows) + 1))
    for path in folder.glob("[!.]*.csv"):
        table = path.read_bytes()
        assert table.endswith(b"\n") and len({row.count(b",") for row in table.splitlines()}) == 1
    if not (folder / "checkpoint.npz").exists():
        return 0
    saved = Checkpoint(folder / "checkpoint.npz")
    assert saved.group("parameters").keys() == saved.group("best").keys()
    return len(saved.state["history"])


def assert_same_run(folder: Path, digest: str, whole: tuple[Path, str]) -> None:
    assert digest == whole[1]
    assert metrics(folder) == metrics(whole[0])
    ours, theirs = (Checkpoint(path / "checkpoint.npz") for path in (folder, whole[0]))
    for group in ("parameters", "best", "optimizer"):
        mine, reference = ours.group(group), theirs.group(group)
        assert mine.keys() == reference.keys()
        for name, values in mine.items():
            np.testing.assert_array_equal(values, reference[name], err_msg=f"{group}/{name}")


def test_another_process_with_another_environment_gives_the_same_bytes(
    tmp_path: Path, uninterrupted: dict[str, tuple[Path, str]]
) -> None:
    """Another hash seed, thread count, locale and time zone."""
    environment = {"PYTHONHASHSEED": "4242", "OMP_NUM_THREADS": "2", "LC_ALL": "C", "TZ": "Asia/Seoul"}
    process = start(tmp_path / "run", "--model", "stacked", **environment)
    assert_same_run(tmp_path / "run", finish(process), uninterrupted["stacked"])


def test_an_earlier_network_in_the_same_process_changes_nothing(
    tmp_path: Path, uninterrupted: dict[str, tuple[Path, str]]
) -> None:
    process = start(tmp_path / "run", "--another-before", PYTHONHASHSEED="7")
    assert_same_run(tmp_path / "run", finish(process), uninterrupted["masked"])
    assert epochs_saved(tmp_path / "another") == EPOCHS


@pytest.mark.parametrize(("model", "kills"), [("masked", 4), ("stacked", 2)])
def test_killed_at_any_instant_and_resumed_it_ends_with_the_same_bytes(
    tmp_path: Path, uninterrupted: dict[str, tuple[Path, str]], fresh_seed: int, model: str, kills: int
) -> None:
    """Each time let it run for up to one more epoch, then kill it a moment later: mostly while it writes."""
    instants = random.Random(f"{fresh_seed} {model}")
    folder, before_the_end = tmp_path / "run", 0
    for epochs in (1, *(instants.randint(0, 1) for _ in range(kills - 1))):
        process = start(folder, "--model", model)
        assert process.stdout is not None
        for _ in range(epochs):
            if not process.stdout.readline().startswith("epoch"):
                break  # It had finished.
        time.sleep(instants.uniform(0.0, 0.04))
        process.kill()
        process.communicate()
        before_the_end += process.returncode == -signal.SIGKILL and epochs_saved(folder) < EPOCHS
    assert before_the_end >= 1, "the run was never killed before its end"
    assert_same_run(folder, finish(start(folder, "--model", model)), uninterrupted[model])


def test_killed_while_writing_it_ends_with_the_same_bytes(
    tmp_path: Path, uninterrupted: dict[str, tuple[Path, str]], fresh_seed: int
) -> None:
    """The process dies with half of a file on disk: the checkpoint's first, then that of any file."""
    drawn = random.Random(fresh_seed)
    folder = tmp_path / "run"
    deaths = [("checkpoint.npz", 1, {0}), ("config.json", 1, {0}), ("checkpoint.npz", 3, {2})]
    deaths.append((drawn.choice(["metrics.jsonl", "metrics.csv", "checkpoint.npz"]), 2, {3, 4}))
    for name, writes, saved in deaths:
        process = start(folder, "--die-writing", name, "--time", str(writes))
        _, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL, errors
        assert epochs_saved(folder) in saved, (name, writes)
        (part,) = folder.glob(f".{name}.*.part")
        assert part.stat().st_size > 0
    assert_same_run(folder, finish(start(folder)), uninterrupted["masked"])
    left = [sorted(path.name for path in run.iterdir()) for run in (folder, uninterrupted["masked"][0])]
    assert left[0] == left[1]
