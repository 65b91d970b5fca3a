"""How fast do long short-term memory-networks train, beside the same networks in PyTorch, eager?

    python -m benchmarks.lstmn_speed [--threads 1] [--repetitions 3] [--steps 20]

Networks: the language model at the size of the paper's on the Penn Treebank (300 units, 10 000 words; 40 rows of 35
steps), and the sentence classifier at the size of the paper's on sentiment (168 units; 32 sentences of like length);
both with a tape of 15 states. Both sides train on the same drawn words. Forward, backward, clipping and update are
timed. The rows are measured in turn, each in a process of its own, since MXNet and PyTorch bring different OpenMP
runtimes; ratios are paired within a repetition. The networks have the same parameters, one for one.

Prints a table and writes ``benchmarks/results/lstmn_speed.json``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import contest
from benchmarks.contest import in_process

RESULT = contest.RESULTS / "lstmn_speed.json"
TARGET = 1.0
NETWORKS = (("language model", 300), ("classifier", 168))


def measure(model: str, units: int, threads: int, repetitions: int, steps: int, folder: Path) -> dict[str, Any]:
    """One network on both sides, in turn."""
    sizes = ["--model", model, "--units", str(units), "--steps", str(steps)]
    arrays = folder / f"{model}.npz"
    what = in_process("own_lstmn", ["describe", *sizes, "--arrays", str(arrays)], 1)
    spec = {**what, "arrays": str(arrays), "threads": threads}
    runs: dict[str, list[dict[str, Any]]] = {"gluon_attn": [], "PyTorch eager": []}
    for _ in range(repetitions):
        ours = in_process("own_lstmn", ["train", *sizes, "--threads", str(threads)], threads)
        theirs = in_process("peers.torch_lstmn", [json.dumps(spec)], threads)
        for name, found in zip(runs, (ours, theirs), strict=True):
            runs[name].append(found)
            print(f"  {model} {units}, {name:14} {what['tokens'] / found['seconds']:8.0f} words/s", flush=True)
    ratios = contest.ratios(runs["PyTorch eager"], runs["gluon_attn"])
    speeds = {name: what["tokens"] / median(run["seconds"] for run in found) for name, found in runs.items()}
    return {
        "what": what,
        "words_per_second": {name: round(speed, 1) for name, speed in speeds.items()},
        "ours_is": round(median(ratios), 3),
        "ours_is_each": [round(ratio, 4) for ratio in ratios],
        "runs": runs,
    }


def line(model: str, units: int, threads: int, found: dict[str, Any]) -> dict[str, Any]:
    """A line of the README's table of speeds."""
    speed = found["words_per_second"]["gluon_attn"]
    words = (
        f"training LSTMN, {model} with {units} units, {threads} thread{'s' * (threads > 1)}: {speed:.0f} words/s; "
        "against PyTorch eager"
    )
    return contest.line(words, found["ours_is"], TARGET)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20, help="timed updates, after as many that are not")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()

    circumstances = contest.circumstances()
    with tempfile.TemporaryDirectory() as folder:
        found = {
            (model, units): measure(model, units, options.threads, options.repetitions, options.steps, Path(folder))
            for model, units in NETWORKS
        }
    lines = [line(model, units, options.threads, each) for (model, units), each in found.items()]
    sizes = f"--threads {options.threads} --repetitions {options.repetitions} --steps {options.steps}"
    record = {
        "command": f"python -m benchmarks.lstmn_speed {sizes}",
        **circumstances,
        "networks": {f"{model} {units}": each for (model, units), each in found.items()},
    }
    contest.write(options.output, record, lines, [])


if __name__ == "__main__":
    main()
