"""The hyper-parameters of training as plain values: importable without MXNet, saved with every run and manifest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from gluon_attn.errors import UsageError

DECAYS = ("constant", "cosine", "inverse-sqrt")

# Fields that came after the first published runs, whose configurations do not name them.
_LATER = ("batch_tokens", "average", "beta2", "epsilon", "weight_decay")


@dataclass(frozen=True)
class Recipe:
    """Hyper-parameters of training. Learning rates are those of MXNet's optimizer of the given name; gradients are
    those of the mean loss of a batch.

    The learning rate rises linearly over the first ``warmup_steps``. ``decay`` is ``constant``, ``cosine`` (half a
    period over all steps, zero only after the last one) or ``inverse-sqrt`` (with the inverse square root of the step
    after the warm-up; Vaswani et al., 2017, eq. 3). Training stops after ``patience`` epochs without a better
    validation result; the final parameters are always those of the best epoch. ``clip_norm`` is the maximum Euclidean
    norm of the gradients over all parameters; larger gradients are scaled down to it (Pascanu et al., 2013).

    With ``batch_tokens``, for tasks that support it, a batch has at most ``batch_size`` rows and at most this many
    tokens on either side, padding included. With ``average`` above 1, the mean of the parameters after each of the last
    ``average`` epochs is validated, selected and used (Vaswani et al., 2017, sec. 6.1). ``beta2`` and ``epsilon`` are
    parameters of Adam; None for MXNet's defaults, 0.999 and 1e-8. ``weight_decay`` times each parameter is added to its
    gradient, except for parameters that a model exempts (``wd_mult``); None for no decay.

    Raises:
        UsageError: if the decay is unknown, ``clip_norm`` or ``epsilon`` is not positive and finite, the rate is
            negative or not finite, ``inverse-sqrt`` has no warm-up, ``epochs``, ``batch_size``, ``batch_tokens``,
            ``patience`` or ``average`` is below 1, ``warmup_steps`` or ``weight_decay`` is negative, or ``beta2`` is
            not between 0 and 1.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: str = "adam"
    warmup_steps: int = 0
    decay: str = "constant"
    patience: int = 1_000
    clip_norm: float | None = None
    batch_tokens: int | None = None
    average: int = 1
    beta2: float | None = None
    epsilon: float | None = None
    weight_decay: float | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "batch_tokens", "patience"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise UsageError(f"{name} must be 1 or more, not {value}")
        for name in ("learning_rate", "warmup_steps", "weight_decay"):
            if (value := getattr(self, name)) is not None and not 0 <= value < math.inf:
                raise UsageError(f"{name} must be finite, and 0 or more, not {value}")
        if self.beta2 is not None and not 0 <= self.beta2 < 1:
            raise UsageError(f"beta2 must be 0 or more and below 1, not {self.beta2}")
        if self.decay not in DECAYS:
            raise UsageError(f"decay {self.decay!r} is unknown; choose one of {', '.join(DECAYS)}")
        for name in ("clip_norm", "epsilon"):
            if (value := getattr(self, name)) is not None and not 0 < value < math.inf:
                raise UsageError(f"{name} must be positive and finite, not {value}; choose such a number, or None")
        if self.decay == "inverse-sqrt" and self.warmup_steps < 1:
            raise UsageError("decay 'inverse-sqrt' begins where the warm-up ends; choose warmup_steps of 1 or more")
        if self.average < 1:
            raise UsageError(f"the parameters of {self.average} epochs have no mean; choose an average of 1 or more")

    def rate(self, step: int, total_steps: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        rate = self.learning_rate * min(1.0, (step + 1) / max(1, self.warmup_steps))
        if self.decay == "cosine":
            rate *= 0.5 * (1.0 + math.cos(math.pi * step / total_steps))
        elif self.decay == "inverse-sqrt":
            rate *= min(1.0, self.warmup_steps / (step + 1)) ** 0.5
        return rate

    def for_small_corpus(self, steps: int) -> Recipe:
        """Return the recipe with a warm-up of at most a tenth of all updates, ``steps`` in each epoch: that of a large
        corpus may be longer than a small one is trained. With ``inverse-sqrt``, the warm-up defines all rates and is
        left."""
        if self.decay == "inverse-sqrt":
            return self
        return replace(self, warmup_steps=min(self.warmup_steps, max(1, self.epochs * steps // 10)))

    @property
    def optimizer_arguments(self) -> dict[str, float]:
        """The optimizer's arguments other than the learning rate, if they differ from MXNet's defaults."""
        given = {"beta2": self.beta2, "epsilon": self.epsilon, "wd": self.weight_decay}
        return {name: value for name, value in given.items() if value is not None}

    def as_json(self) -> dict[str, Any]:
        """Return the fields by name, as in ``config.json``; fields added later are included only if they are set."""
        return fields_as_json(self, later=_LATER)


def fields_as_json(instance: Any, *, later: Iterable[str]) -> dict[str, Any]:
    """The fields of a dataclass by name, without those of ``later`` that have their default: fields that were added
    after the first published trainings, whose configurations do not name them."""
    unset = {name for name in later if getattr(instance, name) == type(instance).__dataclass_fields__[name].default}
    return {name: value for name, value in asdict(instance).items() if name not in unset}
