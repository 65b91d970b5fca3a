"""What the scripts share that measure us and our peers in turn: processes, paired ratios, the record."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from gluon_attn.runtime import hardware
from preprocessing.files import write_json

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
OURS = "gluon_attn"
CPUINFO = Path("/proc/cpuinfo")
_VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX"}
_PACKAGES = ("mxnet", "gluonnlp", "numpy", "torch")


def in_process(module: str, arguments: Sequence[str], threads: int) -> dict[str, Any]:
    """Run a module of this folder in its own process and read the JSON of its last line.

    Raises:
        SystemExit: the process has failed; the reason is on standard error.
    """
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    variables = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"benchmarks.{module} has failed for the reason above; nothing is written")
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def ratios(theirs: Sequence[Mapping[str, Any]], ours: Sequence[Mapping[str, Any]]) -> list[float]:
    """How many times as fast we are, in each repetition."""
    return [their["seconds"] / our["seconds"] for their, our in zip(theirs, ours, strict=True)]


EAGER: Mapping[str, Mapping[str, Any]] = {"PyTorch eager": {}}


def duel(
    own: str,
    peer: str,
    sizes: Mapping[str, Any],
    unit: str,
    threads: int,
    repetitions: int,
    folder: Path,
    ways: Mapping[str, Mapping[str, Any]] = EAGER,
) -> dict[str, Any]:
    """Train one network on both sides, in turn.

    Args:
        own, peer: modules of this folder. Ours can ``describe`` what there is to train, with the number of ``unit``
            (and with ``gflop``, if the speed is to be compared with the machine's ceiling), and ``train`` it.
        sizes: options of our module.
        unit: what is counted, such as ``target_tokens``.
        threads: of either side.
        repetitions: of each.
        folder: for the batches.
        ways: the peer's rows and what they add to the description.

    Returns:
        The description as ``what``, the units per second of each row, and how many times as fast we are as the
        fastest of the peer's rows.

    Raises:
        SystemExit: a process has failed, or a side trained a network of another size.
    """
    flags = [word for name, value in sizes.items() for word in (f"--{name}", str(value))]
    arrays = folder / f"{' '.join(map(str, sizes.values()))}.npz"
    what = in_process(own, ["describe", *flags, "--arrays", str(arrays)], 1)
    spec = {**what, "arrays": str(arrays), "threads": threads}
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in (OURS, *ways)}
    ceilings = []
    for _ in range(repetitions):
        if "gflop" in what:
            ceilings.append(in_process(own, ["ceiling", "--threads", str(threads)], threads)["gflops"])
        for name, measured in runs.items():
            if name == OURS:
                measured.append(in_process(own, ["train", *flags, "--threads", str(threads)], threads))
            else:
                measured.append(in_process(peer, [json.dumps({**spec, **ways[name]})], threads))
            speed = what[unit] / measured[-1]["seconds"]
            print(f"  {arrays.stem}, {name:16} {speed:8.0f} {unit.replace('_', ' ')}/s", flush=True)
            check_size(name, measured[-1], what)
    speeds = {name: what[unit] / median(run["seconds"] for run in measured) for name, measured in runs.items()}
    fastest = max(ways, key=lambda name: speeds[name])
    each = ratios(runs[fastest], runs[OURS])
    result = {
        "what": what,
        f"{unit}_per_second": {name: round(speed, 1) for name, speed in speeds.items()},
        "fastest_peer": fastest,
        "ours_is": round(median(each), 3),
        "ours_is_each": [round(ratio, 4) for ratio in each],
        "runs": runs,
    }
    if ceilings:
        result["gflops"] = round(what["gflop"] * speeds[OURS] / what[unit], 2)
        result["fully_connected_gflops"] = round(max(ceilings), 1)
    return result


def check_size(name: str, measured: Mapping[str, Any], what: Mapping[str, Any]) -> None:
    """Check that a measured network has as many parameters as ours.

    Raises:
        SystemExit: the numbers differ.
    """
    if (theirs := measured.get("parameters")) != (ours := what.get("parameters")):
        sys.exit(f"{name}: {theirs} parameters, ours has {ours}: another network; nothing is written")


def duels(
    script: str,
    summary: str,
    modules: tuple[str, str],
    networks: Sequence[tuple[str, int]],
    unit: str,
    target: float | Mapping[str, float],
    *,
    threads: int,
    steps: int,
    family: str = "",
    ways: Mapping[str, Mapping[str, Any]] = EAGER,
    work: str = "training",
) -> None:
    """A complete script that runs networks on both sides: its options, the duels, the table and the record.

    Args:
        script: module of this folder, which names the record.
        summary: of the script, for ``--help``.
        modules: ours and the peer's, as :func:`duel` takes them.
        networks: model and units of each.
        unit: what is counted.
        target: how many times as fast as the peer we want to be; by model, if not for all the same.
        threads, steps: defaults of the options.
        family: common name of the models, if they have one.
        ways: of :func:`duel`.
        work: what is done with the networks.
    """
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--threads", type=int, default=threads)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--steps", type=int, default=steps, help="timed updates, after as many that are not")
    parser.add_argument("--output", type=Path, default=RESULTS / f"{script}.json")
    options = parser.parse_args()

    when_and_where = circumstances()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for model, units in networks:
            sizes = {"model": model, "units": units, "steps": options.steps}
            results[model, units] = duel(
                *modules, sizes, unit, options.threads, options.repetitions, Path(folder), ways
            )
    peer = "PyTorch eager" if len(ways) == 1 else "the better of PyTorch eager and compiled"
    lines = []
    for (model, units), each in results.items():
        speed = f"{each[f'{unit}_per_second'][OURS]:.0f} {unit.replace('_', ' ')}/s"
        if "gflops" in each:
            speed += f", {each['gflops']:.0f} of {each['fully_connected_gflops']:.0f} GFLOP/s"
        on = f"{options.threads} thread{'s' * (options.threads > 1)}"
        name = f"{family}, {model}" if family else model
        words = f"{work} {name} with {units} units, {on}: {speed}; against {peer}"
        lines.append(line(words, each["ours_is"], target if isinstance(target, float) else target[model]))
    flags = f"--threads {options.threads} --repetitions {options.repetitions} --steps {options.steps}"
    record = {
        "command": f"python -m benchmarks.{script} {flags}",
        **when_and_where,
        "networks": {f"{model} {units}": each for (model, units), each in results.items()},
    }
    write(options.output, record, lines, [each["what"].get("corpus", "made up") for each in results.values()])


def line(measure: str, ratio: float, target: float) -> dict[str, Any]:
    """A line of the README's table of speeds."""
    return {"measure": measure, "measured": f"{ratio:.2f}x", "target": f">= {target}x", "met": ratio >= target}


def circumstances(packages: Sequence[str] = _PACKAGES) -> dict[str, Any]:
    """Time, machine and versions of what is installed of these packages, taken before anything is measured; prints a
    warning if the machine is not idle."""
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"the machine is busy (load {load:.1f}): times will be too long; measure on an idle machine")
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "hardware": hardware(),
        "vectors": vectors(),
        "load_average_at_start": load,
        "versions": {name: metadata.version(name) for name in packages if any(metadata.distributions(name=name))},
        "python": sys.version.split()[0],
    }


def vectors() -> str:
    """The widest vector instructions of the processor; empty if they are not known."""
    flags = CPUINFO.read_text(encoding="utf-8", errors="replace").split() if CPUINFO.exists() else []
    return next((name for flag, name in _VECTORS.items() if flag in flags), "")


def write(path: Path, record: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], corpora: Sequence[str]) -> None:
    """Print the lines and write them as the record's ``table``, with a warning where the embedded sample was used."""
    for one in lines:
        print(f"{one['measure']}: {one['measured']} ({one['target']}: {'met' if one['met'] else 'MISSED'})")
    if "sample" in corpora:
        print("*** THE EMBEDDED SAMPLE: THESE ARE NOT THE NUMBERS OF THE CORPUS ***")
    write_json(path, {**record, "table": list(lines)})
    print(f"written to {path}")
