"""How fast do the networks that steer train, compared with the same in PyTorch, eager and compiled?

    python -m benchmarks.driving_speed [--threads 1] [--repetitions 3] [--steps 20]

Networks: those of ``reproductions/kim2017.py``, five convolutions over frames of 160 x 80 and an LSTM of 64 units with
attention (two sequences of 20 frames), without it, and single frames (32). Both sides train on the same random frames.
Forward, backward, clipping and update are timed. The rows are measured in turn, each in its own process, since MXNet
and PyTorch bring different OpenMP runtimes; ratios are paired within a repetition. The networks have the same
parameters.

Prints a table and writes ``benchmarks/results/driving_speed.json``.
"""

from __future__ import annotations

from benchmarks import contest

TARGET = 1.0
NETWORKS = (("attention", 64), ("lstm", 64), ("convolutions", 64))
WAYS = {"PyTorch eager": {"compile": False}, "PyTorch compiled": {"compile": True}}


def main() -> None:
    summary, modules = (__doc__ or "").splitlines()[0], ("ours.driving", "peers.torch_driving")
    contest.duels(
        "driving_speed", summary, modules, NETWORKS, "frames", TARGET, threads=1, steps=20, family="driving", ways=WAYS
    )


if __name__ == "__main__":
    main()
