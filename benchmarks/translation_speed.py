"""How fast do the encoder-decoders with attention train, beside the same networks in PyTorch, eager?

    python -m benchmarks.translation_speed [--threads 2] [--repetitions 3] [--steps 40]

Networks: RNNsearch with 256 and with 512 units, and Luong's general attention with input feeding on two LSTM layers
of 512. Both sides train on the same batches of Multi30k, English to German: the script's own batches of like length,
drawn once. Forward, backward, clipping and update are timed. The rows are measured in turn, each in a process of its
own, since MXNet and PyTorch bring different OpenMP runtimes; ratios are paired within a repetition.

The networks are the same but for biases: PyTorch's LSTM has two for each gate, our decoder's one.

Prints a table and writes ``benchmarks/results/translation_speed.json``. Without Multi30k the embedded sample is
repeated.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import contest

RESULT = contest.RESULTS / "translation_speed.json"
TARGET = 1.0
NETWORKS = (("rnnsearch", 256), ("rnnsearch", 512), ("deep lstm", 512))


def line(model: str, units: int, threads: int, found: dict[str, Any]) -> dict[str, Any]:
    """A line of the README's table of speeds."""
    speed = found["target_tokens_per_second"]["gluon_attn"]
    words = (
        f"training {model} with {units} units, {threads} thread{'s' * (threads > 1)}: {speed:.0f} target tokens/s; "
        "against PyTorch eager"
    )
    return contest.line(words, found["ours_is"], TARGET)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40, help="timed updates, after as many that are not")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()

    circumstances = contest.circumstances()
    with tempfile.TemporaryDirectory() as folder:
        found = {
            (model, units): contest.duel(
                "own_translators",
                "peers.torch_translators",
                {"model": model, "units": units, "steps": options.steps},
                "target_tokens",
                options.threads,
                options.repetitions,
                Path(folder),
            )
            for model, units in NETWORKS
        }
    lines = [line(model, units, options.threads, each) for (model, units), each in found.items()]
    sizes = f"--threads {options.threads} --repetitions {options.repetitions} --steps {options.steps}"
    record = {
        "command": f"python -m benchmarks.translation_speed {sizes}",
        **circumstances,
        "networks": {f"{model} {units}": each for (model, units), each in found.items()},
    }
    contest.write(options.output, record, lines, [each["what"]["corpus"] for each in found.values()])


if __name__ == "__main__":
    main()
