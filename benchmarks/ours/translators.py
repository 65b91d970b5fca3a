"""Our side of ``translation_speed``: encoder-decoders trained by ``fit`` on batches of Multi30k.

Each runs in its own process: ``python -m benchmarks.ours.translators {describe,train} ...`` prints its result as one
line of JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.ours.training import first_batches
from benchmarks.stopwatch import second_epoch, side
from gluon_attn import runtime

DROPOUT, RATE, CLIP = 0.2, 1e-3, 1.0


def prepared(steps: int) -> tuple[Any, list[Any]]:
    """Data of English to German and ``steps`` of the batches that the script trains on, the same for all rows."""
    from reproductions import bahdanau2014
    from reproductions.protocol.runner import corpus_or_sample

    preset = corpus_or_sample(bahdanau2014.REPRODUCTION.preset("cpu"), ["rnnsearch"])
    variant, task = preset.variant("rnnsearch"), preset.task("rnnsearch")
    data = task.prepare(variant.settings, sample=preset.on_sample)
    objective = task.objective(variant.settings, variant.recipe, data)
    return data, first_batches(objective, steps)


def settings(data: Any, model: str, units: int) -> dict[str, Any]:
    """Sizes of a network, all of them ``units``; two layers in a deep network."""
    names = ("units", "embedding_units", "attention_units", "maxout_units")
    vocabularies = data.prepared.source_vocabulary, data.prepared.target_vocabulary
    sizes = dict(zip(("source_vocabulary", "target_vocabulary"), map(len, vocabularies), strict=True))
    return {"model": model, "layers": 2, "dropout": DROPOUT, **dict.fromkeys(names, units), **sizes}


def build(chosen: Mapping[str, Any]) -> Any:
    """The network, not yet initialized."""
    from gluon_attn.attention.global_attention import GlobalAttention
    from gluon_attn.attention.multiplicative import GeneralScore
    from gluon_attn.models.deep_lstm import DeepLSTM
    from gluon_attn.models.rnnsearch import RNNSearch
    from preprocessing.text.vocabulary import PADDING_ID

    units = chosen["units"]
    common = {name: chosen[name] for name in ("source_vocabulary", "target_vocabulary", "units", "dropout")}
    common |= {"padding": PADDING_ID, "source_units": units, "target_units": units}
    if chosen["model"] == "rnnsearch":
        return RNNSearch(attention_units=units, maxout_units=units, feature_dropout=DROPOUT, **common)
    attention = GlobalAttention(GeneralScore(units, units))
    return DeepLSTM(
        layers=2, reverse_source=True, attention=attention, input_feeding=True, layer_dropout=DROPOUT, **common
    )


def describe(model: str, units: int, steps: int, path: Path) -> dict[str, Any]:
    """Write the batches to ``path`` for the peers, and describe the training."""
    import numpy as np

    from gluon_attn.training.checkpoint import parameter_count

    data, batches = prepared(steps)
    arrays = {}
    for number, batch in enumerate(batches):
        for name, array in zip(("source", "lengths", "inputs", "targets"), batch.inputs, strict=True):
            arrays[f"{name}_{number}"] = array.astype(np.int64)
    np.savez(path, **arrays)
    chosen = settings(data, model, units)
    network = build(chosen)
    network.initialize()
    return {
        "corpus": data.corpus,
        "pipeline": data.digest,
        "settings": chosen,
        "batches": steps,
        "pairs": sum(len(batch.inputs[0]) for batch in batches),
        "target_tokens": int(sum(batch.target[0] for batch in batches)),
        "learning_rate": RATE,
        "clip_norm": CLIP,
        "parameters": parameter_count(network),
    }


def train(model: str, units: int, steps: int) -> dict[str, float]:
    """Train on the batches twice with ``fit`` and time the second time."""
    import mxnet as mx

    from gluon_attn.training.objective import Objective
    from gluon_attn.training.recipe import Recipe

    data, batches = prepared(steps)
    runtime.seed_all(1)
    network = build(settings(data, model, units))
    network.initialize(mx.init.Xavier())
    network.hybridize(static_alloc=True, static_shape=True)
    task = Objective(lambda _: batches, steps, lambda output, tokens: output.loss.sum() / tokens, lambda _: {})
    recipe = Recipe(epochs=2, batch_size=64, learning_rate=RATE, clip_norm=CLIP)
    return second_epoch(network, task, recipe)


if __name__ == "__main__":
    side(__doc__, describe, train)
