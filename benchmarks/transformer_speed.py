"""How fast does the Transformer train, compared with the same network in PyTorch, eager and compiled?

    python -m benchmarks.transformer_speed [--threads 1] [--repetitions 3] [--steps 40]

Networks: that of ``vaswani2017``, ``transformer`` (4 + 4 layers of 128 units, 4 heads), and a wider one (3 + 3 layers
of 256 units, hidden layers of 1024). Both sides train on the same batches of Multi30k, English to German: the script's
own, of about 1024 tokens and similar length, drawn once. Forward, backward and update are timed. PyTorch computes
attention with its fused ``scaled_dot_product_attention``; compiled, it has one graph for all lengths. The rows are
measured in turn, each in its own process; ratios are paired within a repetition.

Prints a table and writes ``benchmarks/results/transformer_speed.json``. Without Multi30k it repeats the embedded
sample.
"""

from __future__ import annotations

from benchmarks import contest

TARGET = 1.6
NETWORKS = (("transformer", 128), ("transformer", 256))
WAYS = {"PyTorch eager": {"compile": False}, "PyTorch compiled": {"compile": True}}


def main() -> None:
    summary, modules = (__doc__ or "").splitlines()[0], ("ours.transformers", "peers.torch_transformers")
    contest.duels(
        "transformer_speed", summary, modules, NETWORKS, "target_tokens", TARGET, threads=1, steps=40, ways=WAYS
    )


if __name__ == "__main__":
    main()
