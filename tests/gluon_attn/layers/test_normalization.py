"""Layer normalisation by products, and batch normalisation with ReLU, give what MXNet's layers give."""

from __future__ import annotations

import numpy as np
import pytest
from mxnet import autograd, nd
from mxnet.gluon import nn

from gluon_attn.layers.normalization import LayerNorm, normalized_relu
from tests.gluon_attn.support import array, normal


@pytest.mark.parametrize("shape", [(7, 6), (3, 2, 6)])
@pytest.mark.parametrize("hybridized", [False, True])
def test_it_is_mxnets_operator(shape: tuple[int, ...], hybridized: bool) -> None:
    values, weighing = 3.0 * normal(*shape) + 2.0, array(normal(*shape, seed=1))
    ours, theirs = LayerNorm(6), nn.LayerNorm(in_channels=6)
    results = []
    for block in (ours, theirs):
        block.initialize()
        block.hybridize(hybridized)
        for seed, parameter in enumerate((block.gamma, block.beta)):
            parameter.set_data(array(normal(6, seed=seed + 2).reshape(parameter.shape)))
        x = array(values)
        x.attach_grad()
        with autograd.record():
            y = block(x)
            total = (y * weighing).sum()
        total.backward()
        gradients = [x.grad, block.gamma.grad(), block.beta.grad()]
        results.append([y.asnumpy(), *[one.asnumpy().ravel() for one in gradients]])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_equal_values_are_normalised_to_beta() -> None:
    block = LayerNorm(4)
    block.initialize()
    block.beta.set_data(array(normal(4, 1)))
    np.testing.assert_allclose(
        block(array(np.full((2, 4), 5.0, np.float32))).asnumpy(), np.tile(normal(4), (2, 1)), atol=1e-4
    )


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("channels", [3, 16])
def test_normalized_relu_is_two_layers_to_the_bit(channels: int, hybridized: bool) -> None:
    values, weighing = normal(4, channels, 8, 8), array(normal(4, channels, 4, 4, seed=1))
    results = []
    for layers in (normalized_relu(channels), (nn.BatchNorm(in_channels=channels), nn.Activation("relu"))):
        block = nn.HybridSequential()
        first, last = (nn.Conv2D(channels, 3, padding=1, in_channels=channels) for _ in range(2))
        block.add(first, *layers, nn.MaxPool2D(2), last)
        for seed, (_, parameter) in enumerate(sorted(block._collect_params_with_prefix().items())):
            parameter.initialize()
            parameter.set_data(nd.abs(array(normal(*parameter.shape, seed=seed + 2))))  # variances are positive
        block.hybridize(hybridized)
        x = array(values)
        x.attach_grad()
        with autograd.record():
            total = (block(x) * weighing).sum()
        total.backward()
        trained = {
            name: one.grad() for name, one in block._collect_params_with_prefix().items() if one.grad_req != "null"
        }
        running = {name: block[1].params.get(name).data() for name in ("running_mean", "running_var")}
        found = {"x": x.grad, "predicted": block(x)} | trained | running
        results.append({name: one.asnumpy() for name, one in found.items()})
    assert results[0].keys() == results[1].keys()  # the names are those by which parameters are stored
    for name, value in results[0].items():
        np.testing.assert_array_equal(value, results[1][name], err_msg=name)
