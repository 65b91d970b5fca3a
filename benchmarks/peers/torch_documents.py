"""``StructuredClassifier`` and ``HierarchicalAttentionNetwork`` in eager PyTorch, and their training loop.

Written for speed: padding sentences are skipped, recurrent layers are PyTorch's own.

    python -m benchmarks.peers.torch_documents '{"arrays": "batches.npz", "threads": 2, ...}'

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

GROUPS = 8  # of sentences of similar length


class Bidirectional(nn.Module):
    """A bidirectional layer that ignores its padding: (batch, length, in_units), (batch,) -> both states.

    ``recurrent``: how the padding is avoided: ``packed`` sequences, or (otherwise) a backward layer that reads each
    sentence ``reversed`` by its own length.
    """

    def __init__(self, kind: Any, in_units: int, units: int, recurrent: str) -> None:
        super().__init__()
        if recurrent == "packed":
            self.both = kind(in_units, units, bidirectional=True, batch_first=True)
        else:
            self.ahead, self.behind = (kind(in_units, units, batch_first=True) for _ in range(2))
        self.packed = recurrent == "packed"

    def forward(self, sequence: Tensor, lengths: Tensor) -> Tensor:
        if self.packed:
            packed = pack_padded_sequence(sequence, lengths, batch_first=True, enforce_sorted=False)
            states, _ = pad_packed_sequence(self.both(packed)[0], batch_first=True, total_length=sequence.shape[1])
            return states
        position = torch.arange(sequence.shape[1])
        length = lengths[:, None]
        rows = torch.where(position < length, length - 1 - position, position)[:, :, None]
        backward, _ = self.behind(sequence.gather(1, rows.expand_as(sequence)))
        return torch.cat([self.ahead(sequence)[0], backward.gather(1, rows.expand_as(backward))], 2)


class StructuredClassifier(nn.Module):
    """Lin et al. (2017): BiLSTM, r hops of attention, a rectified layer, classes; ``(logits, weights, penalty)``."""

    def __init__(self, settings: Mapping[str, Any], *, sparse: bool, recurrent: str) -> None:
        super().__init__()
        width, units, self.hops = settings["embedding_units"], settings["units"], settings["hops"]
        self.embedding = nn.Embedding(settings["vocabulary_size"], width, sparse=sparse)
        self.dropout = nn.Dropout(settings["dropout"])
        self.encoder = Bidirectional(nn.LSTM, width, units, recurrent)
        self.inner = nn.Linear(2 * units, settings["attention_units"], bias=False)
        self.score = nn.Linear(settings["attention_units"], self.hops, bias=False)
        self.hidden = nn.Linear(self.hops * 2 * units, settings["hidden"])
        self.output = nn.Linear(settings["hidden"], 2)

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        states = self.encoder(self.dropout(self.embedding(ids)), lengths)
        gap = (torch.arange(ids.shape[1]) >= lengths[:, None]) * -1e18
        weights = torch.softmax(self.score(torch.tanh(self.inner(states))).transpose(1, 2) + gap[:, None], 2)
        matrix = self.dropout(torch.bmm(weights, states).flatten(1))
        logits = self.output(self.dropout(torch.relu(self.hidden(matrix))))
        excess = torch.bmm(weights, weights.transpose(1, 2)) - torch.eye(self.hops)
        return logits, weights, excess.square().sum((1, 2))


class Reader(nn.Module):
    """A bidirectional GRU and attention with a context vector: (batch, length, in_units) -> vector, weights."""

    def __init__(self, in_units: int, units: int, attention_units: int, recurrent: str) -> None:
        super().__init__()
        self.encoder = Bidirectional(nn.GRU, in_units, units, recurrent)
        self.hidden = nn.Linear(2 * units, attention_units)
        self.score = nn.Linear(attention_units, 1, bias=False)

    def forward(self, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        states = self.encoder(sequence, lengths)
        gap = (torch.arange(sequence.shape[1]) >= lengths[:, None]) * -1e18
        weights = torch.softmax(self.score(torch.tanh(self.hidden(states))).squeeze(2) + gap, 1)
        return torch.bmm(weights[:, None], states).squeeze(1), weights


class HierarchicalAttentionNetwork(nn.Module):
    """Yang et al. (2016): words are pooled into sentences, sentences into documents; ``(logits, word weights, sentence
    weights)``, the word weights of real sentences only, one per row.

    With ``recurrent="grouped"``, sentences are encoded in groups of similar length, each padded to its longest.
    """

    def __init__(self, settings: Mapping[str, Any], *, sparse: bool, recurrent: str) -> None:
        super().__init__()
        width, units, attention = (settings[name] for name in ("embedding_units", "units", "attention_units"))
        self.embedding = nn.Embedding(settings["vocabulary_size"], width, sparse=sparse)
        self.dropout = nn.Dropout(settings["dropout"])
        self.words = Reader(width, units, attention, recurrent)
        self.sentences = Reader(2 * units, units, attention, recurrent)
        self.output = nn.Linear(2 * units, 2)
        self.groups = GROUPS if recurrent == "grouped" else 1

    def forward(self, ids: Tensor, counts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        real = torch.arange(ids.shape[1]) < counts[:, None]
        sentences, word_weights = self.encoded(ids[real], lengths[real])
        vectors = sentences.new_zeros(*real.shape, sentences.shape[1])
        vectors[real] = self.dropout(sentences)
        document, sentence_weights = self.sentences(vectors, counts)
        return self.output(self.dropout(document)), word_weights, sentence_weights

    def encoded(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors and word weights of sentences (sentences, words)."""
        if self.groups == 1:
            return self.words(self.dropout(self.embedding(ids)), lengths)
        order = torch.argsort(lengths)
        vectors, weights = [], []
        for rows in order.chunk(self.groups):
            width = int(lengths[rows[-1]])
            vector, weight = self.words(self.dropout(self.embedding(ids[rows, :width])), lengths[rows])
            vectors.append(vector)
            weights.append(functional.pad(weight, (0, ids.shape[1] - width)))
        back = torch.argsort(order)
        return torch.cat(vectors)[back], torch.cat(weights)[back]


MODELS = {"structured": StructuredClassifier, "hierarchical": HierarchicalAttentionNetwork}


def build(settings: Mapping[str, Any], *, optimizer: str, recurrent: str) -> nn.Module:
    """The network that ``settings["model"]`` names."""
    return MODELS[settings["model"]](settings, sparse=optimizer == "sparse adam", recurrent=recurrent)


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Train on the given batches twice and time the second time.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ``input_0_0``, ``input_0_1`` and so on, the inputs of batch 0, and
            ``labels_0``, for each of ``batches`` batches, padded, integers), ``threads``, ``settings`` with ``model``,
            ``learning_rate``, ``penalty``, and the choices ``optimizer`` and ``recurrent``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``, ``parameters``.
    """
    with np.load(spec["arrays"]) as arrays:
        numbers = range(sum(name.startswith("input_0_") for name in arrays.files))
        batches = [
            (
                [torch.from_numpy(arrays[f"input_{batch}_{number}"]).long() for number in numbers],
                torch.from_numpy(arrays[f"labels_{batch}"]).long(),
            )
            for batch in range(spec["batches"])
        ]
    structured = spec["settings"]["model"] == "structured"
    model = build(spec["settings"], optimizer=spec["optimizer"], recurrent=spec["recurrent"])
    optimizers = optimizers_of(model, spec["optimizer"], spec["learning_rate"])

    def losses() -> Iterator[Tensor]:
        for inputs, labels in batches:
            logits, *_, last = model(*inputs)
            loss = functional.cross_entropy(logits, labels)
            yield loss + spec["penalty"] * last.mean() if structured else loss

    return second_epoch(model, optimizers, losses)


if __name__ == "__main__":
    main(measure)
