"""The structured self-attentive sentence embedding as a classifier (Lin et al., 2017), and pooling as its baseline."""

from __future__ import annotations

from typing import Any

from mxnet import nd
from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import token_mask
from gluon_attn.attention.pooling import max_pooling, mean_pooling
from gluon_attn.attention.structured import StructuredAttention, redundancy_penalty
from gluon_attn.layers.encoders import BidirectionalEncoder
from gluon_attn.layers.graphs import Graphs
from gluon_attn.models.outputs import Classifier
from gluon_attn.typing import Operators, Tensor, Tensors

_WITHOUT_ATTENTION = {"mean": mean_pooling, "max": max_pooling}


class StructuredClassifier(Classifier):
    """Embedding, bidirectional recurrent layers, r hops of attention (or mean, or maximum), a hidden layer, classes.

    Args:
        vocabulary_size: number of tokens.
        embedding_units: width of an embedding.
        cell: ``lstm`` (the paper's) or ``gru``.
        units: width of one direction, *u*.
        layers: number of recurrent layers.
        hops: rows of the attention, *r*; 0 for none.
        attention_units: width of the hidden layer of the attention, *d_a*; 0 without attention.
        pooling: what replaces attention when ``hops`` is 0: ``mean`` or ``max``.
        hidden: units of the layer before the classes: a number, fully connected; two, *p* and *q* of
            :class:`PrunedLayer`; or 0 for no such layer.
        classes: number of labels.
        embedding_dropout: dropout of the embeddings.
        dropout: dropout between recurrent layers and before each layer after the pooling.
        masked: whether pooling excludes padding. If not, the softmax gives weight to padding, and mean and maximum
            include its states: an ablation.
        embedding: maps ids to vectors (batch, length, embedding_units); an ``Embedding`` of one vector a token if None.

    Call: ``(tokens, lengths) -> ClassifierOutput``: tokens (batch, length, ...) of int32, lengths (batch,), 1 or more;
    logits, and with attention hops and the penalty of :func:`redundancy_penalty`.

    Raises:
        ValueError: hops, pooling and hidden are inconsistent.
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
            raise ValueError(
                f"{hops} hops and pooling {pooling!r}: give hops and no pooling, or 0 hops and mean or max"
            )
        if isinstance(hidden, tuple) and not hops:
            raise ValueError(f"a pruned layer {hidden} needs rows to share; without attention give one number or 0")
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
    """A hidden layer over a matrix with connections within a row or within a column only (appendix A).

    Each of the r rows has p units of its own and each of the columns has q, all rectified. The paper's size for Yelp,
    30 rows and 600 columns, p = 150 and q = 10, has 2.9 million weights; 3 000 units fully connected have 54 million.

    Args:
        row_units: *p*, units of a row.
        column_units: *q*, units of a column.
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
