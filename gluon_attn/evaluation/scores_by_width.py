"""Why dot products are scaled: the scores of random queries and keys by their width (Vaswani et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gluon_attn.evaluation.statistics import normalised_entropy


@dataclass(frozen=True)
class ScoresByWidth:
    """Statistics of the scores of random queries and keys for each width.

    Attributes:
        widths: widths of queries and keys.
        variance: (widths,), variance of the scores q . k.
        entropy: (widths,), mean entropy of the softmax of the scores divided by that of the uniform distribution, from
            0 to 1.
        scaled_entropy: (widths,), the same for the scores divided by sqrt(width).
    """

    widths: tuple[int, ...]
    variance: np.ndarray
    entropy: np.ndarray
    scaled_entropy: np.ndarray


def scores_by_width(widths: Sequence[int], *, keys: int, queries: int, seed: int) -> ScoresByWidth:
    """Measure why dot products are scaled (Vaswani et al., 2017, sec. 3.2.1, footnote 4): components of variance 1 have
    scores of variance ``width``, so for large widths the softmax is almost one-hot and its gradient vanishes.

    Args:
        widths: widths of queries and keys.
        keys: number of keys per query.
        queries: number of queries.
        seed: seed of the standard normal components.
    """
    generator = np.random.RandomState(seed)
    rows = []
    for width in widths:
        query, key = generator.standard_normal((queries, 1, width)), generator.standard_normal((queries, keys, width))
        scores = (query * key).sum(axis=2)
        entropies = [
            np.mean([normalised_entropy(weights) for weights in _softmax(scores / scale)]) for scale in (1, width**0.5)
        ]
        rows.append([scores.var(), *entropies])
    return ScoresByWidth(tuple(widths), *np.array(rows).T)


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
