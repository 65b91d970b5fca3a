"""word2vec: samples from a corpus, the losses against their equations, and vectors that group related words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.evaluation.word_vectors import nearest
from gluon_attn.models.word2vec import KINDS, Word2Vec
from gluon_attn.training.checkpoint import parameter_arrays, parameter_count, parameters_sha256
from gluon_attn.training.loop import fit
from gluon_attn.training.negative_sampling import (
    Sampling,
    TokenStream,
    batches,
    batches_per_epoch,
    held_out_loss,
    keep_probability,
    mean_loss,
    noise_distribution,
    word_vector_objective,
)
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from tests.gluon_attn.support import array, check_numeric_gradients, dense, initialize, parameters_of

WORDS, UNITS = 12, 4
EVERYTHING = 1e9  # A threshold so high that no word is left out.
SMALL = Sampling(window=2, negatives=3, noise=5, threshold=EVERYTHING, rows=2, length=4)
every_kind = pytest.mark.parametrize("kind", KINDS)


def stream_of(texts: Sequence[np.ndarray], vocabulary_size: int) -> TokenStream:
    """The texts as one sequence of words."""
    ids = np.concatenate(texts).astype(np.int32)
    text = np.repeat(np.arange(len(texts), dtype=np.int32), [len(one) for one in texts])
    return TokenStream(ids, text, np.bincount(ids, minlength=vocabulary_size))


def corpus_of(*lengths: int, seed: int = 0) -> TokenStream:
    generator = np.random.RandomState(seed)
    return stream_of([generator.randint(0, WORDS, length) for length in lengths], WORDS)


def drawn(corpus: TokenStream, sampling: Sampling, seed: int = 0) -> list[Any]:
    return list(batches(corpus, sampling, np.random.RandomState(seed)))


def model_of(kind: str, sampling: Sampling = SMALL, dtype: str = "float32") -> Word2Vec:
    model = Word2Vec(kind=kind, vocabulary_size=WORDS, units=UNITS, negatives=sampling.negatives, noise=sampling.noise)
    model.cast(dtype)
    return initialize(model, *arrays_of(dtype, sampling))


def arrays_of(dtype: str = "float32", sampling: Sampling = SMALL) -> list[nd.NDArray]:
    batch = drawn(corpus_of(5, 1, 9), sampling)[0]
    return [array(one, None if one.dtype == np.int32 else dtype) for one in batch.inputs]


# --- the corpus and its samples ---


def test_distributions_match_their_formulas() -> None:
    counts = np.array([900, 90, 10, 0])
    np.testing.assert_allclose(keep_probability(counts, 0.05), [(0.05 / 0.9) ** 0.5, (0.05 / 0.09) ** 0.5, 1, 1])
    powers = np.array([900**0.75, 90**0.75, 10**0.75, 0])
    np.testing.assert_allclose(noise_distribution(counts), powers / powers.sum())


@settings(max_examples=30)
@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=6).filter(any),
    window=st.integers(1, 4),
    rows=st.integers(1, 3),
    length=st.integers(1, 6),
    seed=st.integers(0, 9),
)
def test_masks_mark_the_words_of_the_same_text_within_reach(
    lengths: list[int], window: int, rows: int, length: int, seed: int
) -> None:
    """All ids differ, so that each identifies its word and text."""
    texts = np.split(np.arange(sum(lengths)), np.cumsum(lengths)[:-1])
    corpus = stream_of(texts, sum(lengths))
    sampling = Sampling(window=window, negatives=2, noise=3, threshold=EVERYTHING, rows=rows, length=length)
    batches = drawn(corpus, sampling, seed)
    assert len(batches) == batches_per_epoch(corpus, sampling)
    for batch in batches:
        words, near, noise, mask, contexts = batch.inputs
        assert words.shape == (rows, length) and near.shape == (rows, length + 2 * window) and noise.shape == (3,)
        assert words.dtype == near.dtype == noise.dtype == np.int32 and mask.dtype == contexts.dtype == np.float32
        np.testing.assert_array_equal(words, near[:, window : window + length])
        np.testing.assert_array_equal(contexts, mask.sum(axis=2))
        assert noise.min() >= 0 and noise.max() < sum(lengths)
        for row in range(rows):
            for i in range(length):
                seen = np.flatnonzero(mask[row, i])
                distance = seen - window - i
                assert (np.abs(distance) <= window).all() and (distance != 0).all()
                # The words of a text are consecutive, and so are their ids.
                np.testing.assert_array_equal(near[row, seen] - words[row, i], distance)
                assert (corpus.text[near[row, seen]] == corpus.text[words[row, i]]).all()
                # All words of the text up to some distance of at least one.
                if len(seen):
                    reach = np.abs(distance).max()
                    text = texts[corpus.text[words[row, i]]]
                    assert len(seen) == (np.abs(text - words[row, i]) <= reach).sum() - 1


def test_every_word_is_a_centre_once_and_windows_are_uniform() -> None:
    corpus = stream_of([np.arange(600)], 600)
    sampling = Sampling(window=3, noise=4, threshold=EVERYTHING, rows=5, length=12)
    batches = drawn(corpus, sampling)
    assert sorted(np.concatenate([batch.inputs[0].ravel() for batch in batches]).tolist()) == list(range(600))
    reaches = Counter(int(value) for batch in batches for value in batch.inputs[4].ravel())
    assert set(reaches) <= {1, 2, 3, 4, 5, 6} and min(reaches[2], reaches[4], reaches[6]) > 150
    first = [batch.inputs[0][0, 0] for batch in batches]
    assert first != sorted(first), "pieces are in random order"


def test_frequent_words_are_subsampled_at_the_expected_rate() -> None:
    generator = np.random.RandomState(3)
    ids = generator.choice(4, 20_000, p=[0.7, 0.2, 0.09, 0.01])
    corpus = stream_of([ids], 4)
    sampling = Sampling(threshold=0.02, rows=4, length=50)
    batches = drawn(corpus, sampling)
    counted = np.bincount(np.concatenate([batch.inputs[0].ravel() for batch in batches]), minlength=4)
    expected = corpus.counts * keep_probability(corpus.counts, 0.02)
    assert len(batches) == round(expected.sum() / 200)
    np.testing.assert_allclose(counted, expected, rtol=0.12)


def test_noise_is_drawn_from_its_distribution() -> None:
    counts = np.array([1000, 100, 10, 0])
    corpus = replace(stream_of([np.arange(3)], 4), counts=counts)
    (batch,) = drawn(corpus, Sampling(noise=40_000, threshold=EVERYTHING, rows=1, length=4))
    noise = np.bincount(batch.inputs[2], minlength=4)
    assert noise[3] == 0
    np.testing.assert_allclose(noise[:3] / 40_000, noise_distribution(counts)[:3], rtol=0.1)


def test_samples_depend_on_the_seed_only() -> None:
    corpus = corpus_of(30, 20)
    first, same, other = (drawn(corpus, SMALL, seed) for seed in (1, 1, 2))
    for ours, theirs in zip(first, same, strict=True):
        for one, another in zip(ours.inputs, theirs.inputs, strict=True):
            np.testing.assert_array_equal(one, another)
    assert any((ours.inputs[0] != its.inputs[0]).any() for ours, its in zip(first, other, strict=True))


# --- the losses ---


def log_logistic(x: float) -> float:
    return float(-np.log1p(np.exp(-x)))


def plain_loss(kind: str, w: dict[str, np.ndarray], inputs: list[np.ndarray], sampling: Sampling) -> np.ndarray:
    """Loss (rows,), example by example."""
    words, near, noise, mask, _ = inputs
    v, u = w["predicting.weight"], w["predicted.weight"]
    loss = np.zeros(len(words))
    for row in range(len(words)):
        for i, word in enumerate(words[row]):
            context = near[row][mask[row, i] > 0]
            if kind == "skip-gram":
                examples = [(v[word], u[other]) for other in context]
            else:
                examples = [(v[context].mean(axis=0), u[word])] if len(context) else []
            for predicting, predicted in examples:
                loss[row] -= log_logistic(predicting @ predicted)
                noise_loss = [log_logistic(-(predicting @ u[other])) for other in noise]
                loss[row] -= sampling.negatives * np.mean(noise_loss)
    return loss


@every_kind
@pytest.mark.parametrize("hybridized", [False, True])
def test_losses_match_the_equations(kind: str, hybridized: bool) -> None:
    model = model_of(kind)
    model.hybridize(hybridized, static_alloc=True, static_shape=True)
    loss, examples = (output.asnumpy() for output in model(*arrays_of()))
    w = parameters_of(model)
    inputs = [one.asnumpy() for one in arrays_of()]
    np.testing.assert_allclose(loss, plain_loss(kind, w, inputs, SMALL), rtol=1e-4, atol=1e-5)
    contexts = inputs[4]
    np.testing.assert_array_equal(examples, (contexts if kind == "skip-gram" else contexts > 0).sum(axis=1))
    assert examples.sum() > 0 and (contexts == 0).any(), "a word without context should be among them"
    mean = float(mean_loss((array(loss), array(examples)), nd.zeros(1)).asscalar())
    assert mean == pytest.approx(loss.sum() / examples.sum(), rel=1e-5)


@every_kind
def test_gradients_match_finite_differences(kind: str) -> None:
    model = model_of(kind, dtype="float64")
    check_numeric_gradients(model, [], lambda loss, _: loss.sum(), arrays_of("float64"), checks=20)


@every_kind
@pytest.mark.parametrize("hybridized", [False, True])
def test_gradients_are_sparse_and_of_the_drawn_words_only(kind: str, hybridized: bool) -> None:
    model = model_of(kind)
    model.hybridize(hybridized)
    words, near, noise, mask, contexts = arrays_of()
    with autograd.record():
        total = model(words, near, noise, mask, contexts)[0].sum()
    total.backward()
    seen = {int(one) for one in near.asnumpy()[mask.asnumpy().max(axis=1) > 0]}
    context_words = {int(one) for one in words.asnumpy()[contexts.asnumpy() > 0]}
    predicting, predicted = (seen, context_words) if kind == "cbow" else (context_words, seen)
    for table, expected in ((model.predicting, predicting), (model.predicted, predicted | set(noise.asnumpy()))):
        gradient = table.weight.grad()
        assert gradient.stype == "row_sparse"
        assert set(np.flatnonzero(np.abs(dense(gradient)).max(axis=1) > 0)) == {int(one) for one in expected}


def test_shared_noise_has_the_expectation_of_separate_noise() -> None:
    """Over many draws, the loss on noise is k times the mean over the noise distribution."""
    corpus = corpus_of(40, 30)
    sampling = replace(SMALL, noise=20_000, rows=1, length=8)
    model = model_of("skip-gram", sampling)
    batch = drawn(corpus, sampling)[0]
    loss = model(*(array(one) for one in batch.inputs))[0].asnumpy()[0]
    v, u = (parameter_arrays(model)[f"{name}.weight"].astype(np.float64) for name in ("predicting", "predicted"))
    words, near, _, mask, _ = batch.inputs
    share = noise_distribution(corpus.counts)
    expected = 0.0
    for i, word in enumerate(words[0]):
        for other in near[0][mask[0, i] > 0]:
            against = sum(p * log_logistic(-(v[word] @ u[n])) for n, p in enumerate(share))
            expected -= log_logistic(v[word] @ u[other]) + sampling.negatives * against
    assert loss == pytest.approx(expected, rel=0.02)


def test_initial_input_vectors_are_small_and_output_vectors_zero() -> None:
    runtime.seed_all(1)
    model = Word2Vec(kind="cbow", vocabulary_size=500, units=10, negatives=SMALL.negatives, noise=SMALL.noise)
    model.initialize()
    assert 0.045 < np.abs(model.vectors()).max() <= 0.05 and (model.predicted.weight.data().asnumpy() == 0).all()
    loss, examples = model(*arrays_of())
    # Every score is 0: the logistic function is 1/2 for the word and for the noise.
    np.testing.assert_allclose(loss.asnumpy(), examples.asnumpy() * (1 + SMALL.negatives) * np.log(2), rtol=1e-5)


def test_an_unknown_kind_is_refused_and_parameters_are_counted_without_allocation() -> None:
    with pytest.raises(UsageError, match="kind 'glove' is unknown; choose one of skip-gram, cbow"):
        Word2Vec(kind="glove", vocabulary_size=5, units=2, negatives=SMALL.negatives, noise=SMALL.noise)
    assert (
        parameter_count(
            Word2Vec(kind="cbow", vocabulary_size=10**6, units=300, negatives=SMALL.negatives, noise=SMALL.noise)
        )
        == 2 * 3 * 10**8
    )


# --- training ---

TOPICS, OF_A_TOPIC = 4, 5


def topics(seed: int, texts: int) -> TokenStream:
    """Texts of eight words of one topic, with an occasional word that occurs in all."""
    generator = np.random.RandomState(seed)
    rows = []
    for topic in generator.randint(0, TOPICS, texts):
        ids = generator.randint(0, OF_A_TOPIC, 8) + topic * OF_A_TOPIC
        rows.append(np.where(generator.random_sample(8) < 0.3, TOPICS * OF_A_TOPIC, ids))
    return stream_of(rows, TOPICS * OF_A_TOPIC + 1)


@every_kind
def test_words_that_occur_together_get_similar_vectors(kind: str, tmp_path: Path, fresh_seed: int) -> None:
    sampling = Sampling(window=3, negatives=5, noise=16, threshold=0.05, rows=8, length=16)
    runtime.seed_all(fresh_seed)
    model = Word2Vec(
        kind=kind, vocabulary_size=TOPICS * OF_A_TOPIC + 1, units=8, negatives=sampling.negatives, noise=sampling.noise
    )
    model.initialize()
    model.hybridize(static_alloc=True, static_shape=True)
    training, held_out = (topics(runtime.derive(fresh_seed, name), 1500) for name in ("training", "held out"))
    untrained = held_out_loss(model, held_out, sampling, 1)
    recipe = Recipe(epochs=3, batch_size=8, learning_rate=0.02)
    objective = word_vector_objective(
        training, sampling, lambda network: {"loss": held_out_loss(network, held_out, sampling, 1)}
    )
    trained = fit(model, objective, recipe, RunDirectory(tmp_path, {}), seed=fresh_seed)
    assert untrained == pytest.approx(6 * np.log(2), rel=1e-3)
    assert trained.history[-1]["validation_loss"] < 0.85 * untrained
    ids = np.arange(TOPICS * OF_A_TOPIC)
    neighbours, _ = nearest(model.vectors(), ids, OF_A_TOPIC - 1)
    assert (neighbours // OF_A_TOPIC == (ids // OF_A_TOPIC)[:, None]).mean() > 0.95


@every_kind
def test_a_resumed_run_ends_with_the_same_bytes(kind: str, tmp_path: Path) -> None:
    corpus = corpus_of(40, 30)
    objective = word_vector_objective(corpus, SMALL, lambda network: {"loss": held_out_loss(network, corpus, SMALL, 1)})
    recipe = Recipe(epochs=3, batch_size=2, learning_rate=0.05)
    digests = []
    for name, stops in (("whole", (3,)), ("in parts", (1, 3))):
        for epochs in stops:
            runtime.seed_all(5)
            model = Word2Vec(
                kind=kind, vocabulary_size=WORDS, units=UNITS, negatives=SMALL.negatives, noise=SMALL.noise
            )
            model.initialize()
            run = RunDirectory(tmp_path / name, {}, resume=True)
            fit(model, objective, replace(recipe, epochs=epochs), run, seed=1)
        digests.append(parameters_sha256(parameter_arrays(model)))
    assert digests[0] == digests[1]
