"""Files that are either whole or absent: written under a temporary name next to the final one, flushed, then
renamed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from preprocessing.errors import InputError


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file that appears at ``path`` only if the block ends without an exception."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield a new empty directory that replaces ``path`` only if the block ends without an exception."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            shutil.rmtree(path)
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def result_directory(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """As :func:`atomic_directory`, for a result with its card.

    Raises InputError when the directory is not empty, unless ``overwrite`` is true and it contains an earlier result (a
    ``card.json``), which is then replaced as a whole.
    """
    if path.exists() and not path.is_dir():
        raise InputError(path, "is a file, not a directory", remedy="choose another name")
    if path.exists() and any(path.iterdir()):
        if not overwrite:
            remedy = "choose another, or pass --overwrite (overwrite=True)"
            raise InputError(path, "the directory is not empty", remedy=remedy)
        if not (path / "card.json").is_file():
            raise InputError(path, "contains files that are not a result", remedy="choose another directory")
    with atomic_directory(path) as temporary:
        yield temporary


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with Unix line ends, whole or not at all."""
    with atomic_file(path) as stream:
        stream.write(text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write readable JSON (Hangul unescaped, two spaces, final newline), whole or not at all."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def sha256_of(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of_named(contents: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 over name, size and bytes of each content, in the given order."""
    sha = hashlib.sha256()
    for name, raw in contents:
        sha.update(f"{name}\n{len(raw)}\n".encode())
        sha.update(raw)
    return sha.hexdigest()


def sha256_of_folder(path: Path) -> str:
    """:func:`sha256_of_named` of every file below a folder, in the order of the names."""
    files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    return sha256_of_named((name, files[name].read_bytes()) for name in sorted(files))
