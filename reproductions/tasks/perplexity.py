"""The effect of two systems on perplexity."""

from __future__ import annotations

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap_difference, perplexity
from reproductions.protocol.claims import Effect


def reduction(better: np.ndarray, worse: np.ndarray, items: str) -> Effect:
    """By how much the perplexity of the first side is lower; paired bootstrap over items.

    Args:
        better, worse: (seeds, items, 2), nats and number of tokens.
        items: what the bootstrap draws, such as "sentences".
    """
    return Effect(bootstrap_difference(worse, better, perplexity, seed=0), "reduction in perplexity", items)
