"""Nearest neighbours and two-dimensional scaling, on vectors with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from gluon_attn.evaluation.word_vectors import mds, nearest

# Directions: east, a longer east, north-east, north, west, and zero.
VECTORS = np.array([[1, 0], [3, 0], [2, 2], [0, 0.5], [-1, 0], [0, 0]], np.float32)


def test_nearest_words_have_the_highest_cosine_and_exclude_the_word_itself() -> None:
    ids, cosines = nearest(VECTORS, np.array([0, 3]), 4)
    assert ids.tolist() == [[1, 2, 3, 5], [2, 0, 1, 4]], "ties are ordered by id"
    np.testing.assert_allclose(cosines, [[1, 0.5**0.5, 0, 0], [0.5**0.5, 0, 0, 0]], atol=1e-6)


def test_nearest_among_a_selection() -> None:
    ids, cosines = nearest(VECTORS, np.array([0, 4]), 2, np.array([0, 3, 4]))
    assert ids.tolist() == [[3, 4], [3, 0]]
    np.testing.assert_allclose(cosines, [[0, -1], [0, -1]], atol=1e-6)


def test_there_are_fewer_neighbours_than_asked_for_if_there_are_few_words() -> None:
    ids, cosines = nearest(VECTORS, np.array([0]), 9)
    assert ids.tolist() == [[1, 2, 3, 5, 4]] and np.isfinite(cosines).all()
    assert nearest(VECTORS, np.array([0]), 9, np.array([3, 4]))[0].tolist() == [[3, 4]]


def test_a_batch_of_queries_equals_single_queries() -> None:
    vectors = np.random.RandomState(0).standard_normal((700, 5)).astype(np.float32)
    ids, cosines = nearest(vectors, np.arange(699, -1, -1), 3)
    for row in (0, 255, 256, 699):
        one, near = nearest(vectors, np.array([699 - row]), 3)
        assert ids[row].tolist() == one[0].tolist()
        np.testing.assert_allclose(cosines[row], near[0], rtol=1e-5)


def test_directions_that_fit_into_a_plane_keep_their_distances() -> None:
    """Directions at equal distances from one another."""
    positions = mds(np.eye(3))
    np.testing.assert_allclose(np.linalg.norm(positions - np.roll(positions, 1, axis=0), axis=1), 1.0, atol=1e-3)


def test_similar_directions_are_close_in_the_plane_whatever_their_length() -> None:
    generator = np.random.RandomState(1)
    centres = generator.standard_normal((4, 20))
    words = np.repeat(centres, 6, axis=0) + 0.3 * generator.standard_normal((24, 20))
    positions = mds(words)
    apart = np.linalg.norm(positions[:, None] - positions, axis=2) + np.diag(np.full(24, np.inf))
    assert (apart.argmin(axis=1) // 6 == np.arange(24) // 6).all()
    np.testing.assert_allclose(mds(words * np.linspace(1, 9, 24)[:, None]), positions, atol=1e-6)


@pytest.mark.parametrize("words", [1, 2])
def test_few_words_have_positions_too(words: int) -> None:
    positions = mds(np.array([[1.0, 0, 0], [0, 1, 0]])[:words])
    assert positions.shape == (words, 2) and np.isfinite(positions).all()


def test_the_vectors_are_not_changed() -> None:
    before = VECTORS.copy()
    nearest(VECTORS, np.array([0]), 2)
    mds(VECTORS)
    np.testing.assert_array_equal(VECTORS, before)
