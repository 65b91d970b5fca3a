"""The batches on which our side and its peers train, and our training on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from benchmarks.stopwatch import second_epoch
from gluon_attn import runtime


def first_batches(objective: Any, steps: int) -> list[Any]:
    """The first ``steps`` batches of training; a short corpus is repeated."""
    import numpy as np

    def epochs() -> Iterator[Any]:
        epoch = 0
        while True:
            epoch += 1
            yield from objective.batches(np.random.RandomState(epoch))

    return list(islice(epochs(), steps))


def train_twice(variant: Any, data: Any, objective: Any, batches: list[Any]) -> dict[str, float]:
    """Train a variant's network on the batches twice with ``fit``, from random weights and with a hundredth of its
    learning rate, and time the second time."""
    import mxnet as mx

    runtime.seed_all(1)
    network = variant.settings.build(data)
    network.initialize(mx.init.Xavier())
    network.hybridize(static_alloc=True, static_shape=True)
    repeated = replace(objective, batches=lambda _: batches, steps=len(batches))
    recipe = replace(variant.recipe, learning_rate=variant.recipe.learning_rate / 100)
    return second_epoch(network, repeated, recipe)
