"""Show, attend and tell with soft attention in eager PyTorch, and its training loop.

Written for speed: what does not depend on the step (keys, the words' part of the gates, the output layer) is computed
once for all steps; the optimizer is fused.

    python -m benchmarks.peers.torch_captions '{"arrays": "batches.npz", "threads": 1, ...}'

prints the measurement as one line of JSON; see :func:`measure`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.peers.torch_training import main, optimizers_of, second_epoch


class ShowAttendTell(nn.Module):
    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        units, narrow = settings["units"], settings["narrow"]
        self.units, self.settings = units, settings
        self.embedding = nn.Embedding(settings["vocabulary"], narrow)
        self.bias = nn.Parameter(torch.zeros(settings["vocabulary"]))
        self.annotation = nn.Linear(settings["channels"], units)
        self.initial = nn.Linear(units, 2 * units)
        self.query, self.key = nn.Linear(units, narrow), nn.Linear(units, narrow, bias=False)
        self.value = nn.Linear(narrow, 1, bias=False)
        self.gate = nn.Linear(units, 1)
        self.of_word = nn.Linear(narrow, 4 * units)
        self.of_previous = nn.Linear(2 * units, 4 * units, bias=False)
        self.of_state, self.of_context = nn.Linear(units, narrow), nn.Linear(units, narrow, bias=False)
        self.dropout, self.feature_dropout = nn.Dropout(settings["dropout"]), nn.Dropout(settings["feature_dropout"])

    def forward(self, features: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of a batch: of each word with smoothed labels, and the penalty, over the number of words."""
        annotations = self.feature_dropout(torch.relu(self.annotation(features)))
        hidden, cell = torch.tanh(self.initial(annotations.mean(1))).chunk(2, 1)
        keys = self.key(annotations)
        embedded = self.dropout(self.embedding(inputs))
        states, contexts, weights = [], [], []
        for word in self.of_word(embedded).unbind(1):
            scores = self.value(torch.tanh(keys + self.query(hidden)[:, None])).squeeze(2)
            weights.append(torch.softmax(scores, 1))
            context = torch.bmm(weights[-1][:, None], annotations).squeeze(1) * torch.sigmoid(self.gate(hidden))
            gates = word + self.of_previous(torch.cat([hidden, context], 1))
            sigmoids, candidate = gates.split([3 * self.units, self.units], 1)
            i, f, o = torch.sigmoid(sigmoids).chunk(3, 1)
            cell = f * cell + i * torch.tanh(candidate)
            hidden = o * torch.tanh(cell)
            states.append(hidden)
            contexts.append(context)
        out = embedded + self.of_state(torch.stack(states, 1)) + self.of_context(torch.stack(contexts, 1))
        logits = functional.linear(self.feature_dropout(out), self.embedding.weight, self.bias)
        padding = self.settings["padding"]
        loss = functional.cross_entropy(
            logits.flatten(0, 1),
            targets.flatten(),
            ignore_index=padding,
            label_smoothing=self.settings["smoothing"],
            reduction="sum",
        )
        real = targets != padding
        totals = torch.bmm(real[:, None].to(out.dtype), torch.stack(weights, 1)).squeeze(1)
        return (loss + self.settings["penalty"] * (1 - totals).square().sum()) / real.sum()


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Train on the given batches twice and time the second time.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ``features_0``, ``inputs_0``, ``targets_0`` and so on for each of
            ``batches`` batches), ``threads``, ``settings``, ``learning_rate``, ``clip_norm``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``, ``parameters``.
    """
    with np.load(spec["arrays"]) as arrays:
        batches = [
            tuple(torch.from_numpy(arrays[f"{name}_{i}"]) for name in ("features", "inputs", "targets"))
            for i in range(spec["batches"])
        ]
    batches = [(features, inputs.long(), targets.long()) for features, inputs, targets in batches]
    model = ShowAttendTell(spec["settings"])

    def losses() -> Iterator[Tensor]:
        return (model(*batch) for batch in batches)

    optimizers = optimizers_of(model, "fused adam", spec["learning_rate"])
    return second_epoch(model, optimizers, losses, spec["clip_norm"])


if __name__ == "__main__":
    main(measure)
