"""Pipelines for images, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preprocessing.corpora import CorpusFiles
from preprocessing.images.data import ImageData, ImageSplit
from preprocessing.pipeline.card import label_counts
from preprocessing.pipeline.pipeline import Pipeline, RunResult
from preprocessing.pipeline.step import Context


@dataclass(frozen=True, eq=False, repr=False)
class ImageResult(RunResult["ImagePipeline", ImageData]):
    """Data, card and digest of one run on images."""

    @property
    def splits(self) -> dict[str, ImageSplit]:
        """The splits by name, in the order train, validation, test."""
        return dict(self.data.splits)

    def inputs(self, pixels: np.ndarray) -> np.ndarray:
        """Pixels (rows, height, width, 3) of a split, or of :meth:`encode`, as float32 inputs (rows, 3, height,
        width)."""
        if self.data.normalization is None:
            raise ValueError(f"pipeline {self.pipeline.name} does not normalize")
        return self.data.normalization(pixels)

    def encode(self, files: Sequence[bytes]) -> ImageSplit:
        """Process new images with the same steps, one row per file."""
        names = [f"new {row}" for row in range(len(files))]
        data = ImageData({"new": ImageSplit.of(files, row_id=names)}, self.data.normalization)
        for step in self.pipeline.steps:
            if step.for_new_rows:
                data, _ = step.apply(data, Context())
        return data.finished().splits["new"]


@dataclass(frozen=True)
class ImagePipeline(Pipeline[ImageData, ImageResult]):
    """A pipeline for images. Its card has no units besides rows. ``splits``: {split: {rows, labels: {label: rows}}};
    facts: ``heights`` and ``widths`` {split: profile} of the decoded files, ``channels`` {mean, std} of the
    normalization."""

    def files(self, corpus: str | CorpusFiles) -> CorpusFiles:
        return super().files(f"sample {self.name}" if corpus == "sample" else corpus)

    def empty(self) -> ImageData:
        return ImageData()

    def restored(self, arrays: Mapping[str, np.ndarray]) -> ImageData:
        return ImageData.from_arrays(arrays)

    def splits_of_card(self, data: ImageData) -> dict[str, Any]:
        return {name: {"rows": len(split), "labels": label_counts(split.label)} for name, split in data.splits.items()}

    def result(self, data: ImageData, card: dict[str, Any], digest: str) -> ImageResult:
        return ImageResult(self, data, card, digest)
