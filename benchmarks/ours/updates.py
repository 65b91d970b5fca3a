"""One update of a paper's network, or several on some workers: ``python -m benchmarks.ours.updates ...`` prints its
peak memory, its speed and the bytes that it has sent as one line of JSON."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gluon_attn import runtime


@dataclass(frozen=True)
class Sizes:
    """In the place of prepared data: the sizes of their vocabularies are all that a network is built from."""

    vocabulary: int

    def shared(self, settings: Any) -> dict[str, Any]:
        widths = {}
        if settings.embedding_units is not None:
            widths = dict.fromkeys(("source_units", "target_units"), settings.embedding_units)
        vocabularies = dict.fromkeys(("source_vocabulary", "target_vocabulary"), self.vocabulary)
        sizes = {"padding": 0, "units": settings.units, "dropout": settings.dropout}
        return {**widths, **vocabularies, **sizes, "smoothing": settings.smoothing, "tied": settings.tied}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paper")
    parser.add_argument("variant")
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--units", type=int, help="Other than those of the preset, everywhere.")
    parser.add_argument("--vocabulary", type=int, required=True)
    parser.add_argument("--rows", type=int, required=True, help="Of one worker.")
    parser.add_argument("--length", type=int, required=True, help="Tokens of either side of a row.")
    parser.add_argument("--updates", type=int, default=1)
    parser.add_argument("--micro-batches", type=int, default=1)
    parser.add_argument("--learning-rate", type=float, help="Of Adam, instead of the preset's optimizer.")
    parser.add_argument("--compression", type=float)
    parser.add_argument("--asynchronous", action="store_true")
    options = parser.parse_args()
    runtime.configure("fast", 1)
    print(json.dumps(updates(options)), flush=True)


def updates(options: argparse.Namespace) -> dict[str, Any]:
    """Train for two epochs and measure the second, or for one of a single update. The task is to reverse texts of
    random words, each of which is new: the loss is that of texts that were not seen before."""
    import numpy as np

    from gluon_attn.training.distributed.joining import join
    from gluon_attn.training.loop import fit
    from gluon_attn.training.objective import Batch, Objective, share_of_sum
    from gluon_attn.training.run_directory import RunDirectory
    from reproductions.protocol import papers

    workers = join(compression=options.compression, asynchronous=options.asynchronous)
    chosen = papers.load(options.paper).preset(options.preset).variant(options.variant)
    settings, recipe = chosen.settings, replace(chosen.recipe, epochs=1 if options.updates == 1 else 2, average=1)
    if options.learning_rate:
        recipe = replace(recipe, optimizer="adam", learning_rate=options.learning_rate)
    if options.units:
        names = ("units", "embedding_units", "attention_units", "maxout_units")
        settings = replace(settings, **{name: options.units for name in names if hasattr(settings, name)})
    model = settings.build(Sizes(options.vocabulary))
    runtime.seed_all(1)
    settings.initialize(model, None)
    model.hybridize(static_alloc=True, static_shape=True)
    rows = options.rows * workers.size
    shape = rows, options.length

    def batches(generator: Any) -> Any:
        for _ in range(options.updates):
            source = generator.randint(4, options.vocabulary, shape).astype(np.int32)
            target = source[:, ::-1]
            arrays = source, np.full(rows, options.length, np.float32), target, np.roll(target, -1, axis=1)
            yield Batch(arrays, np.array([target.size], np.float32))

    objective = Objective(
        batches, options.updates, lambda output, tokens: output.loss.sum() / tokens, lambda _: {"bleu": 0.0}, "bleu"
    )
    objective = replace(objective, share=share_of_sum)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = RunDirectory(Path(folder), {})
        division = {"workers": workers, "micro_batches": options.micro_batches}
        epochs = fit(model, objective, recipe, run, seed=1, **division).history
    seconds = epochs[-1]["seconds"] - (epochs[0]["seconds"] if len(epochs) > 1 else 0.0)
    total = options.updates * len(epochs)
    return {
        "rank": workers.rank,
        "workers": workers.size,
        "parameters": sum(int(np.prod(one.shape)) for one in model.collect_params().values()),
        "tokens": options.updates * rows * options.length,
        "loss": epochs[-1]["train_loss"],
        "seconds": seconds,
        "tokens_per_second": options.updates * rows * options.length / seconds,
        "bytes_sent_per_update": getattr(workers, "bytes_sent", 0) / total,
        "peak_memory_gib": _peak_memory(),
        "whole_seconds": time.perf_counter() - started,
        "pid": os.getpid(),
    }


def _peak_memory() -> float:
    """GiB of this process at most so far (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


if __name__ == "__main__":
    main()
