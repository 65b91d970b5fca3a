"""Relative positions in self-attention (Shaw et al., 2018, eq. 4, without relative values; Dosovitskiy et al., 2021,
app. D.4, "relative positional embeddings").

    e_ij = (q_i k_j^T + q_i r_{i-j}^T) / sqrt(d)

r has one learned vector for each offset between a query and a key in the sequence, shared by all heads.
"""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock
from mxnet.initializer import Normal

from gluon_attn.typing import Operators, Tensor

DEVIATION = 0.02
"""Standard deviation of the initial vectors."""


class RelativeKeys(HybridBlock):
    """The second term of the scores, from the query and its offset to each key.

    Args:
        length: number of tokens of every sequence.
        width: width of a head, *d*.

    Call: projections (length, batch, heads * 3 * width), interleaved by head as query, key and value -> scores (batch *
    heads, length, length).
    """

    def __init__(self, length: int, width: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._length, self._width = length, width
        with self.name_scope():
            self.vectors = self.params.get("vectors", shape=(2 * length - 1, width), init=Normal(DEVIATION))

    def hybrid_forward(self, F: Operators, projections: Tensor, vectors: Tensor) -> Tensor:
        by_head = F.reshape(projections, (0, -1, 3, self._width))
        queries = F.reshape(F.slice_axis(by_head, axis=2, begin=0, end=1), (0, 0, -1))
        number = F.arange(self._length)
        offsets = F.broadcast_sub(F.expand_dims(number, axis=1), F.expand_dims(number, axis=0)) + (self._length - 1)
        # By query, so that one product serves all heads of all sequences: (length, batch * heads, length).
        scores = F.batch_dot(queries * self._width**-0.5, F.take(vectors, offsets), transpose_b=True)
        return F.transpose(scores, axes=(1, 0, 2))
