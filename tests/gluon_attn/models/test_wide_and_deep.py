"""Wide and deep: the sum of two networks' logits, the weights of one, and one loss for both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gluon_attn.models.fasttext import NgramClassifier
from gluon_attn.models.stacked_classifier import StackedClassifier
from gluon_attn.models.wide_and_deep import WideAndDeep
from gluon_attn.training.checkpoint import parameter_count
from tests.gluon_attn.support import array, assert_same_outputs, every_parameter_learns, initialize, lengths_of, numbers

SENTENCES, BAGS = [[3, 4, 5, 6], [9, 2]], [[3, 4, 25, 21, 6], [2]]
SIZES: dict[str, Any] = {"embedding_units": 5, "cell": "gru", "units": 4, "layers": 1, "attention_units": 6}
DROPOUT = {"embedding_dropout": 0.0, "dropout": 0.0}


def padded(rows: list[list[int]], width: int, padding: int) -> Any:
    return array([row + [padding] * (width - len(row)) for row in rows], "int32")


def inputs(tokens: int = 4, entries: int = 5, padding: int = 0) -> list[Any]:
    bags = padded(BAGS, entries, padding), lengths_of(BAGS)
    return [padded(SENTENCES, tokens, padding), *bags, lengths_of(SENTENCES)]


def wide_and_deep() -> WideAndDeep:
    deep = StackedClassifier(vocabulary_size=20, classes=3, **SIZES, **DROPOUT)
    return initialize(WideAndDeep(deep, NgramClassifier(rows=30, units=2, classes=3)), *inputs())


def test_the_logits_are_the_sum_and_the_weights_those_of_the_network() -> None:
    model = wide_and_deep()
    ids, bag, bag_length, length = inputs()
    deep, wide, both = numbers(model.deep(ids, length)), numbers(model.wide(bag, bag_length)), numbers(model(*inputs()))
    np.testing.assert_allclose(both.logits, deep.logits + wide.logits, rtol=1e-5)
    np.testing.assert_array_equal(both.weights, deep.weights)
    assert np.abs(wide.logits).min() > 1e-4


def test_extra_padding_changes_nothing() -> None:
    model = wide_and_deep()
    expected, longer = (numbers(model(*given)) for given in (inputs(), inputs(7, 9, padding=11)))
    np.testing.assert_allclose(longer.logits, expected.logits, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(longer.weights[:, :4], expected.weights, rtol=1e-4, atol=1e-6)
    assert (longer.weights[:, 4:] == 0).all()


def test_eager_equals_hybridized() -> None:
    model = wide_and_deep()
    eager = numbers(model(*inputs()))
    model.hybridize(static_alloc=True, static_shape=True)
    for _ in range(2):  # the second call uses the memory that the first one planned
        assert_same_outputs(numbers(model(*inputs())), eager)


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_gradient_reaches_every_parameter_of_both(hybridized: bool) -> None:
    model = wide_and_deep()
    model.hybridize(hybridized)
    largest = every_parameter_learns(model, inputs())
    assert min(largest.values()) > 1e-6, largest
    assert parameter_count(model) == parameter_count(model.deep) + parameter_count(model.wide)


def test_word_vectors_initialise_the_network() -> None:
    model = wide_and_deep()
    assert model.token_embedding is model.deep.embedding


def test_a_text_without_tokens_is_refused() -> None:
    ids, bag, bag_length, _ = inputs()
    with pytest.raises(ValueError, match="sequence 1 has 0 tokens"):
        wide_and_deep()(ids, bag, bag_length, array([4, 0], "float32"))


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize(("length", "message"), [(0, "sequence 1 has 0 tokens"), (9, "sequence 1 has 9 tokens")])
def test_a_bag_of_a_wrong_size_is_refused(hybridized: bool, length: int, message: str) -> None:
    ids, bag, _, valid_length = inputs()
    model = wide_and_deep()
    model.hybridize(hybridized)
    with pytest.raises(ValueError, match=message):
        model(ids, bag, array([3, length], "float32"), valid_length)
