"""Deep LSTM encoder-decoder, without attention (Sutskever et al., 2014, "Sequence to sequence learning with neural
networks") or with attention on its top layer (Luong et al., 2015, "Effective approaches to attention-based neural
machine translation")."""

from __future__ import annotations

from typing import Any

from mxnet.gluon import HybridBlock, nn, rnn
from mxnet.initializer import LSTMBias, Normal

from gluon_attn.attention.masks import token_mask
from gluon_attn.errors import UsageError, check_layers
from gluon_attn.layers.cells import StepLSTM, unstack
from gluon_attn.layers.encoders import LSTMEncoder
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.typing import Operators, Tensor, Tensors


class DeepLSTM(EncoderDecoder):
    """A stack of LSTM layers encodes the source; a second stack, initialised with its final states, decodes the target.

    With attention, the top state h of each step attends to the encoder's top states m: context = sum of weights_s m_s,
    and the features are the attentional vector tanh(W [context, h]) (Luong et al., eq. 5). With input feeding (sec.
    3.3) this vector is also an input of the first layer at the next step. Without attention the features are h.

    Args:
        units: width of every layer.
        layers: number of layers of the encoder and of the decoder.
        reverse_source: whether the encoder reads the source from its last token to its first (Sutskever et al., sec.
            3.3).
        attention: ``GlobalAttention`` or one of :mod:`gluon_attn.attention.local`, with queries and memory of
            ``units``; None for none.
        input_feeding: whether the attentional vector is an input of the next step; needs attention.
        layer_dropout: dropout rate before every layer but the first, and of the features.
        unit_variance: whether the components of embeddings have a variance of 1 at first where they enter a layer,
            instead of 1 / width. Source embeddings are initialised so. Target embeddings are multiplied by the square
            root of their width, since as weights of the output layer they must stay small. Without attention, training
            starts much faster with it.
        **common: arguments of :class:`EncoderDecoder`.

    Raises:
        UsageError: if there are no layers, if input feeding is without attention, or ``unit_variance`` with shared
            embeddings.
    """

    def __init__(
        self,
        *,
        units: int,
        layers: int,
        source_units: int,
        target_units: int,
        reverse_source: bool,
        attention: HybridBlock | None = None,
        input_feeding: bool = False,
        layer_dropout: float = 0.0,
        unit_variance: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(source_units=source_units, target_units=target_units, feature_units=units, **common)
        check_layers(layers)
        if input_feeding and attention is None:
            raise UsageError("input feeding needs attention; give an attention, or input_feeding=False")
        if unit_variance and common.get("shared"):
            raise UsageError("unit_variance needs source embeddings of their own; give shared=False")
        self._layers, self._input_feeding = layers, input_feeding
        self._target_scale = target_units**0.5 if unit_variance else None
        if unit_variance:
            self.source_embedding.weight.init = Normal(1.0)
        with self.name_scope():
            self.encoder = LSTMEncoder(
                units, layers, source_units, reverse_source=reverse_source, dropout=layer_dropout
            )
            self.attention: Any = attention
            self.attentional: Any = attention and nn.Dense(
                units, activation="tanh", use_bias=False, flatten=False, in_units=2 * units
            )
            self.layer_dropout = nn.Dropout(layer_dropout)
            self.decoder = nn.HybridSequential()
            with self.decoder.name_scope():
                for index in range(layers):
                    width = target_units if index == 0 else units
                    if input_feeding:
                        self.decoder.add(StepLSTM(units, width, units if index == 0 else 0))
                    else:
                        self.decoder.add(rnn.LSTM(units, input_size=width, i2h_bias_initializer=LSTMBias(1.0)))

    def encode(self, F: Operators, source: Tensor, source_length: Tensor) -> tuple[Tensors, Tensors]:
        embedded = self.embedding_dropout(self.source_embedding(source))
        states, hidden, cells = self.encoder(embedded, source_length)
        if self.attention is None:
            return (), (*hidden, *cells)
        memory = (self.attention.keys(F, states), states, token_mask(F, states, source_length))
        step = F.zeros_like(F.expand_dims(source_length, axis=1))
        fed = (F.zeros_like(hidden[-1]),) if self._input_feeding else ()
        return memory, (*hidden, *cells, step, *fed)

    def decode(
        self, F: Operators, embedded: Tensor, memory: Tensors, state: Tensors, steps: int, beam: int
    ) -> tuple[Tensor, Tensor, Tensors]:
        decode = self._decode_step_by_step if self._input_feeding else self._decode_layer_by_layer
        return decode(F, embedded, memory, state, steps, beam)

    def _parts(self, state: Tensors) -> tuple[list[Tensor], list[Tensor], Tensors]:
        """Split the state into hidden states and cells of all layers, and the rest: step and attentional vector."""
        return list(state[: self._layers]), list(state[self._layers : 2 * self._layers]), state[2 * self._layers :]

    def _decode_layer_by_layer(
        self, F: Operators, embedded: Tensor, memory: Tensors, state: Tensors, steps: int, beam: int
    ) -> tuple[Tensor, Tensor, Tensors]:
        """Without input feeding: each layer runs over all steps before the next, and attention is computed last."""
        hidden, cells, rest = self._parts(state)
        states = F.transpose(embedded, axes=(1, 0, 2))
        for index, layer in enumerate(self.decoder):
            if index:
                states = self.layer_dropout(states)
            initial = [F.expand_dims(hidden[index], axis=0), F.expand_dims(cells[index], axis=0)]
            states, last = layer(states, initial)
            hidden[index], cells[index] = (F.reshape(array, (-3, 0)) for array in last)
        states = F.transpose(states, axes=(1, 0, 2))
        if self.attention is None:
            return self.layer_dropout(states), None, (*hidden, *cells)
        keys, values, mask = memory
        (step,) = rest
        numbers = F.broadcast_add(step, F.reshape(F.arange(steps), (1, -1)))
        queries = F.reshape(states, (-1, beam * steps, 0))
        weights = self.attention(queries, keys, mask, F.reshape(numbers, (-1, beam * steps)))
        context = F.reshape(F.batch_dot(weights, values), (-1, steps, 0))
        features = self.attentional(F.concat(context, states, dim=2))
        alignment = F.reshape(weights, (-1, steps, 0))
        return self.layer_dropout(features), alignment, (*hidden, *cells, step + steps)

    def _decode_step_by_step(
        self, F: Operators, embedded: Tensor, memory: Tensors, state: Tensors, steps: int, beam: int
    ) -> tuple[Tensor, Tensor, Tensors]:
        """With input feeding: each step reads the attentional vector of the previous one."""
        hidden, cells, (step, fed) = self._parts(state)
        keys, values, mask = memory
        weights, features = [], []
        first = next(iter(self.decoder))
        for i, inputs in enumerate(unstack(F, first.inputs(embedded), steps)):
            for index, layer in enumerate(self.decoder):
                if index == 0:
                    hidden[0], cells[0] = layer(inputs, hidden[0], cells[0], fed)
                else:
                    below = layer.inputs(self.layer_dropout(hidden[index - 1]))
                    hidden[index], cells[index] = layer(below, hidden[index], cells[index])
            query = F.reshape(hidden[-1], (-4, -1, beam, 0))
            weights.append(self.attention(query, keys, mask, F.reshape(step + i, (-1, beam))))
            context = F.reshape(F.batch_dot(weights[-1], values), (-3, 0))
            fed = self.attentional(F.concat(context, hidden[-1], dim=1))
            features.append(fed)
        stacked = self.layer_dropout(F.stack(*features, axis=1))
        alignment = F.reshape(F.stack(*weights, axis=2), (-3, 0, 0))
        return stacked, alignment, (*hidden, *cells, step + steps, fed)

    def _embedded(self, ids: Tensor) -> Tensor:
        embedded = super()._embedded(ids)
        return embedded if self._target_scale is None else embedded * self._target_scale
