"""Faithfulness of attention weights: entropy, and agreement with leave-one-out effects, after Jain and Wallace (2019,
"Attention is not explanation"), who compare ranks by Kendall's tau and effects by the distance of probabilities; here
ranks are compared by Spearman's correlation and effects by the change in log odds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gluon_attn.evaluation.statistics import normalised_entropy, rank_correlation


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
    shortened = [np.delete(ids, position, axis=0) for ids in sequences for position in range(len(ids))]
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
