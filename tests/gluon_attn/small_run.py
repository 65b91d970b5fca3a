"""A run of a few seconds in its own process, for tests that kill it: ``python small_run.py FOLDER [options]``.

The network has everything that could make a resumed run differ: dropout at three positions, embeddings with a sparse
gradient, shapes known only after the first call, batches grouped by length, tokens replaced at random, a schedule over
all steps, Adam's moments. It prints a line ``epoch`` before each validation, and ``sha256 <digest>`` at the end.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from gluon_attn import runtime

EPOCHS, STEPS = 8, 5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", choices=("masked", "stacked"), default="masked")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--another-before", action="store_true", help="train another network in this process first")
    parser.add_argument("--die-writing", metavar="FILE", help="be killed by SIGKILL with half of this file written ...")
    parser.add_argument("--time", type=int, default=1, help="... the so many-th time that it is written")
    options = parser.parse_args()

    runtime.configure("portable")
    if options.die_writing:
        die_writing(options.die_writing, options.time)
    if options.another_before:
        train(options.folder.with_name("another"), "stacked", seed=5)
    print("sha256", train(options.folder, options.model, options.seed), flush=True)


def die_writing(name: str, time: int) -> None:
    """Truncate the file to half just before it would be complete, then die."""
    fsync, writes = os.fsync, 0

    def fatal(descriptor: int) -> None:
        nonlocal writes
        if Path(os.readlink(f"/proc/self/fd/{descriptor}")).match(f".{name}.*.part"):
            writes += 1
            if writes == time:
                os.truncate(descriptor, os.fstat(descriptor).st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)

    os.fsync = fatal  # type: ignore[assignment]


def train(folder: Path, name: str, seed: int) -> str:
    """Train as a script does, resuming what the folder contains; returns the digest of the final parameters."""
    import mxnet as mx
    import numpy as np
    from mxnet.gluon.loss import SoftmaxCrossEntropyLoss

    from gluon_attn.attention.additive import AdditiveAttention
    from gluon_attn.models.self_attention_classifier import Masked
    from gluon_attn.models.stacked_classifier import StackedClassifier
    from gluon_attn.training.batching import length_batches, pad
    from gluon_attn.training.checkpoint import parameter_arrays, parameters_sha256
    from gluon_attn.training.loop import fit
    from gluon_attn.training.objective import Batch, Objective
    from gluon_attn.training.recipe import Recipe
    from gluon_attn.training.run_directory import RunDirectory

    drawn = np.random.RandomState(0)
    sentences = [drawn.randint(2, 30, drawn.randint(2, 12)).astype(np.int32) for _ in range(8 * STEPS)]
    labels = np.array([ids.max() > 26 for ids in sentences], np.float32)
    lengths = np.array([len(ids) for ids in sentences])
    cross_entropy = SoftmaxCrossEntropyLoss()

    def batches(generator: np.random.RandomState) -> Iterator[Batch]:
        for rows in length_batches(lengths, 8, generator):
            chosen = [np.where(generator.uniform(size=lengths[row]) < 0.1, 1, sentences[row]) for row in rows]
            yield Batch((pad(chosen, 0, multiple=4), lengths[rows].astype(np.float32)), labels[rows])

    def evaluate(model: Any) -> Mapping[str, float]:
        print("epoch", flush=True)
        ids = mx.nd.array(pad(sentences, 0), dtype="int32")
        logits = model(ids, mx.nd.array(lengths.astype(np.float32))).logits
        right = logits.asnumpy().argmax(axis=1) == labels
        losses = cross_entropy(logits, mx.nd.array(labels)).asnumpy()
        return {"accuracy": float(right.mean()), "loss": float(losses.mean())}

    runtime.seed_all(runtime.derive(seed, "initial parameters"))
    common = {"vocabulary_size": 30, "embedding_units": 8, "units": 6, "classes": 2}
    if name == "masked":
        model = Masked(**common, dropout=0.3, pooling="attention", attention=AdditiveAttention(5, 0.2))
    else:
        model = StackedClassifier(
            **common, cell="lstm", layers=2, attention_units=5, embedding_dropout=0.3, dropout=0.3
        )
    model.initialize(mx.init.Xavier())
    model.hybridize(static_alloc=True, static_shape=True)
    recipe = Recipe(epochs=EPOCHS, batch_size=8, learning_rate=0.02, warmup_steps=4, decay="cosine")
    run = RunDirectory(folder, {"model": name, "seed": seed}, resume=True)

    def loss(outputs: Any, target: Any) -> Any:
        return cross_entropy(outputs.logits, target)

    objective = Objective(batches, STEPS, loss, evaluate, select="loss")
    fit(model, objective, recipe, run, seed=seed)
    evaluate(model)  # As every script does at the end.
    return parameters_sha256(parameter_arrays(model))


def digest_in(output: IO[str] | list[str]) -> str | None:
    """The digest that a run printed, if it finished."""
    return next((line.split()[1] for line in output if line.startswith("sha256")), None)


if __name__ == "__main__":
    main()
