"""How fast do several workers train, how much do they send, and what follows for 4 to 64 machines?

    python -m benchmarks.workers_speed [--repetitions 3] [--updates 10]

Network: RNNsearch with 512 units and 30 000 words on either side. A worker computes with one thread, on a core of its
own where there are enough, the gradients of 80 rows of 24 tokens; the scheduler and one server share these cores. One
worker and two are measured in turn, and ratios of tokens per second are paired within a repetition.

The model for machines has a worker of this speed and a server on each, and no overlap of computing and sending, since
gradients are sent when all are computed. In an update each link carries, in either direction, the gradients of its
worker and, for the share of its server, those of all others: 2 b (1 - 1/n) bytes of b. So tokens per second are

    n t / (s + 2 b (1 - 1/n) / B + r l)

with t tokens and s seconds of one worker alone, B bytes/s of a link, r round trips of l seconds. It does not know
stragglers, slow switches or the time that servers need to add, which is s of the difference measured here.

Prints tables and writes ``benchmarks/results/workers_speed.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gluon_attn import runtime

RESULTS = Path(__file__).parent / "results" / "workers_speed.json"
SIZES = ("bahdanau2014", "rnnsearch", "--vocabulary", "30000", "--rows", "80", "--length", "24")
TARGET = 1.6
MACHINES = (1, 4, 8, 16, 32, 64)
LINKS = {"1 Gbit/s": 1e9 / 8, "10 Gbit/s": 1e10 / 8, "25 Gbit/s": 2.5e10 / 8, "100 Gbit/s": 1e11 / 8}
ROUND_TRIPS, LATENCY = 1, 1e-3


def measured(workers: int, units: int, updates: int) -> dict[str, Any]:
    """What the first worker reports."""
    words = [sys.executable, "-m", "benchmarks.ours.updates", *SIZES]
    words += ["--units", str(units), "--updates", str(updates)]
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
    outputs = [_output(process) for process in processes[2:]]
    for process in processes[:2]:
        _output(process)
    return next(report for report in map(_report, outputs) if report["rank"] == 0)


def _output(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None and process.stdin is not None
    text = process.stdout.read()
    if process.wait():
        raise SystemExit(f"{' '.join(map(str, process.args[-6:]))} ended with status {process.returncode}")  # type: ignore[index]
    process.stdin.close()
    return text


def _report(text: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(text.splitlines()[-1])
    return report


def modelled(alone: Mapping[str, Any], sent: float) -> dict[str, list[float]]:
    """Speed relative to one machine by link, for each number of machines."""
    seconds = alone["seconds"] / (alone["tokens"] / (80 * 24))
    return {
        name: [n * seconds / _seconds(n, seconds, sent, bandwidth) for n in MACHINES]
        for name, bandwidth in LINKS.items()
    }


def _seconds(machines: int, seconds: float, sent: float, bandwidth: float) -> float:
    if machines == 1:
        return seconds
    return seconds + 2 * sent * (1 - 1 / machines) / bandwidth + ROUND_TRIPS * LATENCY


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--units", type=int, default=512)
    options = parser.parse_args(words)
    pairs = []
    for number in range(options.repetitions):
        one, two = (measured(workers, options.units, options.updates) for workers in (1, 2))
        pairs.append((one, two))
        ratio = two["tokens_per_second"] / one["tokens_per_second"]
        print(f"{number + 1}: {one['tokens_per_second']:.0f} and {two['tokens_per_second']:.0f} tokens/s, {ratio:.2f}")
    ratios = [two["tokens_per_second"] / one["tokens_per_second"] for one, two in pairs]
    sent = pairs[0][1]["bytes_sent_per_update"]
    fastest = max((one for one, _ in pairs), key=lambda one: float(one["tokens_per_second"]))
    print(f"two workers against one: {statistics.median(ratios):.2f} (target {TARGET})")
    print(f"each worker sends {sent / 1e6:.1f} MB in an update, and receives as much")
    speeds = modelled(fastest, sent)
    print("machines    " + "".join(f"{machines:>8}" for machines in MACHINES))
    for name, row in speeds.items():
        print(f"{name:12}" + "".join(f"{speed:8.1f}" for speed in row))
    record = {"hardware": runtime.hardware(), "ratios": ratios, "pairs": pairs, "machines": MACHINES, "model": speeds}
    RESULTS.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
