"""``BertForPretraining`` and ``BertClassifier`` in PyTorch, eager and compiled, and their training loop.

Written for speed: queries, keys and values are one product, attention is PyTorch's fused
``scaled_dot_product_attention``, what follows attention in the last layer is computed only where it is read, and only
masked pieces are predicted, in one product; the optimizer is fused.

    python -m benchmarks.peers.torch_bert_training '{"arrays": "texts.npz", "threads": 1, ...}'

prints the measurement as one line of JSON; see :func:`measure`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.peers.torch_training import main, optimizers_of, second_epoch
from benchmarks.peers.torch_transformers import joined, split

DEVIATION = 0.02  # of the initial embeddings


class Layer(nn.Module):
    """Self-attention and a feed-forward network with biases, each normalised after its residual connection: (batch,
    length, units) -> the same, or (places, units) at some places, the indices ``row * length + position``."""

    def __init__(self, units: int, heads: int, hidden_units: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.projection, self.output = nn.Linear(units, 3 * units), nn.Linear(units, units)
        self.hidden, self.narrow = nn.Linear(units, hidden_units), nn.Linear(hidden_units, units)
        self.norms = nn.ModuleList(nn.LayerNorm(units) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, visible: Tensor, places: Tensor | None = None) -> Tensor:
        query, key, value = split(self.projection(x), self.heads, 3)
        attended = joined(functional.scaled_dot_product_attention(query, key, value, attn_mask=visible))
        if places is not None:
            x, attended = (each.flatten(0, 1).index_select(0, places) for each in (x, attended))
        x = self.norms[0](x + self.dropout(self.output(attended)))
        return self.norms[1](x + self.dropout(self.narrow(functional.gelu(self.hidden(x)))))


class Encoder(nn.Module):
    """Tokens, segments and positions, and the layers: ids and segments (batch, length), lengths (batch,) -> states
    (places + batch, units) at some places and at the first tokens. Without segments, all tokens are of the first."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        units, heads, hidden_units, dropout = (settings[n] for n in ("units", "heads", "hidden_units", "dropout"))
        self.token, self.segment = nn.Embedding(settings["vocabulary_size"], units), nn.Embedding(2, units)
        self.position = nn.Parameter(DEVIATION * torch.randn(settings["length"], units))
        self.norm, self.dropout = nn.LayerNorm(units), nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(units, heads, hidden_units, dropout) for _ in range(settings["layers"]))
        for embedding in (self.token, self.segment):
            nn.init.normal_(embedding.weight, std=DEVIATION)

    def forward(
        self, ids: Tensor, lengths: Tensor, segments: Tensor | None = None, places: Tensor | None = None
    ) -> Tensor:
        visible = (torch.arange(ids.shape[1]) < lengths[:, None])[:, None, None]
        of_segments = self.segment.weight[0] if segments is None else self.segment(segments)
        x = self.dropout(self.norm(self.token(ids) + of_segments + self.position[: ids.shape[1]]))
        first = torch.arange(len(ids)) * ids.shape[1]
        *before, last = self.layers
        for layer in before:
            x = layer(x, visible)
        return last(x, visible, first if places is None else torch.cat([places, first]))


class Pretraining(nn.Module):
    """Masked pieces, predicted with the matrix of the embeddings, and whether two reviews are of one film."""

    inputs: ClassVar = ("ids", "segments", "lengths", "places", "targets", "together")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        units = settings["units"]
        self.bert = Encoder(settings)
        self.transform, self.norm = nn.Linear(units, units), nn.LayerNorm(units)
        self.bias = nn.Parameter(torch.zeros(settings["vocabulary_size"]))
        self.pooler, self.pair = nn.Linear(units, units), nn.Linear(units, settings["classes"])

    def forward(
        self, ids: Tensor, segments: Tensor, lengths: Tensor, places: Tensor, targets: Tensor, together: Tensor
    ) -> Tensor:
        """The mean loss of a prediction plus that of a pair; places (predictions,) are ``row * length + position``."""
        states = self.bert(ids, lengths, segments, places)
        features = self.norm(functional.gelu(self.transform(states[: len(places)])))
        logits = functional.linear(features, self.bert.token.weight, self.bias)
        pairs = self.pair(torch.tanh(self.pooler(states[len(places) :])))
        return functional.cross_entropy(logits, targets) + functional.cross_entropy(pairs, together)


class Classifier(nn.Module):
    """Classes of single texts, from the pooled state of the first token."""

    inputs: ClassVar = ("ids", "lengths", "labels")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.bert = Encoder(settings)
        self.pooler = nn.Linear(settings["units"], settings["units"])
        self.dropout = nn.Dropout(settings["output_dropout"])
        self.output = nn.Linear(settings["units"], settings["classes"])

    def logits(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Logits (batch, classes)."""
        return self.output(self.dropout(torch.tanh(self.pooler(self.bert(ids, lengths)))))

    def forward(self, ids: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
        """The mean loss of a text."""
        return functional.cross_entropy(self.logits(ids, lengths), labels)


def build(settings: Mapping[str, Any]) -> Pretraining | Classifier:
    """The network that has these settings."""
    return Pretraining(settings) if "pairs" in settings else Classifier(settings)


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Train on the given batches twice and time the second time.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ``ids_0``, ``lengths_0`` and so on, the inputs of the network for
            each of ``batches`` batches, int64), ``threads``, ``settings``, ``learning_rate``, ``clip_norm``,
            ``compile``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``, ``parameters``.
    """
    model = build(spec["settings"])
    with np.load(spec["arrays"]) as arrays:
        batches = [
            tuple(torch.from_numpy(arrays[f"{name}_{i}"]) for name in model.inputs) for i in range(spec["batches"])
        ]
    network = torch.compile(model, dynamic=True) if spec["compile"] else model

    def losses() -> Iterator[Tensor]:
        for batch in batches:
            yield network(*batch)

    optimizers = optimizers_of(model, "fused adam", spec["learning_rate"])
    return second_epoch(model, optimizers, losses, clip_norm=spec["clip_norm"])


if __name__ == "__main__":
    main(measure)
