"""Language models and classifiers over an LSTMN and an LSTM: equations, state, padding, and learning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd
from mxnet.gluon import HybridBlock

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.models.language_model import NO_TARGET, LanguageModel
from gluon_attn.models.lstmn import LSTMN, FusedLSTM, SentenceClassifier, relative_to_absolute
from gluon_attn.training.bptt import language_objective, pieces
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from gluon_attn.training.loop import fit
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from tests.gluon_attn.models.test_learns import NEEDLES, VOCABULARY as NOISE, draw_needle, learn
from tests.gluon_attn.models.test_lstmn_unrolled import Weights, plain_lstmn, sigmoid, softmax
from tests.gluon_attn.support import (
    array,
    assert_same_outputs,
    check_numeric_gradients,
    check_padding,
    dense,
    every_parameter_learns,
    initialize,
    lengths_of,
    names_of,
    normal,
    numbers,
    padded,
    parameters_of,
    training_pass,
)

UNITS, EMBEDDING, WORDS, CLASSES, HIDDEN, WINDOW = 3, 4, 11, 3, 5, 2
ENCODERS: dict[str, Callable[[], Any]] = {
    "lstmn": lambda: LSTMN(UNITS, EMBEDDING, WINDOW, 5),
    "lstm": lambda: FusedLSTM(UNITS, EMBEDDING),
}
every_encoder = pytest.mark.parametrize("name", ENCODERS)
INPUTS = array([[4, 5, 6, 0, 2], [7, 8, 2, 9, 10]], "int32")
TARGETS = array([[5, 6, 0, 2, 3], [8, 2, 9, 10, NO_TARGET]], "int32")
SENTENCES = [[3, 4, 5, 6, 7], [9, 10], [2]]


def language_model(name: str, scale: float = 0.5, **changed: Any) -> LanguageModel:
    model = LanguageModel(vocabulary_size=WORDS, embedding_units=EMBEDDING, encoder=ENCODERS[name](), **changed)
    initialize(model, INPUTS, TARGETS, *model.start(2), scale=scale)
    return model


def classifier(name: str, **changed: Any) -> SentenceClassifier:
    model = SentenceClassifier(
        vocabulary_size=WORDS,
        embedding_units=EMBEDDING,
        encoder=ENCODERS[name](),
        hidden_units=HIDDEN,
        classes=CLASSES,
        **changed,
    )
    initialize(model, padded(SENTENCES, 5, lambda count: np.zeros(count)), lengths_of(SENTENCES))
    return model


def plain_lstm(w: Weights, sequence: np.ndarray) -> np.ndarray:
    """States (steps, units) of MXNet's LSTM: gates in the order input, forget, candidate, output, and two biases."""
    h = c = np.zeros(UNITS)
    states = []
    for x in sequence:
        gates = w["i2h_weight"] @ x + w["i2h_bias"] + w["h2h_weight"] @ h + w["h2h_bias"]
        i, f, g, o = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def plain_states(name: str, w: Weights, ids: list[int]) -> np.ndarray:
    prefix = "reader." if name == "lstmn" else "reader.lstm._unfused.0."
    its = {key.removeprefix(prefix): values for key, values in w.items() if key.startswith(prefix)}
    embedded = w["embedding.weight"][ids]
    return plain_lstmn(its, embedded, WINDOW)[0] if name == "lstmn" else plain_lstm(its, embedded)


# --- the language model ---


def plain_losses(name: str, w: Weights) -> np.ndarray:
    losses = []
    for inputs, targets in zip(INPUTS.asnumpy(), TARGETS.asnumpy(), strict=True):
        logits = plain_states(name, w, inputs.tolist()) @ w["output.weight"].T + w["output.bias"]
        nll = [-np.log(softmax(one)[target]) for one, target in zip(logits, targets, strict=True)]
        losses.append(np.where(targets == NO_TARGET, 0.0, nll))
    return np.array(losses)


@every_encoder
@pytest.mark.parametrize("hybridized", [False, True])
def test_losses_and_gradients_are_those_of_the_equations(name: str, hybridized: bool) -> None:
    """Losses word by word; the gradient of each parameter as the slope of the equations in a random direction."""
    model = language_model(name, scale=1.0)
    model.hybridize(hybridized)
    with autograd.record(train_mode=False):
        output = model(INPUTS, TARGETS, *model.start(2))
        total = output.loss.sum()
    total.backward()
    w = parameters_of(model)
    np.testing.assert_allclose(output.nll.asnumpy(), plain_losses(name, w), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(output.loss.asnumpy(), output.nll.asnumpy())
    for key, parameter in named_parameters(model):
        direction = normal(*parameter.shape, seed=6, dtype="float64")
        upper, lower = (plain_losses(name, {**w, key: w[key] + s * direction}).sum() for s in (1e-5, -1e-5))
        slope = (upper - lower) / 2e-5
        assert abs(slope) > 1e-3, f"{key}: nothing is compared"
        assert float((dense(parameter.grad()) * direction).sum()) == pytest.approx(slope, rel=2e-3, abs=1e-4), key


@every_encoder
@pytest.mark.parametrize("hybridized", [False, True])
def test_two_calls_with_carried_state_equal_one_long_call(name: str, hybridized: bool) -> None:
    model = language_model(name)
    model.hybridize(hybridized)
    whole = model(INPUTS, TARGETS, *model.start(2))
    parts, state = [], model.start(2)
    for part in (slice(0, 3), slice(3, 4), slice(4, 5)):
        output = model(INPUTS[:, part], TARGETS[:, part], *state)
        state = output.state
        parts.append(output.nll.asnumpy())
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole.nll.asnumpy(), rtol=1e-4, atol=1e-6)
    for ours, theirs in zip(state, whole.state, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-4, atol=1e-6)


@every_encoder
@pytest.mark.parametrize("hybridized", [False, True])
def test_no_gradient_flows_into_the_state_of_the_previous_call(name: str, hybridized: bool) -> None:
    """Two calls in one recording against the second alone: the second loss has the same gradients."""
    model = language_model(name)
    model.hybridize(hybridized)
    results = []
    for record_both in (True, False):
        with autograd.record(train_mode=False):
            state = model(INPUTS, TARGETS, *model.start(2)).state
        if not record_both:
            state = tuple(array(one.asnumpy()) for one in state)
        with autograd.record(train_mode=False):
            total = model(INPUTS, TARGETS, *state).loss.sum()
        total.backward()
        results.append({key: dense(one.grad()) for key, one in named_parameters(model)})
    for key, gradient in results[0].items():
        assert np.abs(gradient).max() > 1e-5, key
        np.testing.assert_array_equal(gradient, results[1][key], err_msg=key)


@every_encoder
def test_padding_and_batch_composition_change_no_loss(name: str) -> None:
    """After the end of a row anything may follow, without a target; rows are independent."""
    model = language_model(name)
    nll = model(INPUTS, TARGETS, *model.start(2)).nll.asnumpy()
    longer = nd.concat(INPUTS, array([[3, 9], [1, 1]], "int32"), dim=1)
    longer_targets = nd.concat(TARGETS, nd.full((2, 2), NO_TARGET, dtype="int32"), dim=1)
    actual = model(longer, longer_targets, *model.start(2)).nll.asnumpy()
    np.testing.assert_allclose(actual[:, :5], nll, rtol=1e-5, atol=1e-6)
    assert (actual[:, 5:] == 0).all() and nll[1, 4] == 0 and (nll.ravel()[:-1] > 0).all()
    for row in range(2):
        one = slice(row, row + 1)
        alone = model(INPUTS[one], TARGETS[one], *model.start(1)).nll.asnumpy()
        np.testing.assert_allclose(alone[0], nll[row], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("hybridized", [False, True])
def test_the_weights_of_a_word_are_those_of_the_encoder(hybridized: bool) -> None:
    model = language_model("lstmn")
    model.hybridize(hybridized)
    weights, after = model.attend(INPUTS, *model.start(2))
    weights = weights.asnumpy()
    w = parameters_of(model)
    its = {key.removeprefix("reader."): values for key, values in w.items()}
    for row, ids in enumerate(INPUTS.asnumpy()):
        _, expected_rows = plain_lstmn(its, w["embedding.weight"][ids], WINDOW)
        for t, expected in enumerate(expected_rows):
            np.testing.assert_allclose(weights[row, t, WINDOW - len(expected) :], expected, rtol=1e-4, atol=1e-6)
    state = model(INPUTS, TARGETS, *model.start(2)).state
    for ours, its in zip(after, state, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), its.asnumpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.attend(INPUTS, *state)[0].asnumpy().sum(axis=2), 1.0, rtol=1e-5)
    with pytest.raises(TypeError, match="only an LSTMN has weights"):
        language_model("lstm").attend(INPUTS)


@every_encoder
def test_the_forget_gate_of_either_encoder_is_initially_open(name: str) -> None:
    """Otherwise the comparison of the two would be one of initialisations."""
    encoder = ENCODERS[name]()
    encoder.initialize()
    values = {key.rpartition(".")[2]: one.data().asnumpy() for key, one in named_parameters(encoder) if "bias" in key}
    biases = sum(values.values()).reshape(4, UNITS)  # The gates are in the order i, f, ...
    np.testing.assert_array_equal(biases, np.outer([0, 1, 0, 0], np.ones(UNITS)))


@every_encoder
def test_dropout_is_active_in_training_only(name: str) -> None:
    plain, model = language_model(name), language_model(name, dropout=0.5)
    arrays = (INPUTS, TARGETS, *model.start(2))
    np.testing.assert_array_equal(model(*arrays).nll.asnumpy(), plain(*arrays).nll.asnumpy())
    assert np.abs(training_pass(model, *arrays) - training_pass(model, *arrays)).max() > 1e-3


@every_encoder
def test_tied_weights_are_one_parameter(name: str) -> None:
    encoder = LSTMN(EMBEDDING, EMBEDDING, WINDOW) if name == "lstmn" else FusedLSTM(EMBEDDING, EMBEDDING)
    model = LanguageModel(vocabulary_size=WORDS, embedding_units=EMBEDDING, encoder=encoder, tied=True)
    initialize(model, INPUTS, TARGETS, *model.start(2))
    assert model.output.weight is model.embedding.weight
    names = [key for key, _ in named_parameters(model) if key in ("embedding.weight", "output.weight")]
    assert len(names) == 1
    with autograd.record():
        total = model(INPUTS, TARGETS, *model.start(2)).loss.sum()
    total.backward()
    # As an output every word has a gradient, also those that are never an input.
    assert (np.abs(dense(model.embedding.weight.grad())).max(axis=1) > 0).all()


def test_tied_weights_of_different_widths_are_refused() -> None:
    with pytest.raises(UsageError, match=f"not {UNITS} and {EMBEDDING} units"):
        LanguageModel(vocabulary_size=WORDS, embedding_units=EMBEDDING, encoder=ENCODERS["lstm"](), tied=True)


@pytest.mark.parametrize(
    ("encoder", "its_own"),
    [
        (lambda: LSTMN(300, 300), 4 * 300 * 600 + 1200 + 3 * 300 * 300 + 300),
        (lambda: FusedLSTM(300, 300), 4 * 300 * 600 + 2 * 1200),
    ],
)
def test_parameter_counts_of_the_paper_on_the_penn_treebank(encoder: Callable[[], Any], its_own: int) -> None:
    """300 units and 10 000 words: embeddings, the output layer and its bias, and the encoder; nothing is allocated."""
    model = LanguageModel(vocabulary_size=10_000, embedding_units=300, encoder=encoder())
    assert parameter_count(model) == 10_000 * 300 + 10_000 * 301 + its_own


# --- the classifier ---


@every_encoder
@pytest.mark.parametrize("hybridized", [False, True])
def test_logits_match_the_equations(name: str, hybridized: bool) -> None:
    """A softmax layer over rectified units over the mean of the states (Cheng et al., sec. 5.2)."""
    model = classifier(name)
    model.hybridize(hybridized)
    output = numbers(model(padded(SENTENCES, 7, lambda count: np.full(count, 8)), lengths_of(SENTENCES)))
    w = parameters_of(model)
    for row, ids in enumerate(SENTENCES):
        mean = plain_states(name, w, ids).mean(axis=0)
        hidden = np.maximum(w["hidden.weight"] @ mean + w["hidden.bias"], 0)
        expected = w["output.weight"] @ hidden + w["output.bias"]
        np.testing.assert_allclose(output.logits[row], expected, rtol=1e-4, atol=1e-5)
    assert names_of(output) == (["logits", "matrix"] if name == "lstmn" else ["logits"])
    if name == "lstmn":
        its = {key.removeprefix("reader."): values for key, values in w.items()}
        expected_matrix = np.zeros((len(SENTENCES), 7, 7))
        for row, ids in enumerate(SENTENCES):
            for t, row_weights in enumerate(plain_lstmn(its, w["embedding.weight"][ids], WINDOW)[1]):
                expected_matrix[row, t, t - len(row_weights) : t] = row_weights
        np.testing.assert_allclose(output.matrix, expected_matrix, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(
            expected_matrix.sum(axis=2), [[0, 1, 1, 1, 1, 0, 0], [0, 1] + [0] * 5, [0] * 7], rtol=1e-5
        )


@pytest.mark.parametrize("window", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_weights_by_distance_match_weights_by_word(window: int, steps: int) -> None:
    """Position j of step t has the word of step t - window + j; positions before the first word are zero."""
    weights = normal(2, steps, window)
    expected = np.zeros((2, steps, steps))
    for t in range(steps):
        for j in range(window):
            if t - window + j >= 0:
                expected[:, t, t - window + j] = weights[:, t, j]
            else:
                weights[:, t, j] = 0.0
    np.testing.assert_array_equal(
        relative_to_absolute(nd, array(weights), steps, window).asnumpy(), expected.astype(np.float32)
    )


@every_encoder
@settings(max_examples=6)
@given(
    lengths=st.lists(st.integers(1, 5), min_size=2, max_size=3), more=st.integers(0, 5), seed=st.integers(0, WORDS - 1)
)
def test_padding_and_batch_composition_change_no_logit(name: str, lengths: list[int], more: int, seed: int) -> None:
    model = classifier(name)
    generator = np.random.RandomState(seed)
    sentences = [generator.randint(0, WORDS, length).tolist() for length in lengths]
    batch = check_padding(model, sentences, more, lambda count: np.full(count, seed))
    for row, sentence in enumerate(sentences):
        assert batch.matrix is None or (batch.matrix[row, len(sentence) :] == 0).all()


@every_encoder
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_gradient_reaches_every_parameter_of_the_classifier(name: str, hybridized: bool) -> None:
    model = classifier(name)
    model.hybridize(hybridized)
    largest = every_parameter_learns(model, [padded(SENTENCES, 5, lambda n: np.zeros(n)), lengths_of(SENTENCES)])
    assert min(largest.values()) > 1e-6, largest


@every_encoder
@pytest.mark.parametrize("which", ["embedding_dropout", "dropout"])
def test_every_dropout_of_the_classifier_is_active_in_training(name: str, which: str) -> None:
    changed: dict[str, Any] = {which: 0.5}
    model = classifier(name, **changed)
    arrays = padded(SENTENCES, 5, lambda count: np.zeros(count)), lengths_of(SENTENCES)
    assert_same_outputs(numbers(model(*arrays)), numbers(classifier(name)(*arrays)), rtol=0, atol=0)
    assert np.abs(training_pass(model, *arrays) - training_pass(model, *arrays)).max() > 1e-3


# --- learning ---


@pytest.mark.parametrize("encoder", [lambda: LSTMN(16, 16, 6), lambda: FusedLSTM(16, 16)], ids=["lstmn", "lstm"])
def test_the_classifier_learns_to_find_one_token_in_noise(
    encoder: Callable[[], Any], tmp_path: Path, fresh_seed: int
) -> None:
    model = SentenceClassifier(
        vocabulary_size=NOISE, embedding_units=16, encoder=encoder(), hidden_units=16, classes=NEEDLES, dropout=0.1
    )
    accuracy, *_ = learn(model, draw_needle, tmp_path, seed=fresh_seed, steps=200)
    assert accuracy > 0.95


def test_the_language_model_learns_to_recall_a_word(tmp_path: Path, fresh_seed: int) -> None:
    """A word of eight, a separator, the answer to the word: only the first of the three is unpredictable.

    The best perplexity is 8 ** (1 / 3) = 2; without memory it is 4.
    """
    words, steps, rows, sign = 8, 6, 32, 2

    def stream(name: str, tokens: int) -> np.ndarray:
        drawn = np.random.RandomState(runtime.derive(fresh_seed, name)).randint(0, words, tokens // 3) + sign + 1
        return np.stack([drawn, np.full_like(drawn, sign), drawn + words], axis=1).ravel()

    runtime.seed_all(fresh_seed)
    model = LanguageModel(vocabulary_size=20, embedding_units=128, encoder=LSTMN(24, 128, 3))
    model.initialize(mx.init.Xavier())
    model.hybridize()
    training, validation = (
        pieces(stream(name, tokens), rows, steps, sign) for name, tokens in (("training", 48_000), ("test", 2_880))
    )
    recipe = Recipe(epochs=2, batch_size=rows, learning_rate=0.03, decay="cosine", clip_norm=1.0)
    objective = language_objective(model.start(rows), training, validation, restart=0.1)
    trained = fit(model, objective, recipe, RunDirectory(tmp_path, {}), seed=fresh_seed)
    assert trained.history[-1]["validation_perplexity"] < 3


def test_gradients_of_the_language_model_match_finite_differences_in_the_state_too() -> None:
    """The encoder alone, with the fused layer: the carried state is an input."""
    encoder = FusedLSTM(UNITS, EMBEDDING)
    encoder.initialize()

    class Carried(HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(self, sequence: nd.NDArray, hidden: nd.NDArray, cell: nd.NDArray) -> tuple[nd.NDArray]:
            return (self.encoder.unroll(nd, sequence, 3, (hidden, cell))[0],)

    block = Carried()
    block.cast("float64")
    inputs = [
        array(normal(2, *shape, seed=i), "float64") for i, shape in enumerate([(3, EMBEDDING), (UNITS,), (UNITS,)])
    ]
    initialize(block, *inputs)
    wanted = array(normal(2, 3, UNITS, seed=5), "float64")
    check_numeric_gradients(block, inputs, lambda states: (states * wanted).sum())
