"""Reading the tensors of a PyTorch checkpoint without PyTorch.

A checkpoint is a pickle, and a pickle can run arbitrary code. This reader accepts only the four names that occur in a
dictionary of tensors, refuses a file with any other name, and builds nothing but arrays.
"""

from __future__ import annotations

import io
import math
import pickle
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_TYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}
_BYTES_OF_COUNT = 8


@dataclass(frozen=True)
class _Storage:
    key: str
    dtype: np.dtype[Any]
    size: int


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    def of(self, values: np.ndarray) -> np.ndarray:
        """Return the tensor from the values of its storage; it need not be contiguous."""
        stride = [step * values.itemsize for step in self.stride]
        return np.ascontiguousarray(np.lib.stride_tricks.as_strided(values, self.shape, stride, writeable=False))


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Read the tensors of a dictionary written by ``torch.save`` before version 1.6, by name.

    Raises:
        UsageError: if the file is missing, damaged or of another format, or has anything but dense tensors of 32-bit
            floats and 64-bit integers.
    """
    remedy = "install its package again"
    try:
        stream = io.BytesIO(path.read_bytes())
        if (_load(stream), _load(stream)) != (_MAGIC, _PROTOCOL):
            raise ValueError("not a checkpoint of this format")
        _load(stream)  # sizes of types on the machine that wrote it; those of its arrays are fixed
        tensors: dict[str, _Tensor] = _load(stream)
        keys: list[str] = _load(stream)
        storages = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
        if sorted(keys) != sorted(storages):
            raise ValueError("its storages are not those of its tensors")
        flat = {key: _read(stream, storages[key]) for key in keys}
        if stream.read(1):
            raise ValueError("data after the last tensor")
        return {name: tensor.of(flat[tensor.storage.key]) for name, tensor in tensors.items()}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    except Exception as error:  # what pickle raises for damaged bytes is not documented
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"{path}: no PyTorch checkpoint of tensors ({reason}); {remedy}") from None


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _TYPES:
            return _TYPES[name]
        raise ValueError(f"it contains {module}.{name}, which is not a tensor")

    def persistent_load(self, identifier: tuple[Any, ...]) -> _Storage:
        kind, dtype, key, _, size, view = identifier
        if kind != "storage" or not isinstance(dtype, np.dtype) or view is not None:
            raise ValueError("a storage of an unknown kind")
        return _Storage(str(key), dtype, int(size))


def _load(stream: io.BytesIO) -> Any:
    return _Unpickler(stream).load()


def _tensor(storage: _Storage, offset: int, shape: Sequence[int], stride: Sequence[int], *_: object) -> _Tensor:
    last = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    if offset or math.prod(shape) != storage.size or min((*shape, *stride), default=1) < 1 or last >= storage.size:
        raise ValueError("a tensor that is a view of another")
    return _Tensor(storage, tuple(shape), tuple(stride))


def _read(stream: io.BytesIO, storage: _Storage) -> np.ndarray:
    count = int.from_bytes(stream.read(_BYTES_OF_COUNT), "little")
    data = stream.read(storage.size * storage.dtype.itemsize)
    if count != storage.size or len(data) != storage.size * storage.dtype.itemsize:
        raise ValueError("it is truncated")
    return np.frombuffer(data, storage.dtype)
