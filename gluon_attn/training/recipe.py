"""How a model is trained, as plain values: importable without MXNet, saved with every run and manifest."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gluon_attn.errors import UsageError

DECAYS = ("constant", "cosine")


@dataclass(frozen=True)
class Recipe:
    """How to train. Rates are those of MXNet's optimizer of that name; gradients are of the mean loss of a batch.

    The rate rises linearly over the first ``warmup_steps``; ``decay`` is ``constant`` or ``cosine`` (half a period over
    all steps, zero only after the last). Training ends after ``patience`` epochs without a better validation result;
    the final parameters are always those of the best epoch. ``clip_norm`` is the largest Euclidean norm of the
    gradients over all parameters; larger ones are scaled down to it (Pascanu et al., 2013).

    Raises:
        UsageError: an unknown decay, or a norm that is not positive.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: str = "adam"
    warmup_steps: int = 0
    decay: str = "constant"
    patience: int = 1_000
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        if self.decay not in DECAYS:
            raise UsageError(f"decay {self.decay!r} is unknown; choose one of {', '.join(DECAYS)}")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise UsageError(f"clip_norm {self.clip_norm} is not positive; choose a positive number, or None")

    def rate(self, step: int, total_steps: int) -> float:
        """Learning rate of a step, counted from 0."""
        rate = self.learning_rate * min(1.0, (step + 1) / max(1, self.warmup_steps))
        if self.decay == "cosine":
            rate *= 0.5 * (1.0 + math.cos(math.pi * step / total_steps))
        return rate
