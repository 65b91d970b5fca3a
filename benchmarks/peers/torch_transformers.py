"""The pre-norm ``Transformer`` in PyTorch, eager and compiled, and its training loop.

Written for speed: queries, keys and values are one product, attention is PyTorch's fused
``scaled_dot_product_attention``, the output layer is one product for all tokens; the optimizer is fused.

    python -m benchmarks.peers.torch_transformers '{"arrays": "pairs.npz", "threads": 2, ...}'

prints the measurement as one line of JSON; see :func:`measure`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.peers.torch_training import main, optimizers_of, second_epoch

PADDING = 1
Memory = tuple[Tensor, ...]
State = tuple[Tensor, ...]
# The cache of search grows by as many tokens at a time.
CACHE_MULTIPLE = 8


class FeedForward(nn.Sequential):
    def __init__(self, units: int, hidden_units: int) -> None:
        super().__init__(nn.Linear(units, hidden_units), nn.ReLU(), nn.Linear(hidden_units, units))


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network, each normalised before: (batch, length, units) -> the same."""

    def __init__(self, units: int, heads: int, hidden_units: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.projection = nn.Linear(units, 3 * units, bias=False)
        self.output = nn.Linear(units, units, bias=False)
        self.feed_forward = FeedForward(units, hidden_units)
        self.norms = nn.ModuleList(nn.LayerNorm(units) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, visible: Tensor) -> Tensor:
        query, key, value = split(self.projection(self.norms[0](x)), self.heads, 3)
        x = x + self.dropout(self.output(joined(scaled_dot_product_attention(query, key, value, attn_mask=visible))))
        return x + self.dropout(self.feed_forward(self.norms[1](x)))


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the memory, and a feed-forward network, each normalised before."""

    def __init__(self, units: int, heads: int, hidden_units: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.projection = nn.Linear(units, 3 * units, bias=False)
        self.output = nn.Linear(units, units, bias=False)
        self.query = nn.Linear(units, units, bias=False)
        self.memory = nn.Linear(units, 2 * units, bias=False)
        self.memory_output = nn.Linear(units, units, bias=False)
        self.feed_forward = FeedForward(units, hidden_units)
        self.norms = nn.ModuleList(nn.LayerNorm(units) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, visible: Tensor) -> Tensor:
        query, key, value = split(self.projection(self.norms[0](x)), self.heads, 3)
        x = x + self.dropout(self.output(joined(scaled_dot_product_attention(query, key, value, is_causal=True))))
        return self.rest(x, keys, values, visible)

    def step(self, x: Tensor, cache: Tensor, position: int, keys: Tensor, values: Tensor, visible: Tensor) -> Tensor:
        """One token of each translation: x (sentences, beam, units), cache (2, sentences * beam, heads, capacity,
        width), into which its key and value are written."""
        projected = self.projection(self.norms[0](x)).unflatten(2, (3, self.heads, -1)).flatten(0, 1)
        cache[:, :, :, position] = projected[:, 1:].transpose(0, 1)
        before = cache[:, :, :, : position + 1]
        attended = scaled_dot_product_attention(projected[:, 0, :, None], before[0], before[1])
        x = x + self.output(attended.flatten(1)).view_as(x)
        return self.rest(x, keys, values, visible)

    def rest(self, x: Tensor, keys: Tensor, values: Tensor, visible: Tensor) -> Tensor:
        (query,) = split(self.query(self.norms[1](x)), self.heads, 1)
        attended = scaled_dot_product_attention(query, keys, values, attn_mask=visible)
        x = x + self.dropout(self.memory_output(joined(attended)))
        return x + self.dropout(self.feed_forward(self.norms[2](x)))


class Transformer(nn.Module):
    """Pre-norm encoder and decoder with one matrix of embeddings for source, target and output.

    In search, states are (sentences, beam, ...): all translations of a sentence share one memory.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.units, self.heads = settings["units"], settings["heads"]
        sizes = self.units, self.heads, settings["hidden_units"], settings["dropout"]
        self.smoothing = settings["smoothing"]
        self.embedding = nn.Embedding(settings["target_vocabulary"], self.units)
        self.dropout = nn.Dropout(settings["dropout"])
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(settings["layers"]))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(settings["layers"]))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(self.units), nn.LayerNorm(self.units)
        self.output = nn.Linear(self.units, settings["target_vocabulary"])
        nn.init.normal_(self.embedding.weight, std=self.units**-0.5)
        self.output.weight = self.embedding.weight
        angles = torch.arange(512)[:, None] * torch.exp(torch.arange(self.units // 2) * -math.log(1e4) * 2 / self.units)
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], 1), persistent=False)

    def forward(self, source: Tensor, lengths: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of a token."""
        states, visible = self.encoded(source, lengths)
        x = self.embedded(inputs)
        for layer in self.decoder:
            keys, values = split(layer.memory(states), self.heads, 2)
            x = layer(x, keys, values, visible)
        logits = self.output(self.decoder_norm(x))
        return functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=PADDING, label_smoothing=self.smoothing
        )

    def embedded(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * self.units**0.5 + self.positions[: ids.shape[1]])

    def encoded(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """States (sentences, length, units) and which of them are no padding (sentences, 1, 1, length)."""
        visible = (torch.arange(source.shape[1]) < lengths[:, None])[:, None, None]
        x = self.embedded(source)
        for layer in self.encoder:
            x = layer(x, visible)
        return self.encoder_norm(x), visible

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Memory, State]:
        """What is computed once for a sentence: the mask, and keys and values of each layer; and an empty cache."""
        states, visible = self.encoded(source, lengths)
        memory = [part for layer in self.decoder for part in split(layer.memory(states), self.heads, 2)]
        width = self.units // self.heads
        cache = torch.zeros(len(source), 1, len(self.decoder), 2, self.heads, CACHE_MULTIPLE, width)
        return (visible, *memory), (cache, torch.zeros(len(source), 1, dtype=torch.long))

    def step(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """Logits (sentences, beam, vocabulary) after the last tokens (sentences, beam), and the state after them."""
        (visible, *pairs), (cache, positions) = memory, state
        position = int(positions[0, 0])
        if position == cache.shape[5]:
            cache = functional.pad(cache, (0, 0, 0, CACHE_MULTIPLE))
        x = self.embedding(tokens) * self.units**0.5 + self.positions[position]
        for number, layer in enumerate(self.decoder):
            own = cache[:, :, number].flatten(0, 1).transpose(0, 1)
            x = layer.step(x, own, position, *pairs[2 * number : 2 * number + 2], visible)
        return self.output(self.decoder_norm(x)), (cache, positions + 1)


def split(projected: Tensor, heads: int, parts: int) -> list[Tensor]:
    """(batch, length, parts * units) -> for each part (batch, heads, length, width)."""
    return [part.unflatten(2, (heads, -1)).transpose(1, 2) for part in projected.chunk(parts, 2)]


def joined(contexts: Tensor) -> Tensor:
    """(batch, heads, length, width) -> (batch, length, units)."""
    return contexts.transpose(1, 2).flatten(2)


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Train on the given batches twice and time the second time.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ``source_0``, ``lengths_0``, ``inputs_0``, ``targets_0`` and so on
            for each of ``batches`` batches, padded, int64), ``threads``, ``settings``, ``learning_rate``, ``compile``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``, ``parameters``.
    """
    with np.load(spec["arrays"]) as arrays:
        batches = [
            tuple(torch.from_numpy(arrays[f"{name}_{i}"]) for name in ("source", "lengths", "inputs", "targets"))
            for i in range(spec["batches"])
        ]
    model = Transformer(spec["settings"])
    network = torch.compile(model, dynamic=True) if spec["compile"] else model

    def losses() -> Iterator[Tensor]:
        for batch in batches:
            yield network(*batch)

    return second_epoch(model, optimizers_of(model, "fused adam", spec["learning_rate"]), losses)


if __name__ == "__main__":
    main(measure)
