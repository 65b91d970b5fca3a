"""Decode one image file to pixels, whatever its form: the outcome is a result or an error of one line."""

from __future__ import annotations

import io
import warnings

import numpy as np
from PIL import Image, ImageOps

from preprocessing.errors import InputError

MAX_PIXELS = 64_000_000
"""Larger images are rejected before they are decompressed, since a file of a few kilobytes can claim any size."""

RULE = (
    "Each file (PNG, JPEG or another format of Pillow) becomes RGB with 8 bits a channel: grey values are repeated, "
    "CMYK is converted by Pillow's formula, of 16 bits the higher 8 are used, transparency is discarded, of an "
    "animation the first frame is used, and the image is rotated or mirrored as its EXIF orientation states. A damaged "
    f"file, values without a range (floating point), and more than {MAX_PIXELS} pixels are errors."
)


def decode(name: str, file: bytes) -> np.ndarray:
    """The pixels (height, width, 3) uint8 of an encoded image, by :data:`RULE`.

    Args:
        name: name of the image in messages.
        file: the bytes of the file.

    Raises:
        InputError: the file is not an image, is damaged, truncated or too large, or has values without a range.
    """
    try:
        with warnings.catch_warnings():
            # Pillow warns about large images, for which we have our own limit, and about damaged metadata.
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(file)) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise _too_large(name, f"{image.width} x {image.height} pixels")
                _check_range(name, image)
                return np.array(_rgb(ImageOps.exif_transpose(image)))
    except Image.DecompressionBombError:
        raise _too_large(name, "far more pixels than any photograph") from None
    except InputError:
        raise
    except Exception as error:  # for a damaged file, Pillow's readers may raise any type of exception
        reason = str(error) or type(error).__name__
        if isinstance(error, Image.UnidentifiedImageError):
            reason = "no known image format"  # Pillow names the buffer in memory
        raise InputError(f"image {name}", f"cannot be decoded ({reason})", remedy="replace the file") from error


def _check_range(name: str, image: Image.Image) -> None:
    remedy = "save it with 8 or 16 bits a channel"
    if image.mode == "F":
        raise InputError(f"image {name}", "has floating-point values, which have no range", remedy=remedy)
    if image.mode == "I" and image.format not in ("PNG", "PPM"):  # whose integers have 16 bits
        raise InputError(f"image {name}", "has signed or 32-bit integers, whose range is not known", remedy=remedy)


def _rgb(image: Image.Image) -> Image.Image:
    """The first frame as RGB."""
    if image.mode.startswith("I"):  # Pillow would clip 16 bits at 255
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    return image.convert("RGB")


def _too_large(name: str, size: str) -> InputError:
    return InputError(f"image {name}", f"has {size}; at most {MAX_PIXELS} are read", remedy="make it smaller")
