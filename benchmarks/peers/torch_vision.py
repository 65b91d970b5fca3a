"""``VisionTransformer`` and ``ResNet`` in PyTorch, eager and compiled, and their training loop.

Written for speed: queries, keys and values are one product, attention is PyTorch's fused
``scaled_dot_product_attention``, convolutions have the layout "channels last"; the optimizer is fused.

    python -m benchmarks.peers.torch_vision '{"arrays": "images.npz", "threads": 1, ...}'

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
from benchmarks.peers.torch_transformers import joined, split


class Layer(nn.Module):
    """Self-attention and a feed-forward network, each normalised before: (batch, tokens, units) -> the same."""

    def __init__(self, units: int, heads: int, hidden_units: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.projection = nn.Linear(units, 3 * units, bias=False)
        self.output = nn.Linear(units, units, bias=False)
        self.hidden, self.narrow = nn.Linear(units, hidden_units), nn.Linear(hidden_units, units)
        self.norms = nn.ModuleList(nn.LayerNorm(units) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = split(self.projection(self.norms[0](x)), self.heads, 3)
        x = x + self.dropout(self.output(joined(functional.scaled_dot_product_attention(query, key, value))))
        return x + self.dropout(self.narrow(functional.gelu(self.hidden(self.norms[1](x)))))


class VisionTransformer(nn.Module):
    """Patches of pixels, 1-D positions and a class token: images (batch, 3, size, size) -> logits."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        units, patch = settings["units"], settings["patch"]
        self.patches = nn.Conv2d(3, units, patch, stride=patch)
        self.first = nn.Parameter(torch.zeros(1, 1, units))
        self.positions = nn.Parameter(0.02 * torch.randn(1, (settings["size"] // patch) ** 2 + 1, units))
        self.dropout = nn.Dropout(settings["dropout"])
        sizes = (settings[name] for name in ("units", "heads", "hidden_units", "dropout"))
        arguments = tuple(sizes)
        self.layers = nn.ModuleList(Layer(*arguments) for _ in range(settings["layers"]))
        self.norm, self.output = nn.LayerNorm(units), nn.Linear(units, settings["classes"])

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = self.dropout(torch.cat([self.first.expand(len(x), -1, -1), x], dim=1) + self.positions)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x[:, 0]))


class Block(nn.Module):
    """Two convolutions of 3 x 3 and a shortcut."""

    def __init__(self, channels: int, in_channels: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(in_channels, channels, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )
        projected = stride > 1 or channels != in_channels
        convolution = nn.Conv2d(in_channels, channels, 1, stride, bias=False)
        self.shortcut = nn.Sequential(convolution, nn.BatchNorm2d(channels)) if projected else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    """Three stages of blocks: images (batch, 3, size, size) -> logits."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        width = before = settings["width"]
        layers: list[nn.Module] = [nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        for stage in range(3):
            for block in range(settings["blocks"]):
                layers.append(Block(width * 2**stage, before, 2 if stage and not block else 1))
                before = width * 2**stage
        self.features, self.output = nn.Sequential(*layers), nn.Linear(before, settings["classes"])

    def forward(self, images: Tensor) -> Tensor:
        return self.output(self.features(images).mean(dim=(2, 3)))


def build(settings: Mapping[str, Any]) -> nn.Module:
    """The network that has these settings."""
    return VisionTransformer(settings) if "units" in settings else ResNet(settings)


def measure(spec: Mapping[str, Any]) -> dict[str, float]:
    """Train on the given batches twice and time the second time.

    Args:
        spec: ``arrays`` (path of an ``.npz`` with ``images_0`` (batch, 3, size, size) float32, ``labels_0`` (batch,)
            int64 and so on for each of ``batches``), ``threads``, ``settings``, ``learning_rate``, ``clip_norm``,
            ``compile``.

    Returns:
        ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds``, ``parameters``.
    """
    model = build(spec["settings"]).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    with np.load(spec["arrays"]) as arrays:
        batches = [
            (
                torch.from_numpy(arrays[f"images_{i}"]).contiguous(memory_format=torch.channels_last),
                torch.from_numpy(arrays[f"labels_{i}"]),
            )
            for i in range(spec["batches"])
        ]
    network = torch.compile(model) if spec["compile"] else model
    smoothing = spec["settings"]["smoothing"]

    def losses() -> Iterator[Tensor]:
        for images, labels in batches:
            yield functional.cross_entropy(network(images), labels, label_smoothing=smoothing)

    return second_epoch(
        model, optimizers_of(model, "fused adam", spec["learning_rate"]), losses, clip_norm=spec["clip_norm"]
    )


if __name__ == "__main__":
    main(measure)
