"""Workers that do not wait for each other: ``kvstore('dist_async')``.

The servers have the parameters and the optimizer. Each worker sends the gradients of its share of a batch, which the
servers apply at once, and takes the parameters as they are then, which the gradients of others may have changed in
between. So no two trainings are the same, and N workers make N updates, each of a share, where synchronous ones make
one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import nd
from mxnet.gluon import Parameter

from gluon_attn.errors import UsageError
from gluon_attn.training.distributed import Together
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.updates import Updates, norm


class Asynchronous(Together):
    """The workers of an asynchronous training."""

    def __init__(self) -> None:
        super().__init__(store="dist_async")

    def sum(self, parameters: Sequence[Parameter], loss: nd.NDArray) -> nd.NDArray:
        """Leave the gradients of this worker; its loss, as if its share were the whole batch."""
        for parameter in parameters:
            self.bytes_sent += 4 * int(np.prod(parameter.shape))
        return loss * self.size

    def updates(self, parameters: Sequence[Parameter], recipe: Recipe, steps: int) -> Updates:
        return _ServerUpdates(self._store, self.rank, self.size, parameters, recipe, steps)


class _ServerUpdates(Updates):
    """Updates by the servers. A checkpoint has no state of the optimizer: it begins again after ``--resume``."""

    def __init__(
        self, store: Any, rank: int, size: int, parameters: Sequence[Parameter], recipe: Recipe, steps: int
    ) -> None:
        if recipe.weight_decay is not None:
            raise UsageError("servers cannot exempt parameters from weight decay; leave out --asynchronous")
        super().__init__(parameters, recipe.optimizer, arguments=recipe.optimizer_arguments)  # which checks them
        self._store, self._size, self._clip = store, size, recipe.clip_norm
        self._is_first, self._started = rank == 0, False
        schedule = _Schedule(recipe, size, recipe.epochs * steps)
        self._of_servers = mx.optimizer.create(
            recipe.optimizer,
            learning_rate=recipe.learning_rate,
            lr_scheduler=schedule,
            **recipe.optimizer_arguments,
        )

    def step(self, learning_rate: float) -> None:
        """Send the gradients, clipped by themselves, and take the parameters; the servers have the schedule."""
        if not self._started:
            self._start()
        scale = float(self._size)  # the gradients are those of the worker's part of the mean loss of a batch
        if self._clip is not None:
            length = scale * norm(self._parameters)
            if not math.isfinite(length):
                raise FloatingPointError(f"the gradient's norm is {length}")
            scale *= min(1.0, self._clip / max(length, 1e-30))
        for key, parameter in enumerate(self._parameters):
            self._store.push(key, parameter.grad().tostype("default") * scale, priority=-key)
            self._store.pull(key, out=parameter.data(), priority=-key)

    def settle(self) -> None:
        """Wait until all workers have sent all gradients, and take the parameters."""
        nd.waitall()
        self._store._barrier()
        for key, parameter in enumerate(self._parameters):
            self._store.pull(key, out=parameter.data())
        nd.waitall()
        self._store._barrier()

    def state(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        pass

    def _start(self) -> None:
        for key, parameter in enumerate(self._parameters):
            self._store.init(key, parameter.data())
        if self._is_first:
            self._store.set_optimizer(self._of_servers)
        self._store._barrier()
        self._started = True


class _Schedule(mx.lr_scheduler.LRScheduler):
    """The rate of a recipe; a server counts the updates of all workers."""

    def __init__(self, recipe: Recipe, workers: int, total_steps: int) -> None:
        super().__init__(recipe.learning_rate)
        self._recipe, self._workers, self._total = recipe, workers, total_steps

    def __call__(self, num_update: int) -> float:
        return self._recipe.rate(max(0, num_update - 1) // self._workers, self._total)
