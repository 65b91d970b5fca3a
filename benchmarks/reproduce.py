"""Time and memory of ``gluon-attn reproduce``: the whole command, in a new folder of runs and with an empty cache.

Memory is the proportional set size of the command and all its children, summed ten times a second: pages that processes
share are counted once.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.contest import RESULTS, circumstances
from preprocessing import corpora
from preprocessing.errors import InputError
from preprocessing.files import write_json

RESULT = RESULTS / "reproduce.json"
MINUTES, GIB = 12, 2


def descendants(root: int) -> list[int]:
    """The process and all below it."""
    processes = [root]
    for process in processes:
        with suppress(OSError):  # it, or one of its threads, has ended
            for task in Path(f"/proc/{process}/task").iterdir():
                processes += map(int, (task / "children").read_text().split())
    return processes


def proportional_kib(process: int) -> int:
    """Proportional set size of one process in KiB; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def main() -> None:
    """Run the command once and write ``results/reproduce.json``; refused if NSMC is missing."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    try:
        corpora.find("nsmc")  # the embedded sample says nothing about time and memory
    except InputError as error:
        sys.exit(str(error))
    when_and_where = circumstances()
    with tempfile.TemporaryDirectory() as runs, tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "reproductions", "reproduce", "naver_self_attention", "--runs", runs]
        started, peak = time.perf_counter(), 0
        process = subprocess.Popen(command, env={**os.environ, "GLUON_ATTN_CACHE": cache})
        while process.poll() is None:
            peak = max(peak, sum(proportional_kib(one) for one in descendants(process.pid)))
            time.sleep(0.1)
        seconds = time.perf_counter() - started
        if process.returncode:
            sys.exit(process.returncode)
        corpus = json.loads(next(Path(runs).rglob("results.json")).read_text(encoding="utf-8"))["rows"][0]["corpus"]
    result: dict[str, Any] = {
        "command": "gluon-attn reproduce naver_self_attention",
        "corpus": corpus,
        "minutes": round(seconds / 60, 2),
        "peak_gib": round(peak / 2**20, 3),
        **when_and_where,
    }
    result["table"] = [
        {
            "measure": f"`gluon-attn reproduce` on {corpus}, empty cache, {name}",
            "measured": f"{result[key]} {unit}",
            **bound,
        }
        for name, key, unit, bound in (
            ("minutes", "minutes", "min", {"target": f"<= {MINUTES} min", "met": result["minutes"] <= MINUTES}),
            ("peak memory", "peak_gib", "GiB", {"target": f"< {GIB} GiB", "met": result["peak_gib"] < GIB}),
        )
    ]
    write_json(RESULT, result)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
