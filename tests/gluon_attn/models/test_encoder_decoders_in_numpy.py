"""The equations of the papers in NumPy, sentence by sentence, with the same weights: losses and gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from tests.gluon_attn.attention.test_multihead import oracle as multi_head
from tests.gluon_attn.layers.test_encoders import recurrence
from tests.gluon_attn.models.encoder_decoders import (
    BEGIN,
    END,
    PAIRS,
    UNITS,
    model_of,
    parameter_gradients,
)
from tests.gluon_attn.support import normal, parameters_of, sigmoid, softmax

Weights = dict[str, np.ndarray]


def below(w: Weights, prefix: str) -> Weights:
    """The parameters of one MXNet layer."""
    return {name.removeprefix(prefix): values for name, values in w.items() if name.startswith(prefix)}


def plain_rnnsearch(w: Weights, source: list[int], inputs: list[int]) -> np.ndarray:
    """Features (steps, maxout) of one sentence, from appendix A of Bahdanau et al."""
    embedded = w["source_embedding.weight"][source]
    forwards = recurrence("gru", below(w, "encoder.forwards.0._unfused.0."), embedded)
    backwards = recurrence("gru", below(w, "encoder.backwards.0._unfused.0."), embedded[::-1])[::-1]
    h = np.concatenate([forwards, backwards], axis=1)
    s = np.tanh(w["initial.weight"] @ backwards[0] + w["initial.bias"])
    features = []
    for e in w["target_embedding.weight"][inputs]:
        hidden = np.tanh(h @ w["attention.score.key.weight"].T + w["attention.score.query.weight"] @ s)
        c = softmax(hidden @ w["attention.score.value.weight"][0]) @ h
        features.append(maxout(w, s, e, c))
        s = gru(w, s, e, c)
    return np.array(features)


def plain_rnnencdec(w: Weights, source: list[int], inputs: list[int]) -> np.ndarray:
    """Features (steps, maxout) of one sentence, from the docstring of the model: the readout has the state after the
    token.
    """
    last = recurrence("gru", below(w, "encoder._unfused.0."), w["source_embedding.weight"][source])[-1]
    c = np.tanh(w["summary.weight"] @ last + w["summary.bias"])
    s = np.tanh(w["initial.weight"] @ c + w["initial.bias"])
    features = []
    for e in w["target_embedding.weight"][inputs]:
        s = gru(w, s, e, c)
        features.append(maxout(w, s, e, c))
    return np.array(features)


def gru(w: Weights, s: np.ndarray, e: np.ndarray, c: np.ndarray) -> np.ndarray:
    gates = w["gru.gates_in.weight"] @ e + w["gru.gates_in.bias"] + w["gru.gates_of.weight"] @ c
    z, r = np.split(sigmoid(gates + w["gru.gates.weight"] @ s), 2)
    new = w["gru.proposal_in.weight"] @ e + w["gru.proposal_in.bias"] + w["gru.proposal_of.weight"] @ c
    return (1 - z) * s + z * np.tanh(new + w["gru.proposal.weight"] @ (r * s))


def maxout(w: Weights, s: np.ndarray, e: np.ndarray, c: np.ndarray) -> np.ndarray:
    total = w["readout.maps.0.weight"] @ s + w["readout.maps.1.weight"] @ e + w["readout.maps.2.weight"] @ c
    return np.maximum(*np.split(total + w["readout.maps.0.bias"], 2))


def plain_deep_lstm(
    w: Weights, source: list[int], inputs: list[int], *, reverse_source: bool, attention: bool, input_feeding: bool
) -> np.ndarray:
    """Features (steps, units) of one sentence: two layers, general attention or none (Luong et al., sec. 3)."""
    order = slice(None, None, -1 if reverse_source else 1)
    states, hidden, cells = w["source_embedding.weight"][source][order], [], []
    for layer in range(2):
        states, cell = lstm_states(below(w, f"encoder.layers.{layer}."), states)
        hidden.append(states[-1])
        cells.append(cell)
    memory = states[order]
    fed, features = np.zeros(UNITS), []
    for x in w["target_embedding.weight"][inputs]:
        for layer in range(2):
            if input_feeding:
                before = np.concatenate([hidden[layer], fed]) if layer == 0 else hidden[layer]
                gates = w[f"decoder.{layer}.i2h.weight"] @ x + w[f"decoder.{layer}.i2h.bias"]
                i, f, o, g = np.split(gates + w[f"decoder.{layer}.h2h.weight"] @ before, 4)
            else:
                its = below(w, f"decoder.{layer}._unfused.0.")
                gates = its["i2h_weight"] @ x + its["i2h_bias"] + its["h2h_weight"] @ hidden[layer] + its["h2h_bias"]
                i, f, g, o = np.split(gates, 4)
            cells[layer] = sigmoid(f) * cells[layer] + sigmoid(i) * np.tanh(g)
            x = hidden[layer] = sigmoid(o) * np.tanh(cells[layer])
        if attention:
            weights = softmax((memory @ w["attention.score.key.weight"].T) @ x)
            x = fed = np.tanh(w["attentional.weight"] @ np.concatenate([weights @ memory, x]))
        features.append(x)
    return np.array(features)


def lstm_states(w: Weights, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """States (length, units) and the last cell (units,)."""
    h = c = np.zeros(UNITS)
    states = []
    for x in inputs:
        i, f, g, o = np.split(w["i2h_weight"] @ x + w["i2h_bias"] + w["h2h_weight"] @ h + w["h2h_bias"], 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states), c


def plain_transformer(w: Weights, source: list[int], inputs: list[int], *, pre_norm: bool) -> np.ndarray:
    """Features (steps, units) of one sentence: two layers on each side (Vaswani et al., sec. 3)."""

    def residual(own: Weights, name: str, x: np.ndarray, sublayer: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        norm = partial(layer_norm, below(own, f"{name}_residual.norm."))
        return x + sublayer(norm(x)) if pre_norm else norm(x + sublayer(x))

    def self_attention(own: Weights, x: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return residual(own, "attention", x, lambda x: attention(below(own, "attention."), x, x, visible))

    def source_attention(own: Weights, x: np.ndarray, memory: np.ndarray) -> np.ndarray:
        visible = np.ones((len(x), len(memory)))
        return residual(own, "memory", x, lambda x: attention(below(own, "memory_attention."), x, memory, visible))

    def fed_forward(own: Weights, x: np.ndarray) -> np.ndarray:
        return residual(own, "feed_forward", x, partial(feed_forward, below(own, "feed_forward.")))

    states, x = positioned(w, "source", source), positioned(w, "target", inputs)
    for own in (below(w, f"encoder.{layer}.") for layer in range(2)):
        states = fed_forward(own, self_attention(own, states, np.ones((len(source), len(source)))))
    memory = layer_norm(below(w, "encoder_norm."), states) if pre_norm else states
    for own in (below(w, f"decoder.{layer}.") for layer in range(2)):
        x = self_attention(own, x, np.tri(len(inputs)))
        x = fed_forward(own, source_attention(own, x, memory))
    return layer_norm(below(w, "decoder_norm."), x) if pre_norm else x


def positioned(w: Weights, side: str, ids: list[int]) -> np.ndarray:
    """Embeddings times sqrt(units), plus sines and cosines, or learned positions, of which the last one is repeated."""
    embedded = w.get(f"{side}_embedding.weight", w["output.weight"])[ids] * np.sqrt(UNITS)
    places = np.arange(len(ids))
    if f"{side}_positions.table" in w:
        table = w[f"{side}_positions.table"]
        return embedded + table[np.minimum(places, len(table) - 1)]
    angles = places[:, None] / 10_000 ** (np.arange(0, UNITS, 2) / UNITS)
    return embedded + np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def layer_norm(w: Weights, x: np.ndarray) -> np.ndarray:
    deviation = np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return (x - x.mean(axis=1, keepdims=True)) / deviation * w["gamma"][:, 0] + w["beta"][:, 0]


def attention(w: Weights, x: np.ndarray, memory: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Of the two heads together; ``visible`` (steps, memory_length) is 0/1."""
    return multi_head(w, x[:, None], memory[:, None], visible[None], 2)[0][:, 0]


def feed_forward(w: Weights, x: np.ndarray) -> np.ndarray:
    return np.maximum(0, x @ w["hidden.weight"].T + w["hidden.bias"]) @ w["output.weight"].T + w["output.bias"]


PLAIN: dict[str, Callable[[Weights, list[int], list[int]], np.ndarray]] = {
    "rnnsearch": plain_rnnsearch,
    "rnnencdec": plain_rnnencdec,
    "lstm": partial(plain_deep_lstm, reverse_source=False, attention=False, input_feeding=False),
    "lstm reversed": partial(plain_deep_lstm, reverse_source=True, attention=False, input_feeding=False),
    "lstm, general": partial(plain_deep_lstm, reverse_source=False, attention=True, input_feeding=False),
    "lstm reversed, general, feeding": partial(
        plain_deep_lstm, reverse_source=True, attention=True, input_feeding=True
    ),
    "transformer": partial(plain_transformer, pre_norm=False),
    "transformer, pre-norm": partial(plain_transformer, pre_norm=True),
    "transformer, one matrix": partial(plain_transformer, pre_norm=False),
}


def plain_losses(name: str, w: Weights) -> list[np.ndarray]:
    """-ln p of each target token, (steps,) per pair, without padding."""
    losses = []
    for source, target in zip(PAIRS.sources, PAIRS.targets, strict=True):
        logits = PLAIN[name](w, source, [BEGIN, *target]) @ w["output.weight"].T + w["output.bias"]
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        losses.append(-log_p[np.arange(len(target) + 1), [*target, END]])
    return losses


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("name", PLAIN)
def test_losses_and_gradients_are_those_of_the_equations(name: str, hybridized: bool) -> None:
    """Losses token by token; the gradient of each parameter as the slope of the equations in a random direction."""
    model = model_of(name)
    model.hybridize(hybridized, static_alloc=True, static_shape=True)
    nll, gradients = parameter_gradients(model, PAIRS.arrays(more_source=2, more_target=1))
    w = parameters_of(model)
    for row, expected in enumerate(plain_losses(name, w)):
        np.testing.assert_allclose(nll[row, : len(expected)], expected, rtol=1e-4, atol=1e-5)
    for key, gradient in gradients.items():
        direction = normal(*gradient.shape, seed=6, dtype="float64")
        upper, lower = (
            sum(one.sum() for one in plain_losses(name, {**w, key: w[key] + step * direction}))
            for step in (1e-5, -1e-5)
        )
        slope = (upper - lower) / 2e-5
        assert abs(slope) > 1e-3, f"{key}: nothing is compared"
        assert float((gradient * direction).sum()) == pytest.approx(slope, rel=2e-3, abs=1e-4), key
