"""Image captioning with attention (Xu et al., 2015, "Show, attend and tell", sec. 3 and 4)."""

from __future__ import annotations

import math
from typing import Any

from mxnet import autograd, nd
from mxnet.gluon import nn
from mxnet.initializer import Constant

from gluon_attn.attention.additive import AdditiveScore
from gluon_attn.errors import UsageError
from gluon_attn.layers.cells import StepLSTM, unstack
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.outputs import TranslationOutput
from gluon_attn.typing import Operators, Tensor, Tensors

ATTENTIONS = ("soft", "hard", "random", "none")

_RANDOM_DEVIATION = 2.0
"""Standard deviation of the scores of random attention. Most of the weight is then on a few of 49 positions; learned
soft attention is far more diffuse."""
_MOVING = 0.9
"""Decay of the moving average of the baseline (sec. 4.1)."""
_SAMPLED = 0.5
"""Share of captions with sampled positions in training; the others use the expected context (sec. 4.1)."""


class ShowAttendTell(EncoderDecoder):
    """An LSTM generates a caption; before each word it attends to a grid of features, the annotations a_1 to a_L.

    For word t, with E y the embedding of the previous word:

        e_ti = v . tanh(W h_{t-1} + U a_i + b)     alpha_t = softmax over i      beta_t = sigmoid(g . h_{t-1})
        z_t = beta_t sum over i of s_ti a_i        h_t, c_t = LSTM([E y_{t-1}, h_{t-1}, z_t])
        p(y_t) = softmax(L_o (E y_{t-1} + L_h h_t + L_z z_t))      h_0, c_0 = tanh(linear maps of the mean a_i)

    - ``soft``: s_t = alpha_t (sec. 4.2). The loss includes the penalty of eq. 14 on the total weight of each position:
      lambda sum over i of (1 - sum over t of alpha_ti)^2.
    - ``hard``: s_t is a single position sampled from alpha_t and trained by REINFORCE (eq. 11 and 12), with the moving
      average b of the rewards as baseline and the entropy of alpha_t as an additional reward. The reward of a caption
      is ln p of its words divided by their number, so that one baseline serves captions of all lengths. For half of the
      captions in a batch s_t = alpha_t. Search uses the most probable position (``argmax``), or alpha_t.
    - ``random``: alpha_t is the softmax of normal noise, drawn for each word.
    - ``none``: the context of every word is the mean annotation.

    Args:
        attention: ``soft``, ``hard``, ``random`` or ``none``.
        channels: width of the features.
        annotation_units: width of an annotation, a linear map of the features followed by ReLU; None to use the
            features themselves.
        positions: number of grid positions, L.
        units: width of the LSTM.
        attention_units: width of the hidden layer of the attention.
        embedding_units: width of a word's embedding.
        penalty: lambda of the doubly stochastic penalty.
        reinforce, entropy: lambda_r and lambda_e of hard attention.
        argmax: whether search with hard attention uses the most probable position, instead of alpha_t.
        feature_dropout: dropout rate of the annotations and of the output layer's features.
        **common: arguments of :class:`EncoderDecoder`.

    Call: as in :class:`EncoderDecoder`; source is (batch, positions, channels) of float32, source_length is not used.
    The loss (batch, steps + 1) has one more column than words, for the terms that belong to a caption as a whole.

    Raises:
        UsageError: if the attention is unknown; when called, if the grid has another number of positions.
    """

    def __init__(
        self,
        *,
        attention: str,
        channels: int,
        annotation_units: int | None,
        positions: int,
        units: int,
        attention_units: int,
        embedding_units: int,
        penalty: float = 0.0,
        reinforce: float = 1.0,
        entropy: float = 0.0,
        argmax: bool = True,
        feature_dropout: float = 0.0,
        **common: Any,
    ) -> None:
        if attention not in ATTENTIONS:
            raise UsageError(f"attention {attention!r} is unknown; choose one of {', '.join(ATTENTIONS)}")
        super().__init__(
            source_vocabulary=None,
            source_units=channels,
            target_units=embedding_units,
            feature_units=embedding_units,
            **common,
        )
        width = annotation_units or channels
        self._attention, self._units, self._positions = attention, units, positions
        self._penalty, self._reinforce, self._entropy, self._argmax = penalty, reinforce, entropy, argmax
        with self.name_scope():
            self.annotation = (
                nn.Dense(width, activation="relu", flatten=False, in_units=channels) if annotation_units else None
            )
            self.annotation_dropout = nn.Dropout(feature_dropout)
            self.initial = nn.Dense(2 * units, activation="tanh", in_units=width)
            if attention in ("soft", "hard"):
                self.score = AdditiveScore(attention_units, query_units=units, memory_units=width)
            self.gate = nn.Dense(1, activation="sigmoid", in_units=units)
            self.lstm = StepLSTM(units, in_units=embedding_units, fed_units=width)
            self.of_state = nn.Dense(embedding_units, flatten=False, in_units=units)
            self.of_context = nn.Dense(embedding_units, use_bias=False, flatten=False, in_units=width)
            self.feature_dropout = nn.Dropout(feature_dropout)
            if attention == "hard":
                start = Constant(-math.log(common["target_vocabulary"]))
                self.baseline = self.params.get("baseline", shape=(1,), init=start, grad_req="null")

    def encode(self, F: Operators, source: Tensor, source_length: Tensor) -> tuple[Tensors, Tensors]:
        annotations = source if self.annotation is None else self.annotation(source)
        annotations = self.annotation_dropout(annotations)
        # A product with equal weights takes a tenth of the time of a mean over an axis.
        equal = F.ones_like(F.slice_axis(annotations, axis=2, begin=0, end=1)) / self._positions
        mean = F.batch_dot(equal, annotations, transpose_a=True)
        initial = self.initial(F.reshape(mean, (-3, 0)))
        state = tuple(F.slice_axis(initial, axis=1, begin=i * self._units, end=(i + 1) * self._units) for i in range(2))
        if self._attention == "none":
            return (mean,), state
        if self._attention == "random":
            return (annotations,), state
        return (annotations, self.score.keys(F, annotations)), state

    def decode(
        self, F: Operators, embedded: Tensor, memory: Tensors, state: Tensors, steps: int, beam: int
    ) -> tuple[Tensor, Tensor, Tensors]:
        features, alignment, _, state = self._unroll(F, embedded, memory, state, steps, beam, sampled=None)
        return features, alignment, state

    def forward(
        self, source: nd.NDArray, source_length: nd.NDArray, inputs: nd.NDArray, targets: nd.NDArray
    ) -> TranslationOutput:
        self._check(source)
        arrays = (source, source_length, inputs, targets)
        training = int(autograd.is_training())
        loss, nll, *reward = self._graphs(self._terms, *arrays, steps=inputs.shape[1], training=training)
        if training and reward:
            with autograd.pause():
                mean = reward[0].mean().reshape((1,))
                self.baseline.set_data(_MOVING * self.baseline.data() + (1 - _MOVING) * mean)
        return TranslationOutput(loss, nll)

    def start(self, source: nd.NDArray, source_length: nd.NDArray) -> tuple[Tensors, Tensors]:
        self._check(source)
        return super().start(source, source_length)

    def align(self, source: nd.NDArray, source_length: nd.NDArray, inputs: nd.NDArray) -> nd.NDArray:
        self._check(source)
        return super().align(source, source_length, inputs)

    def _check(self, source: nd.NDArray) -> None:
        if source.shape[1] != self._positions:
            reason = f"a grid of {source.shape[1]} positions, but the network attends to {self._positions}"
            raise UsageError(f"{reason}; extract features of that size")

    def _terms(
        self,
        F: Operators,
        source: Tensor,
        source_length: Tensor,
        inputs: Tensor,
        targets: Tensor,
        *,
        steps: int,
        training: int,
    ) -> Tensors:
        memory, state = self.encode(F, source, source_length)
        sampled = None
        if training and self._attention == "hard":
            ones = F.ones_like(F.slice_axis(state[0], axis=1, begin=0, end=1))
            sampled = F.sample_uniform(F.zeros_like(ones), ones) < _SAMPLED  # (batch, 1)
        embedded = self._embedded(inputs)
        features, alignment, log_s, _ = self._unroll(F, embedded, memory, state, steps, 1, sampled)
        loss, nll = self._of_tokens(F, features, targets)
        real = F.expand_dims(F.cast(targets, "float32") != self._padding, axis=1)  # (batch, 1, steps)
        words = F.sum(real, axis=2)  # (batch, 1)
        added = F.zeros_like(words)
        if self._attention == "soft" and self._penalty:
            totals = F.reshape(F.batch_dot(real, alignment), (0, -1))  # (batch, positions)
            added = self._penalty * F.sum(F.square(1.0 - totals), axis=1, keepdims=True)
        if sampled is None:
            return F.concat(loss, added, dim=1), nll
        reward = F.BlockGrad(-F.sum(nll, axis=1, keepdims=True)) / words
        advantage = F.broadcast_sub(reward, F.expand_dims(self._baseline(F), axis=0)) * sampled
        log_p = F.sum(log_s * F.reshape(real, (0, -1)), axis=1, keepdims=True)
        logs = F.log(F.maximum(alignment, 1e-9))
        entropy = -F.sum(F.batch_dot(real, alignment * logs), axis=2)
        added = -self._reinforce * advantage * log_p - self._entropy * entropy
        return F.concat(loss, added, dim=1), nll, reward

    def _baseline(self, F: Operators) -> Tensor:
        return self.baseline.data() if F is nd else self.baseline.var()

    def _unroll(
        self,
        F: Operators,
        embedded: Tensor,
        memory: Tensors,
        state: Tensors,
        steps: int,
        beam: int,
        sampled: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensors]:
        """As :meth:`decode`, and ln alpha (batch, steps) of the sampled positions. In training, ``sampled`` (batch, 1)
        of 0/1 marks the captions with sampled positions."""
        hidden, cell = state
        hiddens, contexts, weights, log_s = [], [], [], []
        for inputs in unstack(F, self.lstm.inputs(embedded), steps):
            alpha, used, log_p = self._attend(F, hidden, memory, beam, sampled)
            context = F.reshape(F.batch_dot(used, memory[0]), (-3, 0))
            context = F.broadcast_mul(context, self.gate(hidden))
            hidden, cell = self.lstm(inputs, hidden, cell, context)
            hiddens.append(hidden)
            contexts.append(context)
            weights.append(alpha)
            log_s.append(log_p)
        features = embedded + self.of_state(F.stack(*hiddens, axis=1)) + self.of_context(F.stack(*contexts, axis=1))
        alignment = None
        if self._attention != "none":
            alignment = F.reshape(F.stack(*weights, axis=2), (-3, 0, 0))  # (batch * beam, steps, positions)
        of_sampled = None if sampled is None else F.concat(*log_s, dim=1)
        return self.feature_dropout(features), alignment, of_sampled, (hidden, cell)

    def _attend(
        self, F: Operators, hidden: Tensor, memory: Tensors, beam: int, sampled: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the weights alpha and the weights to use, both (batch, beam, positions), and ln alpha (batch, 1) of
        the sampled positions."""
        query = F.reshape(hidden, (-4, -1, beam, 0))
        if self._attention == "none":
            one = F.ones_like(F.slice_axis(query, axis=2, begin=0, end=1))
            return one, one, None
        if self._attention == "random":
            # One score per hypothesis and position.
            one = F.slice_axis(F.zeros_like(query), axis=2, begin=0, end=1)
            row = F.slice_axis(F.zeros_like(memory[0]), axis=2, begin=0, end=1)
            zeros = F.batch_dot(one, row, transpose_b=True)
            alpha = F.softmax(F.sample_normal(zeros, zeros + _RANDOM_DEVIATION), axis=-1)
            return alpha, alpha, None
        alpha = F.softmax(self.score(query, memory[1]), axis=-1)
        if self._attention == "soft":
            return alpha, alpha, None
        if sampled is None:
            likeliest = F.one_hot(F.argmax(alpha, axis=2), self._positions)
            return alpha, likeliest if self._argmax else alpha, None
        p = F.reshape(alpha, (-3, 0))
        position = F.sample_multinomial(F.BlockGrad(p), dtype="int32")
        chosen = F.one_hot(position, self._positions)
        used = F.broadcast_mul(chosen, sampled) + F.broadcast_mul(p, 1.0 - sampled)
        log_p = F.log(F.maximum(F.pick(p, position, axis=1, keepdims=True), 1e-9))
        return alpha, F.expand_dims(used, axis=1), log_p
