"""The loss of a batch is that of its shares, for every task whose batches can be divided among workers."""

from __future__ import annotations

import numpy as np
import pytest
from mxnet import autograd, nd

from gluon_attn import runtime
from gluon_attn.training.objective import Batch
from reproductions.protocol import papers

DIVISIBLE = (
    "bahdanau2014",
    "bengio2003",
    "cheng2016",
    "devlin2018",
    "dosovitskiy2020",
    "joulin2016",
    "kim2017",
    "lin2017",
    "vaswani2017",
    "xu2015",
    "yang2016",
)


@pytest.mark.parametrize("paper", DIVISIBLE)
def test_the_losses_of_shares_add_up_to_that_of_the_batch(paper: str) -> None:
    preset = papers.load(paper).preset("smoke")
    variant = preset.headline[0]
    system, task = preset.variant(variant), preset.task(variant)
    data = task.prepare(system.settings, sample=True)
    runtime.seed_all(1)
    model = system.settings.build(data)
    system.settings.initialize(model, data)
    objective = task.objective(system.settings, system.recipe, data)
    assert objective.share is not None

    def loss(batch: Batch) -> float:
        target = nd.array(batch.target, dtype=batch.target.dtype)
        with autograd.predict_mode():
            output = model(*(nd.array(values, dtype=values.dtype) for values in batch.inputs))
            return float(objective.loss(output, target).mean().asscalar())

    batch = next(iter(objective.batches(np.random.RandomState(1))))
    whole = loss(batch)
    for shares in (2, 3):
        parts = [objective.share(batch, number, shares) for number in range(shares)]
        assert max(len(part.batch.inputs[0]) for part in parts) < len(batch.inputs[0])
        assert sum(part.weight * loss(part.batch) for part in parts) == pytest.approx(whole, rel=1e-5)
