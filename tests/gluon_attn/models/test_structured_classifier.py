"""The structured classifier: its equations, padding with and without masking, and the size in the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd

from gluon_attn.attention.structured import redundancy_penalty
from gluon_attn.errors import UsageError
from gluon_attn.models.structured_classifier import PrunedLayer, StructuredClassifier
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from tests.gluon_attn.support import (
    array,
    assert_same_outputs,
    check_padding,
    dense,
    every_parameter_learns,
    initialize,
    lengths_of,
    names_of,
    normal,
    numbers,
    padded,
)

VOCABULARY, EMBEDDING, UNITS, ATTENTION, HOPS, HIDDEN, CLASSES = 20, 5, 4, 6, 3, 7, 3
SENTENCES = [[3, 4, 5, 6, 7, 8], [9, 10], [11, 3, 12, 13]]
WIDTH = 2 * UNITS
NETWORKS: dict[str, dict[str, Any]] = {
    "attention": {},
    "attention, gru, two layers": {"cell": "gru", "layers": 2},
    "attention, pruned": {"hidden": (5, 2)},
    "attention, no hidden layer": {"hidden": 0},
    "mean": {"hops": 0, "attention_units": 0, "pooling": "mean"},
    "max": {"hops": 0, "attention_units": 0, "pooling": "max"},
}
every_network = pytest.mark.parametrize("name", NETWORKS)


def sizes(**changed: Any) -> dict[str, Any]:
    return {
        "vocabulary_size": VOCABULARY,
        "embedding_units": EMBEDDING,
        "cell": "lstm",
        "units": UNITS,
        "hops": HOPS,
        "attention_units": ATTENTION,
        "hidden": HIDDEN,
        "classes": CLASSES,
        "embedding_dropout": 0.0,
        "dropout": 0.0,
        **changed,
    }


def network(name: str = "attention", **changed: Any) -> StructuredClassifier:
    model = StructuredClassifier(**sizes(**{**NETWORKS[name], **changed}))
    return initialize(model, array([[1, 2]], "int32"), array([2], "float32"))


def zeros(count: int) -> np.ndarray:
    return np.zeros(count, np.int32)


def inputs(width: int = 9) -> tuple[nd.NDArray, nd.NDArray]:
    return padded(SENTENCES, width, zeros), lengths_of(SENTENCES)


def layer(block: Any, values: np.ndarray) -> np.ndarray:
    return values @ block.weight.data().asnumpy().T + block.bias.data().asnumpy()


def states_of(model: StructuredClassifier, width: int = 9) -> np.ndarray:
    ids, lengths = inputs(width)
    return model.encoder(model.embedding(ids), lengths)[0].asnumpy()


# --- structure ---


def test_is_the_hop_matrix_a_rectified_layer_and_the_classes() -> None:
    model = network()
    output = numbers(model(*inputs()))
    assert output.logits.shape == (3, CLASSES) and output.hops.shape == (3, HOPS, 9) and output.penalty.shape == (3,)
    states = states_of(model)
    for row, sentence in enumerate(SENTENCES):
        own = array(states[row : row + 1, : len(sentence)])
        matrix, its_weights = (output.asnumpy() for output in model.attention(own, nd.ones((1, len(sentence)))))
        np.testing.assert_allclose(output.hops[row, :, : len(sentence)], its_weights[0], rtol=1e-4, atol=1e-6)
        hidden = np.maximum(layer(model.hidden, matrix.reshape(1, -1)), 0)
        np.testing.assert_allclose(output.logits[row], layer(model.output, hidden)[0], rtol=1e-4, atol=1e-5)
        expected = redundancy_penalty(nd, array(its_weights), HOPS).asnumpy()[0]
        np.testing.assert_allclose(output.penalty[row], expected, rtol=1e-4)
        assert (output.hops[row, :, len(sentence) :] == 0).all()


def test_without_a_hidden_layer_the_classes_read_the_hop_matrix() -> None:
    model = network("attention, no hidden layer")
    output = numbers(model(*inputs()))
    matrix = output.hops @ states_of(model)
    np.testing.assert_allclose(output.logits, layer(model.output, matrix.reshape(3, -1)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["mean", "max"])
def test_without_attention_it_pools_by_mean_or_maximum(name: str) -> None:
    model = network(name)
    output = numbers(model(*inputs()))
    assert names_of(output) == ["logits"]
    states = states_of(model)
    for row, sentence in enumerate(SENTENCES):
        own = states[row, : len(sentence)]
        pooled = own.mean(axis=0) if name == "mean" else own.max(axis=0)
        hidden = np.maximum(layer(model.hidden, pooled[None]), 0)
        np.testing.assert_allclose(output.logits[row], layer(model.output, hidden)[0], rtol=1e-4, atol=1e-5)


def test_a_pruned_layer_is_a_full_one_with_most_weights_zero() -> None:
    rows, columns, p, q = 3, 4, 5, 2
    block = initialize(PrunedLayer(p, q, rows=rows, columns=columns), array(normal(1, rows, columns)))
    matrix = normal(40, rows, columns, seed=3)
    full = np.zeros((rows * p + columns * q, rows, columns))
    own = {name: one.data().asnumpy() for name, one in named_parameters(block)}
    for unit in range(rows * p):
        full[unit, unit // p] = own["row_weight"][unit]
    for unit in range(columns * q):
        full[rows * p + unit, :, unit // q] = own["column_weight"][unit]
    bias = np.concatenate([own["row_bias"], own["column_bias"]])
    expected = np.maximum(matrix.reshape(40, -1) @ full.reshape(len(full), -1).T + bias, 0)
    for hybridized in (False, True):
        block.hybridize(hybridized)
        np.testing.assert_allclose(block(array(matrix)).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    assert (expected > 0).any(axis=0).all(), "the comparison is empty: a unit is never active"


# --- padding ---


@every_network
@settings(max_examples=8)
@given(
    sentences=st.lists(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=6), min_size=1, max_size=4),
    extra=st.integers(1, 8),
    seed=st.integers(0, 99),
)
def test_extra_padding_changes_nothing(name: str, sentences: list[list[int]], extra: int, seed: int) -> None:
    """Each sentence alone and unpadded gives what it gives in a batch, whatever the ids of the padding."""
    generator = np.random.RandomState(seed)
    model = network(name)
    batch = check_padding(model, sentences, extra, lambda count: generator.randint(0, VOCABULARY, count))
    if batch.hops is not None:
        np.testing.assert_allclose(batch.hops.sum(axis=2), 1.0, rtol=1e-5)


@pytest.mark.parametrize("name", ["attention", "mean", "max"])
def test_without_masking_the_pooling_includes_the_padding(name: str) -> None:
    """The ablation changes nothing else: without padding the two are equal."""
    model, unmasked = network(name), network(name, masked=False)
    full = array([[3, 4, 5], [6, 7, 8]], "int32"), array([3, 3], "float32")
    assert_same_outputs(numbers(model(*full)), numbers(unmasked(*full)), rtol=0, atol=0)
    near, far = numbers(unmasked(*inputs(9))), numbers(unmasked(*inputs(18)))
    assert np.abs(near.logits - far.logits).max() > 1e-4
    if name == "attention":
        assert (near.hops > 0).all()
        np.testing.assert_allclose(near.hops.sum(axis=2), 1.0, rtol=1e-5)


# --- compiled, trained ---


@every_network
def test_eager_equals_hybridized(name: str) -> None:
    model = network(name, embedding_dropout=0.5, dropout=0.5)
    eager = numbers(model(*inputs()))
    model.hybridize(static_alloc=True, static_shape=True)
    for width in (9, 12, 9):  # Another shape in between must not matter.
        output = model(*inputs(width))
    assert_same_outputs(numbers(output), eager)


@every_network
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_gradient_reaches_every_parameter(name: str, hybridized: bool) -> None:
    model = network(name)
    model.hybridize(hybridized)
    largest = every_parameter_learns(model, inputs())
    layers, hops = NETWORKS[name].get("layers", 1), NETWORKS[name].get("hops", HOPS)
    rest = {0: 2, HIDDEN: 4, (5, 2): 6}[NETWORKS[name].get("hidden", HIDDEN)]
    assert len(largest) == 1 + 8 * layers + (2 if hops else 0) + rest
    assert min(largest.values()) > 1e-5, largest


@pytest.mark.parametrize("hybridized", [False, True])
def test_the_penalty_has_a_gradient_for_the_attention_and_its_inputs_only(hybridized: bool) -> None:
    model = network()
    model.hybridize(hybridized)
    with autograd.record():
        total = model(*inputs()).penalty.sum()
    total.backward()
    largest = {name: np.abs(dense(one.grad())).max() for name, one in named_parameters(model)}
    classes = {name for name in largest if name.startswith(("hidden.", "output."))}
    assert all(largest[name] == 0 for name in classes) and len(classes) == 4
    assert all(value > 1e-6 for name, value in largest.items() if name not in classes), largest


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize(
    ("changed", "reaches_weights"),
    [({"embedding_dropout": 0.5}, True), ({"dropout": 0.5}, False), ({"dropout": 0.5, "layers": 2}, True)],
    ids=["of the embeddings", "behind the pooling", "between the layers"],
)
def test_dropout_is_active_in_training_only(changed: dict[str, Any], reaches_weights: bool, hybridized: bool) -> None:
    model = network(**changed)
    model.hybridize(hybridized)
    with autograd.train_mode():
        first, second = (numbers(model(*inputs())) for _ in range(2))
    assert np.abs(first.logits - second.logits).max() > 1e-3
    assert (np.abs(first.hops - second.hops).max() > 1e-4) == reaches_weights
    assert_same_outputs(numbers(model(*inputs())), numbers(model(*inputs())), rtol=0, atol=0)


@pytest.mark.parametrize("hybridized", [False, True])
def test_dropout_applies_to_the_hidden_layer_too(hybridized: bool) -> None:
    """Its units are constant, so that no other dropout affects the classes."""
    model = network(dropout=0.5)
    model.hidden.weight.set_data(nd.zeros_like(model.hidden.weight.data()))
    model.hidden.bias.set_data(nd.ones_like(model.hidden.bias.data()))
    model.hybridize(hybridized)
    with autograd.train_mode():
        first, second = (numbers(model(*inputs())).logits for _ in range(2))
    assert np.abs(first - second).max() > 1e-3
    still = numbers(model(*inputs())).logits
    np.testing.assert_allclose(still, np.tile(layer(model.output, np.ones(HIDDEN)), (3, 1)), rtol=1e-4, atol=1e-6)


# --- sizes ---


def lstm(units: int, inputs: int) -> int:
    return 2 * 4 * units * (inputs + units + 2)


def test_parameter_counts_match_the_equations() -> None:
    encoder = VOCABULARY * EMBEDDING + lstm(UNITS, EMBEDDING)
    hops = WIDTH * ATTENTION + ATTENTION * HOPS
    matrix = HOPS * WIDTH
    assert parameter_count(network()) == encoder + hops + HIDDEN * (matrix + 1) + CLASSES * (HIDDEN + 1)
    assert parameter_count(network("attention, no hidden layer")) == encoder + hops + CLASSES * (matrix + 1)
    pruned = HOPS * 5 * (WIDTH + 1) + WIDTH * 2 * (HOPS + 1)
    features = HOPS * 5 + WIDTH * 2
    assert parameter_count(network("attention, pruned")) == encoder + hops + pruned + CLASSES * (features + 1)
    pooled = encoder + HIDDEN * (WIDTH + 1) + CLASSES * (HIDDEN + 1)
    assert parameter_count(network("mean")) == parameter_count(network("max")) == pooled


@pytest.mark.parametrize(("hidden", "weights"), [(3000, 54_000_000), ((150, 10), 2_880_000)])
def test_the_network_of_the_paper_for_yelp(hidden: int | tuple[int, int], weights: int) -> None:
    """BiLSTM of 300, d_a = 350, r = 30, word2vec of 100, 5 classes; nothing is allocated."""
    words = 100_000
    model = StructuredClassifier(
        **sizes(
            vocabulary_size=words,
            embedding_units=100,
            units=300,
            hops=30,
            attention_units=350,
            hidden=hidden,
            classes=5,
        )
    )
    counts = {name: int(np.prod(one.shape)) for name, one in named_parameters(model)}
    features = 3000 if hidden == 3000 else 30 * 150 + 600 * 10
    assert sum(size for name, size in counts.items() if name.startswith("hidden") and "bias" not in name) == weights
    assert counts["attention.hidden.weight"] == 350 * 600 and counts["attention.score.weight"] == 30 * 350
    rest = words * 100 + lstm(300, 100) + 600 * 350 + 350 * 30
    assert sum(counts.values()) == rest + weights + features + 5 * (features + 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pooling": "mean"}, "give hops and no pooling"),
        ({"hops": 0}, "give hops and no pooling"),
        ({"hops": 0, "pooling": "last"}, "give hops and no pooling"),
        ({"hops": 0, "pooling": "max", "hidden": (5, 2)}, "needs rows to share"),
    ],
)
def test_inconsistent_settings_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        StructuredClassifier(**sizes(**changed))
