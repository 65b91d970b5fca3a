"""BERT (Devlin et al., 2019, "BERT: Pre-training of deep bidirectional Transformers for language understanding").

    x_t = LayerNorm(E_token[t] + E_segment[t] + E_position[t])              input (Figure 2)
    H = encoder layers of x                                                 post-norm, GELU, with biases
    p(token_t) = softmax(E_token LayerNorm(gelu(W h_t + b)) + c)            masked tokens (Task 1)
    p(pair) = softmax(V tanh(W' h_1 + b'))                                  h_1: state of the first token (Task 2)

The output layer, and what follows attention in the last layer, are computed for predicted tokens and first tokens only.
With ``causal``, a token attends to itself and to the tokens before it, and predicts the next one: the left-to-right
network of Table 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mxnet import nd
from mxnet.gluon import HybridBlock, nn
from mxnet.initializer import Normal

from gluon_attn.attention.masks import additive_mask, causal_mask, heads_mask, token_mask
from gluon_attn.errors import UsageError, check_layers
from gluon_attn.layers.encoders import BidirectionalEncoder
from gluon_attn.layers.normalization import LayerNorm
from gluon_attn.layers.transformer import EncoderLayer
from gluon_attn.models.outputs import Classifier, PretrainingOutput
from gluon_attn.typing import Operators, Tensor, Tensors

DEVIATION = 0.02
"""Standard deviation of the initial embeddings, as in the authors' code."""

POOLINGS = ("first", "last", "lstm")


class Bert(HybridBlock):
    """BERT's encoder.

    Args:
        vocabulary_size: number of tokens.
        units: width, *H*.
        layers: number of layers, *L*.
        heads: number of heads, *A*.
        hidden_units: width of the feed-forward layers.
        length: number of positions; MXNet raises an error for longer texts.
        dropout: dropout rate of the embeddings and of the output of every sublayer; the authors' code also drops
            weights of attention.
        causal: whether a token attends only to itself and to the tokens before it.

    Call: ``(ids, segments, valid_length) -> (states, weights)`` with ids and segments (batch, length) of int32,
    valid_length (batch,) of float32, from 1 to length and not checked here, states (length, batch, units), weights of
    the last layer (batch * heads, length, length).

    Raises:
        UsageError: if there are no layers, or if ``units`` is not a multiple of ``heads``.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        units: int,
        layers: int,
        heads: int,
        hidden_units: int,
        length: int,
        dropout: float = 0.0,
        causal: bool = False,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        check_layers(layers)
        self._heads, self._causal = heads, causal
        normal = Normal(DEVIATION)
        with self.name_scope():
            self.token = nn.Embedding(vocabulary_size, units, weight_initializer=normal)
            self.segment = nn.Embedding(2, units, weight_initializer=normal)
            self.position = self.params.get("position", shape=(length, 1, units), init=normal)
            self.norm = LayerNorm(units)
            self.dropout = nn.Dropout(dropout)
            self.layers = nn.HybridSequential()
            for _ in range(layers):
                self.layers.add(
                    EncoderLayer(
                        units=units,
                        heads=heads,
                        hidden_units=hidden_units,
                        activation="gelu",
                        dropout=dropout,
                        bias=True,
                    )
                )

    def hybrid_forward(
        self, F: Operators, ids: Tensor, segments: Tensor, valid_length: Tensor, position: Tensor
    ) -> tuple[Tensor, Tensor]:
        (states,), weights = self._read(F, ids, segments, valid_length, position)
        return states, weights[-1]

    def at(
        self, F: Operators, ids: Tensor, segments: Tensor, valid_length: Tensor, *places: Tensor
    ) -> tuple[Tensors, Tensor]:
        """The states at some places only, which takes a fraction of the time of the last layer.

        Args:
            F: ``mxnet.nd`` or ``mxnet.sym``.
            ids, segments, valid_length: as in a call.
            places: each (places,), the index ``position * batch + row`` of a token.

        Returns:
            the states (places, units) at each of the places, and the weights of a call.
        """
        position = self.position.data() if F is nd else self.position.var()
        states, weights = self._read(F, ids, segments, valid_length, position, places)
        return states, weights[-1]

    def attend(self, ids: nd.NDArray, segments: nd.NDArray, valid_length: nd.NDArray) -> Tensors:
        """Return the attention weights of each layer, (batch, heads, length, length)."""
        _, weights = self._read(nd, ids, segments, valid_length, self.position.data())
        return tuple(nd.reshape(each, (-4, -1, self._heads, 0, 0)) for each in weights)

    def _read(
        self,
        F: Operators,
        ids: Tensor,
        segments: Tensor,
        valid_length: Tensor,
        position: Tensor,
        places: Sequence[Tensor] = (),
    ) -> tuple[Tensors, list[Tensor]]:
        """Return the states, or those at each of the places, and the weights of each layer."""
        x = self.token(F.transpose(ids)) + self.segment(F.transpose(segments))
        x = self.dropout(self.norm(F.broadcast_add(x, F.slice_like(position, x, axes=(0,)))))
        mask = self._mask(F, x, valid_length)
        weights = []
        *before, last = self.layers
        for layer in before:
            x, of_layer = layer(x, mask)
            weights.append(of_layer)
        if places:
            states, of_last = last.at(F, x, mask, places)
        else:
            x, of_last = last(x, mask)
            states = (x,)
        return states, [*weights, of_last]

    def _mask(self, F: Operators, x: Tensor, valid_length: Tensor) -> Tensor:
        """Additive mask of the scores, (batch * heads, length, length)."""
        visible = heads_mask(F, x, token_mask(F, F.swapaxes(x, 0, 1), valid_length), self._heads)
        return additive_mask(F.broadcast_mul(visible, causal_mask(F, x)) if self._causal else visible)


class BertForPretraining(HybridBlock):
    """Prediction of masked tokens, and of whether two texts belong together.

    Args:
        bert: the encoder.
        vocabulary_size, units: sizes of the encoder.
        pairs: whether to train the second task as well.

    Call: ``(ids, segments, valid_length, places, targets, together) -> PretrainingOutput`` with the inputs of
    :class:`Bert`; places (predictions,) of int32, the index ``position * batch + row`` of each state that predicts;
    targets (predictions,), the tokens to predict; together (batch,), 1 for texts that belong together, otherwise 0.
    Without ``pairs``, the last input is left out.
    """

    def __init__(self, bert: Bert, *, vocabulary_size: int, units: int, pairs: bool = True, **parameters: Any) -> None:
        super().__init__(**parameters)
        self._size, self._pairs = vocabulary_size, pairs
        with self.name_scope():
            self.bert = bert
            self.transform = nn.Dense(units, flatten=False, in_units=units)
            self.norm = LayerNorm(units)
            self.vocabulary = bert.token.weight  # tied
            self.bias = self.params.get("bias", shape=(vocabulary_size,), init="zeros")
            if pairs:
                self.pooler = pooler(units)
                self.pair = nn.Dense(2, in_units=units)

    def __call__(self, *inputs: Tensor) -> PretrainingOutput:
        outputs = super().__call__(*inputs)
        return PretrainingOutput(*outputs) if isinstance(outputs, (list, tuple)) else PretrainingOutput(outputs)

    def hybrid_forward(
        self,
        F: Operators,
        ids: Tensor,
        segments: Tensor,
        valid_length: Tensor,
        places: Tensor,
        targets: Tensor,
        together: Tensor | None = None,
        *,
        vocabulary: Tensor,
        bias: Tensor,
    ) -> Tensors | Tensor:
        first = [F.contrib.arange_like(valid_length, axis=0)] if self._pairs else []
        (states, *first_states), _ = self.bert.at(F, ids, segments, valid_length, places, *first)
        log_p = F.log_softmax(self._logits(F, states, vocabulary, bias), axis=-1)
        losses = -F.pick(log_p, targets, axis=-1)
        if not self._pairs:
            return losses
        logits = self.pair(self.pooler(*first_states))
        return losses, -F.pick(F.log_softmax(logits, axis=-1), together, axis=-1), logits

    def _logits(self, F: Operators, states: Tensor, vocabulary: Tensor, bias: Tensor) -> Tensor:
        features = self.norm(F.LeakyReLU(self.transform(states), act_type="gelu"))
        return F.FullyConnected(features, vocabulary, bias, num_hidden=self._size, flatten=False)

    def predict(self, ids: Tensor, segments: Tensor, valid_length: Tensor, places: Tensor) -> Tensor:
        """Return the probability of each token at the given places, (predictions, vocabulary), without gradients."""
        (states,), _ = self.bert.at(nd, ids, segments, valid_length, places)
        return nd.softmax(self._logits(nd, states, self.vocabulary.data(), self.bias.data()), axis=-1)


class BertClassifier(Classifier):
    """A classifier of single texts on top of the encoder.

    Args:
        bert: the encoder, which reads ``<cls> text <sep>``.
        units: width of the encoder.
        heads: heads of the encoder's layers.
        classes: number of labels.
        pooling: features of the classifier: ``first``, the pooled state of the first token, as in the paper; ``last``,
            the state of the last token, for a causal encoder; ``lstm``, the final states of a bidirectional LSTM over
            all states, with half the width in each direction.
        dropout: dropout rate before the dense layer.

    Call: ``(ids, valid_length) -> ClassifierOutput``: ids (batch, length) of int32 and valid_length (batch,), both
    including special tokens; logits, and with ``first`` weights (batch, length - 1): the attention of the first token
    in the last layer, averaged over the heads and restricted to the tokens of the text.

    Raises:
        UsageError: if ``pooling`` is unknown.
    """

    outputs = ("weights",)

    def __init__(
        self,
        bert: Bert,
        *,
        units: int,
        heads: int,
        classes: int,
        pooling: str = "first",
        dropout: float = 0.0,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        if pooling not in POOLINGS:
            raise UsageError(f"pooling {pooling!r} is unknown; choose one of {', '.join(POOLINGS)}")
        self._pooling, self._heads = pooling, heads
        with self.name_scope():
            self.bert = bert
            if pooling == "lstm":
                self.reader = BidirectionalEncoder("lstm", units // 2, 1, units)
            else:
                self.pooler = pooler(units)
            self.dropout = nn.Dropout(dropout)
            self.output = nn.Dense(classes, in_units=units, weight_initializer=Normal(DEVIATION))

    @property
    def token_embedding(self) -> nn.Embedding:
        return self.bert.token

    def hybrid_forward(self, F: Operators, ids: Tensor, valid_length: Tensor) -> Tensors:
        inputs = ids, F.zeros_like(ids), valid_length
        if self._pooling == "first":
            (first,), weights = self.bert.at(F, *inputs, F.contrib.arange_like(valid_length, axis=0))
            pooled = self.pooler(first)
        elif self._pooling == "lstm":
            states, weights = self.bert(*inputs)
            _, pooled = self.reader(F.swapaxes(states, 0, 1), valid_length)
        else:
            states, weights = self.bert(*inputs)
            pooled = self.pooler(F.SequenceLast(states, valid_length, use_sequence_length=True))
        logits = self.output(self.dropout(pooled))
        return (logits, self._of_text(F, weights, valid_length)) if self._pooling == "first" else (logits,)

    def _of_text(self, F: Operators, weights: Tensor, valid_length: Tensor) -> Tensor:
        first = F.reshape(F.slice_axis(weights, axis=1, begin=0, end=1), (-4, -1, self._heads, -3))
        others = F.slice_axis(F.mean(first, axis=1), axis=1, begin=1, end=None)
        others = others * token_mask(F, others, valid_length - 2)
        return F.broadcast_div(others, F.sum(others, axis=1, keepdims=True) + 1e-12)


def pooler(units: int) -> nn.Dense:
    """The pooler, tanh(W h + b)."""
    return nn.Dense(units, activation="tanh", in_units=units)
