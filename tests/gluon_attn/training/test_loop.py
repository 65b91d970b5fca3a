"""The training loop: updates, model selection, early stopping, checkpoints and refusals."""

from __future__ import annotations

import csv
import json
import math
import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd
from mxnet.gluon import HybridBlock, nn
from mxnet.gluon.loss import L2Loss

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.runtime import derive
from gluon_attn.training.checkpoint import Checkpoint, parameter_arrays, parameters_sha256
from gluon_attn.training.loop import Trained, fit
from gluon_attn.training.objective import Batch, Objective, share_of_mean
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from tests.gluon_attn.support import array, normal

ROWS, STEPS = 24, 4
X = normal(ROWS, 3, seed=1)
Y = (X @ np.array([1.0, -2.0, 0.5], np.float32) + 0.3)[:, None]
RECIPE = Recipe(epochs=5, batch_size=ROWS // STEPS, learning_rate=0.05, optimizer="sgd")


class Interrupted(Exception):
    """Raised in place of whatever ends a process."""


def line() -> nn.Dense:
    """y = w x + b, from a fixed start."""
    model = nn.Dense(1, in_units=3)
    model.initialize()
    model.weight.set_data(array([[0.5, 0.5, 0.5]], "float32"))
    return model


def batches(generator: np.random.RandomState) -> Iterator[Batch]:
    for rows in np.split(generator.permutation(ROWS), STEPS):
        yield Batch((X[rows],), Y[rows])


def squared(outputs: nd.NDArray, target: nd.NDArray) -> nd.NDArray:
    return L2Loss()(outputs, target)


def metric_from(scores: list[float], metric: str = "accuracy") -> Callable[[HybridBlock], Mapping[str, float]]:
    """Predefined validation results, one per epoch."""
    remaining = iter(scores)
    return lambda model: {metric: next(remaining)}


def error(model: HybridBlock) -> dict[str, float]:
    return {"error": float(((model(array(X)).asnumpy() - Y) ** 2).mean())}


OBJECTIVE = Objective(batches, STEPS, squared, error, select="error")


def run_in(
    path: Path, *, objective: Objective = OBJECTIVE, recipe: Recipe = RECIPE, **how: Any
) -> tuple[nn.Dense, Trained]:
    model = line()
    return model, fit(model, objective, recipe, RunDirectory(path, {"seed": 1}, **how), seed=1)


def digest(model: HybridBlock) -> str:
    return parameters_sha256(parameter_arrays(model))


# --- updates ---


@pytest.mark.parametrize("schedule", [{}, {"warmup_steps": 6}, {"decay": "cosine"}])
def test_updates_match_the_textbook(tmp_path: Path, schedule: dict[str, Any]) -> None:
    """w <- w - rate(step) * mean gradient of the batch; the loss in the history is the mean over steps."""
    recipe = replace(RECIPE, **schedule)
    scores = metric_from([1.0, 2.0, 3.0, 4.0, 5.0])
    model, trained = run_in(tmp_path, objective=Objective(batches, STEPS, squared, scores), recipe=recipe)
    w, b = np.full((3, 1), 0.5), 0.0
    for epoch in range(1, 6):
        generator = np.random.RandomState(derive(1, "batches", epoch))
        losses = []
        for number, batch in enumerate(batches(generator)):
            x = batch.inputs[0].astype(np.float64)
            residual = x @ w + b - batch.target
            losses.append(float((residual**2).mean() / 2))
            rate = recipe.rate((epoch - 1) * STEPS + number, 5 * STEPS)
            w, b = w - rate * x.T @ residual / len(x), b - rate * float(residual.mean())
        assert trained.history[epoch - 1]["train_loss"] == pytest.approx(np.mean(losses), rel=1e-4)
    np.testing.assert_allclose(model.weight.data().asnumpy(), w.T, rtol=1e-4)
    np.testing.assert_allclose(model.bias.data().asnumpy(), b, rtol=1e-4, atol=1e-6)


# --- clipping ---


@pytest.mark.parametrize("clip_norm", [0.05, 1.5])
def test_clipped_updates_match_the_textbook(tmp_path: Path, clip_norm: float) -> None:
    """g <- g * clip / |g| where |g| > clip, with one norm over all parameters; 1.5 clips only some of the steps."""
    recipe = replace(RECIPE, clip_norm=clip_norm, warmup_steps=3)
    model, _ = run_in(tmp_path, recipe=recipe)
    w, b, clipped = np.full((3, 1), 0.5), 0.0, []
    for epoch in range(1, 6):
        for number, batch in enumerate(batches(np.random.RandomState(derive(1, "batches", epoch)))):
            x = batch.inputs[0].astype(np.float64)
            residual = x @ w + b - batch.target
            gradient, of_bias = x.T @ residual / len(x), float(residual.mean())
            norm = math.sqrt(float((gradient**2).sum()) + of_bias**2)
            clipped.append(norm > clip_norm)
            rate = recipe.rate((epoch - 1) * STEPS + number, 5 * STEPS) * min(1.0, clip_norm / norm)
            w, b = w - rate * gradient, b - rate * of_bias
    assert all(clipped) if clip_norm == 0.05 else 0 < sum(clipped) < len(clipped)
    np.testing.assert_allclose(model.weight.data().asnumpy(), w.T, rtol=1e-4)
    np.testing.assert_allclose(model.bias.data().asnumpy(), b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_norm_that_is_never_reached_changes_no_bit(tmp_path: Path, optimizer: str) -> None:
    recipe = replace(RECIPE, optimizer=optimizer)
    free, _ = run_in(tmp_path / "free", recipe=recipe)
    unclipped, _ = run_in(tmp_path / "held", recipe=replace(recipe, clip_norm=1e6))
    low, _ = run_in(tmp_path / "low", recipe=replace(recipe, clip_norm=1e-3))
    assert digest(free) == digest(unclipped) != digest(low)


class Bag(HybridBlock):
    """The sum of the vectors of some ids, and one of its entries: a sparse gradient and a dense one."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(9, 3, sparse_grad=True)
            self.output = nn.Dense(1, in_units=3)

    def hybrid_forward(self, F: Any, ids: Any) -> Any:
        return self.output(F.sum(self.embedding(ids), axis=1))


@pytest.mark.parametrize("clip_norm", [0.02, 1e6])
@pytest.mark.parametrize("hybridized", [False, True])
def test_rows_of_a_sparse_gradient_are_part_of_the_norm(tmp_path: Path, clip_norm: float, hybridized: bool) -> None:
    """An id that occurs twice in a batch has one row, the sum of both; rows without a gradient stay as they are."""
    ids = np.array([[1, 4, 1], [4, 7, 2]], np.int32)
    target = np.array([[3.0], [-2.0]], np.float32)
    model = Bag()
    model.initialize()
    model.embedding.weight.set_data(array(normal(9, 3, seed=1)))
    model.output.weight.set_data(array(normal(1, 3, seed=2)))
    model.hybridize(hybridized, static_alloc=True, static_shape=True)
    before = {name: one.astype(np.float64) for name, one in parameter_arrays(model).items()}

    e, v, b = (before[name] for name in ("embedding.weight", "output.weight", "output.bias"))
    summed = e[ids].sum(axis=1)
    residual = (summed @ v.T + b - target) / len(ids)
    gradients = {
        "embedding.weight": np.zeros_like(e),
        "output.weight": residual.T @ summed,
        "output.bias": residual.sum(0),
    }
    for row in range(2):
        for one in ids[row]:
            gradients["embedding.weight"][one] += residual[row] * v[0]
    norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in gradients.values()))
    assert 0.02 < norm < 1e6

    objective = Objective(lambda _: [Batch((ids,), target)], 1, squared, metric_from([1.0]))
    recipe = replace(RECIPE, epochs=1, clip_norm=clip_norm)
    fit(model, objective, recipe, RunDirectory(tmp_path, {}), seed=1)
    assert model.embedding.weight.list_grad()[0].stype == "row_sparse"
    for name, values in parameter_arrays(model).items():
        change = 0.05 * min(1.0, clip_norm / norm) * gradients[name]
        np.testing.assert_allclose(values - before[name], -change, rtol=2e-3, atol=2e-7, err_msg=name)


def test_an_interrupted_run_with_clipping_ends_like_an_uninterrupted_one(tmp_path: Path) -> None:
    recipe = replace(RECIPE, optimizer="adam", clip_norm=0.3, warmup_steps=6)
    expected, _ = run_in(tmp_path / "whole", recipe=recipe)
    with pytest.raises(Interrupted):
        run_in(tmp_path / "parts", objective=interrupted_in(OBJECTIVE, 3, at="batches"), recipe=recipe)
    model, _ = run_in(tmp_path / "parts", recipe=recipe, resume=True)
    assert digest(model) == digest(expected)


def test_a_nan_gradient_is_not_clipped_into_a_number(tmp_path: Path) -> None:
    run_in(tmp_path / "two", recipe=replace(RECIPE, epochs=2, clip_norm=0.1))
    with pytest.raises(UsageError, match="epoch 3, step 2;"):
        run_in(tmp_path / "bad", objective=poisoned(3, 2, np.nan), recipe=replace(RECIPE, clip_norm=0.1))
    last, good = (Checkpoint(tmp_path / name / "checkpoint.npz").group("parameters") for name in ("bad", "two"))
    assert parameters_sha256(last) == parameters_sha256(good)


def test_a_last_batch_may_be_smaller(tmp_path: Path) -> None:
    def uneven(generator: np.random.RandomState) -> Iterator[Batch]:
        order = generator.permutation(ROWS)
        for rows in (order[:20], order[20:]):
            yield Batch((X[rows],), Y[rows])

    _, trained = run_in(tmp_path, objective=replace(OBJECTIVE, batches=uneven, steps=2))
    assert trained.history[-1]["validation_error"] < trained.history[0]["validation_error"]


def test_the_result_depends_on_the_seed_and_not_on_the_process(tmp_path: Path) -> None:
    first, _ = run_in(tmp_path / "first")
    np.random.seed(99)
    nd.random.uniform(shape=(5,)).wait_to_read()
    second, _ = run_in(tmp_path / "second")
    other = line()
    fit(other, OBJECTIVE, RECIPE, RunDirectory(tmp_path / "other", {}), seed=2)
    assert digest(first) == digest(second) != digest(other)


# --- selection ---


@pytest.mark.parametrize(
    ("scores", "metric", "best"),
    [
        ([1, 5, 3, 4, 2], "accuracy", 2),
        ([5, 1, 3, 2, 4], "error", 2),
        ([1, 2, 2, 2, 2], "accuracy", 2),  # The earliest of equals.
        ([9, 1, 2, 3, 4], "bleu", 1),
        ([1, 2, 3, 4, 5], "accuracy", 5),
        ([-3, -1, -2, -5, -4], "accuracy", 2),
        ([0, 0, 0, 0, 0], "perplexity", 1),
    ],
)
def test_the_best_epoch_is_restored(tmp_path: Path, scores: list[float], metric: str, best: int) -> None:
    seen: list[str] = []
    written = metric_from([float(score) for score in scores], metric)

    def evaluate(model: HybridBlock) -> Mapping[str, float]:
        seen.append(digest(model))
        return written(model)

    model, trained = run_in(tmp_path, objective=Objective(batches, STEPS, squared, evaluate, select=metric))
    assert trained.best_epoch == best
    assert digest(model) == seen[best - 1]
    assert len(set(seen)) == 5
    saved = Checkpoint(tmp_path / "checkpoint.npz")
    assert parameters_sha256(saved.group("best")) == seen[best - 1]
    assert parameters_sha256(saved.group("parameters")) == seen[-1]


@pytest.mark.parametrize(
    ("scores", "patience", "epochs"),
    [([3, 2, 1, 4, 5], 2, 3), ([3, 2, 4, 3, 3], 2, 5), ([3, 2, 4, 5, 6], 1, 2), ([3, 3, 9, 9, 9], 1, 2)],
)
def test_training_ends_when_patience_is_exhausted(
    tmp_path: Path, scores: list[float], patience: int, epochs: int
) -> None:
    """A finished run that is resumed does not continue."""
    objective = Objective(batches, STEPS, squared, metric_from([float(score) for score in scores]))
    recipe = replace(RECIPE, patience=patience)
    model, trained = run_in(tmp_path, objective=objective, recipe=recipe)
    assert len(trained.history) == epochs
    before = (tmp_path / "checkpoint.npz").read_bytes()
    again, resumed = run_in(tmp_path, objective=objective, recipe=recipe, resume=True)
    assert (resumed.history, resumed.best_epoch) == (trained.history, trained.best_epoch)
    assert digest(again) == digest(model)
    assert (tmp_path / "checkpoint.npz").read_bytes() == before


# --- what a run writes ---


def test_metrics_have_one_row_per_epoch_in_both_files(tmp_path: Path) -> None:
    _, trained = run_in(tmp_path)
    rows = [json.loads(row) for row in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows == trained.history
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5]
    assert list(rows[0]) == ["epoch", "train_loss", "seconds", "cpu_seconds", "validation_error"]
    with (tmp_path / "metrics.csv").open(encoding="utf-8", newline="") as stream:
        table = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)]
    assert table == rows
    assert b"\r" not in (tmp_path / "metrics.csv").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["checkpoint.npz", "config.json", "metrics.csv", "metrics.jsonl"]
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)


def test_epochs_of_an_older_version_may_lack_a_column(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run", {}, resume=False, overwrite=False)
    run.write_metrics([{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.0, "cpu_seconds": 3.0}])
    table = (tmp_path / "run" / "metrics.csv").read_text(encoding="utf-8")
    assert table == "epoch,loss,cpu_seconds\n1,2.0,\n2,1.0,3.0\n"


def test_a_checkpoint_contains_arrays_and_json_only(tmp_path: Path) -> None:
    run_in(tmp_path, recipe=replace(RECIPE, optimizer="adam"))
    with np.load(tmp_path / "checkpoint.npz", allow_pickle=False) as arrays:
        assert not any(arrays[name].dtype.hasobject for name in arrays.files)
        groups = {name.split("/")[0] for name in arrays.files}
    assert groups == {"parameters", "best", "optimizer", "state"}
    saved = Checkpoint(tmp_path / "checkpoint.npz")
    assert saved.state["seed"] == 1 and saved.group("optimizer")["count"] == 5 * STEPS


# --- interruptions ---


def interrupted_in(objective: Objective, epoch: int, *, at: str) -> Objective:
    """The objective, interrupted in ``epoch``: between two batches, or during validation."""
    epochs = 0

    def breaking_batches(generator: np.random.RandomState) -> Iterator[Batch]:
        nonlocal epochs
        epochs += 1
        for number, batch in enumerate(objective.batches(generator)):
            if (at, number, epochs) == ("batches", 2, epoch):
                raise Interrupted
            yield batch

    def breaking_evaluate(model: HybridBlock) -> Mapping[str, float]:
        if (at, epochs) == ("evaluate", epoch):
            raise Interrupted
        return objective.evaluate(model)

    return replace(objective, batches=breaking_batches, evaluate=breaking_evaluate)


def without_seconds(path: Path) -> list[dict[str, float]]:
    rows = [json.loads(row) for row in (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    with (path / "metrics.csv").open(encoding="utf-8", newline="") as stream:
        table = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)]
    assert table == rows
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]


@pytest.mark.parametrize("at", ["batches", "evaluate"])
@pytest.mark.parametrize("epoch", [1, 3, 5])
def test_an_interrupted_run_ends_like_an_uninterrupted_one(tmp_path: Path, at: str, epoch: int) -> None:
    recipe = replace(RECIPE, optimizer="adam", warmup_steps=6, decay="cosine")
    expected, trained = run_in(tmp_path / "whole", recipe=recipe)
    path = tmp_path / "parts"
    with pytest.raises(Interrupted):
        run_in(path, objective=interrupted_in(OBJECTIVE, epoch, at=at), recipe=recipe)
    if epoch == 1:
        assert not (path / "checkpoint.npz").exists()
    else:
        assert len(Checkpoint(path / "checkpoint.npz").state["history"]) == epoch - 1
        assert len(without_seconds(path)) == epoch - 1
    model, resumed = run_in(path, recipe=recipe, resume=True)
    assert digest(model) == digest(expected)
    assert resumed.best_epoch == trained.best_epoch
    assert without_seconds(path) == without_seconds(tmp_path / "whole")
    last, whole = (Checkpoint(tmp_path / name / "checkpoint.npz") for name in ("parts", "whole"))
    for group in ("parameters", "best", "optimizer"):
        assert parameters_sha256(last.group(group)) == parameters_sha256(whole.group(group)), group


@pytest.mark.parametrize("epoch", [2, 5])
def test_metrics_lost_between_two_writes_are_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epoch: int
) -> None:
    """The checkpoint of the epoch exists, its row does not: after the last epoch, nothing else would write it."""
    run_in(tmp_path / "whole")
    write = RunDirectory.write_metrics

    def stop(run: RunDirectory, history: list[dict[str, float]]) -> None:
        if len(history) == epoch:
            raise Interrupted
        write(run, history)

    monkeypatch.setattr(RunDirectory, "write_metrics", stop)
    with pytest.raises(Interrupted):
        run_in(tmp_path / "parts")
    monkeypatch.undo()
    run_in(tmp_path / "parts", resume=True)
    assert without_seconds(tmp_path / "parts") == without_seconds(tmp_path / "whole")


@pytest.mark.parametrize(
    "optimizer", ["sgd", "nag", "adam", "adagrad", "adadelta", "adamax", "ftml", "ftrl", "lamb", "rmsprop", "nadam"]
)
def test_every_optimizer_is_resumed_exactly_or_refused_at_the_start(tmp_path: Path, optimizer: str) -> None:
    """MXNet's optimizers have no state, an array, several arrays, or numbers of their own."""
    recipe = replace(RECIPE, epochs=3, optimizer=optimizer, learning_rate=0.01)
    if optimizer == "nadam":
        with pytest.raises(UsageError, match=optimizer):
            run_in(tmp_path / "whole", recipe=recipe)
        return
    expected, _ = run_in(tmp_path / "whole", recipe=recipe)
    with pytest.raises(Interrupted):
        run_in(tmp_path / "parts", objective=interrupted_in(OBJECTIVE, 3, at="batches"), recipe=recipe)
    model, _ = run_in(tmp_path / "parts", recipe=recipe, resume=True)
    assert digest(model) == digest(expected)


# --- NaN ---


def poisoned(epoch: int, step: int, value: float) -> Objective:
    """A NaN target at one step."""
    epochs = 0

    def with_poison(generator: np.random.RandomState) -> Iterator[Batch]:
        nonlocal epochs
        epochs += 1
        for number, batch in enumerate(batches(generator), start=1):
            bad = np.full_like(batch.target, value)
            yield replace(batch, target=bad) if (epochs, number) == (epoch, step) else batch

    return replace(OBJECTIVE, batches=with_poison)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("epoch", "step"), [(1, 1), (3, 2), (3, STEPS)])
def test_a_nan_loss_stops_the_run_and_names_the_step(tmp_path: Path, epoch: int, step: int, value: float) -> None:
    run_in(tmp_path / "two", recipe=replace(RECIPE, epochs=2))
    with pytest.raises(UsageError, match=rf"epoch {epoch}, step {step};") as raised:
        run_in(tmp_path / "bad", objective=poisoned(epoch, step, value))
    assert "\n" not in str(raised.value)
    if epoch == 1:
        assert not (tmp_path / "bad" / "checkpoint.npz").exists()
    else:
        last, good = (Checkpoint(tmp_path / name / "checkpoint.npz").group("parameters") for name in ("bad", "two"))
        assert parameters_sha256(last) == parameters_sha256(good)
        assert len(without_seconds(tmp_path / "bad")) == 2


def test_a_nan_update_does_not_replace_the_last_good_checkpoint(tmp_path: Path) -> None:
    """The last loss of an epoch may be finite while its gradient is not: that of the square root at 0."""
    calls = 0

    def root(outputs: nd.NDArray, target: nd.NDArray) -> nd.NDArray:
        nonlocal calls
        calls += 1
        return squared(outputs, target) + (nd.sqrt(0 * outputs).sum() if calls == 2 * STEPS else 0)

    run_in(tmp_path / "one", recipe=replace(RECIPE, epochs=1))
    with pytest.raises(UsageError, match="epoch") as raised:
        run_in(tmp_path / "bad", objective=replace(OBJECTIVE, loss=root))
    assert "\n" not in str(raised.value)
    last, good = (Checkpoint(tmp_path / name / "checkpoint.npz").group("parameters") for name in ("bad", "one"))
    assert all(np.isfinite(values).all() for values in last.values())
    assert parameters_sha256(last) == parameters_sha256(good)


@pytest.mark.parametrize("epoch", [1, 2])
def test_a_nan_validation_result_is_never_the_best(tmp_path: Path, epoch: int) -> None:
    scores = [50.0, 60.0]
    scores[epoch - 1] = math.nan
    objective = replace(OBJECTIVE, evaluate=metric_from(scores), select="accuracy")
    with pytest.raises(UsageError, match=rf"validation accuracy is nan at epoch {epoch}, step {STEPS};"):
        run_in(tmp_path / "run", objective=objective, recipe=replace(RECIPE, epochs=2))
    assert (tmp_path / "run" / "checkpoint.npz").exists() == (epoch == 2)


def test_no_metric_may_be_nan_and_the_selecting_one_must_be_measured(tmp_path: Path) -> None:
    objective = replace(OBJECTIVE, evaluate=lambda model: {"error": 1.0, "loss": math.nan})
    with pytest.raises(UsageError, match="validation loss is nan at epoch 1"):
        run_in(tmp_path / "nan", objective=objective)
    with pytest.raises(UsageError, match="validation measures loss, not error, which selects the epoch"):
        run_in(tmp_path / "other", objective=replace(OBJECTIVE, evaluate=lambda model: {"loss": 1.0}))


def test_the_metrics_of_a_model_without_parameters_are_checked_too(tmp_path: Path) -> None:
    objective = replace(OBJECTIVE, evaluate=lambda model: {"error": math.nan})
    with pytest.raises(UsageError, match="validation error is nan at epoch 1"):
        fit(nn.Flatten(), objective, RECIPE, RunDirectory(tmp_path, {"seed": 1}), seed=1)
    assert not (tmp_path / "checkpoint.npz").exists()


def test_a_metric_of_numpy_is_written(tmp_path: Path) -> None:
    _, trained = run_in(tmp_path, objective=replace(OBJECTIVE, evaluate=lambda model: {"error": np.float32(0.5)}))
    assert [epoch["validation_error"] for epoch in trained.history] == [0.5] * 5


def test_a_metric_without_a_known_direction_selects_nothing() -> None:
    with pytest.raises(UsageError, match="metric 'nll' cannot select an epoch; choose one of accuracy, "):
        replace(OBJECTIVE, select="nll")


def test_a_training_in_micro_batches_leaves_no_trace_in_the_next(tmp_path: Path) -> None:
    model = line()
    for micro_batches in (2, 1):
        run = RunDirectory(tmp_path / str(micro_batches), {})
        fit(
            model,
            replace(OBJECTIVE, share=share_of_mean),
            replace(RECIPE, epochs=1),
            run,
            seed=1,
            micro_batches=micro_batches,
        )
        assert {one.grad_req for one in model.collect_params().values()} == {"add" if micro_batches > 1 else "write"}


@pytest.mark.parametrize("steps", [STEPS - 1, STEPS + 1])
def test_an_epoch_has_as_many_batches_as_the_objective_declares(tmp_path: Path, steps: int) -> None:
    with pytest.raises(UsageError, match=rf"epoch 1 had {STEPS} batches, the objective states {steps};"):
        run_in(tmp_path / "run", objective=replace(OBJECTIVE, steps=steps))
    assert not (tmp_path / "run" / "checkpoint.npz").exists()


def test_an_unknown_optimizer_is_refused_before_training(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'adamm' is unknown; choose one of .*adam, "):
        run_in(tmp_path / "run", recipe=replace(RECIPE, optimizer="adamm"))


# --- the folder of a run ---


def test_a_run_is_not_overwritten_by_default(tmp_path: Path) -> None:
    run_in(tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(UsageError, match=r"--resume.*--overwrite") as raised:
        RunDirectory(tmp_path / "run", {"seed": 1})
    assert str(tmp_path / "run") in str(raised.value) and "\n" not in str(raised.value)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_overwriting_starts_from_scratch(tmp_path: Path) -> None:
    run_in(tmp_path / "run", recipe=replace(RECIPE, epochs=2))
    expected, _ = run_in(tmp_path / "fresh")
    model, trained = run_in(tmp_path / "run", overwrite=True)
    assert len(trained.history) == 5 and digest(model) == digest(expected)


@pytest.mark.parametrize(
    ("changed", "keys"),
    [
        ({"seed": 2}, "seed"),
        ({"recipe": {"epochs": 6, "rates": [0.1, 0.2]}}, "recipe"),
        ({"seed": 2, "corpus": "sample"}, "corpus, seed"),
        ({"new": None, "seed": 9}, "seed"),
    ],
)
def test_another_configuration_is_not_resumed_and_the_keys_are_named(
    tmp_path: Path, changed: dict[str, Any], keys: str
) -> None:
    config = {"seed": 1, "corpus": "nsmc", "recipe": {"epochs": 5, "rates": (0.1, 0.2)}, "name": "한국어"}
    RunDirectory(tmp_path / "run", config)
    RunDirectory(tmp_path / "run", config, resume=True)  # The same again, with tuples.
    before = (tmp_path / "run" / "config.json").read_bytes()
    with pytest.raises(UsageError, match=f"differs in {keys};") as raised:
        RunDirectory(tmp_path / "run", {**config, **changed}, resume=True)
    assert "\n" not in str(raised.value)
    assert (tmp_path / "run" / "config.json").read_bytes() == before
    assert json.loads(before)["name"] == "한국어" and "한국어".encode() in before


def test_resuming_an_empty_folder_starts_a_run(tmp_path: Path) -> None:
    _, trained = run_in(tmp_path / "new" / "run", resume=True)
    assert len(trained.history) == 5


def test_remains_of_an_interrupted_overwrite_are_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process dies with the old run half deleted; the new one must not continue from the old checkpoint."""
    run_in(tmp_path / "run", recipe=replace(RECIPE, epochs=2, learning_rate=0.5))
    (tmp_path / "run" / "outcome.json").write_text("{}", encoding="utf-8")
    expected, _ = run_in(tmp_path / "fresh")

    def delete_a_part(folder: Path, **_: Any) -> None:
        if (folder / "config.json").exists():
            (folder / "config.json").unlink()
            raise Interrupted

    monkeypatch.setattr(shutil, "rmtree", delete_a_part)
    with pytest.raises(Interrupted):
        run_in(tmp_path / "run", overwrite=True)
    monkeypatch.undo()
    model, trained = run_in(tmp_path / "run")
    assert len(trained.history) == 5 and digest(model) == digest(expected)
    assert sorted(os.listdir(tmp_path / "run")) == sorted(os.listdir(tmp_path / "fresh"))


def test_a_damaged_checkpoint_is_not_resumed(tmp_path: Path) -> None:
    run_in(tmp_path)
    content = (tmp_path / "checkpoint.npz").read_bytes()
    (tmp_path / "checkpoint.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(UsageError, match=r"checkpoint\.npz: damaged") as raised:
        run_in(tmp_path, resume=True)
    assert "\n" not in str(raised.value)
    assert (tmp_path / "checkpoint.npz").read_bytes() == content[: len(content) // 2]


def test_a_model_without_gradients_is_validated_and_saved(tmp_path: Path) -> None:
    model = line()
    model.collect_params().setattr("grad_req", "null")
    values = parameter_arrays(model)
    run = RunDirectory(tmp_path, {}, resume=False, overwrite=False)
    objective = Objective(lambda _: (), 0, squared, metric_from([70.0]))
    trained = fit(model, objective, RECIPE, run, seed=1)
    assert (trained.history, trained.best_epoch) == ([{"epoch": 1, "validation_accuracy": 70.0}], 1)
    saved = Checkpoint(run.checkpoint).group("best")
    assert parameters_sha256(saved) == parameters_sha256(values) == parameters_sha256(parameter_arrays(model))


def test_every_epoch_draws_anew_by_its_own_seed(tmp_path: Path) -> None:
    """Dropout and the like: NumPy's, MXNet's and Python's generators begin each epoch from (seed, epoch)."""

    def draws() -> tuple[float, float, float]:
        return random.random(), float(np.random.random_sample()), float(mx.nd.random.uniform().asscalar())

    drawn: list[tuple[float, float, float]] = []

    def drawing(generator: np.random.RandomState) -> Iterator[Batch]:
        drawn.append(draws())
        yield from batches(generator)

    run_in(tmp_path, objective=replace(OBJECTIVE, batches=drawing))
    expected = []
    for epoch in range(1, RECIPE.epochs + 1):
        runtime.seed_all(runtime.derive(1, "epoch", epoch))
        expected.append(draws())
    assert drawn == expected and len(set(drawn)) == RECIPE.epochs
