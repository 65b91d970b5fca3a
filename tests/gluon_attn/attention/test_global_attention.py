"""Attention of one decoder step, against GluonNLP's cells and the equations; properties of every decoder attention."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from gluonnlp.model import MLPAttentionCell
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.additive import AdditiveScore
from gluon_attn.attention.global_attention import GlobalAttention, LocationScore
from gluon_attn.attention.local import MonotonicAttention, PredictiveAttention
from gluon_attn.attention.masks import memory_mask, token_mask
from gluon_attn.attention.multiplicative import DotScore, GeneralScore, dot, general
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import array, check_numeric_gradients, dense, initialize, normal, parameters_of

LENGTHS, MEMORY = [5, 1, 3], 6  # The longest is shorter than the memory: every sentence has padding.
QUERY_UNITS, MEMORY_UNITS, HIDDEN = 4, 7, 8

SCORES: dict[str, Callable[[], HybridBlock]] = {
    "dot": DotScore,
    "general": lambda: GeneralScore(QUERY_UNITS, MEMORY_UNITS),
    "additive": lambda: AdditiveScore(HIDDEN, QUERY_UNITS, MEMORY_UNITS),
    "concat": lambda: AdditiveScore(HIDDEN, QUERY_UNITS, MEMORY_UNITS, use_bias=False),
    "location": lambda: LocationScore(MEMORY + 3, QUERY_UNITS),
}
MECHANISMS: dict[str, Callable[[], HybridBlock]] = {
    **{name: partial(lambda make: GlobalAttention(make()), make) for name, make in SCORES.items()},
    "local-m": lambda: MonotonicAttention(SCORES["general"](), 1),
    "local-p": lambda: PredictiveAttention(SCORES["general"](), 2, QUERY_UNITS),
}
every_score = pytest.mark.parametrize("name", SCORES)
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


class OneStep(HybridBlock):
    """One decoder step: project the keys of the sentence, then compute the weights."""

    def __init__(self, attention: HybridBlock) -> None:
        super().__init__()
        with self.name_scope():
            self.attention = attention

    def hybrid_forward(self, F: Any, query: Any, memory: Any, valid_length: Any, step: Any) -> tuple[Any]:
        keys = self.attention.keys(F, memory)
        weights = self.attention(F.expand_dims(query, axis=1), keys, token_mask(F, memory, valid_length), step)
        return (F.reshape(weights, (-3, 0)),)


def memory_units(name: str) -> int:
    return QUERY_UNITS if name == "dot" else MEMORY_UNITS


def inputs_of(name: str, *, lengths: list[int] = LENGTHS, width: int = MEMORY, dtype: str = "float32") -> list[Any]:
    """Query, memory, lengths, and the step number of each sentence."""
    steps = np.arange(len(lengths))[:, None]
    return [
        array(normal(len(lengths), QUERY_UNITS, seed=1), dtype),
        array(normal(len(lengths), width, memory_units(name), seed=2), dtype),
        array(lengths, dtype),
        array(steps, dtype),
    ]


def one_step(name: str, dtype: str = "float32", seed: int = 0) -> OneStep:
    block = OneStep(MECHANISMS[name]())
    block.cast(dtype)
    return initialize(block, *inputs_of(name, dtype=dtype), seed=seed)


def initialized_score(name: str) -> HybridBlock:
    query, memory, *_ = inputs_of(name)
    score = SCORES[name]()
    score.initialize()
    return initialize(score, nd.expand_dims(query, axis=1), score.keys(nd, memory))


# --- the equations ---


def expected_scores(name: str, block: HybridBlock, query: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """Scores (memory_length,) of one sentence by the equation of the docstring, position by position."""
    w = parameters_of(block)
    if name == "dot":
        return np.array([query @ state for state in memory])
    if name == "general":
        return np.array([query @ (w["key.weight"] @ state) for state in memory])
    if name == "location":
        return (w["place.weight"] @ query)[: len(memory)]
    bias = w.get("query.bias", np.zeros(HIDDEN))
    return np.array(
        [w["value.weight"][0] @ np.tanh(w["query.weight"] @ query + w["key.weight"] @ state + bias) for state in memory]
    )


@every_score
def test_scores_and_weights_are_those_of_the_equation(name: str) -> None:
    _, memory, lengths, step = inputs_of(name)
    query = array(normal(len(LENGTHS), 2, QUERY_UNITS, seed=1))
    score = initialized_score(name)
    scores = score(query, score.keys(nd, memory))
    weights = GlobalAttention(score)(query, score.keys(nd, memory), token_mask(nd, memory, lengths), step)
    assert scores.shape == weights.shape == (3, 2, MEMORY)
    for row, i in np.ndindex(3, 2):
        tokens = LENGTHS[row]
        one = query.asnumpy()[row, i].astype(np.float64), memory.asnumpy()[row].astype(np.float64)
        expected = expected_scores(name, score, *one)
        np.testing.assert_allclose(scores.asnumpy()[row, i], expected, rtol=1e-4, atol=1e-5)
        softmax = np.exp(expected[:tokens]) / np.exp(expected[:tokens]).sum()
        np.testing.assert_allclose(weights.asnumpy()[row, i, :tokens], softmax, rtol=1e-4, atol=1e-6)


def test_the_names_of_the_parameters_say_whether_there_is_a_bias() -> None:
    assert set(parameters_of(initialized_score("additive"))) - set(parameters_of(initialized_score("concat"))) == {
        "query.bias"
    }


@pytest.mark.parametrize("name", ["additive", "dot", "general"])
@pytest.mark.parametrize("masked", [False, True])
def test_weights_equal_those_of_the_cell_of_gluonnlp(name: str, masked: bool) -> None:
    """The cells take many queries and project the keys at each call; the weights are the same."""
    query, memory, lengths, step = inputs_of(name)
    ours = GlobalAttention(initialized_score(name))
    mine = parameters_of(ours)
    theirs = {
        "additive": lambda: MLPAttentionCell(HIDDEN, act=nn.Activation("tanh")),
        "dot": dot,
        "general": lambda: general(MEMORY_UNITS),
    }[name]()
    queries = nd.expand_dims(query, axis=1)
    copied = {
        "additive": lambda: {
            "_query_mid_layer.weight": mine["score.query.weight"],
            "_query_mid_layer.bias": mine["score.query.bias"],
            "_key_mid_layer.weight": mine["score.key.weight"],
            "_attention_score.weight": mine["score.value.weight"],
        },
        "dot": dict,
        "general": lambda: {"_proj_query.weight": mine["score.key.weight"].T},  # GluonNLP's cell projects the query.
    }[name]()
    initialize(theirs, queries, memory, seed=9)
    assert dict(named_parameters(theirs)).keys() == copied.keys()
    for key, parameter in named_parameters(theirs):
        parameter.set_data(array(copied[key], "float32"))

    mask = token_mask(nd, memory, lengths) if masked else nd.ones((3, MEMORY))
    _, expected = theirs(queries, memory, None, memory_mask(nd, queries, mask) if masked else None)
    weights = ours(queries, ours.keys(nd, memory), mask, step)
    np.testing.assert_allclose(weights.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)
    assert np.abs(weights.asnumpy() - 1 / MEMORY).max() > 0.01, "the comparison is empty: weights are uniform"


@pytest.mark.parametrize("hybridized", [False, True])
def test_positions_beyond_the_last_score_get_no_weight(hybridized: bool) -> None:
    attention = GlobalAttention(LocationScore(4, QUERY_UNITS))
    attention.initialize(mx.init.Normal(0.5))
    attention.hybridize(hybridized)
    query, step = array(normal(2, 1, QUERY_UNITS, seed=1)), nd.zeros((2, 1))
    short = attention(query, nd.ones((2, 4, 3)), nd.ones((2, 4)), step).asnumpy()
    mask = nd.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]])
    long = attention(query, nd.ones((2, 6, 3)), mask, step).asnumpy()
    np.testing.assert_array_equal(long, np.pad(short, ((0, 0), (0, 0), (0, 2))))


def test_location_scores_do_not_depend_on_the_memory() -> None:
    block = one_step("location")
    query, memory, lengths, step = inputs_of("location")
    expected = block(query, memory, lengths, step)[0].asnumpy()
    np.testing.assert_array_equal(block(query, 100 * memory - 3, lengths, step)[0].asnumpy(), expected)
    assert np.abs(block(2 * query, memory, lengths, step)[0].asnumpy() - expected).max() > 0.01


@pytest.mark.parametrize("name", ["dot", "general", "additive", "concat"])
def test_equal_keys_get_equal_weights(name: str) -> None:
    query, _, lengths, step = inputs_of(name)
    memory = array(np.repeat(normal(3, 1, memory_units(name)), MEMORY, axis=1))
    weights = one_step(name)(query, memory, lengths, step)[0].asnumpy()
    inside = np.arange(MEMORY) < np.array(LENGTHS)[:, None]
    np.testing.assert_allclose(weights, inside / inside.sum(axis=1, keepdims=True), rtol=1e-5)


# --- properties of every decoder attention, local ones too ---


@every_mechanism
@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    extra=st.integers(0, 3),
    magnitude=st.sampled_from([0.1, 1.0, 30.0]),
)
def test_weights_are_a_distribution_over_the_tokens(
    name: str, lengths: list[int], extra: int, magnitude: float
) -> None:
    query, memory, valid, step = inputs_of(name, lengths=lengths, width=max(lengths) + extra)
    weights = one_step(name)(magnitude * query, magnitude * memory, valid, step)[0].asnumpy()
    inside = np.arange(weights.shape[1]) < np.array(lengths)[:, None]
    assert weights.shape == (len(lengths), max(lengths) + extra)
    assert (weights >= 0).all() and (weights[~inside] == 0).all()
    if name == "local-p":
        assert (weights.sum(axis=1) > 0).all() and (weights.sum(axis=1) < 1 + 1e-5).all()
    else:
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-5)


@every_mechanism
@pytest.mark.parametrize("hybridized", [False, True])
def test_queries_that_share_a_memory_are_independent(name: str, hybridized: bool) -> None:
    """Three queries, each at its own step, get what each gets alone."""
    _, memory, lengths, _ = inputs_of(name)
    attention = one_step(name).attention
    attention.hybridize(hybridized)
    queries = array(normal(len(LENGTHS), 3, QUERY_UNITS, seed=5))
    steps = array([[0, 2, 4], [1, 1, 3], [2, 0, 1]], "float32")
    keys, mask = attention.keys(nd, memory), token_mask(nd, memory, lengths)
    together = attention(queries, keys, mask, steps).asnumpy()
    for position in range(3):
        alone = attention(queries[:, position : position + 1], keys, mask, steps[:, position : position + 1]).asnumpy()
        np.testing.assert_allclose(together[:, position], alone[:, 0], rtol=1e-5, atol=1e-7)
    assert np.abs(together[0, 0] - together[0, 1]).max() > 1e-3


@every_mechanism
@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    extra=st.integers(1, 4),
    magnitude=st.sampled_from([1.0, 1e4]),
)
def test_extra_padding_changes_nothing(name: str, lengths: list[int], extra: int, magnitude: float) -> None:
    """Neither the content of the padding nor the rest of the batch matters: each sentence alone gives the same."""
    block = one_step(name)
    query, memory, valid, step = inputs_of(name, lengths=lengths, width=max(lengths) + extra)
    padded = magnitude * memory.asnumpy()
    for row, tokens in enumerate(lengths):
        padded[row, :tokens] = normal(tokens, memory_units(name), seed=row)
    weights = block(query, array(padded), valid, step)[0].asnumpy()
    for row, tokens in enumerate(lengths):
        one = slice(row, row + 1)
        alone = block(query[one], array(padded[one, :tokens]), valid[one], step[one])[0].asnumpy()
        np.testing.assert_allclose(weights[row, :tokens], alone[0], rtol=1e-4, atol=1e-6)


@every_mechanism
def test_eager_equals_hybridized_and_padding_has_no_gradient(name: str) -> None:
    results = []
    for hybridized in (False, True):
        block = one_step(name)
        block.hybridize(hybridized, static_alloc=True, static_shape=True)
        query, memory, lengths, step = inputs_of(name)
        for values in (query, memory):
            values.attach_grad()
        with autograd.record():
            (weights,) = block(query, memory, lengths, step)
            total = (weights * array(normal(3, MEMORY, seed=4))).sum()
        total.backward()
        gradient = np.abs(memory.grad.asnumpy()).max(axis=2)
        assert (gradient[np.arange(MEMORY) >= np.array(LENGTHS)[:, None]] == 0).all()
        if name != "location":
            assert (gradient[0, :2] > 1e-5).all()
        arrays = {key: dense(one.grad()) for key, one in named_parameters(block)} | {"query": query.grad.asnumpy()}
        assert all(np.abs(values).max() > 1e-5 for values in arrays.values()), arrays.keys()
        results.append(arrays | {"memory": memory.grad.asnumpy(), "weights": weights.asnumpy()})
    for key, values in results[0].items():
        np.testing.assert_allclose(results[1][key], values, rtol=1e-4, atol=1e-6, err_msg=key)


@every_mechanism
def test_a_block_has_no_state_between_sentences(name: str) -> None:
    block = one_step(name)
    inputs = inputs_of(name)
    expected = block(*inputs)[0].asnumpy()
    block(*inputs_of(name, lengths=[2], width=3))
    np.testing.assert_array_equal(block(*inputs)[0].asnumpy(), expected)
    assert not [attribute for attribute, value in vars(block.attention).items() if isinstance(value, nd.NDArray)]


@pytest.mark.parametrize("name", ["dot", "general", "additive", "location", "local-m", "local-p"])
def test_gradients_match_finite_differences(name: str) -> None:
    block = one_step(name, "float64")
    query, memory, lengths, step = inputs_of(name, dtype="float64")
    wanted = array(normal(3, MEMORY, seed=4), "float64")

    def weigh(weights: nd.NDArray) -> nd.NDArray:
        return (weights * wanted).sum()

    check_numeric_gradients(block, [query, memory], weigh, [lengths, step])
