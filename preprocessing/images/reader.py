"""How an image file becomes the input of a network, as one rule: decoding, size, interpolation, range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import __version__ as pillow_version

from preprocessing.errors import InputError
from preprocessing.images.data import Normalization
from preprocessing.images.decoding import RULE, decode
from preprocessing.images.steps import Normalize, Resize


@dataclass(frozen=True)
class ImageReader:
    """Read images as a network with square inputs expects them.

    Attributes:
        size: height and width of the input.
        interpolation: interpolation for resizing.
        mean, std: of the channels, for pixels scaled to the range from 0 to 1.
    """

    size: int
    interpolation: str
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    @property
    def resize(self) -> Resize:
        return Resize(self.size, self.size, self.interpolation)

    @property
    def normalize(self) -> Normalize:
        return Normalize(self.mean, self.std)

    @property
    def rule(self) -> str:
        return f"{RULE} {self.resize.rule} {self.normalize.rule}"

    def parameters(self) -> dict[str, Any]:
        """What determines the inputs, JSON-able."""
        return {
            "size": self.size,
            "interpolation": self.interpolation,
            "mean": list(self.mean),
            "std": list(self.std),
            "versions": {"pillow": pillow_version},
        }

    def pixels(self, name: str, file: bytes) -> np.ndarray:
        """An encoded image as (size, size, 3) uint8; ``name`` is the name of the image in messages.

        Raises:
            InputError: the image cannot be decoded.
        """
        return self.resize.resized(decode(name, file))

    def read(self, paths: Sequence[Path]) -> np.ndarray:
        """Image files as (rows, size, size, 3) uint8.

        Raises:
            InputError: a file is missing or cannot be decoded.
        """
        pixels = np.empty((len(paths), self.size, self.size, 3), np.uint8)
        for row, path in enumerate(paths):
            pixels[row] = self.pixels(str(path), _bytes(path))
        return pixels

    def inputs(self, pixels: np.ndarray) -> np.ndarray:
        """Pixels (rows, size, size, 3) as float32 inputs (rows, 3, size, size)."""
        return Normalization(np.array(self.mean, np.float32), np.array(self.std, np.float32))(pixels)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
        raise InputError(path, reason, remedy="give the path of an image file") from None
