"""How fast does the Transformer translate, compared with decoding without a cache, with RNNsearch and with PyTorch?

    python -m benchmarks.transformer_decoding [--threads 1] [--repetitions 3] [--sentences 1000]
        [--transformer RUN_DIRECTORY] [--rnnsearch RUN_DIRECTORY]

The sentences are the test split of Multi30k (2016), English to German in byte pairs; networks and search are those of
``vaswani2017``, ``transformer`` and ``rnnsearch``, which have as many parameters, with a beam of 5. From ids to ids, in
batches of similar length:

- ``batched``: the Transformer, keys and values of the tokens before cached;
- ``full decoding``: the same network and search, all tokens computed again at each step;
- ``PyTorch eager``: the same network with cache and a batched beam search of its own, ``peers/torch_decoders.py``;
- ``rnnsearch``: our RNNsearch, with its own translations.

All but RNNsearch must find the same translations, as in ``decoding_speed``. Each is measured in its own process, in
turn; ratios are paired within a repetition; all sentences are translated twice and the second time counts.

Prints a table and writes ``benchmarks/results/transformer_decoding.json``. Without Multi30k it uses the embedded
sample, without run directories networks after a few updates, whose translations are shorter.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import contest
from benchmarks.contest import in_process
from benchmarks.decoding_speed import OURS, agreement, checked_length, run, summary

RESULT = contest.RESULTS / "transformer_decoding.json"
TARGETS = {"full decoding": 3.0, "rnnsearch": 1.0, "PyTorch eager": 1.0}
WAYS = (OURS, *TARGETS)
VARIANTS = ("transformer", "rnnsearch")


def describe(variant: str, arrays: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The sentences and one of the two networks, as ``ours/decoders.py`` describes them."""
    checkpoint = getattr(options, variant)
    spec = {name: getattr(options, name) for name in ("threads", "sentences", "updates")}
    spec |= {"paper": "vaswani2017", "variant": variant, "way": "describe", "arrays": str(arrays)}
    spec["checkpoint"] = str(checkpoint.resolve()) if checkpoint else None
    what = in_process("ours.decoders", [json.dumps(spec)], options.threads)
    print(f"{what['sentences']} sentences of {what['corpus']}, {variant}, parameters {what['weights']}", flush=True)
    return {**what, "arrays": str(arrays), "threads": options.threads}


def measure(specs: Mapping[str, Mapping[str, Any]], threads: int, repetitions: int) -> dict[str, Any]:
    """Measure all ways in turn.

    Raises:
        SystemExit: translations differ from ours, or their length is not realistic.
    """
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    same: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(repetitions):
        for way in WAYS:
            spec = specs["rnnsearch" if way == "rnnsearch" else "transformer"]
            measured = run(OURS if way == "rnnsearch" else way, spec, threads)
            ids = measured.pop("ids")
            if way == OURS:
                ours = ids
            if way != "rnnsearch":
                same[way].append(agreement(way, ours, ids))
            runs[way].append({**measured, "target_tokens": checked_length(ids, spec["reference_tokens"])})
            print(f"  {way:14} {spec['sentences'] / measured['seconds']:8.1f} sentences/s", flush=True)
    sentences = specs["transformer"]["sentences"]
    return {way: summary(runs[way], runs[OURS], same[way], sentences) for way in WAYS}


def table(specs: Mapping[str, Any], ways: Mapping[str, Any], threads: int) -> list[dict[str, Any]]:
    """The lines of the README's table of speeds."""
    what, speed = specs["transformer"], ways[OURS]["sentences_per_second"]
    words = (
        f"translating {what['corpus']} with the Transformer, {what['settings']['units']} units, "
        f"beam {what['search']['beam']}, {threads} thread{'s' * (threads > 1)}: {speed:.0f} sentences/s; against "
    )
    parameters = f"{specs['rnnsearch']['parameters'] / 1e6:.2f} M parameters against {what['parameters'] / 1e6:.2f} M"
    names = {
        "full decoding": "the same without a cache",
        "rnnsearch": f"RNNsearch ({parameters})",
        "PyTorch eager": "PyTorch eager, batched",
    }
    return [contest.line(words + names[way], ways[way]["ours_is"], target) for way, target in TARGETS.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=1000, help="the first of the test split")
    for variant in VARIANTS:
        parser.add_argument(f"--{variant}", type=Path, help=f"run directory of a finished training of {variant}")
    parser.add_argument("--updates", type=int, default=500, help="of trainings for this purpose, without directories")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()

    circumstances = contest.circumstances()
    with tempfile.TemporaryDirectory() as folder:
        specs = {variant: describe(variant, Path(folder) / f"{variant}.npz", options) for variant in VARIANTS}
        ways = measure(specs, options.threads, options.repetitions)
    sizes = f"--threads {options.threads} --repetitions {options.repetitions} --sentences {options.sentences}"
    weights = "".join(f" --{name} <run directory>" for name in VARIANTS if getattr(options, name))
    if not all(getattr(options, name) for name in VARIANTS):
        weights += f" --updates {options.updates}"
    record = {
        "command": f"python -m benchmarks.transformer_decoding {sizes}{weights}",
        **circumstances,
        "what": {name: {key: value for key, value in spec.items() if key != "arrays"} for name, spec in specs.items()},
        "ways": ways,
    }
    contest.write(options.output, record, table(specs, ways, options.threads), [specs["transformer"]["corpus"]])


if __name__ == "__main__":
    main()
