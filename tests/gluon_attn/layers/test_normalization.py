"""Layer normalisation by products is MXNet's operator, values and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from mxnet import autograd
from mxnet.gluon import nn

from gluon_attn.layers.normalization import LayerNorm
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
