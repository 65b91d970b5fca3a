"""What heads attend to, on weights written by hand."""

from __future__ import annotations

import numpy as np

from gluon_attn.evaluation.heads import at_offset, same_word, weight_on


def test_the_weight_on_marked_keys_is_the_mean_over_queries_that_have_one() -> None:
    weights = np.array([[[1.0, 0.0, 0.0], [0.7, 0.2, 0.1], [0.1, 0.5, 0.4]], np.full((3, 3), 1 / 3)])
    np.testing.assert_allclose(weight_on(weights, at_offset(3, -1)), [(0.7 + 0.5) / 2, 1 / 3])
    np.testing.assert_allclose(weight_on(weights, at_offset(3, 1)), [(0.0 + 0.1) / 2, 1 / 3])
    both = np.array([[False] * 3, [True, True, False], [False] * 3])
    np.testing.assert_allclose(weight_on(weights, both), [0.9, 2 / 3])


def test_without_a_marked_key_there_is_nothing_to_measure() -> None:
    assert np.isnan(weight_on(np.ones((2, 1, 1)), at_offset(1, -1))).all()


def test_pieces_of_a_word_mark_each_other() -> None:
    """a | b@@ c@@ d | e"""
    marks = same_word(np.array([False, True, True, False, False]))
    expected = np.zeros((5, 5), bool)
    expected[1:4, 1:4] = ~np.eye(3, dtype=bool)
    np.testing.assert_array_equal(marks, expected)
    assert same_word(np.array([], bool)).shape == (0, 0)
