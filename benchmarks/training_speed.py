"""How fast do the two attention variants of the Naver script train, beside the same networks in PyTorch?

    python -m benchmarks.training_speed [--threads 2 1] [--repetitions 5] [--steps 200]

Everything that training needs is timed: making batches, forward, backward, update; validation is not. Our rows are
``training.fit`` itself on the script's own network and task; the peers are ``peers/torch_classifiers.py``. All read the
same reviews: so many batches drawn once from the training split, at their real lengths.

PyTorch offers choices (dense, fused or sparse Adam; packed sequences or a reversed copy; how much is compiled). Each
is tried once, and a row of the table is the fastest. Then the rows are measured in turn, each in a process of its
own: MXNet and PyTorch bring different OpenMP runtimes. Ratios are paired within a repetition.

Prints a table and writes ``benchmarks/results/training_speed.json``. Without NSMC the embedded sample is repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from gluon_attn import runtime
from preprocessing.files import write_json

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "training_speed.json"
TARGET = 1.2
VARIANTS = ("as-written", "masked")
PEER = "benchmarks.peers.torch_classifiers"


@dataclass(frozen=True)
class Row:
    """One row of the table: a variant trained by us, or by PyTorch with one of its choices."""

    variant: str
    name: str
    compile: str = ""
    optimizer: str = ""
    recurrent: str = ""
    buckets: bool = False

    @property
    def title(self) -> str:
        return f"{self.variant:10}  {self.name}"

    @property
    def choice(self) -> str:
        """What was chosen among PyTorch's ways to do the same."""
        chosen = (self.optimizer, self.recurrent if self.variant == "masked" else "", self.compile)
        return ", ".join(word for word in chosen if word not in ("", "no"))


def ours(variant: str) -> Row:
    return Row(variant, "gluon_attn", buckets=variant == "masked")


def peers(variant: str) -> dict[str, list[Row]]:
    """The peer's rows, and for each the choices among which its fastest is sought."""
    recurrent = ("packed", "reversed") if variant == "masked" else ("packed",)
    eager = list(product(("no",), ("adam", "fused adam", "sparse adam"), recurrent))
    # Sparse gradients do not compile, nor do packed sequences as a whole.
    around = list(product(("around the GRU",), ("fused adam",), recurrent))
    ways = {
        "PyTorch eager": (eager, False),
        "PyTorch compiled": ([*around, ("whole", "fused adam", recurrent[-1])], False),
    }
    if variant == "masked":
        # Not as a whole: the unrolled GRU would be compiled for every length, minutes each.
        ways |= {"PyTorch eager, our buckets": (eager, True), "PyTorch compiled, our buckets": (around, True)}
    return {name: [Row(variant, name, *way, buckets) for way in chosen] for name, (chosen, buckets) in ways.items()}


# --- in processes of their own ---


def prepared(variant_name: str, steps: int) -> tuple[Any, Any, Any]:
    """The script, the variant, and its data with ``steps`` batches of training reviews drawn once for all rows."""
    import numpy as np

    from reproductions import naver_self_attention as script
    from reproductions.runner import corpus_or_sample

    preset = corpus_or_sample(script.PRESETS["cpu"])
    variant = preset.variant(variant_name)
    data = script.prepare(preset, variant)
    train = data.prepared.train
    order = np.random.RandomState(1).permutation(len(train))
    drawn = train.take(np.resize(order, steps * variant.recipe.batch_size))  # a short corpus is repeated
    result = replace(data.prepared, data=data.prepared.data.with_splits({**data.prepared.splits, "train": drawn}))
    return script, variant, replace(data, prepared=result)


def describe(variant_name: str, steps: int, path: str) -> dict[str, Any]:
    """Write what the peers read to ``path``, and state what there is to compute."""
    import numpy as np

    from gluon_attn.checkpoint import parameter_count
    from reproductions.text_classification import inputs

    script, variant, data = prepared(variant_name, steps)
    train = data.prepared.train
    fixed = replace(variant, settings={**variant.settings, "model": "as written"})
    (ids,) = inputs(fixed, train.sequences())
    lengths = np.maximum(1, train.lengths)  # an empty review is read as one unknown token
    np.savez(path, ids=ids.astype(np.int64), lengths=lengths, labels=train.label.astype(np.int64))
    model = script.build(variant, data)
    model.initialize()
    settings = {**variant.settings, "vocabulary_size": len(data.prepared.vocabulary)}
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
    """Multiply-adds of one forward pass over reviews of these lengths: GRU, attention and dense layer.

    Only what the network needs: where padding is masked it is not counted, nor are embedding, tanh and softmax.
    """
    units, hidden, width = settings["units"], settings["attention_units"], 2 * settings["units"]
    if settings["model"] == "as written":
        lengths = lengths * 0 + settings["max_length"]
        dense = settings["max_length"] * width * 2
    else:
        dense = width + width * 2  # the mean of the contexts, and the dense layer
    recurrent = 2 * 3 * units * (settings["embedding_units"] + units)
    projections = 2 * width * hidden
    pair = hidden + width  # score and context; the sum of query and key has no product
    return float((lengths * (recurrent + projections) + lengths**2 * pair + dense).sum())


def train(variant_name: str, steps: int) -> dict[str, float]:
    """Train for two epochs with ``fit`` and time the second."""
    import mxnet as mx

    from gluon_attn.checkpoint import parameter_count
    from gluon_attn.training import Batch, RunDirectory, fit

    script, variant, data = prepared(variant_name, steps)
    runtime.seed_all(1)
    model = script.build(variant, data)
    model.initialize(mx.init.Xavier())
    model.hybridize(static_alloc=True, static_shape=True)
    task = script.task(variant, data)
    cpu: list[float] = []
    tails: list[float] = []

    def batches(generator: Any) -> Iterator[Batch]:
        cpu.append(-time.process_time())
        yield from task.batches(generator)

    def evaluate(_: Any) -> dict[str, float]:
        """Instead of validation: wait for the last update, which ``fit`` does not."""
        started = time.perf_counter()
        mx.nd.waitall()
        tails.append(time.perf_counter() - started)
        cpu[-1] += time.process_time()
        return {task.select: 0.0}

    recipe = replace(variant.recipe, epochs=2, patience=2)
    with tempfile.TemporaryDirectory() as directory:
        timed = replace(task, batches=batches, evaluate=evaluate)
        history = fit(model, timed, recipe, RunDirectory(Path(directory), {}), seed=1).history
    first, both = (row["seconds"] for row in history)
    return {
        "seconds": both - first + tails[1],
        "cpu_seconds": cpu[1],
        "warm_up_seconds": first,
        "parameters": parameter_count(model),
    }


def ceiling(size: int = 2048) -> dict[str, float]:
    """GFLOP/s of ``FullyConnected`` on square matrices, the best of several: what this machine can do."""
    import mxnet as mx

    data, weight = (mx.nd.random.normal(shape=(size, size)) for _ in range(2))
    best = float("inf")
    for _ in range(12):
        mx.nd.waitall()
        started = time.perf_counter()
        mx.nd.FullyConnected(data, weight, no_bias=True, num_hidden=size).wait_to_read()
        best = min(best, time.perf_counter() - started)
    return {"gflops": 2e-9 * size**3 / best}


# --- the run ---


def in_process(command: Sequence[str], threads: int) -> dict[str, Any]:
    """Run a module of this project in its own process and read the JSON of its last line."""
    variables = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, check=True
    )
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def run_row(row: Row, threads: int, steps: int, what: Mapping[str, Any], arrays: str) -> dict[str, Any]:
    """Measure one row once.

    Raises:
        SystemExit: the peer's network has another number of parameters than ours.
    """
    if row.name == "gluon_attn":
        command = ["benchmarks.training_speed", "--one", "train", row.variant]
        measured = in_process([*command, "--threads", str(threads), "--steps", str(steps)], threads)
    else:
        spec = {name: what[name] for name in ("settings", "batch_size", "learning_rate")} | asdict(row)
        measured = in_process([PEER, json.dumps({**spec, "arrays": arrays, "threads": threads})], threads)
    if measured["parameters"] != what["parameters"]:
        sys.exit(f"{row.title}: {measured['parameters']} parameters, ours has {what['parameters']}: another network")
    print(f"  {row.title:48} {row.choice:40} {1e3 * measured['seconds'] / steps:8.1f} ms a step", flush=True)
    return measured


def measure(threads: int, steps: int, repetitions: int, what: dict[str, Any], folder: Path) -> dict[str, Any]:
    """All rows with one number of threads: first PyTorch's choices, once each, then the rows in turn."""
    print(f"{threads} thread{'s' * (threads > 1)}: PyTorch's choices")
    rows, tried = [], []
    for variant in VARIANTS:
        arrays = str(folder / f"{variant}.npz")
        rows.append(ours(variant))
        for choices in peers(variant).values():
            runs = [run_row(row, threads, steps, what[variant], arrays) for row in choices]
            tried += [asdict(row) | run for row, run in zip(choices, runs, strict=True)]
            rows.append(min(zip(choices, runs, strict=True), key=lambda pair: pair[1]["seconds"])[0])
    runs_of: dict[Row, list[dict[str, Any]]] = {row: [] for row in rows}
    ceilings = []
    for repetition in range(repetitions):
        print(f"{threads} thread{'s' * (threads > 1)}: repetition {repetition + 1} of {repetitions}")
        command = ["benchmarks.training_speed", "--one", "ceiling", "--threads", str(threads)]
        ceilings.append(in_process(command, threads)["gflops"])
        for row in rows:
            arrays = str(folder / f"{row.variant}.npz")
            runs_of[row].append(run_row(row, threads, steps, what[row.variant], arrays))
    return {
        "fully_connected_gflops": max(ceilings),
        "rows": [summary(row, runs, what[row.variant], max(ceilings)) for row, runs in runs_of.items()],
        "ratios": {variant: ratios(variant, runs_of) for variant in VARIANTS},
        "choices_tried": tried,
    }


def summary(row: Row, runs: list[dict[str, Any]], what: Mapping[str, Any], limit: float) -> dict[str, Any]:
    """A row with its medians."""
    seconds = median(run["seconds"] for run in runs)
    gflops = what["gflop"] / seconds
    return asdict(row) | {
        "reviews_per_second": round(what["reviews"] / seconds, 1),
        "tokens_per_second": round(what["tokens"] / seconds, 1),
        "ms_per_step": round(1e3 * seconds * what["batch_size"] / what["reviews"], 3),
        "gflops": round(gflops, 2),
        "share_of_fully_connected": round(gflops / limit, 4),
        "runs": runs,
    }


def ratios(variant: str, runs_of: Mapping[Row, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """For every peer how many times as fast we are: in each repetition, and the median."""
    mine = [run["seconds"] for run in runs_of[ours(variant)]]
    paired = {
        row.name: [run["seconds"] / own for run, own in zip(runs, mine, strict=True)]
        for row, runs in runs_of.items()
        if row.variant == variant and row != ours(variant)
    }
    return {name: {"median": round(median(each), 3), "each": each} for name, each in paired.items()}


def show(threads: int, measured: Mapping[str, Any]) -> None:
    """The table, and whether the target is met: against PyTorch without our buckets, which are part of our program."""
    limit = measured["fully_connected_gflops"]
    print(f"\n{threads} thread{'s' * (threads > 1)}; FullyConnected reaches {limit:.0f} GFLOP/s")
    print(f"{'':48} {'reviews/s':>10} {'tokens/s':>10} {'ms/step':>8} {'GFLOP/s':>8} {'share':>6} {'ours is':>8}")
    for row in measured["rows"]:
        ratio = measured["ratios"][row["variant"]].get(row["name"], {"median": 1.0})["median"]
        title = f"{row['variant']:10}  {row['name']}"
        print(
            f"{title:48} {row['reviews_per_second']:10.0f} {row['tokens_per_second']:10.0f} {row['ms_per_step']:8.1f} "
            f"{row['gflops']:8.1f} {row['share_of_fully_connected']:6.1%} {ratio:7.2f}x"
        )
    for variant in VARIANTS:
        lowest = better(variant, measured)
        verdict = "met" if lowest >= TARGET else "MISSED"
        print(f"{variant}: {lowest:.2f} times the better of PyTorch eager and compiled; target {TARGET}: {verdict}")


def better(variant: str, measured: Mapping[str, Any]) -> float:
    """How many times as fast as the better of PyTorch eager and compiled; our buckets are part of our program."""
    return float(min(measured["ratios"][variant][name]["median"] for name in ("PyTorch eager", "PyTorch compiled")))


def table(threads: int, measured: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines of the README's table of speeds."""
    lines = []
    for variant in VARIANTS:
        row = next(row for row in measured["rows"] if row["variant"] == variant and row["name"] == "gluon_attn")
        reached = f"{row['gflops']:.0f} of {measured['fully_connected_gflops']:.0f} GFLOP/s"
        plural = "s" if threads > 1 else ""
        lines.append(
            {
                "measure": f"training `{variant}` against the better of PyTorch eager and compiled, {threads} "
                f"thread{plural} ({row['reviews_per_second']:.0f} reviews/s, {reached})",
                "measured": f"{better(variant, measured):.2f}x",
                "target": f">= {TARGET}x",
                "met": better(variant, measured) >= TARGET,
            }
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1], help="thread counts to measure")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200, help="timed updates, and as many to warm up")
    parser.add_argument("--output", type=Path, default=RESULT)
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one, arguments.threads[0], arguments.steps)))
        return

    load, started = os.getloadavg()[0], time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if load > 0.5:
        print(f"the machine is busy (load {load:.1f}): times will be too long; measure on an idle one")
    with tempfile.TemporaryDirectory() as folder:
        steps, path = arguments.steps, Path(folder)
        what = {variant: in_process(describing(variant, steps, path), 1) for variant in VARIANTS}
        measured = {
            str(threads): measure(threads, steps, arguments.repetitions, what, path) for threads in arguments.threads
        }
    for threads in arguments.threads:
        show(threads, measured[str(threads)])
    if what["masked"]["corpus"] == "sample":
        print("*** THESE ARE NUMBERS OF THE EMBEDDED SAMPLE, REPEATED: NOT OF THE CORPUS ***")
    versions = {package: metadata.version(package) for package in ("mxnet", "gluonnlp", "numpy", "torch")}
    facts = {
        "command": f"python -m benchmarks.training_speed {' '.join(sys.argv[1:])}".strip(),
        "started": started,
        "hardware": runtime.hardware(),
        "load_average_at_start": load,
        "versions": versions | {"python": sys.version.split()[0]},
        "steps": steps,
        "repetitions": arguments.repetitions,
        "variants": what,
        "threads": measured,
        "table": [line for threads in arguments.threads for line in table(threads, measured[str(threads)])],
    }
    write_json(arguments.output, facts)
    print(f"written to {arguments.output}")


def describing(variant: str, steps: int, folder: Path) -> list[str]:
    return ["benchmarks.training_speed", "--one", "describe", variant, f"{folder / variant}.npz", "--steps", str(steps)]


def one(words: list[str], threads: int, steps: int) -> dict[str, Any]:
    """What a process of its own is asked for: ``describe``, ``train`` or ``ceiling``."""
    if threads == 1:  # the thread that prepares batches has no second core then
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    runtime.configure("fast", threads)
    if words[0] == "describe":
        return describe(words[1], steps, words[2])
    return train(words[1], steps) if words[0] == "train" else ceiling()


if __name__ == "__main__":
    main()
