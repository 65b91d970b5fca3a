"""Worker processes end with their parent, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

# Two chunks, each text of which takes long: the workers are in the middle of one when their parent ends.
TOKENIZING = """
import multiprocessing, sys, time
from preprocessing.text import parallel
from preprocessing.text.tokenizers.plain import Whitespace

class Slow(Whitespace):
    def tokenize(self, text):
        time.sleep(0.05)
        return [text]

multiprocessing.get_context(parallel.start_method())
print("started", flush=True)
parallel.tokenize_all(Slow(), ["text"] * (2 * parallel.CHUNK), processes=2)
"""
MAPPING = """
import multiprocessing, time
from preprocessing.bitext.bounded.pool import workers
from preprocessing.text import parallel

multiprocessing.get_context(parallel.start_method())
print("started", flush=True)
with workers(2) as pool:
    list(pool.map(time.sleep, [100.0, 100.0]))
"""


def children(parent: int) -> list[int]:
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as stream:
        return [int(word) for word in stream.read().split()]


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat", encoding="ascii") as stream:
        return stream.read().split()[2] != "Z"


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="reads /proc")
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("program", [TOKENIZING, MAPPING], ids=["tokenizing", "mapping"])
def test_workers_end_with_their_parent(program: str, ending: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout and parent.stdout.readline() == "started\n"
        deadline = time.monotonic() + 60
        while len(workers := children(parent.pid)) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.2)
        parent.send_signal(ending)
        parent.wait(60)
        while any(map(lives, workers)):
            assert time.monotonic() < deadline, f"{workers} live on"
            time.sleep(0.05)
