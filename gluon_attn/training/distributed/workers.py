"""Training one model with several workers on MXNet's parameter server.

Every worker has the whole model and computes the gradients of its share of each batch. The servers of
``kvstore('dist_sync')`` sum them, and every worker makes the same update with the sum, so clipping, schedules and the
optimizer's state are those of a single worker. Everything that is decided or written only once is up to the first
worker.

A server sums gradients in the order in which they arrive. The sum of two gradients does not depend on the order. More
than two are divided into parts whose sums do not depend on it (:mod:`.exact_sums`), which doubles the number of bytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import mxnet as mx
import numpy as np
from mxnet import nd
from mxnet.gluon import Parameter

from gluon_attn.errors import UsageError
from gluon_attn.training.distributed.exact_sums import divided, magnitude
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.updates import Updates

T = TypeVar("T")

BLOCK = 2**22
"""Maximum number of elements in a message. Larger arrays are split; MXNet divides each message among all servers."""

LARGE = 2**16
"""Minimum number of elements of an array that is sent in a message of its own."""

ROWS = 256
"""Number of rows of a sparse gradient in one message."""

_LONGEST_MESSAGE = 2**16


class Workers(Protocol):
    """The workers that train one model together.

    Attributes:
        rank: rank of this worker, from 0.
        size: number of workers.
        record: description of the workers for the record of a training, as JSON.
    """

    rank: int
    size: int
    record: dict[str, Any]

    def sum(self, parameters: Sequence[Parameter], loss: nd.NDArray) -> nd.NDArray:
        """Replace the gradient of each parameter by its sum over all workers; return the sum of the losses."""

    def updates(self, parameters: Sequence[Parameter], recipe: Recipe, steps: int) -> Updates:
        """Return the updates of a training of ``steps`` steps an epoch; they use the gradients left by :meth:`sum`."""

    def once(self, compute: Callable[[], T]) -> T:
        """Compute a JSON value on the first worker and return it on all workers."""

    def first(self) -> Any:
        """Return a context in which the first worker runs before all others."""

    def check_same(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Compare the parameters of all workers.

        Raises:
            UsageError: if they differ.
        """


class Alone:
    """A single worker."""

    rank, size = 0, 1

    def __init__(self) -> None:
        self.record: dict[str, Any] = {}

    def sum(self, parameters: Sequence[Parameter], loss: nd.NDArray) -> nd.NDArray:
        return loss

    def updates(self, parameters: Sequence[Parameter], recipe: Recipe, steps: int) -> Updates:
        return Updates(parameters, recipe.optimizer, clip_norm=recipe.clip_norm, arguments=recipe.optimizer_arguments)

    def once(self, compute: Callable[[], T]) -> T:
        return compute()

    @contextmanager
    def first(self) -> Iterator[None]:
        yield

    def check_same(self, arrays: Mapping[str, np.ndarray]) -> None:
        pass


ALONE = Alone()


class Together:
    """The workers of MXNet's parameter server that the environment names (``DMLC_ROLE=worker`` and so on).

    Args:
        exact: whether sums over more than two workers are bitwise independent of the order in which gradients arrive.
        store: type of MXNet's key-value store.
    """

    def __init__(self, *, exact: bool = True, store: str = "dist_sync") -> None:
        self._store = mx.kv.create(store)
        self.rank, self.size = int(self._store.rank), int(self._store.num_workers)
        self.record: dict[str, Any] = {"workers": self.size}
        self.bytes_sent = 0
        self._exact = exact and self.size > 2
        self._messages = 0
        self._known: set[str] = set()

    def sum(self, parameters: Sequence[Parameter], loss: nd.NDArray) -> nd.NDArray:
        dense = [parameter.grad() for parameter in parameters if parameter._grad_stype != "row_sparse"]
        sparse = [parameter.grad() for parameter in parameters if parameter._grad_stype == "row_sparse"]
        addends = [loss.reshape((1,)), *dense]
        rows, largest = self._agree(addends, sparse)
        total, *reduced = self._sum("dense", addends, largest[: len(addends)])
        for gradient, of_all in zip(dense, reduced, strict=True):
            if of_all is not gradient:
                of_all.copyto(gradient)
        for number, gradient in enumerate(sparse):
            self._sum_rows(f"rows {number}", gradient, rows[number], largest[len(addends) + number])
        return total

    def _agree(self, dense: Sequence[nd.NDArray], sparse: Sequence[nd.NDArray]) -> tuple[list[np.ndarray], list[float]]:
        """Return the rows of each sparse array that any worker has, and the largest magnitude of each array over all
        workers, dense arrays first. Each worker contributes its own entry and zeros elsewhere, so the order of the sum
        does not matter."""
        outline = [_touched(array) for array in sparse]
        if self._exact:
            values = [*dense, *(array.data for array in sparse)]
            magnitudes = nd.zeros((self.size, len(values)))
            magnitudes[self.rank] = nd.concat(*map(magnitude, values), dim=0)
            outline.append(magnitudes)
        summed = [array.asnumpy() for array in self._send("outline", outline)] if outline else []
        largest = summed.pop().max(axis=0).tolist() if self._exact else [0.0] * (len(dense) + len(sparse))
        return [np.flatnonzero(counts) for counts in summed], largest

    def _sum_rows(self, name: str, gradient: nd.NDArray, rows: np.ndarray, largest: float) -> None:
        """Sum a row-sparse gradient: only the rows that any worker has, in blocks of a fixed size."""
        own = gradient.indices.asnumpy().astype(np.int64)
        padded = np.zeros((-(-len(rows) // ROWS) * ROWS, gradient.shape[1]), np.float32)
        padded[np.searchsorted(rows, own)] = gradient.data.asnumpy()
        blocks = [nd.array(block) for block in np.split(padded, len(padded) // ROWS)]
        summed = [self._sum(f"{name} {number}", [block], [largest])[0] for number, block in enumerate(blocks)]
        values = nd.concat(*summed, dim=0)[: len(rows)]
        nd.sparse.row_sparse_array((values, nd.array(rows, dtype="int64")), shape=gradient.shape).copyto(gradient)

    def _sum(self, name: str, addends: Sequence[nd.NDArray], largest: Sequence[float]) -> list[nd.NDArray]:
        """Return the sums over all workers of arrays with the given largest magnitudes."""
        if not self._exact:
            return self._send(name, addends)
        parts = [divided(array, size, self.size) for array, size in zip(addends, largest, strict=True)]
        summed = self._send(name, [part for pair in zip(*parts, strict=True) for part in pair])
        return [coarse + fine for coarse, fine in zip(summed[: len(parts)], summed[len(parts) :], strict=True)]

    def _send(self, name: str, arrays: Sequence[nd.NDArray]) -> list[nd.NDArray]:
        """Return the servers' sums of arrays. Large arrays are sent in place, and the sums replace them; small ones are
        sent as one vector. All arrays are sent before the first sum is waited for."""
        flat = {str(number): array.reshape((-1,)) for number, array in enumerate(arrays) if array.size >= LARGE}
        small = [array for array in arrays if array.size < LARGE]
        if small:
            flat["small"] = nd.concat(*(array.reshape((-1,)) for array in small), dim=0)
        blocks = {
            f"{name} {part} {start}": array[start : start + BLOCK]
            for part, array in flat.items()
            for start in range(0, array.size, BLOCK)
        }
        for key in [key for key in blocks if key not in self._known]:
            self._store.init(key, nd.zeros_like(blocks[key]))
            self._known.add(key)
        for key, block in blocks.items():
            self._store.push(key, block)
        for key, block in blocks.items():
            self._store.pull(key, out=block)
        self.bytes_sent += 4 * sum(array.size for array in flat.values())
        ends = np.cumsum([0, *(array.size for array in small)]).tolist()
        bounds = zip(ends, ends[1:], small, strict=False)
        parts = iter([flat["small"][start:end].reshape(array.shape) for start, end, array in bounds])
        return [array if array.size >= LARGE else next(parts) for array in arrays]

    def updates(self, parameters: Sequence[Parameter], recipe: Recipe, steps: int) -> Updates:
        return Updates(parameters, recipe.optimizer, clip_norm=recipe.clip_norm, arguments=recipe.optimizer_arguments)

    def once(self, compute: Callable[[], T]) -> T:
        text = json.dumps(compute()).encode() if self.rank == 0 else b""
        if len(text) > _LONGEST_MESSAGE:
            raise UsageError(f"a message of {len(text)} bytes is too long for other workers")
        # The initial value of a key is that of worker 0; this is how MXNet's store broadcasts.
        buffer = np.zeros(_LONGEST_MESSAGE, np.float32)
        buffer[: len(text)] = np.frombuffer(text, np.uint8)
        message, key = nd.array(buffer), f"message {self._messages}"
        self._messages += 1
        self._store.init(key, message)
        self._store.pull(key, out=message)
        value: T = json.loads(message.asnumpy().astype(np.uint8).tobytes().rstrip(b"\0"))
        return value

    @contextmanager
    def first(self) -> Iterator[None]:
        if self.rank > 0:
            self._store._barrier()
        yield
        if self.rank == 0:
            self._store._barrier()

    def check_same(self, arrays: Mapping[str, np.ndarray]) -> None:
        checksum = 0
        for name in sorted(arrays):
            checksum = zlib.crc32(arrays[name].tobytes(), checksum)
        if checksum != self.once(lambda: checksum):
            raise UsageError(
                f"worker {self.rank} has other parameters than worker 0; use the same processors, or --profile portable"
            )


class Compressed(Together):
    """Like :class:`Together`, with two bits per element of a gradient: a worker sends plus or minus the threshold or
    zero, and adds the remainder to its next gradient (Strom, 2015). Sparse gradients are sent as dense ones, with two
    bits for each element of all rows; the sum has the nonzero rows. Losses are those of a worker's own shares.

    Args:
        threshold: should have the magnitude of an element of a gradient; otherwise training makes no progress.
    """

    def __init__(self, threshold: float) -> None:
        super().__init__(exact=False)
        self.record |= {"compression": threshold}
        self._store.set_gradient_compression({"type": "2bit", "threshold": threshold})

    def sum(self, parameters: Sequence[Parameter], loss: nd.NDArray) -> nd.NDArray:
        summed = [parameter.grad().tostype("default") for parameter in parameters]
        for number, gradient in enumerate(summed):
            key = f"compressed {number}"
            if key not in self._known:
                self._store.init(key, nd.zeros_like(gradient))
                self._known.add(key)
            self._store.push(key, gradient, priority=-number)
            self._store.pull(key, out=gradient, priority=-number)
            self.bytes_sent += 4 * -(-gradient.size // 16)
        for parameter, gradient in zip(parameters, summed, strict=True):
            gradient.tostype(parameter._grad_stype).copyto(parameter.grad())
        return loss * self.size


def _touched(gradient: nd.NDArray) -> nd.NDArray:
    """Return 1 for each row that a row-sparse gradient stores, otherwise 0, (rows,)."""
    rows = np.zeros(gradient.shape[0], np.float32)
    rows[gradient.indices.asnumpy().astype(np.int64)] = 1.0
    return nd.array(rows)
