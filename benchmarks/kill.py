"""Kill commands at random instants, start them again, and compare what they end with.

    python -m benchmarks.kill --kills 100 --seed 1

Each command runs once undisturbed. Then it is started, killed with SIGKILL after a random part of the time that it took
(up to three times), started a last time and left alone: it must end with the same SHA-256. After each kill every one of
its processes must be gone, and an output folder must be whole or absent. Exits with 1 on the first difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

MARK = "GLUON_ATTN_KILL"
TRAININGS = (
    ("naver_self_attention", "as-written"),
    ("bahdanau2014", "rnnsearch"),
    ("joulin2016", "nsmc-words"),
    ("lin2017", "best"),
)
PREPROCESSING = (("naver",), ("translation", "--tokens", "bpe", "--operations", "500"))


@dataclass(frozen=True)
class Command:
    """A command, and the SHA-256 of what it leaves in its folder; None where that is not finished."""

    name: str
    words: Callable[[Path], Sequence[str]]
    result: Callable[[Path], str | None]
    whole_or_absent: bool = False


def training(paper: str, variant: str) -> Command:
    """A training on the smoke preset."""

    def words(folder: Path) -> list[str]:
        options = ["--preset", "smoke", "--variant", variant, "--seed", "1", "--runs", str(folder), "--resume"]
        return ["run", paper, *options]

    def result(folder: Path) -> str | None:
        path = folder / paper / "smoke-portable" / variant / "seed-1" / "training.json"
        if not path.exists():
            return None
        sha256: str = json.loads(path.read_text(encoding="utf-8"))["parameters_sha256"]
        return sha256

    return Command(f"run {paper} {variant}", words, result)


def preprocessing(corpus: str, *options: str) -> Command:
    """Preprocessing of the embedded sample in several processes, without a cache."""

    def words(folder: Path) -> list[str]:
        return ["preprocess", corpus, "--sample", *options, "--no-cache", "--overwrite", "--out", str(folder / "out")]

    def result(folder: Path) -> str | None:
        files = sorted((folder / "out").glob("*"))
        sha = hashlib.sha256()
        for path in files:
            sha.update(f"{path.name}\n".encode() + path.read_bytes())
        return sha.hexdigest() if files else None

    return Command(f"preprocess {corpus}", words, result, whole_or_absent=True)


def start(command: Command, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start a command whose processes can be found by their environment."""
    variables = {**os.environ, MARK: str(folder), "GLUON_ATTN_CACHE": str(folder / "cache")}
    with log.open("ab") as stream:
        words = [sys.executable, "-m", "reproductions", *command.words(folder)]
        return subprocess.Popen(words, stdout=stream, stderr=stream, env=variables)


def processes_of(folder: Path) -> list[int]:
    """The processes that a command started and that live."""
    wanted = f"{MARK}={folder}\0".encode()
    processes = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in path.read_bytes() + b"\0":
                processes.append(int(path.parent.name))
        except OSError:
            continue
    return processes


def wait_for_end(folder: Path, seconds: float = 120.0) -> None:
    """Wait until every process of a killed command has ended."""
    deadline = time.monotonic() + seconds
    while living := processes_of(folder):
        if time.monotonic() > deadline:
            sys.exit(f"processes {living} live on after their command was killed")
        time.sleep(0.05)


def whole(command: Command, folder: Path, log: Path) -> str:
    """Run a command to its end; the hash of its result."""
    status = start(command, folder, log).wait()
    sha256 = command.result(folder)
    if status or sha256 is None:
        sys.exit(f"{command.name}: ended with status {status}; see {log}\n{log.read_text(errors='replace')[-1500:]}")
    return sha256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="part of the names of commands")
    given = parser.parse_args()
    draw = random.Random(given.seed)
    commands = [training(*one) for one in TRAININGS] + [preprocessing(*one) for one in PREPROCESSING]
    commands = [command for command in commands if not given.only or given.only in command.name]
    kills = ended_first = completions = 0
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "log"
        expected, seconds = {}, {}
        for command in commands:
            started = time.monotonic()
            expected[command.name] = whole(command, Path(name) / "undisturbed" / command.name.replace(" ", "-"), log)
            seconds[command.name] = time.monotonic() - started
            print(f"{command.name}: {expected[command.name][:16]} in {seconds[command.name]:.1f} s", flush=True)
        while kills < given.kills:
            for command in commands:
                folder = Path(name) / "killed"
                folder.mkdir()
                for _ in range(min(draw.randint(1, 3), given.kills - kills)):
                    process = start(command, folder, log)
                    time.sleep(draw.uniform(0.0, seconds[command.name]))
                    process.send_signal(signal.SIGKILL)
                    if process.wait() == -signal.SIGKILL:
                        kills += 1
                    else:
                        ended_first += 1
                    wait_for_end(folder)
                    left = command.result(folder)
                    if command.whole_or_absent and left not in (None, expected[command.name]):
                        sys.exit(f"{command.name}: a folder was left that is not whole: {folder}")
                if whole(command, folder, log) != expected[command.name]:
                    sys.exit(f"{command.name}: another result after {kills} kills")
                completions += 1
                left_over = [path for path in folder.rglob("*.part")]
                if left_over:
                    sys.exit(f"{command.name}: {left_over} were left")
                print(f"{kills} kills, {ended_first} ended first, {completions} completed: the same", flush=True)
                shutil.rmtree(folder)
                if kills >= given.kills:
                    break
    print(f"{kills} kills over {len(commands)} commands, {completions} completed: {completions} times the same SHA-256")


if __name__ == "__main__":
    main()
