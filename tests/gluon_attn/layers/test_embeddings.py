"""A spelled embedding is the token's vector plus a linear map of the vectors of its syllables."""

from __future__ import annotations

import numpy as np

from gluon_attn.layers.embeddings import SpelledEmbedding
from tests.gluon_attn.support import array, every_parameter_learns, initialize

IDS = [[[3, 2, 4], [5, 1, 1]], [[0, 6, 2], [1, 1, 1]]]


def spelled() -> SpelledEmbedding:
    model = SpelledEmbedding(vocabulary_size=7, units=4, syllables=8, syllable_units=3, width=2)
    return initialize(model, array(IDS, "int32"))


def test_is_the_sum_of_token_and_composed_syllables() -> None:
    model = spelled()
    token, syllable, weight, bias = (
        parameter.data().asnumpy()
        for parameter in (
            model.token.weight,
            model.syllable.weight,
            model.composition.weight,
            model.composition.bias,
        )
    )
    result = model(array(IDS, "int32")).asnumpy()
    assert result.shape == (2, 2, 4)
    for (row, position), vector in zip(np.ndindex(2, 2), result.reshape(4, 4), strict=True):
        first, *rest = IDS[row][position]
        expected = token[first] + weight @ np.concatenate([syllable[index] for index in rest]) + bias
        np.testing.assert_allclose(vector, expected, rtol=1e-5, atol=1e-6)


def test_eager_equals_hybridized_and_every_parameter_learns() -> None:
    model = spelled()
    eager = model(array(IDS, "int32")).asnumpy()
    model.hybridize(static_alloc=True, static_shape=True)
    np.testing.assert_allclose(model(array(IDS, "int32")).asnumpy(), eager, rtol=1e-6, atol=1e-7)
    assert all(size > 0 for size in every_parameter_learns(model, [array(IDS, "int32")]).values())
