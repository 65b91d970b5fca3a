"""Read and write arrays in ``.npz`` files. Any kind of damage raises the same error."""

from __future__ import annotations

import errno
import hashlib
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

_DEFLATED = 1100
"""Upper bound of the compression ratio of a zip file (1 032 for DEFLATE)."""


class DamagedError(Exception):
    """A file is not complete, or is not an ``.npz`` file of plain arrays."""


def write_arrays(file: BinaryIO | Path, arrays: Mapping[str, np.ndarray], *, compressed: bool = False) -> None:
    """Write arrays like ``numpy.savez``, but never Python objects.

    ``numpy.savez`` itself leaves its archive open when the disk is full, and a second error is printed when the archive
    is garbage-collected.
    """
    compression = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_arrays(path: Path, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """All arrays of a file, or those of ``names`` that it contains. Arrays of objects are refused, and so are arrays
    whose stated shape does not match their bytes, before memory is allocated for them.

    Raises DamagedError for a damaged file, OSError for one that cannot be opened or does not fit into memory.
    """
    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                wanted = members if names is None else [name for name in names if name in members]
                return {name: _read(archive, members[name]) for name in wanted}
        except MemoryError as error:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), str(path)) from error
        # zipfile, zlib and NumPy raise a dozen types of exceptions for damaged bytes, none of them documented.
        except Exception as error:
            raise DamagedError(" ".join(str(error).split()) or type(error).__name__) from error


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    if info.file_size > _DEFLATED * (info.compress_size + 1):
        raise ValueError(f"{info.filename} states a size that cannot be compressed into {info.compress_size} bytes")
    if info.comment:  # a comment with a wrong length would hide the next array
        raise ValueError("an array with a comment")
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(member)
        if dtype.hasobject:
            raise ValueError("an array of Python objects")
        if math.prod(shape) * dtype.itemsize != info.file_size - member.tell():
            raise ValueError(f"{info.filename} states the shape {shape}, which is not that of its bytes")
    with archive.open(info) as member:
        array: np.ndarray = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):  # also checks the CRC
            raise ValueError(f"{info.filename} has bytes after its array")
        return array


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over name, type, shape and bytes of each array, in the order of the names."""
    sha = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        sha.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        sha.update(array.data)
    return sha.hexdigest()
