"""METEOR from counts, against the scores of the authors' program and against values by hand."""

from __future__ import annotations

import numpy as np
import pytest

from reproductions.tasks.captioning.meteor import COUNTS, counts, find_java, meteor

CAPTIONS = [["a", "dog", "runs"], ["a", "cat", "sits", "on", "a", "mat"], ["two", "birds"]]
REFERENCES = [[CAPTIONS[0]] * 5, [CAPTIONS[1]] * 5, [["one", "horse", "jumps"]] * 5]

# Counts and scores of three captions of Flickr8k, as METEOR 1.5 printed them. The first is aligned as a whole.
PRINTED = np.array(
    [
        [6, 6, 3, 3, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 6, 6],
        [7, 10, 3, 4, 3, 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 5, 5],
        [15, 9, 7, 4, 1, 1, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 4, 4],
    ]
)
SCORES = [0.8666666666666667, 0.2560163056353697, 0.13778932558336313]


def test_the_scores_of_single_captions_are_those_of_the_program() -> None:
    np.testing.assert_allclose([meteor(each) for each in PRINTED], SCORES, rtol=1e-12)


def test_the_score_of_several_captions_is_that_of_the_sum_of_their_counts() -> None:
    together = meteor(PRINTED.sum(axis=0))
    assert together == pytest.approx(0.2728223094613873, rel=1e-12)
    assert together < np.mean(SCORES)


def test_nothing_matches() -> None:
    assert meteor(np.array([3, 4, 1, 1, *[0] * 19])) == 0.0
    assert meteor(np.zeros(COUNTS)) == 0.0


@pytest.mark.slow
def test_the_program() -> None:
    pytest.importorskip("pycocoevalcap", reason="an extra: install gluon-attn[captions]")
    if not find_java():
        pytest.skip("no Java")
    found = counts(CAPTIONS, REFERENCES)
    assert found.shape == (3, COUNTS) and found.dtype == np.int32
    np.testing.assert_allclose([meteor(each) for each in found], [1.0, 1.0, 0.0], atol=1e-12)
