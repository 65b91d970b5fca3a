"""Multi-head attention: the equations in NumPy, GluonNLP's cell, and one query at a time against all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gluonnlp.model import DotProductAttentionCell, MultiHeadAttentionCell
from hypothesis import given, settings, strategies as st
from mxnet import nd

from gluon_attn.attention.multihead import CrossAttention, HeadProjections, SelfAttention
from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import parameter_arrays
from tests.gluon_attn.support import array, initialize, normal, softmax

UNITS, HEADS = 12, 3
HIDDEN = -1e18


def oracle(
    parameters: dict[str, np.ndarray], query: np.ndarray, memory: np.ndarray, visible: np.ndarray, heads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sec. 3.2.2, sentence by sentence and head by head: contexts (length, batch, units), weights (batch, heads,
    length, memory_length). ``visible`` (batch, length, memory_length) is 0/1."""
    named = {name.split(".")[-1]: values for name, values in parameters.items() if not name.startswith("output")}

    def of_head(kind: str, head: int, x: np.ndarray) -> np.ndarray:
        return x @ np.split(named[kind], heads)[head].T

    contexts, all_weights = [], []
    for sentence in range(query.shape[1]):
        q, m, parts, weights = query[:, sentence], memory[:, sentence], [], []
        for head in range(heads):
            keys, queries = of_head("key", head, m), of_head("query", head, q)
            scores = queries @ keys.T
            if "vectors" in named:  # r of each offset, from 1 - length to length - 1
                offsets = np.subtract.outer(np.arange(len(q)), np.arange(len(q))) + len(q) - 1
                scores = scores + np.einsum("id,ijd->ij", queries, named["vectors"][offsets])
            scores = scores / np.sqrt(keys.shape[1])
            weights.append(softmax(np.where(visible[sentence] > 0, scores, -np.inf)))
            parts.append(weights[-1] @ of_head("value", head, m))
        contexts.append(np.concatenate(parts, axis=1) @ parameters["output.weight"].T)
        all_weights.append(np.stack(weights))
    return np.stack(contexts, axis=1), np.stack(all_weights)


def additive(visible: np.ndarray, heads: int) -> nd.NDArray:
    return array(np.repeat((visible - 1.0) * -HIDDEN, heads, axis=0), "float32")


def some_visible(seed: int, *shape: int) -> np.ndarray:
    visible = (np.random.RandomState(seed).uniform(size=shape) < 0.6).astype(np.float32)
    visible[..., 0] = 1.0
    return visible


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("heads", [1, 3])
def test_relative_positions_are_keys_of_their_own(heads: int, hybridized: bool) -> None:
    tokens, visible = normal(5, 2, UNITS), some_visible(2, 2, 5, 5)
    attention = SelfAttention(UNITS, heads, relative_length=5)
    initialize(attention, array(tokens))
    attention.hybridize(hybridized)
    context, weights = attention(array(tokens), additive(visible, heads))
    own = parameter_arrays(attention)
    assert own["relative.vectors"].shape == (9, UNITS // heads)
    expected, expected_weights = oracle(own, tokens, tokens, visible, heads)
    np.testing.assert_allclose(context.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weights.asnumpy().reshape(2, heads, 5, 5), expected_weights, rtol=1e-4, atol=1e-6)
    without, _ = oracle({**own, "relative.vectors": 0 * own["relative.vectors"]}, tokens, tokens, visible, heads)
    assert np.abs(without - expected).max() > 1e-3


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("key_units", [None, 1, 3])
@pytest.mark.parametrize("heads", [1, 3])
def test_the_equations(heads: int, key_units: int | None, hybridized: bool) -> None:
    tokens, memory = normal(5, 2, UNITS), normal(4, 2, UNITS, seed=1)
    own, other = some_visible(2, 2, 5, 5), some_visible(3, 2, 5, 4)
    attention = SelfAttention(UNITS, heads, key_units)
    initialize(attention, array(tokens))
    attention.hybridize(hybridized)
    context, weights = attention(array(tokens), additive(own, heads))
    expected, expected_weights = oracle(parameter_arrays(attention), tokens, tokens, own, heads)
    np.testing.assert_allclose(context.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weights.asnumpy().reshape(2, heads, 5, 5), expected_weights, rtol=1e-4, atol=1e-6)
    crossing = CrossAttention(UNITS, heads, key_units)
    initialize(crossing, array(tokens), array(memory))
    crossing.hybridize(hybridized)
    context, weights = crossing(array(tokens), array(memory), additive(other, heads))
    expected, expected_weights = oracle(parameter_arrays(crossing), tokens, memory, other, heads)
    np.testing.assert_allclose(context.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weights.asnumpy().reshape(2, heads, 5, 4), expected_weights, rtol=1e-4, atol=1e-6)
    assert (weights.asnumpy()[np.repeat(other, heads, axis=0) == 0] == 0).all()


def gluonnlp_cell(attention: Any) -> MultiHeadAttentionCell:
    """GluonNLP's cell with the projections of ``attention``."""
    units = dict.fromkeys(("query_units", "key_units", "value_units"), UNITS)
    cell = MultiHeadAttentionCell(DotProductAttentionCell(scaled=True), **units, num_heads=HEADS, use_bias=False)
    cell.initialize()
    arrays = {name.split(".")[-1]: values for name, values in parameter_arrays(attention).items()}
    for kind in ("query", "key", "value"):
        dense = getattr(cell, f"proj_{kind}")
        dense.weight.shape = (UNITS, UNITS)
        dense.weight.initialize(force_reinit=True)
        dense.weight.set_data(array(arrays[kind]))
    return cell


def test_it_is_the_cell_of_gluonnlp_and_a_projection() -> None:
    tokens, memory = normal(5, 2, UNITS), normal(4, 2, UNITS, seed=1)
    visible = some_visible(3, 2, 5, 4)
    attention = initialize(CrossAttention(UNITS, HEADS), array(tokens), array(memory))
    batch_first = [array(each.transpose(1, 0, 2)) for each in (tokens, memory)]
    expected, expected_weights = gluonnlp_cell(attention)(*batch_first, batch_first[1], array(visible))
    context, weights = attention(array(tokens), array(memory), additive(visible, HEADS))
    np.testing.assert_allclose(
        context.asnumpy(), attention.output(expected).asnumpy().transpose(1, 0, 2), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(weights.asnumpy().reshape(2, HEADS, 5, 4), expected_weights.asnumpy(), atol=1e-6)


@settings(max_examples=8)
@given(length=st.integers(1, 7), capacity=st.integers(2, 9), key_units=st.sampled_from([None, 2]))
def test_one_token_at_a_time_attends_as_all_at_once_with_a_causal_mask(
    length: int, capacity: int, key_units: int | None
) -> None:
    """As long as the cache has room for all tokens."""
    capacity = max(capacity, length)
    tokens = normal(length, 2, UNITS)
    attention = initialize(SelfAttention(UNITS, HEADS, key_units), array(tokens))
    causal = np.tril(np.ones((length, length), np.float32))
    expected, _ = attention(array(tokens), additive(np.stack([causal] * 2), HEADS))
    keys, values = (nd.ones((2 * HEADS, capacity, UNITS // HEADS)) * 7.0 for _ in range(2))  # garbage after the token
    for step in range(length):
        keys[:, step], values[:, step] = 0.0, 0.0
        mask = (np.arange(capacity) > step).astype(np.float32)[None] * HIDDEN
        place = array(np.eye(capacity, dtype=np.float32)[step : step + 1])
        context, key, value = attention.step(nd, array(tokens[step]), keys, values, array(mask), place)
        keys[:, step : step + 1], values[:, step : step + 1] = key, value
        np.testing.assert_allclose(context.asnumpy(), expected.asnumpy()[step], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_translations_of_a_beam_attend_to_one_memory(beam: int) -> None:
    tokens, memory = normal(2 * beam, UNITS), normal(4, 2, UNITS, seed=1)
    attention = initialize(CrossAttention(UNITS, HEADS), array(tokens[None, :2]), array(memory))
    mask = (some_visible(5, 2, 4) - 1) * -HIDDEN
    keys, values = attention.keys_and_values(nd, array(memory))
    context, weights = attention.step(nd, array(tokens), keys, values, array(mask), beam)
    repeated = array(np.repeat(memory, beam, axis=1))
    full = array(np.repeat(np.repeat(mask, beam, axis=0), HEADS, axis=0)[:, None])
    expected, expected_weights = attention(array(tokens[None]), repeated, full)
    np.testing.assert_allclose(context.asnumpy(), expected.asnumpy()[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        weights.asnumpy(), expected_weights.asnumpy().reshape(2 * beam, HEADS, 4), rtol=1e-4, atol=1e-6
    )


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="12 units cannot be divided among 5 heads"):
        SelfAttention(12, 5)
    with pytest.raises(UsageError, match="keys of 5 units are wider than values of 4"):
        SelfAttention(12, 3, 5)
    with pytest.raises(UsageError, match="keys of 2 units have no biases here; choose 4 units or no biases"):
        SelfAttention(12, 3, 2, bias=True)
    with pytest.raises(UsageError, match="projections narrower than 4 units have no biases; choose 4"):
        HeadProjections(3, 4, 12, {"key": 2, "value": 4}, bias=True)
    with pytest.raises(UsageError, match="12 units cannot be divided among 0 heads"):
        SelfAttention(12, 0)


def test_relative_positions_have_no_step() -> None:
    attention = SelfAttention(4, 2, relative_length=3)
    unused = array(np.zeros((2, 1, 2)))
    with pytest.raises(UsageError, match="no step for a single token; give the whole sequence"):
        attention.step(nd, array(np.zeros((1, 4))), unused, unused, array([[0.0]]), array([[1.0]]))
