"""Our side of ``training_speed``: the Naver script's attention variants trained by ``fit``; the machine's limit.

Each runs in its own process: ``python -m benchmarks.ours.classifiers {describe,train,ceiling} ...`` prints its result
as one line of JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.stopwatch import ceiling, keep_to, second_epoch
from gluon_attn import runtime


def prepared(variant_name: str, steps: int) -> tuple[Any, Any]:
    """The variant, and its data with ``steps`` batches of training reviews, drawn once for all rows."""
    import numpy as np

    from reproductions.naver_self_attention import REPRODUCTION
    from reproductions.protocol.runner import corpus_or_sample

    preset = corpus_or_sample(REPRODUCTION.preset("cpu"))
    variant: Any = preset.variant(variant_name)
    data = variant.task.prepare(variant.settings, sample=preset.on_sample)
    train = data.prepared.train
    order = np.random.RandomState(1).permutation(len(train))
    drawn = train.take(np.resize(order, steps * variant.recipe.batch_size))  # a short corpus is repeated
    result = replace(data.prepared, data=data.prepared.data.with_splits({**data.prepared.splits, "train": drawn}))
    return variant, replace(data, prepared=result)


def settings_of(variant: Any, vocabulary_size: int) -> dict[str, Any]:
    """The settings from which the peers build the same network."""
    settings = variant.settings
    names = ("max_length", "embedding_units", "units", "dropout")
    return {
        "model": "masked" if hasattr(settings, "pooling") else "as written",
        **{name: getattr(settings, name) for name in names},
        "attention_units": settings.attention.units,
        "attention_dropout": settings.attention.dropout,
        "vocabulary_size": vocabulary_size,
    }


def describe(variant_name: str, steps: int, path: Path) -> dict[str, Any]:
    """Write the inputs of the peers to ``path``, and describe the computation."""
    import mxnet as mx
    import numpy as np

    from gluon_attn.training.checkpoint import parameter_count
    from reproductions.tasks.classification.inputs import FixedLength

    variant, data = prepared(variant_name, steps)
    train = data.prepared.train
    (ids,) = FixedLength(variant.settings.max_length).arrays(train.sequences())
    lengths = np.maximum(1, train.lengths)  # an empty review is read as one unknown token
    np.savez(path, ids=ids.astype(np.int64), lengths=lengths, labels=train.label.astype(np.int64))
    model = variant.settings.build(data)
    model.initialize()
    objective = variant.task.objective(variant.settings, variant.recipe, data)
    batch = next(iter(objective.batches(np.random.RandomState(1))))
    model(*(mx.nd.array(array, dtype=array.dtype) for array in batch.inputs))  # some shapes are known only now
    settings = settings_of(variant, data.vocabulary_size)
    return {
        "corpus": data.corpus,
        "pipeline": data.digest,
        "settings": settings,
        "batch_size": variant.recipe.batch_size,
        "learning_rate": variant.recipe.learning_rate,
        "reviews": len(train),
        "tokens": int(lengths.sum()),
        "parameters": parameter_count(model),
        "gflop": 3 * 2e-9 * multiply_adds(settings, lengths),  # the backward pass computes twice what the forward does
    }


def multiply_adds(settings: Mapping[str, Any], lengths: Any) -> float:
    """Multiply-adds of one forward pass over reviews of these lengths (reviews,): GRU, attention and dense layer.

    Only what the network needs: nothing on padding where it is masked, no embedding, no tanh, no softmax; and not the
    product with a 0/1 matrix by which we sum queries and keys.
    """
    hidden, width = settings["attention_units"], 2 * settings["units"]
    if settings["model"] == "as written":
        lengths = lengths * 0 + settings["max_length"]
        dense = settings["max_length"] * width * 2
    else:
        dense = width * 2
    recurrent = 3 * width * (settings["embedding_units"] + settings["units"])
    projections = 2 * width * hidden
    pair = hidden + width  # score and context
    return float((lengths * (recurrent + projections) + lengths**2 * pair + dense).sum())


def train(variant_name: str, steps: int) -> dict[str, float]:
    """Train for two epochs with ``fit`` and time the second."""
    import mxnet as mx

    variant, data = prepared(variant_name, steps)
    runtime.seed_all(1)
    model = variant.settings.build(data)
    model.initialize(mx.init.Xavier())
    model.hybridize(static_alloc=True, static_shape=True)
    objective = variant.task.objective(variant.settings, variant.recipe, data)
    return second_epoch(model, objective, variant.recipe)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("describe", "train", "ceiling"))
    parser.add_argument("--variant")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--arrays", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    keep_to(options.threads)
    runtime.configure("fast", options.threads)
    if options.what == "describe":
        result: Mapping[str, Any] = describe(options.variant, options.steps, options.arrays)
    elif options.what == "train":
        result = train(options.variant, options.steps)
    else:
        result = ceiling()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
