"""FastText: n-gram hashes are FNV-1a, the classifier is a linear map of a mean, and bigrams carry word order."""

from __future__ import annotations

from pathlib import Path

import mxnet as mx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import nd

from gluon_attn.models.fasttext import NgramClassifier, bags, ngrams
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from gluon_attn.training.objective import Batch
from tests.gluon_attn.models.test_learns import learn
from tests.gluon_attn.support import (
    array,
    check_numeric_gradients,
    dense,
    every_parameter_learns,
    initialize,
    lengths_of,
    names_of,
    normal,
    padded,
)

SENTENCES = [[3, 4, 5], [1], [6, 6]]
ID_LISTS = st.lists(st.integers(0, 2**32 - 1), max_size=8)


def fnv1a(octets: bytes) -> int:
    """FNV-1a of 64 bits, octet by octet, as its authors publish it."""
    value = 0xCBF29CE484222325
    for octet in octets:
        value = (value ^ octet) * 0x100000001B3 % 2**64
    return value


def test_the_plain_hash_matches_published_values() -> None:
    assert fnv1a(b"") == 0xCBF29CE484222325
    assert fnv1a(b"a") == 0xAF63DC4C8601EC8C
    assert fnv1a(b"foobar") == 0x85944171F73967E8


@given(ids=ID_LISTS, n=st.integers(1, 4), buckets=st.integers(1, 2**40))
def test_buckets_are_the_plain_hash_of_the_ids_as_four_octets(ids: list[int], n: int, buckets: int) -> None:
    expected = [
        fnv1a(b"".join(one.to_bytes(4, "little") for one in ids[i : i + n])) % buckets for i in range(len(ids) - n + 1)
    ]
    hashes = ngrams(np.array(ids, np.int64), n, buckets)
    assert hashes.dtype == np.int64 and hashes.tolist() == expected


def test_buckets_are_pinned() -> None:
    """Different buckets on another machine or in another version would be a different data set."""
    assert ngrams(np.array([0, 1, 2, 70_000, 5]), 2, 2**20).tolist() == [294196, 420038, 952965, 292534]
    assert ngrams(np.array([7, 7, 7], np.int32), 3, 1000).tolist() == [458]


def test_order_matters_and_buckets_are_evenly_filled() -> None:
    assert ngrams(np.array([1, 2]), 2, 2**20)[0] != ngrams(np.array([2, 1]), 2, 2**20)[0]
    pairs = np.stack(np.meshgrid(np.arange(100), np.arange(100)), axis=2).reshape(-1, 2)
    counts = np.bincount([ngrams(pair, 2, 64)[0] for pair in pairs[::7]], minlength=64)
    assert counts.min() > 8 and counts.max() < 42, counts  # 22 on average


@pytest.mark.parametrize(("n", "buckets"), [(0, 5), (2, 0)])
def test_sizes_below_one_are_refused(n: int, buckets: int) -> None:
    with pytest.raises(ValueError, match=f"n-grams of {n} ids in {buckets} buckets"):
        ngrams(np.array([1, 2]), n, buckets)


@given(texts=st.lists(ID_LISTS, max_size=5), orders=st.lists(st.integers(1, 4), max_size=3), first=st.integers(0, 99))
def test_bags_are_the_ngrams_of_each_text_alone(texts: list[list[int]], orders: list[int], first: int) -> None:
    sequences = [np.array(text, np.int64) for text in texts]
    rows_of = bags(sequences, orders, 1000, first)
    assert len(rows_of) == len(texts)
    for sequence, rows in zip(sequences, rows_of, strict=True):
        expected = [first + bucket for n in orders for bucket in ngrams(sequence, n, 1000)]
        assert rows.dtype == np.int32 and rows.tolist() == expected


# --- the classifier ---


def classifier() -> NgramClassifier:
    model = NgramClassifier(rows=9, units=4, classes=3)
    initialize(model, padded(SENTENCES, 3, lambda count: np.zeros(count)), lengths_of(SENTENCES))
    return model


@pytest.mark.parametrize("hybridized", [False, True])
def test_logits_are_a_linear_map_of_the_mean(hybridized: bool) -> None:
    model = classifier()
    model.hybridize(hybridized)
    output = model(padded(SENTENCES, 5, lambda count: np.full(count, 8)), lengths_of(SENTENCES))
    assert names_of(output) == ["logits"]
    w = {name: one.data().asnumpy() for name, one in named_parameters(model)}
    for row, ids in enumerate(SENTENCES):
        expected = w["output.weight"] @ w["embedding.weight"][ids].mean(axis=0) + w["output.bias"]
        np.testing.assert_allclose(output.logits.asnumpy()[row], expected, rtol=1e-5, atol=1e-6)


@settings(max_examples=10)
@given(lengths=st.lists(st.integers(1, 6), min_size=2, max_size=3), more=st.integers(0, 5), garbage=st.integers(0, 8))
def test_padding_batch_composition_and_order_change_nothing(lengths: list[int], more: int, garbage: int) -> None:
    model = classifier()
    sentences = [np.random.RandomState(length).randint(0, 9, length).tolist() for length in lengths]
    batch = padded(sentences, max(lengths) + more, lambda count: np.full(count, garbage))
    logits = model(batch, lengths_of(sentences)).logits.asnumpy()
    for row, sentence in enumerate(sentences):
        alone = model(array([sentence[::-1]], "int32"), lengths_of([sentence])).logits.asnumpy()
        np.testing.assert_allclose(logits[row], alone[0], rtol=1e-4, atol=1e-6)


def test_a_gradient_reaches_every_parameter_and_only_the_rows_that_were_read() -> None:
    model = classifier()
    ids = padded(SENTENCES, 3, lambda count: np.full(count, 8))
    largest = every_parameter_learns(model, [ids, lengths_of(SENTENCES)])
    assert min(largest.values()) > 1e-4
    gradient = model.embedding.weight.grad()
    assert gradient.stype == "row_sparse"
    used = np.abs(dense(gradient)).max(axis=1) > 0
    assert np.flatnonzero(used).tolist() == [1, 3, 4, 5, 6], "padding is read, and its gradient is 0"


def test_initial_embeddings_are_small_and_parameters_are_counted_without_allocation() -> None:
    model = NgramClassifier(rows=2**24, units=10, classes=2)
    assert parameter_count(model) == 2**24 * 10 + 10 * 2 + 2
    small = NgramClassifier(rows=1000, units=10, classes=2)
    small.initialize(mx.init.Xavier())
    values = small.embedding.weight.data()
    assert 0.09 < float(nd.abs(values).max().asscalar()) <= 0.1


def test_only_bigrams_capture_the_order_of_two_words(tmp_path: Path, fresh_seed: int) -> None:
    """Is 2 after 3 or before it, among other words? The bags of words are the same, the bigrams are not."""
    words, length, buckets = 10, 6, 256

    def draw(generator: np.random.RandomState, rows: int, orders: tuple[int, ...]) -> Batch:
        ids = generator.randint(4, words, (rows, length))
        label = generator.randint(0, 2, rows)
        position = generator.randint(0, length - 1, rows)
        row = np.arange(rows)
        ids[row, position], ids[row, position + 1] = 2 + label, 3 - label
        features = [np.concatenate(pair) for pair in zip(ids, bags(list(ids), orders, buckets, words), strict=True)]
        return Batch((np.stack(features).astype(np.int32), np.full(rows, len(features[0]), np.float32)), label)

    reached = []
    for orders in ((), (2,)):
        model = NgramClassifier(rows=words + buckets, units=8, classes=2)
        accuracy, *_ = learn(
            model, lambda g, rows, o=orders: draw(g, rows, o), tmp_path / str(orders), seed=fresh_seed, steps=150
        )
        reached.append(accuracy)
    assert reached[0] < 0.65 and reached[1] > 0.95, reached


def test_gradients_match_finite_differences() -> None:
    model = NgramClassifier(rows=9, units=4, classes=3)
    model.cast("float64")
    arrays = padded(SENTENCES, 3, lambda count: np.zeros(count)), lengths_of(SENTENCES).astype("float64")
    initialize(model, *arrays)
    wanted = array(normal(3, 3, seed=2), "float64")
    check_numeric_gradients(model, [], lambda logits: (logits * wanted).sum(), arrays)
