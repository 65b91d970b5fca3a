"""Atomic writing of files, and ``.npz`` files that are refused if damaged."""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import re
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gluon_attn.errors import UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SHORTAGES = (errno.ENOMEM, errno.EMFILE, errno.ENFILE)  # of the machine, which say nothing about a file


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file that appears at ``path``, complete and flushed to disk, only if the block ends without an
    exception. Missing folders are created, and what killed processes left unfinished is removed.

    Raises:
        UsageError: if the file cannot be written, for instance because the disk is full; no part of it is left.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        with _created(part) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            part.replace(path)  # before the lock is released: other processes remove parts that are not locked
    except OSError as error:
        # A write error names no file; an error while opening names this file or a folder above it.
        if error.filename is not None and Path(error.filename) not in (part, path, *path.parents):
            raise
        remedy = "free some space" if error.errno in _FULL else "make the folder writable or choose another"
        raise UsageError(f"{path}: cannot be written ({error.strerror or error}); {remedy}") from None
    finally:
        with suppress(OSError):
            part.unlink()


def _created(part: Path) -> BinaryIO:
    """Create and lock a file, again if another process took it for an abandoned one before it was locked."""
    while True:
        stream = part.open("wb")
        fcntl.flock(stream, fcntl.LOCK_SH)
        if os.fstat(stream.fileno()).st_nlink:
            return stream
        stream.close()


def _remove_abandoned(path: Path) -> None:
    """Remove the unfinished files that no process has locked."""
    own = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{8}\.part")  # not those of ``<name>.<more>``
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        if not own.fullmatch(part.name):
            continue
        with suppress(OSError), part.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text, completely or not at all."""
    with atomic_file(path) as stream:
        stream.write(text.encode("utf-8"))


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], *, compressed: bool = False) -> None:
    """Write arrays to one ``.npz`` file, completely or not at all.

    Raises:
        UsageError: if the file cannot be written.
        ValueError: if an array holds Python objects, which would need a pickle.
    """
    # numpy.savez leaves its ZipFile open when the disk is full, which prints a second error when it is collected.
    compression = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with atomic_file(path) as stream, zipfile.ZipFile(stream, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_arrays(path: Path, *, remedy: str, prefix: str = "") -> dict[str, np.ndarray]:
    """Read the arrays of a ``.npz`` file whose names start with ``prefix``, by their full names.

    Raises:
        UsageError: if the file is missing, cannot be read or is damaged; the message ends with ``remedy``, unless
            memory or file descriptors are short.
    """
    try:
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("not an archive of arrays")
            if any(member.comment for member in archive.zip.infolist()):  # a wrong length hides the next array
                raise ValueError("an array with a comment")
            arrays = {name: archive[name] for name in archive.files if name.startswith(prefix)}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("it contains something other than arrays")
        return arrays
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen types for damaged bytes, none of them documented
        reason = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, MemoryError) or getattr(error, "errno", None) in _SHORTAGES:
            raise UsageError(f"{path}: cannot be read ({reason}); end other programs and try again") from None
        raise UsageError(f"{path}: damaged ({reason}); {remedy}") from None
