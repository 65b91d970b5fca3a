"""Files that are either whole or absent: written beside their final name, flushed, then renamed."""

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
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield a new empty directory that replaces ``path`` only if the block ends without an exception."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    try:
        yield beside
        if path.exists():
            shutil.rmtree(path)
        beside.replace(path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def result_directory(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """As :func:`atomic_directory`, for a result with its card.

    Raises InputError when the directory holds something, unless ``overwrite`` is true and what it holds is an earlier
    result (it has a ``card.json``): that is then replaced as a whole.
    """
    if path.exists() and not path.is_dir():
        raise InputError(path, "is a file, not a directory", remedy="choose another name")
    if path.exists() and any(path.iterdir()):
        if not overwrite:
            remedy = "choose another one, or ask to overwrite it"
            raise InputError(path, "the directory is not empty", remedy=remedy)
        if not (path / "card.json").is_file():
            raise InputError(path, "holds other files than a result", remedy="choose another directory")
    with atomic_directory(path) as beside:
        yield beside


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
