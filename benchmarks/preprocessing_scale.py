"""How fast, and in how much memory, are millions of pairs turned into ids?

    python -m benchmarks.preprocessing_scale --pairs 4500000 [--processes 2] [--folder DIR] [--operations 32000]

Generates a corpus in the layout of ``--folder``, English and German, and runs ``gluon-attn preprocess translation`` on
it with byte pairs, in bounded memory, without the cache of an earlier run. Prints seconds, pairs per second, processor
seconds and the highest resident memory of each process, and writes ``benchmarks/results/preprocessing_scale.json``.
Generating is not timed. Needs Multi30k, and 3 kB of disk for each pair.

The generated text has the statistics that cost time and memory in WMT'14, not its meaning:

- Sentences have a log-normal number of words, mean 25, deviation 15, at most 100; the German side a tenth fewer.
- Ranks of words follow a Zipf-Mandelbrot law, p(r) ~ 1 / (r + 2.7), to rank 20 000, and beyond it a power law without
  an end, so that the vocabulary grows by Heaps' law: at 4.5 million pairs about a million words of English and two of
  German. Words beyond rank 20 000 are 5.3 % of English text, p(r) ~ r^-1.73, and 10.1 % of German, p(r) ~ r^-1.57: so
  that the most frequent 15 000, 30 000, 50 000 and 500 000 words cover as much of the German as they do in WMT'14
  (88.5, 91.8, 93.7, 98.4 %: Jean et al., 2015, Table 1 †), and of the English as much as of the French there (93.5,
  96.0, 97.3, 99.5 % †). † from memory.
- The first ranks are the words of Multi30k by frequency; every other one is joined from the beginning of one of them
  and the end of another (German: three parts), so that byte pairs are found as in real words.
- Every sentence begins with a capital and ends in a full stop, question mark or exclamation mark; of words, six in a
  hundred are followed by a comma, two are numbers, one is in quotation marks, one in brackets, one has an apostrophe.
- Two pairs in a hundred are copies of one of a thousand short ones.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contest import RESULTS, ROOT, circumstances, write

RESULT = RESULTS / "preprocessing_scale.json"
TARGETS = {"pairs_per_second": 8_000, "peak_mebibytes": 2_048}
HEAD, BLOCK, HELD_OUT = 20_000, 20_000, 3_000
TAIL = {"en": (0.053, 1.73), "de": (0.101, 1.57)}
"""Share of the words beyond rank ``HEAD``, and the exponent of their frequencies."""


def generate(folder: Path, pairs: int) -> None:
    """Write train, validation and test; the same files for the same number of pairs."""
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(generate_side, [(folder, language, pairs) for language in ("en", "de")]))


def generate_side(task: tuple[Path, str, int]) -> None:
    """All files of one language. Lengths and copies are drawn from a generator that both languages share."""
    folder, language, pairs = task
    words = _Words(language)
    for split, rows in (("train", pairs), ("validation", HELD_OUT), ("test", HELD_OUT)):
        shared = np.random.default_rng([7, len(split)])
        own = np.random.default_rng([8, len(split), len(language) + ord(language[0])])
        short = _sentences(words, np.full(1000, 3), own)
        with (folder / f"{split}.{language}").open("w", encoding="utf-8", newline="\n") as stream:
            for start in range(0, rows, BLOCK):
                size = min(BLOCK, rows - start)
                lengths = np.clip(shared.lognormal(3.06, 0.555, size), 1, 100)
                copied, which = shared.random(size) < 0.02, shared.integers(1000, size=size)
                lengths = np.maximum(1, lengths * (0.9 if language == "de" else 1.0)).astype(np.int64)
                lines = _sentences(words, lengths, own)
                for row in np.flatnonzero(copied):
                    lines[row] = short[which[row]]
                stream.write("".join(f"{line}\n" for line in lines))


class _Words:
    """Words by their rank."""

    def __init__(self, language: str) -> None:
        from preprocessing.corpora import find
        from preprocessing.corpora.reading import read_lines

        text = read_lines(find("multi30k en-de").path(f"train.{language}"))
        counts = Counter(word for line in text for word in line.split() if word.isalpha())
        self.real = sorted(counts, key=lambda word: (-counts[word], word))
        self.parts = 3 if language == "de" else 2
        head = 1.0 / (np.arange(1, HEAD + 1) + 2.7)
        self.rare, self.exponent = TAIL[language]
        self.cumulated = np.cumsum(head) / head.sum()
        self.table = np.array([self.word(rank) for rank in range(1 << 18)], object)

    def word(self, rank: int) -> str:
        """The word of a rank, from 0."""
        if rank < len(self.real):
            return self.real[rank]
        pieces = []
        mixed = rank
        for part in range(self.parts):
            mixed = (mixed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            chosen = self.real[(mixed >> 33) % len(self.real)].lower()
            half = (len(chosen) + 1) // 2 + 1
            pieces.append(chosen[-half:] if part == self.parts - 1 else chosen[:half])
        return "".join(pieces)

    def draw(self, number: int, generator: np.random.Generator) -> list[str]:
        """Words at random."""
        ranks = np.searchsorted(self.cumulated, generator.random(number)).astype(np.float64)
        tail = generator.random(number) < self.rare
        ranks[tail] = HEAD * generator.random(int(tail.sum())) ** (-1.0 / (self.exponent - 1))
        numbers = np.minimum(ranks, 2**40).astype(np.int64)
        known = numbers < len(self.table)
        words = np.empty(number, object)
        words[known] = self.table[numbers[known]]
        words[~known] = [self.word(rank) for rank in numbers[~known].tolist()]
        drawn: list[str] = words.tolist()
        return drawn


def _sentences(words: _Words, lengths: np.ndarray, generator: np.random.Generator) -> list[str]:
    """Sentences with these numbers of words, with punctuation."""
    drawn = words.draw(int(lengths.sum()), generator)
    kinds = generator.integers(100, size=len(drawn))
    for index in np.flatnonzero(kinds < 11).tolist():
        kind, word = int(kinds[index]), drawn[index]
        if kind < 6:
            drawn[index] = f"{word},"
        elif kind < 8:
            drawn[index] = f"{len(word) * 977 % 9000:,}" if kind == 6 else str(1900 + len(word) * 7)
        else:
            drawn[index] = (f'"{word}"', f"({word})", f"{word}'s")[kind - 8]
    ends = np.cumsum(lengths).tolist()
    marks = ["." if mark < 9 else "?!"[mark - 9] for mark in generator.integers(11, size=len(ends)).tolist()]
    lines, start = [], 0
    for end, mark in zip(ends, marks, strict=True):
        line = " ".join(drawn[start:end])
        lines.append(f"{line[:1].upper()}{line[1:].rstrip(',')}{mark}")
        start = end
    return lines


class Peaks(threading.Thread):
    """Watches a process and its descendants: the highest resident memory of each, in mebibytes."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root, self.mebibytes = root, dict[int, float]()

    def run(self) -> None:
        while Path(f"/proc/{self.root}").exists():
            family, parents = {self.root}, {}
            for status in Path("/proc").glob("[0-9]*/status"):
                try:
                    lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
                except OSError:
                    continue
                parents[int(lines["Pid"])] = (int(lines["PPid"]), lines.get("VmHWM", "0 kB"))
            while more := {pid for pid, (parent, _) in parents.items() if parent in family} - family:
                family |= more
            for pid in family & set(parents):
                peak = int(parents[pid][1].split()[0]) / 1024  # not stated any more of a process that has ended
                self.mebibytes[pid] = max(peak, self.mebibytes.get(pid, 0.0))
            time.sleep(0.25)


def measure(folder: Path, out: Path, cache: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run the command on the generated files."""
    command = [sys.executable, "-m", "reproductions", "preprocess", "translation", "--folder", str(folder)]
    command += ["--source", "en", "--target", "de", "--tokens", "bpe", "--operations", str(options.operations)]
    command += ["--bounded", "--processes", str(options.processes), "--out", str(out)]
    before, start = os.times(), time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "GLUON_ATTN_CACHE": str(cache)}) as process:
        peaks = Peaks(process.pid)
        peaks.start()
        if process.wait():
            raise SystemExit(f"ended with status {process.returncode}")
    seconds, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))
    words = [card["facts"]["vocabulary"][side]["types_in_train"] for side in ("source", "target")]
    return {
        "pairs": options.pairs,
        "seconds": round(seconds, 1),
        "pairs_per_second": round(options.pairs / seconds),
        "cpu_seconds": round(cpu, 1),
        "pairs_per_cpu_second": round(options.pairs / cpu),
        "peak_mebibytes": round(max(peaks.mebibytes.values())),
        "peak_mebibytes_by_process": sorted((round(peak) for peak in peaks.mebibytes.values()), reverse=True),
        "distinct_words": card["facts"]["bpe"]["types_in_train"],
        "distinct_pieces": words,
        "tokens": card["splits"]["train"],
        "digest": card["digest"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=300_000)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--operations", type=int, default=32_000)
    parser.add_argument(
        "--folder", type=Path, help="where everything is written and kept (default: a temporary folder)"
    )
    options = parser.parse_args()
    started = circumstances()
    with tempfile.TemporaryDirectory() as temporary:
        base = options.folder or Path(temporary)
        corpus = base / f"corpus-{options.pairs}"
        if not corpus.exists():
            part = base / f".corpus-{options.pairs}"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            start = time.perf_counter()
            generate(part, options.pairs)
            part.rename(corpus)
            size = sum(file.stat().st_size for file in corpus.iterdir())
            print(f"generated in {time.perf_counter() - start:.0f} s, {size:,} bytes")
        own = Path(tempfile.mkdtemp(prefix="measured-", dir=base))
        record = measure(corpus, own / "out", own / "cache", options)
    print(json.dumps(record, indent=2))
    command = f"python -m benchmarks.preprocessing_scale --pairs {options.pairs} --processes {options.processes}"
    command += f" --operations {options.operations}"
    write(RESULT, {"command": command, **started, "targets": TARGETS, **record}, lines_of(record), [])


def lines_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of the README's table of speeds."""
    speed, peak = record["pairs_per_second"], record["peak_mebibytes"]
    what = f"{record['pairs']:,} generated pairs to ids in byte pairs"
    return [
        {
            "measure": what,
            "measured": f"{speed:,} pairs/s",
            "target": f">= {TARGETS['pairs_per_second']:,} pairs/s",
            "met": speed >= TARGETS["pairs_per_second"],
        },
        {
            "measure": f"{what}: memory of the largest process",
            "measured": f"{peak:,} MiB",
            "target": f"< {TARGETS['peak_mebibytes']:,} MiB",
            "met": peak < TARGETS["peak_mebibytes"],
        },
    ]


if __name__ == "__main__":
    main()
