"""Why dot products are scaled, against what follows from independent components of variance 1."""

from __future__ import annotations

import numpy as np

from gluon_attn.evaluation.scores_by_width import scores_by_width


def test_the_variance_of_a_dot_product_is_its_width() -> None:
    measured = scores_by_width((1, 16, 256), keys=16, queries=2_000, seed=1)
    np.testing.assert_allclose(measured.variance, [1, 16, 256], rtol=0.1)


def test_scaling_keeps_the_entropy_that_is_lost_without() -> None:
    """Without, the largest of 16 scores of variance 256 leaves almost nothing to the others."""
    measured = scores_by_width((1, 4, 64, 256), keys=16, queries=500, seed=1)
    assert measured.widths == (1, 4, 64, 256)
    assert (np.diff(measured.entropy) < -0.05).all() and measured.entropy[-1] < 0.1
    assert measured.scaled_entropy.min() > 0.8
    np.testing.assert_allclose(measured.scaled_entropy[0], measured.entropy[0])
