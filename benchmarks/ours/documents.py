"""Our side of ``documents_speed``: Lin's and Yang's networks trained by ``fit`` on random texts of real lengths.

Each runs in its own process: ``python -m benchmarks.ours.documents {describe,train} ...`` prints its result as one
line of JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.stopwatch import keep_to, second_epoch
from gluon_attn import runtime

RATE, PENALTY, DROPOUT, VOCABULARY, LONGEST = 1e-3, 0.1, 0.3, 30_000, 400
SIZES = {
    "structured": {"embedding_units": 128, "units": 128, "attention_units": 128, "hops": 6, "hidden": 256},
    "hierarchical": {"embedding_units": 200, "units": 50, "attention_units": 100},
}


@dataclass(frozen=True)
class Texts:
    """Sizes of the texts of a corpus: mean and deviation of the logarithms of their numbers, and the batch size.

    ``words`` of a sentence, or of a text that is not cut into sentences; ``sentences`` of a text.
    """

    words: tuple[float, float]
    sentences: tuple[float, float]
    batch_size: int


# Measured on 2 501 training reviews of IMDb, and on the reviews of NSMC (median 14 morphemes, 99 % below 72).
TEXTS = {
    "imdb": Texts(words=(2.86, 0.73), sentences=(2.32, 0.65), batch_size=64),
    "nsmc": Texts(words=(2.64, 0.70), sentences=(0.0, 0.0), batch_size=128),
}


def batches(model: str, texts: str, steps: int) -> dict[str, list[Any]]:
    """``steps`` batches of the same texts, of ``similar length`` as we train on them and ``as drawn``. Words follow
    Zipf's law, labels are random.
    """
    import numpy as np

    from gluon_attn.training.batching import length_batches, shuffled_batches
    from gluon_attn.training.objective import Batch

    generator = np.random.RandomState(1)
    chosen = TEXTS[texts]
    frequency = 1 / np.arange(1, VOCABULARY + 1)
    frequency /= frequency.sum()

    def counts(distribution: tuple[float, float], number: int, most: int) -> Any:
        mean, deviation = distribution
        return np.clip(generator.lognormal(mean, deviation, number).round(), 1, most).astype(int)

    rows = steps * chosen.batch_size
    documents = [
        [
            generator.choice(VOCABULARY, words, p=frequency).astype(np.int32)
            for words in counts(chosen.words, sentences, 100)
        ]
        for sentences in counts(chosen.sentences, rows, 60)
    ]
    labels = generator.randint(0, 2, rows)
    if model == "structured":
        documents = [[np.concatenate(document)[:LONGEST]] for document in documents]
        lengths = np.array([len(words) for (words,) in documents])
    else:
        lengths = np.array([len(document) for document in documents])
    orders = {
        "similar length": length_batches(lengths, chosen.batch_size, generator),
        "as drawn": shuffled_batches(rows, chosen.batch_size, generator),
    }
    inputs = _flat if model == "structured" else _nested
    return {
        name: [Batch(inputs([documents[row] for row in order]), labels[order].astype(np.float32)) for order in some]
        for name, some in orders.items()
    }


def _flat(documents: list[Any]) -> tuple[Any, ...]:
    import numpy as np

    from gluon_attn.training.batching import pad

    texts = [words for (words,) in documents]
    return pad(texts, 0, multiple=4), np.array([len(words) for words in texts], np.float32)


def _nested(documents: list[Any]) -> tuple[Any, ...]:
    import numpy as np

    counts = np.array([len(document) for document in documents], np.int32)
    words = np.zeros((len(documents), counts.max()), np.int32)
    ids = np.zeros((*words.shape, max(len(one) for document in documents for one in document)), np.int32)
    for row, document in enumerate(documents):
        for place, sentence in enumerate(document):
            words[row, place] = len(sentence)
            ids[row, place, : len(sentence)] = sentence
    return ids, counts, words


def build(model: str) -> Any:
    """The network, not yet initialized."""
    from gluon_attn.models.hierarchical_attention import HierarchicalAttentionNetwork
    from gluon_attn.models.structured_classifier import StructuredClassifier

    common = {"vocabulary_size": VOCABULARY, "classes": 2, "embedding_dropout": DROPOUT, "dropout": DROPOUT}
    if model == "structured":
        return StructuredClassifier(cell="lstm", **SIZES[model], **common)
    return HierarchicalAttentionNetwork(pooling="attention", **SIZES[model], **common)


def describe(model: str, texts: str, steps: int, folder: Path) -> dict[str, Any]:
    """Write the batches to ``folder`` for the peers, a file per order, and describe the training."""
    import numpy as np

    from gluon_attn.training.checkpoint import parameter_count

    files = {}
    drawn = batches(model, texts, steps)
    for order, some in drawn.items():
        arrays = {f"labels_{number}": batch.target.astype(np.int32) for number, batch in enumerate(some)}
        for number, batch in enumerate(some):
            for place, values in enumerate(batch.inputs):
                arrays[f"input_{number}_{place}"] = values.astype(np.int32)
        files[order] = str(folder / f"{model}-{texts}-{order.replace(' ', '-')}.npz")
        np.savez(files[order], **arrays)
    return {
        "corpus": f"made up, with the lengths of {texts}",
        "settings": {"model": model, "vocabulary_size": VOCABULARY, "dropout": DROPOUT, **SIZES[model]},
        "batches": steps,
        "batch_size": TEXTS[texts].batch_size,
        "texts": steps * TEXTS[texts].batch_size,
        "words": int(sum(batch.inputs[-1].sum() for batch in drawn["as drawn"])),
        "learning_rate": RATE,
        "penalty": PENALTY,
        "parameters": parameter_count(build(model)),
        "arrays": files,
    }


def train(model: str, texts: str, steps: int) -> dict[str, float]:
    """Train on the batches of similar length twice with ``fit`` and time the second time."""
    import mxnet as mx
    from mxnet.gluon.loss import SoftmaxCrossEntropyLoss

    from gluon_attn.models.outputs import ClassifierOutput
    from gluon_attn.training.objective import Objective
    from gluon_attn.training.recipe import Recipe

    ordered = batches(model, texts, steps)["similar length"]
    cross_entropy = SoftmaxCrossEntropyLoss()
    cross_entropy.hybridize()

    def loss(output: ClassifierOutput, target: Any) -> Any:
        losses = cross_entropy(output.logits, target)
        return losses if output.penalty is None else losses + PENALTY * output.penalty

    runtime.seed_all(1)
    network = build(model)
    network.initialize(mx.init.Xavier())
    network.hybridize(static_alloc=True, static_shape=True)
    task = Objective(lambda _: ordered, steps, loss, lambda _: {})
    recipe = Recipe(epochs=2, batch_size=TEXTS[texts].batch_size, learning_rate=RATE)
    return second_epoch(network, task, recipe)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("describe", "train"))
    parser.add_argument("--model", choices=SIZES, required=True)
    parser.add_argument("--texts", choices=TEXTS, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    keep_to(options.threads)
    runtime.configure("fast", options.threads)
    if options.what == "describe":
        result: Mapping[str, Any] = describe(options.model, options.texts, options.steps, options.folder)
    else:
        result = train(options.model, options.texts, options.steps)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
