"""The words before each word: their order, batches of an epoch, losses of a text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mxnet import nd

from gluon_attn.models.neural_language_model import NeuralLanguageModel
from gluon_attn.training.contexts import context_losses, context_objective, contexts
from tests.gluon_attn.support import initialize

FIRST, WORDS = 9, 10
TEXT = np.array([1, 2, 3, 4, 5, 6, 7], np.int32)


def network(order: int) -> NeuralLanguageModel:
    model = NeuralLanguageModel(vocabulary_size=WORDS, order=order, feature_units=3, hidden_units=4)
    initialize(model, nd.zeros((1, order - 1), dtype="int32"), nd.zeros(1, dtype="int32"))
    return model


def test_the_word_directly_before_comes_first() -> None:
    assert contexts(TEXT[:4], 4, FIRST).tolist() == [[9, 9, 9], [1, 9, 9], [2, 1, 9], [3, 2, 1]]
    assert contexts(TEXT[:3], 2, FIRST).tolist() == [[9], [1], [2]]


def test_a_word_is_predicted_from_the_words_before_it_alone() -> None:
    """Other words after it, or more than n - 1 before it, change nothing; any of the n - 1 before does."""
    model = network(3)
    losses = context_losses(model, TEXT, FIRST)
    for changed in range(len(TEXT)):
        other = TEXT.copy()
        other[changed] = 8
        differs = context_losses(model, other, FIRST) != losses
        assert np.flatnonzero(differs).tolist() == [at for at in range(changed, changed + 3) if at < len(TEXT)]


def test_losses_of_a_long_text_are_those_of_its_words() -> None:
    """Longer than what is computed at once."""
    model, text = network(3), np.random.RandomState(0).randint(0, WORDS, 2_500)
    losses = context_losses(model, text, FIRST)
    some = slice(1_020, 1_030)
    before = nd.array(contexts(text, 3, FIRST)[some], dtype="int32")
    np.testing.assert_allclose(losses[some], model(before, nd.array(text[some], dtype="int32")).asnumpy(), rtol=1e-5)
    assert losses.shape == (2_500,)


def test_an_epoch_has_every_word_with_its_context_once() -> None:
    objective = context_objective(TEXT, TEXT, order=3, batch_size=3, first=FIRST)
    epochs = [list(objective.batches(np.random.RandomState(seed))) for seed in (1, 1, 2)]
    assert objective.steps == len(epochs[0]) == 3
    wanted = {int(word): before.tolist() for word, before in zip(TEXT, contexts(TEXT, 3, FIRST), strict=True)}
    drawn = []
    for batch in epochs[0]:
        before, targets = batch.inputs
        assert before.shape == (3, 2) and targets.dtype == np.int32
        assert [wanted[int(word)] for word in targets] == before.tolist()
        drawn += targets.tolist()
    assert sorted(drawn[: len(TEXT)]) == TEXT.tolist() and drawn[len(TEXT) :] == drawn[:2]
    orders = [np.concatenate([batch.inputs[1] for batch in epoch]).tolist() for epoch in epochs]
    assert orders[0] == orders[1] != orders[2], "another order in each epoch"


def test_validation_is_the_perplexity_of_the_other_text() -> None:
    model, other = network(3), TEXT[::-1].copy()
    measured = context_objective(TEXT, other, order=3, batch_size=3, first=FIRST).evaluate(model)
    loss = context_losses(model, other, FIRST).mean()
    assert measured["loss"] == pytest.approx(loss) and measured["perplexity"] == pytest.approx(math.exp(loss))
