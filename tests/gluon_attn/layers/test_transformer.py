"""Layers of a Transformer are GluonNLP's cells, and pre-norm is their other order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gluonnlp.model.transformer import TransformerDecoderCell, TransformerEncoderCell
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.layers.transformer import DecoderLayer, EncoderLayer, FeedForward
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import array, initialize, normal

UNITS, HEADS, HIDDEN_UNITS, BATCH, LENGTH, MEMORY = 8, 2, 10, 3, 5, 4
SIZES: dict[str, Any] = {"units": UNITS, "heads": HEADS, "hidden_units": HIDDEN_UNITS}
TOKENS, STATES = normal(LENGTH, BATCH, UNITS), normal(MEMORY, BATCH, UNITS, seed=1)
CAUSAL = np.broadcast_to(np.tril(np.ones((LENGTH, LENGTH), np.float32)), (BATCH, LENGTH, LENGTH))
VISIBLE = np.broadcast_to(np.arange(MEMORY) < np.array([4, 1, 2])[:, None, None], (BATCH, LENGTH, MEMORY)).astype("f")

# Theirs by ours.
NORM = {"gamma": "gamma", "beta": "beta"}
FEED_FORWARD = {
    "ffn.ffn_1.weight": "feed_forward.hidden.weight",
    "ffn.ffn_1.bias": "feed_forward.hidden.bias",
    "ffn.ffn_2.weight": "feed_forward.output.weight",
    "ffn.ffn_2.bias": "feed_forward.output.bias",
    **{f"ffn.layer_norm.{name}": f"feed_forward_residual.norm.{name}" for name in NORM},
}


def attention_names(cell: str, proj: str, norm: str, ours: str, residual: str, crossing: bool) -> dict[str, str]:
    inside = {"query": "query", "key": "memory", "value": "memory"} if crossing else {}
    names = {
        f"{cell}.proj_{kind}.weight": f"{ours}.{inside.get(kind, 'projection')}.{kind}"
        for kind in ("query", "key", "value")
    }
    names |= {f"{proj}.weight": f"{ours}.output.weight"}
    return names | {f"{norm}.{name}": f"{residual}.norm.{name}" for name in NORM}


ENCODER_LAYER = FEED_FORWARD | attention_names(
    "attention_cell", "proj", "layer_norm", "attention", "attention_residual", False
)
DECODER_LAYER = (
    FEED_FORWARD
    | attention_names("attention_cell_in", "proj_in", "layer_norm_in", "attention", "attention_residual", False)
    | attention_names(
        "attention_cell_inter", "proj_inter", "layer_norm_inter", "memory_attention", "memory_residual", True
    )
)


def give(theirs: Any, ours: Any, names: dict[str, str]) -> None:
    """Copy our parameters into GluonNLP's cell."""
    mine, its = dict(named_parameters(ours)), dict(named_parameters(theirs))
    assert its.keys() == names.keys() and mine.keys() == set(names.values())
    for name, parameter in its.items():
        parameter.set_data(mine[names[name]].data().reshape(parameter.shape))


def additive(visible: np.ndarray) -> nd.NDArray:
    return array(np.repeat((visible - 1.0) * 1e18, HEADS, axis=0), "float32")


def batch_first(values: np.ndarray) -> nd.NDArray:
    return array(values.transpose(1, 0, 2))


@pytest.mark.parametrize("hybridized", [False, True])
def test_an_encoder_layer_is_gluonnlps(hybridized: bool) -> None:
    ours = initialize(EncoderLayer(**SIZES), array(TOKENS))
    theirs = TransformerEncoderCell(units=UNITS, hidden_size=HIDDEN_UNITS, num_heads=HEADS)
    theirs.initialize()
    theirs(batch_first(TOKENS), array(CAUSAL))
    give(theirs, ours, ENCODER_LAYER)
    expected, _ = theirs(batch_first(TOKENS), array(CAUSAL))
    ours.hybridize(hybridized)
    x, _ = ours(array(TOKENS), additive(CAUSAL))
    np.testing.assert_allclose(x.asnumpy(), expected.asnumpy().transpose(1, 0, 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_outputs_at_some_places_are_those_of_a_call(norm: str) -> None:
    layer = initialize(EncoderLayer(**SIZES, norm=norm, bias=True), array(TOKENS))
    expected, weights = layer(array(TOKENS), additive(CAUSAL))
    places = np.array([7, 0, 14, 7]), np.array([2])  # position * BATCH + row
    states, same_weights = layer.at(nd, array(TOKENS), additive(CAUSAL), [array(each, "int32") for each in places])
    flat = expected.asnumpy().reshape(-1, UNITS)
    for own, at in zip(states, places, strict=True):
        np.testing.assert_allclose(own.asnumpy(), flat[at], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(same_weights.asnumpy(), weights.asnumpy())


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_decoder_layer_is_gluonnlps(hybridized: bool) -> None:
    arrays = array(TOKENS), array(STATES), additive(CAUSAL), additive(VISIBLE)
    ours = initialize(DecoderLayer(**SIZES), *arrays)
    theirs = TransformerDecoderCell(units=UNITS, hidden_size=HIDDEN_UNITS, num_heads=HEADS)
    theirs.initialize()
    inputs = batch_first(TOKENS), batch_first(STATES), array(CAUSAL), array(VISIBLE)
    theirs(*inputs)
    give(theirs, ours, DECODER_LAYER)
    expected, _ = theirs(*inputs)
    ours.hybridize(hybridized)
    x, _, weights = ours(*arrays)
    np.testing.assert_allclose(x.asnumpy(), expected.asnumpy().transpose(1, 0, 2), rtol=1e-4, atol=1e-5)
    assert (weights.asnumpy()[np.repeat(VISIBLE, HEADS, axis=0) == 0] == 0).all()


def test_pre_norm_leaves_the_residual_path_as_it_is() -> None:
    """x + sublayer(norm(x)), twice."""
    layer = initialize(EncoderLayer(**SIZES, norm="pre"), array(TOKENS))
    between = array(TOKENS) + layer.attention(layer.attention_residual.norm(array(TOKENS)))[0]
    expected = between + layer.feed_forward(layer.feed_forward_residual.norm(between))
    np.testing.assert_allclose(layer(array(TOKENS))[0].asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_feed_forward_network_is_equation_2(activation: str) -> None:
    network = initialize(FeedForward(UNITS, HIDDEN_UNITS, activation), array(TOKENS))
    hidden = network.hidden(array(TOKENS)).asnumpy()
    if activation == "relu":
        hidden = np.maximum(hidden, 0)
    else:
        hidden = hidden / 2 * (1 + nd.erf(array(hidden / np.sqrt(2))).asnumpy())
    expected = hidden @ network.output.weight.data().asnumpy().T + network.output.bias.data().asnumpy()
    np.testing.assert_allclose(network(array(TOKENS)).asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_an_unknown_norm_is_refused() -> None:
    with pytest.raises(UsageError, match="norm 'middle' is unknown; choose one of post, pre"):
        EncoderLayer(**SIZES, norm="middle")
