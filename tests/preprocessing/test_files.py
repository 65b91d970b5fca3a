"""Files and folders are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from preprocessing import sentences
from preprocessing.errors import InputError
from preprocessing.files import atomic_directory, atomic_file, result_directory, sha256_of_folder, write_text


def _limit_files(bytes_: int) -> None:
    """As on a full disk: files cannot grow beyond this size."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))


def test_a_full_disk_is_named_with_the_folder_and_leaves_nothing(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "reproductions", "preprocess", "sentences", "--sample", "--out", tmp_path / "out"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: _limit_files(20_000),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # compiled modules would be cut too
        check=False,
    )
    assert ended.returncode == 2
    lines = [line for line in ended.stderr.splitlines() if "continuing without the cache" not in line]
    assert lines == [f"gluon-attn: {tmp_path / 'out'}: cannot be written (File too large); free some space"]
    assert list(tmp_path.iterdir()) == []


def test_a_file_whose_name_is_not_utf_8_is_hashed_by_its_bytes(tmp_path: Path) -> None:
    """As zip archives from Windows in Korean have them."""
    raw = "학습.txt".encode("cp949")
    (tmp_path / os.fsdecode(raw)).write_bytes(b"text")
    assert sha256_of_folder(tmp_path) == hashlib.sha256(raw + b"\n4\ntext").hexdigest()


def test_a_failed_folder_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write_text(tmp_path / "out" / "old", "old")
    with pytest.raises(KeyError), atomic_directory(tmp_path / "out") as part:
        write_text(part / "new", "new")
        raise KeyError
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["out", "out/old"]


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with result_directory(tmp_path / "link", overwrite=False) as part:
        write_text(part / "file", "text")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target" / "file").read_text() == "text"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]


def test_the_current_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^\.: is the current folder, which cannot be replaced; name a new folder$"):
        sentences.write(sentences.prepare("sample sst-2"), Path("."))


def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_not(tmp_path: Path) -> None:
    abandoned = [tmp_path / ".out.00000001.part", tmp_path / ".file.00000001.part"]
    abandoned[0].mkdir()
    (abandoned[0] / "train.npz").write_bytes(b"half")
    abandoned[1].write_bytes(b"half")
    with atomic_directory(tmp_path / "out") as first:
        assert not abandoned[0].exists()
        with atomic_file(tmp_path / "file") as stream:
            assert not abandoned[1].exists()
            stream.write(b"whole")
            (own,) = tmp_path.glob(".file.*")
            with own.open("rb") as other, pytest.raises(BlockingIOError):  # no other process takes it for abandoned
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        again = subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; from pathlib import Path; from preprocessing.files import atomic_directory\n"
                "with atomic_directory(Path(sys.argv[1])): print(*Path(sys.argv[1]).parent.glob('.out.*'))",
                tmp_path / "out",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        assert str(first) in again.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "out"]


def write_whole_file(path: Path) -> None:
    write_text(path, "whole")


def write_whole_folder(path: Path) -> None:
    with atomic_directory(path):
        pass


@pytest.mark.parametrize("write", [write_whole_file, write_whole_folder])
def test_a_part_that_another_process_removes_before_it_is_locked_is_created_again(
    write: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        if not removed:
            removed.extend(tmp_path.glob(".out.*.part"))
            removed[0].rmdir() if removed[0].is_dir() else removed[0].unlink()
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    write(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"] and len(removed) == 1


def test_processes_that_write_the_same_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from preprocessing.files import write_text\n"
        "for _ in range(300): write_text(Path(sys.argv[1]), sys.argv[2] * 10_000)\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "file"), text]) for text in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert (tmp_path / "file").read_text() in ("a" * 10_000, "b" * 10_000)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


KILLED_BETWEEN = """
import os, sys
from pathlib import Path
from preprocessing.files import atomic_directory
Path.replace = lambda *_: os._exit(9)
with atomic_directory(Path(sys.argv[1])) as part:
    (part / "new").touch()
"""


def test_a_directory_survives_a_process_that_is_killed_while_it_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    subprocess.run([sys.executable, "-c", KILLED_BETWEEN, tmp_path / "out"], check=False)
    assert not (tmp_path / "out").exists()
    with pytest.raises(KeyError), atomic_directory(tmp_path / "out"):
        raise KeyError
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["out", "out/old"]


def test_a_directory_that_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="cannot be written"), atomic_directory(tmp_path / "out") as part:
        (part / "new").touch()
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["out", "out/old"]


def test_what_another_process_has_just_removed_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".file.00000001.part").touch()

    def gone(path: Path, **_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))

    monkeypatch.setattr(Path, "unlink", gone)
    with atomic_file(tmp_path / "file") as stream:
        stream.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_what_a_killed_process_left_of_another_result_is_not_touched(tmp_path: Path) -> None:
    """``out.v2`` was being replaced: its earlier files are nowhere else."""
    other = tmp_path / ".out.v2.00000123.replaced.part"
    other.mkdir()
    (other / "ids").touch()
    with atomic_directory(tmp_path / "out") as folder:
        (folder / "ids").touch()
    assert (other / "ids").exists()
    with atomic_directory(tmp_path / "out.v2") as folder:
        assert (tmp_path / "out.v2" / "ids").exists(), "it is back in its place until it is replaced"


def test_every_file_of_a_folder_is_on_the_disk_before_it_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = set()
    monkeypatch.setattr(os, "fsync", lambda file: flushed.add(os.fstat(file).st_ino))
    with atomic_directory(tmp_path / "made") as part:
        (part / "below").mkdir()
        for name in ("a", "below/b"):
            (part / name).write_text(name)
    assert flushed == {(tmp_path / "made" / name).stat().st_ino for name in ("a", "below/b")}
