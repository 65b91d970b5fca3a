"""How fast do long short-term memory-networks train, compared with the same networks in eager PyTorch?

    python -m benchmarks.lstmn_speed [--threads 1] [--repetitions 3] [--steps 20]

Networks: those of ``reproductions/cheng2016.py``, but with embeddings as wide as the state: the language model (300
units, 10 000 words; 20 rows of 35 steps, a tape of 3 states) and the sentence classifier (168 units; 32 sentences of
similar length, a tape of 56 states, as long as any of them). Both sides train on the same random words. Forward,
backward, clipping and update are timed. The rows are measured in turn, each in its own process, since MXNet and PyTorch
bring different OpenMP runtimes; ratios are paired within a repetition. The networks have the same parameters.

Prints a table and writes ``benchmarks/results/lstmn_speed.json``.
"""

from __future__ import annotations

from benchmarks import contest

TARGET = 1.0
NETWORKS = (("language model", 300), ("classifier", 168))


def main() -> None:
    summary, modules = (__doc__ or "").splitlines()[0], ("ours.lstmn", "peers.torch_lstmn")
    contest.duels("lstmn_speed", summary, modules, NETWORKS, "words", TARGET, threads=1, steps=20, family="LSTMN")


if __name__ == "__main__":
    main()
