"""Our side of ``driving_speed``: networks that steer, trained by ``fit``.

Each runs in its own process: ``python -m benchmarks.ours.driving {describe,train,ceiling} ...`` prints its result as
one line of JSON. Frames are random, since the time of a step does not depend on them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.stopwatch import second_epoch, side
from gluon_attn import runtime

RATE, CLIP = 1e-3, 1.0
CHANNELS, HEIGHT, WIDTH, ATTENTION_UNITS = [16, 24, 32, 48, 32], 80, 160, 32
SHAPES = {"attention": (2, 20), "lstm": (2, 20), "convolutions": (32, 1)}
"""Sequences of a batch, and frames of a sequence."""


def drawn(model: str, steps: int) -> list[dict[str, Any]]:
    """The arrays of ``steps`` batches, the same in every process."""
    import numpy as np

    generator = np.random.RandomState(1)
    shape = SHAPES[model]
    return [
        {
            "frames": generator.standard_normal((*shape, 3, HEIGHT, WIDTH)).astype(np.float32),
            "target": generator.standard_normal(shape).astype(np.float32),
        }
        for _ in range(steps)
    ]


def build(model: str, units: int) -> Any:
    """The network, not yet initialized."""
    from gluon_attn.models.visual_attention_driving import ConvolutionalDriver, RecurrentDriver

    common = {"channels": tuple(CHANNELS), "height": HEIGHT, "width": WIDTH, "units": units}
    if model == "convolutions":
        return ConvolutionalDriver(**common)
    attention_units = ATTENTION_UNITS if model == "attention" else 0
    return RecurrentDriver(**common, attention_units=attention_units, steps=SHAPES[model][1])


def describe(model: str, units: int, steps: int, path: Path) -> dict[str, Any]:
    """Write the batches to ``path`` for the peers, and describe the training."""
    import numpy as np

    from gluon_attn.training.checkpoint import parameter_count

    batches = drawn(model, steps)
    frames = int(sum(batch["target"].size for batch in batches))
    np.savez(path, **{f"{name}_{i}": array for i, batch in enumerate(batches) for name, array in batch.items()})
    settings = {"model": model, "units": units, "channels": CHANNELS, "height": HEIGHT, "width": WIDTH}
    return {
        "settings": {**settings, "attention_units": ATTENTION_UNITS},
        "batches": steps,
        "frames": frames,
        "learning_rate": RATE,
        "clip_norm": CLIP,
        "parameters": parameter_count(build(model, units)),
        "gflop": 3 * 2e-9 * frames * multiply_adds(model, units),  # backward: twice the forward pass
    }


def multiply_adds(model: str, units: int) -> float:
    """Of one forward pass of one frame: the convolutions and the products of matrices, but for the first state."""
    from gluon_attn.models.visual_attention_driving import KERNELS, STRIDES

    rows, columns, total = HEIGHT, WIDTH, 0.0
    for inputs, outputs, kernel, stride in zip([3, *CHANNELS], CHANNELS, KERNELS, STRIDES, strict=False):
        rows, columns = -(-rows // stride), -(-columns // stride)
        total += rows * columns * kernel**2 * inputs * outputs
    width = rows * columns * CHANNELS[-1]
    if model == "convolutions":
        return total + units * (width + 1)
    total += 4 * units * (width + units) + units
    if model == "attention":
        total += ATTENTION_UNITS * (units + rows * columns * (CHANNELS[-1] + 1))
    return total


def train(model: str, units: int, steps: int) -> dict[str, float]:
    """Train on the batches twice with ``fit`` and time the second time."""
    import mxnet as mx
    from mxnet import nd

    from gluon_attn.training.drives import initial_state
    from gluon_attn.training.objective import Batch, Objective
    from gluon_attn.training.recipe import Recipe

    runtime.seed_all(1)
    network = build(model, units)
    network.initialize(mx.init.Xavier())
    network.hybridize(static_alloc=True, static_shape=True)
    begin = initial_state(SHAPES[model][0], network.state_units)
    batches = [Batch((batch["frames"], *begin), batch["target"]) for batch in drawn(model, steps)]

    def loss(output: Any, target: nd.NDArray) -> nd.NDArray:
        return nd.abs(output.degrees - target).mean(axis=1)

    objective = Objective(lambda _: batches, steps, loss, lambda _: {})
    recipe = Recipe(epochs=2, batch_size=SHAPES[model][0], learning_rate=RATE, clip_norm=CLIP)
    return second_epoch(network, objective, recipe)


if __name__ == "__main__":
    side(__doc__, describe, train)
