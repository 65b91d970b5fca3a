"""Properties of every encoder-decoder: training and search compute the same, padding has no effect, every parameter
learns.

Also the equations of the papers in NumPy, with the same weights: losses and gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd
from mxnet.gluon import HybridBlock

from gluon_attn import runtime
from gluon_attn.attention.additive import AdditiveScore
from gluon_attn.attention.global_attention import GlobalAttention, LocationScore
from gluon_attn.attention.local import MonotonicAttention, PredictiveAttention
from gluon_attn.attention.multiplicative import DotScore, GeneralScore
from gluon_attn.models.deep_lstm import DeepLSTM
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.outputs import TranslationOutput
from gluon_attn.models.rnnencdec import RNNEncDec
from gluon_attn.models.rnnsearch import RNNSearch
from gluon_attn.models.transformer import Transformer
from gluon_attn.training.checkpoint import named_parameters, parameter_arrays, parameter_count, set_parameters
from gluon_attn.training.loop import fit
from gluon_attn.training.objective import Batch, Objective
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from tests.gluon_attn.layers.test_encoders import recurrence
from tests.gluon_attn.support import array, copy_parameters, dense, initialize, normal

UNITS, HIDDEN, MAXOUT, SOURCE_UNITS, TARGET_UNITS = 6, 7, 3, 4, 5
SOURCE_VOCABULARY, TARGET_VOCABULARY = 9, 11
PADDING, BEGIN, END = 1, 2, 3  # 0 is a token like any other.

ATTENTIONS: dict[str, Callable[[], HybridBlock]] = {
    "dot": lambda: GlobalAttention(DotScore()),
    "general": lambda: GlobalAttention(GeneralScore(UNITS, UNITS)),
    "concat": lambda: GlobalAttention(AdditiveScore(HIDDEN, UNITS, UNITS, use_bias=False)),
    "location": lambda: GlobalAttention(LocationScore(20, UNITS)),
    "local-m": lambda: MonotonicAttention(GeneralScore(UNITS, UNITS), 1),
    "local-p": lambda: PredictiveAttention(GeneralScore(UNITS, UNITS), 2, UNITS),
}


def common(**changed: Any) -> dict[str, Any]:
    return {
        "units": UNITS,
        "source_units": SOURCE_UNITS,
        "target_units": TARGET_UNITS,
        "source_vocabulary": SOURCE_VOCABULARY,
        "target_vocabulary": TARGET_VOCABULARY,
        "padding": PADDING,
        **changed,
    }


def rnnsearch(**changed: Any) -> RNNSearch:
    return RNNSearch(**common(attention_units=HIDDEN, maxout_units=MAXOUT, **changed))


def rnnencdec(**changed: Any) -> RNNEncDec:
    return RNNEncDec(**common(maxout_units=MAXOUT, **changed))


def deep_lstm(attention: str | None, **changed: Any) -> DeepLSTM:
    cell = ATTENTIONS[attention]() if attention else None
    return DeepLSTM(**common(**{"layers": 2, "reverse_source": False, "attention": cell, **changed}))


def transformer(**changed: Any) -> Transformer:
    sizes = {name: value for name, value in common().items() if name not in ("source_units", "target_units")}
    own = {"encoder_layers": 2, "decoder_layers": 2, "heads": 2, "hidden_units": HIDDEN}
    return Transformer(**{**sizes, **own, **changed})


MODELS: dict[str, Callable[..., EncoderDecoder]] = {
    "rnnsearch": rnnsearch,
    "rnnencdec": rnnencdec,
    "lstm": lambda **changed: deep_lstm(None, **changed),
    "lstm reversed": lambda **changed: deep_lstm(None, reverse_source=True, **changed),
    "transformer": transformer,
    "transformer, pre-norm": lambda **changed: transformer(
        norm="pre", positions="learned", length=4, key_units=2, **changed
    ),
    **{f"lstm, {name}": lambda name=name, **changed: deep_lstm(name, **changed) for name in ATTENTIONS},
    **{
        f"lstm reversed, {name}, feeding": lambda name=name, **changed: deep_lstm(
            name, reverse_source=True, input_feeding=True, **changed
        )
        for name in ATTENTIONS
    },
}
WITHOUT_ATTENTION = ("rnnencdec", "lstm", "lstm reversed")
every_model = pytest.mark.parametrize("name", MODELS)
every_attention = pytest.mark.parametrize("name", [name for name in MODELS if name not in WITHOUT_ATTENTION])


@dataclass(frozen=True)
class Pairs:
    """Sentence pairs of random ids other than padding, begin and end."""

    sources: list[list[int]]
    targets: list[list[int]]

    @classmethod
    def of(cls, source_lengths: list[int], target_lengths: list[int], seed: int = 0) -> Pairs:
        generator = np.random.RandomState(seed)

        def ids(length: int, vocabulary: int) -> list[int]:
            return generator.choice([0, *range(4, vocabulary)], length).tolist()

        return cls(
            [ids(length, SOURCE_VOCABULARY) for length in source_lengths],
            [ids(length, TARGET_VOCABULARY) for length in target_lengths],
        )

    def arrays(self, more_source: int = 0, more_target: int = 0, garbage: int | None = None) -> list[nd.NDArray]:
        """The model's four inputs, padded by more than needed, with ``garbage`` wherever padding may be anything."""
        padding = PADDING if garbage is None else garbage
        return [
            rectangle(self.sources, padding, more_source),
            array([len(one) for one in self.sources], "float32"),
            rectangle([[BEGIN, *one] for one in self.targets], padding, more_target),
            rectangle([[*one, END] for one in self.targets], PADDING, more_target),
        ]

    def alone(self, row: int) -> Pairs:
        return Pairs([self.sources[row]], [self.targets[row]])


def rectangle(sentences: list[list[int]], padding: int, more: int) -> nd.NDArray:
    width = max(map(len, sentences)) + more
    return array([one + [padding] * (width - len(one)) for one in sentences], "int32")


PAIRS = Pairs.of([5, 1, 3], [2, 4, 0])


def model_of(name: str, *, seed: int = 0, scale: float = 0.5, **changed: Any) -> EncoderDecoder:
    model = MODELS[name](**changed)
    initialize(model, *PAIRS.arrays(), scale=scale, seed=seed)
    for parameter_name, parameter in named_parameters(model):
        if parameter_name.endswith("gamma"):  # around 1, or layer normalisation forgets its input
            parameter.set_data(parameter.data() + 1.0)
    return model


def compiled(model: EncoderDecoder) -> EncoderDecoder:
    model.hybridize(static_alloc=True, static_shape=True)
    return model


def step_by_step(model: EncoderDecoder, source: nd.NDArray, length: nd.NDArray, inputs: nd.NDArray) -> tuple[Any, Any]:
    """ln p (batch, steps, vocabulary) and weights (batch, steps, source_length) as search computes them."""
    memory, state = model.start(source, length)
    log_p, weights = [], []
    for i in range(inputs.shape[1]):
        one, alignment, state = model.step(inputs[:, i], memory, state)
        log_p.append(one.asnumpy())
        weights += [] if alignment is None else [alignment.asnumpy()]
    return np.stack(log_p, axis=1), np.stack(weights, axis=1) if weights else None


# --- training and search are one function ---


@every_model
@pytest.mark.parametrize("hybridized", [False, True])
def test_the_teacher_forced_loss_equals_the_steps_of_search(name: str, hybridized: bool) -> None:
    model = model_of(name)
    model.hybridize(hybridized, static_alloc=True, static_shape=True)
    source, length, inputs, targets = PAIRS.arrays()
    loss, nll = model(source, length, inputs, targets)
    log_p, _ = step_by_step(model, source, length, inputs)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=2), 1.0, rtol=1e-5)
    ids = targets.asnumpy()
    expected = -np.take_along_axis(log_p, ids[:, :, None], axis=2)[:, :, 0] * (ids != PADDING)
    np.testing.assert_allclose(nll.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(loss.asnumpy(), nll.asnumpy())
    assert (nll.asnumpy()[ids == PADDING] == 0).all() and (nll.asnumpy()[ids != PADDING] > 0).all()
    assert np.abs(np.diff(log_p, axis=1)).max() > 0.01, "every step gives the same"


@every_attention
@pytest.mark.parametrize("hybridized", [False, True])
def test_the_alignment_equals_the_weights_of_the_steps(name: str, hybridized: bool) -> None:
    model = model_of(name)
    model.hybridize(hybridized, static_alloc=True, static_shape=True)
    source, length, inputs, _ = PAIRS.arrays()
    alignment = model.align(source, length, inputs).asnumpy()
    _, weights = step_by_step(model, source, length, inputs)
    assert alignment.shape == (*inputs.shape, source.shape[1])
    np.testing.assert_allclose(alignment, weights, rtol=1e-4, atol=1e-6)
    inside = np.arange(source.shape[1]) < length.asnumpy()[:, None]
    assert (alignment >= 0).all() and (alignment.transpose(0, 2, 1)[~inside] == 0).all()
    if "local-p" in name:
        assert (alignment.sum(axis=2) < 1 + 1e-6).all() and alignment.sum(axis=2).min() < 0.99
    else:
        np.testing.assert_allclose(alignment.sum(axis=2), 1.0, rtol=1e-5)
    if "local-m" in name:
        window = np.abs(np.arange(5) - np.minimum(np.arange(5)[:, None], 4)) <= 1
        np.testing.assert_array_equal(alignment[0] > 0, window)


@pytest.mark.parametrize("name", WITHOUT_ATTENTION)
def test_without_attention_there_are_no_weights(name: str) -> None:
    source, length, inputs, _ = PAIRS.arrays()
    assert step_by_step(model_of(name), source, length, inputs)[1] is None
    assert step_by_step(compiled(model_of(name)), source, length, inputs)[1] is None


# --- padding, batch composition, compilation ---


@every_model
@settings(max_examples=4)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 4)), min_size=2, max_size=3),
    more=st.tuples(st.integers(0, 6), st.integers(0, 5)),
    seed=st.integers(0, 99),
)
def test_padding_and_batch_composition_change_nothing(
    name: str, lengths: list[tuple[int, int]], more: tuple[int, int], seed: int
) -> None:
    """With garbage in the padding of the inputs; each pair alone and unpadded has the same loss and alignment."""
    model = model_of(name)
    pairs = Pairs.of([source for source, _ in lengths], [target for _, target in lengths], seed)
    arrays = pairs.arrays(*more, garbage=seed % SOURCE_VOCABULARY)
    nll = model(*arrays).nll.asnumpy()
    alignment = None if name in WITHOUT_ATTENTION else model.align(*arrays[:3]).asnumpy()
    for row, (tokens, steps) in enumerate(lengths):
        alone = pairs.alone(row).arrays()
        np.testing.assert_allclose(nll[row, : steps + 1], model(*alone).nll.asnumpy()[0], rtol=1e-4, atol=1e-5)
        assert (nll[row, steps + 1 :] == 0).all()
        if alignment is not None:
            expected = model.align(*alone[:3]).asnumpy()[0]
            np.testing.assert_allclose(alignment[row, : steps + 1, :tokens], expected, rtol=1e-3, atol=1e-5)


def parameter_gradients(model: EncoderDecoder, arrays: list[nd.NDArray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    with autograd.record():
        loss, _ = model(*arrays)
        total = loss.sum()
    total.backward()
    return loss.asnumpy(), {name: dense(one.grad()) for name, one in named_parameters(model)}


@every_model
def test_compiled_equals_eager_and_a_gradient_reaches_every_parameter(name: str) -> None:
    """Twice in the compiled model, with another batch between: no call changes the next."""
    arrays = PAIRS.arrays()
    model = model_of(name, smoothing=0.1)
    loss, expected = parameter_gradients(model, arrays)
    assert min(np.abs(gradient).max() for gradient in expected.values()) > 1e-5, expected
    compiled(model)
    for batch in (arrays, Pairs.of([2, 4, 4], [4, 1, 3], seed=7).arrays(), arrays):
        again, actual = parameter_gradients(model, batch)
    np.testing.assert_allclose(again, loss, rtol=1e-4, atol=1e-5)
    assert actual.keys() == expected.keys()
    for key, gradient in expected.items():
        np.testing.assert_allclose(actual[key], gradient, rtol=1e-3, atol=1e-5, err_msg=key)


@every_model
def test_padding_has_no_gradient(name: str) -> None:
    """More padding with garbage in it: the same gradients, and none for the embedding of the garbage."""
    pairs = Pairs([[4, 5], [6]], [[4], [5, 6]])
    model = model_of(name)
    _, expected = parameter_gradients(model, pairs.arrays())
    _, actual = parameter_gradients(model, pairs.arrays(3, 2, garbage=8))
    for key, gradient in expected.items():
        np.testing.assert_allclose(actual[key], gradient, rtol=1e-3, atol=1e-5, err_msg=key)
    for embedding in ("source_embedding.weight", "target_embedding.weight"):
        assert (actual[embedding][8] == 0).all() and np.abs(actual[embedding][4]).max() > 1e-4


@every_model
def test_a_translation_depends_on_every_source_token_and_on_no_later_target_token(name: str) -> None:
    """Causality. Local attention does not cut off the source either: the encoder reads all of it."""
    model = model_of(name)
    pairs = Pairs([[4, 5, 6]], [[4, 5, 6]])
    source, length, inputs, targets = pairs.arrays()
    nll = model(source, length, inputs, targets).nll.asnumpy()[0]
    for position in range(3):
        changed = source.asnumpy().copy()
        changed[0, position] = 8
        assert np.abs(model(array(changed), length, inputs, targets).nll.asnumpy()[0] - nll).max() > 1e-4
        forced = inputs.asnumpy().copy()
        forced[0, position + 1] = 9
        after = np.abs(model(source, length, array(forced), targets).nll.asnumpy()[0] - nll)
        assert (after[: position + 1] == 0).all() and after[position + 1] > 1e-4


# --- dropout ---


@pytest.mark.parametrize(
    ("name", "which"),
    [
        ("rnnsearch", "dropout"),
        ("rnnsearch", "encoder_dropout"),
        ("rnnsearch", "feature_dropout"),
        ("rnnencdec", "dropout"),
        ("rnnencdec", "feature_dropout"),
        *(
            (name, which)
            for name in MODELS
            if name.startswith(("lstm", "transformer"))
            for which in ("dropout", "layer_dropout")
        ),
    ],
)
@pytest.mark.parametrize("hybridized", [False, True])
def test_dropout_is_active_in_training_only(name: str, which: str, hybridized: bool) -> None:
    arrays = PAIRS.arrays()
    expected = model_of(name)(*arrays).loss.asnumpy()
    changed: dict[str, Any] = {which: 0.5}
    model = model_of(name, **changed)
    model.hybridize(hybridized, static_alloc=True, static_shape=True)
    np.testing.assert_allclose(model(*arrays).loss.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    with autograd.train_mode():
        first, second = (model(*arrays).loss.asnumpy() for _ in range(2))
    assert np.abs(first - second).max() > 1e-3
    np.testing.assert_allclose(model(*arrays).loss.asnumpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("input_feeding", [False, True])
def test_dropout_is_between_the_layers_and_on_the_features(input_feeding: bool) -> None:
    """Never within the recurrence of a layer; what is fed back is not dropped."""
    model = deep_lstm("general", input_feeding=input_feeding, layer_dropout=0.5)
    source, length, inputs, _ = PAIRS.arrays()
    initialize(model, *PAIRS.arrays())
    memory, state = model.start(source, length)
    with autograd.train_mode():
        (_, started), (_, restarted) = (model.start(source, length) for _ in range(2))
        first, second = (model.step(inputs[:, 0], memory, state) for _ in range(2))

    def differ(first: nd.NDArray, second: nd.NDArray) -> bool:
        return bool(np.abs(first.asnumpy() - second.asnumpy()).max() > 1e-4)

    # Two hidden states, two cells, the step number, what is fed back.
    assert [differ(*pair) for pair in zip(started, restarted, strict=True)][:5] == [False, True, False, True, False]
    after = [differ(*pair) for pair in zip(first[2], second[2], strict=True)]
    assert after == [False, True, False, True, False, *([True] if input_feeding else [])]
    single = initialize(deep_lstm("general", layers=1, input_feeding=input_feeding, layer_dropout=0.5), *PAIRS.arrays())
    with autograd.train_mode():
        alignments = [single.align(source, length, inputs) for _ in range(2)]
        memory, state = single.start(source, length)
        first, second = (single.step(inputs[:, 0], memory, state) for _ in range(2))
    assert not differ(*alignments)
    assert not any(differ(*pair) for pair in zip(first[2], second[2], strict=True))
    assert differ(first[0], second[0])


# --- label smoothing, tied weights, invalid settings ---


@every_model
def test_label_smoothing_is_the_formula(name: str) -> None:
    """(1 - e) * -ln p(target) + e / V * the sum of -ln p over the vocabulary."""
    model, plain = model_of(name, smoothing=0.3), model_of(name)
    source, length, inputs, targets = PAIRS.arrays()
    loss, nll = (output.asnumpy() for output in model(source, length, inputs, targets))
    log_p, _ = step_by_step(model, source, length, inputs)
    real = targets.asnumpy() != PADDING
    np.testing.assert_allclose(nll, plain(source, length, inputs, targets).nll.asnumpy(), rtol=1e-5, atol=1e-6)
    expected = (0.7 * nll + 0.3 / TARGET_VOCABULARY * -log_p.sum(axis=2)) * real
    np.testing.assert_allclose(loss, expected, rtol=1e-4, atol=1e-5)
    assert np.abs(loss - nll)[real].min() > 1e-4 and (loss[~real] == 0).all()
    hybrid = compiled(model)(source, length, inputs, targets).loss.asnumpy()
    np.testing.assert_allclose(hybrid, loss, rtol=1e-4, atol=1e-5)


@every_model
def test_id_0_is_a_token_and_padding_is_the_id_that_was_given(name: str) -> None:
    model = model_of(name)
    source, length, inputs, targets = Pairs([[0, 4]], [[0, 0]]).arrays()
    assert targets.asnumpy().tolist() == [[0, 0, END]]
    assert (model(source, length, inputs, targets).nll.asnumpy() > 0).all()
    other = model_of(name, padding=0)
    assert other(source, length, inputs, targets).nll.asnumpy()[0, :2].tolist() == [0, 0]


def tied_model(name: str) -> EncoderDecoder:
    widths = {"maxout_units": TARGET_UNITS} if name in ("rnnsearch", "rnnencdec") else {"target_units": UNITS}
    kind = RNNSearch if name == "rnnsearch" else RNNEncDec if name == "rnnencdec" else DeepLSTM
    if kind is DeepLSTM:
        widths |= {"layers": 2, "reverse_source": True}
    elif kind is RNNSearch:
        widths |= {"attention_units": HIDDEN}
    return initialize(kind(**common(tied=True, **widths)), *PAIRS.arrays())


@pytest.mark.parametrize("name", ["rnnsearch", "rnnencdec", "lstm"])
@pytest.mark.parametrize("hybridized", [False, True])
def test_tied_weights_are_one_parameter_with_both_gradients(name: str, hybridized: bool) -> None:
    model = tied_model(name)
    assert model.output.weight is model.target_embedding.weight
    model.hybridize(hybridized, static_alloc=True, static_shape=True)
    loss, gradients = parameter_gradients(model, PAIRS.arrays())
    source, length, inputs, _ = PAIRS.arrays()
    log_p, _ = step_by_step(model, source, length, inputs)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=2), 1.0, rtol=1e-5)

    # The same network with two equal matrices: the tied gradient is the sum of theirs.
    untied = type(model)(
        **common(
            **({"maxout_units": TARGET_UNITS} if name != "lstm" else {"target_units": UNITS}),
            **({"attention_units": HIDDEN} if name == "rnnsearch" else {}),
            **({"layers": 2, "reverse_source": True} if name == "lstm" else {}),
        )
    )
    initialize(untied, *PAIRS.arrays(), seed=9)
    arrays = parameter_arrays(model)
    set_parameters(untied, {**arrays, "target_embedding.weight": arrays["output.weight"]})
    its_loss, its = parameter_gradients(untied, PAIRS.arrays())
    np.testing.assert_allclose(loss, its_loss, rtol=1e-4, atol=1e-5)
    both = its["output.weight"] + its["target_embedding.weight"]
    np.testing.assert_allclose(gradients["output.weight"], both, rtol=1e-3, atol=1e-5)


def test_tied_weights_are_updated_and_counted_once(tmp_path: Path) -> None:
    """w <- w - rate * gradient, however often the parameter is used in the model."""
    model = tied_model("rnnencdec")
    arrays = PAIRS.arrays()
    _, gradients = parameter_gradients(model, arrays)
    before = parameter_arrays(model)

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        yield Batch(tuple(one.asnumpy() for one in arrays), arrays[3].asnumpy())

    def loss(output: TranslationOutput, target: nd.NDArray) -> nd.NDArray:
        return output.loss.sum()

    objective = Objective(batches, 1, loss, lambda _: {"accuracy": 0.0})
    recipe = Recipe(epochs=1, batch_size=3, learning_rate=0.1, optimizer="sgd")
    fit(model, objective, recipe, RunDirectory(tmp_path, {}), seed=1)
    after = parameter_arrays(model)
    for key, gradient in gradients.items():
        np.testing.assert_allclose(after[key], before[key] - 0.1 * gradient, rtol=1e-4, atol=1e-5, err_msg=key)
    once = {id(one): int(np.prod(one.shape)) for _, one in named_parameters(model)}
    assert parameter_count(model) == sum(once.values())


def test_tied_weights_of_different_widths_are_refused_and_so_is_input_feeding_without_attention() -> None:
    with pytest.raises(ValueError, match=f"not {MAXOUT} features and {TARGET_UNITS} units"):
        rnnsearch(tied=True)
    with pytest.raises(ValueError, match="input feeding needs attention"):
        deep_lstm(None, input_feeding=True)


@every_model
def test_the_same_parameters_are_the_same_function(name: str) -> None:
    """A model has no state outside its parameters, and none between calls."""
    first, second = compiled(model_of(name, seed=1)), compiled(model_of(name, seed=2))
    arrays = PAIRS.arrays()
    expected = first(*arrays).loss.asnumpy()
    assert np.abs(second(*arrays).loss.asnumpy() - expected).max() > 1e-3
    copy_parameters(first, second)
    step_by_step(first, *Pairs.of([3, 3, 3], [1, 1, 1], seed=3).arrays()[:3])
    np.testing.assert_array_equal(first(*arrays).loss.asnumpy(), expected)
    np.testing.assert_array_equal(second(*arrays).loss.asnumpy(), expected)


@pytest.mark.parametrize("input_feeding", [False, True])
def test_decoding_can_continue_from_a_prefix(input_feeding: bool) -> None:
    """The state after a call on two steps equals the state after two calls: search may read a prefix at once."""
    model = deep_lstm("local-m", input_feeding=input_feeding)
    source, length, inputs, _ = PAIRS.arrays()
    initialize(model, *PAIRS.arrays())
    memory, state = model.start(source, length)
    _, weights, at_once = model.decode(nd, model.target_embedding(inputs[:, :3]), memory, state, 3, 1)
    for i in range(3):
        _, step_weights, state = model.step(inputs[:, i], memory, state)
        assert step_weights is not None
        np.testing.assert_allclose(step_weights.asnumpy(), weights.asnumpy()[:, i], rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(at_once, state, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-5, atol=1e-6)
    assert state[4].asnumpy().ravel().tolist() == [3, 3, 3]


# --- the same networks in NumPy, sentence by sentence ---

Weights = dict[str, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


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


PLAIN: dict[str, Callable[[Weights, list[int], list[int]], np.ndarray]] = {
    "rnnsearch": plain_rnnsearch,
    "rnnencdec": plain_rnnencdec,
    "lstm": partial(plain_deep_lstm, reverse_source=False, attention=False, input_feeding=False),
    "lstm reversed": partial(plain_deep_lstm, reverse_source=True, attention=False, input_feeding=False),
    "lstm, general": partial(plain_deep_lstm, reverse_source=False, attention=True, input_feeding=False),
    "lstm reversed, general, feeding": partial(
        plain_deep_lstm, reverse_source=True, attention=True, input_feeding=True
    ),
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
    w = {key: one.data().asnumpy().astype(np.float64) for key, one in named_parameters(model)}
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


def test_a_decoder_starts_from_the_final_state_of_its_encoder() -> None:
    """Hidden and cell state of every layer, in that order; reversed, the last step is the first token."""
    model = model_of("lstm reversed")
    source, length, *_ = PAIRS.arrays()
    memory, state = model.start(source, length)
    assert memory == () and len(state) == 4
    _, hidden, cells = model.encoder(model.source_embedding(source), length)
    for ours, theirs in zip(state, [*hidden, *cells], strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), theirs.asnumpy())


def test_models_with_the_same_seed_have_the_same_initial_parameters() -> None:
    results = []
    for _ in range(2):
        runtime.seed_all(5)
        model = rnnsearch()
        model.initialize()
        results.append(parameter_arrays(model))
    assert results[0].keys() == results[1].keys()
    for key, values in results[0].items():
        np.testing.assert_array_equal(results[1][key], values)
