"""EfficientNet-Lite0: against PyTorch, and on a photograph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mxnet import nd
from PIL import Image

from gluon_attn.errors import UsageError
from gluon_attn.models import efficientnet
from gluon_attn.models.efficientnet import EfficientNetLite0, weights_path
from gluon_attn.torch_checkpoint import read_tensors

DAISY = 985
STAGES = ((1, 3, 1, 1), (2, 3, 2, 6), (2, 5, 2, 6), (3, 3, 2, 6), (3, 5, 1, 6), (4, 5, 2, 6), (1, 3, 1, 6))


@pytest.fixture(scope="module")
def network() -> EfficientNetLite0:
    return efficientnet.pretrained()


def normalized(pixels: np.ndarray) -> np.ndarray:
    return ((pixels.astype(np.float32) - 127) / 128).transpose(0, 3, 1, 2)


def photograph() -> np.ndarray:
    from sklearn.datasets import load_sample_image

    flower = Image.fromarray(load_sample_image("flower.jpg"))
    return np.asarray(flower.resize((224, 224), Image.Resampling.BICUBIC))[None]


def test_a_daisy_is_a_daisy(network: EfficientNetLite0) -> None:
    _, last, logits = network(nd.array(normalized(photograph())))
    assert logits.asnumpy().argmax() == DAISY
    pooled = last.asnumpy().mean(axis=(2, 3))
    np.testing.assert_allclose(network.classify(pooled), logits.softmax().asnumpy(), rtol=1e-4, atol=1e-6)


def test_it_equals_the_network_in_pytorch(network: EfficientNetLite0) -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is an extra: install gluon-attn[bench]")
    tensors = {name: torch.from_numpy(array.copy()) for name, array in read_tensors(weights_path()).items()}
    images = np.concatenate([normalized(photograph()), np.random.RandomState(0).randn(1, 3, 224, 224)])
    ours = network(nd.array(images, dtype="float32"))
    theirs = in_torch(torch, tensors, torch.from_numpy(images.astype(np.float32)))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.numpy(), atol=2e-3, rtol=1e-3)


def in_torch(torch: Any, tensors: dict[str, Any], x: Any) -> tuple[Any, Any, Any]:
    """The network layer by layer, its normalization not folded, with the padding of TensorFlow."""
    functional = torch.nn.functional

    def layer(x: Any, weight: str, norm: str, stride: int = 1, relu: bool = True) -> Any:
        kernels = tensors[f"{weight}.weight"]
        size = kernels.shape[-1]
        total = max((-(-x.shape[-1] // stride) - 1) * stride + size - x.shape[-1], 0)
        x = functional.pad(x, (total // 2, total - total // 2) * 2)
        x = functional.conv2d(x, kernels, stride=stride, groups=x.shape[1] if kernels.shape[1] == 1 else 1)
        names = ("running_mean", "running_var", "weight", "bias")
        x = functional.batch_norm(x, *(tensors[f"{norm}.{name}"] for name in names), eps=1e-3)
        return functional.relu6(x) if relu else x

    with torch.no_grad():
        x = layer(x, "_conv_stem", "_bn0", 2)
        number = 0
        for blocks, _, first_stride, expansion in STAGES:
            for index in range(blocks):
                before, name = x, f"_blocks.{number}"
                if expansion > 1:
                    x = layer(x, f"{name}._expand_conv", f"{name}._bn0")
                x = layer(x, f"{name}._depthwise_conv", f"{name}._bn1", first_stride if index == 0 else 1)
                x = layer(x, f"{name}._project_conv", f"{name}._bn2", relu=False)
                x = x + before if x.shape == before.shape and index else x
                number += 1
                if number == 11:
                    middle = x
        last = layer(x, "_conv_head", "_bn1")
        return middle, last, functional.linear(last.mean((2, 3)), tensors["_fc.weight"], tensors["_fc.bias"])


def test_other_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    path.write_bytes(b"no weights")
    with pytest.raises(UsageError, match="no PyTorch checkpoint of tensors"):
        efficientnet.pretrained(path)
