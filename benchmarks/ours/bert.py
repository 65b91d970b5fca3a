"""Our side of ``bert_speed``: pretraining and fine-tuning of ``devlin2018`` by ``fit`` on batches of its corpora.

Each runs in its own process: ``python -m benchmarks.ours.bert {describe,train,ceiling} ...`` prints its result as one
line of JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.ours.training import first_batches, train_twice
from benchmarks.stopwatch import side

VARIANTS = {"pretraining": "pretraining", "fine-tuning": "bert"}
"""The variant of the script that each model is."""


def prepared(model: str, units: int, steps: int) -> tuple[Any, Any, Any, list[Any]]:
    """The variant with this width, its data, its objective, and ``steps`` of the batches that the script trains on."""
    from reproductions import devlin2018
    from reproductions.protocol.runner import corpus_or_sample

    name = VARIANTS[model]
    preset = corpus_or_sample(devlin2018.REPRODUCTION.preset("cpu"), [name])
    variant: Any = preset.variant(name)
    variant = replace(variant, settings=replace(variant.settings, units=units))
    task: Any = preset.task(name)
    data = task.prepare(variant.settings, sample=preset.on_sample)
    objective = task.objective(variant.settings, variant.recipe, data)
    return variant, data, objective, first_batches(objective, steps)


def settings_of(variant: Any, data: Any) -> dict[str, Any]:
    """The settings from which the peers build the same network. Of pairs of reviews there are two classes."""
    sizes = {"vocabulary_size": data.vocabulary_size, "classes": getattr(data, "classes", 2)}
    return asdict(variant.settings) | sizes


def arrays_of(batch: Any) -> dict[str, Any]:
    """A batch as the peers read it, all int64: ``ids`` (texts, length), ``lengths`` (texts,), and

    - fine-tuning: ``labels`` (texts,);
    - pretraining: ``segments`` (texts, length), ``together`` (texts,), and of the real predictions, without those that
      pad them, ``places`` (predictions,), the index ``row * length + position``, and ``targets`` (predictions,).
    """
    import numpy as np

    if len(batch.inputs) == 2:
        arrays = {"ids": batch.inputs[0], "lengths": batch.inputs[1], "labels": batch.target}
    else:
        ids, segments, lengths, places, targets, together = batch.inputs
        real = batch.target > 0
        position, row = np.divmod(places[real], len(ids))
        arrays = {"ids": ids, "segments": segments, "lengths": lengths, "together": together}
        arrays |= {"places": row * ids.shape[1] + position, "targets": targets[real]}
    return {name: array.astype(np.int64) for name, array in arrays.items()}


def describe(model: str, units: int, steps: int, path: Path) -> dict[str, Any]:
    """Write the batches to ``path`` for the peers, and describe the training. ``tokens`` are pieces and special tokens,
    without padding."""
    import numpy as np

    from gluon_attn.training.checkpoint import parameter_count

    variant, data, _, batches = prepared(model, units, steps)
    each = [arrays_of(batch) for batch in batches]
    np.savez(path, **{f"{name}_{number}": array for number, one in enumerate(each) for name, array in one.items()})
    settings = settings_of(variant, data)
    counts = [multiply_adds(settings, one["lengths"], len(one.get("targets", ()))) for one in each]
    return {
        "corpus": data.corpus,
        "pipeline": data.digest,
        "settings": settings,
        "batches": steps,
        "texts": sum(len(one["ids"]) for one in each),
        "tokens": int(sum(one["lengths"].sum() for one in each)),
        "learning_rate": variant.recipe.learning_rate / 100,
        "clip_norm": variant.recipe.clip_norm,
        "parameters": parameter_count(variant.settings.build(data)),
        "gflop": 3 * 2e-9 * sum(counts),  # backward: twice the forward pass
    }


def multiply_adds(settings: Mapping[str, Any], lengths: Any, predictions: int) -> float:
    """Multiply-adds of one forward pass over texts of these lengths (texts,), in which so many pieces are predicted:
    only the products of matrices, and nothing on padding. What follows attention in the last layer is computed for
    first tokens and predictions only."""
    units, layers = settings["units"], settings["layers"]
    attention = lengths * 3 * units**2 + 2 * units * lengths**2
    rest = units**2 + 2 * units * settings["hidden_units"]
    pooled = rest + units**2 + units * settings["classes"]
    predicted = rest + units**2 + units * settings["vocabulary_size"]
    return float((layers * attention + (layers - 1) * lengths * rest + pooled).sum() + predictions * predicted)


def train(model: str, units: int, steps: int) -> dict[str, float]:
    """Train on the batches twice, from random weights, and time the second time."""
    return train_twice(*prepared(model, units, steps))


if __name__ == "__main__":
    side(__doc__, describe, train)
