"""Training does not read the test split, whatever the task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gluon_attn import runtime
from reproductions.protocol import papers

ONE_OF_EACH_TASK = {
    "classification": ("naver_self_attention", "as-written"),
    "documents": ("yang2016", "att"),
    "word vectors": ("mikolov2013", "skip-gram"),
    "language modelling": ("cheng2016", "lstm"),
    "n-grams": ("bengio2003", "n5"),
    "translation": ("cho2014", "encdec"),
    "image classification": ("dosovitskiy2020", "patches"),
    "driving": ("kim2017", "attention-10"),
    "captioning": ("xu2015", "soft"),
    "pretraining": ("devlin2018", "pretraining"),
    "fine-tuning": ("devlin2018", "bert"),
}


@pytest.mark.parametrize("task", ONE_OF_EACH_TASK)
def test_training_and_validation_need_no_test_split(task: str) -> None:
    paper, name = ONE_OF_EACH_TASK[task]
    preset = papers.load(paper).preset("smoke")
    variant, task_of = preset.variant(name), preset.task(name)
    data = task_of.prepare(variant.settings, sample=True)
    whole = data.prepared.data
    kept = {split: rows for split, rows in whole.splits.items() if split != "test"}
    assert len(kept) < len(whole.splits)
    texts = hasattr(whole, "with_splits")
    without = replace(data.prepared, data=whole.with_splits(kept) if texts else replace(whole, splits=kept))
    runtime.seed_all(1)
    model = variant.settings.build(data)
    variant.settings.initialize(model, data)
    objective = task_of.objective(variant.settings, variant.recipe, replace(data, prepared=without))
    assert np.isfinite(objective.evaluate(model)[objective.select])
    assert len(list(objective.epoch_batches(np.random.RandomState(0), 1))) == objective.steps
