"""The network of the GluonNLP post as published, and the same network with its padding masked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gluonnlp.model import AttentionCell
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd

from gluon_attn.attention.additive import AdditiveAttention
from gluon_attn.attention.multiplicative import general, scaled_dot
from gluon_attn.errors import UsageError
from gluon_attn.models.self_attention_classifier import AsWritten, Masked
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
    numbers,
    padded,
    training_pass,
)

VOCABULARY, EMBEDDING, UNITS, LENGTH = 20, 5, 4, 7
ATTENTIONS: dict[str, Callable[[float], AttentionCell]] = {
    "additive": lambda dropout: AdditiveAttention(6, dropout),
    "general": lambda dropout: general(2 * UNITS, dropout),
    "scaled dot": lambda dropout: scaled_dot(dropout),
}
MASKED = {**{name: ("attention", name) for name in ATTENTIONS}, "mean": ("mean", ""), "last": ("last", "")}
SENTENCES = [[3, 4, 5, 6, 7, 8], [9, 10], [11, 3, 12, 13]]


def as_written(attention: str | None = "additive", dropout: float = 0.0, attention_dropout: float = 0.0) -> AsWritten:
    cell = ATTENTIONS[attention](attention_dropout) if attention else None
    model = AsWritten(
        vocabulary_size=VOCABULARY,
        embedding_units=EMBEDDING,
        units=UNITS,
        length=LENGTH,
        classes=3,
        dropout=dropout,
        attention=cell,
    )
    return initialize(model, array([[1] * LENGTH], "int32"))


def masked(name: str, dropout: float = 0.0, attention_dropout: float = 0.0) -> Masked:
    pooling, attention = MASKED[name]
    model = Masked(
        vocabulary_size=VOCABULARY,
        embedding_units=EMBEDDING,
        units=UNITS,
        classes=3,
        dropout=dropout,
        pooling=pooling,
        attention=ATTENTIONS[attention](attention_dropout) if attention else None,
    )
    return initialize(model, array([[1, 2]], "int32"), array([2], "float32"))


def zeros(count: int) -> np.ndarray:
    return np.zeros(count, np.int32)


# --- as written ---


def test_as_written_is_embedding_gru_attention_and_one_dense_layer() -> None:
    """Each block on its own, put together by hand."""
    model = as_written()
    ids = padded(SENTENCES, LENGTH, zeros)
    output = numbers(model(ids))
    states = model.encoder(model.embedding(ids).transpose((1, 0, 2))).transpose((1, 0, 2))
    assert model.attention is not None
    context, expected = model.attention(states, states)
    weight, bias = (getattr(model.output, name).data().asnumpy() for name in ("weight", "bias"))
    by_hand = context.asnumpy().reshape(3, -1) @ weight.T + bias
    assert output.logits.shape == (3, 3) and output.matrix.shape == (3, LENGTH, LENGTH)
    np.testing.assert_allclose(output.logits, by_hand, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(output.matrix, expected.asnumpy())
    np.testing.assert_allclose(output.matrix.sum(axis=2), 1.0, rtol=1e-6)


def test_as_written_does_not_mask_its_padding() -> None:
    """The post's omission is reproduced: padding has weight, and its ids change the output."""
    model = as_written()
    zeros_in_padding = numbers(model(padded(SENTENCES, LENGTH, zeros)))
    other = numbers(model(padded(SENTENCES, LENGTH, lambda count: np.full(count, 19))))
    assert (zeros_in_padding.matrix[1, :, 2:] > 1e-3).all()
    assert np.abs(zeros_in_padding.logits - other.logits).max() > 1e-3


def test_as_written_accepts_one_length_only() -> None:
    with pytest.raises(Exception, match="hape"):
        as_written()(array([[1] * (LENGTH + 1)], "int32")).logits.asnumpy()


def test_without_attention_only_logits_are_returned() -> None:
    ids = padded(SENTENCES, LENGTH, zeros)
    outputs = as_written(attention=None)(ids), *(masked(name)(ids, lengths_of(SENTENCES)) for name in ("mean", "last"))
    for output in outputs:
        assert names_of(output) == ["logits"] and output.logits.shape == (3, 3)


def test_parameter_counts_match_the_equations() -> None:
    embedding = VOCABULARY * EMBEDDING
    gru = 2 * 3 * UNITS * (EMBEDDING + UNITS + 2)
    additive = 2 * (2 * UNITS * 6) + 6 + 6
    assert parameter_count(as_written()) == embedding + gru + additive + 3 * (LENGTH * 2 * UNITS + 1)
    assert parameter_count(as_written(attention=None)) == embedding + gru + 3 * (LENGTH * 2 * UNITS + 1)
    assert parameter_count(as_written("scaled dot")) == parameter_count(as_written(attention=None))
    assert parameter_count(masked("additive")) == embedding + gru + additive + 3 * (2 * UNITS + 1)
    assert parameter_count(masked("mean")) == parameter_count(masked("last")) == embedding + gru + 3 * (2 * UNITS + 1)


# --- masked ---


@pytest.mark.parametrize("name", MASKED)
@settings(max_examples=12)
@given(data=st.data())
def test_extra_padding_changes_nothing(name: str, data: st.DataObject) -> None:
    """Each sentence alone and unpadded gives what it gives in a batch, whatever the ids of the padding."""
    sentence_of = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=6)
    sentences = data.draw(st.lists(sentence_of, min_size=1, max_size=4))
    extra, seed = data.draw(st.integers(1, 8)), data.draw(st.integers(0, 99))
    generator = np.random.RandomState(seed)
    batch = check_padding(masked(name), sentences, extra, lambda count: generator.randint(0, VOCABULARY, count))
    if name in ATTENTIONS:
        np.testing.assert_allclose(batch.matrix.sum(axis=2), 1.0, rtol=1e-5)


@pytest.mark.parametrize("name", MASKED)
def test_masked_uses_the_chosen_pooling(name: str) -> None:
    model = masked(name)
    ids, lengths = padded(SENTENCES, 9, zeros), lengths_of(SENTENCES)
    states, last = (output.asnumpy() for output in model.encoder(model.embedding(ids), lengths))
    output = numbers(model(ids, lengths))
    dense_layer = {name: getattr(model.output, name).data().asnumpy() for name in ("weight", "bias")}
    for row, sentence in enumerate(SENTENCES):
        own = states[row, : len(sentence)]
        if name == "last":
            pooled = last[row]
        elif name == "mean":
            pooled = own.mean(axis=0)
        else:
            pooled = (output.matrix[row, : len(sentence), : len(sentence)] @ own).mean(axis=0)
        expected = dense_layer["weight"] @ pooled + dense_layer["bias"]
        np.testing.assert_allclose(output.logits[row], expected, rtol=1e-4, atol=1e-5)


# --- both ---


def variants(dropout: float = 0.0, attention_dropout: float = 0.0) -> list[tuple[str, Any, tuple[nd.NDArray, ...]]]:
    """Every network with its inputs."""
    fixed = (padded(SENTENCES, LENGTH, zeros),)
    any_length = (padded(SENTENCES, 9, zeros), lengths_of(SENTENCES))
    written = [
        (f"as written, {name}", as_written(name, dropout, attention_dropout), fixed) for name in (*ATTENTIONS, None)
    ]
    return written + [(f"masked, {name}", masked(name, dropout, attention_dropout), any_length) for name in MASKED]


@pytest.mark.parametrize(
    ("pooling", "message"),
    [
        ("max", "pooling 'max' is unknown; choose attention, mean or last"),
        ("attention", "pooling 'attention' needs an attention cell"),
    ],
)
def test_pooling_that_is_unknown_or_lacks_its_attention_is_refused(pooling: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Masked(
            vocabulary_size=VOCABULARY, embedding_units=EMBEDDING, units=UNITS, classes=3, dropout=0.0, pooling=pooling
        )


@pytest.mark.parametrize("which", range(len(ATTENTIONS) + 1 + len(MASKED)))
def test_eager_equals_hybridized(which: int) -> None:
    name, model, inputs = variants(dropout=0.5)[which]
    eager = numbers(model(*inputs))
    model.hybridize(static_alloc=True, static_shape=True)
    for _ in range(2):  # The second call uses the memory that the first one planned.
        assert_same_outputs(numbers(model(*inputs)), eager, of=name)


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_gradient_reaches_every_parameter(hybridized: bool) -> None:
    for name, model, inputs in variants():
        model.hybridize(hybridized)
        largest = every_parameter_learns(model, inputs)
        assert "embedding.weight" in largest and min(largest.values()) > 1e-5, (name, largest)


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("rates", [(0.5, 0.0), (0.0, 0.5)])
def test_dropout_is_active_in_training_only(rates: tuple[float, float], hybridized: bool) -> None:
    for name, model, inputs in variants(*rates):
        model.hybridize(hybridized)
        difference = np.abs(training_pass(model, *inputs) - training_pass(model, *inputs)).max()
        drops = rates[0] > 0 or (name.split(", ")[1] in ATTENTIONS)
        assert difference > 1e-4 if drops else difference == 0, (name, difference)
        assert_same_outputs(numbers(model(*inputs)), numbers(model(*inputs)), rtol=0, atol=0, of=name)


def test_embeddings_have_a_sparse_gradient_of_the_tokens_read() -> None:
    """Words that are not in the batch have no gradient rows; words of masked padding have zero rows."""
    model = masked("additive")
    ids = padded(SENTENCES, 9, lambda count: np.full(count, 19))
    with autograd.record():
        total = (model(ids, lengths_of(SENTENCES)).logits ** 2).sum()
    total.backward()
    gradient = dict(named_parameters(model))["embedding.weight"].grad()
    assert gradient.stype == "row_sparse"
    tokens = sorted({token for sentence in SENTENCES for token in sentence})
    assert gradient.indices.asnumpy().tolist() == [*tokens, 19]
    size = np.abs(dense(gradient)).max(axis=1)
    assert (size[tokens] > 1e-5).all()
    assert size[19] == 0
