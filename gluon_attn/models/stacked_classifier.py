"""A stack of bidirectional recurrent layers, attention and max pooling, and a dense layer."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn

from gluon_attn.attention.masks import token_mask
from gluon_attn.attention.pooling import AttentionPooling, max_pooling
from gluon_attn.layers.encoders import BidirectionalEncoder
from gluon_attn.models.outputs import Classifier
from gluon_attn.typing import Operators, Tensor


class StackedClassifier(Classifier):
    """Attention and max pooling of recurrent states, and a dense layer. Results do not depend on padding.

    Args:
        vocabulary_size: number of tokens.
        embedding_units: width of an embedding.
        cell: ``gru`` or ``lstm``.
        units: width of one direction.
        layers: number of recurrent layers.
        attention_units: width of the hidden layer of the attention pooling.
        classes: number of labels.
        embedding_dropout: dropout rate of the embeddings.
        dropout: dropout rate between the recurrent layers and before the dense layer.
        embedding: maps ids to vectors (batch, length, embedding_units); a plain ``Embedding`` if None.

    Call: ``(ids, valid_length) -> ClassifierOutput``: ids (batch, length, ...) of int32, valid_length (batch,); logits
    and weights.
    """

    outputs = ("weights",)

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_units: int,
        cell: str,
        units: int,
        layers: int,
        attention_units: int,
        classes: int,
        embedding_dropout: float,
        dropout: float,
        embedding: HybridBlock | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            if embedding is None:
                embedding = nn.Embedding(vocabulary_size, embedding_units, sparse_grad=True)
            self.embedding = embedding
            self.embedding_dropout = nn.Dropout(embedding_dropout)
            self.encoder = BidirectionalEncoder(cell, units, layers, embedding_units, dropout)
            self.pooling = AttentionPooling(attention_units, in_units=2 * units)
            self.dropout = nn.Dropout(dropout)
            self.output = nn.Dense(classes, in_units=4 * units)

    def hybrid_forward(self, F: Operators, ids: Tensor, valid_length: Tensor) -> tuple[Tensor, Tensor]:
        states, _ = self.encoder(self.embedding_dropout(self.embedding(ids)), valid_length)
        mask = token_mask(F, states, valid_length)
        context, weights = self.pooling(states, mask)
        pooled = F.concat(context, max_pooling(F, states, mask), dim=1)
        return self.output(self.dropout(pooled)), weights
