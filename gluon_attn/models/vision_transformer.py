"""The Vision Transformer (Dosovitskiy et al., 2021, "An image is worth 16x16 words").

    z_0 = [x_class; x_p^1 E; ...; x_p^N E] + E_pos          (eq. 1)
    z'_l = MSA(LN(z_{l-1})) + z_{l-1}                        (eq. 2)
    z_l = MLP(LN(z'_l)) + z'_l                               (eq. 3)
    y = LN(z_L^0)                                            (eq. 4)

Logits are a linear map of y, the final state of the class token. With mean pooling there is no class token, and y is
the mean of LN(z_L) (app. D.3). Differences from the authors' code: the projections of attention have no biases, as in
Vaswani et al. (2017), the head never has a hidden layer, and there is no dropout after the hidden layer of an MLP.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock, nn
from mxnet.initializer import Normal

from gluon_attn.errors import UsageError
from gluon_attn.layers.graphs import Graphs
from gluon_attn.layers.images import GRID_POSITIONS, GridPositions, PatchEmbedding, grid_of
from gluon_attn.layers.normalization import LayerNorm
from gluon_attn.layers.transformer import EncoderLayer
from gluon_attn.typing import Operators, Tensor, Tensors

POOLINGS = ("class", "mean")


class VisionTransformer(HybridBlock):
    """An image classifier: a Transformer encoder over patches.

    Args:
        size: height and width of an image in pixels.
        patch: height and width of a patch, in pixels or in positions of the stem's output.
        units, layers, heads, hidden_units: sizes of the encoder: *D*, *L*, *k* and the width of the MLP.
        classes: number of labels.
        stem: channels of a convolutional stem before the patches (the hybrid); empty for patches of pixels.
        positions: ``none``, ``1-d``, ``2-d``, or ``relative``: the offset between two tokens in the sequence changes
            their attention score, in every layer.
        pooling: ``class`` for a class token, ``mean`` for the mean of the patches.
        dropout: dropout rate of the embeddings with positions, and of each sublayer's output.

    Call: images (batch, 3, size, size) -> logits (batch, classes).

    Raises:
        UsageError: if patches do not fill the image, or the kind of positions or pooling is unknown.
    """

    def __init__(
        self,
        *,
        size: int,
        patch: int,
        units: int,
        layers: int,
        heads: int,
        hidden_units: int,
        classes: int,
        stem: tuple[int, ...] = (),
        positions: str = "1-d",
        pooling: str = "class",
        dropout: float = 0.0,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        if positions not in GRID_POSITIONS:
            raise UsageError(f"positions {positions!r} are unknown; choose one of {', '.join(GRID_POSITIONS)}")
        if pooling not in POOLINGS:
            raise UsageError(f"pooling {pooling!r} is unknown; choose one of {', '.join(POOLINGS)}")
        self._heads, self.has_class_token = heads, pooling == "class"
        self.grid = grid_of(size, patch, stem)
        with self.name_scope():
            self.embedding = PatchEmbedding(units, patch, stem)
            if self.has_class_token:
                self.class_token = self.params.get("class_token", shape=(1, 1, units), init="zeros")
            absolute, tokens = positions in ("1-d", "2-d"), self.grid**2 + self.has_class_token
            self.positions = GridPositions(positions, units, self.grid, self.has_class_token) if absolute else None
            self.embedding_dropout = nn.Dropout(dropout)
            self.encoder = nn.HybridSequential()
            for _ in range(layers):
                self.encoder.add(
                    EncoderLayer(
                        units=units,
                        heads=heads,
                        hidden_units=hidden_units,
                        activation="gelu",
                        dropout=dropout,
                        norm="pre",
                        relative_length=tokens if positions == "relative" else None,
                    )
                )
            self.norm = LayerNorm(units)
            # Small but not zero, so that gradients reach the encoder at the first step.
            self.output = nn.Dense(classes, in_units=units, weight_initializer=Normal(0.02))
        self._graphs = Graphs(self)

    def hybrid_forward(self, F: Operators, images: Tensor, **own: Tensor) -> Tensor:
        return self._forward(F, images, **own)[0]

    def attend(self, images: nd.NDArray) -> tuple[nd.NDArray, nd.NDArray]:
        """Return logits (batch, classes) and the weights of all layers (layers, batch, heads, tokens, tokens); the
        first token is the class token, if there is one."""
        logits, weights = self._graphs(self._with_weights, images)
        return logits, weights

    def position_vectors(self) -> np.ndarray | None:
        """Return the learned position embeddings of the patches (patches, units), without that of the class token; None
        if there are none."""
        if self.positions is None:
            return None
        vectors: np.ndarray = self.positions.vectors(nd, **self.positions.own_vectors()).asnumpy()
        return vectors[1:] if self.has_class_token else vectors

    def patch_filters(self) -> np.ndarray | None:
        """Return the weights that embed a patch of pixels (units, 3, patch, patch); None if there is a stem."""
        if self.embedding.stem is not None:
            return None
        filters: np.ndarray = self.embedding.projection.weight.data().asnumpy()
        return filters

    def _with_weights(self, F: Operators, images: Tensor) -> Tensors:
        own: dict[str, Tensor] = {}
        if self.has_class_token:  # of this block, not of a child, which would give its own by itself
            own["class_token"] = self.class_token.data() if F is nd else self.class_token.var()
        logits, weights = self._forward(F, images, **own)
        stacked = F.stack(*[F.reshape(one, (-4, -1, self._heads, 0, 0)) for one in weights], axis=0)
        return logits, stacked

    def _forward(self, F: Operators, images: Tensor, class_token: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        x = self.embedding(images)
        if class_token is not None:
            first = F.slice_axis(x, axis=0, begin=0, end=1)
            x = F.concat(F.broadcast_add(F.zeros_like(first), class_token), x, dim=0)
        if self.positions is not None:
            x = self.positions(x)
        x = self.embedding_dropout(x)
        weights = []
        for layer in self.encoder:
            x, of_layer = layer(x)
            weights.append(of_layer)
        x = self.norm(x)
        first = F.reshape(F.slice_axis(x, axis=0, begin=0, end=1), (-3, 0))
        return self.output(first if self.has_class_token else F.mean(x, axis=0)), weights
