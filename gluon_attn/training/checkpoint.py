"""Parameters and training state as one ``.npz`` file: plain arrays and JSON, never a pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, Parameter

from gluon_attn.errors import UsageError
from gluon_attn.files import read_arrays, write_arrays

_REMEDY = "replace the run (--overwrite), or copy the network again"
_OTHER = "load the parameters of this model, or train it again"


def named_parameters(model: Block) -> list[tuple[str, Parameter]]:
    """Return the parameters by their path in the model (``encoder.forwards.0.l0_i2h_weight``), sorted; unlike Gluon's
    names, paths have no counters.

    A parameter that several blocks share is listed once, under the first of its names.
    """
    once = {id(parameter): (name, parameter) for name, parameter in reversed(_everywhere(model))}
    return sorted(once.values())


def _everywhere(model: Block) -> list[tuple[str, Parameter]]:
    return sorted(model._collect_params_with_prefix().items())


def parameter_arrays(model: Block) -> dict[str, np.ndarray]:
    """Return a copy of every parameter, by name."""
    return {name: parameter.data().asnumpy() for name, parameter in named_parameters(model)}


def set_parameters(model: Block, arrays: Mapping[str, np.ndarray], *, source: Path | None = None) -> None:
    """Set all parameters of the model; ``source`` is the file of the arrays, for the error message.

    Raises:
        UsageError: if names or shapes are those of another model; no parameter is changed.
    """
    prefix = f"{source}: " if source else ""
    parameters = dict(named_parameters(model))
    if parameters.keys() != arrays.keys():
        unlike = sorted(parameters.keys() ^ arrays.keys())
        names = ", ".join(unlike[:5])
        raise UsageError(f"{prefix}these parameters belong to another model (names that differ: {names}); {_OTHER}")
    for name, parameter in parameters.items():
        # A size of 0 is not inferred yet and accepts any.
        fits = len(parameter.shape) == arrays[name].ndim and all(
            expected in (0, size) for expected, size in zip(parameter.shape, arrays[name].shape, strict=True)
        )
        if not fits:
            raise UsageError(
                f"{prefix}parameter {name} has shape {arrays[name].shape}, the model needs {parameter.shape}; {_OTHER}"
            )
    for name, parameter in parameters.items():
        parameter.set_data(mx.nd.array(arrays[name], dtype=arrays[name].dtype))
        if parameter._deferred_init:
            parameter._finish_deferred_init()  # its shape is known now, so it can be read before the first call


def parameters_sha256(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of names, types, shapes and bytes, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def parameter_count(model: Block) -> int:
    """Number of scalars, also of those that have no gradient, such as running statistics."""
    return sum(int(np.prod(parameter.shape)) for _, parameter in named_parameters(model))


def save(
    path: Path, groups: Mapping[str, Mapping[str, np.ndarray]], state: Mapping[str, Any], *, compressed: bool = False
) -> None:
    """Write groups of arrays and a JSON state to one file, completely or not at all, with the SHA-256 of each group.

    Raises:
        UsageError: if the file cannot be written.
    """
    arrays = {f"{group}/{name}": array for group, members in groups.items() for name, array in members.items()}
    digests = {group: parameters_sha256(members) for group, members in groups.items()}
    text = json.dumps({**state, "sha256": digests})
    arrays["state"] = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    write_arrays(path, arrays, compressed=compressed)


class Checkpoint:
    """A saved file. The arrays of a group are read, and checked against their SHA-256, on request.

    Attributes:
        state: the JSON state.
        sha256: :func:`parameters_sha256` of each group.

    Raises:
        UsageError: if the file is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise UsageError(f"{path}: no checkpoint here; train first, or {_REMEDY}")
        self._path = path
        try:
            self.state: dict[str, Any] = json.loads(self._read("state")["state"].tobytes().decode("utf-8"))
            self.sha256: dict[str, str] = self.state.pop("sha256")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._damaged(f"no state: {error}") from None

    def group(self, name: str) -> dict[str, np.ndarray]:
        """Return the arrays of one group, named without the group.

        Raises:
            UsageError: if the file is damaged.
        """
        prefix = f"{name}/"
        arrays = {key.removeprefix(prefix): array for key, array in self._read(prefix).items()}
        if parameters_sha256(arrays) != self.sha256.get(name):
            raise self._damaged(f"the {name} arrays do not have the SHA-256 that was saved with them")
        return arrays

    def _read(self, prefix: str) -> dict[str, np.ndarray]:
        return read_arrays(self._path, prefix=prefix, remedy=_REMEDY)

    def _damaged(self, reason: str) -> UsageError:
        return UsageError(f"{self._path}: damaged ({reason}); {_REMEDY}")
