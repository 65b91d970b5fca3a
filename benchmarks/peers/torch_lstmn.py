"""The language model and the sentence classifier over an LSTMN in eager PyTorch, and their training loop.

Written for speed: what does not depend on the step is computed once for all steps, the tape is a list that is stacked
at each step, W_h h is computed once per state; the optimizer is fused.

    python -m benchmarks.peers.torch_lstmn '{"arrays": "batches.npz", "threads": 2, ...}'

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

State = tuple[list[Tensor], Tensor]


class LSTMN(nn.Module):
    """Cheng et al. (2016): an LSTM whose previous state is a weighted sum of the last states."""

    def __init__(self, units: int, window: int) -> None:
        super().__init__()
        self.units, self.window = units, window
        self.word = nn.Linear(units, units, bias=False)
        self.attended = nn.Linear(units, units, bias=False)
        self.key = nn.Linear(units, units, bias=False)
        self.score = nn.Linear(units, 1, bias=False)
        self.inputs = nn.Linear(units, 4 * units)
        self.gates = nn.Linear(units, 4 * units, bias=False)

    def forward(self, sequence: Tensor, state: State | None) -> tuple[Tensor, State]:
        """States (batch, steps, units), and the tape and h~ after the last step."""
        units = self.units
        zeros = sequence.new_zeros(len(sequence), units)
        tape, attended = state or ([], zeros)
        keys = [self.key(memory[:, :units]) for memory in tape]
        hidden = []
        steps = zip(self.word(sequence).unbind(1), self.inputs(sequence).unbind(1), strict=True)
        for word, inputs in steps:
            adaptive = zeros
            if tape:
                query = word + self.attended(attended)
                scores = self.score(torch.tanh(torch.stack(keys[-self.window :], 1) + query[:, None])).squeeze(2)
                weights = torch.softmax(scores, 1)[:, None]
                attended, adaptive = torch.bmm(weights, torch.stack(tape[-self.window :], 1)).squeeze(1).chunk(2, 1)
            gates = inputs + self.gates(attended)
            input_gate, forget_gate, output_gate = torch.sigmoid(gates[:, : 3 * units]).chunk(3, 1)
            cell = forget_gate * adaptive + input_gate * torch.tanh(gates[:, 3 * units :])
            hidden.append(output_gate * torch.tanh(cell))
            tape = [*tape, torch.cat([hidden[-1], cell], 1)]
            keys.append(self.key(hidden[-1]))
        return torch.stack(hidden, 1), (tape[-self.window :], attended)


class LanguageModel(nn.Module):
    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        units = settings["units"]
        self.embedding = nn.Embedding(settings["vocabulary"], units)
        self.dropout = nn.Dropout(settings["dropout"])
        self.reader = LSTMN(units, settings["window"])
        self.output = nn.Linear(units, settings["vocabulary"])

    def forward(self, inputs: Tensor, state: State | None) -> tuple[Tensor, State]:
        states, after = self.reader(self.dropout(self.embedding(inputs)), state)
        return self.output(self.dropout(states)), after


class Classifier(nn.Module):
    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        units = settings["units"]
        self.embedding = nn.Embedding(settings["vocabulary"], units)
        self.dropout = nn.Dropout(settings["dropout"])
        self.reader = LSTMN(units, settings["window"])
        self.hidden = nn.Linear(units, units)
        self.output = nn.Linear(units, settings["classes"])

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        states, _ = self.reader(self.dropout(self.embedding(ids)), None)
        inside = (torch.arange(ids.shape[1]) < lengths[:, None]).to(states.dtype)
        mean = torch.bmm(inside[:, None], states).squeeze(1) / lengths[:, None]
        return self.output(self.dropout(torch.relu(self.hidden(self.dropout(mean)))))


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Train on the given batches twice and time the second time.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ``inputs_0``, ``targets_0`` or ``ids_0``, ``lengths_0``, ``labels_0``
            and so on for each of ``batches`` batches, int64), ``threads``, ``settings`` with ``model``,
            ``learning_rate``, ``clip_norm``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``, ``parameters``.
    """
    of_language = spec["settings"]["model"] == "language model"
    names = ("inputs", "targets") if of_language else ("ids", "lengths", "labels")
    with np.load(spec["arrays"]) as arrays:
        batches = [tuple(torch.from_numpy(arrays[f"{name}_{i}"]) for name in names) for i in range(spec["batches"])]
    model = (LanguageModel if of_language else Classifier)(spec["settings"])
    optimizers = optimizers_of(model, "fused adam", spec["learning_rate"])

    def losses() -> Iterator[Tensor]:
        state: State | None = None
        for batch in batches:
            if of_language:
                inputs, targets = batch
                logits, (tape, attended) = model(inputs, state)
                state = [memory.detach() for memory in tape], attended.detach()
                yield functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            else:
                ids, lengths, labels = batch
                yield functional.cross_entropy(model(ids, lengths), labels)

    return second_epoch(model, optimizers, losses, spec["clip_norm"])


if __name__ == "__main__":
    main(measure)
