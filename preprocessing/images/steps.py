"""The steps that any image corpus can use: decode, resize, normalize."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from PIL import Image, __version__ as pillow_version

from preprocessing.errors import InputError, check_choice, check_positive
from preprocessing.images.data import ImageData, Normalization, column
from preprocessing.images.decoding import RULE, decode
from preprocessing.pipeline import card
from preprocessing.pipeline.step import Context, Notes, Step

INTERPOLATIONS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}


@dataclass(frozen=True)
class Decode(Step[ImageData]):
    """Read the pixels of encoded images."""

    name: ClassVar[str] = "decode"
    version: ClassVar[int] = 2
    for_new_rows: ClassVar[bool] = True

    @property
    def rule(self) -> str:
        return RULE

    def parameters(self) -> dict[str, Any]:
        return {"versions": {"pillow": pillow_version}}

    def apply(self, data: ImageData, context: Context) -> tuple[ImageData, Notes]:
        splits = {}
        for name, split in data.splits.items():
            images = [decode(row_id, file) for row_id, file in zip(split.row_id, split.files, strict=True)]
            splits[name] = replace(split, pixels=column(images))
        facts = {
            side: {name: card.profile(split.sizes[:, axis], width=16) for name, split in splits.items()}
            for axis, side in enumerate(("heights", "widths"))
        }
        return replace(data, splits=splits), Notes(facts=facts)


@dataclass(frozen=True)
class Resize(Step[ImageData]):
    """Resize all images to one size."""

    name: ClassVar[str] = "resize"
    for_new_rows: ClassVar[bool] = True
    height: int
    width: int
    interpolation: str = "bilinear"

    def __post_init__(self) -> None:
        check_positive(height=self.height, width=self.width)
        check_choice("interpolation", self.interpolation, INTERPOLATIONS)

    @property
    def rule(self) -> str:
        return (
            f"Each image is resized as a whole to height {self.height} and width {self.width}, whatever its aspect "
            f"ratio, by Pillow's {self.interpolation} interpolation (with its antialiasing where the image shrinks, "
            "in integer arithmetic). An image of that size is not changed."
        )

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "versions": {"pillow": pillow_version}}

    def apply(self, data: ImageData, context: Context) -> tuple[ImageData, Notes]:
        splits = {
            name: replace(split, pixels=column([self.resized(image) for image in split.decoded]))
            for name, split in data.splits.items()
        }
        return replace(data, splits=splits), Notes()

    def resized(self, image: np.ndarray) -> np.ndarray:
        """One image (height, width, 3) uint8, resized to the size of this step."""
        if image.shape[:2] == (self.height, self.width):
            return image
        method = INTERPOLATIONS[self.interpolation]
        return np.array(Image.fromarray(image).resize((self.width, self.height), method))


@dataclass(frozen=True)
class Normalize(Step[ImageData]):
    """Decide how pixels become floats: by the statistics of the training split, or by given ones (a mean and a standard
    deviation of 0.5 map pixels to the range from -1 to 1)."""

    name: ClassVar[str] = "normalize"
    mean: tuple[float, float, float] | None = None
    std: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        if (self.mean is None) != (self.std is None):
            raise InputError("normalize", "has only one of mean and std", remedy="give both, or none to learn them")

    @property
    def rule(self) -> str:
        source = (
            "mean and standard deviation of each channel over all pixels of the training split (a deviation of 0 is 1)"
            if self.mean is None
            else f"mean {list(self.mean)} and standard deviation {list(self.std or ())} of the channels"
        )
        return (
            f"An input is (pixel / 255 - mean) / std in float32, by the {source}. The stored pixels stay 8-bit "
            "integers; the statistics are part of the result."
        )

    def apply(self, data: ImageData, context: Context) -> tuple[ImageData, Notes]:
        mean, std = _statistics(data) if self.mean is None or self.std is None else (list(self.mean), list(self.std))
        normalization = Normalization(np.array(mean, np.float32), np.array(std, np.float32))
        facts = {"channels": {"mean": mean, "std": std}}
        return replace(data, normalization=normalization), Notes(facts=facts)


def _statistics(data: ImageData) -> tuple[list[float], list[float]]:
    """Mean and standard deviation of each channel of train, from sums of integers, which are exact in any order."""
    images = data.splits["train"].decoded
    pixels = sum(image.shape[0] * image.shape[1] for image in images)
    if not pixels:
        raise InputError("step normalize", "the training split has no images", remedy="give images, or mean and std")
    mean, std = [], []
    for channel in range(3):
        histogram = sum(np.bincount(image[..., channel].ravel(), minlength=256) for image in images)
        counts: list[int] = np.asarray(histogram).tolist()
        total = sum(value * count for value, count in enumerate(counts))
        squares = sum(value * value * count for value, count in enumerate(counts))
        mean.append(total / pixels / 255)
        std.append(sqrt(pixels * squares - total * total) / pixels / 255 or 1.0)
    return mean, std
