"""What a pipeline learned from the training split, in one file: new rows are encoded by it where the corpus is not at
hand."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.errors import InputError
from preprocessing.files import atomic_file
from preprocessing.pipeline.cache import digest

FORMAT = 1
_DESCRIPTION, _SHA256 = "description", "description.sha256"
_REMEDY = "copy it again, or run the training again"


def write(path: Path, arrays: Mapping[str, np.ndarray], description: Mapping[str, Any]) -> None:
    """Write learned state, as arrays without objects, and the JSON-able description of what learned it.

    Raises:
        InputError: the file cannot be written.
    """
    text = json.dumps({**description, "format": FORMAT, "state": digest(arrays)}, ensure_ascii=False).encode("utf-8")
    sha256 = hashlib.sha256(text).digest()
    extra = {_DESCRIPTION: np.frombuffer(text, np.uint8), _SHA256: np.frombuffer(sha256, np.uint8)}
    try:
        with atomic_file(path) as stream:
            np.savez_compressed(stream, **arrays, **extra)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise InputError(path, reason, remedy="make the folder writable or free some space") from error


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What :func:`write` wrote.

    Raises:
        InputError: the file is missing, damaged, or of another version of this project.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        text, sha256 = arrays.pop(_DESCRIPTION).tobytes(), arrays.pop(_SHA256).tobytes()
        description: dict[str, Any] = json.loads(text)
        intact = hashlib.sha256(text).digest() == sha256 and digest(arrays) == description["state"]
    except FileNotFoundError:
        raise InputError(path, "is missing", remedy=_REMEDY) from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(path, f"damaged ({error})", remedy=_REMEDY) from error
    if not intact:
        raise InputError(path, "damaged (its contents do not have their SHA-256)", remedy=_REMEDY)
    if description["format"] != FORMAT:
        raise InputError(path, f"has format {description['format']}, not {FORMAT}", remedy="run the training again")
    return arrays, description
