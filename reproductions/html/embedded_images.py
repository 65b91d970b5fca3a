"""Images in outcomes and pages: compressed, and as text."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from PIL import Image


def compressed(pixels: np.ndarray, format: str, **options: Any) -> bytes:
    """Pixels (height, width, 3) uint8 as a file of a format of Pillow, ``png`` or ``jpeg``, with its options."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format, **options)
    return stream.getvalue()


def as_text(content: bytes) -> str:
    """The base64 of bytes, as JSON and HTML hold them."""
    return base64.b64encode(content).decode("ascii")


def pixels_of(text: str) -> np.ndarray:
    """The pixels (height, width, 3) uint8 of a compressed image, given as text."""
    with Image.open(io.BytesIO(base64.b64decode(text))) as image:
        return np.array(image.convert("RGB"))
