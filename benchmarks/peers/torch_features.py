"""EfficientNet-Lite0 in eager PyTorch, from JPEG files to features.

Written for speed: normalization is folded into the convolutions, channels are last in memory, nothing is recorded.

    python -m benchmarks.peers.torch_features '{"arrays": "files.npz", "threads": 1, "batch": 20}'

prints the measurement as one line of JSON; see :func:`measure`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from benchmarks.peers.torch_training import main
from benchmarks.stopwatch import second_time

# Blocks, stride and expansion of each stage.
STAGES = ((1, 1, 1), (2, 2, 6), (2, 2, 6), (3, 2, 6), (3, 1, 6), (4, 2, 6), (1, 1, 6))
EPSILON = 1e-3


class Network:
    """The network up to its last grid of features.

    Args:
        tensors: the checkpoint, by name.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        layers = {name.removesuffix(".weight"): name for name in tensors if "conv" in name}
        self._folded: dict[str, tuple[Tensor, Tensor]] = {}
        norms = {"_conv_stem": "_bn0", "_conv_head": "_bn1"}
        of_block = {"_expand_conv": "_bn0", "_depthwise_conv": "_bn1", "_project_conv": "_bn2"}
        for layer, weight in layers.items():
            *block, kind = layer.split(".")
            norm = ".".join([*block, norms.get(kind) or of_block[kind]])
            scale, shift, mean, variance = (
                tensors[f"{norm}.{name}"] for name in ("weight", "bias", "running_mean", "running_var")
            )
            factor = scale / torch.sqrt(variance + EPSILON)
            kernels = (tensors[weight] * factor[:, None, None, None]).contiguous(memory_format=torch.channels_last)
            self._folded[layer] = kernels, shift - mean * factor

    def __call__(self, images: Tensor) -> Tensor:
        x = self._layer(images, "_conv_stem", 2)
        number = 0
        for blocks, first_stride, expansion in STAGES:
            for index in range(blocks):
                before, name = x, f"_blocks.{number}"
                if expansion > 1:
                    x = self._layer(x, f"{name}._expand_conv")
                x = self._layer(x, f"{name}._depthwise_conv", first_stride if index == 0 else 1)
                x = self._layer(x, f"{name}._project_conv", relu=False)
                if index:
                    x = x + before
                number += 1
        return self._layer(x, "_conv_head")

    def _layer(self, x: Tensor, name: str, stride: int = 1, *, relu: bool = True) -> Tensor:
        kernels, bias = self._folded[name]
        size = kernels.shape[-1]
        groups = x.shape[1] if kernels.shape[1] == 1 else 1
        before, after = (size - stride) // 2, (size - stride + 1) // 2
        if before != after:
            x = functional.pad(x, (before, after, before, after))
        x = functional.conv2d(x, kernels, bias, stride, before if before == after else 0, 1, groups)
        return functional.relu6(x, inplace=True) if relu else x


def tensor(file: bytes) -> Tensor:
    """An image as torchvision's ``Resize``, ``ToTensor`` and ``Normalize`` make it."""
    with Image.open(io.BytesIO(file)) as image:
        resized = image.convert("RGB").resize((224, 224), Image.Resampling.BICUBIC)
    pixels = torch.from_numpy(np.array(resized)).permute(2, 0, 1).contiguous().to(torch.float32).div_(255)
    return pixels.sub_(127 / 255).div_(128 / 255)


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Compute the features of the given files twice and time the second time.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ``files``, ``bounds`` and the weights), ``threads``, ``batch``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``.
    """
    with np.load(spec["arrays"]) as arrays:
        data, bounds = arrays["files"].tobytes(), arrays["bounds"].tolist()
        weights = {name.removeprefix("weights/"): arrays[name] for name in arrays.files if name.startswith("weights/")}
    files = [data[start:stop] for start, stop in pairwise(bounds)]
    network = Network({name: torch.from_numpy(array) for name, array in weights.items()})

    def work() -> None:
        with torch.inference_mode():
            for start in range(0, len(files), spec["batch"]):
                images = torch.stack([tensor(file) for file in files[start : start + spec["batch"]]])
                images = images.contiguous(memory_format=torch.channels_last)
                network(images).flatten(2).transpose(1, 2).to(torch.float16).numpy()

    return second_time(work)


if __name__ == "__main__":
    main(measure)
