"""A classifier on the structured self-attentive sentence embedding (Lin et al., 2017), with pooling as a baseline."""

from __future__ import annotations

from typing import Any

from mxnet import nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import token_mask
from gluon_attn.attention.pooling import max_pooling, mean_pooling
from gluon_attn.attention.structured import StructuredAttention, redundancy_penalty
from gluon_attn.errors import UsageError
from gluon_attn.layers.encoders import BidirectionalEncoder
from gluon_attn.layers.graphs import Graphs
from gluon_attn.models.outputs import Classifier
from gluon_attn.typing import Operators, Tensor, Tensors

_WITHOUT_ATTENTION = {"mean": mean_pooling, "max": max_pooling}


class StructuredClassifier(Classifier):
    """Embedding, bidirectional recurrent layers, r hops of attention (or mean or max pooling), and dense layers.

    Args:
        vocabulary_size: number of tokens.
        embedding_units: width of an embedding.
        cell: ``lstm`` (the paper's) or ``gru``.
        units: width of one direction, *u*.
        layers: number of recurrent layers.
        hops: number of hops, *r*; 0 for no attention.
        attention_units: width of the hidden layer of the attention, *d_a*; 0 without attention.
        pooling: replaces attention if ``hops`` is 0: ``mean`` or ``max``.
        hidden: units of the layer before the output: one number for a dense layer, two for *p* and *q* of a
            :class:`PrunedLayer`, or 0 for no such layer.
        classes: number of labels.
        embedding_dropout: dropout rate of the embeddings.
        dropout: dropout rate between recurrent layers and before each layer after pooling.
        masked: whether pooling excludes padding. If not, the softmax gives weight to padding, and mean and maximum
            include its states; this is an ablation.
        embedding: maps ids to vectors (batch, length, embedding_units); a plain ``Embedding`` if None.

    Call: ``(tokens, lengths) -> ClassifierOutput``: tokens (batch, length, ...) of int32, lengths (batch,), 1 or more;
    logits, and with attention the hops and the penalty of :func:`redundancy_penalty`.

    Raises:
        UsageError: if hops, pooling and hidden are inconsistent.
    """

    outputs = ("hops", "penalty")

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_units: int,
        cell: str,
        units: int,
        layers: int = 1,
        hops: int,
        attention_units: int,
        pooling: str | None = None,
        hidden: int | tuple[int, int],
        classes: int,
        embedding_dropout: float,
        dropout: float,
        masked: bool = True,
        embedding: HybridBlock | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        if (pooling is None) != (hops > 0) or pooling not in (None, *_WITHOUT_ATTENTION):
            raise UsageError(
                f"{hops} hops and pooling {pooling!r}: give hops and no pooling, or 0 hops and mean or max"
            )
        if isinstance(hidden, tuple) and not hops:
            raise UsageError(f"a pruned layer {hidden} needs rows to share; without attention give one number or 0")
        self._graphs = Graphs(self)
        self._hops, self._pooling, self._masked = hops, pooling, masked
        rows, width = max(1, hops), 2 * units
        with self.name_scope():
            if embedding is None:
                embedding = nn.Embedding(vocabulary_size, embedding_units, sparse_grad=True)
            self.embedding = embedding
            self.embedding_dropout = nn.Dropout(embedding_dropout)
            self.encoder = BidirectionalEncoder(cell, units, layers, embedding_units, dropout)
            if hops:
                self.attention = StructuredAttention(hops, attention_units, in_units=width)
            self.dropout = nn.Dropout(dropout)
            features = rows * width
            if isinstance(hidden, tuple):
                self.hidden: HybridBlock | None = PrunedLayer(*hidden, rows=rows, columns=width)
                features = rows * hidden[0] + width * hidden[1]
            elif hidden:
                self.hidden = nn.Dense(hidden, activation="relu", in_units=features)
                features = hidden
            else:
                self.hidden = None
            self.output = nn.Dense(classes, in_units=features)

    def forward(self, tokens: nd.NDArray, lengths: nd.NDArray) -> tuple[nd.NDArray, ...]:
        values: tuple[nd.NDArray, ...] = self._graphs(self._outputs, tokens, lengths)
        return values

    def _outputs(self, F: Operators, tokens: Tensor, lengths: Tensor) -> Tensors:
        states, _ = self.encoder(self.embedding_dropout(self.embedding(tokens)), lengths)
        mask = token_mask(F, states, lengths)
        if not self._masked:
            mask = F.ones_like(mask)
        if self._pooling is not None:
            return (self._logits(_WITHOUT_ATTENTION[self._pooling](F, states, mask)),)
        matrix, weights = self.attention(states, mask)
        return self._logits(matrix), weights, redundancy_penalty(F, weights, self._hops)

    def _logits(self, pooled: Tensor) -> Tensor:
        features = self.dropout(pooled)
        if self.hidden is not None:
            features = self.dropout(self.hidden(features))
        return self.output(features)


class PrunedLayer(HybridBlock):
    """A hidden layer over a matrix whose units are connected to a single row or a single column (appendix A).

    Each of the r rows has p units and each column has q units, all followed by ReLU. The paper's size for Yelp, 30 rows
    and 600 columns with p = 150 and q = 10, has 2.9 million weights; 3 000 fully connected units have 54 million.

    Args:
        row_units: *p*, units per row.
        column_units: *q*, units per column.
        rows, columns: shape of the matrix.

    Call: ``(matrix) -> features`` with matrix (batch, rows, columns) and features (batch, rows * row_units + columns *
    column_units).
    """

    def __init__(self, row_units: int, column_units: int, *, rows: int, columns: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._shape = rows, columns
        with self.name_scope():
            self.row_weight = self.params.get("row_weight", shape=(rows * row_units, columns))
            self.row_bias = self.params.get("row_bias", shape=(rows * row_units,), init="zeros")
            self.column_weight = self.params.get("column_weight", shape=(columns * column_units, rows))
            self.column_bias = self.params.get("column_bias", shape=(columns * column_units,), init="zeros")

    def hybrid_forward(
        self,
        F: Operators,
        matrix: Tensor,
        row_weight: Tensor,
        row_bias: Tensor,
        column_weight: Tensor,
        column_bias: Tensor,
    ) -> Tensor:
        rows, columns = self._shape
        by_row = F.transpose(matrix, axes=(1, 0, 2))  # (rows, batch, columns)
        by_column = F.transpose(matrix, axes=(2, 0, 1))  # (columns, batch, rows)
        of_rows = F.batch_dot(by_row, F.reshape(row_weight, (rows, -1, columns)), transpose_b=True)
        of_columns = F.batch_dot(by_column, F.reshape(column_weight, (columns, -1, rows)), transpose_b=True)
        features = F.concat(
            *(F.reshape(F.transpose(one, axes=(1, 0, 2)), (0, -3)) for one in (of_rows, of_columns)), dim=1
        )
        bias = F.concat(row_bias, column_bias, dim=0)
        return F.Activation(F.broadcast_add(features, F.expand_dims(bias, axis=0)), act_type="relu")
