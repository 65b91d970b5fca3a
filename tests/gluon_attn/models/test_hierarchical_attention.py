"""Hierarchical attention: each sentence and each document is encoded independently, and padding has no effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd

from gluon_attn.errors import UsageError
from gluon_attn.models.hierarchical_attention import HierarchicalAttentionNetwork, LevelEncoder, length_groups
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from tests.gluon_attn.support import (
    array,
    assert_same_outputs,
    dense,
    every_parameter_learns,
    initialize,
    lengths_of,
    names_of,
    normal,
    numbers,
    watch_graphs,
)

VOCABULARY, EMBEDDING, UNITS, ATTENTION, CLASSES = 20, 5, 4, 6, 3
Document = list[list[int]]
DOCUMENTS: list[Document] = [[[3, 4, 5], [6], [7, 8]], [[9, 10]], [[11, 3, 12, 13, 2], [4, 4, 4]]]
every_pooling = pytest.mark.parametrize("pooling", ["attention", "mean", "max"])


def sizes(pooling: str, **changed: Any) -> dict[str, Any]:
    return {
        "vocabulary_size": VOCABULARY,
        "embedding_units": EMBEDDING,
        "units": UNITS,
        "attention_units": ATTENTION,
        "classes": CLASSES,
        "pooling": pooling,
        "embedding_dropout": 0.0,
        "dropout": 0.0,
        **changed,
    }


def network(pooling: str = "attention", **changed: Any) -> HierarchicalAttentionNetwork:
    return initialize(HierarchicalAttentionNetwork(**sizes(pooling, **changed)), *batch(DOCUMENTS))


def batch(documents: list[Document], more: tuple[int, int] = (0, 0), seed: int | None = None) -> list[nd.NDArray]:
    """The three inputs with extra padding sentences and words; the padding is random if seeded."""
    depth = max(map(len, documents)) + more[0]
    width = max(len(sentence) for document in documents for sentence in document) + more[1]
    shape = len(documents), depth, width
    generator = np.random.RandomState(seed)
    words = np.zeros(shape, np.int32) if seed is None else generator.randint(0, VOCABULARY, shape)
    counts = np.zeros(shape[:2]) if seed is None else generator.randint(0, 99, shape[:2])
    for i, document in enumerate(documents):
        for j, sentence in enumerate(document):
            words[i, j, : len(sentence)] = sentence
            counts[i, j] = len(sentence)
    return [array(words, "int32"), lengths_of(documents), array(counts, "float32")]


def documents_of(*lengths: list[int], seed: int = 0) -> list[Document]:
    generator = np.random.RandomState(seed)
    return [[generator.randint(0, VOCABULARY, count).tolist() for count in document] for document in lengths]


# --- structure ---


@every_pooling
def test_a_document_is_encoded_from_independently_encoded_sentences(pooling: str) -> None:
    model = network(pooling)
    output = numbers(model(*batch(DOCUMENTS)))
    assert output.logits.shape == (3, CLASSES)
    if pooling == "attention":
        assert names_of(output) == ["logits", "word_weights", "sentence_weights"]
        assert output.word_weights.shape == (3, 3, 5) and output.sentence_weights.shape == (3, 3)
    else:
        assert names_of(output) == ["logits"]
    weight, bias = (getattr(model.output, name).data().asnumpy() for name in ("weight", "bias"))
    for i, document in enumerate(DOCUMENTS):
        vectors = []
        for j, sentence in enumerate(document):
            embedded = model.embedding(array([sentence], "int32"))
            vector, *weights = model.words(embedded, array([len(sentence)], "float32"))
            vectors.append(vector.asnumpy())
            if weights:
                own = output.word_weights[i, j, : len(sentence)]
                np.testing.assert_allclose(own, weights[0].asnumpy()[0], rtol=1e-4, atol=1e-6)
        vector, *weights = model.sentences(array(np.stack(vectors, axis=1)), array([len(document)], "float32"))
        np.testing.assert_allclose(output.logits[i], weight @ vector.asnumpy()[0] + bias, rtol=1e-4, atol=1e-5)
        if weights:
            own = output.sentence_weights[i, : len(document)]
            np.testing.assert_allclose(own, weights[0].asnumpy()[0], rtol=1e-4, atol=1e-6)


@every_pooling
def test_a_level_pools_the_states_of_its_encoder(pooling: str) -> None:
    encoder = LevelEncoder(pooling, UNITS, ATTENTION, EMBEDDING)
    sequence, lengths = array(normal(2, 4, EMBEDDING)), array([4, 2], "float32")
    initialize(encoder, sequence, lengths)
    states = encoder.encoder(sequence, lengths)[0].asnumpy()
    vector, *weights = (output.asnumpy() for output in encoder(sequence, lengths))
    for row, tokens in enumerate([4, 2]):
        own = states[row, :tokens]
        expected = {"mean": own.mean(axis=0), "max": own.max(axis=0)}
        if weights:
            expected["attention"] = weights[0][row, :tokens] @ own
        np.testing.assert_allclose(vector[row], expected[pooling], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_both_levels_use_the_chosen_pooling(pooling: str) -> None:
    """HN-AVE and HN-MAX, pooled here: a maximum over words and a mean over sentences is neither."""
    model = network(pooling)
    pool = {"mean": np.mean, "max": np.max}[pooling]
    logits = numbers(model(*batch(DOCUMENTS))).logits
    weight, bias = (getattr(model.output, name).data().asnumpy() for name in ("weight", "bias"))
    for row, document in enumerate(DOCUMENTS):
        vectors = []
        for sentence in document:
            length = array([len(sentence)], "float32")
            states, _ = model.words.encoder(model.embedding(array([sentence], "int32")), length)
            vectors.append(pool(states.asnumpy()[0], axis=0))
        states, _ = model.sentences.encoder(array([vectors]), array([len(document)], "float32"))
        vector = pool(states.asnumpy()[0], axis=0)
        np.testing.assert_allclose(logits[row], weight @ vector + bias, rtol=1e-4, atol=1e-5)


def test_weights_are_distributions_over_words_and_over_sentences() -> None:
    documents = documents_of([3, 40, 1], [7], [2, 2, 2, 2, 2])
    output = numbers(network()(*batch(documents, (2, 3), seed=1)))
    words, sentences = output.word_weights, output.sentence_weights
    for i, document in enumerate(documents):
        lengths = np.array([len(sentence) for sentence in document])
        real = np.arange(words.shape[2]) < lengths[:, None]
        assert (words[i, : len(document)][~real] == 0).all() and (words[i, : len(document)][real] > 0).all()
        np.testing.assert_allclose(words[i, : len(document)].sum(axis=1), 1.0, rtol=1e-5)
        np.testing.assert_allclose(sentences[i, : len(document)].sum(), 1.0, rtol=1e-5)
        assert (words[i, len(document) :] == 0).all() and (sentences[i, len(document) :] == 0).all()


# --- padding and batch composition ---


@every_pooling
@settings(max_examples=12)
@given(
    lengths=st.lists(st.lists(st.integers(1, 14), min_size=1, max_size=4), min_size=1, max_size=4),
    more=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    seed=st.integers(0, 99),
)
def test_extra_padding_on_both_levels_changes_no_bit(
    pooling: str, lengths: list[list[int]], more: tuple[int, int], seed: int
) -> None:
    """Whatever ids and lengths the padding has."""
    model = network(pooling)
    documents = documents_of(*lengths, seed=seed)
    near, far = numbers(model(*batch(documents))), numbers(model(*batch(documents, more, seed=seed)))
    np.testing.assert_array_equal(near.logits, far.logits)
    assert np.isfinite(near.logits).all() and names_of(near) == names_of(far)
    for name in names_of(near)[1:]:
        weights, further = getattr(near, name), getattr(far, name)
        inside = tuple(slice(0, length) for length in weights.shape)
        np.testing.assert_array_equal(weights, further[inside])
        assert further.sum() == pytest.approx(weights.sum(), rel=1e-6)


@every_pooling
@settings(max_examples=8)
@given(
    lengths=st.lists(st.lists(st.integers(1, 14), min_size=1, max_size=4), min_size=2, max_size=4),
    seed=st.integers(0, 99),
)
def test_each_document_alone_equals_its_row_in_a_batch(pooling: str, lengths: list[list[int]], seed: int) -> None:
    model = network(pooling)
    documents = documents_of(*lengths, seed=seed)
    together = numbers(model(*batch(documents)))
    for row, document in enumerate(documents):
        alone = numbers(model(*batch([document])))
        assert names_of(alone) == names_of(together)
        for name in names_of(alone):
            own = getattr(alone, name)
            inside = tuple(slice(0, length) for length in own.shape[1:])
            np.testing.assert_allclose(getattr(together, name)[row][inside], own[0], rtol=1e-4, atol=1e-5)


def test_the_order_of_sentences_affects_only_their_document() -> None:
    model = network()
    other = [DOCUMENTS[0][::-1], *DOCUMENTS[1:]]
    before, after = (model(*batch(documents)).logits.asnumpy() for documents in (DOCUMENTS, other))
    assert np.abs(before[0] - after[0]).max() > 1e-3
    np.testing.assert_allclose(before[1:], after[1:], rtol=1e-5, atol=1e-6)


def test_one_sentence_of_one_word_and_a_thousand_sentences() -> None:
    documents = documents_of([1], [2] * 1_000)
    output = numbers(network()(*batch(documents)))
    assert np.isfinite(output.logits).all()
    assert output.word_weights[0, 0, 0] == output.sentence_weights[0, 0] == 1
    np.testing.assert_allclose(output.sentence_weights[1].sum(), 1.0, rtol=1e-4)


def test_padding_has_no_gradient() -> None:
    """Embeddings get no gradient from padding, nor twice from a group that was filled up."""
    model = network()
    results = []
    for inputs in (batch(DOCUMENTS), batch(DOCUMENTS, (3, 2), seed=4)):
        with autograd.record():
            total = (model(*inputs).logits ** 2).sum()
        total.backward()
        results.append({name: dense(one.grad()) for name, one in named_parameters(model)})
    for name, expected in results[0].items():
        np.testing.assert_array_equal(results[1][name], expected, err_msg=name)
    occurring = sorted({word for document in DOCUMENTS for sentence in document for word in sentence})
    gradient = np.abs(results[1]["embedding.weight"]).max(axis=1)
    assert (gradient[occurring] > 1e-6).all() and (np.delete(gradient, occurring) == 0).all()


@pytest.mark.parametrize(
    ("counts", "lengths", "message"),
    [
        ([2, 0], [[3, 2], [1, 1]], "document 1 has 0 sentences, not 1 to 2"),
        ([3, 1], [[3, 2], [1, 1]], "document 0 has 3 sentences, not 1 to 2"),
        ([2, 2], [[3, 2], [1, 0]], "document 1, sentence 1: 0 words, not 1 to 4"),
        ([2, 1], [[5, 2], [1, 0]], "document 0, sentence 0: 5 words, not 1 to 4"),
    ],
)
def test_impossible_lengths_are_refused(counts: list[int], lengths: list[list[int]], message: str) -> None:
    words = array(np.zeros((2, 2, 4)), "int32")
    with pytest.raises(ValueError, match=message):
        network()(words, array(counts, "int32"), array(lengths, "int32"))


def test_lengths_may_be_integers() -> None:
    words, *counts = batch(DOCUMENTS)
    model = network()
    expected = numbers(model(words, *counts))
    integers = numbers(model(words, *(one.astype("int32") for one in counts)))
    assert_same_outputs(integers, expected, rtol=0, atol=0)


# --- how sentences are grouped ---


@settings(max_examples=60)
@given(lengths=st.lists(st.integers(1, 300), min_size=1, max_size=200))
def test_groups_contain_every_sentence_in_few_shapes(lengths: list[int]) -> None:
    counts = np.array(lengths)
    groups = list(length_groups(counts))
    sizes = {8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384}
    first = np.concatenate([group for group, _ in groups])[: len(counts)]
    assert sorted(first) == list(range(len(counts))), "a sentence is missing, or repeated before the last one"
    widths = [width for _, width in groups]
    assert widths == sorted(set(widths), reverse=True)
    for group, width in groups:
        assert len(group) in sizes and width in sizes
        assert counts[group].max() <= width and (width == 8 or counts[group].max() > width * 2 // 3)


# --- compiled, trained ---


@every_pooling
def test_eager_equals_hybridized_and_few_shapes_are_compiled(pooling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = network(pooling, embedding_dropout=0.5, dropout=0.5)
    batches = [batch(DOCUMENTS), batch(documents_of([30, 3], [9] * 9)), batch(DOCUMENTS, (1, 2)), batch(DOCUMENTS)]
    expected = [numbers(model(*inputs)) for inputs in batches]
    model.hybridize(static_alloc=True, static_shape=True)
    calls = watch_graphs(monkeypatch)
    for inputs, wanted in zip(batches, expected, strict=True):
        assert_same_outputs(numbers(model(*inputs)), wanted)
    graphs = {graph for graph, _ in calls}
    assert len(graphs) == 2 + 3, "one for words and one for sentences; in the second batch three more"


@every_pooling
def test_gradients_are_the_same_compiled_and_reach_every_parameter(pooling: str) -> None:
    """A batch with several groups, and again after another one: no call changes the next, no group is left out."""
    model = network(pooling)
    inputs = batch(documents_of([30, 3, 9], [13], [2, 2, 17]))
    expected = every_parameter_learns(model, inputs)
    eager = {name: dense(one.grad()) for name, one in named_parameters(model)}
    assert len(expected) == 1 + 16 + (6 if pooling == "attention" else 0) + 2
    assert min(expected.values()) > 1e-5, expected
    model.hybridize(static_alloc=True, static_shape=True)
    for each in (inputs, batch(DOCUMENTS), inputs):
        every_parameter_learns(model, each)
    for name, one in named_parameters(model):
        np.testing.assert_allclose(dense(one.grad()), eager[name], rtol=1e-3, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("which", ["embedding_dropout", "dropout"])
def test_dropout_is_active_in_training_only(which: str, hybridized: bool) -> None:
    model = network(**{which: 0.5})
    model.hybridize(hybridized)
    with autograd.train_mode():
        first, second = (numbers(model(*batch(DOCUMENTS))) for _ in range(2))
    assert np.abs(first.logits - second.logits).max() > 1e-3
    assert (np.abs(first.word_weights - second.word_weights).max() > 1e-4) == (which == "embedding_dropout")
    assert np.abs(first.sentence_weights - second.sentence_weights).max() > 1e-4
    once, again = (numbers(model(*batch(DOCUMENTS))) for _ in range(2))
    assert_same_outputs(once, again, rtol=0, atol=0)


# --- sizes ---


def gru(units: int, inputs: int) -> int:
    return 2 * 3 * units * (inputs + units + 2)


def test_the_network_of_the_paper() -> None:
    """Section 3.3: embeddings of 200, GRUs of 50 per direction, context vectors of 100; nothing is allocated."""
    words, classes = 50_000, 5
    model = HierarchicalAttentionNetwork(
        **sizes("attention", vocabulary_size=words, embedding_units=200, units=50, attention_units=100, classes=classes)
    )
    count = sum(int(np.prod(one.shape)) for _, one in named_parameters(model))
    attention = 100 * 100 + 100 + 100
    assert count == words * 200 + gru(50, 200) + gru(50, 100) + 2 * attention + classes * 101


def test_parameter_counts_match_the_equations() -> None:
    attention = 2 * UNITS * ATTENTION + 2 * ATTENTION
    words, rest = VOCABULARY * EMBEDDING + gru(UNITS, EMBEDDING), CLASSES * (2 * UNITS + 1)
    assert parameter_count(network()) == words + gru(UNITS, 2 * UNITS) + 2 * attention + rest
    assert parameter_count(network("mean")) == parameter_count(network("max"))
    assert parameter_count(network("mean")) == words + gru(UNITS, 2 * UNITS) + rest


def test_an_unknown_pooling_is_refused() -> None:
    with pytest.raises(UsageError, match="pooling 'last' is unknown; choose one of attention, mean, max"):
        HierarchicalAttentionNetwork(**sizes("last"))
