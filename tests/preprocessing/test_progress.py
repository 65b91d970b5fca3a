"""What takes long shows how far it is: on a terminal, and nowhere else."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

import pytest
import tqdm.std

from preprocessing.corpora import find
from preprocessing.files import sha256_of, sha256_of_folder
from preprocessing.sentences import pipeline as pipeline_of
from preprocessing.text.parallel import CHUNK, tokenize_all
from preprocessing.text.tokenizers.plain import Whitespace


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def slow_terminal() -> Iterator[Terminal]:
    """Standard error is a terminal of 80 columns, and two seconds pass whenever a progress bar reads the clock."""
    moments = iter(range(0, 1_000_000, 2))
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(Terminal()) as terminal:
        patch.setattr(tqdm.std, "time", lambda: next(moments))
        patch.setattr(tqdm.std, "_screen_shape_wrapper", lambda: lambda stream: (80, 24))
        yield terminal


def test_hashing_counts_bytes_and_files(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(3 << 20))
    with slow_terminal() as terminal:
        assert sha256_of(tmp_path / "large") == hashlib.sha256(bytes(3 << 20)).hexdigest()
    assert "hash large:  67%" in terminal.getvalue()
    (tmp_path / "small").touch()
    with slow_terminal() as terminal:
        sha256_of_folder(tmp_path)
    assert f"hash {tmp_path.name}:  50%" in terminal.getvalue()


@pytest.mark.parametrize("processes", [1, 2])
def test_tokenizing_counts_texts(processes: int) -> None:
    with slow_terminal() as terminal:
        tokenize_all(Whitespace(), ["a b"] * (2 * CHUNK), processes)
    assert "tokenize:  50%" in terminal.getvalue()


def test_a_pipeline_names_the_step_that_runs() -> None:
    pipeline = pipeline_of()
    with slow_terminal() as terminal:
        pipeline.run(find("sample sst-2"), processes=1, cache=False)
    for step in pipeline.steps:
        assert f", {step.name}]" in terminal.getvalue()


def test_where_there_is_no_terminal_nothing_is_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    sha256_of(tmp_path / "file")
    tokenize_all(Whitespace(), ["a b"], 1)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_trainings_at_the_same_time_share_a_bar_below_their_lines(tmp_path: Path) -> None:
    shown = on_a_terminal("--jobs", "2", "--runs", str(tmp_path / "runs"))
    lines = shown.split("\r\n")
    reports = [line.rpartition("\r")[2] for line in lines if "epoch 2 of 2" in line]
    assert sorted(report.partition(",")[0] for report in reports) == ["curved", "pretrained", "straight"]
    assert "train-run:  50%" in shown and "| 1/2 [" in shown


def test_a_training_alone_has_the_terminal_to_itself(tmp_path: Path) -> None:
    shown = on_a_terminal("--variant", "curved", "--seed", "1", "--jobs", "1", "--runs", str(tmp_path / "runs"))
    assert "curved, seed 1: epoch 2 of 2" in shown and "train-run" not in shown


def on_a_terminal(*options: str) -> str:
    """What a terminal of 200 columns shows of a successful ``gluon-attn run`` of the toy paper."""
    toy = Path(__file__).parents[1] / "reproductions" / "toy.py"
    words = ["run", str(toy), "--preset", "smoke", *options]
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "reproductions", *words], stdout=terminal, stderr=terminal, cwd=Path(__file__).parents[2]
    )
    os.close(terminal)
    shown = b""
    while block := _read(master):
        shown += block
    assert process.wait() == 0, shown.decode()
    return shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""
