"""How every measured process is timed: work is done twice and the second time counts.

Nothing here imports MXNet or PyTorch before it is called: each brings an OpenMP runtime, and a process can have one
only.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gluon_attn import runtime


def keep_to(threads: int) -> None:
    """Give one thread one core, so that the thread that prepares batches has no other."""
    if threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def second_time(work: Callable[[], Any]) -> dict[str, float]:
    """Do the work twice: ``seconds`` and ``cpu_seconds`` of the second time, ``warm_up_seconds`` of the first."""
    started = time.perf_counter()
    work()
    begun, cpu = time.perf_counter(), time.process_time()
    work()
    return {
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - cpu,
        "warm_up_seconds": begun - started,
    }


def second_epoch(model: Any, objective: Any, recipe: Any) -> dict[str, float]:
    """The same for ``fit``, which trains an initialized model for two epochs, with the number of trained
    ``parameters``; validation is left out."""
    import mxnet as mx
    import numpy as np

    from gluon_attn.training.loop import fit
    from gluon_attn.training.run_directory import RunDirectory

    cpu: list[float] = []
    tails: list[float] = []

    def batches(generator: Any) -> Iterator[Any]:
        cpu.append(-time.process_time())
        yield from objective.batches(generator)

    def evaluate(_: Any) -> dict[str, float]:
        """Instead of validation: wait for the last update, which ``fit`` does not."""
        started = time.perf_counter()
        mx.nd.waitall()
        tails.append(time.perf_counter() - started)
        cpu[-1] += time.process_time()
        return {objective.select: 0.0}

    timed = replace(objective, batches=batches, evaluate=evaluate)
    with tempfile.TemporaryDirectory() as directory:
        run = RunDirectory(Path(directory), {})
        history = fit(model, timed, replace(recipe, epochs=2, patience=2), run, seed=1).history
    first, both = (epoch["seconds"] for epoch in history)
    trained = sum(int(np.prod(one.shape)) for one in model.collect_params().values() if one.grad_req != "null")
    seconds = {"seconds": both - first + tails[1], "cpu_seconds": cpu[1], "warm_up_seconds": first}
    return {**seconds, "parameters": trained}


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


def side(
    doc: str | None, describe: Callable[[str, int, int, Path], Any], train: Callable[[str, int, int], Any]
) -> None:
    """The command line of our side of :func:`benchmarks.contest.duel`: ``describe`` or ``train`` a network with
    ``--units`` for ``--steps``, in the fast profile, or measure the machine's ``ceiling``, and print JSON."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("what", choices=("describe", "train", "ceiling"))
    parser.add_argument("--model")
    parser.add_argument("--units", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--arrays", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    keep_to(options.threads)
    runtime.configure("fast", options.threads)
    sizes = options.model, options.units, options.steps
    if options.what == "ceiling":
        print(json.dumps(ceiling()))
    else:
        print(json.dumps(describe(*sizes, options.arrays) if options.what == "describe" else train(*sizes)))
