"""The long short-term memory-network (LSTMN; Cheng, Dong and Lapata, 2016, "Long short-term memory-networks for machine
reading"), the LSTM that it is compared with, and the classifier of sec. 5.2, which uses either of them. The language
model of sec. 5.1 is :class:`~gluon_attn.models.language_model.LanguageModel`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mxnet import autograd, nd
from mxnet.gluon import HybridBlock, nn, rnn
from mxnet.initializer import LSTMBias

from gluon_attn.attention.intra import IntraAttention
from gluon_attn.attention.masks import additive_mask, token_mask
from gluon_attn.attention.pooling import mean_pooling
from gluon_attn.errors import UsageError
from gluon_attn.layers.cells import StepLSTM, unstack
from gluon_attn.layers.graphs import Graphs
from gluon_attn.models.outputs import Classifier
from gluon_attn.typing import Operators, Tensor, Tensors


class LSTMN(HybridBlock):
    """LSTMN: an LSTM whose previous state is replaced by a weighted sum of all previous states.

        [h~_t; c~_t] = sum of weights_i [h_i; c_i]      i, f, o = sigmoid(W [h~_t, x_t] + b)    g = tanh(same)
        c_t = f c~_t + i g    h_t = o tanh(c_t)         (eq. 6 to 9; h~ and c~ are 0 before the first word)

    The paper's tape holds all previous states; here it holds the last ``window`` states, so that the cost of a step
    does not depend on the length of the stream. If the window is at least as long as the text, the networks are equal.

    W_x x and the projections of the words for the gates are computed once for all steps, W_h h_i once per state.

    Args:
        units: width of h and of c.
        in_units: width of a word vector.
        window: number of states on the tape.
        attention_units: width of the hidden layer of the attention; ``units`` if None.

    Raises:
        UsageError: if ``window`` is below 1.
    """

    def __init__(
        self, units: int, in_units: int, window: int = 15, attention_units: int | None = None, **parameters: Any
    ) -> None:
        super().__init__(**parameters)
        if window < 1:
            raise UsageError(f"window must be 1 or more, not {window}")
        self.units, self.window = units, window
        with self.name_scope():
            self.attention = IntraAttention(attention_units or units, in_units, units)
            self.lstm = StepLSTM(units, in_units)

    def state_shapes(self, batch: int) -> tuple[tuple[int, ...], ...]:
        """Shapes of the state that :meth:`unroll` carries; zeros are the state before the first word.

        They are the tape (batch, window, 2 * units) of [h; c], the latest last; a 0/1 mask (batch, window) of the
        memories that it holds so far; and h~ of the last step (batch, units).
        """
        return (batch, self.window, 2 * self.units), (batch, self.window), (batch, self.units)

    def unroll(
        self, F: Operators, sequence: Tensor, steps: int, state: Tensors | None = None
    ) -> tuple[Tensor, Tensor, Tensors]:
        """Read ``steps`` words.

        Args:
            F: ``mxnet.nd`` or ``mxnet.sym``.
            sequence: (batch, steps, in_units).
            steps: number of words.
            state: state from the previous call, or None before the first word.

        Returns:
            states h (batch, steps, units); weights (batch, steps, window); and the state after the last word, empty if
            None was given. Position j of the weights of step t is the weight of the memory of step t - window + j, so
            the last position is the previous word; it is 0 if there is no such memory. No gradient flows through the
            weights and the returned state.
        """
        words = unstack(F, self.attention.words(sequence), steps)
        inputs = unstack(F, self.lstm.inputs(sequence), steps)
        if state is None:
            hidden, weights, after = self._unroll_from_the_start(F, words, inputs)
        else:
            hidden, weights, after = self._unroll_from_a_state(F, words, inputs, state)
        # Detached: otherwise the backward pass would propagate zero gradients through the whole graph.
        detached = F.BlockGrad(F.stack(*weights, axis=1)), tuple(F.BlockGrad(array) for array in after)
        return F.stack(*hidden, axis=1), *detached

    def _unroll_from_the_start(
        self, F: Operators, words: Sequence[Tensor], inputs: Sequence[Tensor]
    ) -> tuple[list[Tensor], list[Tensor], Tensors]:
        """Return hidden states and weights of each step. The tape grows with each word until it is full."""
        zero = F.zeros_like(F.slice_axis(words[0], axis=1, begin=0, end=1))  # (batch, 1)
        attended = F.broadcast_axis(zero, axis=1, size=self.units)
        # The first word has no memory, so it attends to a memory of zeros with a weight of 0.
        tape = F.expand_dims(F.concat(attended, attended, dim=1), axis=1)
        keys = self.attention.keys(F.slice_axis(tape, axis=2, begin=0, end=self.units))
        hidden, weights = [], []
        for t, (word, gates) in enumerate(zip(words, inputs, strict=True)):
            step_weights, attended, h, memory = self._step(F, word, gates, attended, tape, keys)
            if t == 0:
                step_weights = step_weights * zero
            if (missing := self.window - max(t, 1)) > 0:
                step_weights = F.concat(F.broadcast_axis(zero, axis=1, size=missing), step_weights, dim=1)
            hidden.append(h)
            weights.append(step_weights)
            key = F.expand_dims(self.attention.keys(h), axis=1)
            memories = min(t, self.window)
            tape, keys = self._appended(F, tape, memory, memories), self._appended(F, keys, key, memories)
        return hidden, weights, ()

    def _unroll_from_a_state(
        self, F: Operators, words: Sequence[Tensor], inputs: Sequence[Tensor], state: Tensors
    ) -> tuple[list[Tensor], list[Tensor], Tensors]:
        """Return hidden states, weights, and the final state. The tape has a fixed length; a mask marks its entries."""
        tape, mask, attended = state
        steps = len(words)
        zero = F.zeros_like(F.slice_axis(words[0], axis=1, begin=0, end=1))
        # Memories on the tape, followed by those of this call: step t sees the positions t to t + window.
        mask = F.concat(mask, F.broadcast_axis(zero + 1.0, axis=1, size=steps), dim=1)
        masking = additive_mask(mask)
        keys = self.attention.keys(F.slice_axis(tape, axis=2, begin=0, end=self.units))
        hidden, weights = [], []
        for t, (word, gates) in enumerate(zip(words, inputs, strict=True)):
            # From step `window` on, all memories are from this call, and none is masked.
            masked = (F.slice_axis(masking, axis=1, begin=t, end=t + self.window),) if t < self.window else ()
            step_weights, attended, h, memory = self._step(F, word, gates, attended, tape, keys, *masked)
            if t == 0:
                # The softmax over an empty tape is uniform; set it to zero.
                step_weights = step_weights * F.slice_axis(mask, axis=1, begin=0, end=self.window)
            hidden.append(h)
            weights.append(step_weights)
            key = F.expand_dims(self.attention.keys(h), axis=1)
            tape, keys = self._appended(F, tape, memory, self.window), self._appended(F, keys, key, self.window)
        return hidden, weights, (tape, F.slice_axis(mask, axis=1, begin=steps, end=None), attended)

    def _step(
        self, F: Operators, word: Tensor, gates: Tensor, attended: Tensor, tape: Tensor, keys: Tensor, *masking: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the weights over the tape, h~ and h of one step, and its memory [h; c] (batch, 1, 2 * units)."""
        weights = self.attention(word, attended, keys, *masking)
        # As a transposed column: a row would take a fifth longer.
        context = F.reshape(F.batch_dot(F.expand_dims(weights, axis=2), tape, transpose_a=True), (-3, 0))
        attended = F.slice_axis(context, axis=1, begin=0, end=self.units)
        h, c = self.lstm(gates, attended, F.slice_axis(context, axis=1, begin=self.units, end=None))
        return weights, attended, h, F.expand_dims(F.concat(h, c, dim=1), axis=1)

    def _appended(self, F: Operators, tape: Tensor, newest: Tensor, memories: int) -> Tensor:
        """Append the newest memory (batch, 1, units) to a tape (batch, memories, units); a full tape drops its oldest
        memory."""
        if min(memories, self.window - 1) == 0:
            return newest
        if memories == self.window:
            tape = F.slice_axis(tape, axis=1, begin=1, end=None)
        return F.concat(tape, newest, dim=1)


class FusedLSTM(HybridBlock):
    """MXNet's fused LSTM layer with the methods of :class:`LSTMN`: the baseline for its intra-attention. In both, the
    bias of the forget gate is initialised to 1.

    Args:
        units: width of h and of c.
        in_units: width of a word vector.
    """

    def __init__(self, units: int, in_units: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.units = units
        with self.name_scope():
            self.lstm = rnn.LSTM(units, input_size=in_units, i2h_bias_initializer=LSTMBias(1.0))

    def state_shapes(self, batch: int) -> tuple[tuple[int, ...], ...]:
        """Shapes of h and of c after the last step, (batch, units) each; zeros before the first word."""
        return (batch, self.units), (batch, self.units)

    def unroll(
        self, F: Operators, sequence: Tensor, steps: int, state: Tensors | None = None
    ) -> tuple[Tensor, None, Tensors]:
        """As :meth:`LSTMN.unroll`, without weights."""
        sequence = F.transpose(sequence, axes=(1, 0, 2))  # the fused layers run time first
        if state is None:
            return F.transpose(self.lstm(sequence), axes=(1, 0, 2)), None, ()
        states, last = self.lstm(sequence, [F.expand_dims(array, axis=0) for array in state])
        after = tuple(F.BlockGrad(F.reshape(array, (-3, 0))) for array in last)
        return F.transpose(states, axes=(1, 0, 2)), None, after


SequenceEncoder = LSTMN | FusedLSTM
"""An encoder of a sequence of embeddings, which can be called piece by piece with a state."""


class SentenceClassifier(Classifier):
    """Mean of the states of a sentence, one hidden layer with ReLU, and a softmax (sec. 5.2).

    Args:
        vocabulary_size: number of words.
        embedding_units: width of an embedding.
        encoder: encodes the embeddings; :class:`LSTMN` or :class:`FusedLSTM`.
        hidden_units: width of the hidden layer.
        classes: number of labels.
        embedding_dropout: dropout rate of the embeddings.
        dropout: dropout rate before both dense layers.

    Call: ``(ids, valid_length) -> ClassifierOutput``: ids (batch, length) of int32, valid_length (batch,); logits, and
    for an :class:`LSTMN` the matrix, whose row t has the weights of word t over the previous words, all 0 for the first
    word. The matrix takes time to compute and is left out in training.
    """

    outputs = ("matrix",)

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_units: int,
        encoder: SequenceEncoder,
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
            self.reader = encoder
            self.dropout = nn.Dropout(dropout)
            self.hidden = nn.Dense(hidden_units, activation="relu", in_units=encoder.units)
            self.output = nn.Dense(classes, in_units=hidden_units)

    def forward(self, ids: nd.NDArray, valid_length: nd.NDArray) -> tuple[nd.NDArray, ...]:
        method = self._logits if autograd.is_training() else self._logits_and_weights
        values: tuple[nd.NDArray, ...] = self._graphs(method, ids, valid_length, steps=ids.shape[1])
        return values

    def _logits(self, F: Operators, ids: Tensor, valid_length: Tensor, *, steps: int) -> Tensors:
        return self._logits_and_weights(F, ids, valid_length, steps=steps)[:1]

    def _logits_and_weights(self, F: Operators, ids: Tensor, valid_length: Tensor, *, steps: int) -> Tensors:
        embedded = self.embedding_dropout(self.embedding(ids))
        states, weights, _ = self.reader.unroll(F, embedded, steps)
        mask = token_mask(F, states, valid_length)
        logits = self.output(self.dropout(self.hidden(self.dropout(mean_pooling(F, states, mask)))))
        if weights is None:
            return (logits,)
        matrix = relative_to_absolute(F, weights, steps, self.reader.window)
        return logits, F.broadcast_mul(matrix, F.expand_dims(mask, axis=2))


def relative_to_absolute(F: Operators, weights: Tensor, steps: int, window: int) -> Tensor:
    """Convert weights of :meth:`LSTMN.unroll`, (batch, steps, window), to a matrix (batch, steps, steps), one column
    per word.

    In row t the word of step i is at position i - t + window. If the rows are flattened and cut again into rows shorter
    by one, row t moves t positions to the right, and the word of step i is at position i + window of every row.
    """
    zero = F.zeros_like(F.slice_axis(weights, axis=2, begin=0, end=1))
    flat = F.concat(weights, F.broadcast_axis(zero, axis=2, size=steps + 1), dim=2).reshape((0, -3))
    shifted = F.slice_axis(flat, axis=1, begin=0, end=steps * (window + steps)).reshape((0, steps, -1))
    return F.slice_axis(shifted, axis=2, begin=window, end=None)
