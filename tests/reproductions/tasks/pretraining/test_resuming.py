"""Pretraining that was interrupted and is resumed ends with the same bytes as pretraining that was not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gluon_attn import runtime
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.loop import fit
from gluon_attn.training.objective import Batch, Objective
from gluon_attn.training.run_directory import RunDirectory
from reproductions.devlin2018 import REPRODUCTION
from reproductions.tasks.pretraining.bert_settings import PretrainingData

CPU, SMOKE = (REPRODUCTION.preset(name).variant("pretraining") for name in ("cpu", "smoke"))
TASK = REPRODUCTION.preset("smoke").task("pretraining")
# Dropout too, whose masks are drawn by MXNet, and the optimizer and schedule of the network that is published.
SETTINGS = replace(SMOKE.settings, dropout=0.1)
RECIPE = replace(CPU.recipe, epochs=2, batch_tokens=SMOKE.recipe.batch_tokens, warmup_steps=4)
STEPS = SETTINGS.steps


class Interrupted(Exception):
    """Raised in place of whatever ends a process."""


@pytest.fixture(scope="module")
def data() -> PretrainingData:
    return TASK.prepare(SETTINGS, sample=True)


def pretrain(folder: Path, data: PretrainingData, *, updates: int | None = None) -> Checkpoint:
    """Pretrain in a folder, from its checkpoint if it has one, and interrupt it after so many updates."""
    runtime.seed_all(1)
    model = SETTINGS.build(data)
    SETTINGS.initialize(model, data)
    model.hybridize(static_alloc=True, static_shape=True)
    objective = TASK.objective(SETTINGS, RECIPE, data)
    if updates is not None:
        objective = interrupted(objective, updates)
    fit(model, objective, RECIPE, RunDirectory(folder, {}, resume=True), seed=1)
    return Checkpoint(folder / "checkpoint.npz")


def interrupted(objective: Objective, updates: int) -> Objective:
    made = 0

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        nonlocal made
        for batch in objective.batches(generator):
            if made == updates:
                raise Interrupted
            made += 1
            yield batch

    return replace(objective, batches=batches)


@pytest.fixture(scope="module")
def whole(data: PretrainingData, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return pretrain(tmp_path_factory.mktemp("whole"), data)


@pytest.mark.parametrize(
    ("updates", "epochs"),
    [
        pytest.param(STEPS // 2, 0, id="in the first epoch"),
        pytest.param(STEPS, 1, id="between two epochs"),
        pytest.param(STEPS + STEPS // 2, 1, id="in the second epoch"),
    ],
)
def test_interrupted_pretraining_ends_with_the_same_bytes(
    data: PretrainingData, whole: Checkpoint, tmp_path: Path, updates: int, epochs: int
) -> None:
    """Parameters, those of the best epoch, and the optimizer's state; and the same history."""
    with pytest.raises(Interrupted):
        pretrain(tmp_path, data, updates=updates)
    checkpoint = tmp_path / "checkpoint.npz"
    assert (len(Checkpoint(checkpoint).state["history"]) if checkpoint.exists() else 0) == epochs
    resumed = pretrain(tmp_path, data)
    assert resumed.sha256.keys() == {"parameters", "best", "optimizer"}
    assert resumed.sha256 == whole.sha256
    assert without_seconds(resumed) == without_seconds(whole)


def without_seconds(saved: Checkpoint) -> list[dict[str, float]]:
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in saved.state["history"]]
