"""Random augmentation of training images: the same for the same generator, whatever the number of processes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preprocessing.errors import ParameterError


@dataclass(frozen=True)
class Augmentation:
    """A random crop of the padded image, a random reflection, and a square that is cut out.

    Each image of a batch is padded on all sides by ``padding`` pixels, which reflect it at its edges (NumPy's
    "reflect"), and cropped to its own size at an offset drawn uniformly from 0 to 2 ``padding`` in both directions.
    With ``flip``, left and right are exchanged with probability 1/2. With ``cutout``, a square with that side, whose
    centre is drawn uniformly from all pixels, becomes mid grey (127) as far as it is in the image (DeVries and Taylor,
    2017).

    The draws for a batch of n images are, in this order: n vertical and n horizontal offsets, n reflections, n rows and
    n columns of centres. Nothing is drawn for a change that is switched off.

    Attributes:
        padding, flip, cutout: as above; 0 and False switch them off.
    """

    padding: int = 4
    flip: bool = True
    cutout: int = 0

    def __post_init__(self) -> None:
        for name, value in (("padding", self.padding), ("cutout", self.cutout)):
            if value < 0:
                raise ParameterError(name, value, "is negative", remedy="choose 0, which switches it off, or more")

    def __call__(self, pixels: np.ndarray, generator: np.random.RandomState) -> np.ndarray:
        """Changed copies of pixels (images, height, width, channels) uint8; ``pixels`` are not changed."""
        images, height, width, _ = pixels.shape
        row, column = np.tile(np.arange(height), (images, 1)), np.tile(np.arange(width), (images, 1))
        if self.padding:
            edge = self.padding
            padded = np.pad(pixels, ((0, 0), (edge, edge), (edge, edge), (0, 0)), mode="reflect")
            offsets = generator.randint(0, 2 * edge + 1, (2, images))
            row, column = row + offsets[0][:, None], column + offsets[1][:, None]
        else:
            padded = pixels
        if self.flip:
            reflected = generator.rand(images) < 0.5
            column[reflected] = column[reflected, ::-1]
        changed: np.ndarray = padded[np.arange(images)[:, None, None], row[:, :, None], column[:, None, :]]
        if self.cutout:
            centres = generator.randint(0, height, images), generator.randint(0, width, images)
            top, left = (centre - self.cutout // 2 for centre in centres)
            in_row, in_column = (
                (np.arange(size) >= start[:, None]) & (np.arange(size) < start[:, None] + self.cutout)
                for size, start in ((height, top), (width, left))
            )
            changed[in_row[:, :, None] & in_column[:, None, :]] = 127
        return changed

    @property
    def rule(self) -> str:
        """A description of the changes to an image, for tables and cards."""
        parts = [f"padded by {self.padding} and cropped at random"] if self.padding else []
        parts += ["reflected at random"] if self.flip else []
        parts += [f"a square of {self.cutout} pixels cut out"] if self.cutout else []
        return ", ".join(parts) or "unchanged"
