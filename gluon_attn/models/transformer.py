"""The Transformer (Vaswani et al., 2017, "Attention is all you need")."""

from __future__ import annotations

from typing import Any

from mxnet import nd
from mxnet.gluon import nn

from gluon_attn.attention.masks import additive_mask, causal_mask, heads_mask, token_mask
from gluon_attn.errors import check_layers
from gluon_attn.layers.lengths import checked_lengths
from gluon_attn.layers.normalization import LayerNorm
from gluon_attn.layers.positions import positions as position_block
from gluon_attn.layers.transformer import DecoderLayer, EncoderLayer
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.typing import Operators, Tensor, Tensors

# The cache of search grows by this many tokens at a time: every new length is a new shape, and so a new graph.
CACHE_MULTIPLE = 8


class Transformer(EncoderDecoder):
    """Encoder and decoder with self-attention; every target token attends to the previous ones and to the source.

    Inputs are embeddings times sqrt(units) plus a position embedding. Search caches the keys and values of all layers:
    those of the source, projected once, and those of the target so far.

    Args:
        units: width of embeddings and layers, except the hidden layers, *d_model*.
        encoder_layers, decoder_layers: number of layers, *N*.
        heads, key_units, hidden_units, activation: see :class:`~gluon_attn.layers.transformer.EncoderLayer`.
        norm: ``post`` as in the paper, or ``pre``, with which encoder and decoder end in a normalisation.
        positions: ``sinusoidal``, ``learned`` or ``none``.
        length: number of learned positions.
        layer_dropout: dropout rate of the output of every sublayer.
        **common: arguments of :class:`EncoderDecoder`.

    Raises:
        UsageError: if encoder or decoder has no layers, or if a layer cannot be built (:class:`EncoderDecoder`,
            :class:`~gluon_attn.layers.transformer.EncoderLayer`).
    """

    def __init__(
        self,
        *,
        units: int,
        encoder_layers: int,
        decoder_layers: int,
        heads: int,
        hidden_units: int,
        key_units: int | None = None,
        activation: str = "relu",
        norm: str = "post",
        positions: str = "sinusoidal",
        length: int = 64,
        layer_dropout: float = 0.0,
        **common: Any,
    ) -> None:
        super().__init__(source_units=units, target_units=units, feature_units=units, **common)
        check_layers(encoder_layers)
        check_layers(decoder_layers)
        self._units, self._heads, self._layers, self._has_final = units, heads, decoder_layers, norm == "pre"
        layer: dict[str, Any] = {
            "units": units,
            "heads": heads,
            "hidden_units": hidden_units,
            "key_units": key_units,
            "activation": activation,
            "dropout": layer_dropout,
            "norm": norm,
        }
        with self.name_scope():
            self.source_positions = position_block(positions, units, length)
            self.target_positions = position_block(positions, units, length)
            self.encoder, self.decoder = nn.HybridSequential(), nn.HybridSequential()
            for _ in range(encoder_layers):
                self.encoder.add(EncoderLayer(**layer))
            for _ in range(decoder_layers):
                self.decoder.add(DecoderLayer(**layer))
            if self._has_final:
                self.encoder_norm, self.decoder_norm = LayerNorm(units), LayerNorm(units)
        self._width = units // heads  # after the layers have checked that there are heads

    def encode(self, F: Operators, source: Tensor, source_length: Tensor) -> tuple[Tensors, Tensors]:
        """Return the encoder's states (source_length, batch, units) and the mask (batch, source_length); no state."""
        states, mask, _ = self._encoded(F, source, source_length)
        return (states, mask), ()

    def decode(
        self, F: Operators, embedded: Tensor, memory: Tensors, state: Tensors, steps: int, beam: int
    ) -> tuple[Tensor, Tensor, Tensors]:
        """As in the base class; the weights are those of the last layer, averaged over its heads."""
        if state:
            return self._next(F, embedded, memory, state, beam)
        features, layers = self._decoded(F, embedded, *memory)
        weights = F.mean(F.reshape(layers[-1][1], (-4, -1, self._heads, 0, 0)), axis=1)
        return features, weights, ()

    def start(self, source: nd.NDArray, source_length: nd.NDArray) -> tuple[Tensors, Tensors]:
        source_length = checked_lengths(source_length, source.shape[1])
        memory = self._graphs(self._memory, source, source_length)
        shape = len(source), self._heads, CACHE_MULTIPLE, self._width
        return tuple(memory), (nd.zeros(len(source)), *[nd.zeros(shape) for _ in range(2 * self._layers)])

    def step(
        self, tokens: nd.NDArray, memory: Tensors, state: Tensors
    ) -> tuple[nd.NDArray, nd.NDArray | None, Tensors]:
        """As in the base class; it writes into the caches of ``state``, which can therefore be continued only once."""
        position, *caches = state
        written = int(position[0].asscalar())
        if written == caches[0].shape[2]:
            more = nd.zeros((len(position), self._heads, CACHE_MULTIPLE, self._width))
            caches = [nd.concat(cache, more, dim=2) for cache in caches]
        # Reshaped here, where it copies nothing.
        by_head = [cache.reshape((-3, 0, 0)) for cache in caches]
        log_p, weights, (position, *new) = super().step(tokens, memory, (position, *by_head))
        for cache, one in zip(by_head, new, strict=True):
            cache[:, written : written + 1] = one
        return log_p, weights, (position, *caches)

    def attend(self, source: nd.NDArray, source_length: nd.NDArray, inputs: nd.NDArray) -> tuple[Tensors, ...]:
        """Return all attention weights for given targets, for each layer (batch, heads, queries, memory_length): those
        of the encoder's self-attention, of the decoder's self-attention, and of the decoder over the source."""
        source_length = checked_lengths(source_length, source.shape[1])
        weights = self._graphs(self._all_weights, source, source_length, inputs)
        encoder = len(weights) - 2 * self._layers
        return tuple(weights[:encoder]), tuple(weights[encoder::2]), tuple(weights[encoder + 1 :: 2])

    def _encoded(self, F: Operators, source: Tensor, source_length: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        embedded = self.source_embedding(F.transpose(source)) * self._units**0.5  # (source_length, batch, units)
        positions = self.source_positions(F.contrib.arange_like(embedded, axis=0))
        states = self.embedding_dropout(F.broadcast_add(embedded, F.expand_dims(positions, axis=1)))
        mask = additive_mask(token_mask(F, F.swapaxes(states, 0, 1), source_length))
        full = heads_mask(F, states, mask, self._heads)
        weights = []
        for layer in self.encoder:
            states, of_layer = layer(states, full)
            weights.append(of_layer)
        return (self.encoder_norm(states) if self._has_final else states), mask, weights

    def _decoded(
        self, F: Operators, embedded: Tensor, memory: Tensor, mask: Tensor
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Return the features (batch, steps, units) and, for each layer, the weights of self-attention and of attention
        to the source."""
        x = F.swapaxes(embedded, 0, 1)
        numbers = F.contrib.arange_like(x, axis=0)
        x = self.embedding_dropout(
            F.broadcast_add(x * self._units**0.5, F.expand_dims(self.target_positions(numbers), axis=1))
        )
        memory_mask = heads_mask(F, x, mask, self._heads)
        nothing = F.zeros_like(F.slice_axis(F.slice_axis(memory_mask, axis=1, begin=0, end=1), axis=2, begin=0, end=1))
        causal = F.broadcast_add(additive_mask(causal_mask(F, x)), nothing)
        layers = []
        for layer in self.decoder:
            x, *weights = layer(x, memory, causal, memory_mask)
            layers.append(tuple(weights))
        x = self.decoder_norm(x) if self._has_final else x
        return F.swapaxes(x, 0, 1), layers

    def _memory(self, F: Operators, source: Tensor, source_length: Tensor) -> Tensors:
        """Return the mask (batch, source_length) and, for each layer, keys and values of the source."""
        (states, mask), _ = self.encode(F, source, source_length)
        pairs = [layer.memory_attention.keys_and_values(F, states) for layer in self.decoder]
        return (mask, *[array for pair in pairs for array in pair])

    def _next(
        self, F: Operators, embedded: Tensor, memory: Tensors, state: Tensors, beam: int
    ) -> tuple[Tensor, Tensor, Tensors]:
        """As :meth:`decode` for a single token, with memory and state of :meth:`start`, the caches head by head; in the
        state that is returned are the new entries of the caches."""
        mask, *keys_and_values = memory
        position, *caches = state
        x = F.reshape(embedded, (-3, 0)) * self._units**0.5
        x = self.embedding_dropout(x + self.target_positions(position))
        slots = F.expand_dims(F.contrib.arange_like(caches[0], axis=1), axis=0)
        current = F.reshape(F.slice_axis(position, axis=0, begin=0, end=1), (1, 1))
        masks = additive_mask(F.broadcast_lesser_equal(slots, current)), mask
        place, added = F.broadcast_equal(slots, current), []
        for number, layer in enumerate(self.decoder):
            pair = slice(2 * number, 2 * number + 2)
            x, weights, new = layer.step(F, x, tuple(caches[pair]), tuple(keys_and_values[pair]), masks, place, beam)
            added += new
        x = self.decoder_norm(x) if self._has_final else x
        return F.expand_dims(x, axis=1), F.mean(weights, axis=1, keepdims=True), (position + 1.0, *added)

    def _all_weights(self, F: Operators, source: Tensor, source_length: Tensor, inputs: Tensor) -> Tensors:
        states, mask, weights = self._encoded(F, source, source_length)
        _, layers = self._decoded(F, self.target_embedding(inputs), states, mask)
        weights = [*weights, *[one for pair in layers for one in pair]]
        return tuple(F.reshape(one, (-4, -1, self._heads, 0, 0)) for one in weights)

    def _embedded(self, ids: Tensor) -> Tensor:
        return self.target_embedding(ids)  # dropout is applied after the position is added
