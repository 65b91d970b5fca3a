"""How fast do the encoder-decoders with attention train, compared with the same networks in eager PyTorch?

    python -m benchmarks.translation_speed [--threads 2] [--repetitions 3] [--steps 40]

Networks: RNNsearch with 256 and with 512 units, and Luong's general attention with input feeding on two LSTM layers
of 512. Both sides train on the same batches of Multi30k, English to German: the script's own batches of similar length,
drawn once. Forward, backward, clipping and update are timed. The rows are measured in turn, each in its own
process, since MXNet and PyTorch bring different OpenMP runtimes; ratios are paired within a repetition.

The networks are the same: of the two biases that PyTorch's LSTM cell has for each gate, one stays at zero, since our
decoder has one.

Prints a table and writes ``benchmarks/results/translation_speed.json``. Without Multi30k it repeats the embedded
sample.
"""

from __future__ import annotations

from benchmarks import contest

TARGET = 1.0
NETWORKS = (("rnnsearch", 256), ("rnnsearch", 512), ("deep lstm", 512))


def main() -> None:
    summary, modules = (__doc__ or "").splitlines()[0], ("ours.translators", "peers.torch_translators")
    contest.duels("translation_speed", summary, modules, NETWORKS, "target_tokens", TARGET, threads=2, steps=40)


if __name__ == "__main__":
    main()
