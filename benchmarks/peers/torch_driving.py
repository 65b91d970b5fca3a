"""The networks that steer in PyTorch, eager and compiled, and their training loop.

Written for speed: what does not depend on the step is one product for all steps, channels are last in memory, and the
optimizer is fused.

    python -m benchmarks.peers.torch_driving '{"arrays": "batches.npz", "threads": 2, ...}'

prints the measurement as one line of JSON; see :func:`measure`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.peers.torch_training import main, optimizers_of, second_epoch

KERNELS, STRIDES = (5, 5, 5, 3, 3), (2, 2, 2, 1, 1)


class Driver(nn.Module):
    """Kim and Canny (2017): frames (batch, steps, 3, height, width) -> steering (batch, steps)."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        channels, units, self.model = settings["channels"], settings["units"], settings["model"]
        layers: list[nn.Module] = []
        for inputs, outputs, kernel, stride in zip([3, *channels], channels, KERNELS, STRIDES, strict=False):
            layers += [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2), nn.ReLU()]
        self.convolutions = nn.Sequential(*layers)
        self.regions = settings["height"] * settings["width"] // 64
        width = self.regions * channels[-1]
        self.output = nn.Linear(units, 1)
        if self.model == "convolutions":
            self.hidden = nn.Linear(width, units)
            return
        self.first_h, self.first_c = nn.Linear(channels[-1], units), nn.Linear(channels[-1], units)
        self.inputs = nn.Linear(width, 4 * units)
        self.gates = nn.Linear(units, 4 * units, bias=False)
        if self.model == "attention":
            self.query = nn.Linear(units, settings["attention_units"])
            self.key = nn.Linear(channels[-1], settings["attention_units"], bias=False)
            self.score = nn.Linear(settings["attention_units"], 1, bias=False)

    def forward(self, frames: Tensor) -> Tensor:
        batch, steps = frames.shape[:2]
        images = frames.flatten(0, 1).contiguous(memory_format=torch.channels_last)
        features = self.convolutions(images).flatten(2).transpose(1, 2)
        if self.model == "convolutions":
            return self.output(torch.relu(self.hidden(features.flatten(1)))).view(batch, steps)
        features = features.reshape(batch, steps, self.regions, -1)
        mean = features[:, 0].mean(1)
        h, c = torch.tanh(self.first_h(mean)), torch.tanh(self.first_c(mean))
        attends = self.model == "attention"
        projected = self.key(features) if attends else self.inputs(features.flatten(2))
        hidden = []
        for step in range(steps):
            if attends:
                scores = self.score(torch.tanh(projected[:, step] + self.query(h)[:, None]))
                weighted = self.regions * torch.softmax(scores, 1) * features[:, step]
                gates = self.inputs(weighted.flatten(1))
            else:
                gates = projected[:, step]
            i, f, o, g = (gates + self.gates(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            hidden.append(h)
        return self.output(torch.stack(hidden, 1)).squeeze(2)


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Train on the given batches twice and time the second time.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ``frames_0``, ``target_0`` and so on for each of the ``batches``),
            ``threads``, ``settings``, ``learning_rate``, ``clip_norm``, ``compile``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``, ``parameters``.
    """
    with np.load(spec["arrays"]) as arrays:
        batches = [
            (torch.from_numpy(arrays[f"frames_{i}"]), torch.from_numpy(arrays[f"target_{i}"]))
            for i in range(spec["batches"])
        ]
    model = Driver(spec["settings"])
    model.convolutions.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    network = torch.compile(model) if spec["compile"] else model
    optimizers = optimizers_of(model, "fused adam", spec["learning_rate"])

    def losses() -> Iterator[Tensor]:
        for frames, target in batches:
            yield (network(frames) - target).abs().mean()

    return second_epoch(model, optimizers, losses, spec["clip_norm"])


if __name__ == "__main__":
    main(measure)
