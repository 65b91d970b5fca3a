"""How fast do several workers train, how much do they send, and what follows for 4 to 64 machines?

    python -m benchmarks.workers_speed [--repetitions 3] [--updates 10]

Network: RNNsearch with 512 units and 30 000 words on either side. A worker computes with one thread, on a core of its
own where there are enough, the gradients of 80 rows of 24 tokens; the scheduler and one server share these cores. One
worker and two are measured in turn, and ratios of tokens per second are paired within a repetition.

The model for machines has a worker of this speed and a server on each, and no overlap of computing and sending, since
gradients are sent when all are computed. In an update each link carries, in either direction, the gradients of its
worker and, for the share of its server, those of all others: 2 b (1 - 1/n) bytes, with b those of one worker's
gradients, which more than two workers send in two parts. So tokens per second are

    n t / (s + 2 b (1 - 1/n) / B + r l)

with t tokens and s seconds of one worker alone, B bytes/s of a link, r round trips of l seconds. It does not know
stragglers, slow switches or the time that servers need to add, which is in the difference measured here. A machine with
more cores has a smaller s, and needs a network that is as many times as fast.

Prints tables and writes ``benchmarks/results/workers_speed.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from typing import Any

from benchmarks.contest import RESULTS, circumstances, line, write

RESULT = RESULTS / "workers_speed.json"
ROWS, LENGTH = 80, 24
SIZES = ("bahdanau2014", "rnnsearch", "--vocabulary", 30_000, "--rows", ROWS, "--length", LENGTH)
TARGET = 1.6
PACKAGES = ("mxnet", "gluonnlp", "numpy")
MACHINES = (1, 4, 8, 16, 32, 64)
LINKS = {"1 Gbit/s": 1e9 / 8, "10 Gbit/s": 1e10 / 8, "25 Gbit/s": 2.5e10 / 8, "100 Gbit/s": 1e11 / 8}
ROUND_TRIPS, LATENCY = 2, 1e-3
EFFICIENCY = 0.8


def measured(workers: int, options: Sequence[object]) -> dict[str, Any]:
    """What the first worker reports; with the options of ``benchmarks.ours.updates``."""
    words = [sys.executable, "-m", "benchmarks.ours.updates", *map(str, options)]
    cores = sorted(os.sched_getaffinity(0))
    pinned = [["taskset", "--cpu-list", str(cores[i % len(cores)]), *words] for i in range(workers)]
    if workers == 1:
        return _report(subprocess.run(pinned[0], stdout=subprocess.PIPE, text=True, check=True).stdout)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": str(port), "DMLC_NODE_HOST": "127.0.0.1"}
    common |= {"DMLC_NUM_WORKER": str(workers), "DMLC_NUM_SERVER": "1"}
    serving = [sys.executable, "-m", "reproductions", "serve-gradients"]
    commands = [("scheduler", serving), ("server", serving), *(("worker", each) for each in pinned)]
    processes = [
        subprocess.Popen(
            command,
            env={**os.environ, **common, "DMLC_ROLE": role},
            stdin=subprocess.PIPE,  # which they watch, to end with this process
            stdout=subprocess.PIPE,
            text=True,
        )
        for role, command in commands
    ]
    outputs = outputs_of(processes)[2:]
    return next(report for report in map(_report, outputs) if report["rank"] == 0)


def outputs_of(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    """What processes print that end together. When one fails, the others are ended, since they would wait for it."""
    with ExitStack() as opened, ThreadPoolExecutor(len(processes)) as pool:
        for process in processes:
            opened.enter_context(process)
        outputs = [pool.submit(_output, process) for process in processes]
        try:
            for output in as_completed(outputs):
                output.result()
        finally:
            for process in processes:
                process.kill()
    return [output.result() for output in outputs]


def _output(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    text = process.stdout.read()
    if process.wait():
        raise SystemExit(f"{' '.join(map(str, process.args[-6:]))} ended with status {process.returncode}")  # type: ignore[index]
    return text


def _report(text: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(text.splitlines()[-1])
    return report


def modelled(seconds: float, sent: float, machines: int, bandwidth: float) -> float:
    """Speed relative to one machine, which needs these seconds for an update; ``sent`` bytes are one worker's."""
    return machines * seconds / (seconds + _carried(sent, machines) / bandwidth + _waiting(machines))


def needed(seconds: float, sent: float, machines: int) -> float:
    """Bandwidth of each link, in bytes/s, with which the machines reach ``EFFICIENCY``; infinite where none does."""
    left = seconds / EFFICIENCY - seconds - _waiting(machines)
    return _carried(sent, machines) / left if left > 0 else math.inf


def _carried(sent: float, machines: int) -> float:
    """Bytes that a link carries in either direction in an update."""
    parts = 2 if machines > 2 else 1
    return 2 * parts * sent * (1 - 1 / machines)


def _waiting(machines: int) -> float:
    return ROUND_TRIPS * LATENCY if machines > 1 else 0.0


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--units", type=int, default=512)
    options = parser.parse_args(words)
    when_and_where = circumstances(PACKAGES)
    pairs = []
    for number in range(options.repetitions):
        sizes = (*SIZES, "--units", options.units, "--updates", options.updates)
        one, two = (measured(workers, sizes) for workers in (1, 2))
        pairs.append((one, two))
        ratio = two["tokens_per_second"] / one["tokens_per_second"]
        print(f"{number + 1}: {one['tokens_per_second']:.0f} and {two['tokens_per_second']:.0f} tokens/s, {ratio:.2f}")
    ratios = [two["tokens_per_second"] / one["tokens_per_second"] for one, two in pairs]
    sent = pairs[0][1]["bytes_sent_per_update"]
    fastest = max((one for one, _ in pairs), key=lambda one: float(one["tokens_per_second"]))
    print(f"each worker sends {sent / 1e6:.1f} MB in an update, and receives as much")
    seconds = fastest["seconds"] / options.updates
    speeds = {name: [modelled(seconds, sent, n, bandwidth) for n in MACHINES] for name, bandwidth in LINKS.items()}
    networks = [needed(seconds, sent, n) * 8 / 1e9 for n in MACHINES]
    print("machines                " + "".join(f"{machines:>8}" for machines in MACHINES))
    for name, row in speeds.items():
        print(f"speed at {name:15}" + "".join(f"{speed:8.1f}" for speed in row))
    print(f"Gbit/s for {EFFICIENCY} of n   " + "".join(f"{network:8.2f}" for network in networks))
    flags = f"--repetitions {options.repetitions} --updates {options.updates} --units {options.units}"
    record = {"command": f"python -m benchmarks.workers_speed {flags}", **when_and_where, "ratios": ratios}
    record |= {"pairs": pairs, "machines": MACHINES, "model": speeds, "gbit_per_second_needed": networks}
    speed = f"{fastest['tokens_per_second']:.0f} tokens/s on one"
    measure = f"training rnnsearch with {options.units} units on two workers of 1 thread against one: {speed}"
    write(RESULT, record, [line(measure, statistics.median(ratios), TARGET)], [])


if __name__ == "__main__":
    main()
