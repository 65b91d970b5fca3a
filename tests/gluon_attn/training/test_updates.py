"""Updates by Trainer: bit-equal to MXNet's plain updater, clipping, resumption from named arrays, several devices."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import named_parameters
from gluon_attn.training.updates import Updates

ROWS, STEPS = 6, 5


def network(context: Any = None) -> nn.HybridSequential:
    """Embeddings with a row-sparse gradient, then dense layers, one of which is not trained."""
    net = nn.HybridSequential()
    net.add(nn.Embedding(12, 4, sparse_grad=True), nn.Dense(5, activation="tanh", in_units=12), nn.Dense(1, in_units=5))
    net.initialize(mx.init.Xavier(), ctx=context or mx.cpu())
    generator = np.random.RandomState(3)
    for _, parameter in named_parameters(net):
        parameter.set_data(nd.array(generator.normal(0, 0.5, parameter.shape)))
    net[1].bias.grad_req = "null"
    return net


def trained(net: nn.HybridSequential) -> list[gluon.Parameter]:
    return [parameter for _, parameter in named_parameters(net) if parameter.grad_req != "null"]


def batch(step: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.RandomState(step)
    return generator.randint(0, 8, (ROWS, 3)), generator.normal(size=(ROWS, 1))


def backward(net: nn.HybridSequential, step: int) -> None:
    ids, target = batch(step)
    with autograd.record():
        loss = ((net(nd.array(ids)) - nd.array(target)) ** 2).mean()
    loss.backward()


def rate(step: int) -> float:
    return 0.03 / (step + 1)


def by_updater(name: str, clip_norm: float | None) -> dict[str, np.ndarray]:
    """The parameters after all steps by ``mx.optimizer.get_updater``, one parameter at a time."""
    net = network()
    updater = mx.optimizer.get_updater(mx.optimizer.create(name))
    for step in range(STEPS):
        backward(net, step)
        updater.optimizer.set_learning_rate(rate(step))
        if clip_norm is not None:
            gradients = [parameter.grad() for parameter in trained(net)]
            dense = [one.data if one.stype == "row_sparse" else one for one in gradients]
            norm = float(np.sqrt(nd.multi_sum_sq(*dense, num_arrays=len(dense)).asnumpy().sum(dtype=np.float64)))
            updater.optimizer.rescale_grad = min(1.0, clip_norm / max(norm, 1e-12))
        for index, parameter in enumerate(trained(net)):
            updater(index, parameter.grad(), parameter.data())
    return values(net)


def values(net: nn.HybridSequential) -> dict[str, np.ndarray]:
    return {name: parameter.data().asnumpy() for name, parameter in named_parameters(net)}


def assert_same_bits(left: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]) -> None:
    assert left.keys() == right.keys()
    for name in left:
        assert left[name].tobytes() == right[name].tobytes(), name


OPTIMIZERS = ["adam", "sgd", "nag", "adagrad", "rmsprop", "ftrl"]


@pytest.mark.parametrize("clip_norm", [None, 0.2, 1.3, 1e3])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_bits_are_those_of_the_plain_updater(name: str, clip_norm: float | None) -> None:
    net = network()
    updates = Updates(trained(net), name, clip_norm=clip_norm)
    for step in range(STEPS):
        backward(net, step)
        updates.step(rate(step))
    assert_same_bits(values(net), by_updater(name, clip_norm))


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("stopped", [1, STEPS - 1])
def test_restored_updates_continue_with_the_same_bits(name: str, stopped: int) -> None:
    net = network()
    updates = Updates(trained(net), name, clip_norm=0.5)
    for step in range(stopped):
        backward(net, step)
        updates.step(rate(step))
    arrays, parameters = updates.state(), values(net)

    resumed = network()
    for parameter_name, parameter in named_parameters(resumed):
        parameter.set_data(nd.array(parameters[parameter_name]))
    updates = Updates(trained(resumed), name, clip_norm=0.5)
    updates.restore(arrays)
    assert_same_bits(updates.state(), arrays)
    for step in range(stopped, STEPS):
        backward(resumed, step)
        updates.step(rate(step))
    assert_same_bits(values(resumed), by_updater(name, 0.5))


def test_a_state_is_a_set_of_named_arrays() -> None:
    net = network()
    updates = Updates(trained(net), "adam")
    backward(net, 0)
    updates.step(0.1)
    state = updates.state()
    slots = {f"{index}.{slot}" for index in range(len(trained(net))) for slot in (0, 1)}
    assert state.keys() == slots | {"counts", "count"}
    assert state["count"] == 1 and state["counts"].tolist() == [1] * len(trained(net))
    assert all(array.dtype in (np.float32, np.int64) for array in state.values())


@pytest.mark.parametrize("damage", ["lost slot", "lost counts", "another optimizer", "another network"])
def test_an_unsuitable_state_is_refused(damage: str) -> None:
    net = network()
    updates = Updates(trained(net), "adam")
    backward(net, 0)
    updates.step(0.1)
    state = updates.state()
    if damage.startswith("lost"):
        del state["1.0" if damage == "lost slot" else "counts"]
    parameters = trained(network())
    other = Updates(
        parameters[:-1] if damage == "another network" else parameters,
        "sgd" if damage == "another optimizer" else "adam",
    )
    with pytest.raises(UsageError, match=r"^the optimizer's state is not that of (adam|sgd) for \d parameters$"):
        other.restore(state)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_norm_that_is_not_finite_updates_nothing(value: float) -> None:
    net = network()
    updates = Updates(trained(net), "sgd", clip_norm=1.0)
    before = values(net)
    backward(net, 0)
    net[2].weight.grad()[:] = value
    with pytest.raises(FloatingPointError, match=r"the gradient's norm is (nan|inf)"):
        updates.step(0.1)
    assert_same_bits(values(net), before)


def step_on_two_devices(net: nn.HybridSequential, updates: Updates, step: int) -> None:
    """Each device has half of the rows."""
    ids, target = batch(step)
    with autograd.record():
        losses = []
        for number, device in enumerate(TWO_DEVICES):
            rows = slice(number * ROWS // 2, (number + 1) * ROWS // 2)
            outputs = net(nd.array(ids[rows], device))
            losses.append(((outputs - nd.array(target[rows], device)) ** 2).sum() / ROWS)
    autograd.backward(losses)
    updates.step(rate(step))


TWO_DEVICES = [mx.cpu(0), mx.cpu(1)]


@pytest.mark.parametrize("clip_norm", [None, 0.2])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_gradients_of_two_devices_are_summed_before_the_norm_is_taken(optimizer: str, clip_norm: float | None) -> None:
    net = network(TWO_DEVICES)
    updates = Updates(trained(net), optimizer, clip_norm=clip_norm)
    step_on_two_devices(net, updates, 0)
    resumed = network(TWO_DEVICES)
    for (_, target), (_, parameter) in zip(named_parameters(resumed), named_parameters(net), strict=True):
        target.set_data(parameter.data(TWO_DEVICES[0]))
    goes_on = Updates(trained(resumed), optimizer, clip_norm=clip_norm)
    goes_on.restore(updates.state())
    for step in range(1, STEPS):
        step_on_two_devices(resumed, goes_on, step)
    for name, alone in by_updater(optimizer, clip_norm).items():
        parameter = dict(named_parameters(resumed))[name]
        for device in TWO_DEVICES:
            np.testing.assert_allclose(parameter.data(device).asnumpy(), alone, rtol=1e-4, atol=1e-6, err_msg=name)


def test_an_unknown_optimizer_and_one_that_cannot_be_resumed_are_refused() -> None:
    parameters = trained(network())
    with pytest.raises(UsageError, match=r"optimizer 'adamm' is unknown; choose one of .*adam"):
        Updates(parameters, "adamm")
    for optimizer, reason in {
        "nadam": "cannot be resumed",
        "test": "cannot be resumed",
        "groupadagrad": "does not update vectors",
    }.items():
        with pytest.raises(UsageError, match=f"^optimizer {optimizer} {reason}"):
            Updates(parameters, optimizer)
    with pytest.raises(UsageError, match="optimizer sgd does not take beta2"):
        Updates(parameters, "sgd", arguments={"beta2": 0.98})


def test_a_parameter_without_a_new_gradient_is_not_updated_by_an_old_one() -> None:
    net = network()
    updates = Updates(trained(net), "sgd")
    backward(net, 0)
    updates.step(0.1)
    before = values(net)
    with pytest.raises(UserWarning, match="has not been updated by backward"):
        updates.step(0.1)
    assert_same_bits(values(net), before)


def test_nothing_is_printed_about_lazy_updates_and_later_messages_are(capfd: pytest.CaptureFixture[str]) -> None:
    """In a new process: MXNet prints its note once."""
    program = """
import os, sys
import numpy as np
from mxnet import autograd, gluon, nd
from gluon_attn.training.updates import Updates
layer = gluon.nn.Embedding(5, 2, sparse_grad=True)
layer.initialize()
updates = Updates(list(layer.collect_params().values()), "adam")
with autograd.record():
    loss = layer(nd.array([1, 2])).sum()
loss.backward()
updates.step(0.1)
nd.waitall()
os.write(2, b"heard")
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
    assert capfd.readouterr().err == "heard"
