"""Text classifiers around one self-attention layer over a bidirectional GRU, with and without the attention.

``AsWritten`` is the network of the GluonNLP post on the attention API (Korean, Naver reviews), the others are the
baselines for its claims. ``AsWritten`` is called with ``(ids,)``, ``Masked`` with ``(ids, valid_length)``: ids (batch,
length) of int32, valid_length (batch,). Both return logits and, with attention, the matrix.
"""

from __future__ import annotations

from typing import Any

from gluonnlp.model import AttentionCell
from mxnet.gluon import nn, rnn

from gluon_attn.attention.masks import memory_mask, token_mask
from gluon_attn.attention.pooling import mean_pooling
from gluon_attn.errors import UsageError
from gluon_attn.layers.encoders import BidirectionalEncoder
from gluon_attn.models.outputs import Classifier
from gluon_attn.typing import Operators, Tensor, Tensors


class AsWritten(Classifier):
    """Embedding, dropout, bidirectional GRU, self-attention, and a dense layer over all positions of a fixed length.

    As in the post, padding is not masked: the GRU reads it, the softmax gives it weight, and the dense layer has
    weights for it. The network therefore works for one length only.

    Args:
        vocabulary_size: number of tokens.
        embedding_units: width of an embedding.
        units: width of one direction of the GRU.
        length: the fixed length of a review in tokens.
        classes: number of labels.
        dropout: dropout rate of the embeddings.
        attention: an attention cell, or None for no attention.
    """

    outputs = ("matrix",)

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_units: int,
        units: int,
        length: int,
        classes: int,
        dropout: float,
        attention: AttentionCell | None,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.embedding = nn.Embedding(vocabulary_size, embedding_units, sparse_grad=True)
            self.dropout = nn.Dropout(dropout)
            self.encoder = rnn.GRU(units, bidirectional=True, input_size=embedding_units)
            self.attention = attention
            self.output = nn.Dense(classes, in_units=length * 2 * units)

    def hybrid_forward(self, F: Operators, ids: Tensor) -> Tensors:
        embedded = self.dropout(self.embedding(ids))
        states = self.encoder(F.transpose(embedded, axes=(1, 0, 2)))
        states = F.transpose(states, axes=(1, 0, 2))
        if self.attention is None:
            return (self.output(states),)
        context, weights = self.attention(states, states)
        return self.output(context), weights


class Masked(Classifier):
    """The same network with masked padding and pooled positions, for texts of any length.

    Args:
        pooling: input of the dense layer: ``attention``, the mean of the self-attention's contexts over the tokens;
            ``mean``, the mean of the GRU's states; ``last``, the last state of each direction.
        vocabulary_size, embedding_units, units, classes, dropout, attention: as in :class:`AsWritten`.

    Raises:
        UsageError: if the pooling is unknown, or has no attention cell.
    """

    outputs = ("matrix",)

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_units: int,
        units: int,
        classes: int,
        dropout: float,
        pooling: str,
        attention: AttentionCell | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        if pooling not in ("attention", "mean", "last"):
            raise UsageError(f"pooling {pooling!r} is unknown; choose attention, mean or last")
        if pooling == "attention" and attention is None:
            raise UsageError("pooling 'attention' needs an attention cell; choose one, or pooling 'mean'")
        self._pooling = pooling
        with self.name_scope():
            self.embedding = nn.Embedding(vocabulary_size, embedding_units, sparse_grad=True)
            self.dropout = nn.Dropout(dropout)
            self.encoder = BidirectionalEncoder("gru", units, layers=1, in_units=embedding_units)
            self.attention: Any = attention
            self.output = nn.Dense(classes, in_units=2 * units)

    def hybrid_forward(self, F: Operators, ids: Tensor, valid_length: Tensor) -> Tensors:
        states, last = self.encoder(self.dropout(self.embedding(ids)), valid_length)
        mask = token_mask(F, states, valid_length)
        if self._pooling == "last":
            return (self.output(last),)
        if self._pooling == "mean":
            return (self.output(mean_pooling(F, states, mask)),)
        context, weights = self.attention(states, states, None, memory_mask(F, states, mask))
        return self.output(mean_pooling(F, context, mask)), weights
