"""A folder of arrays, in which each file exists only when it is complete, so that a killed run continues where it
was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.arrays import DamagedError, read_arrays, write_arrays
from preprocessing.errors import InputError
from preprocessing.files import atomic_file
from preprocessing.pipeline.ragged import pack_strings, unpack_strings

_NOTES = "notes"
_REMEDY = "delete the folder and run again"


class Shards:
    """Intermediate results of a run. A name is written once; an existing file is not computed again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __contains__(self, name: str) -> bool:
        return self._path(name).exists()

    def save(self, name: str, arrays: Mapping[str, np.ndarray], notes: Any = None) -> None:
        """Write arrays and JSON-able notes, whole or not at all. Raises InputError if the disk is full."""
        text = json.dumps(notes, ensure_ascii=False).encode("utf-8", "surrogatepass")
        with atomic_file(self._path(name)) as stream:
            write_arrays(stream, {**arrays, _NOTES: np.frombuffer(text, np.uint8)})

    def load(self, name: str, columns: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """All arrays, or those of ``columns``. Raises InputError for a damaged or missing file, OSError for one that
        cannot be read now, for instance because memory is short."""
        path = self._path(name)
        try:
            arrays = read_arrays(path) if columns is None else read_arrays(path, columns)
        except (FileNotFoundError, DamagedError) as error:
            raise InputError(path, f"damaged shard ({error})", remedy=_REMEDY) from error
        if missing := set(columns or ()) - set(arrays):
            raise InputError(path, f"damaged shard (no array {sorted(missing)[0]})", remedy=_REMEDY)
        return arrays

    def notes(self, name: str) -> Any:
        """The notes of a file."""
        return json.loads(self.load(name, [_NOTES])[_NOTES].tobytes().decode("utf-8", "surrogatepass"))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npz"


def packed(name: str, strings: Sequence[str]) -> dict[str, np.ndarray]:
    """Strings as two arrays, for :func:`strings_of`."""
    utf8, offsets = pack_strings(strings)
    return {f"{name}.utf8": utf8, f"{name}.offsets": offsets}


def strings_of(arrays: Mapping[str, np.ndarray], name: str) -> list[str]:
    """The inverse of :func:`packed`."""
    return unpack_strings(arrays[f"{name}.utf8"], arrays[f"{name}.offsets"])


class Column:
    """One array on disk, written in parts by several processes; a reader maps it into memory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, dtype: np.dtype[Any], rows: int) -> None:
        """Reserve disk space for the array. Raises InputError if there is not enough."""
        with self.path.open("wb") as stream:
            header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (rows,)}
            np.lib.format.write_array_header_2_0(stream, header)
            stream.flush()
            if size := rows * dtype.itemsize:
                try:
                    os.posix_fallocate(stream.fileno(), stream.tell(), size)
                except OSError as error:
                    reason = f"cannot be written ({error.strerror or error})"
                    raise InputError(self.path, reason, remedy="free some space") from error
            os.fsync(stream.fileno())

    def write(self, start: int, values: np.ndarray) -> None:
        """Write a part of the array, from row ``start`` on."""
        with self.path.open("r+b") as stream:
            np.lib.format.read_magic(stream)
            _, _, dtype = np.lib.format.read_array_header_2_0(stream)
            stream.seek(start * dtype.itemsize, os.SEEK_CUR)
            stream.write(np.ascontiguousarray(values, dtype).data)
            stream.flush()
            os.fsync(stream.fileno())  # before the marker that this part is written


def digest_of_files(paths: Mapping[str, Path]) -> str:
    """``arrays.digest`` of one-dimensional arrays on disk, computed a block at a time: mapped pages would count as
    memory of this process."""
    sha = hashlib.sha256()
    for name in sorted(paths):
        with paths[name].open("rb") as stream:
            np.lib.format.read_magic(stream)
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
            sha.update(f"{name} {dtype.str} {shape}\n".encode())
            while block := stream.read(1 << 22):
                sha.update(block)
    return sha.hexdigest()


def mapped(path: Path) -> np.ndarray:
    """An array on disk, mapped into memory. Raises InputError for a damaged or missing file, OSError for one that
    cannot be mapped now, for instance because memory is short."""
    try:
        with path.open("rb") as stream:
            if np.lib.format.read_magic(stream) != (2, 0):
                raise ValueError("another version")
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
            expected = stream.tell() + shape[0] * dtype.itemsize
        if path.stat().st_size != expected:
            raise ValueError(f"{path.stat().st_size} bytes, not {expected}")
        if shape[0] == 0:
            return np.empty(0, dtype)
        array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
        return array
    except (FileNotFoundError, ValueError, IndexError) as error:
        raise InputError(path, f"damaged shard ({error})", remedy=_REMEDY) from error


def _file_of(array: np.ndarray) -> Path | None:
    """The file that an array is mapped from, if it still exists and the array is all of it."""
    if not isinstance(array, np.memmap) or array.filename is None:
        return None
    file = Path(array.filename)
    return file if file.exists() and file.stat().st_size == array.offset + array.nbytes else None


def write_columns(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write each array to a file that can be mapped into memory; an array that is already in such a file is linked or
    copied. Raises OSError if the disk is full."""
    folder.mkdir()
    for name, array in arrays.items():
        target, file = folder / f"{name}.npy", _file_of(array)
        if file is None:
            with target.open("wb") as stream:
                np.lib.format.write_array(stream, array, version=(2, 0), allow_pickle=False)
            continue
        try:
            target.hardlink_to(file)
        except OSError:  # another file system, or one without links
            shutil.copyfile(file, target)
