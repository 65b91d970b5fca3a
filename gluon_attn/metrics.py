"""Metrics: which direction is better, their bounds, the ends of intervals as text, and perplexity from a mean loss."""

from __future__ import annotations

import math

LOWER_IS_BETTER = frozenset({"error", "loss", "perplexity"})
HIGHER_IS_BETTER = frozenset({"accuracy", "agreement", "bleu", "bleu-1", "bleu-2", "bleu-3", "bleu-4"})
"""Metrics that may select an epoch: one of these, or one of ``LOWER_IS_BETTER``."""


def lower_is_better(metric: str) -> bool:
    """Whether smaller values of a metric are better, as for errors, losses and perplexities; otherwise, larger ones
    are, as for accuracy and BLEU."""
    return metric in LOWER_IS_BETTER


def bounds(metric: str) -> tuple[float, float]:
    """The smallest and the largest value of a metric; infinite for one that is not known here."""
    if metric == "perplexity":
        return 1.0, math.inf
    if lower_is_better(metric):
        return 0.0, math.inf
    return (0.0, 100.0) if metric in HIGHER_IS_BETTER | _OTHER_PERCENTAGES else (-math.inf, math.inf)


_OTHER_PERCENTAGES = frozenset({"chrf", "meteor", "pairs", "sacrebleu"})


def interval_end(value: float) -> str:
    """The end of an interval of effects, with its sign and two digits, or three if it would otherwise look like
    zero."""
    return f"{value:+.{3 if 0.0005 <= abs(value) < 0.005 else 2}f}"


def perplexity_of(loss: float) -> float:
    """exp of a mean of -ln p in nats: infinite above 709 nats, where a diverged model is, as no float can hold it."""
    try:
        return math.exp(loss)  # the last bit of NumPy's depends on whether the processor has AVX-512
    except OverflowError:
        return math.inf
