"""Asynchronous workers: ``kvstore('dist_async')``.

The servers hold the parameters and the optimizer. Each worker sends the gradients of its share of a batch, which the
servers apply immediately, and receives the current parameters, which other workers may have changed in the meantime.
Therefore no two trainings are the same, and N workers make N updates, each from one share, where synchronous workers
make a single update.
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
from gluon_attn.training.distributed.workers import Together
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.updates import Updates, norm


class Asynchronous(Together):
    """The workers of an asynchronous training."""

    def __init__(self) -> None:
        super().__init__(store="dist_async")
        self.record |= {"asynchronous": True}

    def sum(self, parameters: Sequence[Parameter], loss: nd.NDArray) -> nd.NDArray:
        """Leave the gradients unchanged; return the loss of this worker as if its share were the whole batch."""
        for parameter in parameters:
            self.bytes_sent += 4 * int(np.prod(parameter.shape))
        return loss * self.size

    def updates(self, parameters: Sequence[Parameter], recipe: Recipe, steps: int) -> Updates:
        return _ServerUpdates(self._store, self.rank, self.size, parameters, recipe, steps)


class _ServerUpdates(Updates):
    """Updates by the servers. A checkpoint contains their number, but not the rest of the optimizer's state, which
    starts from zero after ``--resume``."""

    def __init__(
        self, store: Any, rank: int, size: int, parameters: Sequence[Parameter], recipe: Recipe, steps: int
    ) -> None:
        if recipe.weight_decay is not None:
            raise UsageError("servers cannot exempt parameters from weight decay; leave out --asynchronous")
        super().__init__(parameters, recipe.optimizer, arguments=recipe.optimizer_arguments)  # checks the arguments
        self._store, self._rank, self._size = store, rank, size
        self._recipe, self._total_steps, self._steps = recipe, recipe.epochs * steps, 0
        self._started = False

    def step(self, learning_rate: float) -> None:
        """Clip and send the gradients of this worker, and fetch the parameters; the servers have the schedule."""
        if not self._started:
            self._start()
        scale, clip_norm = float(self._size), self._recipe.clip_norm  # gradients of the mean loss of this share
        if clip_norm is not None:
            length = scale * norm(self._parameters)
            if not math.isfinite(length):
                raise FloatingPointError(f"the gradient's norm is {length}")
            scale *= clip_norm / max(length, clip_norm)
        for number, parameter in enumerate(self._parameters):
            self._store.push(_key(number), parameter.grad().tostype("default") * scale, priority=-number)
            self._store.pull(_key(number), out=parameter.data(), priority=-number)
        self._steps += 1

    def settle(self) -> None:
        """Wait until all workers have sent all gradients, then fetch the parameters."""
        nd.waitall()
        self._store._barrier()
        for number, parameter in enumerate(self._parameters):
            self._store.pull(_key(number), out=parameter.data())
        nd.waitall()
        self._store._barrier()

    def state(self) -> dict[str, np.ndarray]:
        return {"count": np.array(self._steps, np.int64)}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._steps = int(arrays["count"])

    def _start(self) -> None:
        for number, parameter in enumerate(self._parameters):
            self._store.init(_key(number), parameter.data())
        if self._rank == 0:
            self._store.set_optimizer(
                mx.optimizer.create(
                    self._recipe.optimizer,
                    learning_rate=self._recipe.learning_rate,
                    lr_scheduler=Schedule(self._recipe, self._size, self._total_steps),
                    begin_num_update=self._steps * self._size,
                    **self._recipe.optimizer_arguments,
                )
            )
        self._store._barrier()
        self._started = True


class Schedule(mx.lr_scheduler.LRScheduler):
    """The learning rate of a recipe; a server counts the updates of all workers."""

    def __init__(self, recipe: Recipe, workers: int, total_steps: int) -> None:
        super().__init__(recipe.learning_rate)
        self._recipe, self._workers, self._total_steps = recipe, workers, total_steps

    def __call__(self, num_update: int) -> float:
        return self._recipe.rate(max(0, num_update - 1) // self._workers, self._total_steps)


def _key(number: int) -> str:
    return f"parameter {number}"
