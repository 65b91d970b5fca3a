"""Rollout, attention distance, similarity of positions and principal filters, by hand."""

from __future__ import annotations

import numpy as np

from gluon_attn.evaluation import vision


def test_rollout_multiplies_the_layers_with_their_residuals() -> None:
    generator = np.random.RandomState(0)
    weights = generator.dirichlet(np.ones(5), size=(2, 3, 2, 5))  # layers, images, heads, queries, keys
    rollout = vision.attention_rollout(weights, class_token=True)
    layers = [(one[1].mean(axis=0) + np.eye(5)) / 2 for one in weights]
    expected = (layers[1] @ layers[0])[0, 1:]
    assert rollout.shape == (3, 4)
    np.testing.assert_allclose(rollout[1], expected / expected.sum())
    mean = vision.attention_rollout(weights, class_token=False)
    np.testing.assert_allclose(mean[1], (layers[1] @ layers[0]).mean(axis=0))


def test_rollout_of_attention_to_one_patch_is_that_patch() -> None:
    weights = np.zeros((1, 1, 1, 3, 3))
    weights[..., 2] = 1
    assert vision.attention_rollout(weights, class_token=True).tolist() == [[0, 1]]


def test_attention_distance_is_in_pixels_without_the_class_token() -> None:
    weights = np.zeros((2, 1, 2, 5, 5))
    weights[..., 0] = 0.5  # the class token, which does not count
    weights[:, :, 0, 1:, 1:] = 0.5 * np.eye(4)  # a head that attends to its own patch
    weights[:, :, 1, 1:, 1:] = 0.5 * np.eye(4)[::-1]  # and one to that across the grid
    distance = vision.attention_distance(weights, 2, 8.0, class_token=True)
    np.testing.assert_allclose(distance, [[0, 8 * np.sqrt(2)]] * 2)
    uniform = np.full((1, 1, 1, 4, 4), 0.25)
    expected = (0 + 8 + 8 + 8 * np.sqrt(2)) / 4
    np.testing.assert_allclose(vision.attention_distance(uniform, 2, 8.0, class_token=False), [[expected]])


def test_similarity_is_the_cosine() -> None:
    vectors = np.array([[1.0, 0], [2, 0], [0, 3], [-1, 0]])
    expected = [[1, 1, 0, -1], [1, 1, 0, -1], [0, 0, 1, 0], [-1, -1, 0, 1]]
    np.testing.assert_allclose(vision.position_similarity(vectors), expected, atol=1e-12)


def test_principal_filters_find_the_directions_that_were_mixed() -> None:
    generator = np.random.RandomState(0)
    directions = np.linalg.qr(generator.randn(12, 2))[0].T
    strengths = generator.randn(500, 2) * [3, 1]
    weight = (strengths @ directions).reshape(500, 3, 2, 2) + 0.7
    components, shares = vision.principal_filters(weight, 2)
    assert components.shape == (2, 2, 2, 3)
    flat = components.transpose(0, 3, 1, 2).reshape(2, -1)
    assert np.abs((flat * directions).sum(axis=1)).min() > 0.99
    assert 0.85 < shares[0] < 0.95 and abs(shares.sum() - 1) < 1e-9
    assert (flat[np.arange(2), np.abs(flat).argmax(axis=1)] > 0).all()
