"""Each rung of the ladder has the one before it as a special case; the last one is the layer of the Transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from mxnet import nd

from gluon_attn.attention import ladder
from gluon_attn.attention.multihead import SelfAttention
from gluon_attn.attention.multiplicative import scaled_dot
from tests.gluon_attn.support import array, initialize, normal

BATCH, UNITS = 3, 4
lengths = st.integers(1, 6)
seeds = st.integers(0, 99)
on_random_input = given(length=lengths, seed=seeds)


def assert_same(ours: tuple[Any, Any], expected: tuple[Any, Any]) -> None:
    """Contexts and weights, whatever axes of length 1 they have."""
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one.asnumpy().squeeze(), other.asnumpy().squeeze(), rtol=1e-4, atol=1e-5)


def projections(seed: int, units: int = UNITS) -> list[nd.NDArray]:
    return [array(normal(UNITS, units, seed=seed + number)) for number in range(3)]


@settings(max_examples=10)
@on_random_input
def test_a_learned_score_is_a_query_that_is_always_the_same(length: int, seed: int) -> None:
    memory, score = array(normal(BATCH, length, UNITS, seed=seed)), array(normal(UNITS, 1, seed=seed + 1))
    query = nd.broadcast_to(nd.reshape(score, (1, -1)) * UNITS**0.5, (BATCH, UNITS))
    assert_same(ladder.scaled_dot(nd, query, memory, UNITS), ladder.pooled(nd, memory, score))


@settings(max_examples=10)
@on_random_input
def test_one_query_is_several_of_which_there_is_one(length: int, seed: int) -> None:
    memory, query = array(normal(BATCH, length, UNITS, seed=seed)), array(normal(BATCH, UNITS, seed=seed + 1))
    several = nd.expand_dims(query, axis=1)
    assert_same(ladder.many_queries(nd, several, memory, UNITS), ladder.scaled_dot(nd, query, memory, UNITS))


@settings(max_examples=10)
@on_random_input
def test_a_memory_is_keys_and_values_that_are_the_same(length: int, seed: int) -> None:
    memory, queries = array(normal(BATCH, length, UNITS, seed=seed)), array(normal(BATCH, 2, UNITS, seed=seed + 1))
    whole = ladder.keys_and_values(nd, queries, memory, memory, UNITS)
    assert_same(whole, ladder.many_queries(nd, queries, memory, UNITS))
    assert_same(whole, scaled_dot()(queries, memory))


@settings(max_examples=10)
@on_random_input
def test_separate_inputs_are_parts_of_one_that_is_projected(length: int, seed: int) -> None:
    parts = [array(normal(BATCH, length, UNITS, seed=seed + number)) for number in range(3)]
    selecting = [array(np.eye(3 * UNITS, dtype=np.float32)[:, UNITS * n : UNITS * (n + 1)]) for n in range(3)]
    whole = ladder.self_attention(nd, nd.concat(*parts, dim=2), selecting, UNITS)
    assert_same(whole, ladder.keys_and_values(nd, *parts, UNITS))


@settings(max_examples=10)
@on_random_input
def test_without_a_mask_is_with_one_that_hides_nothing(length: int, seed: int) -> None:
    x = array(normal(BATCH, length, UNITS, seed=seed))
    whole = ladder.masked(nd, x, projections(seed + 1), UNITS, nd.zeros((1, length, length)))
    assert_same(whole, ladder.self_attention(nd, x, projections(seed + 1), UNITS))


def causal(length: int) -> np.ndarray:
    return (np.tril(np.ones((1, length, length), np.float32)) - 1) * np.float32(1e18)


@settings(max_examples=10)
@on_random_input
def test_one_attention_is_one_head_whose_output_is_not_changed(length: int, seed: int) -> None:
    x, mask = array(normal(BATCH, length, UNITS, seed=seed)), array(causal(length))
    whole = ladder.multi_head(nd, x, [projections(seed + 1)], nd.eye(UNITS), UNITS, mask)
    assert_same(whole, ladder.masked(nd, x, projections(seed + 1), UNITS, mask))


@settings(max_examples=10)
@given(length=lengths, heads=st.sampled_from([1, 2, 4]), seed=seeds)
def test_the_top_is_the_layer_of_the_transformer(length: int, heads: int, seed: int) -> None:
    x, mask, width = normal(BATCH, length, UNITS, seed=seed), causal(length), UNITS // heads
    layer = initialize(SelfAttention(UNITS, heads), array(x.transpose(1, 0, 2)), seed=seed)
    weights = {name: getattr(layer.projection, name).data() for name in ("query", "key", "value")}
    of_heads = [
        [array(weight.asnumpy()[width * head : width * (head + 1)].T) for weight in weights.values()]
        for head in range(heads)
    ]
    output = array(layer.output.weight.data().asnumpy().T)
    context, attended = layer(array(x.transpose(1, 0, 2)), array(np.repeat(mask, BATCH * heads, axis=0)))
    expected = nd.transpose(context, axes=(1, 0, 2)), nd.reshape(attended, (BATCH, heads, length, length))
    assert_same(ladder.multi_head(nd, array(x), of_heads, output, width, array(mask)), expected)
