"""Metrics: ends of intervals as text, and perplexity from a mean loss."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.metrics import interval_end, perplexity_of


def test_the_perplexity_of_a_diverged_model_is_infinite() -> None:
    """So that training refuses it in one line, as any result that is not finite."""
    assert perplexity_of(800.0) == perplexity(np.array([800.0, 1.0])) == math.inf
    assert perplexity_of(math.log(50.0)) == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-0.224, "-0.22"), (-0.002, "-0.002"), (0.0049, "+0.005"), (0.005, "+0.01"), (0.0004, "+0.00"), (0.0, "+0.00")],
)
def test_an_end_of_an_interval_that_excludes_zero_does_not_look_like_zero(value: float, shown: str) -> None:
    assert interval_end(value) == shown
