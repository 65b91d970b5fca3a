"""How fast do the attentive classifiers of Lin and of Yang train, compared with the same networks in eager PyTorch?

    python -m benchmarks.documents_speed [--threads 2] [--repetitions 3] [--steps 12]

Networks: ``StructuredClassifier`` (BiLSTM of 128, six hops) on texts as long as those of NSMC and of IMDb, and
``HierarchicalAttentionNetwork`` (the paper's 200, 50 and 100) on documents of IMDb's lengths; the words are random.
Forward, backward and update are timed. The rows are measured in turn, each in its own process, since MXNet and
PyTorch bring different OpenMP runtimes; ratios are paired within a repetition.

PyTorch offers choices (fused dense or sparse Adam; packed sequences, a reversed copy or, for sentences of documents,
groups of similar length). Each is tried once, and a row of the table is the fastest. Batches of texts of similar length
are part of our program: the target is compared with PyTorch on randomly drawn batches, and a second row shows PyTorch
on our batches.

Prints a table and writes ``benchmarks/results/documents_speed.json``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import contest
from benchmarks.contest import in_process

RESULT = contest.RESULTS / "documents_speed.json"
TARGET = 1.2
NETWORKS = (("structured", "nsmc"), ("structured", "imdb"), ("hierarchical", "imdb"))
OURS, AGAINST, ON_OURS = "gluon_attn", "PyTorch eager", "PyTorch eager, our batches"
ORDERS = {AGAINST: "as drawn", ON_OURS: "similar length"}
WAYS = {
    "structured": ("packed", "reversed"),
    "hierarchical": ("packed", "reversed", "grouped"),
}
OPTIMIZERS = ("fused adam", "sparse adam")


def measure(model: str, texts: str, threads: int, repetitions: int, steps: int, folder: Path) -> dict[str, Any]:
    """Measure one network on both sides: each of PyTorch's ways once, then the fastest of them and ours in turn.

    Raises:
        SystemExit: the peer's network has another number of parameters than ours.
    """
    flags = ["--model", model, "--texts", texts, "--steps", str(steps)]
    what = in_process("ours.documents", ["describe", *flags, "--folder", str(folder)], 1)
    arrays = what.pop("arrays")

    def run(name: str, way: Mapping[str, str]) -> dict[str, Any]:
        if name == OURS:
            measured = in_process("ours.documents", ["train", *flags, "--threads", str(threads)], threads)
        else:
            spec = {**what, "threads": threads, "arrays": arrays[ORDERS[name]], **way}
            measured = in_process("peers.torch_documents", [json.dumps(spec)], threads)
        contest.check_size(name, measured, what)
        speed = what["words"] / measured["seconds"]
        print(f"  {model} {texts}, {name:26} {', '.join(way.values()):22} {speed:8.0f} words/s", flush=True)
        return measured

    ways: dict[str, Mapping[str, str]] = {OURS: {}}
    choices = [{"recurrent": way, "optimizer": optimizer} for way, optimizer in product(WAYS[model], OPTIMIZERS)]
    tried = []
    for name in ORDERS:
        runs = [run(name, way) for way in choices]
        tried += [{"name": name, **way, **measured} for way, measured in zip(choices, runs, strict=True)]
        seconds = [measured["seconds"] for measured in runs]
        ways[name] = choices[seconds.index(min(seconds))]
    runs_of: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    for _ in range(repetitions):
        for name, way in ways.items():
            runs_of[name].append(run(name, way))
    rows = {}
    for name, way in ways.items():
        ratios = contest.ratios(runs_of[name], runs_of[OURS])
        rows[name] = {
            **way,
            "words_per_second": round(what["words"] / median(measured["seconds"] for measured in runs_of[name]), 1),
            "ours_is": round(median(ratios), 3),
            "ours_is_each": [round(ratio, 4) for ratio in ratios],
            "runs": runs_of[name],
        }
    return {"what": what, "rows": rows, "ways_tried": tried}


def line(model: str, texts: str, threads: int, measured: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the README's table of speeds."""
    rows = measured["rows"]
    words = (
        f"training {model} attention on texts as long as those of {texts}, {threads} thread{'s' * (threads > 1)}: "
        f"{rows[OURS]['words_per_second']:.0f} words/s; against PyTorch eager "
        f"(on our batches of similar length: {rows[ON_OURS]['ours_is']:.2f}x)"
    )
    return contest.line(words, rows[AGAINST]["ours_is"], TARGET)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12, help="timed updates, after as many that are not")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()

    circumstances = contest.circumstances()
    with tempfile.TemporaryDirectory() as folder:
        results = {
            (model, texts): measure(model, texts, options.threads, options.repetitions, options.steps, Path(folder))
            for model, texts in NETWORKS
        }
    lines = [line(model, texts, options.threads, each) for (model, texts), each in results.items()]
    sizes = f"--threads {options.threads} --repetitions {options.repetitions} --steps {options.steps}"
    record = {
        "command": f"python -m benchmarks.documents_speed {sizes}",
        **circumstances,
        "networks": {f"{model} {texts}": each for (model, texts), each in results.items()},
    }
    contest.write(options.output, record, lines, [each["what"]["corpus"] for each in results.values()])


if __name__ == "__main__":
    main()
