"""Training does not read the test split, and validation reads its own, whatever the task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from gluon_attn import runtime
from gluon_attn.training.objective import Objective
from reproductions.protocol import papers
from reproductions.protocol.task import Task, TrainedModel, Variant

ONE_OF_EACH_TASK = {
    "classification": ("naver_self_attention", "as-written"),
    "documents": ("yang2016", "att"),
    "word vectors": ("mikolov2013", "skip-gram"),
    "language modelling": ("cheng2016", "lstm"),
    "n-grams": ("bengio2003", "n5"),
    "translation": ("cho2014", "encdec"),
    "image classification": ("dosovitskiy2020", "patches"),
    "driving": ("kim2017", "attention-10"),
    "self-training": ("naver_self_attention", "best-self-trained"),
    "driving without training": ("kim2017", "always-0"),
    "captioning": ("xu2015", "soft"),
    "pretraining": ("devlin2018", "pretraining"),
    "fine-tuning": ("devlin2018", "bert"),
}


@dataclass(frozen=True)
class Trainable:
    """A variant of the preset smoke, its data with other splits, and its network before training."""

    variant: Variant[Any]
    task: Task[Any, Any]
    data: Any
    model: Any

    @classmethod
    def of(cls, task: str, splits: Callable[[dict[str, Any]], dict[str, Any]]) -> Trainable:
        paper, name = ONE_OF_EACH_TASK[task]
        preset = papers.load(paper).preset("smoke")
        variant, task_of = preset.variant(name), preset.task(name)
        data = task_of.prepare(variant.settings, sample=True)
        whole = data.prepared.data
        changed = splits(dict(whole.splits))
        texts = hasattr(whole, "with_splits")
        prepared = replace(data.prepared, data=whole.with_splits(changed) if texts else replace(whole, splits=changed))
        runtime.seed_all(1)
        model = variant.settings.build(data)
        variant.settings.initialize(model, data)
        if variant.teachers:
            task_of = task_of.taught_by([TrainedModel(model, variant, task_of, data, parameters_sha256="")])
        return cls(variant, task_of, replace(data, prepared=prepared), model)

    def objective(self) -> Objective:
        return self.task.objective(self.variant.settings, self.variant.recipe, self.data)

    def metrics(self) -> dict[str, float]:
        runtime.seed_all(1)  # the first forward pass may initialise parameters
        return dict(self.objective().evaluate(self.model))


@pytest.mark.parametrize("task", ONE_OF_EACH_TASK)
def test_training_and_validation_need_no_test_split(task: str) -> None:
    def without_test(splits: dict[str, Any]) -> dict[str, Any]:
        del splits["test"]
        return splits

    one = Trainable.of(task, without_test)
    objective = one.objective()
    assert np.isfinite(objective.evaluate(one.model)[objective.select])
    assert len(list(objective.epoch_batches(np.random.RandomState(0), 1))) == objective.steps


@pytest.mark.parametrize("task", ONE_OF_EACH_TASK)
def test_validation_reads_the_validation_split(task: str) -> None:
    """With the rows of train in its place, the metrics of the same network are others."""
    own = Trainable.of(task, lambda splits: splits)
    other = Trainable.of(task, lambda splits: {**splits, "validation": splits["train"]})
    assert own.metrics() != other.metrics()
