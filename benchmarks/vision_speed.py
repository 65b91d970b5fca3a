"""How fast do the networks of images train, compared with the same in PyTorch, eager and compiled?

    python -m benchmarks.vision_speed [--threads 1] [--repetitions 3] [--steps 40]

Networks of ``dosovitskiy2020``: the ViT ``patches`` (6 layers of 128 units on 64 patches and a class token) and
``resnet-20``. Both sides train on the same batches of 128 images of CIFAR-10, augmented once. Forward, backward and
update are timed. PyTorch computes attention with its fused ``scaled_dot_product_attention`` and has the images in its
"channels last" layout. The rows are measured in turn, each in its own process; ratios are paired within a repetition.

Prints a table and writes ``benchmarks/results/vision_speed.json``. Without CIFAR-10 it repeats the embedded sample.
"""

from __future__ import annotations

from benchmarks import contest

NETWORKS = (("patches", 128), ("resnet-20", 16))
TARGET = {"patches": 1.4, "resnet-20": 1.0}
WAYS = {"PyTorch eager": {"compile": False}, "PyTorch compiled": {"compile": True}}


def main() -> None:
    summary, modules = (__doc__ or "").splitlines()[0], ("ours.vision", "peers.torch_vision")
    contest.duels("vision_speed", summary, modules, NETWORKS, "images", TARGET, threads=1, steps=40, ways=WAYS)


if __name__ == "__main__":
    main()
