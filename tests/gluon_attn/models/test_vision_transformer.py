"""The Vision Transformer and the residual network next to it, against NumPy and PyTorch, and by their properties."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, nd
from scipy.special import erf

from gluon_attn.errors import UsageError
from gluon_attn.layers.images import ConvolutionalStem, GridPositions
from gluon_attn.models.resnet import ResNet
from gluon_attn.models.vision_transformer import VisionTransformer
from gluon_attn.training.checkpoint import named_parameters
from tests.gluon_attn.support import initialize, normal, parameters_of, softmax, watch_dropout

SMALL: dict[str, Any] = {
    "size": 8, "patch": 2, "units": 12, "layers": 2, "heads": 3, "hidden_units": 20, "classes": 5
}  # fmt: skip
IMAGES = nd.array(normal(3, 3, 8, 8))
KINDS: list[dict[str, Any]] = [
    {},
    {"pooling": "mean", "positions": "2-d"},
    {"positions": "relative"},
    {"pooling": "mean", "positions": "relative", "stem": (4,), "patch": 1},
    {"positions": "none", "stem": (4, 6), "patch": 1},
]


def vit(**changed: Any) -> VisionTransformer:
    return initialize(VisionTransformer(**{**SMALL, **changed}), IMAGES, scale=0.3)


def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    centered = x - x.mean(axis=-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5) * gamma.ravel() + beta.ravel()


def oracle(images: np.ndarray, own: dict[str, np.ndarray], grid: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Equations 1 to 4 with 1-D positions and a class token: logits, and the weights of all layers."""
    patches = [images[:, :, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2] for y in range(grid) for x in range(grid)]
    matrix = own["embedding.projection.weight"].reshape(12, -1).T
    embedded = np.stack([patch.reshape(len(images), -1) @ matrix for patch in patches], axis=1)
    first = np.broadcast_to(own["class_token"].reshape(1, 1, -1), (len(images), 1, 12))
    x = np.concatenate([first, embedded + own["embedding.projection.bias"]], axis=1)
    x = x + np.concatenate([own["positions.first"], own["positions.table"]])
    all_weights = []
    for layer in ("encoder.0.", "encoder.1."):
        of = {name.removeprefix(layer): value for name, value in own.items() if name.startswith(layer)}
        normed = layer_norm(x, of["attention_residual.norm.gamma"], of["attention_residual.norm.beta"])
        query, key, value = (
            (normed @ of[f"attention.projection.{name}"].T).reshape(len(x), -1, 3, 4).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        weights = softmax(query @ key.transpose(0, 1, 3, 2) / 2)
        context = (weights @ value).transpose(0, 2, 1, 3).reshape(x.shape)
        x = x + context @ of["attention.output.weight"].T
        normed = layer_norm(x, of["feed_forward_residual.norm.gamma"], of["feed_forward_residual.norm.beta"])
        hidden = normed @ of["feed_forward.hidden.weight"].T + of["feed_forward.hidden.bias"]
        hidden = hidden * 0.5 * (1 + erf(hidden / np.sqrt(2)))
        x = x + hidden @ of["feed_forward.output.weight"].T + of["feed_forward.output.bias"]
        all_weights.append(weights)
    pooled = layer_norm(x, own["norm.gamma"], own["norm.beta"])[:, 0]
    return pooled @ own["output.weight"].T + own["output.bias"], np.stack(all_weights)


def test_it_computes_the_equations_of_the_paper() -> None:
    model = vit()
    expected, weights = oracle(IMAGES.asnumpy().astype(np.float64), parameters_of(model))
    np.testing.assert_allclose(model(IMAGES).asnumpy(), expected, rtol=1e-4, atol=1e-4)
    logits, computed = model.attend(IMAGES)
    np.testing.assert_allclose(logits.asnumpy(), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(computed.asnumpy(), weights, rtol=1e-3, atol=1e-5)


def test_with_mean_pooling_the_head_reads_the_mean_over_all_positions() -> None:
    model = vit(pooling="mean")
    states: list[np.ndarray] = []
    model.norm.register_forward_hook(lambda block, inputs, output: states.append(output.asnumpy()))
    logits = model(IMAGES).asnumpy()
    own = parameters_of(model)
    (normed,) = states
    expected = normed.mean(axis=0) @ own["output.weight"].T + own["output.bias"]
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-5)


def test_a_stem_takes_the_largest_value_of_each_window() -> None:
    stem = ConvolutionalStem((1,))
    stem.initialize()
    kernel = np.zeros((1, 3, 3, 3), np.float32)
    kernel[0, 0, 1, 1] = 1.0
    stem.layers[0].weight.set_data(nd.array(kernel))
    positive = np.pad(np.maximum(IMAGES.asnumpy()[:, 0], 0), ((0, 0), (1, 1), (1, 1)))
    expected = np.max([positive[:, y : y + 8 : 2, x : x + 8 : 2] for y in range(3) for x in range(3)], axis=0)
    np.testing.assert_allclose(stem(IMAGES).asnumpy()[:, 0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("changed", KINDS)
def test_eager_equals_hybridized(changed: dict[str, Any]) -> None:
    model = vit(**changed)
    eager, (_, weights) = model(IMAGES), model.attend(IMAGES)
    tokens = weights.shape[-1]
    assert weights.shape == (2, 3, 3, tokens, tokens) and tokens in (16, 17, 5)
    np.testing.assert_allclose(weights.asnumpy().sum(axis=-1), 1, rtol=1e-5)
    model.hybridize(static_alloc=True, static_shape=True)
    np.testing.assert_allclose(model(IMAGES).asnumpy(), eager.asnumpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.attend(IMAGES)[1].asnumpy(), weights.asnumpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", [*(vit(**changed) for changed in KINDS), ResNet(width=2, blocks=1, classes=5)])
def test_a_gradient_reaches_every_parameter(model: Any) -> None:
    if isinstance(model, ResNet):
        initialize(model, IMAGES)
    with autograd.record():
        loss = (model(IMAGES) * nd.array(normal(3, 5))).sum()
    loss.backward()
    for name, parameter in named_parameters(model):
        if parameter.grad_req != "null":
            assert (parameter.grad().asnumpy() != 0).any(), name


def permuted(images: nd.NDArray) -> nd.NDArray:
    """The same patches of 2 x 2 pixels in another order."""
    order = np.random.RandomState(3).permutation(16)
    patches = images.asnumpy().reshape(3, 3, 4, 2, 4, 2).transpose(0, 2, 4, 1, 3, 5).reshape(3, 16, 3, 2, 2)[:, order]
    return nd.array(patches.reshape(3, 4, 4, 3, 2, 2).transpose(0, 3, 1, 4, 2, 5).reshape(3, 3, 8, 8))


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_only_without_positions_the_order_of_patches_does_not_matter(pooling: str) -> None:
    for kind in ("none", "1-d", "2-d", "relative"):
        model = vit(positions=kind, pooling=pooling)
        change = np.abs(model(permuted(IMAGES)).asnumpy() - model(IMAGES).asnumpy()).max()
        assert (change < 1e-4) == (kind == "none"), (kind, change)


def test_positions_in_two_dimensions_share_rows_and_columns() -> None:
    vectors = vit(positions="2-d").position_vectors()
    assert vectors is not None and vectors.shape == (16, 12)
    grid = vectors.reshape(4, 4, 12)
    assert (grid[:, :, :6] == grid[:, :1, :6]).all() and (grid[:, :, 6:] == grid[:1, :, 6:]).all()
    assert (grid[0, 0] != grid[1, 1]).all()
    one = vit().position_vectors()
    assert one is not None and (one == parameters_of(vit())["positions.table"].astype(np.float32)).all()
    assert vit(positions="none").position_vectors() is None


def test_a_grid_has_positions_of_one_dimension_or_two() -> None:
    with pytest.raises(UsageError, match="positions 'relative' are not those of a grid; choose 1-d or 2-d"):
        GridPositions("relative", units=12, grid=4, class_token=True)


def test_relative_positions_are_in_every_layer_and_replace_those_of_the_input() -> None:
    model = vit(positions="relative")
    names = [name for name in parameters_of(model) if name.endswith("relative.vectors")]
    assert len(names) == len(model.encoder) and model.positions is None
    vectors = model.encoder[0].attention.relative.vectors
    assert vectors.shape == (2 * 17 - 1, 4)


def test_filters_are_those_of_pixels() -> None:
    filters = vit().patch_filters()
    assert filters is not None and filters.shape == (12, 3, 2, 2)
    assert vit(stem=(4,), patch=1).patch_filters() is None


def test_dropout_is_active_in_training() -> None:
    model = vit(dropout=0.5)
    assert (model(IMAGES) == model(IMAGES)).asnumpy().all()
    with autograd.train_mode():
        assert (model(IMAGES) != model(IMAGES)).asnumpy().any()


def test_there_is_one_dropout_and_two_in_each_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    model = vit(dropout=0.3)
    rates = watch_dropout(monkeypatch)
    model(IMAGES)
    assert rates == [0.3] * (1 + 2 * SMALL["layers"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"patch": 3}, "images of 8 pixels cannot be cut into patches of 3"),
        ({"stem": (4, 4), "patch": 4}, "cannot be cut into patches of 16"),
        ({"positions": "3-d"}, "positions '3-d' are unknown; choose one of none, 1-d, 2-d, relative"),
        ({"pooling": "max"}, "pooling 'max' is unknown"),
        ({"units": 13}, "13 units cannot be divided among 3 heads"),
    ],
)
def test_impossible_networks_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        VisionTransformer(**{**SMALL, **changed})


def test_the_residual_network_computes_what_pytorch_does() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install '.[bench]'")
    model = ResNet(width=4, blocks=2, classes=5)
    model.initialize(mx.init.Normal(0.3))
    images = nd.array(normal(2, 3, 16, 16))
    with autograd.record():  # so that running means and variances are not those of initialisation
        model(images)
    own = {name: torch.tensor(parameter.data().asnumpy()) for name, parameter in named_parameters(model)}

    def convolved(x: Any, name: str, stride: int = 1) -> Any:
        weight = own[f"{name}.weight"]
        return torch.nn.functional.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)

    def normed(x: Any, name: str) -> Any:
        mean, variance = own[f"{name}.running_mean"], own[f"{name}.running_var"]
        gamma, beta = own[f"{name}.gamma"], own[f"{name}.beta"]
        return torch.nn.functional.batch_norm(x, mean, variance, gamma, beta, eps=1e-5)

    x = torch.relu(normed(convolved(torch.tensor(images.asnumpy()), "features.0"), "features.1"))
    for block in range(3, 9):
        name, stride = f"features.{block}", 2 if block in (5, 7) else 1
        inner = torch.relu(normed(convolved(x, f"{name}.body.0", stride), f"{name}.body.1"))
        inner = normed(convolved(inner, f"{name}.body.3"), f"{name}.body.4")
        shortcut = normed(convolved(x, f"{name}.shortcut.0", stride), f"{name}.shortcut.1") if stride == 2 else x
        x = torch.relu(inner + shortcut)
    expected = x.mean(dim=(2, 3)) @ own["output.weight"].T + own["output.bias"]
    np.testing.assert_allclose(model(images).asnumpy(), expected.numpy(), rtol=1e-3, atol=1e-4)
    model.hybridize()
    np.testing.assert_allclose(model(images).asnumpy(), expected.numpy(), rtol=1e-3, atol=1e-4)


def test_resnet_20_has_the_parameters_that_it_is_known_for() -> None:
    model = ResNet(width=16, blocks=3, classes=10)
    trained = sum(int(np.prod(one.shape)) for _, one in named_parameters(model) if one.grad_req != "null")
    assert trained == 272_474  # 0.27 million (He et al., 2016, Table 6), with projections as shortcuts


def test_the_residual_network_trains_without_reference_kernels() -> None:
    """oneDNN uses them for layouts that it has no other kernels for; with AVX-512 training took twice as long."""
    program = """
from gluon_attn import runtime
runtime.configure("fast", threads=1)
import os
os.environ["DNNL_VERBOSE"] = "1"
from mxnet import autograd, nd
from gluon_attn.models.resnet import ResNet
model = ResNet(width=16, blocks=1, classes=5)
model.initialize()
model.hybridize()
with autograd.record():
    loss = model(nd.ones((2, 3, 32, 32))).sum()
loss.backward()
nd.waitall()
"""
    command = [sys.executable, "-W", "ignore", "-c", program]
    calls = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "batch_normalization,bnorm_jit" in calls
    assert "bnorm_ref" not in calls
