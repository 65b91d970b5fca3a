"""A small residual network for 32 x 32 images (He et al., 2016, sec. 4.2), in the style of Gluon's model zoo.

    y = ReLU(F(x) + x)    F: two 3 x 3 convolutions, each with batch normalisation

There are three stages of n blocks with w, 2w and 4w channels. The first block of the second and third stage halves
height and width; its shortcut is a 1 x 1 convolution, the paper's option B (on CIFAR-10 the paper has option A, which
has no parameters). The network has 6n + 2 layers.
"""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.layers.normalization import normalized_relu
from gluon_attn.typing import Operators, Tensor


class ResidualBlock(HybridBlock):
    """Two convolutions and a shortcut.

    Args:
        channels, in_channels: number of channels of output and input.
        stride: 2 to halve height and width.

    Call: (batch, in_channels, height, width) -> (batch, channels, height / stride, width / stride).
    """

    def __init__(self, channels: int, in_channels: int, stride: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(
                nn.Conv2D(channels, 3, strides=stride, padding=1, use_bias=False, in_channels=in_channels),
                *normalized_relu(channels),
                nn.Conv2D(channels, 3, padding=1, use_bias=False, in_channels=channels),
                nn.BatchNorm(in_channels=channels),
            )
            self.shortcut = None
            if stride > 1 or channels != in_channels:
                self.shortcut = nn.HybridSequential()
                self.shortcut.add(
                    nn.Conv2D(channels, 1, strides=stride, use_bias=False, in_channels=in_channels),
                    nn.BatchNorm(in_channels=channels),
                )

    def hybrid_forward(self, F: Operators, x: Tensor) -> Tensor:
        return F.Activation(self.body(x) + (x if self.shortcut is None else self.shortcut(x)), act_type="relu")


class ResNet(HybridBlock):
    """A residual network of 6 ``blocks`` + 2 layers.

    Args:
        width: number of channels of the first stage.
        blocks: number of blocks of each stage, *n*.
        classes: number of labels.

    Call: images (batch, 3, size, size) -> logits (batch, classes).
    """

    def __init__(self, *, width: int, blocks: int, classes: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.features = nn.HybridSequential()
            self.features.add(
                nn.Conv2D(width, 3, padding=1, use_bias=False, in_channels=3),
                *normalized_relu(width),
            )
            before = width
            for stage in range(3):
                for block in range(blocks):
                    channels = width * 2**stage
                    self.features.add(ResidualBlock(channels, before, 2 if stage and not block else 1))
                    before = channels
            self.pool = nn.GlobalAvgPool2D()
            self.output = nn.Dense(classes, in_units=before)

    def hybrid_forward(self, F: Operators, images: Tensor) -> Tensor:
        features = self.features(images)
        # Pooled as one column of positions. With AVX-512 the gradient of a pooled square has a layout for which batch
        # normalisation in oneDNN has no optimised kernel; training took twice as long.
        return self.output(self.pool(F.reshape(features, (0, 0, -1, 1))))
