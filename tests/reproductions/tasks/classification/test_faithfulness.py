"""Faithfulness of weights at the best and at the last epoch."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mxnet import init

from gluon_attn import runtime
from gluon_attn.training import checkpoint
from gluon_attn.training.checkpoint import Checkpoint, parameter_arrays, parameters_sha256
from reproductions.tasks.classification.corpora import NSMC
from reproductions.tasks.classification.faithfulness import (
    faithfulness_by_epoch,
    faithfulness_of_epochs,
    less_agreement,
    more_entropy,
)
from reproductions.tasks.classification.settings import StackedSettings
from reproductions.tasks.classification.task import EvaluatedModel, MeasurementResult
from tests.reproductions.support import outcome

SETTINGS = StackedSettings(min_freq=1, max_length=30, embedding_units=4, units=3, attention_units=3)
TASK = NSMC(measurements=(faithfulness_of_epochs,))


def test_the_last_epoch_is_measured_with_its_own_parameters(tmp_path: Path) -> None:
    """The best epoch's network has its own weights, the last one has uniform weights: its attention is all zeros.

    Afterwards the network is that of the best epoch.
    """
    data = TASK.prepare(SETTINGS, sample=True)
    runtime.seed_all(3)
    model: Any = SETTINGS.build(data)
    model.initialize(init.Normal(1.0))
    best = parameter_arrays(model)
    uniform = {name: np.zeros_like(array) if "pooling" in name else array for name, array in best.items()}
    assert any(name.startswith("pooling") for name in best)
    checkpoint.save(tmp_path / "checkpoint.npz", {"best": best, "parameters": uniform}, {})
    arrays = TASK.evaluate(model, SETTINGS, data, Checkpoint(tmp_path / "checkpoint.npz")).predictions
    assert (arrays["entropy_best"] < 1 - 1e-3).mean() > 0.9
    np.testing.assert_allclose(arrays["entropy_last"], 1, atol=1e-6)
    np.testing.assert_array_equal(arrays["agreement_last"], 0)
    lengths = data.prepared.validation.lengths
    assert len(arrays["entropy_best"]) == ((lengths >= 5) & (lengths <= 29)).sum()
    assert parameters_sha256(parameter_arrays(model)) == parameters_sha256(best)


def test_the_last_epoch_is_compared_with_the_best_and_each_review_counts_once(tmp_path: Path) -> None:
    """Three seeds that agree on every review say no more about reviews than one seed."""
    reviews = np.random.RandomState(0).standard_normal(200)
    arrays = {
        "agreement_best": 0.5 + 0.1 * reviews,
        "agreement_last": np.full(200, 0.4),
        "entropy_best": np.full(200, 0.9),
        "entropy_last": np.full(200, 0.7),
    }
    intervals = []
    for seeds in ((1,), (1, 2, 3)):
        outcomes = [outcome(tmp_path / str(len(seeds)), "over-fitted", seed, arrays) for seed in seeds]
        agreement, entropy = less_agreement(outcomes), more_entropy(outcomes)
        assert agreement is not None and entropy is not None
        assert agreement.estimate.mean == pytest.approx(0.1 + 0.1 * reviews.mean()) and agreement.estimate.low > 0
        assert entropy.estimate.mean == pytest.approx(-0.2) and entropy.estimate.high < 0
        assert agreement.split == entropy.split == "validation"
        intervals.append((agreement.estimate.low, agreement.estimate.high))
    assert intervals[0] == pytest.approx(intervals[1])


def test_nothing_is_measured_where_all_texts_are_too_short(tmp_path: Path) -> None:
    arrays = {f"{what}_{when}": np.zeros(0) for what in ("agreement", "entropy") for when in ("best", "last")}
    outcomes = [outcome(tmp_path, "over-fitted", 1, arrays)]
    assert less_agreement(outcomes) is None and more_entropy(outcomes) is None
    assert faithfulness_by_epoch("over-fitted")({"over-fitted": outcomes}, tmp_path) == {}


def test_nothing_is_measured_with_more_than_two_classes(tmp_path: Path) -> None:
    data: Any = SimpleNamespace(labels=("a", "b", "c"))
    nothing: Any = None
    assert faithfulness_of_epochs(EvaluatedModel(nothing, data, nothing, nothing)) == MeasurementResult()
    outcomes = [outcome(tmp_path, "over-fitted", 1, {"right": np.ones(3)})]
    assert less_agreement(outcomes) is None and more_entropy(outcomes) is None
    assert faithfulness_by_epoch("over-fitted")({"over-fitted": outcomes}, tmp_path) == {}
