"""Metrics: which direction is better, and perplexity from a mean loss."""

from __future__ import annotations

import math

LOWER_IS_BETTER = frozenset({"error", "loss", "perplexity"})
HIGHER_IS_BETTER = frozenset({"accuracy", "agreement", "bleu", "bleu-1", "bleu-2", "bleu-3", "bleu-4"})
"""Metrics that may select an epoch: one of these, or one of ``LOWER_IS_BETTER``."""


def lower_is_better(metric: str) -> bool:
    """Whether smaller values of a metric are better, as for errors, losses and perplexities; otherwise, larger ones
    are, as for accuracy and BLEU."""
    return metric in LOWER_IS_BETTER


def perplexity_of(loss: float) -> float:
    """exp of a mean of -ln p in nats: infinite above 709 nats, where a diverged model is, as no float can hold it."""
    try:
        return math.exp(loss)  # the last bit of NumPy's depends on whether the processor has AVX-512
    except OverflowError:
        return math.inf
