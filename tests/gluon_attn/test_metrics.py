"""Metrics: perplexity from a mean loss."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gluon_attn.evaluation.statistics import perplexity
from gluon_attn.metrics import perplexity_of


def test_the_perplexity_of_a_diverged_model_is_infinite() -> None:
    """So that training refuses it in one line, as any result that is not finite."""
    assert perplexity_of(800.0) == perplexity(np.array([800.0, 1.0])) == math.inf
    assert perplexity_of(math.log(50.0)) == pytest.approx(50.0)
