"""How a model is trained, as plain values: importable without MXNet, written into every run and manifest."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """How to train. Rates are those of MXNet's optimizer of that name; gradients are of the mean loss of a batch.

    ``warmup_steps`` raises the rate linearly from zero; ``decay`` is ``constant`` or ``cosine`` (to zero at the last
    step of the last epoch). ``patience`` is the number of epochs without a better validation result after which
    training ends; the parameters kept are always those of the best epoch.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: str = "adam"
    warmup_steps: int = 0
    decay: str = "constant"
    patience: int = 1_000

    def rate(self, step: int, total_steps: int) -> float:
        """Learning rate of a step, counted from 0."""
        rate = self.learning_rate * min(1.0, (step + 1) / max(1, self.warmup_steps))
        if self.decay == "cosine":
            rate *= 0.5 * (1.0 + math.cos(math.pi * step / total_steps))
        return rate
