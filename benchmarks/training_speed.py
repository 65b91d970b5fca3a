"""How fast do the two attention variants of the Naver script train, compared with the same networks in PyTorch?

    python -m benchmarks.training_speed [--threads 2 1] [--repetitions 5] [--steps 100] [--unrolled]

Everything that training needs is timed: batching, forward, backward, update; validation is not. Our rows are
``training.fit`` itself on the script's own network and task; the peers are ``peers/torch_classifiers.py``. All train
on the same reviews: ``--steps`` batches drawn once from the training split, at their real lengths.

PyTorch offers choices (fused dense or sparse Adam; packed sequences or a reversed copy; how much is compiled). Each is
tried once, and a row of the table is the fastest. Then the rows are measured in turn, each in its own process:
MXNet and PyTorch bring different OpenMP runtimes. Ratios are paired within a repetition.

Prints a table and writes ``benchmarks/results/training_speed.json``. Without NSMC it repeats the embedded sample.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import contest
from benchmarks.contest import in_process

RESULT = contest.RESULTS / "training_speed.json"
TARGET = 1.2
VARIANTS = ("as-written", "masked")
OURS = "gluon_attn"
# Length buckets are part of our program: the target is compared with PyTorch without them.
AGAINST = ("PyTorch eager", "PyTorch compiled")


@dataclass(frozen=True)
class Row:
    """One row of the table: a variant trained by us, or by PyTorch in one of its ways."""

    variant: str
    name: str
    compile: str = ""
    optimizer: str = ""
    recurrent: str = ""
    buckets: bool = False

    @property
    def title(self) -> str:
        return f"{self.variant:10}  {self.name:30}"

    @property
    def way(self) -> str:
        """The options of PyTorch."""
        words = (self.optimizer, self.recurrent if self.variant == "masked" else "", self.compile)
        return ", ".join(word for word in words if word not in ("", "no"))


@dataclass(frozen=True)
class Setting:
    """The setting of a measurement; ``what`` and ``arrays`` by variant."""

    threads: int
    steps: int
    what: Mapping[str, Mapping[str, Any]]
    arrays: Mapping[str, Path]

    @property
    def title(self) -> str:
        return f"{self.threads} thread{'s' * (self.threads > 1)}"


def peers(variant: str, unrolled: bool) -> list[list[Row]]:
    """The peer's rows, each as a list of ways of which the fastest is taken; with ``unrolled`` the compiled GRU too."""
    recurrent = ("packed", "reversed") if variant == "masked" else ("packed",)
    eager = list(product(("no",), ("fused adam", "sparse adam"), recurrent))
    # Sparse gradients do not compile, nor do packed sequences as a whole.
    around = list(product(("around the GRU",), ("fused adam",), recurrent))
    whole = [("whole", "fused adam", recurrent[-1])] if unrolled else []
    rows = [("PyTorch eager", eager, False), ("PyTorch compiled", [*around, *whole], False)]
    if variant == "masked":
        # Not as a whole: the unrolled GRU would be compiled for every length, minutes each.
        rows += [("PyTorch eager, our buckets", eager, True), ("PyTorch compiled, our buckets", around, True)]
    return [[Row(variant, name, *way, buckets) for way in ways] for name, ways, buckets in rows]


def run(row: Row, setting: Setting) -> dict[str, Any]:
    """Measure one row once.

    Raises:
        SystemExit: the peer's network has another number of parameters than ours.
    """
    what, threads = setting.what[row.variant], setting.threads
    if row.name == OURS:
        flags = ["--variant", row.variant, "--steps", str(setting.steps), "--threads", str(threads)]
        measured = in_process("ours.classifiers", ["train", *flags], threads)
    else:
        spec = {name: what[name] for name in ("settings", "batch_size", "learning_rate")} | asdict(row)
        spec |= {"arrays": str(setting.arrays[row.variant]), "threads": threads}
        measured = in_process("peers.torch_classifiers", [json.dumps(spec)], threads)
    contest.check_size(row.title, measured, what)
    print(f"  {row.title} {row.way:38} {1e3 * measured['seconds'] / setting.steps:8.1f} ms a step", flush=True)
    return measured


def measure(setting: Setting, repetitions: int, unrolled: bool) -> dict[str, Any]:
    """Measure all rows with one number of threads: first each of PyTorch's ways once, then the rows in turn."""
    print(f"{setting.title}: PyTorch's ways", flush=True)
    rows: list[Row] = []
    tried: list[dict[str, Any]] = []
    for variant in VARIANTS:
        rows.append(Row(variant, OURS))
        for ways in peers(variant, unrolled):
            runs = [run(way, setting) for way in ways]
            tried += [asdict(way) | measured for way, measured in zip(ways, runs, strict=True)]
            seconds = [measured["seconds"] for measured in runs]
            rows.append(ways[seconds.index(min(seconds))])
    runs_of: dict[Row, list[dict[str, Any]]] = {row: [] for row in rows}
    ceilings = []
    for repetition in range(repetitions):
        print(f"{setting.title}: repetition {repetition + 1} of {repetitions}", flush=True)
        flags = ["--threads", str(setting.threads)]
        ceilings.append(in_process("ours.classifiers", ["ceiling", *flags], setting.threads)["gflops"])
        for row in rows:
            runs_of[row].append(run(row, setting))
    return {
        "fully_connected_gflops": round(max(ceilings), 1),
        "rows": [summary(row, runs_of, setting.what[row.variant], max(ceilings)) for row in rows],
        "ways_tried": tried,
    }


def summary(
    row: Row, runs_of: Mapping[Row, list[dict[str, Any]]], what: Mapping[str, Any], limit: float
) -> dict[str, Any]:
    """A row with its medians; ``ours_is``: how many times as fast we are, in each repetition and at the median."""
    runs = runs_of[row]
    seconds = median(each["seconds"] for each in runs)
    ratios = contest.ratios(runs, runs_of[Row(row.variant, OURS)])
    gflops = what["gflop"] / seconds
    return asdict(row) | {
        "reviews_per_second": round(what["reviews"] / seconds, 1),
        "tokens_per_second": round(what["tokens"] / seconds, 1),
        "ms_per_step": round(1e3 * seconds * what["batch_size"] / what["reviews"], 3),
        "gflops": round(gflops, 2),
        "share_of_fully_connected": round(gflops / limit, 4),
        "ours_is": round(median(ratios), 3),
        "ours_is_each": [round(ratio, 4) for ratio in ratios],
        "runs": runs,
    }


def table(measured: Mapping[str, Any], title: str) -> list[dict[str, Any]]:
    """The lines of the README's table of speeds."""
    lines = []
    for variant in VARIANTS:
        rows = {row["name"]: row for row in measured["rows"] if row["variant"] == variant}
        lowest = min(rows[name]["ours_is"] for name in AGAINST)
        own, limit = rows[OURS], measured["fully_connected_gflops"]
        words = (
            f"training `{variant}`, {title}: {own['reviews_per_second']:.0f} reviews/s, {own['gflops']:.0f} of "
            f"{limit:.0f} GFLOP/s; against the better of PyTorch eager and compiled"
        )
        lines.append(contest.line(words, lowest, TARGET))
    return lines


def show(measured: Mapping[str, Any], title: str) -> None:
    """The table of all rows on the terminal."""
    print(f"\n{title}; FullyConnected reaches {measured['fully_connected_gflops']:.0f} GFLOP/s")
    print(f"{'':42} {'reviews/s':>10} {'tokens/s':>10} {'ms/step':>8} {'GFLOP/s':>8} {'share':>6} {'ours is':>8}")
    for row in measured["rows"]:
        print(
            f"{row['variant']:10}  {row['name']:30} {row['reviews_per_second']:10.0f} {row['tokens_per_second']:10.0f} "
            f"{row['ms_per_step']:8.1f} {row['gflops']:8.1f} {row['share_of_fully_connected']:6.1%} "
            f"{row['ours_is']:7.2f}x"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1], help="thread counts, each measured by itself")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100, help="timed updates, after as many that are not")
    parser.add_argument("--unrolled", action="store_true", help="compile the unrolled GRU too: ten minutes")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()

    circumstances = contest.circumstances()
    with tempfile.TemporaryDirectory() as folder:
        arrays = {variant: Path(folder) / f"{variant}.npz" for variant in VARIANTS}
        what = {}
        for variant, path in arrays.items():
            flags = ["--variant", variant, "--steps", str(options.steps), "--arrays", str(path)]
            what[variant] = in_process("ours.classifiers", ["describe", *flags], 1)
        settings = [Setting(threads, options.steps, what, arrays) for threads in options.threads]
        measured = {setting.threads: measure(setting, options.repetitions, options.unrolled) for setting in settings}
    lines = [line for setting in settings for line in table(measured[setting.threads], setting.title)]
    for setting in settings:
        show(measured[setting.threads], setting.title)
    chosen = f"--threads {' '.join(map(str, options.threads))} --repetitions {options.repetitions}"
    chosen += f" --steps {options.steps}{' --unrolled' if options.unrolled else ''}"
    record = {
        "command": f"python -m benchmarks.training_speed {chosen}",
        **circumstances,
        "variants": what,
        "threads": measured,
    }
    contest.write(options.output, record, lines, [facts["corpus"] for facts in what.values()])


if __name__ == "__main__":
    main()
