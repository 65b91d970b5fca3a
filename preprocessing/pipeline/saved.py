"""What a pipeline learned from the training split, in one file, so that new rows can be encoded without the corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.arrays import DamagedError, digest, read_arrays, write_arrays
from preprocessing.errors import InputError
from preprocessing.files import atomic_file

FORMAT = 1
_DESCRIPTION, _SHA256 = "description", "description.sha256"
_REMEDY = "copy it again, or run the training again"


def write(path: Path, arrays: Mapping[str, np.ndarray], description: Mapping[str, Any]) -> None:
    """Write the learned state, as arrays without objects, and a JSON-able description of the pipeline that learned it.

    Raises:
        InputError: the file cannot be written.
    """
    text = json.dumps({**description, "format": FORMAT, "state": digest(arrays)}, ensure_ascii=False).encode("utf-8")
    sha256 = hashlib.sha256(text).digest()
    extra = {_DESCRIPTION: np.frombuffer(text, np.uint8), _SHA256: np.frombuffer(sha256, np.uint8)}
    with atomic_file(path) as stream:
        write_arrays(stream, {**arrays, **extra}, compressed=True)


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What :func:`write` wrote.

    Raises:
        InputError: the file is missing, damaged, or of another version of this project.
    """
    try:
        arrays = read_arrays(path)
        text, sha256 = arrays.pop(_DESCRIPTION).tobytes(), arrays.pop(_SHA256).tobytes()
        description: dict[str, Any] = json.loads(text)
        intact = hashlib.sha256(text).digest() == sha256 and digest(arrays) == description["state"]
    except FileNotFoundError:
        raise InputError(path, "is missing", remedy=_REMEDY) from None
    except OSError as error:
        remedy = "make it readable, or end other programs, and try again"
        raise InputError(path, f"cannot be read ({error.strerror or error})", remedy=remedy) from error
    except (ValueError, KeyError, DamagedError) as error:
        raise InputError(path, f"damaged ({error})", remedy=_REMEDY) from error
    if not intact:
        raise InputError(path, "damaged (its contents do not have their SHA-256)", remedy=_REMEDY)
    if description["format"] != FORMAT:
        raise InputError(path, f"has format {description['format']}, not {FORMAT}", remedy="run the training again")
    return arrays, description
