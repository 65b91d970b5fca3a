"""Results on disk: one file per result, written whole or not at all, used only if its bytes match its digest.

If the cache cannot be written, pipelines run without it, with a warning: the results are the same, but take longer.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing import files
from preprocessing.arrays import DamagedError, digest, read_arrays, write_arrays
from preprocessing.corpora.locate import user_cache
from preprocessing.errors import InputError

FORMAT = 2
_CARD, _CARD_SHA256 = "card.json", "card.sha256"
_log = logging.getLogger(__name__)


def path_of(name: str, key: str) -> Path:
    """Path of the result with this key: below ``GLUON_ATTN_CACHE``, else in the user cache."""
    root = os.environ.get("GLUON_ATTN_CACHE")
    return (Path(root) if root else user_cache() / "results") / f"{name}-{key[:32]}.npz"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock an entry: if several processes need the same result, the first one computes it and the others read it. A
    process that has to wait logs which process it is waiting for.

    If the folder cannot be written, there is no lock and each process computes the result.
    """

    def waiting(owner: str) -> None:
        _log.warning("%s: waiting for %s, which is computing it", path, owner)

    with ExitStack() as lock:
        try:
            lock.enter_context(files.locked(path.with_name(f".{path.stem}.lock"), waiting))
        except OSError as error:
            _without(path, error.strerror or str(error))
        yield


def store(path: Path, arrays: Mapping[str, np.ndarray], card: dict[str, Any]) -> None:
    """Write a result; if that fails, there is a warning and no entry."""
    text = json.dumps(card, ensure_ascii=False).encode("utf-8")
    extra = {_CARD: np.frombuffer(text, np.uint8), _CARD_SHA256: np.frombuffer(hashlib.sha256(text).digest(), np.uint8)}
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return  # the lock has already warned about it
    try:
        with files.atomic_file(path) as stream:
            write_arrays(stream, {**arrays, **extra})
    except InputError as error:
        _without(path, error.reason)


def _without(path: Path, reason: str) -> None:
    _log.warning(
        "%s: continuing without the cache (%s); set GLUON_ATTN_CACHE to a folder that can be written", path, reason
    )


def load(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """The stored arrays and card; None without an entry, or (with a warning) when its bytes are damaged."""
    try:
        arrays = read_arrays(path)
        text = arrays.pop(_CARD).tobytes()
        card: dict[str, Any] = json.loads(text)
        card_intact = hashlib.sha256(text).digest() == arrays.pop(_CARD_SHA256).tobytes()
        intact = card_intact and digest(arrays) == card["digest"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, DamagedError) as error:
        _log.warning("%s: cache entry cannot be read (%s); it is rebuilt", path, error)
        return None
    if not intact:
        _log.warning("%s: cache entry does not have its digest; it is rebuilt", path)
        return None
    return arrays, card
