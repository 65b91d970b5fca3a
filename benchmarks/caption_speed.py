"""How fast does soft attention over an image train, compared with the same network in eager PyTorch?

    python -m benchmarks.caption_speed [--threads 1] [--repetitions 3] [--steps 20]

Network: that of ``reproductions/xu2015.py`` with less dropout (0.3, of features 0.4; 384 units, 2 541 words; 64
captions of similar length, 49 positions of 1 280 features). Both sides train on the same random features and words.
Forward, backward, clipping and update are timed. The rows are measured in turn, each in its own process, since MXNet
and PyTorch bring different OpenMP runtimes; ratios are paired within a repetition. The networks have the same
parameters.

Prints a table and writes ``benchmarks/results/caption_speed.json``.
"""

from __future__ import annotations

from benchmarks import contest

TARGET = 1.0
NETWORKS = (("soft attention over an image", 384),)


def main() -> None:
    summary, modules = (__doc__ or "").splitlines()[0], ("ours.captions", "peers.torch_captions")
    contest.duels("caption_speed", summary, modules, NETWORKS, "words", TARGET, threads=1, steps=20)


if __name__ == "__main__":
    main()
