"""The objective of a training: batches, loss and validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.errors import UsageError
from gluon_attn.metrics import HIGHER_IS_BETTER, LOWER_IS_BETTER


@dataclass(frozen=True)
class Batch:
    """The model's inputs and the target of the loss for one step, as NumPy arrays; batch first where a batch can be
    divided by rows."""

    inputs: tuple[np.ndarray, ...]
    target: np.ndarray


@dataclass(frozen=True)
class Share:
    """A share of the rows of a batch.

    Attributes:
        batch: the batch of these rows.
        weight: weight of their mean loss: the loss of the whole batch is the sum over all shares of weight times loss.
    """

    batch: Batch
    weight: float


Division = Callable[[Batch, int, int], Share]
"""(batch, index of the share from 0, number of shares) -> the share, with at least one row."""


def share_of_mean(batch: Batch, number: int, shares: int) -> Share:
    """Return a share of a batch whose loss is the mean over rows. Every array is cut along its first axis."""
    rows, own = share_of_rows(len(batch.target), number, shares)
    inputs = tuple(values[own] for values in batch.inputs)
    return Share(Batch(inputs, batch.target[own]), rows / len(batch.target))


def share_of_sum(batch: Batch, number: int, shares: int) -> Share:
    """Return a share of a batch whose target is the number by which the sum of losses is divided; it remains the number
    of the whole batch."""
    rows, own = share_of_rows(len(batch.inputs[0]), number, shares)
    return Share(Batch(tuple(values[own] for values in batch.inputs), batch.target), float(rows > 0))


def share_of_rows(rows: int, number: int, shares: int) -> tuple[int, slice]:
    """Return the number of rows of a share, and the rows.

    If there are fewer rows than shares, some shares are empty. They get the previous row with weight 0, so that every
    worker goes through the same steps.
    """
    start, stop = rows * number // shares, rows * (number + 1) // shares
    if start == stop:
        return 0, slice(max(0, start - 1), max(1, start))
    return stop - start, slice(start, stop)


@dataclass(frozen=True)
class Objective:
    """What a model is trained for; the :class:`~gluon_attn.training.recipe.Recipe` says how.

    Attributes:
        batches: yields the batches of one epoch, given a generator seeded for this epoch.
        steps: number of batches of an epoch; 0 for a model without gradients.
        loss: (model outputs, target) -> losses of any shape, whose mean is minimised: (batch,), or one number.
        evaluate: returns the model's validation metrics by name.
        select: name of the metric that selects the best epoch; one of those in :mod:`gluon_attn.metrics`, which says
            whether lower is better.
        share: divides a batch among workers or micro-batches; None if batches cannot be divided.
        at_step: changes each batch by the number of its update, counted from 0 over the whole training, for losses
            whose terms change their weight; None if no loss does.

    Raises:
        UsageError: if it is not known whether lower or higher values of the selecting metric are better.
    """

    batches: Callable[[np.random.RandomState], Iterable[Batch]]
    steps: int
    loss: Callable[[Any, nd.NDArray], nd.NDArray]
    evaluate: Callable[[HybridBlock], Mapping[str, float]]
    select: str = "accuracy"
    share: Division | None = None
    at_step: Callable[[Batch, int], Batch] | None = None

    def __post_init__(self) -> None:
        known = LOWER_IS_BETTER | HIGHER_IS_BETTER
        if self.select not in known:
            raise UsageError(f"metric {self.select!r} cannot select an epoch; choose one of {', '.join(sorted(known))}")

    @classmethod
    def untrained(cls, evaluate: Callable[[Any], Mapping[str, float]], *, select: str) -> Objective:
        """The objective of a model without gradients, which has one epoch without steps."""
        return cls(lambda _: (), 0, lambda *_: None, evaluate, select)

    def epoch_batches(self, generator: np.random.RandomState, epoch: int) -> Iterator[Batch]:
        """Yield the batches of an epoch, counted from 1, as they are at their steps."""
        for number, batch in enumerate(self.batches(generator)):
            yield batch if self.at_step is None else self.at_step(batch, (epoch - 1) * self.steps + number)
