"""Networks learn tasks that need attention to the right token, with a new seed at every run.

The seed is printed; set GLUON_ATTN_TEST_SEED to repeat a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from gluonnlp.model import AttentionCell
from mxnet import nd
from mxnet.gluon import HybridBlock, nn
from mxnet.gluon.loss import SoftmaxCrossEntropyLoss

from gluon_attn import runtime
from gluon_attn.attention.additive import AdditiveAttention
from gluon_attn.attention.global_attention import GlobalAttention
from gluon_attn.attention.masks import memory_mask, token_mask
from gluon_attn.attention.multiplicative import GeneralScore, dot, general, scaled_dot
from gluon_attn.attention.pooling import AttentionPooling
from gluon_attn.decoding.beam_search import beam_search
from gluon_attn.models.deep_lstm import DeepLSTM
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.outputs import Classifier, ClassifierOutput, TranslationOutput
from gluon_attn.models.rnnencdec import RNNEncDec
from gluon_attn.models.rnnsearch import RNNSearch
from gluon_attn.models.self_attention_classifier import AsWritten, Masked
from gluon_attn.models.stacked_classifier import StackedClassifier
from gluon_attn.models.transformer import Transformer
from gluon_attn.training.loop import fit
from gluon_attn.training.objective import Batch, Objective
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from tests.gluon_attn.support import array, numbers

UNITS, SIZE = 16, 64
CROSS_ENTROPY = SoftmaxCrossEntropyLoss()


def learn(
    model: Classifier,
    draw: Callable[[np.random.RandomState, int], Batch],
    folder: Path,
    *,
    seed: int,
    steps: int,
    rate: float = 0.01,
) -> tuple[float, Batch, Any]:
    """Train on batches that never repeat; accuracy on 500 new examples, these, and the model's outputs for them."""
    test = draw(np.random.RandomState(runtime.derive(seed, "test")), 500)

    def outputs(model: Classifier) -> Any:
        return numbers(model(*map(array, test.inputs)))

    def evaluate(model: Classifier) -> Mapping[str, float]:
        return {"accuracy": float((outputs(model).logits.argmax(axis=1) == test.target).mean())}

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        return (draw(generator, SIZE) for _ in range(steps))

    def loss(output: ClassifierOutput, target: nd.NDArray) -> nd.NDArray:
        return CROSS_ENTROPY(output.logits, target)

    runtime.seed_all(seed)
    model.initialize(mx.init.Xavier())
    model.hybridize(static_alloc=True, static_shape=True)
    recipe = Recipe(epochs=1, batch_size=SIZE, learning_rate=rate)
    fit(model, Objective(batches, steps, loss, evaluate), recipe, RunDirectory(folder, {"seed": seed}), seed=seed)
    return evaluate(model)["accuracy"], test, outputs(model)


# --- recall: the memory is pairs of a key and a value; which value belongs to the query key? ---

KEYS, PAIRS = 8, 6


class Recall(Classifier):
    """Looks up a key by attention; without it, six values are equally likely."""

    outputs = ("matrix",)

    def __init__(self, attention: AttentionCell) -> None:
        super().__init__()
        with self.name_scope():
            self.query, self.key, self.value = (nn.Embedding(KEYS, UNITS) for _ in range(3))
            self.attention = attention
            self.output = nn.Dense(KEYS, in_units=UNITS)

    def hybrid_forward(self, F: Any, query: Any, keys: Any, values: Any, length: Any) -> tuple[Any, Any]:
        asked = F.expand_dims(self.query(query), axis=1)
        key = self.key(keys)
        mask = memory_mask(F, asked, token_mask(F, key, length))
        context, weights = self.attention(asked, key, self.value(values), mask)
        return self.output(context), weights


def draw_recall(generator: np.random.RandomState, rows: int) -> Batch:
    """One to six pairs; the rest of the six positions is padding that looks like pairs."""
    keys = generator.uniform(size=(rows, KEYS)).argsort(axis=1)[:, :PAIRS]
    values = generator.randint(0, KEYS, (rows, PAIRS))
    length = generator.randint(1, PAIRS + 1, rows)
    position = (generator.uniform(size=rows) * length).astype(int)
    row = np.arange(rows)
    inputs = (
        keys[row, position].astype(np.int32),
        keys.astype(np.int32),
        values.astype(np.int32),
        length.astype(np.float32),
    )
    return Batch(inputs, values[row, position].astype(np.float32))


@pytest.mark.parametrize(
    "attention",
    [
        lambda: AdditiveAttention(32),
        lambda: AdditiveAttention(32, normalized=True),
        dot,
        lambda: general(UNITS),
        scaled_dot,
    ],
    ids=["additive", "additive, normalized", "dot", "general", "scaled dot"],
)
def test_every_mechanism_learns_to_look_up_a_key(
    attention: Callable[[], AttentionCell], tmp_path: Path, fresh_seed: int
) -> None:
    accuracy, test, output = learn(Recall(attention()), draw_recall, tmp_path, seed=fresh_seed, steps=300)
    assert accuracy > 0.97
    query, keys, _, length = test.inputs
    asked_for = (keys == query[:, None]) & (np.arange(PAIRS) < length[:, None])
    assert (output.matrix[:, 0] * asked_for).sum(axis=1).mean() > 0.9


# --- needle: one of four tokens occurs once among noise; which? ---

NEEDLES, VOCABULARY, LENGTH = 4, 30, 12


def draw_needle(generator: np.random.RandomState, rows: int) -> Batch:
    ids = generator.randint(NEEDLES, VOCABULARY, (rows, LENGTH)).astype(np.int32)
    length = generator.randint(3, LENGTH + 1, rows)
    position = (generator.uniform(size=rows) * length).astype(int)
    needle = generator.randint(0, NEEDLES, rows)
    ids[np.arange(rows), position] = needle
    ids[np.arange(LENGTH) >= length[:, None]] = generator.randint(0, VOCABULARY)  # Padding may be a needle.
    return Batch((ids, length.astype(np.float32)), needle.astype(np.float32))


class Pooled(Classifier):
    """Embeddings, attention pooling and one dense layer: only attention can tell tokens apart."""

    outputs = ("weights",)

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(VOCABULARY, UNITS, sparse_grad=True)
            self.pooling = AttentionPooling(UNITS, in_units=UNITS)
            self.output = nn.Dense(NEEDLES, in_units=UNITS)

    def hybrid_forward(self, F: Any, ids: Any, length: Any) -> tuple[Any, Any]:
        states = self.embedding(ids)
        context, weights = self.pooling(states, token_mask(F, states, length))
        return self.output(context), weights


def test_attention_pooling_learns_to_find_one_token_in_noise(tmp_path: Path, fresh_seed: int) -> None:
    accuracy, test, output = learn(Pooled(), draw_needle, tmp_path, seed=fresh_seed, steps=300)
    ids, length = test.inputs
    assert accuracy > 0.98
    # One of the four may be recognised by the absence of the others, without any weight on it.
    assert (output.weights * ((ids < NEEDLES) & (np.arange(LENGTH) < length[:, None]))).sum(axis=1).mean() > 0.65


def masked(pooling: str, attention: AttentionCell | None = None) -> Masked:
    return Masked(
        vocabulary_size=VOCABULARY,
        embedding_units=UNITS,
        units=UNITS,
        classes=NEEDLES,
        dropout=0.1,
        pooling=pooling,
        attention=attention,
    )


def stacked() -> StackedClassifier:
    return StackedClassifier(
        vocabulary_size=VOCABULARY,
        embedding_units=UNITS,
        cell="lstm",
        units=UNITS,
        layers=2,
        attention_units=UNITS,
        classes=NEEDLES,
        embedding_dropout=0.1,
        dropout=0.1,
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: masked("attention", AdditiveAttention(UNITS, 0.1)),
        lambda: masked("attention", scaled_dot(0.1)),
        lambda: masked("mean"),
        lambda: masked("last"),
        stacked,
    ],
    ids=["masked, additive", "masked, scaled dot", "masked, mean", "masked, last", "stacked"],
)
def test_every_classifier_learns_to_find_one_token_in_noise(
    make: Callable[[], HybridBlock], tmp_path: Path, fresh_seed: int
) -> None:
    accuracy, _, _ = learn(make(), draw_needle, tmp_path, seed=fresh_seed, steps=200)
    assert accuracy > 0.95


@pytest.mark.parametrize("attention", [None, lambda: AdditiveAttention(UNITS, 0.1)], ids=["none", "additive"])
def test_the_network_as_written_learns_too(
    attention: Callable[[], AttentionCell] | None, tmp_path: Path, fresh_seed: int
) -> None:
    """On one fixed length, the only one that it supports."""

    def draw(generator: np.random.RandomState, rows: int) -> Batch:
        ids = generator.randint(NEEDLES, VOCABULARY, (rows, LENGTH)).astype(np.int32)
        needle = generator.randint(0, NEEDLES, rows)
        ids[np.arange(rows), generator.randint(0, LENGTH, rows)] = needle
        return Batch((ids,), needle.astype(np.float32))

    model = AsWritten(
        vocabulary_size=VOCABULARY,
        embedding_units=UNITS,
        units=UNITS,
        length=LENGTH,
        classes=NEEDLES,
        dropout=0.1,
        attention=attention() if attention else None,
    )
    accuracy, _, _ = learn(model, draw, tmp_path, seed=fresh_seed, steps=200)
    assert accuracy > 0.95


# --- mirror: reverse or copy a short sentence in another vocabulary; every token comes from its own position ---

SYMBOLS, SHORTEST, LONGEST = 8, 2, 5
PADDING, BEGIN, END, FIRST = 1, 2, 3, 4
MIRROR: dict[str, Any] = {
    "source_vocabulary": FIRST + SYMBOLS,
    "target_vocabulary": FIRST + SYMBOLS,
    "padding": PADDING,
    "source_units": UNITS,
    "target_units": UNITS,
    "units": 32,
}


TRANSFORMER: dict[str, Any] = {
    **{name: value for name, value in MIRROR.items() if not name.endswith("_units")},
    **{"encoder_layers": 1, "decoder_layers": 1, "heads": 2, "hidden_units": 64, "layer_dropout": 0.05},
}


def draw_mirror(generator: np.random.RandomState, rows: int, direction: int = -1) -> Batch:
    """Source, its length, the target after its begin symbol, the target with its end; symbol i translates to i + 1."""
    length = generator.randint(SHORTEST, LONGEST + 1, rows)
    source = np.full((rows, LONGEST), PADDING, np.int32)
    inputs, targets = np.full((2, rows, LONGEST + 1), PADDING, np.int32)
    inputs[:, 0] = BEGIN
    for row, tokens in enumerate(length):
        symbols = generator.randint(0, SYMBOLS, tokens)
        source[row, :tokens] = FIRST + symbols
        translation = FIRST + (symbols[::direction] + 1) % SYMBOLS
        inputs[row, 1 : tokens + 1] = targets[row, :tokens] = translation
        targets[row, tokens] = END
    return Batch((source, length.astype(np.float32), inputs, targets), targets)


@pytest.mark.parametrize(
    ("make", "steps", "wanted", "direction"),
    [
        (lambda: RNNSearch(attention_units=32, maxout_units=UNITS, encoder_dropout=0.05, **MIRROR), 220, 0.97, -1),
        (lambda: RNNEncDec(maxout_units=UNITS, **MIRROR), 300, 0.8, -1),
        (
            lambda: DeepLSTM(
                layers=2,
                reverse_source=False,
                attention=GlobalAttention(GeneralScore(32, 32)),
                input_feeding=True,
                layer_dropout=0.05,
                **MIRROR,
            ),
            200,
            0.97,
            -1,
        ),
        (lambda: Transformer(norm="pre", **TRANSFORMER), 300, 0.97, -1),
        (lambda: Transformer(norm="post", **TRANSFORMER), 300, 0.97, -1),
        (lambda: Transformer(positions="learned", **TRANSFORMER), 300, 0.97, 1),
    ],
    ids=["rnnsearch", "rnnencdec", "deep lstm, general, feeding", "pre-norm", "post-norm", "learned, copy"],
)
def test_every_encoder_decoder_learns_to_reverse_or_copy_a_sentence(
    make: Callable[[], EncoderDecoder], steps: int, wanted: float, direction: int, tmp_path: Path, fresh_seed: int
) -> None:
    """Judged by greedy translations of sentences of which few occurred in training."""
    test = np.random.RandomState(runtime.derive(fresh_seed, "test"))
    source, length, _, targets = draw_mirror(test, 200, direction).inputs

    def evaluate(model: HybridBlock) -> Mapping[str, float]:
        hypotheses = beam_search(
            [model], source, length, beam=1, alpha=0.0, max_steps=LONGEST + 1, begin=BEGIN, end=END
        )
        translations = np.full_like(targets, PADDING)
        for row, (best,) in enumerate(hypotheses):
            ids = [*best.ids, END][: LONGEST + 1]
            translations[row, : len(ids)] = ids
        real = targets != PADDING
        return {"accuracy": float((translations == targets)[real].mean())}

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        return (draw_mirror(generator, SIZE, direction) for _ in range(steps))

    def loss(output: TranslationOutput, target: nd.NDArray) -> nd.NDArray:
        return output.loss.sum() / (target.astype("float32") != PADDING).sum()

    runtime.seed_all(fresh_seed)
    model = make()
    model.initialize(mx.init.Xavier())
    model.hybridize(static_alloc=True, static_shape=True)
    recipe = Recipe(epochs=1, batch_size=SIZE, learning_rate=0.01, decay="cosine", clip_norm=5.0)
    run = RunDirectory(tmp_path, {"seed": fresh_seed})
    trained = fit(model, Objective(batches, steps, loss, evaluate), recipe, run, seed=fresh_seed)
    assert trained.history[-1]["validation_accuracy"] > wanted
