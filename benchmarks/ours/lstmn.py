"""Our side of ``lstmn_speed``: long short-term memory-networks trained by ``fit``.

Each runs in its own process: ``python -m benchmarks.ours.lstmn {describe,train} ...`` prints its result as one line of
JSON. The words are random, since the time of a step does not depend on them: for the language model as many different
ones as in the Penn Treebank, for the classifier sentences as long as in the Stanford Sentiment Treebank.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.stopwatch import second_epoch, side
from gluon_attn import runtime

DROPOUT, RATE, CLIP, PADDING = 0.2, 1e-3, 5.0, 1
SETTINGS: dict[str, dict[str, Any]] = {
    "language model": {"vocabulary": 10_000, "rows": 20, "steps": 35, "window": 3},
    "classifier": {"vocabulary": 16_000, "rows": 32, "window": 56, "classes": 5, "multiple": 4},
}


def drawn(model: str, steps: int) -> list[dict[str, Any]]:
    """The arrays of ``steps`` batches, the same in every process."""
    import numpy as np

    from gluon_attn.training.batching import pad

    chosen = SETTINGS[model]
    generator = np.random.RandomState(1)
    frequency = 1.0 / np.arange(2, chosen["vocabulary"])
    words = np.arange(2, chosen["vocabulary"])

    def text(length: int) -> Any:
        return generator.choice(words, length, p=frequency / frequency.sum()).astype(np.int32)

    rows = chosen["rows"]
    if model == "language model":
        stream = text(rows * steps * chosen["steps"] + 1)
        inputs, targets = (one.reshape(rows, steps, -1) for one in (stream[:-1], stream[1:]))
        return [{"inputs": inputs[:, i], "targets": targets[:, i]} for i in range(steps)]
    batches = []
    for _ in range(steps):
        middle = generator.randint(4, 36)  # batches have similar lengths
        lengths = generator.randint(middle - 2, middle + 3, rows)
        ids = pad([text(length) for length in lengths], PADDING, chosen["multiple"])
        batches.append({"ids": ids, "lengths": lengths, "labels": generator.randint(0, chosen["classes"], rows)})
    return batches


def build(model: str, units: int) -> Any:
    """The network, not yet initialized; every width is ``units``."""
    from gluon_attn.models.language_model import LanguageModel
    from gluon_attn.models.lstmn import LSTMN, SentenceClassifier

    chosen = SETTINGS[model]
    encoder = LSTMN(units, units, chosen["window"])
    common = {"vocabulary_size": chosen["vocabulary"], "embedding_units": units, "encoder": encoder, "dropout": DROPOUT}
    if model == "language model":
        return LanguageModel(**common)
    return SentenceClassifier(hidden_units=units, classes=chosen["classes"], embedding_dropout=DROPOUT, **common)


def describe(model: str, units: int, steps: int, path: Path) -> dict[str, Any]:
    """Write the batches to ``path`` for the peers, and describe the training."""
    import numpy as np

    from gluon_attn.training.checkpoint import parameter_count

    batches = drawn(model, steps)
    arrays = {f"{name}_{i}": array.astype(np.int64) for i, batch in enumerate(batches) for name, array in batch.items()}
    np.savez(path, **arrays)
    return {
        "settings": {"model": model, "units": units, "dropout": DROPOUT, **SETTINGS[model]},
        "batches": steps,
        "words": int(sum(batch["lengths"].sum() if "lengths" in batch else batch["inputs"].size for batch in batches)),
        "learning_rate": RATE,
        "clip_norm": CLIP,
        "parameters": parameter_count(build(model, units)),
    }


def task_of(model: str, network: Any, steps: int) -> Any:
    """The objective of ``fit``."""
    import numpy as np
    from mxnet.gluon.loss import SoftmaxCrossEntropyLoss

    from gluon_attn.training.bptt import Piece, language_objective
    from gluon_attn.training.objective import Batch, Objective

    batches = drawn(model, steps)
    if model == "language model":
        stream = [Piece(one["inputs"], one["targets"], one["targets"].size) for one in batches]
        return language_objective(network.start(SETTINGS[model]["rows"]), stream, stream)
    ready = [
        Batch((one["ids"], one["lengths"].astype(np.float32)), one["labels"].astype(np.float32)) for one in batches
    ]
    cross_entropy = SoftmaxCrossEntropyLoss()
    return Objective(lambda _: ready, steps, lambda output, labels: cross_entropy(output.logits, labels), lambda _: {})


def train(model: str, units: int, steps: int) -> dict[str, float]:
    """Train on the batches twice with ``fit`` and time the second time."""
    import mxnet as mx

    from gluon_attn.training.recipe import Recipe

    runtime.seed_all(1)
    network = build(model, units)
    network.initialize(mx.init.Xavier())
    network.hybridize(static_alloc=True, static_shape=True)
    recipe = Recipe(epochs=2, batch_size=SETTINGS[model]["rows"], learning_rate=RATE, clip_norm=CLIP)
    return second_epoch(network, task_of(model, network, steps), recipe)


if __name__ == "__main__":
    side(__doc__, describe, train)
