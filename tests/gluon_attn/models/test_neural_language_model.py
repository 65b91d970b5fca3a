"""The neural probabilistic language model: equation 1, the number of its parameters, dropout, weight decay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mxnet import autograd, nd

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.models.neural_language_model import NeuralLanguageModel
from gluon_attn.training.checkpoint import named_parameters, parameter_count
from gluon_attn.training.recipe import Recipe
from gluon_attn.training.updates import Updates
from tests.gluon_attn.support import array, every_parameter_learns, initialize, training_pass

WORDS, ORDER, FEATURES, HIDDEN = 11, 4, 3, 5
CONTEXTS = array([[4, 5, 6], [0, 2, 2], [10, 9, 8], [1, 1, 1]], "int32")
TARGETS = array([7, 3, 0, 10], "int32")
KINDS: dict[str, dict[str, bool]] = {"plain": {}, "direct": {"direct": True}, "tied": {"tied": True}}
KINDS["tied and direct"] = {"tied": True, "direct": True}
every_kind = pytest.mark.parametrize("kind", KINDS)


def network(kind: str, **changed: Any) -> NeuralLanguageModel:
    model = NeuralLanguageModel(
        vocabulary_size=WORDS, order=ORDER, feature_units=FEATURES, hidden_units=HIDDEN, **KINDS[kind], **changed
    )
    initialize(model, CONTEXTS, TARGETS)
    return model


@every_kind
def test_the_loss_is_equation_1(kind: str) -> None:
    model = network(kind)
    weights = {name: parameter.data().asnumpy() for name, parameter in named_parameters(model)}
    features = weights["features.weight"]
    for row, target in enumerate(TARGETS.asnumpy()):
        read = np.concatenate([features[word] for word in CONTEXTS.asnumpy()[row]])
        hidden = np.tanh(weights["hidden.bias"] + weights["hidden.weight"] @ read)
        if "tied" in kind:
            of_hidden, of_features = np.split(features @ weights["projection.weight"], [HIDDEN], axis=1)
        else:
            of_hidden, of_features = np.split(weights["output.weight"], [HIDDEN], axis=1)
        scores = weights["output.bias"] + of_hidden @ hidden + (of_features @ read if "direct" in kind else 0)
        log_p = scores - np.log(np.exp(scores).sum())
        assert model(CONTEXTS, TARGETS)[row].asscalar() == pytest.approx(-log_p[target], rel=1e-5)


@every_kind
def test_probabilities_of_all_words_sum_to_one(kind: str) -> None:
    model = network(kind)
    contexts = nd.tile(CONTEXTS[0].expand_dims(0), (WORDS, 1))
    assert nd.exp(-model(contexts, nd.arange(WORDS, dtype="int32"))).sum().asscalar() == pytest.approx(1.0, rel=1e-5)


@every_kind
def test_compiled_equals_eager(kind: str) -> None:
    model = network(kind)
    eager = model(CONTEXTS, TARGETS).asnumpy()
    model.hybridize(static_alloc=True, static_shape=True)
    np.testing.assert_allclose(model(CONTEXTS, TARGETS).asnumpy(), eager, rtol=1e-5)


def test_the_number_of_parameters_is_the_papers() -> None:
    """Section 2: |V| (1 + nm + h) + h (1 + (n - 1) m), of which W has |V| (n - 1) m."""
    v, n, m, h = WORDS, ORDER, FEATURES, HIDDEN
    whole = v * (1 + n * m + h) + h * (1 + (n - 1) * m)
    assert parameter_count(network("direct")) == whole
    assert parameter_count(network("plain")) == whole - v * (n - 1) * m
    # The projection takes the place of the output's weights.
    assert parameter_count(network("tied")) == whole - v * (n - 1) * m - v * h + h * m
    assert parameter_count(network("tied and direct")) == parameter_count(network("tied")) + m * (n - 1) * m


@every_kind
def test_a_gradient_reaches_every_parameter(kind: str) -> None:
    model = network(kind)
    assert min(every_parameter_learns(model, (CONTEXTS, TARGETS)).values()) > 0


@pytest.mark.parametrize("where", ["feature_dropout", "dropout"])
def test_dropout_is_active_in_training_only(where: str) -> None:
    model = network("plain", **{where: 0.5})
    runtime.seed_all(1)
    passes = [training_pass(model, CONTEXTS, TARGETS) for _ in range(2)]
    assert not np.array_equal(*passes)
    np.testing.assert_array_equal(model(CONTEXTS, TARGETS).asnumpy(), model(CONTEXTS, TARGETS).asnumpy())


def test_weights_decay_and_biases_do_not() -> None:
    """With no gradient, a step of gradient descent with rate 1/2 and decay 0.1 leaves 0.95 of each weight."""
    model = network("direct")
    before = {name: parameter.data().asnumpy() for name, parameter in named_parameters(model)}
    recipe = Recipe(epochs=1, batch_size=1, learning_rate=0.5, optimizer="sgd", weight_decay=0.1)
    updates = Updates(
        [parameter for _, parameter in named_parameters(model)], recipe.optimizer, arguments=recipe.optimizer_arguments
    )
    training_loss_without_gradient(model)
    updates.step(recipe.learning_rate)
    for name, parameter in named_parameters(model):
        kept = 1.0 if name.endswith("bias") else 0.95
        np.testing.assert_allclose(parameter.data().asnumpy(), kept * before[name], rtol=1e-5, err_msg=name)


def training_loss_without_gradient(model: NeuralLanguageModel) -> None:
    every = nd.arange(WORDS - WORDS % (ORDER - 1), dtype="int32").reshape((-1, ORDER - 1))
    rest = nd.array([[8, 9, 10]], dtype="int32")
    contexts = nd.concat(every, rest, dim=0)  # lazy updates decay only the features that are read
    with autograd.record():
        loss = (0 * model(contexts, nd.zeros(len(contexts), dtype="int32"))).sum()
    loss.backward()


def test_a_network_without_context_is_refused() -> None:
    sizes = {"vocabulary_size": WORDS, "feature_units": FEATURES, "hidden_units": HIDDEN}
    with pytest.raises(UsageError, match="order must be 2 or more, not 1"):
        NeuralLanguageModel(order=1, **sizes)
