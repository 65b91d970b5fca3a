"""How a model is trained, as plain values: importable without MXNet, written into every run and manifest."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gluon_attn.errors import UsageError

DECAYS = ("constant", "cosine")


@dataclass(frozen=True)
class Recipe:
    """How to train. Rates are those of MXNet's optimizer of that name; gradients are of the mean loss of a batch.

    ``warmup_steps`` raises the rate linearly, to its full height at the last of them; ``decay`` is ``constant`` or
    ``cosine`` (half a period over all steps, zero only after the last). ``patience`` is the number of epochs without a
    better validation result after which training ends; the parameters kept are always those of the best epoch.
    ``clip_norm`` scales the gradients of a step down to that Euclidean norm over all parameters, where they are longer
    (Pascanu et al., 2013).

    Raises:
        UsageError: a decay that is not known, or a norm that is not above zero.
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
            raise UsageError(f"clip_norm {self.clip_norm} lets nothing through; choose a number above zero, or None")

    def rate(self, step: int, total_steps: int) -> float:
        """Learning rate of a step, counted from 0."""
        rate = self.learning_rate * min(1.0, (step + 1) / max(1, self.warmup_steps))
        if self.decay == "cosine":
            rate *= 0.5 * (1.0 + math.cos(math.pi * step / total_steps))
        return rate
