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
    """What one step reads: the model's inputs and the loss's target, batch first, as NumPy arrays."""

    inputs: tuple[np.ndarray, ...]
    target: np.ndarray


@dataclass(frozen=True)
class Objective:
    """What to train for; how is the :class:`~gluon_attn.training.recipe.Recipe`.

    Attributes:
        batches: the batches of one epoch, drawn with the generator it is given.
        steps: number of batches of an epoch.
        loss: (model outputs, target) -> losses (batch,).
        evaluate: the model's validation metrics; training selects by ``select``.
        select: name of the metric.
        higher_is_better: which way ``select`` points.
    """

    batches: Callable[[np.random.RandomState], Iterable[Batch]]
    steps: int
    loss: Callable[[Any, nd.NDArray], nd.NDArray]
    evaluate: Callable[[HybridBlock], Mapping[str, float]]
    select: str = "accuracy"
    higher_is_better: bool = True
