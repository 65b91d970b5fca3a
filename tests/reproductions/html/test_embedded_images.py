"""Images as text: what is encoded can be decoded."""

from __future__ import annotations

import numpy as np

from reproductions.html.embedded_images import as_text, compressed, pixels_of


def test_a_png_has_the_same_pixels_and_a_jpeg_nearly_the_same() -> None:
    rows, columns = np.mgrid[:16, :24]
    pixels = np.stack([rows * 8, columns * 8, rows + columns], axis=2).astype(np.uint8)
    np.testing.assert_array_equal(pixels_of(as_text(compressed(pixels, "png", optimize=True))), pixels)
    close = pixels_of(as_text(compressed(pixels, "jpeg", quality=95)))
    assert np.abs(close.astype(int) - pixels).mean() < 4 and not np.array_equal(close, pixels)


def test_an_image_of_grey_values_has_three_channels() -> None:
    grey = np.arange(64, dtype=np.uint8).reshape(8, 8)
    np.testing.assert_array_equal(pixels_of(as_text(compressed(grey, "png"))), np.stack([grey] * 3, axis=2))
