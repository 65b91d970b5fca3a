"""Properties of every encoder-decoder: training and search compute the same, padding has no effect, every parameter
learns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mxnet import autograd, nd
from mxnet.initializer import Xavier

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import parameter_arrays
from tests.gluon_attn.models.encoder_decoders import (
    END,
    MAXOUT,
    MODELS,
    PADDING,
    PAIRS,
    SOURCE_UNITS,
    SOURCE_VOCABULARY,
    TARGET_UNITS,
    TARGET_VOCABULARY,
    WITHOUT_ATTENTION,
    Pairs,
    compiled,
    deep_lstm,
    every_attention,
    every_model,
    model_of,
    parameter_gradients,
    rnnsearch,
    step_by_step,
)
from tests.gluon_attn.support import array, copy_parameters, initialize

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


def test_embeddings_with_unit_variance_have_it_where_they_enter_the_layers() -> None:
    """Source embeddings are initialised so, target embeddings are multiplied, in training and in search."""
    wide = {"target_vocabulary": 500, "source_vocabulary": 500}
    plain, unit = deep_lstm(None, **wide), deep_lstm(None, unit_variance=True, **wide)
    source, length, inputs, targets = PAIRS.arrays()
    for model in (plain, unit):
        model.initialize(Xavier())
    deviations = [
        [embedding.weight.data().asnumpy().std() for embedding in (model.source_embedding, model.target_embedding)]
        for model in (plain, unit)
    ]
    np.testing.assert_allclose(deviations[0], [SOURCE_UNITS**-0.5, TARGET_UNITS**-0.5], rtol=0.1)
    np.testing.assert_allclose(deviations[1], [1.0, TARGET_UNITS**-0.5], rtol=0.1)
    for model in (plain, unit):
        initialize(model, source, length, inputs, targets)
    plain.target_embedding.weight.set_data(plain.target_embedding.weight.data() * TARGET_UNITS**0.5)
    for one, other in zip(plain(source, length, inputs, targets), unit(source, length, inputs, targets), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5)
    searched = [step_by_step(model, source, length, inputs)[0] for model in (plain, unit)]
    np.testing.assert_allclose(*searched, rtol=1e-5)


def test_unit_variance_is_refused_for_one_matrix_of_embeddings() -> None:
    same = {"source_vocabulary": TARGET_VOCABULARY, "source_units": TARGET_UNITS}
    with pytest.raises(UsageError, match="unit_variance needs source embeddings of their own; give shared=False"):
        deep_lstm(None, unit_variance=True, shared=True, **same)


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
        if embedding in actual:  # as an output, the garbage has a gradient
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


# --- label smoothing, invalid settings ---


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


def test_tied_weights_of_different_widths_are_refused_and_so_is_input_feeding_without_attention() -> None:
    with pytest.raises(UsageError, match=f"not {MAXOUT} features and {TARGET_UNITS} units"):
        rnnsearch(tied=True)
    with pytest.raises(UsageError, match=f"shared embeddings need equal widths, not {SOURCE_UNITS} and {TARGET_UNITS}"):
        rnnsearch(shared=True, source_vocabulary=TARGET_VOCABULARY)
    with pytest.raises(UsageError, match="input feeding needs attention"):
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


@every_model
def test_a_source_has_at_least_one_token_and_no_more_than_its_ids(name: str) -> None:
    model = model_of(name)
    source, inputs = (nd.array([[4, 5, 6]] * 2, dtype="int32") for _ in range(2))
    for wrong in (0, 4):
        lengths = nd.array([3, wrong])
        for call in (lambda: model.start(source, lengths), lambda: model(source, lengths, inputs, inputs)):  # noqa: B023
            with pytest.raises(ValueError, match=f"sequence 1 has {wrong} tokens, not 1 to 3; count them"):
                call()


@pytest.mark.parametrize("name", WITHOUT_ATTENTION)
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_network_without_attention_has_no_alignments(name: str, hybridized: bool) -> None:
    model = model_of(name)
    model.hybridize(hybridized)
    ids = nd.array([[4, 5, 6]], dtype="int32")
    with pytest.raises(UsageError, match="no attention"):
        model.align(ids, nd.array([3]), ids)
