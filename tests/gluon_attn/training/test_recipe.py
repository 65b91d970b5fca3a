"""Schedules against plain arithmetic, and a recipe that survives JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from itertools import pairwise

import pytest

from gluon_attn.errors import UsageError
from gluon_attn.training.recipe import Recipe


def test_a_plain_recipe_has_a_constant_rate() -> None:
    recipe = Recipe(epochs=3, batch_size=8, learning_rate=0.25)
    assert {recipe.rate(step, 30) for step in range(30)} == {0.25}
    assert recipe.optimizer == "adam" and recipe.clip_norm is None


@pytest.mark.parametrize("change", [{"epochs": 0}, {"batch_size": 0}, {"patience": 0}, {"learning_rate": -1.0}])
def test_what_no_training_can_have_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(change))}.* (0|-1.0)"):
        Recipe(**({"epochs": 1, "batch_size": 8, "learning_rate": 1.0} | change))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["clip_norm", "epsilon"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_norm_and_an_epsilon_are_positive_and_finite(name: str, value: float) -> None:
    """Gradients divided by an infinite norm are NaN."""
    with pytest.raises(UsageError, match=f"{name} must be positive and finite, not {value}"):
        Recipe(epochs=1, batch_size=8, learning_rate=1.0, **{name: value})  # type: ignore[arg-type]


def test_warmup_is_linear_and_ends_at_the_rate() -> None:
    recipe = Recipe(epochs=3, batch_size=8, learning_rate=1.0, warmup_steps=4)
    assert [recipe.rate(step, 30) for step in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_cosine_decays_from_the_rate_to_zero() -> None:
    recipe = Recipe(epochs=1, batch_size=8, learning_rate=2.0, decay="cosine")
    rates = [recipe.rate(step, 100) for step in range(100)]
    assert rates[0] == 2.0
    assert rates[50] == pytest.approx(1.0)
    assert all(later < earlier for earlier, later in pairwise(rates))
    assert 0 <= rates[-1] < 0.002


def test_warmup_and_cosine_multiply() -> None:
    both = Recipe(epochs=1, batch_size=8, learning_rate=2.0, warmup_steps=10, decay="cosine")
    decayed = Recipe(epochs=1, batch_size=8, learning_rate=2.0, decay="cosine")
    assert both.rate(4, 100) == pytest.approx(decayed.rate(4, 100) * 0.5)
    assert both.rate(60, 100) == decayed.rate(60, 100)


def test_the_inverse_square_root_is_the_papers_schedule() -> None:
    """d^-0.5 min(step^-0.5, step * warmup^-1.5) (Vaswani et al., 2017, eq. 3), with the rate that it reaches."""
    units, warmup = 512, 40
    recipe = Recipe(
        epochs=1, batch_size=8, learning_rate=(units * warmup) ** -0.5, warmup_steps=warmup, decay="inverse-sqrt"
    )
    for step in (1, 2, 39, 40, 41, 160, 1000):
        expected = units**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert recipe.rate(step - 1, 10_000) == pytest.approx(expected)


def test_the_inverse_square_root_needs_a_warm_up() -> None:
    with pytest.raises(UsageError, match="'inverse-sqrt' begins where the warm-up ends"):
        Recipe(epochs=1, batch_size=8, learning_rate=1.0, decay="inverse-sqrt")


def test_on_a_small_corpus_the_warm_up_is_a_tenth_at_most() -> None:
    recipe = Recipe(epochs=3, batch_size=8, learning_rate=1.0, warmup_steps=40, decay="cosine")
    assert [recipe.for_small_corpus(steps).warmup_steps for steps in (1, 30, 100, 1000)] == [1, 9, 30, 40]
    assert dataclasses.replace(recipe, warmup_steps=0).for_small_corpus(100).warmup_steps == 0
    of_paper = dataclasses.replace(recipe, decay="inverse-sqrt")
    assert of_paper.for_small_corpus(1) == of_paper


def test_an_average_is_of_one_epoch_or_more() -> None:
    with pytest.raises(UsageError, match="parameters of 0 epochs have no mean"):
        Recipe(epochs=1, batch_size=8, learning_rate=1.0, average=0)


def test_configurations_name_later_fields_only_where_they_are_set() -> None:
    """So that the recipes of published runs are still theirs."""
    plain = Recipe(epochs=3, batch_size=8, learning_rate=0.25)
    assert plain.as_json().keys() == {
        *("epochs", "batch_size", "learning_rate", "optimizer"),
        *("warmup_steps", "decay", "patience", "clip_norm"),
    }
    later = dataclasses.replace(plain, average=5, batch_tokens=1024, beta2=0.98, epsilon=1e-9)
    assert Recipe(**json.loads(json.dumps(later.as_json()))) == later
    assert later.optimizer_arguments == {"beta2": 0.98, "epsilon": 1e-9} and plain.optimizer_arguments == {}
    assert dataclasses.replace(plain, weight_decay=1e-4).optimizer_arguments == {"wd": 1e-4}


def test_an_unknown_decay_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'cosin' is unknown; choose one of constant, cosine, inverse-sqrt"):
        Recipe(epochs=1, batch_size=8, learning_rate=1.0, decay="cosin")


def test_a_recipe_is_serialisable_and_immutable() -> None:
    recipe = Recipe(epochs=3, batch_size=8, learning_rate=1e-3, decay="cosine", patience=2, clip_norm=1.5)
    assert Recipe(**json.loads(json.dumps(dataclasses.asdict(recipe)))) == recipe
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipe.epochs = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "value", "must"),
    [
        *((name, 0, "must be 1 or more, not 0") for name in ("epochs", "patience", "batch_tokens")),
        *(("learning_rate", value, "must be finite, and 0 or more") for value in (-1.0, math.inf, math.nan)),
        ("warmup_steps", -5, "must be finite, and 0 or more, not -5"),
        ("weight_decay", -1.0, "must be finite, and 0 or more, not -1.0"),
        ("beta2", 1.0, "must be 0 or more and below 1, not 1.0"),
    ],
)
def test_a_value_with_which_nothing_can_be_trained_is_refused(name: str, value: float, must: str) -> None:
    with pytest.raises(UsageError, match=f"{name} {must}"):
        Recipe(**{"epochs": 3, "batch_size": 8, "learning_rate": 1.0, name: value})
