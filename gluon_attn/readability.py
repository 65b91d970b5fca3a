"""Can attention weights be read? How flat they are, and whether they point at the tokens that decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gluon_attn.metrics import normalised_entropy, rank_correlation


@dataclass(frozen=True)
class Readability:
    """One number for each text.

    Attributes:
        entropy: (texts,) entropy of the token weights over that of the uniform distribution, 0 to 1.
        agreement: (texts,) Spearman's correlation between a token's weight and how far the prediction moves when the
            token is deleted, -1 to 1.
    """

    entropy: np.ndarray
    agreement: np.ndarray


def readability(
    classify: Callable[[Sequence[np.ndarray]], tuple[np.ndarray, list[np.ndarray]]], sequences: Sequence[np.ndarray]
) -> Readability:
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
    return Readability(entropy, agreement)


def _logit(probability: np.ndarray) -> np.ndarray:
    bounded = np.clip(probability, 1e-7, 1 - 1e-7)
    return np.log(bounded / (1 - bounded))
