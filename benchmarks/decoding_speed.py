"""How fast does RNNsearch translate with beam search, compared with one sentence at a time and with eager PyTorch?

    python -m benchmarks.decoding_speed [--threads 2] [--repetitions 3] [--sentences 1000] [--checkpoint RUN_DIRECTORY]

The sentences are the test split of Multi30k (2016), English to German in byte pairs; the network and the search are
those of ``bahdanau2014``, ``rnnsearch`` of preset ``cpu``: 256 units, beam 5. From ids to ids:

- ``batched``: in batches of similar length, as ``reproductions.tasks.translation.decoding.translate`` does;
- ``one by one``: the same search with batches of one;
- ``gluonnlp``: one by one with GluonNLP's ``BeamSearchSampler`` on the steps of our network, for reference, once;
- ``PyTorch eager``: the same network with its own batched beam search, ``peers/torch_decoders.py``, in batches of the
  size at which it is fastest.

All have the same parameters, those of a finished run or of a short training, after which translations have realistic
lengths. So all must find the same translations, except for a few ties up to rounding: below 99 % agreement nothing is
written, nor if the translations are half or one and a half times as long as the references.

Each is measured in its own process, in turn; ratios are paired within a repetition. All sentences are translated twice
and the second time counts, when MXNet's graphs are built; the first is in the record.

Prints a table and writes ``benchmarks/results/decoding_speed.json``. Without Multi30k it uses the embedded sample.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks import contest
from benchmarks.contest import in_process

RESULT = contest.RESULTS / "decoding_speed.json"
OURS = "batched"
TARGETS = {"one by one": 1.5, "PyTorch eager": 1.0}
WAYS = (OURS, "one by one", "gluonnlp", "PyTorch eager")
AGREEMENT = 0.99
PEER_BATCH = 64
"""Sentences of a batch of PyTorch: of 64, 128 and 200 the number at which it is fastest."""


def run(way: str, spec: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """Translate all sentences once in one way."""
    module = "peers.torch_decoders" if way == "PyTorch eager" else "ours.decoders"
    if way == "PyTorch eager":
        spec = {**spec, "batch": PEER_BATCH}
    return in_process(module, [json.dumps({**spec, "way": way})], threads)


def agreement(way: str, ours: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]]) -> float:
    """The share of sentences with the same translation.

    Raises:
        SystemExit: it is below 99 %: the two did different work.
    """
    share = mean(float(own == other) for own, other in zip(ours, theirs, strict=True))
    if share < AGREEMENT:
        sys.exit(f"{way}: {share:.2%} of the translations are ours, less than {AGREEMENT:.0%}: it does different work")
    return share


def checked_length(translations: Sequence[Sequence[int]], reference_tokens: int) -> int:
    """The tokens of all translations.

    Raises:
        SystemExit: they are much shorter or longer than the references.
    """
    tokens = sum(map(len, translations))
    if not 0.5 < tokens / reference_tokens < 1.5:
        sys.exit(f"translations of {tokens} tokens for {reference_tokens} of the references: train with more --updates")
    return tokens


def measure(what: Mapping[str, Any], arrays: Path, threads: int, repetitions: int) -> dict[str, Any]:
    """Measure all ways in turn.

    Raises:
        SystemExit: a peer's network has another number of parameters or other translations than ours, or their length
            is not realistic.
    """
    spec = {**what, "arrays": str(arrays), "threads": threads}
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    same: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(repetitions):
        for way in WAYS:
            if way == "gluonnlp" and number:
                continue
            measured = run(way, spec, threads)
            ids = measured.pop("ids")
            if way == OURS:
                ours = ids
            contest.check_size(way, measured, what)
            same[way].append(agreement(way, ours, ids))
            runs[way].append({**measured, "target_tokens": checked_length(ids, what["reference_tokens"])})
            speed = what["sentences"] / measured["seconds"]
            print(f"  {way:14} {speed:8.1f} sentences/s, {same[way][-1]:.2%} as batched", flush=True)
    return {way: summary(runs[way], runs[OURS], same[way], what["sentences"]) for way in WAYS}


def summary(
    runs: Sequence[Mapping[str, Any]], ours: Sequence[Mapping[str, Any]], same: Sequence[float], sentences: int
) -> dict[str, Any]:
    """The summary of one way; ``ours_is``: how many times as fast batched search is, in each repetition and at the
    median."""
    ratios = contest.ratios(runs, ours[: len(runs)])
    return {
        "sentences_per_second": round(sentences / median(each["seconds"] for each in runs), 1),
        "ours_is": round(median(ratios), 3),
        "ours_is_each": [round(ratio, 4) for ratio in ratios],
        "same_translations": min(same) if same else None,
        "runs": list(runs),
    }


def table(what: Mapping[str, Any], ways: Mapping[str, Any], threads: int) -> list[dict[str, Any]]:
    """The lines of the README's table of speeds."""
    speed = ways[OURS]["sentences_per_second"]
    words = (
        f"translating {what['corpus']} with RNNsearch, {what['settings']['units']} units, "
        f"beam {what['search']['beam']}, {threads} thread{'s' * (threads > 1)}: {speed:.0f} sentences/s; against "
    )
    names = {"one by one": "the same search one by one", "PyTorch eager": "PyTorch eager, batched"}
    return [contest.line(words + names[way], ways[way]["ours_is"], target) for way, target in TARGETS.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=1000, help="the first of the test split")
    parser.add_argument("--checkpoint", type=Path, help="run directory of a finished training of RNNsearch")
    parser.add_argument("--updates", type=int, default=500, help="of a training for this purpose, without --checkpoint")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()

    circumstances = contest.circumstances()
    with tempfile.TemporaryDirectory() as folder:
        arrays = Path(folder) / "test.npz"
        wanted = {name: getattr(options, name) for name in ("threads", "sentences", "updates")}
        checkpoint = str(options.checkpoint.resolve()) if options.checkpoint else None
        described = {**wanted, "way": "describe", "arrays": str(arrays), "checkpoint": checkpoint}
        what = in_process("ours.decoders", [json.dumps(described)], options.threads)
        print(f"{what['sentences']} sentences of {what['corpus']}, parameters {what['weights']}", flush=True)
        ways = measure(what, arrays, options.threads, options.repetitions)
    sizes = f"--threads {options.threads} --repetitions {options.repetitions} --sentences {options.sentences}"
    weights = "--checkpoint <run directory>" if options.checkpoint else f"--updates {options.updates}"
    record = {
        "command": f"python -m benchmarks.decoding_speed {sizes} {weights}",
        **circumstances,
        "what": what,
        "ways": ways,
    }
    contest.write(options.output, record, table(what, ways, options.threads), [what["corpus"]])


if __name__ == "__main__":
    main()
