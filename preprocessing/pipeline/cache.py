"""Results on disk: one file per result, written whole or not at all, used only if its bytes have their digest."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.corpora.locate import user_cache
from preprocessing.errors import InputError
from preprocessing.files import atomic_file

FORMAT = 1
_CARD, _CARD_SHA256 = "card.json", "card.sha256"
_log = logging.getLogger(__name__)


def path_of(name: str, key: str) -> Path:
    """Path of the result with this key: below ``GLUON_ATTN_CACHE``, else in the user cache."""
    root = os.environ.get("GLUON_ATTN_CACHE")
    return (Path(root) if root else user_cache() / "results") / f"{name}-{key[:32]}.npz"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock the folder of this path, so that of several processes that need a result the first computes it and the
    others read it.

    Raises InputError when the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def store(path: Path, arrays: Mapping[str, np.ndarray], card: dict[str, Any]) -> None:
    """Write a result; raises InputError when the folder cannot be written."""
    text = json.dumps(card, ensure_ascii=False).encode("utf-8")
    extra = {_CARD: np.frombuffer(text, np.uint8), _CARD_SHA256: np.frombuffer(hashlib.sha256(text).digest(), np.uint8)}
    try:
        with atomic_file(path) as stream:
            np.savez(stream, **arrays, **extra)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> InputError:
    remedy = "set GLUON_ATTN_CACHE to a folder that can be written, or run without the cache"
    return InputError(path, f"cannot write the cache ({error.strerror})", remedy=remedy)


def load(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """The stored arrays and card; None without an entry, or (with a warning) when its bytes are damaged."""
    if not path.exists():
        return None
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        text = arrays.pop(_CARD).tobytes()
        card: dict[str, Any] = json.loads(text)
        card_intact = hashlib.sha256(text).digest() == arrays.pop(_CARD_SHA256).tobytes()
        intact = card_intact and digest(arrays) == card["digest"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _log.warning("%s: cache entry cannot be read (%s); it is rebuilt", path, error)
        return None
    if not intact:
        _log.warning("%s: cache entry does not have its digest; it is rebuilt", path)
        return None
    return arrays, card


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over name, type, shape and bytes of each array, in the order of the names."""
    sha = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        sha.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        sha.update(array.data)
    return sha.hexdigest()
