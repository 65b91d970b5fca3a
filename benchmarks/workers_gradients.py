"""What do compressed gradients and workers that do not wait change, in what a network learns and in bytes sent?

    python -m benchmarks.workers_gradients [--updates 150]

RNNsearch with 32 units learns to reverse texts of 6 words out of 16, of which each is new, by Adam with a rate of 0.01:
300 updates of 64 rows on one worker or two, and its loss is the mean over the second half. An asynchronous
update is of one share: two workers make twice as many, of 32 rows each. Three trainings of these, since no two are the
same; all others have the same bits each time. Nothing is timed: on two cores there is no network to spare.

Prints a table, which is in ``docs/workers.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.workers_speed import measured

ROWS = 64
SIZES = ("bahdanau2014", "rnnsearch", "--units", 32, "--vocabulary", 20, "--length", 6, "--learning-rate", 0.01)
THRESHOLDS = (0.0001, 0.001, 0.01)
WAYS: dict[str, tuple[int, tuple[object, ...]]] = {
    "one worker": (1, ()),
    "two": (2, ()),
    **{f"two, --compression {threshold}": (2, ("--compression", threshold)) for threshold in THRESHOLDS},
    **{f"two, --asynchronous ({number})": (2, ("--asynchronous",)) for number in (1, 2, 3)},
}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--updates", type=int, default=150, help="Half of them.")
    options = parser.parse_args(words)
    print(f"{'':28}    loss   kB sent by each worker in an update")
    for name, (workers, how) in WAYS.items():
        report = measured(workers, (*SIZES, "--rows", ROWS // workers, "--updates", options.updates, *how))
        print(f"{name:28} {report['loss']:7.4f} {report['bytes_sent_per_update'] / 1e3:8.1f}", flush=True)


if __name__ == "__main__":
    main()
