"""Other ways to train together: workers that do not wait for each other, and gradients of two bits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet.gluon import Parameter, nn

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import parameter_arrays
from gluon_attn.training.distributed.asynchronous import Schedule
from gluon_attn.training.distributed.joining import join
from gluon_attn.training.recipe import Recipe
from tests.gluon_attn.training.distributed.test_workers import (
    RECIPE,
    WORDS,
    difference,
    network,
    network_arrays,
    trained,
)
from tests.gluon_attn.training.distributed.together import together


def dense_network() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Embedding(WORDS, 4), nn.Dense(5, activation="tanh", in_units=12), nn.Dense(1, in_units=5))
    mx.random.seed(3)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def learns(history: list[dict[str, float]]) -> bool:
    return history[-1]["train_loss"] < 0.8 * history[0]["train_loss"]


# --- asynchronous ---


def test_workers_that_do_not_wait_learn_and_end_with_the_same_parameters(tmp_path: Path) -> None:
    (first, history), (second, _) = together(2, lambda: trained(tmp_path / "run", asynchronous=True))
    assert difference(first, second) == 0.0
    assert difference(network_arrays(), first) > 0.05
    assert learns(history)


@pytest.mark.slow
def test_an_asynchronous_training_resumes_with_another_number_of_workers(tmp_path: Path) -> None:
    """At a tenth of the rate: at the whole one, updates from old parameters of three workers make the loss jump."""

    def part(workers: int, epochs: int) -> Any:
        recipe = replace(RECIPE, decay="constant", epochs=epochs, learning_rate=0.1 * RECIPE.learning_rate)
        return together(workers, lambda: trained(tmp_path / "run", recipe, asynchronous=True))[0]

    part(2, 4)
    _, history = part(3, 10)
    assert len(history) == 10
    assert history[4]["train_loss"] < 0.8 * history[0]["train_loss"]


def test_a_server_has_the_rates_of_the_recipe() -> None:
    """It counts the updates of all workers from 1, and they make one each in a step."""
    recipe = Recipe(epochs=2, batch_size=1, learning_rate=0.5, warmup_steps=3, decay="cosine")
    schedule = Schedule(recipe, 3, 10)
    assert [schedule(update) for update in range(1, 31)] == [recipe.rate(i // 3, 10) for i in range(30)]


def test_weight_decay_with_exceptions_is_refused(tmp_path: Path) -> None:
    def refusal() -> str:
        try:
            trained(tmp_path, replace(RECIPE, weight_decay=0.01), asynchronous=True)
        except UsageError as error:
            return str(error)
        return ""

    assert together(1, refusal) == ["servers cannot exempt parameters from weight decay; leave out --asynchronous"]


# --- two bits ---


def test_gradients_of_two_bits_train_and_are_a_sixteenth_of_the_bytes(tmp_path: Path) -> None:
    def work(**how: Any) -> Any:
        workers: list[Any] = []
        parameters, history = trained(tmp_path / str(how), network=dense_network, joined=workers.append, **how)
        return parameters, history, workers[0].bytes_sent

    (first, history, sent), (second, _, _) = together(2, lambda: work(compression=0.01))
    whole = together(2, work)[0][2]
    assert difference(first, second) == 0.0
    assert learns(history)
    assert whole / 16.5 < sent < whole / 15.5


def test_what_two_bits_do_not_say_is_sent_later() -> None:
    def work() -> list[float]:
        workers, parameter, total = join(compression=0.5), Parameter("p", shape=(3,)), np.zeros(3)
        parameter.initialize()
        for _ in range(20):
            parameter.grad()[:] = mx.nd.array([0.2, -0.03, 0.5])
            workers.sum([parameter], mx.nd.zeros(1))
            total += parameter.grad().asnumpy()
        return list(total)

    for total in together(2, work):
        assert total == pytest.approx([2 * 20 * 0.2, -2 * 20 * 0.03, 2 * 20 * 0.5], abs=2 * 0.5)


@pytest.mark.parametrize("network", [network, dense_network], ids=["sparse", "dense"])
def test_elements_below_the_threshold_wait_until_their_sum_is_above(tmp_path: Path, network: Any) -> None:
    before = parameter_arrays(network())
    recipe = replace(RECIPE, epochs=1)
    first, _ = together(2, lambda: trained(tmp_path / "high", recipe, network=network, compression=1e9))[0]
    assert difference(before, first) == 0.0
    after, _ = together(2, lambda: trained(tmp_path / "low", recipe, network=network, compression=1e-3))[0]
    moved = [name for name in before if not np.array_equal(before[name], after[name])]
    assert moved == list(before)


def test_the_record_of_a_training_says_how_its_workers_shared_gradients() -> None:
    assert join().record == {}
    assert together(1, lambda: join().record) == [{"workers": 1}]
    assert together(2, lambda: join(compression=0.5).record) == [{"workers": 2, "compression": 0.5}] * 2
    assert together(2, lambda: join(asynchronous=True).record) == [{"workers": 2, "asynchronous": True}] * 2
