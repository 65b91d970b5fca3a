"""Models around the long short-term memory-network (Cheng, Dong and Lapata, 2016, "Long short-term memory-networks for
machine reading"): of language (sec. 5.1) and of sentiment (sec. 5.2), each also with a plain LSTM in its place."""

from __future__ import annotations

from typing import Any

from mxnet import autograd, nd
from mxnet.gluon import HybridBlock, nn, rnn
from mxnet.initializer import LSTMBias, Uniform

from gluon_attn.attention.intra import LSTMN, Arrays
from gluon_attn.attention.masks import token_mask
from gluon_attn.attention.pooling import mean_pooling
from gluon_attn.graphs import Graphs

NO_TARGET = -1
"""Stands where a stream has no word to predict. No vocabulary needs a token for it."""


class FusedLSTM(HybridBlock):
    """MXNet's fused LSTM layer, read as :class:`LSTMN` is: what its intra-attention must be held against. Its forget
    gate begins as open as that one's.

    Args:
        units: width of h and of c.
        in_units: width of a word.
    """

    def __init__(self, units: int, in_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.units = units
        with self.name_scope():
            self.lstm = rnn.LSTM(units, input_size=in_units, i2h_bias_initializer=LSTMBias(1.0))

    def state_shapes(self, batch: int) -> tuple[tuple[int, ...], ...]:
        """Shapes of h and of c after the last step, (batch, units) each; zeros before the first word."""
        return (batch, self.units), (batch, self.units)

    def read(self, F: Any, sequence: Any, steps: int, state: Arrays | None = None) -> tuple[Any, None, Arrays]:
        """As :meth:`LSTMN.read`, without weights."""
        sequence = F.transpose(sequence, axes=(1, 0, 2))  # the fused layers run time first
        if state is None:
            return F.transpose(self.lstm(sequence), axes=(1, 0, 2)), None, ()
        states, last = self.lstm(sequence, [F.expand_dims(array, axis=0) for array in state])
        after = tuple(F.BlockGrad(F.reshape(array, (-3, 0))) for array in last)
        return F.transpose(states, axes=(1, 0, 2)), None, after


Reader = LSTMN | FusedLSTM


class LanguageModel(HybridBlock):
    """p(next word | words before), in calls of some steps that carry their state: truncated backpropagation in time.

    Args:
        vocabulary_size: number of words.
        embedding_units: width of an embedding.
        reader: reads embeddings; :class:`LSTMN` or :class:`FusedLSTM`.
        dropout: dropout of the embeddings and of the states.
        tied: the output layer's weights are the embeddings; needs ``embedding_units == reader.units``.

    Call: ``(inputs, targets, *state) -> (loss, nll, *state)``: inputs and targets (batch, steps) of int32, state what
    :meth:`start` or the call before gave; nll (batch, steps) is -ln p of each target in nats, 0 for ``NO_TARGET``, and
    loss the same. No gradient flows back into a state that is given. What has no target stands at the end of a stream,
    behind any word: it changes nothing before it, but the state behind it means nothing.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_units: int,
        reader: Reader,
        dropout: float = 0.0,
        tied: bool = False,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        if tied and reader.units != embedding_units:
            raise ValueError(f"tied weights need equal widths, not {reader.units} and {embedding_units} units")
        self._graphs = Graphs(self)
        with self.name_scope():
            self.embedding = nn.Embedding(
                vocabulary_size, embedding_units, weight_initializer=Uniform(0.1), sparse_grad=not tied
            )
            self.dropout = nn.Dropout(dropout)
            self.reader = reader
            self.output = nn.Dense(
                vocabulary_size,
                flatten=False,
                in_units=reader.units,
                params=self.embedding.params if tied else None,
            )

    def start(self, batch: int) -> tuple[nd.NDArray, ...]:
        """The state before the first word."""
        return tuple(nd.zeros(shape) for shape in self.reader.state_shapes(batch))

    def forward(self, inputs: nd.NDArray, targets: nd.NDArray, *state: nd.NDArray) -> tuple[nd.NDArray, ...]:
        carried = [array.detach() for array in state]
        found: tuple[nd.NDArray, ...] = self._graphs(self._losses, inputs, targets, *carried, steps=inputs.shape[1])
        return found

    def attend(self, inputs: nd.NDArray, *state: nd.NDArray) -> tuple[nd.NDArray, ...]:
        """Weights (batch, steps, window) of :meth:`LSTMN.read`, what each word looks at, and the state after.

        Raises:
            TypeError: the model reads with a plain LSTM.
        """
        if not isinstance(self.reader, LSTMN):
            raise TypeError("a plain LSTM looks at nothing; only an LSTMN has weights")
        found: tuple[nd.NDArray, ...] = self._graphs(self._weights, inputs, *state, steps=inputs.shape[1])
        return found

    def _losses(self, F: Any, inputs: Any, targets: Any, *state: Any, steps: int) -> Arrays:
        states, _, after = self.reader.read(F, self._embedded(inputs), steps, state)
        log_p = F.log_softmax(self.output(self.dropout(states)), axis=-1)
        # Where there is no target, `pick` takes the first word's.
        nll = -F.pick(log_p, targets, axis=-1) * (F.cast(targets, "float32") != NO_TARGET)
        return nll, nll, *after

    def _weights(self, F: Any, inputs: Any, *state: Any, steps: int) -> Arrays:
        _, weights, after = self.reader.read(F, self._embedded(inputs), steps, state)
        return weights, *after

    def _embedded(self, ids: Any) -> Any:
        return self.dropout(self.embedding(ids))


class SentenceClassifier(HybridBlock):
    """The mean of the states of a sentence, one hidden layer of rectified units, and a softmax (sec. 5.2).

    Args:
        vocabulary_size: number of words.
        embedding_units: width of an embedding.
        reader: reads embeddings; :class:`LSTMN` or :class:`FusedLSTM`.
        hidden_units: width of the hidden layer.
        classes: number of labels.
        embedding_dropout: dropout of the embeddings.
        dropout: dropout before both dense layers.

    Call: ``(ids, valid_length) -> (logits, weights)``, in training and where the reader has none without weights, which
    cost time: ids (batch, length) of int32, valid_length (batch,), logits (batch, classes), weights (batch, length,
    length), in row t what word t looks at: words before it, the first one at none; 0 on padding.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_units: int,
        reader: Reader,
        hidden_units: int,
        classes: int,
        embedding_dropout: float = 0.0,
        dropout: float = 0.0,
        **parameters: Any,
    ) -> None:
        super().__init__(**parameters)
        self._graphs = Graphs(self)
        with self.name_scope():
            self.embedding = nn.Embedding(vocabulary_size, embedding_units, sparse_grad=True)
            self.embedding_dropout = nn.Dropout(embedding_dropout)
            self.reader = reader
            self.dropout = nn.Dropout(dropout)
            self.hidden = nn.Dense(hidden_units, activation="relu", in_units=reader.units)
            self.output = nn.Dense(classes, in_units=hidden_units)

    def forward(self, ids: nd.NDArray, valid_length: nd.NDArray) -> tuple[nd.NDArray, ...]:
        method = self._logits if autograd.is_training() else self._logits_and_weights
        found: tuple[nd.NDArray, ...] = self._graphs(method, ids, valid_length, steps=ids.shape[1])
        return found

    def _logits(self, F: Any, ids: Any, valid_length: Any, *, steps: int) -> Arrays:
        return self._logits_and_weights(F, ids, valid_length, steps=steps)[:1]

    def _logits_and_weights(self, F: Any, ids: Any, valid_length: Any, *, steps: int) -> Arrays:
        embedded = self.embedding_dropout(self.embedding(ids))
        states, weights, _ = self.reader.read(F, embedded, steps)
        mask = token_mask(F, states, valid_length)
        logits = self.output(self.dropout(self.hidden(self.dropout(mean_pooling(F, states, mask)))))
        if weights is None:
            return (logits,)
        looked = by_word(F, weights, steps, self.reader.window)
        return logits, F.broadcast_mul(looked, F.expand_dims(mask, axis=2))


def by_word(F: Any, weights: Any, steps: int, window: int) -> Any:
    """Weights of :meth:`LSTMN.read`, (batch, steps, window), as (batch, steps, steps): in row t those of each word.

    Step t has the word of step i at place i - t + window. Written on end and cut anew into rows that are one shorter,
    row t stands t places further to the right, and the word of step i at place i + window of every row.
    """
    nothing = F.zeros_like(F.slice_axis(weights, axis=2, begin=0, end=1))
    on_end = F.concat(weights, F.broadcast_axis(nothing, axis=2, size=steps + 1), dim=2).reshape((0, -3))
    shifted = F.slice_axis(on_end, axis=1, begin=0, end=steps * (window + steps)).reshape((0, steps, -1))
    return F.slice_axis(shifted, axis=2, begin=window, end=None)
