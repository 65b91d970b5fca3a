"""Intra-attention against the equation of Cheng et al. (2016); an empty memory slot gets no weight."""

from __future__ import annotations

import numpy as np
import pytest

from gluon_attn.attention.intra import IntraAttention
from gluon_attn.attention.masks import additive_mask
from tests.gluon_attn.support import array, initialize, normal, parameters_of, softmax

UNITS, IN, HIDDEN, BATCH = 3, 4, 5, 2


@pytest.mark.parametrize("hybridized", [False, True])
def test_scores_are_the_equation(hybridized: bool) -> None:
    attention = IntraAttention(HIDDEN, IN, UNITS)
    x, attended, states = normal(BATCH, IN, seed=1), normal(BATCH, UNITS, seed=2), normal(BATCH, 4, UNITS, seed=3)
    attention.initialize()
    word, keys = attention.words(array(x)), attention.keys(array(states))
    initialize(attention, word, array(attended), keys)
    attention.hybridize(hybridized)
    w = parameters_of(attention)
    expected = []
    for row in range(BATCH):
        query = w["word.weight"] @ x[row] + w["attended.weight"] @ attended[row]
        expected.append(softmax(np.tanh(states[row] @ w["key.weight"].T + query) @ w["score.weight"][0]))
    word, keys = attention.words(array(x)), attention.keys(array(states))
    actual = attention(word, array(attended), keys).asnumpy()
    np.testing.assert_allclose(actual, np.array(expected), rtol=1e-5, atol=1e-6)


def test_an_empty_slot_gets_no_weight() -> None:
    attention = IntraAttention(HIDDEN, IN, UNITS)
    word, attended, keys = (
        array(normal(1, *shape, seed=i)) for i, shape in enumerate([(HIDDEN,), (UNITS,), (4, HIDDEN)])
    )
    initialize(attention, word, attended, keys)
    mask = array([[0, 1, 0, 1]], "float32")
    weights = attention(word, attended, keys, additive_mask(mask)).asnumpy()
    assert (weights[0, [0, 2]] == 0).all()
    alone = attention(word, attended, array(keys.asnumpy()[:, [1, 3]])).asnumpy()
    np.testing.assert_allclose(weights[0, [1, 3]], alone[0], rtol=1e-5)
