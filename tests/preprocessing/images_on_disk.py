"""What the tests of images share: small PNG files drawn from a formula, and a pipeline that reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from PIL import Image

from preprocessing.corpora import CorpusFiles, given
from preprocessing.images.data import ImageData, ImageSplit
from preprocessing.images.pipeline import ImagePipeline
from preprocessing.images.steps import Decode, Normalize, Resize
from preprocessing.pipeline.step import SPLITS, Context, Notes, Step

ROWS = {"train": 5, "validation": 2, "test": 3}


def drawn(row: int, height: int, width: int) -> np.ndarray:
    """An image (height, width, 3) uint8."""
    y, x = np.mgrid[:height, :width]
    return np.stack([(37 * row + 11 * y + 3 * x) % 256, (5 * row * x + y) % 256, (17 * row + x * y) % 256], -1).astype(
        np.uint8
    )


def write_images(root: Path) -> CorpusFiles:
    """The folders train, validation and test of files ``<row>_<label>.png`` of several sizes, as a corpus."""
    for split, rows in ROWS.items():
        (root / split).mkdir(parents=True)
        for row in range(rows):
            image = drawn(row + len(split), 6 + row, 9 - row)
            Image.fromarray(image).save(root / split / f"{row}_{row % 3}.png")
    return given("own images", {split: root / split for split in SPLITS}, folders=True)


@dataclass(frozen=True)
class ReadImages(Step[ImageData]):
    """Read the folders of :func:`write_images`."""

    name: ClassVar[str] = "read-images"

    @property
    def rule(self) -> str:
        return "Images are the files <row>_<label>.png of a folder for each split, in the order of their names."

    def apply(self, data: ImageData, context: Context) -> tuple[ImageData, Notes]:
        splits = {}
        for split, folder in context.corpus(self.name).paths.items():
            files = sorted(folder.glob("*.png"))
            labels = [int(file.stem.partition("_")[2]) for file in files]
            splits[split] = ImageSplit.of(
                [file.read_bytes() for file in files], row_id=[file.name for file in files], label=labels
            )
        return ImageData(splits), Notes()


def pipeline(*steps: Step[ImageData]) -> ImagePipeline:
    """Reading and decoding, then ``steps``; by default resizing to 4 x 4 pixels and normalization."""
    return ImagePipeline("images", (ReadImages(), Decode(), *(steps or (Resize(4, 4), Normalize()))))
