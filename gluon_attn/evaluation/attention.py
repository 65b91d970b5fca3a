"""Can attention weights be read? How flat they are, and whether they point at the tokens that decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gluon_attn.evaluation.statistics import rank_correlation


@dataclass(frozen=True)
class Faithfulness:
    """One number for each text.

    Attributes:
        entropy: (texts,) entropy of the token weights over that of the uniform distribution, 0 to 1.
        agreement: (texts,) Spearman's correlation between a token's weight and how far the prediction moves when the
            token is deleted, -1 to 1.
    """

    entropy: np.ndarray
    agreement: np.ndarray


def faithfulness(
    classify: Callable[[Sequence[np.ndarray]], tuple[np.ndarray, list[np.ndarray]]], sequences: Sequence[np.ndarray]
) -> Faithfulness:
    """Measure the weights of some texts by deleting their tokens one at a time.

    Args:
        classify: gives for sequences of ids the probability of one class (texts,), and for each text its token weights.
        sequences: texts of three tokens or more.
    """
    probability, weights = classify(sequences)
    shortened = [np.delete(ids, position) for ids in sequences for position in range(len(ids))]
    without, _ = classify(shortened)
    starts = np.cumsum([0] + [len(ids) for ids in sequences])
    entropy, agreement = np.empty(len(sequences)), np.empty(len(sequences))
    for index, weight in enumerate(weights):
        moved = np.abs(_logit(without[starts[index] : starts[index + 1]]) - _logit(probability[index]))
        entropy[index] = normalised_entropy(weight / weight.sum())
        agreement[index] = rank_correlation(weight, moved)
    return Faithfulness(entropy, agreement)


def _logit(probability: np.ndarray) -> np.ndarray:
    bounded = np.clip(probability, 1e-7, 1 - 1e-7)
    return np.log(bounded / (1 - bounded))


def least_penalty(tokens: int | np.ndarray, hops: int) -> Any:
    """The smallest ||A A^T - I||_F^2 that ``hops`` distributions over so many tokens can reach.

    It is 0 for hops <= tokens: each hop takes a token of its own. For r hops over T < r tokens it is

        (r - T) + (r / T - 1)^2,

    and its root for the norm without the square. Proof. G = A A^T is positive semidefinite of order r and at most T of
    its eigenvalues are not 0, so at least r - T of those of G - I are -1 and cost 1 each: r - T (for the norm its root)
    is the bound that holds for any A. Rows that sum to 1 raise it. With 1 the vector of r ones, A^T 1 has T entries
    that add up to r, so 1^T G 1 = ||A^T 1||^2 >= r^2 / T; the largest eigenvalue of G is then at least 1^T G 1 / r >=
    r / T > 1 and costs at least (r / T - 1)^2 more. Both are met at once by T hops each on a token of its own and r - T
    hops spread evenly over all: there A^T A = I + (r - T) / T^2 J, with J all ones, has the eigenvalue r / T once and 1
    otherwise.

    Args:
        tokens: tokens of a sentence, 1 or more; or an array of such.
        hops: number of hops, 1 or more.

    Returns:
        A float, or an array of the shape of ``tokens``.
    """
    missing = np.maximum(hops - np.asarray(tokens, np.float64), 0.0)
    least = missing + (missing / tokens) ** 2
    return least if np.ndim(tokens) else float(least)


def overlap(weights: np.ndarray) -> np.ndarray:
    """How much the hops of a sentence look at the same tokens: the mean over all pairs of hops of what two share.

    Two hops share sum over the tokens of min(a_t, b_t), which is 1 less half their distance in the L1 norm: 1 when they
    are the same distribution, 0 when no token has weight in both.

    Args:
        weights: (sentences, hops, length), zero on padding.

    Returns:
        (sentences,), between 0 and 1.

    Raises:
        ValueError: there is one hop and so no pair.
    """
    hops = weights.shape[1]
    if hops < 2:
        raise ValueError(f"{hops} hop overlaps with nothing; give weights of two hops or more")
    shared = np.zeros(len(weights))
    for hop in range(hops - 1):
        shared += np.minimum(weights[:, hop : hop + 1], weights[:, hop + 1 :]).sum(axis=(1, 2), dtype=np.float64)
    return shared / (hops * (hops - 1) / 2)


def normalised_entropy(weights: np.ndarray) -> float:
    """Entropy of one distribution over tokens divided by that of the uniform one: 0 is one token, 1 is all alike.

    Args:
        weights: (tokens,) non-negative, sum 1, two tokens or more.
    """
    positive = weights[weights > 0]
    return float(-(positive * np.log2(positive)).sum() / np.log2(len(weights)))
