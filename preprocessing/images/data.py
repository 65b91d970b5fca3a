"""The data of an image pipeline: splits of encoded files and of pixels, and how pixels become inputs of a network.

Pixels stay 8-bit integers to the end: they are a quarter of the size of floats, and the same on every machine.
:class:`Normalization`, part of the result, turns a batch of them into floats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from preprocessing.errors import InputError
from preprocessing.pipeline.step import ordered

CHANNELS = 3


@dataclass(frozen=True, eq=False)
class ImageSplit:
    """The images of one split, column by column.

    ``row_id`` (rows,) str; ``label`` (rows,) int64, -1 without a label; ``files`` the encoded images (PNG, JPEG...),
    present only while the steps run; ``pixels`` RGB, uint8: (rows, height, width, 3) when all images are of one size,
    else an object array (rows,) of (height, width, 3); None before decoding.
    """

    row_id: np.ndarray
    label: np.ndarray
    files: tuple[bytes, ...] = ()
    pixels: np.ndarray | None = None

    @classmethod
    def of(cls, files: Sequence[bytes], *, row_id: Sequence[str], label: Sequence[int] | None = None) -> ImageSplit:
        """Encoded images; labels are -1 unless given."""
        labels = np.full(len(files), -1, np.int64) if label is None else np.array(label, np.int64)
        return cls(np.array(row_id, np.str_), labels, tuple(files))

    def __len__(self) -> int:
        return len(self.row_id)

    @property
    def decoded(self) -> np.ndarray:
        """``pixels``; raises InputError when the images are not decoded yet."""
        if self.pixels is None:
            raise InputError("step", "the images are not decoded yet", remedy="put a decode step before it")
        return self.pixels

    @property
    def sizes(self) -> np.ndarray:
        """(rows, 2) int64: height and width of each image."""
        return np.array([image.shape[:2] for image in self.decoded], np.int64).reshape(len(self), 2)


@dataclass(frozen=True, eq=False)
class Normalization:
    """``mean`` and ``std`` (3,) float32 of the channels, for pixels scaled to the range from 0 to 1."""

    mean: np.ndarray
    std: np.ndarray

    def __call__(self, pixels: np.ndarray) -> np.ndarray:
        """Pixels (rows, height, width, 3) uint8 as (rows, 3, height, width) float32: (pixel / 255 - mean) / std."""
        scaled = pixels.astype(np.float32) / np.float32(255)
        normalized: np.ndarray = np.moveaxis((scaled - self.mean) / self.std, -1, 1)
        return normalized


@dataclass(frozen=True, eq=False)
class ImageData:
    """All splits, and the normalization that was learned or given. Steps never change an ImageData: they return a new
    one."""

    splits: Mapping[str, ImageSplit] = field(default_factory=dict)
    normalization: Normalization | None = None

    def counts(self) -> dict[str, dict[str, int | None]]:
        """Images by split."""
        return {"rows": {name: len(split) for name, split in self.splits.items()}}

    def finished(self) -> ImageData:
        """The splits in the order train, validation, test, others, without the encoded files."""
        return replace(self, splits={name: replace(self.splits[name], files=()) for name in ordered(self.splits)})

    def without_rows(self) -> ImageData:
        """The same normalization without images."""
        return replace(self, splits={})

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays: for each split, row_id, label, sizes and all its pixels in one flat array."""
        nothing = np.empty(0, np.float32)
        known = self.normalization or Normalization(nothing, nothing)
        arrays = {"normalization.mean": known.mean, "normalization.std": known.std}
        for name, split in self.splits.items():
            flat = [image.reshape(-1) for image in split.decoded]
            arrays[f"{name}.row_id"], arrays[f"{name}.label"] = split.row_id, split.label
            arrays[f"{name}.sizes"] = split.sizes
            arrays[f"{name}.pixels"] = np.concatenate([np.empty(0, np.uint8), *flat])
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> ImageData:
        """The inverse of :meth:`to_arrays`."""
        splits = {}
        for name in [key.removesuffix(".row_id") for key in arrays if key.endswith(".row_id")]:
            sizes = arrays[f"{name}.sizes"]
            ends = np.cumsum(sizes.prod(axis=1) * CHANNELS)
            flat = np.split(arrays[f"{name}.pixels"], ends[:-1]) if len(sizes) else []
            images = [image.reshape(*size, CHANNELS) for image, size in zip(flat, sizes.tolist(), strict=True)]
            splits[name] = ImageSplit(arrays[f"{name}.row_id"], arrays[f"{name}.label"], pixels=column(images))
        mean, std = arrays["normalization.mean"], arrays["normalization.std"]
        return cls(splits, Normalization(mean, std) if len(mean) else None)


def column(images: Sequence[np.ndarray]) -> np.ndarray:
    """Images (height, width, 3) uint8 as the column ``pixels`` of a split."""
    if len({image.shape for image in images}) == 1:
        return np.stack(images)
    pixels = np.empty(len(images), object)
    pixels[:] = images
    return pixels
