"""Our side of ``transformer_speed``: Transformers trained by ``fit`` on batches of Multi30k.

Each runs in its own process: ``python -m benchmarks.ours.transformers {describe,train,ceiling} ...`` prints its result
as one line of JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.ours.training import first_batches, train_twice
from benchmarks.stopwatch import side

VARIANT = "transformer"
WIDER = {256: {"units": 256, "layers": 3, "hidden_units": 1024}}
"""What the networks of other widths change in the variant's settings."""


def prepared(units: int, steps: int) -> tuple[Any, Any, Any, list[Any]]:
    """The variant with this width, its data, its objective, and ``steps`` of the batches that the script trains on."""
    from reproductions import vaswani2017
    from reproductions.protocol.runner import corpus_or_sample

    preset = corpus_or_sample(vaswani2017.REPRODUCTION.preset("cpu"), [VARIANT])
    variant: Any = preset.variant(VARIANT)
    variant = replace(variant, settings=replace(variant.settings, **WIDER.get(units, {})))
    data = preset.task(VARIANT).prepare(variant.settings, sample=preset.on_sample)
    objective = preset.task(VARIANT).objective(variant.settings, variant.recipe, data)
    return variant, data, objective, first_batches(objective, steps)


def describe(model: str, units: int, steps: int, path: Path) -> dict[str, Any]:
    """Write the batches to ``path`` for the peers, and describe the training."""
    import numpy as np

    from gluon_attn.training.checkpoint import parameter_count
    from preprocessing.text.vocabulary import PADDING_ID

    variant, data, _, batches = prepared(units, steps)
    arrays = {}
    for number, batch in enumerate(batches):
        for name, array in zip(("source", "lengths", "inputs", "targets"), batch.inputs, strict=True):
            arrays[f"{name}_{number}"] = array.astype(np.int64)
    np.savez(path, **arrays)
    network = variant.settings.build(data)
    network.initialize()
    names = ("units", "layers", "heads", "hidden_units", "dropout", "smoothing")
    vocabulary = len(data.prepared.target_vocabulary)
    settings = {**{name: asdict(variant.settings)[name] for name in names}, "target_vocabulary": vocabulary}
    lengths = [(batch.inputs[1], (batch.inputs[3] != PADDING_ID).sum(axis=1)) for batch in batches]
    return {
        "corpus": data.corpus,
        "pipeline": data.digest,
        "settings": settings,
        "batches": steps,
        "pairs": sum(len(batch.inputs[0]) for batch in batches),
        "target_tokens": int(sum(batch.target[0] for batch in batches)),
        "learning_rate": variant.recipe.learning_rate / 100,
        "parameters": parameter_count(network),
        "gflop": 3 * 2e-9 * sum(multiply_adds(settings, *pair) for pair in lengths),  # backward: twice the forward pass
    }


def multiply_adds(settings: Mapping[str, Any], source: Any, target: Any) -> float:
    """Multiply-adds of one forward pass over pairs of these lengths (pairs,) each: only the products of matrices, and
    nothing on padding or for what a mask hides."""
    units, layers = settings["units"], settings["layers"]
    feed_forward = 2 * units * settings["hidden_units"]
    encoder = source * (4 * units**2 + feed_forward) + 2 * units * source**2
    itself = 4 * units**2 * target + units * target * (target + 1)
    memory = 2 * units**2 * (target + source) + 2 * units * target * source
    decoder = itself + memory + feed_forward * target
    return float((layers * (encoder + decoder) + units * settings["target_vocabulary"] * target).sum())


def train(model: str, units: int, steps: int) -> dict[str, float]:
    """Train on the batches twice with ``fit`` and time the second time."""
    return train_twice(*prepared(units, steps))


if __name__ == "__main__":
    side(__doc__, describe, train)
