"""Parameters and training state as one ``.npz`` file: plain arrays and JSON, never a pickle, whole or absent."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, Parameter

from gluon_attn.errors import UsageError


def named_parameters(model: Block) -> list[tuple[str, Parameter]]:
    """The parameters by their place in the model (``encoder.forwards.0.l0_i2h_weight``), sorted; names hold no counter.

    A parameter that stands in two places is there once, under the first of its names.
    """
    once = {id(parameter): (name, parameter) for name, parameter in reversed(_everywhere(model))}
    return sorted(once.values())


def _everywhere(model: Block) -> list[tuple[str, Parameter]]:
    return sorted(model._collect_params_with_prefix().items())


def parameter_arrays(model: Block) -> dict[str, np.ndarray]:
    """A copy of every parameter, by name."""
    return {name: parameter.data().asnumpy() for name, parameter in named_parameters(model)}


def set_parameters(model: Block, arrays: Mapping[str, np.ndarray]) -> None:
    """Give every parameter of the model its array.

    Raises:
        UsageError: the names or shapes are those of another model, which stays as it was.
    """
    parameters = dict(named_parameters(model))
    if parameters.keys() != arrays.keys():
        unlike = sorted(parameters.keys() ^ arrays.keys())
        raise UsageError(f"these parameters belong to another model; names that do not match: {', '.join(unlike[:5])}")
    for name, parameter in parameters.items():
        # A size that is not inferred yet is 0 and takes any.
        fits = len(parameter.shape) == arrays[name].ndim and all(
            wanted in (0, found) for wanted, found in zip(parameter.shape, arrays[name].shape, strict=True)
        )
        if not fits:
            raise UsageError(f"parameter {name} has shape {arrays[name].shape}, the model wants {parameter.shape}")
    for name, parameter in parameters.items():
        parameter.set_data(mx.nd.array(arrays[name], dtype=arrays[name].dtype))
        if parameter._deferred_init:
            parameter._finish_deferred_init()  # its shape is known now, so it can be read before the first call


def parameters_sha256(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names, types, shapes and bytes, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def parameter_count(model: Block) -> int:
    """Number of trained scalars."""
    return sum(int(np.prod(parameter.shape)) for _, parameter in named_parameters(model))


def save(path: Path, groups: Mapping[str, Mapping[str, np.ndarray]], state: Mapping[str, Any]) -> None:
    """Write groups of arrays and a JSON state to one file that is complete or not there."""
    arrays = {f"{group}/{name}": array for group, members in groups.items() for name, array in members.items()}
    save_arrays(path, arrays | {"state": np.frombuffer(json.dumps(state).encode("utf-8"), dtype=np.uint8)})


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to one ``.npz`` file that is complete or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    with beside.open("wb") as stream:
        np.savez(stream, **arrays)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)


class Checkpoint:
    """A saved file, open for reading; arrays are read when asked for.

    Raises:
        UsageError: the file is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = np.load(path, allow_pickle=False)
            self.state: dict[str, Any] = json.loads(self._file["state"].tobytes().decode("utf-8"))
        except FileNotFoundError:
            raise UsageError(f"{path}: no checkpoint here; train first") from None
        except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
            raise UsageError(f"{path}: damaged checkpoint ({error}); delete it and train again") from None
        self._path = path

    def group(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of one group, without the group's name.

        Raises:
            UsageError: the file is damaged.
        """
        try:
            return dict(self._members(f"{name}/"))
        except (ValueError, OSError, zipfile.BadZipFile, zlib.error) as error:
            raise UsageError(f"{self._path}: damaged checkpoint ({error}); delete it and train again") from None

    def _members(self, prefix: str) -> Iterator[tuple[str, np.ndarray]]:
        for key in self._file.files:
            if key.startswith(prefix):
                yield key.removeprefix(prefix), self._file[key]
