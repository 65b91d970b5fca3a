"""Which direction of a metric is better."""

from __future__ import annotations

LOWER_IS_BETTER = frozenset({"error", "loss", "perplexity"})


def lower_is_better(metric: str) -> bool:
    """Whether smaller values of a metric are better, as for errors, losses and perplexities; otherwise, larger ones
    are, as for accuracy and BLEU."""
    return metric in LOWER_IS_BETTER
