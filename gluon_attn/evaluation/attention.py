"""Faithfulness of attention weights: entropy, and agreement with leave-one-out effects (Jain and Wallace, 2019,
"Attention is not explanation"). Redundancy of hops: overlap, and the lowest possible penalty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gluon_attn.evaluation.statistics import rank_correlation


@dataclass(frozen=True)
class Faithfulness:
    """Entropy and agreement of each text.

    Attributes:
        entropy: (texts,), entropy of the token weights divided by that of the uniform distribution, 0 to 1.
        agreement: (texts,), Spearman's correlation between the weight of a token and its leave-one-out effect, the
            absolute change of the predicted log odds when the token is deleted, -1 to 1.
    """

    entropy: np.ndarray
    agreement: np.ndarray


def faithfulness(
    classify: Callable[[Sequence[np.ndarray]], tuple[np.ndarray, list[np.ndarray]]], sequences: Sequence[np.ndarray]
) -> Faithfulness:
    """Compare attention weights with the effect of deleting each token (leave-one-out).

    Args:
        classify: maps sequences of ids to the probability of one class (texts,) and the token weights of each text.
        sequences: texts of at least three tokens.
    """
    probability, weights = classify(sequences)
    shortened = [np.delete(ids, position) for ids in sequences for position in range(len(ids))]
    without, _ = classify(shortened)
    starts = np.cumsum([0] + [len(ids) for ids in sequences])
    entropy, agreement = np.empty(len(sequences)), np.empty(len(sequences))
    for index, weight in enumerate(weights):
        effect = np.abs(_logit(without[starts[index] : starts[index + 1]]) - _logit(probability[index]))
        entropy[index] = normalised_entropy(weight / weight.sum())
        agreement[index] = rank_correlation(weight, effect)
    return Faithfulness(entropy, agreement)


def _logit(probability: np.ndarray) -> np.ndarray:
    bounded = np.clip(probability, 1e-7, 1 - 1e-7)
    return np.log(bounded / (1 - bounded))


def least_penalty(tokens: int | np.ndarray, hops: int) -> Any:
    """The smallest ||A A^T - I||_F^2 that ``hops`` distributions over ``tokens`` tokens can reach.

    It is 0 for hops <= tokens, when each hop attends to a different token. For r hops over T < r tokens it is

        (r - T) + (r / T - 1)^2,

    or its square root for the norm without the square. Proof. G = A A^T is positive semidefinite of order r, and at
    most T of its eigenvalues are nonzero, so at least r - T eigenvalues of G - I are -1 and contribute 1 each. This
    bound, r - T, holds for any A; rows that sum to 1 raise it. With 1 the vector of r ones, A^T 1 has T entries that
    sum to r, so 1^T G 1 = ||A^T 1||^2 >= r^2 / T. The largest eigenvalue of G is then at least 1^T G 1 / r >= r / T > 1
    and contributes at least (r / T - 1)^2 more. Both bounds are attained if T hops attend to one token each and r - T
    hops are uniform: then A^T A = I + (r - T) / T^2 J, with J all ones, has the eigenvalue r / T once and 1 otherwise.

    Args:
        tokens: number of tokens of a sentence, at least 1, or an array of such numbers.
        hops: number of hops, at least 1.

    Returns:
        A float, or an array of the shape of ``tokens``.
    """
    missing = np.maximum(hops - np.asarray(tokens, np.float64), 0.0)
    least = missing + (missing / tokens) ** 2
    return least if np.ndim(tokens) else float(least)


def overlap(weights: np.ndarray) -> np.ndarray:
    """Mean overlap of all pairs of hops: how much the hops of a sentence attend to the same tokens.

    The overlap of two hops is the sum over tokens of min(a_t, b_t), which is 1 minus half of their L1 distance: 1 if
    the distributions are equal, 0 if no token has weight in both.

    Args:
        weights: (sentences, hops, length), zero on padding.

    Returns:
        (sentences,), between 0 and 1.

    Raises:
        ValueError: if there are fewer than two hops.
    """
    hops = weights.shape[1]
    if hops < 2:
        raise ValueError(f"{hops} hop has no overlap; at least two hops are needed")
    shared = np.zeros(len(weights))
    for hop in range(hops - 1):
        shared += np.minimum(weights[:, hop : hop + 1], weights[:, hop + 1 :]).sum(axis=(1, 2), dtype=np.float64)
    return shared / (hops * (hops - 1) / 2)


def normalised_entropy(weights: np.ndarray) -> float:
    """Entropy of a distribution over tokens divided by that of the uniform distribution: 0 if one token has all the
    weight, 1 if all have the same.

    Args:
        weights: (tokens,), non-negative with sum 1; at least two tokens.
    """
    positive = weights[weights > 0]
    return float(-(positive * np.log2(positive)).sum() / np.log2(len(weights)))


@dataclass(frozen=True)
class ScoresByWidth:
    """Statistics of the scores of random queries and keys for each width.

    Attributes:
        widths: widths of queries and keys.
        variance: (widths,), variance of the scores q . k.
        entropy: (widths,), mean entropy of the softmax of the scores divided by that of the uniform distribution, 0 to
        1.
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
