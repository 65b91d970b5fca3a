"""Mixtures of two language models: weights by expectation-maximisation, one per bin of positions."""

from __future__ import annotations

import numpy as np

_ROUNDS = 200


def mixture_weights(first: np.ndarray, second: np.ndarray, bins: np.ndarray, count: int) -> np.ndarray:
    """Return the weights (count,) of the first model that maximise the likelihood of a text, computed by 200 rounds of
    expectation-maximisation; 1/2 for bins without words.

    The log likelihood is concave in each weight, so expectation-maximisation (Dempster, Laird and Rubin, 1977) from 1/2
    converges to its maximum. 200 rounds fall short of it if the models differ by less than about 0.3 nats per word.

    Args:
        first, second: (tokens,), ln p of each word.
        bins: (tokens,), the bin of each word, from 0 to ``count - 1``; must not depend on the word itself.
        count: number of bins.
    """
    weights = np.full(count, 0.5)
    words = np.bincount(bins, minlength=count)
    # Only the ratio matters; both are divided by the larger one to avoid underflow.
    top = np.maximum(first, second)
    p, q = np.exp(first - top), np.exp(second - top)
    for _ in range(_ROUNDS):
        weight = weights[bins]
        share = weight * p / (weight * p + (1 - weight) * q)
        weights = np.divide(np.bincount(bins, share, count), words, out=weights.copy(), where=words > 0)
    return weights


def mixed(first: np.ndarray, second: np.ndarray, weight: np.ndarray | float) -> np.ndarray:
    """ln p (tokens,) of the mixture of two models with ln p ``first`` and ``second`` (tokens,); ``weight`` is the
    weight of the first model, one for all words or (tokens,)."""
    top = np.maximum(first, second)
    sum_: np.ndarray = top + np.log(weight * np.exp(first - top) + (1 - weight) * np.exp(second - top))
    return sum_
