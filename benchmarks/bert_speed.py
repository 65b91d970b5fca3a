"""How fast do pretraining and fine-tuning of BERT train, compared with the same in PyTorch, eager and compiled?

    python -m benchmarks.bert_speed [--threads 1] [--repetitions 3] [--steps 40]

The network of ``devlin2018`` (4 layers of 256 units, 4 heads, hidden layers of 1024). *Pretraining* is the variant
``pretraining``: batches of up to 1024 pieces, padding included, in which masked pieces are predicted and whether two
reviews are of one film. *Fine-tuning* is the variant ``bert``: batches of 64 reviews of NSMC in two classes; it starts
from random weights, which have the same speed. Both sides train on the script's own batches, of similar length, drawn
once. Forward, backward, clipping and update are timed. A token is a piece or one of the special ``<cls>`` and
``<sep>``; padding does not count.

PyTorch computes attention with its fused ``scaled_dot_product_attention``; compiled, it has one graph for all lengths.
What follows attention in the last layer is computed only for the tokens that are read, on both sides. The rows are
measured in turn, each in its own process; ratios are paired within a repetition.

Prints a table and writes ``benchmarks/results/bert_speed.json``. Without NSMC and its crawl it repeats the embedded
sample.
"""

from __future__ import annotations

from benchmarks import contest

TARGET = 1.4
NETWORKS = (("pretraining", 256), ("fine-tuning", 256))
WAYS = {"PyTorch eager": {"compile": False}, "PyTorch compiled": {"compile": True}}


def main() -> None:
    summary, modules = (__doc__ or "").splitlines()[0], ("ours.bert", "peers.torch_bert_training")
    contest.duels(
        "bert_speed", summary, modules, NETWORKS, "tokens", TARGET, threads=1, steps=40, family="BERT", ways=WAYS
    )


if __name__ == "__main__":
    main()
