"""What a network is trained for: batches, loss and validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock


@dataclass(frozen=True)
class Batch:
    """The model's inputs and the loss's target of one step, batch first, as NumPy arrays."""

    inputs: tuple[np.ndarray, ...]
    target: np.ndarray


@dataclass(frozen=True)
class Objective:
    """What to train for; how is the :class:`~gluon_attn.training.recipe.Recipe`.

    Attributes:
        batches: the batches of one epoch, from a generator that is seeded for this epoch.
        steps: number of batches of an epoch; 0 for a model without gradients.
        loss: (model outputs, target) -> losses (batch,).
        evaluate: the model's validation metrics by name.
        select: the metric whose best epoch is selected.
        higher_is_better: whether the best value of ``select`` is the largest.
    """

    batches: Callable[[np.random.RandomState], Iterable[Batch]]
    steps: int
    loss: Callable[[Any, nd.NDArray], nd.NDArray]
    evaluate: Callable[[HybridBlock], Mapping[str, float]]
    select: str = "accuracy"
    higher_is_better: bool = True
