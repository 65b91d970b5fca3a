"""The stacked classifier: masked, pooled twice, with dropout at the declared positions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd

from gluon_attn.models.stacked_classifier import StackedClassifier
from gluon_attn.training.checkpoint import parameter_count
from tests.gluon_attn.support import (
    array,
    assert_same_outputs,
    check_padding,
    every_parameter_learns,
    initialize,
    lengths_of,
    numbers,
    padded,
)

VOCABULARY, EMBEDDING, UNITS, ATTENTION = 20, 5, 4, 6
SENTENCES = [[3, 4, 5, 6, 7, 8], [9, 10], [11, 3, 12, 13]]
every_cell = pytest.mark.parametrize("cell", ["gru", "lstm"])


def stacked(
    cell: str = "lstm", layers: int = 2, embedding_dropout: float = 0.0, dropout: float = 0.0
) -> StackedClassifier:
    model = StackedClassifier(
        vocabulary_size=VOCABULARY,
        embedding_units=EMBEDDING,
        cell=cell,
        units=UNITS,
        layers=layers,
        attention_units=ATTENTION,
        classes=3,
        embedding_dropout=embedding_dropout,
        dropout=dropout,
    )
    return initialize(model, array([[1, 2]], "int32"), array([2], "float32"))


def zeros(count: int) -> np.ndarray:
    return np.zeros(count, np.int32)


@every_cell
def test_is_attention_and_maximum_of_the_states_and_one_dense_layer(cell: str) -> None:
    model = stacked(cell)
    ids, lengths = padded(SENTENCES, 9, zeros), lengths_of(SENTENCES)
    states = model.encoder(model.embedding(ids), lengths)[0].asnumpy()
    output = numbers(model(ids, lengths))
    assert output.logits.shape == (3, 3) and output.weights.shape == (3, 9)
    weight, bias = (getattr(model.output, name).data().asnumpy() for name in ("weight", "bias"))
    for row, sentence in enumerate(SENTENCES):
        own = states[row, : len(sentence)]
        pooled = np.concatenate([output.weights[row, : len(sentence)] @ own, own.max(axis=0)])
        np.testing.assert_allclose(output.logits[row], weight @ pooled + bias, rtol=1e-4, atol=1e-5)


@every_cell
@settings(max_examples=15)
@given(
    sentences=st.lists(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=6), min_size=1, max_size=4),
    extra=st.integers(1, 8),
    seed=st.integers(0, 99),
)
def test_extra_padding_changes_nothing(cell: str, sentences: list[list[int]], extra: int, seed: int) -> None:
    """Each sentence alone and unpadded gives what it gives in a batch, whatever the ids of the padding."""
    generator = np.random.RandomState(seed)
    model = stacked(cell)
    batch = check_padding(model, sentences, extra, lambda count: generator.randint(0, VOCABULARY, count))
    np.testing.assert_allclose(batch.weights.sum(axis=1), 1.0, rtol=1e-5)


@every_cell
def test_eager_equals_hybridized(cell: str) -> None:
    model = stacked(cell, embedding_dropout=0.5, dropout=0.5)
    inputs = padded(SENTENCES, 9, zeros), lengths_of(SENTENCES)
    eager = numbers(model(*inputs))
    model.hybridize(static_alloc=True, static_shape=True)
    for _ in range(2):  # The second call uses the memory that the first one planned.
        assert_same_outputs(numbers(model(*inputs)), eager)


@every_cell
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_gradient_reaches_every_parameter(cell: str, hybridized: bool) -> None:
    model = stacked(cell)
    model.hybridize(hybridized)
    largest = every_parameter_learns(model, [padded(SENTENCES, 9, zeros), lengths_of(SENTENCES)])
    assert len(largest) == 1 + 2 * 2 * 4 + 3 + 2 and min(largest.values()) > 1e-5, largest


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize(
    ("layers", "embedding_dropout", "dropout", "reaches_weights"),
    [(1, 0.5, 0.0, True), (1, 0.0, 0.5, False), (2, 0.0, 0.5, True)],
    ids=["of the embeddings", "before the dense layer", "between the layers"],
)
def test_dropout_is_active_in_training_only(
    layers: int, embedding_dropout: float, dropout: float, reaches_weights: bool, hybridized: bool
) -> None:
    """Each at its own position: dropout before the dense layer does not change the weights."""
    model = stacked("lstm", layers, embedding_dropout, dropout)
    model.hybridize(hybridized)
    inputs = padded(SENTENCES, 9, zeros), lengths_of(SENTENCES)
    with autograd.train_mode():
        first, second = (numbers(model(*inputs)) for _ in range(2))
    assert np.abs(first.logits - second.logits).max() > 1e-3
    assert (np.abs(first.weights - second.weights).max() > 1e-4) == reaches_weights
    assert_same_outputs(numbers(model(*inputs)), numbers(model(*inputs)), rtol=0, atol=0)


def test_parameter_counts_match_the_equations() -> None:
    def lstm(width: int) -> int:
        return 2 * 4 * UNITS * (width + UNITS + 2)

    pooling = 2 * UNITS * ATTENTION + ATTENTION + ATTENTION
    head = 3 * (4 * UNITS + 1)
    one_layer = VOCABULARY * EMBEDDING + lstm(EMBEDDING) + pooling + head
    assert parameter_count(stacked(layers=1)) == one_layer
    assert parameter_count(stacked(layers=2)) == one_layer + lstm(2 * UNITS)
