"""Mixtures of two models: the best weights, and probabilities of the mixture."""

from __future__ import annotations

import numpy as np
import pytest

from gluon_attn.evaluation.mixture import mixed, mixture_weights
from tests.gluon_attn.support import normal

FIRST, SECOND = (-3 + normal(400, seed=seed).astype(np.float64) for seed in (1, 2))
BINS = np.arange(400) % 2


def test_the_weights_have_the_highest_likelihood_of_a_grid() -> None:
    second = SECOND - np.where(BINS == 0, 0.5, 0.0)
    weights = mixture_weights(FIRST, second, BINS, 3)
    grid = np.linspace(0.001, 0.999, 999)
    for number in (0, 1):
        chosen = number == BINS
        totals = [mixed(FIRST[chosen], second[chosen], weight).sum() for weight in grid]
        assert weights[number] == pytest.approx(grid[int(np.argmax(totals))], abs=1e-3)
    assert weights[0] > weights[1] and weights[2] == 0.5, "a bin without words has no preference"


def test_a_model_that_is_always_better_gets_all_the_weight() -> None:
    weights = mixture_weights(FIRST, FIRST - 2, np.zeros(400, int), 1)
    assert weights[0] == pytest.approx(1.0, abs=1e-6)


def test_a_mixture_is_a_mean_of_probabilities() -> None:
    np.testing.assert_allclose(np.exp(mixed(FIRST, SECOND, 0.3)), 0.3 * np.exp(FIRST) + 0.7 * np.exp(SECOND))
    each = np.where(BINS == 0, 0.2, 0.9)
    wanted = each * np.exp(FIRST) + (1 - each) * np.exp(SECOND)
    np.testing.assert_allclose(np.exp(mixed(FIRST, SECOND, each)), wanted)
    assert mixed(np.array([-2_000.0]), np.array([-2_001.0]), 0.5)[0] == pytest.approx(-2_000.3799, abs=1e-3)
