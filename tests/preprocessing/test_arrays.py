"""Files of arrays: what is written is read, and what is not whole is one error."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from preprocessing.arrays import DamagedError, read_arrays, write_arrays

ARRAYS = {"one": np.arange(6).reshape(2, 3), "two/three": np.array(["가", "나"]), "none": np.zeros((0, 4), np.float32)}


@pytest.mark.parametrize("compressed", [False, True])
def test_arrays_survive_a_round_trip_and_numpy_reads_them(compressed: bool, tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    write_arrays(path, ARRAYS, compressed=compressed)
    with np.load(path) as stored:
        assert stored.files == list(ARRAYS)
    read = read_arrays(path)
    assert list(read) == list(ARRAYS)
    for name, array in read.items():
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert array.dtype == ARRAYS[name].dtype


def test_the_bytes_are_those_of_numpy(tmp_path: Path) -> None:
    write_arrays(tmp_path / "ours.npz", ARRAYS)
    np.savez(tmp_path / "theirs.npz", **ARRAYS)
    assert (tmp_path / "ours.npz").read_bytes() == (tmp_path / "theirs.npz").read_bytes()


@pytest.mark.parametrize("compressed", [False, True])
def test_any_flipped_or_missing_byte_is_damage_or_changes_nothing(compressed: bool, tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    write_arrays(path, ARRAYS, compressed=compressed)
    raw = path.read_bytes()
    refused = 0
    for at in range(len(raw)):
        for damaged in (raw[:at] + bytes([raw[at] ^ 1 << at % 8]) + raw[at + 1 :], raw[:at]):
            path.write_bytes(damaged)
            try:
                read = read_arrays(path)
            except DamagedError as error:
                assert "\n" not in str(error)
                refused += 1
            else:  # a date, a permission, a name: contents are compared with a digest by the callers
                assert all(np.array_equal(a, b) for a, b in zip(read.values(), ARRAYS.values(), strict=True))
    assert refused > 1.5 * len(raw)


def test_a_comment_which_may_hide_the_next_array_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    write_arrays(path, ARRAYS)
    with zipfile.ZipFile(path, "a") as archive:
        archive.getinfo("one.npy").comment = b"two"
        archive.comment = b"the directory is written again"
    with pytest.raises(DamagedError, match="an array with a comment"):
        read_arrays(path)


def _member(header: str, content: bytes = b"") -> bytes:
    text = header.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (_member("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}"), "states the shape"),
        (_member("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", bytes(8)), "states the shape"),
        (_member("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", pickle.dumps([1])), "Python objects"),
        (_member("__import__('os').abort()"), "malformed|Cannot parse|parse"),
        (b"text", "magic|EOF"),
    ],
)
def test_hostile_arrays_are_refused(member: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("one.npy", member)
    with pytest.raises(DamagedError, match=reason):
        read_arrays(path)


def test_a_size_that_no_compression_reaches_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    write_arrays(path, {"one": np.arange(8)})
    raw = path.read_bytes()
    at = raw.index(b"PK\x01\x02") + 24  # the size of the array, in the directory
    path.write_bytes(raw[:at] + (3_000_000_000).to_bytes(4, "little") + raw[at + 4 :])
    with pytest.raises(DamagedError, match="cannot be compressed into"):
        read_arrays(path)


def test_objects_are_not_written() -> None:
    with pytest.raises(ValueError, match="Object arrays"):
        write_arrays(io.BytesIO(), {"one": np.array([{}])})  # type: ignore[arg-type]
