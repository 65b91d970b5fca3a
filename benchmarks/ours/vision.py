"""Our side of ``vision_speed``: networks of ``dosovitskiy2020`` trained by ``fit`` on batches of CIFAR-10.

Each runs in its own process: ``python -m benchmarks.ours.vision {describe,train,ceiling} ...`` prints its result as one
line of JSON.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.ours.training import first_batches, train_twice
from benchmarks.stopwatch import side


def prepared(model: str, units: int, steps: int) -> tuple[Any, Any, Any, list[Any]]:
    """The variant with this width, its data, its objective, and ``steps`` of the batches that the script trains on."""
    from reproductions import dosovitskiy2020
    from reproductions.protocol.runner import corpus_or_sample

    preset = corpus_or_sample(dosovitskiy2020.REPRODUCTION.preset("cpu"))
    variant: Any = preset.variant(model)
    width = "units" if hasattr(variant.settings, "units") else "width"
    variant = replace(variant, settings=replace(variant.settings, **{width: units}))
    task: Any = preset.task(model)
    data = task.prepare(variant.settings, sample=preset.on_sample)
    objective = task.objective(variant.settings, variant.recipe, data)
    return variant, data, objective, first_batches(objective, steps)


def describe(model: str, units: int, steps: int, path: Path) -> dict[str, Any]:
    """Write the batches to ``path`` for the peers, and describe the training."""
    import mxnet as mx
    import numpy as np

    from gluon_attn.training.checkpoint import named_parameters

    variant, data, _, batches = prepared(model, units, steps)
    arrays = {}
    for number, batch in enumerate(batches):
        arrays[f"images_{number}"], arrays[f"labels_{number}"] = batch.inputs[0], batch.target.astype(np.int64)
    np.savez(path, **arrays)
    network = variant.settings.build(data)
    network.initialize(mx.init.Xavier())
    images = sum(len(batch.target) for batch in batches)
    settings = asdict(variant.settings) | {"classes": data.classes}
    count = multiply_adds_of_vit(settings) if hasattr(variant.settings, "units") else multiply_adds_of_resnet(settings)
    return {
        "corpus": data.corpus,
        "pipeline": data.digest,
        "settings": settings,
        "batches": steps,
        "images": images,
        "learning_rate": variant.recipe.learning_rate / 100,
        "clip_norm": variant.recipe.clip_norm,
        "parameters": sum(int(np.prod(one.shape)) for _, one in named_parameters(network) if one.grad_req != "null"),
        "gflop": 3 * 2e-9 * images * count,  # backward: twice the forward pass
    }


def multiply_adds_of_vit(settings: dict[str, Any]) -> float:
    """Of one forward pass of one image without a stem: only the products of matrices."""
    units, patches = settings["units"], (settings["size"] // settings["patch"]) ** 2
    tokens = patches + (settings["pooling"] == "class")
    layer = tokens * (4 * units**2 + 2 * units * settings["hidden_units"]) + 2 * units * tokens**2
    return float(
        settings["layers"] * layer + patches * 3 * settings["patch"] ** 2 * units + units * settings["classes"]
    )


def multiply_adds_of_resnet(settings: dict[str, Any]) -> float:
    """Of one forward pass of one image: the convolutions and the output layer."""
    width, blocks, pixels = settings["width"], settings["blocks"], settings["size"] ** 2
    total = 27 * width * pixels
    for stage in range(3):
        channels, cells = width * 2**stage, pixels // 4**stage
        before = channels if stage == 0 else channels // 2
        total += cells * 9 * channels * (before + (2 * blocks - 1) * channels)
        total += cells * before * channels if stage else 0
    return float(total + 4 * width * settings["classes"])


def train(model: str, units: int, steps: int) -> dict[str, float]:
    """Train on the batches twice and time the second time."""
    return train_twice(*prepared(model, units, steps))


if __name__ == "__main__":
    side(__doc__, describe, train)
