"""How fast are the features of images computed, compared with eager PyTorch and the preprocessing of torchvision?

    python -m benchmarks.features_speed [--threads 1] [--repetitions 3] [--steps 5]

Network: EfficientNet-Lite0 with the same weights on both sides, 20 images a batch. Images are JPEG files in memory of
500 x 375 pixels, as photographs of Flickr8k are. Decoding, resizing to 224 x 224 by bicubic interpolation,
normalization and the network are timed; the peer's preprocessing does what torchvision's ``Resize``, ``ToTensor`` and
``Normalize`` do, on Pillow. The rows are measured in turn, each in its own process; ratios are paired within a
repetition.

Prints a table and writes ``benchmarks/results/features_speed.json``.
"""

from __future__ import annotations

from benchmarks import contest

TARGET = 1.0
NETWORKS = (("features of EfficientNet-Lite0", 1280),)


def main() -> None:
    summary, modules = (__doc__ or "").splitlines()[0], ("ours.features", "peers.torch_features")
    contest.duels("features_speed", summary, modules, NETWORKS, "images", TARGET, threads=1, steps=5, work="extracting")


if __name__ == "__main__":
    main()
