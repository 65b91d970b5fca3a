"""Write files that are either complete or absent: under a temporary name next to the final one, flushed, then renamed.
Locks for what only one process at a time may write."""

from __future__ import annotations

import errno
import fcntl
import glob
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from preprocessing.errors import InputError
from preprocessing.progress import progress

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file that appears at ``path`` only if the block ends without an exception. Files that killed
    processes left behind are removed.

    Raises InputError when the file cannot be written, for instance because the disk is full; nothing is left of it.
    """
    part = _part(path)
    try:
        with _named(path, part):
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(path)
            with os.fdopen(_locked_part(part, Path.touch, os.O_WRONLY), "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
                part.replace(path)  # before the lock is released: other processes remove parts that are not locked
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield a new empty directory that replaces ``path`` only if the block ends without an exception. If ``path`` is a
    link, the directory that it points to is replaced. What killed processes left behind is removed; if one was killed
    while it replaced ``path``, the earlier directory is put back first (:func:`restore_replaced`).

    Raises InputError when the directory cannot be written, for instance because the disk is full, or when it is the
    current one; nothing is left of it.
    """
    target = path.resolve()
    if target == Path.cwd():
        raise InputError(path, "is the current folder, which cannot be replaced", remedy="name a new folder")
    part = _part(target)
    replaced = part.with_suffix(".replaced.part")
    lock = -1
    try:
        with _named(path, part):
            target.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(target)
            lock = _locked_part(part, Path.mkdir, os.O_RDONLY)
            yield part
            _flush(part)
            with _set_aside(target, replaced):
                part.replace(target)
    finally:
        if lock >= 0:
            os.close(lock)
        shutil.rmtree(part, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Wait until every file below a folder is on the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as stream:
                os.fsync(stream.fileno())


@contextmanager
def _set_aside(target: Path, replaced: Path) -> Iterator[None]:
    """Rename a directory while the block puts another in its place; then delete it, or put it back if the block ends
    with an exception. It is locked, so that no other process takes it for one that a killed process left behind."""
    if not target.exists():
        yield
        return
    lock = os.open(target, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        target.rename(replaced)
        try:
            yield
        except BaseException:
            replaced.rename(target)
            raise
        shutil.rmtree(replaced, ignore_errors=True)
    finally:
        os.close(lock)


@contextmanager
def locked(lock: Path, waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a file, which is created if it is missing. It is released when this process ends, for whatever
    reason. If another process holds it, ``waiting`` is called with the name of that process, and the block is run once
    it has ended.

    Raises OSError if the file cannot be opened.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, 0o666), "r+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting(stream.read().strip() or "another process")
            fcntl.flock(stream, fcntl.LOCK_EX)
        with suppress(OSError):  # on a full disk, the owner cannot be recorded
            stream.seek(0)
            stream.truncate()
            stream.write(f"process {os.getpid()}\n")
            stream.flush()
        yield


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _locked_part(part: Path, create: Callable[[Path], None], flags: int) -> int:
    """Create and lock a file or folder, again if another process took it for an abandoned one before it was locked.
    Return its descriptor, opened with these flags."""
    while True:
        create(part)
        with suppress(FileNotFoundError):
            descriptor = os.open(part, flags)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)


@contextmanager
def _named(path: Path, part: Path) -> Iterator[None]:
    """Turn an error while writing into one line that names the file or folder to be written."""
    try:
        yield
    except InputError as error:
        if part not in Path(error.where).parents:
            raise
        raise InputError(path, error.reason, remedy=error.remedy) from error
    except OSError as error:
        # An error in writing names no file; an error in opening names the part, a file in it, or a folder above it.
        about = Path(error.filename) if isinstance(error.filename, str) else part
        if about not in (path, *path.parents, *part.parents) and part not in (about, *about.parents):
            raise
        remedy = "free some space" if error.errno in FULL else "make the folder writable or choose another"
        raise InputError(path, f"cannot be written ({error.strerror or error})", remedy=remedy) from error


def restore_replaced(path: Path) -> None:
    """Put a directory back that a process set aside to replace it, if it was killed before its successor was in
    place."""
    for replaced in _unlocked(path, "*.replaced.part"):
        with suppress(OSError):  # another process may be quicker
            if not path.exists():
                replaced.rename(path)


def _remove_abandoned(path: Path) -> None:
    """Remove what killed processes left unfinished: the parts that no process has locked."""
    restore_replaced(path)
    for part in _unlocked(path, "*.part"):
        with suppress(OSError):
            shutil.rmtree(part) if part.is_dir() else part.unlink()


def _unlocked(path: Path, parts: str) -> Iterator[Path]:
    """The files and folders next to a path, named after it, that no process has locked; each is locked meanwhile."""
    own = re.compile(re.escape(f".{path.name}.") + r"[0-9a-f]{8}(\.replaced)?\.part")  # not those of ``<name>.<more>``
    for part in sorted(path.parent.glob(f".{glob.escape(path.name)}.{parts}")):
        if not own.fullmatch(part.name):
            continue
        with suppress(OSError):
            lock = os.open(part, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield part
            finally:
                os.close(lock)


@contextmanager
def result_directory(path: Path | str, *, overwrite: bool) -> Iterator[Path]:
    """Like :func:`atomic_directory`, for a result with its card.

    Raises InputError when the directory is not empty, unless ``overwrite`` is true and it contains the ``card.json`` of
    an earlier result; it is then replaced as a whole, with whatever else is in it.
    """
    path = Path(path)
    check_result_directory(path, overwrite=overwrite)
    with atomic_directory(path) as temporary:
        yield temporary


def check_result_directory(path: Path, *, overwrite: bool) -> None:
    """Raise the errors of :func:`result_directory` for a directory that may not be written, before the result is
    computed."""
    if path.exists() and not path.is_dir():
        raise InputError(path, "is a file, not a directory", remedy="choose another name")
    if path.exists() and any(path.iterdir()):
        if not overwrite:
            remedy = "choose another, or pass --overwrite (overwrite=True)"
            raise InputError(path, "the directory is not empty", remedy=remedy)
        if not _has_card(path):
            raise InputError(path, "contains files that are not a result", remedy="choose another directory")


def _has_card(path: Path) -> bool:
    """Whether a directory has the card of an earlier result."""
    try:
        card = json.loads((path / "card.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(card, dict) and {"format", "pipeline", "digest"} <= card.keys()


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, its line ends unchanged, whole or not at all."""
    with atomic_file(path) as stream:
        stream.write(text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write readable JSON (Hangul unescaped, two spaces, final newline), whole or not at all."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def printable(path: Path) -> str:
    """A path as text that can be printed: bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def sha256_of(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes, with a progress bar on a terminal when that takes over a second."""
    sha = hashlib.sha256()
    with path.open("rb") as stream, progress(None, f"hash {path.name}", "B", path.stat().st_size) as bar:
        while block := stream.read(_BLOCK):
            sha.update(block)
            bar.update(len(block))
    return sha.hexdigest()


_BLOCK = 1 << 20


def sha256_of_named(contents: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 over name, size and bytes of each content, in the given order. A name of a file that is not UTF-8 counts
    with its bytes."""
    sha = hashlib.sha256()
    for name, raw in contents:
        sha.update(f"{name}\n{len(raw)}\n".encode("utf-8", "surrogateescape"))
        sha.update(raw)
    return sha.hexdigest()


def sha256_of_folder(path: Path) -> str:
    """:func:`sha256_of_named` of every file below a folder, in the order of the names."""
    files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    names = progress(sorted(files), f"hash {path.name}", "file")
    return sha256_of_named((name, files[name].read_bytes()) for name in names)
