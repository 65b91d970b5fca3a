"""The classifiers ``AsWritten`` and ``Masked`` in PyTorch, and their training loop, as fast as PyTorch allows.

Nothing here imports MXNet: each brings an OpenMP runtime, so a peer is measured in its own process.

    python -m benchmarks.peers.torch_classifiers '{"arrays": "reviews.npz", "threads": 2, ...}'

prints the measurement as one line of JSON; see :func:`measure`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.peers.torch_training import main, optimizers_of, second_epoch

RECURRENT = ("packed", "reversed")


class AdditiveAttention(nn.Module):
    """score = v . tanh(W q + b + U k), with dropout of the weights; ``(states, mask) -> (context, weights)``."""

    def __init__(self, width: int, units: int, dropout: float) -> None:
        super().__init__()
        self.query = nn.Linear(width, units)
        self.key = nn.Linear(width, units, bias=False)
        self.score = nn.Linear(units, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        hidden = torch.tanh(self.query(states)[:, :, None] + self.key(states)[:, None])
        score = self.score(hidden).squeeze(-1)
        if mask is not None:
            score = score.masked_fill(~mask[:, None], -torch.inf)
        weights = self.dropout(score.softmax(-1))
        return torch.bmm(weights, states), weights


class AsWritten(nn.Module):
    """Embedding, dropout, bidirectional GRU, self-attention, one dense layer over all positions of a fixed length."""

    def __init__(self, settings: Mapping[str, Any], *, sparse: bool = False) -> None:
        super().__init__()
        units = settings["units"]
        self.embedding = nn.Embedding(settings["vocabulary_size"], settings["embedding_units"], sparse=sparse)
        self.dropout = nn.Dropout(settings["dropout"])
        self.encoder = nn.GRU(settings["embedding_units"], units, bidirectional=True, batch_first=True)
        self.attention = AdditiveAttention(2 * units, settings["attention_units"], settings["attention_dropout"])
        self.output = nn.Linear(settings["max_length"] * 2 * units, 2)

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        states, _ = self.encoder(self.dropout(self.embedding(ids)))
        context, weights = self.attention(states)
        return self.output(context.flatten(1)), weights


class Masked(nn.Module):
    """The same with padding masked everywhere and the contexts averaged over the tokens.

    ``recurrent``: how the GRU avoids the padding: ``packed`` sequences, or a backward layer that reads each
    sentence ``reversed`` by its own length.
    """

    def __init__(self, settings: Mapping[str, Any], *, sparse: bool = False, recurrent: str = "packed") -> None:
        super().__init__()
        units = settings["units"]
        self.embedding = nn.Embedding(settings["vocabulary_size"], settings["embedding_units"], sparse=sparse)
        self.dropout = nn.Dropout(settings["dropout"])
        encoder = {"packed": PackedGRU, "reversed": ReversingGRU}[recurrent]
        self.encoder = encoder(settings["embedding_units"], units)
        self.attention = AdditiveAttention(2 * units, settings["attention_units"], settings["attention_dropout"])
        self.output = nn.Linear(2 * units, 2)

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        states = self.encoder(self.dropout(self.embedding(ids)), lengths)
        mask = torch.arange(ids.shape[1]) < lengths[:, None]
        context, weights = self.attention(states, mask)
        mean = torch.bmm((mask / lengths[:, None])[:, None], context).squeeze(1)
        return self.output(mean), weights


class PackedGRU(nn.Module):
    """Bidirectional GRU over packed sequences: (batch, length, in_units), (batch,) -> (batch, length, 2 * units)."""

    def __init__(self, in_units: int, units: int) -> None:
        super().__init__()
        self.both = nn.GRU(in_units, units, bidirectional=True, batch_first=True)

    def forward(self, sequence: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(sequence, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.both(packed)[0], batch_first=True, total_length=sequence.shape[1])
        return states


class ReversingGRU(nn.Module):
    """The same with one layer per direction; on padding its states are arbitrary."""

    def __init__(self, in_units: int, units: int) -> None:
        super().__init__()
        self.ahead = nn.GRU(in_units, units, batch_first=True)
        self.behind = nn.GRU(in_units, units, batch_first=True)

    def forward(self, sequence: Tensor, lengths: Tensor) -> Tensor:
        position = torch.arange(sequence.shape[1])
        length = lengths[:, None]
        rows = torch.where(position < length, length - 1 - position, position)[:, :, None]
        backward, _ = self.behind(sequence.gather(1, rows.expand_as(sequence)))
        return torch.cat([self.ahead(sequence)[0], backward.gather(1, rows.expand_as(backward))], 2)


def build(settings: Mapping[str, Any], *, optimizer: str, recurrent: str) -> nn.Module:
    """The network of a variant: ``settings`` are the variant's own, with ``vocabulary_size``."""
    sparse = optimizer == "sparse adam"
    if settings["model"] == "as written":
        return AsWritten(settings, sparse=sparse)
    return Masked(settings, sparse=sparse, recurrent=recurrent)


def batches(ids: Tensor, lengths: Tensor, size: int, buckets: bool) -> Iterator[Tensor]:
    """Row numbers of the batches of an epoch in random order; with ``buckets``, batches of similar length."""
    order = torch.randperm(len(ids))
    if not buckets:
        yield from order.split(size)
        return
    chunks = order[torch.sort(lengths[order], stable=True).indices].split(size)
    for index in torch.randperm(len(chunks)).tolist():
        yield chunks[index]


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Train for two epochs and time the second; the first compiles and warms up.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ids (rows, max_length), lengths (rows,) and labels (rows,), all
            int64), ``threads``, ``settings``, ``batch_size``, ``learning_rate``, and the choices ``optimizer``,
            ``recurrent``, ``compile``, ``buckets``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second epoch, ``warm_up_seconds``, ``parameters``.
    """
    with np.load(spec["arrays"]) as arrays:
        ids, lengths, labels = (torch.from_numpy(arrays[name]) for name in ("ids", "lengths", "labels"))
    model = build(spec["settings"], optimizer=spec["optimizer"], recurrent=spec["recurrent"])
    optimizers = optimizers_of(model, spec["optimizer"], spec["learning_rate"])
    torch._dynamo.config.allow_rnn = spec["compile"] == "whole"
    torch._dynamo.config.recompile_limit = 64  # every bucket has its own length
    network = model if spec["compile"] == "no" else torch.compile(model, dynamic=False)

    def losses() -> Iterator[Tensor]:
        for rows in batches(ids, lengths, spec["batch_size"], spec["buckets"]):
            length = lengths[rows]
            width = -(-int(length.max()) // 4) * 4 if spec["buckets"] else ids.shape[1]
            logits, _ = network(ids[rows, :width], length)
            yield functional.cross_entropy(logits, labels[rows])

    return second_epoch(model, optimizers, losses)


if __name__ == "__main__":
    main(measure)
