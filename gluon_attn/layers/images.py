"""Images as sequences of vectors: patches and their embeddings (Dosovitskiy et al., 2021, sec. 3.1).

    z_0 = [x_class; x_p^1 E; ...; x_p^N E] + E_pos    (eq. 1)

x_p^i is the i-th patch of P x P pixels, row by row, or of the feature map of a convolutional stem (the hybrid). E_pos
is learned: one vector per patch (1-D), or half a vector per column and half a vector per row (2-D, app. D.4). Relative
positions change the attention scores instead of the tokens (:mod:`gluon_attn.attention.relative`).
"""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn
from mxnet.initializer import Normal

from gluon_attn.errors import UsageError
from gluon_attn.layers.normalization import normalized_relu
from gluon_attn.typing import Operators, Tensor

GRID_POSITIONS = ("none", "1-d", "2-d", "relative")
POSITION_DEVIATION = 0.02
"""Standard deviation of the initial position embeddings, as in the authors' code."""


class ConvolutionalStem(HybridBlock):
    """3 x 3 convolutions with batch normalisation and ReLU, each followed by 3 x 3 max pooling with stride 2 (Hassani
    et al., 2021, sec. 3.1, with normalisation added). The paper uses the first stages of a ResNet instead.

    Args:
        channels: number of channels of each convolution.

    Call: images (batch, 3, height, width) -> (batch, channels[-1], height / 2^n, width / 2^n) after n convolutions.
    """

    def __init__(self, channels: tuple[int, ...], **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.layers = nn.HybridSequential()
            for narrow, wide in zip((3, *channels), channels, strict=False):
                self.layers.add(
                    nn.Conv2D(wide, 3, padding=1, use_bias=False, in_channels=narrow),
                    *normalized_relu(wide),
                    nn.MaxPool2D(3, strides=2, padding=1),
                )

    def hybrid_forward(self, F: Operators, images: Tensor) -> Tensor:
        return self.layers(images)


class PatchEmbedding(HybridBlock):
    """Cut images, or the feature map of a stem, into patches, and project each patch linearly.

    Args:
        units: width of an embedding.
        patch: height and width of a patch.
        stem: channels of a :class:`ConvolutionalStem` whose output is cut; empty to cut the image itself.

    Call: images (batch, 3, height, width) -> (patches, batch, units), patches row by row.
    """

    def __init__(self, units: int, patch: int, stem: tuple[int, ...] = (), **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.stem = ConvolutionalStem(stem) if stem else None
            # A linear map of non-overlapping patches is a convolution whose stride is the patch size.
            self.projection = nn.Conv2D(units, patch, strides=patch, in_channels=stem[-1] if stem else 3)

    def hybrid_forward(self, F: Operators, images: Tensor) -> Tensor:
        embedded = self.projection(images if self.stem is None else self.stem(images))
        return F.transpose(F.reshape(embedded, (0, 0, -1)), axes=(2, 0, 1))


def grid_of(size: int, patch: int, stem: tuple[int, ...] = ()) -> int:
    """Number of rows (and of columns) of patches in a square image of ``size`` pixels.

    Raises:
        UsageError: if patches do not fill the image.
    """
    pixels = patch * 2 ** len(stem)
    if size % pixels:
        raise UsageError(f"images of {size} pixels cannot be cut into patches of {pixels}; choose a divisor of {size}")
    return size // pixels


class GridPositions(HybridBlock):
    """Learned position embeddings of a square grid of patches, and one of the class token.

    Args:
        kind: ``1-d`` or ``2-d``.
        units: width of an embedding.
        grid: number of rows (and of columns) of patches.
        class_token: whether a class token precedes the patches.

    Call: x (tokens, batch, units) -> x plus the position embeddings.

    Raises:
        UsageError: if the kind is unknown.
    """

    def __init__(self, kind: str, units: int, grid: int, class_token: bool, **parameters: Any) -> None:
        super().__init__(**parameters)
        if kind not in ("1-d", "2-d"):
            raise UsageError(f"positions {kind!r} are not those of a grid; choose 1-d or 2-d")
        self._kind, self._grid, self._units = kind, grid, units
        init = Normal(POSITION_DEVIATION)
        with self.name_scope():
            if kind == "2-d":
                self.rows = self.params.get("rows", shape=(grid, units // 2), init=init)
                self.columns = self.params.get("columns", shape=(grid, units - units // 2), init=init)
            else:
                self.table = self.params.get("table", shape=(grid * grid, units), init=init)
            if class_token:
                self.first = self.params.get("first", shape=(1, units), init=init)

    def hybrid_forward(self, F: Operators, x: Tensor, **vectors: Tensor) -> Tensor:
        return F.broadcast_add(x, F.expand_dims(self.vectors(F, **vectors), axis=1))

    def own_vectors(self) -> dict[str, Tensor]:
        """Return the parameters by name, for :meth:`vectors`."""
        return {name: parameter.data() for name, parameter in self._reg_params.items()}

    def vectors(self, F: Operators, first: Tensor | None = None, **vectors: Tensor) -> Tensor:
        """Compute the position embeddings (tokens, units)."""
        if self._kind == "2-d":
            rows = F.repeat(vectors["rows"], repeats=self._grid, axis=0)
            patches = F.concat(rows, F.tile(vectors["columns"], reps=(self._grid, 1)), dim=1)
        else:
            patches = vectors["table"]
        return patches if first is None else F.concat(first, patches, dim=0)
