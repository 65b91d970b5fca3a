"""The training loop of all scripts: seeded by epoch, checked at each step, resumable with bitwise equal results."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock
from tqdm import tqdm

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.metrics import lower_is_better
from gluon_attn.training import checkpoint
from gluon_attn.training.averaging import ParameterAverage
from gluon_attn.training.distributed.workers import ALONE, Workers
from gluon_attn.training.gradients import Gradients
from gluon_attn.training.objective import Batch, Objective
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from gluon_attn.training.updates import Updates

SECONDS_BETWEEN_LINES = 30.0
"""Interval between log lines within an epoch."""


@dataclass
class Trained:
    """The metrics of each epoch, the number of the best epoch, counted from 1, and the seconds spent training."""

    history: list[dict[str, float]]
    best_epoch: int
    seconds: float


@dataclass
class Progress:
    """What a training has reached; a checkpoint holds it.

    Attributes:
        history: the metrics of each epoch.
        best_epoch: number of the best epoch, counted from 1; 0 before the first.
        best: the parameters of the best epoch, or their mean up to it.
        seconds, cpu_seconds: spent on training, without validation.
    """

    history: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = 0
    best: dict[str, np.ndarray] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @classmethod
    def restore(cls, saved: checkpoint.Checkpoint) -> Progress:
        state = saved.state
        cpu_seconds = state.get("cpu_seconds", 0.0)
        return cls(state["history"], state["best_epoch"], saved.group("best"), state["seconds"], cpu_seconds)

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds besides :attr:`best`, as JSON."""
        return {
            "history": self.history,
            "best_epoch": self.best_epoch,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
        }

    def add(
        self,
        train_loss: float,
        metrics: Mapping[str, float],
        parameters: dict[str, np.ndarray],
        objective: Objective,
    ) -> float:
        """Add an epoch with its validation metrics and the parameters that have them; return the metric that selects.

        Raises:
            UsageError: if the metric that selects is missing, or if a metric is not finite.
        """
        epoch = len(self.history) + 1
        times = {"seconds": round(self.seconds, 3), "cpu_seconds": round(self.cpu_seconds, 3)}
        validation = _validation(metrics, objective, epoch)
        self.history.append({"epoch": epoch, "train_loss": train_loss, **times, **validation})
        score = float(metrics[objective.select])
        best = self.history[self.best_epoch - 1][f"validation_{objective.select}"]
        if self.best_epoch == 0 or (score < best if lower_is_better(objective.select) else score > best):
            self.best_epoch, self.best = epoch, parameters
        return score


def fit(
    model: HybridBlock,
    objective: Objective,
    recipe: Recipe,
    run: RunDirectory,
    *,
    seed: int,
    label: str = "",
    log: Callable[[str], None] | None = None,
    workers: Workers = ALONE,
    micro_batches: int = 1,
) -> Trained:
    """Train an initialized model and set it to the parameters of its best epoch, or to their mean over the
    ``recipe.average`` epochs up to it.

    Every epoch uses generators seeded by (seed, epoch), and its checkpoint contains everything that the next epoch
    needs, so a run that is killed at any instant and resumed ends with bitwise the same parameters. A model without
    gradients, such as n-grams counted when the model is built, is only validated and saved.

    Several workers call this function with the same model, objective, recipe and seed. They iterate over the same
    batches, each computes its share, and they make the same updates; the first worker validates and writes. Worker 0
    uses the generators of a single worker, worker k generators seeded by (seed, epoch, k).

    Args:
        model: an initialized model; its parameters with gradients are trained.
        objective: batches, loss, validation, and the metric by which the epoch is selected.
        recipe: the hyper-parameters.
        seed: seed of all generators.
        run: the run directory; resumed from its checkpoint if it has one.
        label: prefix of the progress bar and of each line of the log.
        log: called with one line after each epoch and, without a terminal, every half minute.
        workers: the workers that train together.
        micro_batches: number of parts into which a worker divides its share of each batch to save memory (gradient
            accumulation).

    Raises:
        UsageError: if the optimizer is unknown or cannot be resumed; if the loss, a parameter or a validation result is
            not finite; if an epoch does not have ``objective.steps`` batches; or if batches cannot be divided. The last
            checkpoint is kept.
    """
    parameters = [one for _, one in checkpoint.named_parameters(model) if one.grad_req != "null"]
    if not parameters:
        return _estimated(model, objective, run, seed)
    gradients = Gradients(model, parameters, objective, workers, micro_batches=micro_batches)
    updates = workers.updates(parameters, recipe, objective.steps)
    average, progress = ParameterAverage(recipe.average), Progress()
    if run.checkpoint.exists():
        saved = checkpoint.Checkpoint(run.checkpoint)
        checkpoint.set_parameters(model, saved.group("parameters"), source=run.checkpoint)
        updates.restore(saved.group("optimizer"))
        average.restore(saved)
        progress = Progress.restore(saved)
        run.write_metrics(progress.history)  # the run may have been killed between its checkpoint and its metrics

    for epoch in range(len(progress.history) + 1, recipe.epochs + 1):
        if epoch - progress.best_epoch > recipe.patience:
            break
        started, worked_before = time.perf_counter(), time.process_time()
        runtime.seed_all(runtime.derive(seed, "epoch", epoch, *([workers.rank] if workers.rank else [])))
        batches = objective.epoch_batches(np.random.RandomState(runtime.derive(seed, "batches", epoch)), epoch)
        train_loss = _epoch(gradients, objective.steps, recipe, updates, batches, epoch, label, log)
        arrays = checkpoint.parameter_arrays(model)
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise _diverged("a parameter is not a number", epoch, objective.steps)
        workers.check_same(arrays)
        averaged = average.add(arrays)
        progress.seconds += time.perf_counter() - started
        progress.cpu_seconds += time.process_time() - worked_before
        with _parameters(model, averaged, arrays):
            metrics = workers.once(lambda: objective.evaluate(model))
        score = progress.add(train_loss, metrics, averaged, objective)
        run.save(
            {"parameters": arrays, "best": progress.best, "optimizer": updates.state(), **average.groups()},
            {**progress.state(), "seed": seed},
        )
        run.write_metrics(progress.history)
        if log:
            reached = f"loss {train_loss:.4f}, validation {objective.select} {score:.2f}"
            log(f"{label}: epoch {epoch} of {recipe.epochs}, {reached}, {progress.seconds:.0f} s")
    checkpoint.set_parameters(model, progress.best)
    return Trained(progress.history, progress.best_epoch, progress.seconds)


def _validation(metrics: Mapping[str, float], objective: Objective, epoch: int) -> dict[str, float]:
    """The metrics as the history of a training has them.

    Raises:
        UsageError: if the metric that selects is missing, or if a metric is not finite.
    """
    if objective.select not in metrics:
        measured = ", ".join(metrics) or "nothing"
        raise UsageError(f"validation measures {measured}, not {objective.select}, which selects the epoch")
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise _diverged(f"the validation {name.replace('_', ' ')} is {value}", epoch, objective.steps)
    return {f"validation_{name}": float(value) for name, value in metrics.items()}


def _estimated(model: HybridBlock, objective: Objective, run: RunDirectory, seed: int) -> Trained:
    """Run the single epoch of a model that has nothing to train."""
    history: list[dict[str, float]] = [{"epoch": 1} | _validation(objective.evaluate(model), objective, 1)]
    state = {"history": history, "best_epoch": 1, "seconds": 0.0, "seed": seed}
    run.save({"best": checkpoint.parameter_arrays(model)}, state)
    run.write_metrics(history)
    return Trained(history, 1, 0.0)


@contextmanager
def _parameters(
    model: HybridBlock, averaged: Mapping[str, np.ndarray], own: Mapping[str, np.ndarray]
) -> Iterator[None]:
    """Set the model to averaged parameters within a ``with`` statement."""
    if averaged is own:
        yield
        return
    checkpoint.set_parameters(model, averaged)
    try:
        yield
    finally:
        checkpoint.set_parameters(model, own)


def _epoch(
    gradients: Gradients,
    steps: int,
    recipe: Recipe,
    updates: Updates,
    batches: Iterable[Batch],
    epoch: int,
    label: str,
    log: Callable[[str], None] | None,
) -> float:
    """Run one epoch of updates; return the mean loss of its steps. Without a terminal for the progress bar, the log
    gets a line every half minute."""
    last_line = time.monotonic()
    log_step = log if not sys.stderr.isatty() else None
    losses: list[float] = []
    pending: nd.NDArray | None = None
    bar = tqdm(
        batches, total=steps, desc=f"{label} epoch {epoch}", leave=False, disable=not (log and sys.stderr.isatty())
    )
    for number, batch in enumerate(bar):
        step = (epoch - 1) * steps + number
        mean = gradients.compute(batch)
        try:
            updates.step(recipe.rate(step, recipe.epochs * steps))
        except FloatingPointError as error:
            raise _diverged(str(error), epoch, number + 1) from None
        # The loss is read one step late, so that this thread prepares the next batch while the engine computes.
        if pending is not None:
            losses.append(_finite(pending, epoch, number))
            bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
            if log_step and time.monotonic() - last_line > SECONDS_BETWEEN_LINES:
                last_line = time.monotonic()
                log_step(f"{label}: epoch {epoch}, step {number} of {steps}, loss {losses[-1]:.3f}")
        pending = mean
    if pending is not None:
        losses.append(_finite(pending, epoch, steps))
    if len(losses) != steps:
        raise UsageError(f"epoch {epoch} had {len(losses)} batches, the objective states {steps}; make them agree")
    updates.settle()
    return sum(losses) / steps


def _finite(loss: nd.NDArray, epoch: int, step: int) -> float:
    value = float(loss.asscalar())
    if not math.isfinite(value):
        raise _diverged(f"the loss is {value}", epoch, step)
    return value


def _diverged(reason: str, epoch: int, step: int) -> UsageError:
    checkpoint = f"the checkpoint of epoch {epoch - 1} stays; " if epoch > 1 else ""
    return UsageError(f"{reason} at epoch {epoch}, step {step}; {checkpoint}lower the learning rate")
