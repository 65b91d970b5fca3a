"""Our side of ``caption_speed``: Show, attend and tell with soft attention, trained by ``fit``.

Each runs in its own process: ``python -m benchmarks.ours.captions {describe,train} ...`` prints its result as one line
of JSON. Features and words are random, since the time of a step does not depend on them; captions are as long as those
of Flickr8k.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.stopwatch import second_epoch, side
from gluon_attn import runtime

DROPOUT, FEATURE_DROPOUT, SMOOTHING, PENALTY, RATE, CLIP, PADDING = 0.3, 0.4, 0.1, 1.0, 1e-3, 1.0, 1
VOCABULARY, IMAGES, POSITIONS, CHANNELS, NARROW = 2541, 64, 49, 1280, 256


def drawn(steps: int) -> list[dict[str, Any]]:
    """The arrays of ``steps`` batches, the same in every process."""
    import numpy as np

    from gluon_attn.training.batching import pad

    generator = np.random.RandomState(1)
    batches = []
    for _ in range(steps):
        length = int(np.clip(generator.normal(10.8, 3.7), 3, 22))
        captions = [generator.randint(4, VOCABULARY, length).astype(np.int32) for _ in range(IMAGES)]
        inputs = pad([np.append(2, caption) for caption in captions], PADDING, 2)
        targets = pad([np.append(caption, 3) for caption in captions], PADDING, 2)
        features = generator.rand(IMAGES, POSITIONS, CHANNELS).astype(np.float32)
        batches.append({"features": features, "inputs": inputs, "targets": targets})
    return batches


def build(units: int) -> Any:
    """The network, not yet initialized."""
    from gluon_attn.models.show_attend_tell import ShowAttendTell

    return ShowAttendTell(
        attention="soft",
        channels=CHANNELS,
        annotation_units=units,
        positions=POSITIONS,
        units=units,
        attention_units=NARROW,
        embedding_units=NARROW,
        target_vocabulary=VOCABULARY,
        padding=PADDING,
        penalty=PENALTY,
        dropout=DROPOUT,
        feature_dropout=FEATURE_DROPOUT,
        smoothing=SMOOTHING,
        tied=True,
    )


def describe(model: str, units: int, steps: int, path: Path) -> dict[str, Any]:
    """Write the batches to ``path`` for the peers, and describe the training."""
    import numpy as np

    from gluon_attn.training.checkpoint import parameter_count

    batches = drawn(steps)
    arrays = {f"{name}_{i}": array for i, batch in enumerate(batches) for name, array in batch.items()}
    np.savez(path, **arrays)
    return {
        "settings": {
            "units": units,
            "narrow": NARROW,
            "vocabulary": VOCABULARY,
            "channels": CHANNELS,
            "padding": PADDING,
            "dropout": DROPOUT,
            "feature_dropout": FEATURE_DROPOUT,
            "smoothing": SMOOTHING,
            "penalty": PENALTY,
        },
        "batches": steps,
        "words": int(sum((batch["targets"] != PADDING).sum() for batch in batches)),
        "learning_rate": RATE,
        "clip_norm": CLIP,
        "parameters": parameter_count(build(units)),
    }


def train(model: str, units: int, steps: int) -> dict[str, float]:
    """Train on the batches twice with ``fit`` and time the second time."""
    import mxnet as mx
    import numpy as np

    from gluon_attn.training.objective import Batch, Objective
    from gluon_attn.training.recipe import Recipe

    runtime.seed_all(1)
    network = build(units)
    network.initialize(mx.init.Xavier())
    network.hybridize(static_alloc=True, static_shape=True)
    positions = np.full(IMAGES, POSITIONS, np.float32)
    ready = [
        Batch(
            (one["features"], positions, one["inputs"], one["targets"]),
            np.array([(one["targets"] != PADDING).sum()], np.float32),
        )
        for one in drawn(steps)
    ]
    objective = Objective(lambda _: ready, steps, lambda outputs, words: outputs.loss.sum() / words, lambda _: {})
    recipe = Recipe(epochs=2, batch_size=IMAGES, learning_rate=RATE, clip_norm=CLIP)
    return second_epoch(network, objective, recipe)


if __name__ == "__main__":
    side(__doc__, describe, train)
