"""Several workers train as one does: the same parameters, whatever their number and that of the micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import parameter_arrays
from gluon_attn.training.distributed import workers
from gluon_attn.training.distributed.joining import join
from gluon_attn.training.distributed.workers import Workers
from gluon_attn.training.loop import fit
from gluon_attn.training.objective import Batch, Objective, share_of_mean, share_of_sum
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import ReadOnlyRunDirectory, RunDirectory
from tests.gluon_attn.training.distributed.together import together

WORDS, ROWS, STEPS = 700, 9, 20
RECIPE = Recipe(epochs=10, batch_size=ROWS, learning_rate=0.01, warmup_steps=30, decay="cosine", clip_norm=0.05)


def network() -> nn.HybridSequential:
    """Embeddings with a row-sparse gradient over more rows than one block has, then dense layers."""
    net = nn.HybridSequential()
    net.add(
        nn.Embedding(WORDS, 4, sparse_grad=True), nn.Dense(5, activation="tanh", in_units=12), nn.Dense(1, in_units=5)
    )
    mx.random.seed(3)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def batches(generator: np.random.RandomState) -> Iterator[Batch]:
    """Batches of which the last of an epoch has two rows only."""
    for step in range(STEPS):
        rows = ROWS if step < STEPS - 1 else 2
        ids = generator.randint(0, WORDS, (rows, 3))
        yield Batch((ids.astype(np.int32),), (ids.sum(axis=1) % 2).astype(np.float32))


def squared(output: nd.NDArray, target: nd.NDArray) -> nd.NDArray:
    return (output.reshape((-1,)) - target) ** 2


def validation(model: HybridBlock) -> Mapping[str, float]:
    batch = next(batches(np.random.RandomState(99)))
    return {"error": float(squared(model(nd.array(batch.inputs[0])), nd.array(batch.target)).mean().asscalar())}


OBJECTIVE = Objective(batches, STEPS, squared, validation, "error", share=share_of_mean)


def trained(
    path: Path,
    recipe: Recipe = RECIPE,
    *,
    objective: Objective = OBJECTIVE,
    network: Callable[[], nn.HybridSequential] = network,
    micro_batches: int = 1,
    joined: Callable[[Workers], None] = lambda _: None,
    **how: Any,
) -> Any:
    """Parameters and history of a training by all workers that this process is one of, which join as asked for."""
    workers = join(**how)
    joined(workers)
    run = ReadOnlyRunDirectory(path) if workers.rank else RunDirectory(path, {}, resume=True)
    model = network()
    history = fit(model, objective, recipe, run, seed=1, workers=workers, micro_batches=micro_batches).history
    return parameter_arrays(model), [
        {name: row[name] for name in ("train_loss", "validation_error")} for row in history
    ]


def difference(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> float:
    return max(float(np.abs(one[name] - other[name]).max()) for name in one)


def test_two_workers_train_as_one_does(tmp_path: Path) -> None:
    """200 updates with clipping, a schedule, sparse and dense gradients, and batches smaller than usual."""
    alone, history = trained(tmp_path / "alone")
    (first, own), (second, other) = together(2, lambda: trained(tmp_path / "both"))
    assert difference(first, second) == 0.0
    assert difference(alone, first) < 1e-5
    assert difference(network_arrays(), first) > 0.05
    assert own == other
    for of_both, of_one in zip(own, history, strict=True):
        assert of_both == pytest.approx(of_one, abs=1e-5)


def test_large_arrays_are_sent_by_themselves_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = replace(RECIPE, epochs=1)
    (as_one, _), _ = together(2, lambda: trained(tmp_path / "small", short))
    monkeypatch.setattr(workers, "LARGE", 4)
    monkeypatch.setattr(workers, "BLOCK", 16)
    (first, _), (second, _) = together(2, lambda: trained(tmp_path / "large", short))
    assert difference(first, second) == difference(first, as_one) == 0.0
    assert difference(network_arrays(), first) > 0.001


def network_arrays() -> dict[str, np.ndarray]:
    return parameter_arrays(network())


@pytest.mark.slow
def test_four_workers_train_as_one_does_and_twice_to_the_bit(tmp_path: Path) -> None:
    """The order in which four gradients arrive differs from run to run; their sums do not."""
    alone, _ = trained(tmp_path / "alone")
    first = together(4, lambda: trained(tmp_path / "first")[0])
    second = together(4, lambda: trained(tmp_path / "second")[0])
    assert difference(alone, first[0]) < 1e-5
    assert all(difference(first[0], one) == 0.0 for one in [*first, *second])


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (4, 2)])
def test_training_resumes_on_another_number_of_workers(tmp_path: Path, before: int, after: int) -> None:
    steady = replace(RECIPE, decay="constant")
    alone, _ = trained(tmp_path / "alone", steady)

    def part(workers: int, epochs: int) -> Any:
        return together(workers, lambda: trained(tmp_path / "run", replace(steady, epochs=epochs)))[0]

    part(before, 4)
    resumed, history = part(after, 10)
    assert difference(alone, resumed) < 1e-5
    assert len(history) == 10


@pytest.mark.parametrize("micro_batches", [2, 5])
def test_a_batch_in_micro_batches_trains_as_at_once(tmp_path: Path, micro_batches: int) -> None:
    at_once, history = trained(tmp_path / "at once")
    in_micro_batches, own = trained(tmp_path / "in micro-batches", micro_batches=micro_batches)
    assert difference(at_once, in_micro_batches) < 1e-6
    assert [row["train_loss"] for row in own] == pytest.approx([row["train_loss"] for row in history], abs=1e-6)


@pytest.mark.slow
def test_two_workers_in_micro_batches_train_as_one_at_once(tmp_path: Path) -> None:
    alone, _ = trained(tmp_path / "alone")
    in_micro_batches, _ = together(2, lambda: trained(tmp_path / "both", micro_batches=3))[0]
    assert difference(alone, in_micro_batches) < 1e-5


def test_batches_that_cannot_be_divided_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be divided; train it on one worker"):
        trained(tmp_path / "a", objective=replace(OBJECTIVE, share=None), micro_batches=2)
    unknown = nn.HybridSequential()
    unknown.add(nn.Dense(1))
    unknown.initialize()
    with pytest.raises(UsageError, match=r"the shape of 0.weight is known only from a whole batch.*train it on one"):
        fit(unknown, OBJECTIVE, RECIPE, RunDirectory(tmp_path / "c", {}), seed=1, micro_batches=2)
    normalised = nn.HybridSequential()
    normalised.add(nn.BatchNorm(in_channels=3))
    normalised.initialize()
    moving = nn.Dense(1, in_units=2)  # as the baseline of hard attention, which the forward pass moves
    moving.baseline = moving.params.get("baseline", shape=(1,), grad_req="null")
    moving.initialize()
    for model, name in ((normalised, "0.running_mean"), (moving, "baseline")):
        with pytest.raises(UsageError, match=rf"keeps a statistic of whole batches \({name}\)"):
            fit(model, OBJECTIVE, RECIPE, RunDirectory(tmp_path / name, {}), seed=1, micro_batches=2)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 64])
@pytest.mark.parametrize("shares", [2, 3, 4])
def test_shares_have_each_row_once(rows: int, shares: int) -> None:
    whole = Batch((np.arange(rows), np.arange(rows) * 10), np.arange(rows) * 100)
    parts = [share_of_mean(whole, number, shares) for number in range(shares)]
    assert sum(part.weight for part in parts) == pytest.approx(1.0)
    assert all(len(part.batch.target) >= 1 for part in parts)
    counted = np.concatenate([part.batch.inputs[1] for part in parts if part.weight])
    np.testing.assert_array_equal(counted, whole.inputs[1])
    losses = np.random.RandomState(1).normal(size=rows)
    mean = sum(part.weight * losses[part.batch.target // 100].mean() for part in parts)
    assert mean == pytest.approx(losses.mean())


@pytest.mark.parametrize("shares", [2, 5])
def test_shares_of_a_sum_are_divided_by_the_count_of_the_whole_batch(shares: int) -> None:
    rows = np.array([3.0, 4.0, 8.0])
    whole = Batch((rows,), np.array([30.0], np.float32))
    parts = [share_of_sum(whole, number, shares) for number in range(shares)]
    total = sum(part.weight * (part.batch.inputs[0].sum() / part.batch.target).mean() for part in parts)
    assert total == pytest.approx(0.5)


def test_a_worker_with_other_parameters_is_noticed() -> None:
    def compare() -> str:
        workers = join()
        try:
            workers.check_same({"w": np.array([float(workers.rank > 0)])})
        except UsageError as error:
            return str(error)
        return ""

    messages = together(2, compare)
    assert sorted(messages) == [
        "",
        "worker 1 has other parameters than worker 0; use the same processors, or --profile portable",
    ]
