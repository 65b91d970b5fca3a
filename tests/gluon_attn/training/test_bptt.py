"""Truncated backpropagation: every token is a target once, rows continue from piece to piece, the state is carried."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import mxnet as mx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from mxnet import autograd, nd

from gluon_attn import runtime
from gluon_attn.models.language_model import NO_TARGET, LanguageModel
from gluon_attn.models.lstmn import LSTMN, FusedLSTM
from gluon_attn.models.outputs import LanguageModelOutput
from gluon_attn.training.bptt import attention_weights, language_objective, losses, pieces, stream_perplexity
from gluon_attn.training.checkpoint import named_parameters, parameter_arrays, parameters_sha256
from gluon_attn.training.loop import fit
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.run_directory import RunDirectory
from tests.gluon_attn.support import array

WORDS, FIRST, ROWS, STEPS, WINDOW = 9, 2, 2, 3, 2
STREAM = np.random.RandomState(0).randint(0, WORDS, 40).astype(np.int32)


def language_model(seed: int = 0, dropout: float = 0.0, reader: str = "lstmn") -> LanguageModel:
    runtime.seed_all(seed)
    encoder = LSTMN(4, 5, WINDOW) if reader == "lstmn" else FusedLSTM(4, 5)
    model = LanguageModel(vocabulary_size=WORDS, embedding_units=5, encoder=encoder, dropout=dropout)
    model.initialize(mx.init.Xavier())
    model.hybridize()
    return model


def test_pieces_by_hand() -> None:
    cut = pieces(np.arange(10, 20), rows=3, steps=2, first=9)
    assert [piece.inputs.tolist() for piece in cut] == [[[9, 10], [13, 14], [17, 18]], [[11, 12], [15, 16], [0, 0]]]
    n = NO_TARGET
    assert [piece.targets.tolist() for piece in cut] == [[[10, 11], [14, 15], [18, 19]], [[12, 13], [16, 17], [n, n]]]
    assert [piece.tokens for piece in cut] == [6, 4]


@given(tokens=st.integers(1, 60), rows=st.integers(1, 5), steps=st.integers(1, 7))
def test_every_token_is_a_target_once_and_follows_its_predecessor(tokens: int, rows: int, steps: int) -> None:
    ids = np.arange(tokens)
    cut = pieces(ids, rows, steps, first=99)
    assert {piece.inputs.shape for piece in cut} == {piece.targets.shape for piece in cut} == {(rows, steps)}
    inputs, targets = (np.concatenate([getattr(one, name) for one in cut], axis=1) for name in ("inputs", "targets"))
    real = targets.ravel() != NO_TARGET
    np.testing.assert_array_equal(targets.ravel()[real], ids)
    np.testing.assert_array_equal(inputs.ravel()[real], [99, *range(tokens - 1)])
    assert real[:tokens].all() and not real[tokens:].any() and (inputs.ravel()[tokens:] == 0).all()
    assert [piece.tokens for piece in cut] == [(piece.targets != NO_TARGET).sum() for piece in cut]
    assert all(piece.tokens > 0 and piece.inputs.dtype == piece.targets.dtype == np.int32 for piece in cut)


@pytest.mark.parametrize(("tokens", "rows", "steps"), [(0, 2, 3), (4, 0, 3), (4, 2, 0)])
def test_text_that_cannot_be_cut_is_refused(tokens: int, rows: int, steps: int) -> None:
    with pytest.raises(ValueError, match="each must be 1 or more"):
        pieces(np.arange(tokens), rows, steps, first=0)


@pytest.mark.parametrize("reader", ["lstmn", "lstm"])
@pytest.mark.parametrize(("rows", "steps"), [(1, 40), (1, 7), (2, 3), (3, 20)])
def test_losses_equal_those_of_one_long_call_per_row_in_text_order(reader: str, rows: int, steps: int) -> None:
    model = language_model(reader=reader)
    (whole,) = pieces(STREAM, rows, math.ceil(40 / rows / steps) * steps, FIRST)
    nll = model(array(whole.inputs), array(whole.targets), *model.start(rows)).nll.asnumpy()
    stream = pieces(STREAM, rows, steps, FIRST)
    np.testing.assert_allclose(losses(model, stream), nll.ravel()[:40], rtol=1e-4, atol=1e-6)
    assert stream_perplexity(model, stream) == pytest.approx(math.exp(nll.sum() / 40), rel=1e-4)


def test_weights_equal_those_of_one_long_call_in_text_order() -> None:
    model = language_model()
    before = np.append(FIRST, STREAM[:-1])
    expected, *_ = model.attend(array(before[None]), *model.start(1))
    weights = attention_weights(model, pieces(STREAM, 1, 7, FIRST))
    assert weights.shape == (40, WINDOW)
    np.testing.assert_allclose(weights, expected.asnumpy()[0], rtol=1e-4, atol=1e-6)
    assert (weights[0] == 0).all()  # The first word has nothing to attend to.
    np.testing.assert_allclose(weights[1:].sum(axis=1), 1.0, rtol=1e-5)
    by_row = attention_weights(model, pieces(STREAM, 2, 7, FIRST))
    np.testing.assert_allclose(by_row[:21], weights[:21], rtol=1e-4, atol=1e-6)
    assert (by_row[21] == 0).all()  # Start of the second row.


def test_training_carries_the_state_and_resets_it_at_every_epoch(tmp_path: Path) -> None:
    """Plain gradient steps by hand, with the state carried from piece to piece."""
    cut = pieces(STREAM, ROWS, STEPS, FIRST)
    model, twin = language_model(), language_model()
    recipe = Recipe(epochs=2, batch_size=ROWS, learning_rate=0.5, optimizer="sgd")
    objective = language_objective(model.start(ROWS), cut, cut)
    trained = fit(model, objective, recipe, RunDirectory(tmp_path, {}), seed=1)
    for _ in range(trained.best_epoch):
        state = twin.start(ROWS)
        for piece in cut:
            with autograd.record():
                output = twin(array(piece.inputs), array(piece.targets), *state)
                mean = output.loss.sum() / piece.tokens
            state = output.state
            mean.backward()
            for _, parameter in named_parameters(twin):
                parameter.set_data(parameter.data() - 0.5 * parameter.grad().tostype("default"))
    for name, values in parameter_arrays(twin).items():
        np.testing.assert_allclose(parameter_arrays(model)[name], values, rtol=1e-4, atol=1e-5, err_msg=name)
    first, second = trained.history
    assert first["validation_perplexity"] > second["validation_perplexity"] > 1
    assert second["validation_loss"] == pytest.approx(math.log(second["validation_perplexity"]))
    assert trained.best_epoch == 2


def test_rows_restart_at_the_requested_rate() -> None:
    """Restarted rows have the initial state, the others the final state of the previous piece."""
    stream = pieces(np.zeros(60_000, np.int32), rows=20, steps=3, first=0)
    start = [nd.zeros((20, 4)), nd.zeros((20, 2, 3))]
    objective = language_objective(start, stream, stream, restart=0.1)
    restarted = []
    for number, batch in enumerate(objective.batches(np.random.RandomState(1))):
        _, _, *state = batch.inputs
        if number:
            zeros = [(array == 0).reshape(20, -1).all(axis=1) for array in state]
            np.testing.assert_array_equal(*zeros)
            assert all((array[~rows] == number).all() for array, rows in zip(state, zeros, strict=True))
            restarted.append(zeros[0])
        after = tuple(nd.ones(array.shape) * (number + 1) for array in state)
        objective.loss(LanguageModelOutput(nd.zeros(1), nd.zeros(1), after), nd.ones(1))
    assert np.mean(restarted) == pytest.approx(0.1, abs=0.01)
    assert np.mean(restarted, axis=0).min() > 0.05


def test_a_resumed_run_ends_with_the_same_bytes(tmp_path: Path) -> None:
    cut = pieces(STREAM, ROWS, STEPS, FIRST)
    recipe = Recipe(epochs=3, batch_size=ROWS, learning_rate=0.01, clip_norm=1.0)
    digests = []
    for name, stops in (("whole", (3,)), ("in parts", (1, 3))):
        for epochs in stops:
            model = language_model(dropout=0.3)
            run = RunDirectory(tmp_path / name, {}, resume=True)
            fit(model, language_objective(model.start(ROWS), cut, cut), replace(recipe, epochs=epochs), run, seed=1)
        digests.append(parameters_sha256(parameter_arrays(model)))
    assert digests[0] == digests[1]
    assert digests[0] != parameters_sha256(parameter_arrays(language_model()))


def test_perplexity_is_computed_without_dropout() -> None:
    model = language_model(dropout=0.5)
    cut = pieces(STREAM, ROWS, STEPS, FIRST)
    assert stream_perplexity(model, cut) == stream_perplexity(model, cut)
    with autograd.train_mode():
        arrays = (*map(array, (cut[0].inputs, cut[0].targets)), *model.start(ROWS))
        first, second = (model(*arrays).loss for _ in range(2))
    assert float(nd.abs(first - second).max().asscalar()) > 1e-3
