"""RNN encoder-decoder: one vector encodes the source and is read at every step (Cho et al., 2014, "Learning phrase
representations using RNN encoder-decoder", sec. 2 and appendix A; the *RNNencdec* of Bahdanau et al., 2015)."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import nn, rnn

from gluon_attn.layers.cells import StepGRU, unstack
from gluon_attn.layers.readout import MaxoutReadout, TanhReadout
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.typing import Operators, Tensor, Tensors


class RNNEncDec(EncoderDecoder):
    """A GRU reads the source from left to right; the decoder sees only its last state.

        c = tanh(V h_last)    s_0 = tanh(V' c)
        s_i = GRU(s_{i-1}, [E y_{i-1}, c])    features = maxout(U s_i + V E y_{i-1} + C c)

    The decoder's GRU is that of Bahdanau et al.: the reset gate is applied before the product, to the state only (Cho
    et al. apply it after the product, to state and context). The encoder's GRU is that of MXNet and cuDNN: the reset
    gate is applied after the product, to the state.

    Args:
        units: width of the encoder, of c and of the decoder.
        maxout_units: width of the features.
        context_at_every_step: whether every step and the readout read c, as in both papers; otherwise only s_0 does.
        maxout: whether the readout is a maxout of pairs of units; otherwise a tanh.
        feature_dropout: dropout rate of the features.
        **common: arguments of :class:`EncoderDecoder`.
    """

    def __init__(
        self,
        *,
        units: int,
        maxout_units: int,
        source_units: int,
        target_units: int,
        context_at_every_step: bool = True,
        maxout: bool = True,
        feature_dropout: float = 0.0,
        **common: Any,
    ) -> None:
        super().__init__(source_units=source_units, target_units=target_units, feature_units=maxout_units, **common)
        self._context_at_every_step = context_at_every_step
        readout_units = (units, target_units, units) if context_at_every_step else (units, target_units)
        with self.name_scope():
            self.encoder = rnn.GRU(units, input_size=source_units)
            self.summary = nn.Dense(units, activation="tanh", in_units=units)
            self.initial = nn.Dense(units, activation="tanh", in_units=units)
            self.gru = StepGRU(units, in_units=target_units, context_units=units if context_at_every_step else 0)
            self.readout = (MaxoutReadout if maxout else TanhReadout)(maxout_units, readout_units)
            self.feature_dropout = nn.Dropout(feature_dropout)

    def encode(self, F: Operators, source: Tensor, source_length: Tensor) -> tuple[Tensors, Tensors]:
        embedded = self.embedding_dropout(self.source_embedding(source))
        states = self.encoder(F.transpose(embedded, axes=(1, 0, 2)))
        context = self.summary(F.SequenceLast(states, source_length, use_sequence_length=True))
        if not self._context_at_every_step:
            return (), (self.initial(context),)
        memory = F.expand_dims(context, axis=1)  # of length 1, with all the weight
        return (memory, *self.gru.contexts(memory)), (self.initial(context),)

    def decode(
        self, F: Operators, embedded: Tensor, memory: Tensors, state: Tensors, steps: int, beam: int
    ) -> tuple[Tensor, Tensor, Tensors]:
        (hidden,) = state
        context = []
        if self._context_at_every_step:
            summary, *contexts = memory
            ones = F.ones_like(F.slice_axis(summary, axis=2, begin=0, end=1))
            context = [F.broadcast_axis(ones, axis=1, size=beam), *contexts]
        states = []
        for step_inputs in zip(*(unstack(F, part, steps) for part in self.gru.inputs(embedded)), strict=True):
            hidden = self.gru(hidden, *step_inputs, *context)
            states.append(hidden)
        repeated = []
        if self._context_at_every_step:
            repeated = [F.reshape(F.broadcast_axis(summary, axis=1, size=beam * steps), (-1, steps, 0))]
        features = self.readout(F.stack(*states, axis=1), embedded, *repeated)
        return self.feature_dropout(features), None, (hidden,)
