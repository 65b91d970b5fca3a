"""Files: complete or absent, one line when the disk is full or a file is damaged."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from gluon_attn.files import atomic_file, read_arrays, write_arrays, write_text

ARRAYS = {"a/weight": np.arange(600, dtype=np.float32).reshape(2, 300), "a/empty": np.zeros((0, 2)), "b": np.array(3)}
REMEDY = "train it again"


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """What a full disk does to a process: a write beyond ``size`` bytes fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_appears_when_the_block_ends_and_replaces_the_previous_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    for text in ("one", "둘"):
        with atomic_file(path) as stream:
            stream.write(text.encode())
            assert not path.exists() or path.read_text(encoding="utf-8") == "one"
        assert path.read_text(encoding="utf-8") == text
    assert os.listdir(path.parent) == ["file"]


def test_an_exception_leaves_the_previous_file_and_nothing_else(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "before")
    with pytest.raises(ZeroDivisionError), atomic_file(tmp_path / "file") as stream:
        stream.write(b"after")
        raise ZeroDivisionError
    assert (tmp_path / "file").read_text() == "before" and os.listdir(tmp_path) == ["file"]


def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_not(tmp_path: Path) -> None:
    names = ("file.00000001", "file.00000002", "file2.00000001", "file.csv.00000001")
    abandoned, written, other, longer = (tmp_path / f".{name}.part" for name in names)
    download = tmp_path / ".file.0123456789ab.part"
    abandoned.write_bytes(b"half")
    for one in (other, longer, download):
        one.write_bytes(b"of another file")
    with written.open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)
        write_text(tmp_path / "file", "whole")
    assert sorted(os.listdir(tmp_path)) == sorted(
        one.name for one in (written, other, longer, download, tmp_path / "file")
    )


def test_processes_that_write_the_same_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from gluon_attn.files import write_text\n"
        "for _ in range(300): write_text(Path(sys.argv[1]), sys.argv[2] * 10_000)\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "file"), text]) for text in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert (tmp_path / "file").read_text() in ("a" * 10_000, "b" * 10_000) and os.listdir(tmp_path) == ["file"]


def test_a_file_that_another_process_removes_before_it_is_locked_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = fcntl.flock, []

    def late(stream: BinaryIO, operation: int) -> None:
        if not removed:
            removed.extend(tmp_path.glob(".file.*.part"))
            removed[0].unlink()
        lock(stream, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    write_text(tmp_path / "file", "whole")
    assert (tmp_path / "file").read_text() == "whole" and len(removed) == 1


def test_a_name_is_no_pattern_when_abandoned_files_are_removed(tmp_path: Path) -> None:
    own, other = tmp_path / ".a[1].00000007.part", tmp_path / ".a1.00000007.part"
    for part in (own, other):
        part.write_bytes(b"half")
    write_text(tmp_path / "a[1]", "whole")
    assert sorted(os.listdir(tmp_path)) == [other.name, "a[1]"]


def test_an_error_about_another_file_is_not_reported_as_one_of_writing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_file(tmp_path / "file"):
        Path("/nowhere/at/all").read_bytes()


@pytest.mark.parametrize("size", [0, 1, 100, 2_000, 2_600, 3_000])
@pytest.mark.parametrize(
    "write",
    [
        lambda path: write_arrays(path, ARRAYS),
        lambda path: write_text(path, "x" * 4_000),
    ],
)
def test_a_full_disk_is_one_line_with_the_path_and_leaves_the_previous_file(
    write: Callable[[Path], None], size: int, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    write_text(path, "before")
    with files_of_at_most(size), pytest.raises(UsageError) as refused:
        write(path)
    assert str(refused.value) == f"{path}: cannot be written (File too large); free some space"
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["file"]


def test_a_full_disk_prints_no_other_error(tmp_path: Path) -> None:
    """Not even when unclosed objects are collected."""
    program = (
        "import resource, sys, numpy\n"
        "from pathlib import Path\n"
        "from gluon_attn.errors import UsageError\n"
        "from gluon_attn.files import write_arrays\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "try: write_arrays(Path(sys.argv[1]), {'a': numpy.zeros(100_000), 'b': numpy.zeros(3)})\n"
        "except UsageError as error: print(error)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "file.npz")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout.count("\n") == 1 and done.stderr == ""


@pytest.mark.parametrize("blocked", ["file", "file/below", "file/far/below"])
def test_an_invalid_path_is_one_line(tmp_path: Path, blocked: str) -> None:
    (tmp_path / "file").mkdir() if blocked == "file" else write_text(tmp_path / "file", "")
    with pytest.raises(UsageError, match=r"cannot be written \([^\n]*\); make the folder writable"):
        write_text(tmp_path / blocked, "text")


def test_arrays_come_back_by_name_and_prefix(tmp_path: Path) -> None:
    write_arrays(tmp_path / "arrays.npz", ARRAYS)
    arrays = read_arrays(tmp_path / "arrays.npz", remedy=REMEDY)
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype and arrays[name].tobytes() == array.tobytes()
    assert read_arrays(tmp_path / "arrays.npz", remedy=REMEDY, prefix="a/").keys() == {"a/weight", "a/empty"}
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as plain:
        np.testing.assert_array_equal(plain["a/weight"], ARRAYS["a/weight"])


def test_the_bytes_are_those_of_numpy_savez(tmp_path: Path) -> None:
    write_arrays(tmp_path / "ours.npz", ARRAYS)
    np.savez(tmp_path / "numpy.npz", **ARRAYS)
    assert (tmp_path / "ours.npz").read_bytes() == (tmp_path / "numpy.npz").read_bytes()


def test_objects_are_never_pickled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Object arrays"):
        write_arrays(tmp_path / "arrays.npz", {"a": np.array([{}], dtype=object)})
    assert os.listdir(tmp_path) == []


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as refused:
        read_arrays(path, remedy=REMEDY)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"{path}: ") and str(refused.value).endswith(f"; {REMEDY}")
    return str(refused.value)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    assert "cannot be read (No such file" in refusal(tmp_path / "missing.npz")
    assert "cannot be read (Is a directory" in refusal(tmp_path)


def test_a_shortage_is_not_reported_as_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is told to replace an intact checkpoint loses a training."""
    write_arrays(tmp_path / "arrays.npz", ARRAYS)
    shortages = (MemoryError("Unable to allocate 229. MiB"), OSError(errno.EMFILE, "Too many open files"))
    for error in shortages:

        def fail(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(np, "load", fail)
        with pytest.raises(UsageError, match=r"cannot be read \(.*\); end other programs and try again$") as refused:
            read_arrays(tmp_path / "arrays.npz", remedy=REMEDY)
        assert REMEDY not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x04N.", b"\x93NUMPY\x01\x00", b"PK\x03\x04 and no more"])
def test_a_file_that_is_no_archive_is_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file.npz").write_bytes(content)
    assert "damaged (" in refusal(tmp_path / "file.npz")


def test_a_member_that_is_no_array_is_damage(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "file.npz", "w") as archive:
        archive.writestr("a.npx", b"1234")
    assert "something other than arrays" in refusal(tmp_path / "file.npz")


@pytest.mark.parametrize("flip", [0x01, 0x80])
def test_any_flipped_byte_changes_nothing_or_is_refused_in_one_line(tmp_path: Path, flip: int) -> None:
    path = tmp_path / "arrays.npz"
    arrays = {"a/weight": np.arange(5, dtype=np.float32), "b": np.array(3)}
    write_arrays(path, arrays)
    content = path.read_bytes()
    refused = 0
    for position in range(len(content)):
        path.write_bytes(content[:position] + bytes([content[position] ^ flip]) + content[position + 1 :])
        try:
            read = read_arrays(path, remedy=REMEDY)
        except UsageError as error:
            assert "\n" not in str(error) and str(path) in str(error)
            refused += 1
        else:  # a date, a permission, or a name, which the reader of a checkpoint looks for
            assert all(np.array_equal(a, b) for a, b in zip(read.values(), arrays.values(), strict=True))
    assert refused > 0.7 * len(content)
