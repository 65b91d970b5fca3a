"""How fast do long short-term memory-networks train, beside the same networks in PyTorch, eager?

    python -m benchmarks.lstmn_speed [--threads 1] [--repetitions 3] [--steps 20]

Networks: those of ``reproductions/cheng2016.py``, the language model (300 units, 10 000 words; 20 rows of 35 steps, a
tape of 3 states) and the sentence classifier (168 units; 32 sentences of like length, a tape of 56 states, which holds
any of them). Both sides train on the same drawn words. Forward, backward, clipping and update are timed. The rows are
measured in turn, each in a process of its own, since MXNet and PyTorch bring different OpenMP runtimes; ratios are
paired within a repetition. The networks have the same parameters, one for one.

Prints a table and writes ``benchmarks/results/lstmn_speed.json``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import contest

RESULT = contest.RESULTS / "lstmn_speed.json"
TARGET = 1.0
NETWORKS = (("language model", 300), ("classifier", 168))


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
            (model, units): contest.duel(
                "own_lstmn",
                "peers.torch_lstmn",
                {"model": model, "units": units, "steps": options.steps},
                "words",
                options.threads,
                options.repetitions,
                Path(folder),
            )
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
