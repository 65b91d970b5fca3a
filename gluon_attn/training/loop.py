"""The training loop that every script shares: seeded by epoch, checked at each step, saved whole, resumable."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import autograd, nd
from mxnet.gluon import HybridBlock
from tqdm import tqdm

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.training import checkpoint
from gluon_attn.training.objective import Batch, Objective
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory


@dataclass
class Trained:
    """What a finished run leaves: the epochs' metrics, the number of the best one, and time spent training."""

    history: list[dict[str, float]]
    best_epoch: int
    seconds: float


# MXNet's Nadam multiplies up its momentum schedule in a private attribute.
_NOT_RESUMABLE = ("nadam",)


def fit(
    model: HybridBlock,
    objective: Objective,
    recipe: Recipe,
    run: RunDirectory,
    *,
    seed: int,
    label: str = "",
    log: Callable[[str], None] | None = None,
) -> Trained:
    """Train an initialized model and leave it with the parameters of its best epoch.

    Every epoch draws from generators seeded by (seed, epoch), and the checkpoint at its end holds all that the next one
    reads. So a run that was killed at any instant and is started again ends with the same parameters, bit for bit.
    ``log`` gets a line after each epoch, which begins with ``label``.

    Raises:
        UsageError: the optimizer is unknown or cannot be resumed; the loss, a parameter or the validation result is not
            a number, or an epoch had other than ``objective.steps`` batches: the checkpoint of the epoch before stays.
    """
    if recipe.optimizer in _NOT_RESUMABLE:
        raise UsageError(f"optimizer {recipe.optimizer} keeps numbers that no checkpoint holds; choose adam or another")
    if recipe.optimizer not in mx.optimizer.Optimizer.opt_registry:
        known = ", ".join(sorted(mx.optimizer.Optimizer.opt_registry))
        raise UsageError(f"optimizer {recipe.optimizer!r} is unknown; choose one of {known}")
    optimizer = mx.optimizer.create(recipe.optimizer, learning_rate=recipe.learning_rate)
    updater = mx.optimizer.get_updater(optimizer)
    trained = [(name, one) for name, one in checkpoint.named_parameters(model) if one.grad_req != "null"]
    parameters = [parameter for _, parameter in trained]
    history: list[dict[str, float]] = []
    best: dict[str, np.ndarray] = {}
    best_epoch, spent = 0, 0.0
    if run.checkpoint.exists():
        saved = checkpoint.Checkpoint(run.checkpoint)
        arrays = saved.group("parameters")
        checkpoint.set_parameters(model, arrays)
        best = saved.group("best")
        history, best_epoch, spent = saved.state["history"], saved.state["best_epoch"], saved.state["seconds"]
        _restore_updater(updater, saved, [arrays[name] for name, _ in trained])
        run.write_metrics(history)  # the run may have been killed between its checkpoint and its metrics

    sign = 1.0 if objective.higher_is_better else -1.0
    for epoch in range(len(history) + 1, recipe.epochs + 1):
        if epoch - best_epoch > recipe.patience:
            break
        started = time.perf_counter()
        runtime.seed_all(runtime.derive(seed, "epoch", epoch))
        batches = objective.batches(np.random.RandomState(runtime.derive(seed, "batches", epoch)))
        losses = _steps(model, objective, recipe, updater, parameters, batches, epoch, label)
        if len(losses) != objective.steps:
            raise UsageError(
                f"epoch {epoch} had {len(losses)} batches, the objective states {objective.steps}; make them agree"
            )
        train_loss = sum(losses) / objective.steps
        arrays = checkpoint.parameter_arrays(model)
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise _diverged("a parameter is not a number", epoch, objective.steps)
        spent += time.perf_counter() - started
        metrics = objective.evaluate(model)
        history.append(
            {"epoch": epoch, "train_loss": train_loss, "seconds": round(spent, 3)}
            | {f"validation_{name}": value for name, value in metrics.items()}
        )
        score = f"validation_{objective.select}"
        if not math.isfinite(history[-1][score]):
            raise _diverged(f"the {score.replace('_', ' ')} is {history[-1][score]}", epoch, objective.steps)
        if best_epoch == 0 or sign * history[-1][score] > sign * history[best_epoch - 1][score]:
            best_epoch, best = epoch, arrays
        checkpoint.save(
            run.checkpoint,
            {"parameters": arrays, "best": best, "optimizer": _optimizer_arrays(updater)},
            {
                "history": history,
                "best_epoch": best_epoch,
                "seconds": spent,
                "seed": seed,
                "updates": optimizer.num_update,
                "update_counts": sorted(optimizer._index_update_count.items()),
            },
        )
        run.write_metrics(history)
        if log:
            reached = f"loss {train_loss:.4f}, validation {objective.select} {history[-1][score]:.2f}"
            log(f"{label}: epoch {epoch} of {recipe.epochs}, {reached}, {spent:.0f} s")
    checkpoint.set_parameters(model, best)
    return Trained(history, best_epoch, spent)


def _steps(
    model: HybridBlock,
    objective: Objective,
    recipe: Recipe,
    updater: Any,
    parameters: list[Any],
    batches: Iterable[Batch],
    epoch: int,
    label: str,
) -> list[float]:
    """One epoch of updates; the mean loss of each step."""
    losses: list[float] = []
    pending: nd.NDArray | None = None
    bar = tqdm(
        batches, total=objective.steps, desc=f"{label} epoch {epoch}", leave=False, disable=not sys.stderr.isatty()
    )
    for number, batch in enumerate(bar):
        step = (epoch - 1) * objective.steps + number
        updater.optimizer.set_learning_rate(recipe.rate(step, recipe.epochs * objective.steps))
        target = nd.array(batch.target, dtype=batch.target.dtype)
        with autograd.record():
            mean = objective.loss(model(*(nd.array(value, dtype=value.dtype) for value in batch.inputs)), target).mean()
        mean.backward()
        if recipe.clip_norm is not None:
            norm = _norm(parameters)
            if not math.isfinite(norm):
                raise _diverged(f"the gradient's norm is {norm}", epoch, number + 1)
            updater.optimizer.rescale_grad = min(1.0, recipe.clip_norm / max(norm, 1e-12))
        for index, parameter in enumerate(parameters):
            updater(index, parameter.grad(), parameter.data())
        # The loss is read one step late, so that this thread prepares a batch while the engine computes.
        if pending is not None:
            losses.append(_finite(pending, epoch, number))
            bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
        pending = mean
    if pending is not None:
        losses.append(_finite(pending, epoch, objective.steps))
    return losses


def _norm(parameters: list[Any]) -> float:
    """Euclidean norm of all gradients; of a sparse one only the rows that are there are read."""
    gradients = [parameter.grad() for parameter in parameters]
    dense = [gradient.data if gradient.stype == "row_sparse" else gradient for gradient in gradients]
    squares = nd.multi_sum_sq(*dense, num_arrays=len(dense)).asnumpy()
    return math.sqrt(float(squares.sum(dtype=np.float64)))


def _finite(loss: nd.NDArray, epoch: int, step: int) -> float:
    value = float(loss.asscalar())
    if not math.isfinite(value):
        raise _diverged(f"the loss is {value}", epoch, step)
    return value


def _diverged(what: str, epoch: int, step: int) -> UsageError:
    stays = f"the checkpoint of epoch {epoch - 1} stays; " if epoch > 1 else ""
    return UsageError(f"{what} at epoch {epoch}, step {step}; {stays}lower the learning rate")


def _optimizer_arrays(updater: Any) -> dict[str, np.ndarray]:
    """The optimizer's state of each parameter, flattened to arrays named ``<parameter>.<slot>``."""
    arrays: dict[str, np.ndarray] = {}
    for index, state in sorted(updater.states.items()):
        for slot, array in enumerate(_slots(state)):
            arrays[f"{index}.{slot}"] = array.asnumpy()
    return arrays


def _slots(state: Any) -> Iterator[nd.NDArray]:
    if isinstance(state, nd.NDArray):
        yield state
    elif state is not None:
        for part in state:
            yield from _slots(part)


def _restore_updater(updater: Any, saved: checkpoint.Checkpoint, weights: list[np.ndarray]) -> None:
    """Fill fresh states of the optimizer's own shape with what :func:`_optimizer_arrays` has saved."""
    arrays = saved.group("optimizer")
    for index in sorted({int(name.split(".")[0]) for name in arrays}):
        state = updater.optimizer.create_state_multi_precision(index, nd.array(weights[index]))
        for slot, target in enumerate(_slots(state)):
            target[:] = nd.array(arrays[f"{index}.{slot}"], dtype=target.dtype)
        updater.states[index] = state
        updater.states_synced[index] = True
    updater.optimizer.num_update = saved.state["updates"]
    updater.optimizer._index_update_count.update({index: count for index, count in saved.state["update_counts"]})
