"""Updates of parameters by :class:`mxnet.gluon.Trainer`, and the optimizer's state as plain arrays."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import nd
from mxnet.gluon import Parameter, Trainer

from gluon_attn.errors import UsageError

_UNSUITABLE = {
    "nadam": "cannot be resumed from a checkpoint",  # its momentum schedule is a private attribute
    "test": "cannot be resumed from a checkpoint",  # its state is the parameter itself
    "groupadagrad": "does not update vectors such as biases",
}


class Updates:
    """The optimizer steps of one training.

    :meth:`step` sums the gradients of all devices (``allreduce_grads``), clips their norm, and updates the parameters,
    so that a training loop need not know the number of devices.

    Args:
        parameters: parameters in a fixed order; names of the state's arrays contain their index.
        optimizer: name of the optimizer in MXNet.
        clip_norm: gradients are scaled down to this Euclidean norm over all parameters (Pascanu et al., 2013).
        kvstore: as in :class:`mxnet.gluon.Trainer`; with one device, the default creates none.
        arguments: arguments of the optimizer; the others have MXNet's defaults.

    Raises:
        UsageError: if the optimizer is unknown, has no such argument, or has state that a checkpoint cannot hold, or
            does not update every parameter.
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        optimizer: str,
        *,
        clip_norm: float | None = None,
        kvstore: str | None = "device",
        arguments: Mapping[str, float] | None = None,
    ) -> None:
        if optimizer in _UNSUITABLE:
            raise UsageError(f"optimizer {optimizer} {_UNSUITABLE[optimizer]}; choose adam or another")
        if optimizer not in mx.optimizer.Optimizer.opt_registry:
            known = ", ".join(sorted(mx.optimizer.Optimizer.opt_registry.keys() - _UNSUITABLE.keys()))
            raise UsageError(f"optimizer {optimizer!r} is unknown; choose one of {known}")
        self._clip_norm = clip_norm
        self._parameters = list(parameters)
        # Trainer.update(n) scales gradients by rescale_grad / n. With rescale_grad = clip_norm and
        # n = max(norm, clip_norm), this is exactly min(1, clip_norm / norm).
        scale = 1.0 if clip_norm is None else clip_norm
        try:
            self._optimizer = mx.optimizer.create(optimizer, rescale_grad=scale, **(arguments or {}))
        except TypeError as error:
            raise UsageError(f"optimizer {optimizer} does not take {', '.join(arguments or {})}: {error}") from None
        if any(parameter._grad_stype == "row_sparse" for parameter in self._parameters):
            _silence_note_on_lazy_updates()
        self._trainer = Trainer(self._parameters, self._optimizer, kvstore=kvstore, update_on_kvstore=False)

    def step(self, learning_rate: float) -> None:
        """Update all parameters with the gradients of the last backward pass.

        Raises:
            FloatingPointError: if the norm of the gradients is not finite; the parameters are not changed.
            UserWarning: if a parameter was not part of the last backward pass; set its ``grad_req`` to ``null``.
        """
        self._trainer.set_learning_rate(learning_rate)
        self._trainer.allreduce_grads()
        divisor = 1.0
        if self._clip_norm is not None:
            length = norm(self._parameters)
            if not math.isfinite(length):
                raise FloatingPointError(f"the gradient's norm is {length}")
            divisor = max(length, self._clip_norm)
        self._trainer.update(divisor)

    def settle(self) -> None:
        """Wait for the updates of all workers; here there is nothing to wait for."""

    def state(self) -> dict[str, np.ndarray]:
        """Return the optimizer's state: ``<parameter>.<slot>`` for each array, such as Adam's two moments, ``counts``
        (parameters,), the number of updates of each parameter, and ``count`` (), the largest of them."""
        states = self._trainer._updaters[0].states  # the same on every device
        arrays = {
            f"{index}.{slot}": array.asnumpy()
            for index, state in sorted(states.items())
            for slot, array in enumerate(_slots(state))
        }
        counts = [self._optimizer._index_update_count.get(index, 0) for index in range(len(self._parameters))]
        return arrays | {"counts": np.array(counts, np.int64), "count": np.array(self._optimizer.num_update, np.int64)}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Continue from a :meth:`state`; the parameters must have the values that belong to it.

        Raises:
            UsageError: if the arrays are not the state of this optimizer for these parameters.
        """
        counts = arrays.get("counts", np.empty(0, np.int64))
        fits = len(counts) == len(self._parameters)
        updated = {index: int(counts[index]) for index in np.flatnonzero(counts)} if fits else {}
        names = {"counts", "count"}
        states: list[dict[int, Any]] = [{} for _ in self._trainer._updaters]
        for index in updated:
            for device, weight in enumerate(self._parameters[index].list_data()):
                states[device][index] = self._optimizer.create_state_multi_precision(index, weight)
            names |= {f"{index}.{slot}" for slot, _ in enumerate(_slots(states[0][index]))}
        if not fits or arrays.keys() != names:
            optimizer = type(self._optimizer).__name__.lower()
            raise UsageError(f"the optimizer's state is not that of {optimizer} for {len(self._parameters)} parameters")
        for updater, of_device in zip(self._trainer._updaters, states, strict=True):
            for index, state in of_device.items():
                for slot, target in enumerate(_slots(state)):
                    target[:] = nd.array(arrays[f"{index}.{slot}"], dtype=target.dtype)
                updater.states[index], updater.states_synced[index] = state, True
        self._optimizer.num_update = int(arrays["count"])
        for context in self._parameters[0].list_ctx():
            self._optimizer._set_current_context(context.device_id)
            self._optimizer._index_update_count.update(updated)


def _silence_note_on_lazy_updates() -> None:
    """Trigger MXNet's note on lazy updates, which it prints once per process, with output suppressed: lazy updates are
    intended.

    The update is made on a separate array, so it has no other effect.
    """
    weight, mean, variance = (nd.zeros((1, 1)) for _ in range(3))
    gradient = nd.zeros((1, 1)).tostype("row_sparse")
    nd.waitall()
    sys.stderr.flush()
    stderr = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            nd.adam_update(weight, gradient, mean, variance, lr=0.0, wd=0.0, lazy_update=True, out=weight)
            nd.waitall()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def _slots(state: Any) -> Iterator[nd.NDArray]:
    if isinstance(state, nd.NDArray):
        yield state
    elif state is not None:
        for part in state:
            yield from _slots(part)


def norm(parameters: Sequence[Parameter]) -> float:
    """Return the Euclidean norm of all gradients; for sparse ones, only the stored rows are read."""
    gradients = [parameter.list_grad()[0] for parameter in parameters]  # the same on every device
    dense = [gradient.data if gradient.stype == "row_sparse" else gradient for gradient in gradients]
    squares = nd.multi_sum_sq(*dense, num_arrays=len(dense)).asnumpy()
    return math.sqrt(float(squares.sum(dtype=np.float64)))
