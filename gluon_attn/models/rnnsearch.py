"""RNNsearch: the first attention (Bahdanau et al., 2015, "Neural machine translation by jointly learning to align and
translate", sec. 3 and appendix A)."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import nn

from gluon_attn.attention.additive import AdditiveScore
from gluon_attn.attention.global_attention import GlobalAttention
from gluon_attn.attention.masks import token_mask
from gluon_attn.layers.cells import StepGRU, unstack
from gluon_attn.layers.encoders import BidirectionalEncoder
from gluon_attn.layers.readout import MaxoutReadout
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.typing import Operators, Tensor, Tensors


class RNNSearch(EncoderDecoder):
    """A bidirectional GRU encodes the source; before each target token, a GRU decoder attends to all of its states.

    For target token i, with E y the embedding of the previous token and h_j the encoder's states:

        e_ij = v . tanh(W s_{i-1} + U h_j)      weights = softmax over j      c_i = sum over j of weights_ij h_j
        s_i = GRU(s_{i-1}, [E y_{i-1}, c_i])    features = maxout(U s_{i-1} + V E y_{i-1} + C c_i)

    The decoder's GRU is the paper's (reset gate before the product), the encoder's is that of MXNet and cuDNN (reset
    gate after the product). Everything that does not depend on the step is computed once for all steps: U h_j, the
    projections of the embeddings for the gates, and the readout. A projected context is computed as the weighted sum of
    states projected once.

    Args:
        units: width of one direction of the encoder and of the decoder, *n*.
        attention_units: width of the hidden layer of the attention, *n'*.
        maxout_units: width of the features, *l*.
        encoder_dropout: dropout rate of the encoder's states.
        feature_dropout: dropout rate of the features.
        **common: arguments of :class:`EncoderDecoder`.
    """

    def __init__(
        self,
        *,
        units: int,
        attention_units: int,
        maxout_units: int,
        source_units: int,
        target_units: int,
        encoder_dropout: float = 0.0,
        feature_dropout: float = 0.0,
        **common: Any,
    ) -> None:
        super().__init__(source_units=source_units, target_units=target_units, feature_units=maxout_units, **common)
        self._units = units
        with self.name_scope():
            self.encoder = BidirectionalEncoder("gru", units, layers=1, in_units=source_units)
            self.encoder_dropout = nn.Dropout(encoder_dropout)
            self.initial = nn.Dense(units, activation="tanh", in_units=units)
            self.attention = GlobalAttention(
                AdditiveScore(attention_units, query_units=units, memory_units=2 * units, use_bias=False)
            )
            self.gru = StepGRU(units, in_units=target_units, context_units=2 * units)
            self.readout = MaxoutReadout(maxout_units, (units, target_units, 2 * units))
            self.feature_dropout = nn.Dropout(feature_dropout)

    def encode(self, F: Operators, source: Tensor, source_length: Tensor) -> tuple[Tensors, Tensors]:
        embedded = self.embedding_dropout(self.source_embedding(source))
        states, last = self.encoder(embedded, source_length)
        states = self.encoder_dropout(states)
        backward_first = F.slice_axis(last, axis=1, begin=self._units, end=None)
        memory = (
            self.attention.keys(F, states),
            *self.gru.contexts(states),
            states,
            token_mask(F, states, source_length),
        )
        return memory, (self.initial(backward_first),)

    def decode(
        self, F: Operators, embedded: Tensor, memory: Tensors, state: Tensors, steps: int, beam: int
    ) -> tuple[Tensor, Tensor, Tensors]:
        keys, *contexts, states, mask = memory
        (hidden,) = state
        inputs = [unstack(F, part, steps) for part in self.gru.inputs(embedded)]
        previous, weights = [], []
        for step_inputs in zip(*inputs, strict=True):
            previous.append(hidden)
            weights.append(self.attention(F.reshape(hidden, (-4, -1, beam, 0)), keys, mask, None))
            hidden = self.gru(hidden, *step_inputs, weights[-1], *contexts)
        alignment = F.reshape(F.stack(*weights, axis=2), (-3, 0, 0))  # (batch * beam, steps, source_length)
        context = F.batch_dot(F.reshape(alignment, (-1, beam * steps, 0)), states)
        features = self.readout(F.stack(*previous, axis=1), embedded, F.reshape(context, (-1, steps, 0)))
        return self.feature_dropout(features), alignment, (hidden,)
