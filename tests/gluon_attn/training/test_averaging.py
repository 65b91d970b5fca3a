"""Averaging the parameters of the last epochs: evaluation, selection, and resumption after an interruption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet.gluon import HybridBlock

from gluon_attn.training.averaging import ParameterAverage
from gluon_attn.training.checkpoint import Checkpoint, parameter_arrays
from tests.gluon_attn.training.test_loop import OBJECTIVE, RECIPE, run_in

AVERAGED = replace(RECIPE, average=3)


def test_the_mean_is_of_the_last_ones() -> None:
    average = ParameterAverage(2)
    means = [average.add({"w": np.full(2, value, np.float32)})["w"].tolist() for value in (1, 3, 7)]
    assert means == [[1, 1], [2, 2], [5, 5]]
    assert average.add({"w": np.zeros(2, np.float32)})["w"].dtype == np.float32


def test_an_average_of_one_is_the_parameters_themselves() -> None:
    average, arrays = ParameterAverage(1), {"w": np.ones(1)}
    assert average.add(arrays) is arrays and average.groups() == {}


def ends_of_epochs(folder: Path) -> list[dict[str, np.ndarray]]:
    """The parameters after one, two ... epochs without averaging, from separate runs."""
    ends = []
    for epochs in range(1, RECIPE.epochs + 1):
        run_in(folder / str(epochs), recipe=replace(RECIPE, epochs=epochs))
        ends.append(Checkpoint(folder / str(epochs) / "checkpoint.npz").group("parameters"))
    return ends


def test_the_mean_is_evaluated_and_training_goes_on_from_its_own(tmp_path: Path) -> None:
    ends, evaluated = ends_of_epochs(tmp_path), []

    def evaluate(model: HybridBlock) -> Mapping[str, float]:
        evaluated.append(parameter_arrays(model))
        return {"error": [5.0, 4.0, 3.0, 1.0, 2.0][len(evaluated) - 1]}

    model, trained = run_in(tmp_path / "run", objective=replace(OBJECTIVE, evaluate=evaluate), recipe=AVERAGED)
    for epoch, arrays in enumerate(evaluated, start=1):
        for name, values in arrays.items():
            mean = np.mean([end[name] for end in ends[max(0, epoch - 3) : epoch]], axis=0)
            np.testing.assert_allclose(values, mean, rtol=1e-6)
    assert trained.best_epoch == 4
    for name, values in parameter_arrays(model).items():
        np.testing.assert_array_equal(values, evaluated[3][name])


class _Stopped(Exception):
    pass


def test_a_validation_that_fails_leaves_the_parameters_of_the_training(tmp_path: Path) -> None:
    models: list[HybridBlock] = []

    def evaluate(model: HybridBlock) -> Mapping[str, float]:
        models.append(model)
        if len(models) == 3:
            raise _Stopped
        return {"error": 1.0}

    with pytest.raises(_Stopped):
        run_in(tmp_path / "run", objective=replace(OBJECTIVE, evaluate=evaluate), recipe=AVERAGED)
    expected = ends_of_epochs(tmp_path)[2]
    for name, values in parameter_arrays(models[-1]).items():
        np.testing.assert_array_equal(values, expected[name])


@pytest.mark.parametrize("epochs", [1, 4])
def test_a_resumed_run_has_the_same_mean(tmp_path: Path, epochs: int) -> None:
    model, _ = run_in(tmp_path / "whole", recipe=AVERAGED)
    calls = []

    def evaluate(of: Any) -> Mapping[str, float]:
        calls.append(1)
        if len(calls) > epochs:
            raise _Stopped
        return OBJECTIVE.evaluate(of)

    with pytest.raises(_Stopped):
        run_in(tmp_path / "parts", objective=replace(OBJECTIVE, evaluate=evaluate), recipe=AVERAGED)
    again, _ = run_in(tmp_path / "parts", recipe=AVERAGED, resume=True)
    for name, values in parameter_arrays(model).items():
        np.testing.assert_array_equal(values, parameter_arrays(again)[name])
