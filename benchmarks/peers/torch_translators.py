"""``RNNSearch`` and ``DeepLSTM`` with attention in eager PyTorch, and their training loop.

Written for speed: what does not depend on the step is computed once for all steps, keys are projected once per
sentence, the output layer is one product for all tokens; the optimizer is fused.

    python -m benchmarks.peers.torch_translators '{"arrays": "pairs.npz", "threads": 2, ...}'

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

PADDING = 1
Memory = tuple[Tensor, ...]


class RNNSearch(nn.Module):
    """Bahdanau et al. (2015): bidirectional GRU, additive attention, GRU decoder, maxout readout.

    States are (sentences, beam, units): all translations of a sentence share one memory. Training has a beam of one.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        units, width, hidden = settings["units"], settings["embedding_units"], settings["attention_units"]
        self.units, self.maxout = units, settings["maxout_units"]
        self.source_embedding = nn.Embedding(settings["source_vocabulary"], width)
        self.target_embedding = nn.Embedding(settings["target_vocabulary"], width)
        self.dropout = nn.Dropout(settings["dropout"])
        self.encoder = nn.GRU(width, units, bidirectional=True, batch_first=True)
        self.initial = nn.Linear(units, units)
        self.query = nn.Linear(units, hidden, bias=False)
        self.key = nn.Linear(2 * units, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.from_token = nn.Linear(width, 3 * units)
        self.from_context = nn.Linear(2 * units, 3 * units, bias=False)
        self.gates = nn.Linear(units, 2 * units, bias=False)
        self.proposal = nn.Linear(units, units, bias=False)
        self.readout = nn.Linear(units + width + 2 * units, 2 * self.maxout)
        self.output = nn.Linear(self.maxout, settings["target_vocabulary"])
        if settings.get("tied"):
            self.output.weight = self.target_embedding.weight

    def forward(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Tensor:
        """Logits (batch, steps, vocabulary) of given targets."""
        memory, (state,) = self.encode(source, lengths)
        embedded = self.dropout(self.target_embedding(inputs))
        before, alignments = [], []
        for token in self.from_token(embedded).split(1, 1):
            before.append(state)
            weights, state = self.advance(token, memory, state)
            alignments.append(weights)
        return self.logits(torch.cat(before, 1), embedded, torch.bmm(torch.cat(alignments, 1), memory[0]))

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Memory, tuple[Tensor]]:
        """What is computed once per sentence: the memory (states, keys, values, gap) and the first state."""
        packed = pack_padded_sequence(
            self.dropout(self.source_embedding(source)), lengths, batch_first=True, enforce_sorted=False
        )
        packed, last = self.encoder(packed)
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.shape[1])
        gap = (torch.arange(source.shape[1]) >= lengths[:, None]) * -1e18
        memory = (states, self.key(states)[:, None], self.from_context(states), gap[:, None])
        return memory, (torch.tanh(self.initial(last[1]))[:, None],)

    def advance(self, token: Tensor, memory: Memory, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step: the tokens' part of the gates (sentences, beam, 3 * units) -> weights and the next state."""
        _, keys, values, gap = memory
        score = self.score(torch.tanh(self.query(state)[:, :, None] + keys)).squeeze(3)
        weights = torch.softmax(score + gap, 2)
        inputs = token + torch.bmm(weights, values)
        gates = torch.sigmoid(inputs[..., : 2 * self.units] + self.gates(state))
        update, reset = gates.chunk(2, 2)
        proposal = torch.tanh(inputs[..., 2 * self.units :] + self.proposal(reset * state))
        return weights, state + update * (proposal - state)

    def logits(self, before: Tensor, embedded: Tensor, contexts: Tensor) -> Tensor:
        """Maxout of the previous state, the last token and the context, and the output layer."""
        features = self.readout(torch.cat([before, embedded, contexts], 2))
        features = torch.maximum(features[..., : self.maxout], features[..., self.maxout :])
        return self.output(self.dropout(features))

    def step(self, tokens: Tensor, memory: Memory, state: tuple[Tensor]) -> tuple[Tensor, tuple[Tensor]]:
        """Logits (sentences, beam, vocabulary) after the last tokens (sentences, beam), and the state after them."""
        embedded = self.target_embedding(tokens)
        weights, after = self.advance(self.from_token(embedded), memory, *state)
        return self.logits(*state, embedded, torch.bmm(weights, memory[0])), (after,)


class DeepLSTM(nn.Module):
    """Luong et al. (2015): stacked LSTMs, global attention with the score *general*, input feeding."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        units, width, self.layers = settings["units"], settings["embedding_units"], settings["layers"]
        self.source_embedding = nn.Embedding(settings["source_vocabulary"], width)
        self.target_embedding = nn.Embedding(settings["target_vocabulary"], width)
        self.dropout = nn.Dropout(settings["dropout"])
        self.encoder = nn.LSTM(width, units, self.layers, batch_first=True, dropout=settings["dropout"])
        self.decoder = nn.ModuleList(nn.LSTMCell(width + units if i == 0 else units, units) for i in range(self.layers))
        for layer in self.decoder:  # one bias for each gate, as ours has
            layer.bias_hh.requires_grad_(False).zero_()
        self.key = nn.Linear(units, units, bias=False)
        self.attentional = nn.Linear(2 * units, units, bias=False)
        self.output = nn.Linear(units, settings["target_vocabulary"])

    def forward(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> Tensor:
        # Read backwards: each sentence reversed by its own length, then its states put back in order.
        position = torch.arange(source.shape[1])
        rows = torch.where(position < lengths[:, None], lengths[:, None] - 1 - position, position)
        packed = pack_padded_sequence(
            self.dropout(self.source_embedding(source.gather(1, rows))), lengths, batch_first=True, enforce_sorted=False
        )
        packed, (hidden, cell) = self.encoder(packed)
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.shape[1])
        states = states.gather(1, rows[:, :, None].expand_as(states))
        gap = (position >= lengths[:, None]) * -1e18
        keys = self.key(states).transpose(1, 2)
        embedded = self.dropout(self.target_embedding(inputs))
        state = [(hidden[i], cell[i]) for i in range(self.layers)]
        fed = torch.zeros_like(hidden[-1])
        features = []
        for step in range(inputs.shape[1]):
            below = torch.cat([embedded[:, step], fed], 1)
            for i, layer in enumerate(self.decoder):
                state[i] = layer(below if i == 0 else self.dropout(below), state[i])
                below = state[i][0]
            weights = torch.softmax(torch.bmm(below[:, None], keys) + gap[:, None], 2)
            context = torch.bmm(weights, states).squeeze(1)
            fed = torch.tanh(self.attentional(torch.cat([context, below], 1)))
            features.append(fed)
        return self.output(self.dropout(torch.stack(features, 1)))


MODELS = {"rnnsearch": RNNSearch, "deep lstm": DeepLSTM}


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Train on the given batches twice and time the second time.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ``source_0``, ``lengths_0``, ``inputs_0``, ``targets_0`` and
            so on for each of ``batches`` batches, padded, int64), ``threads``, ``settings`` with ``model``,
            ``learning_rate``, ``clip_norm``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``, ``parameters``.
    """
    with np.load(spec["arrays"]) as arrays:
        batches = [
            tuple(torch.from_numpy(arrays[f"{name}_{i}"]) for name in ("source", "lengths", "inputs", "targets"))
            for i in range(spec["batches"])
        ]
    model = MODELS[spec["settings"]["model"]](spec["settings"])
    optimizers = optimizers_of(model, "fused adam", spec["learning_rate"])

    def losses() -> Iterator[Tensor]:
        for source, lengths, inputs, targets in batches:
            logits = model(source, lengths, inputs)
            yield functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PADDING)

    return second_epoch(model, optimizers, losses, spec["clip_norm"])


if __name__ == "__main__":
    main(measure)
