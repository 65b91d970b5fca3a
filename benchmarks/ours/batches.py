"""The batches on which our side and its peers train."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any


def first_batches(objective: Any, steps: int) -> list[Any]:
    """The first ``steps`` batches of training; a short corpus is repeated."""
    import numpy as np

    def epochs() -> Iterator[Any]:
        epoch = 0
        while True:
            epoch += 1
            yield from objective.batches(np.random.RandomState(epoch))

    return list(islice(epochs(), steps))
