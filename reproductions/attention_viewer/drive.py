"""An HTML file that plays a drive frame by frame with the attention of a network, from plain images without a video
codec.

Like the page of reviews, it contains its data, script and style and fetches nothing; images are ``data:`` URIs. The
JSON block has columns with one entry per frame: ``images``, JPEG in base 64; ``weights`` and ``kept``, one byte per
cell of the grid in base 64, relative to the largest weight of the frame; ``seconds``, ``target`` and ``degrees``. In
addition, ``grid`` has the numbers of rows and columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup

from preprocessing.files import write_text
from reproductions.html.embedded_images import as_text
from reproductions.html.inline_page import json_block, render

LARGEST = 6_000_000
"""Maximum size of a page in bytes. For longer drives fewer frames are shown, at even intervals."""

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class DriveFrames:
    """The frames of a drive as a network read them.

    Attributes:
        images: JPEG file of each frame.
        weights, kept: (frames, cells) uint8, relative to the largest weight of each frame: all weights, and the weights
            of the regions that causal filtering keeps.
        grid: number of rows and of columns of cells.
        seconds: (frames,), time since the beginning of the drive.
        target, degrees: (frames,), steering of the driver and of the network in degrees, negative to the left.
    """

    images: Sequence[bytes]
    weights: np.ndarray
    kept: np.ndarray
    grid: tuple[int, int]
    seconds: np.ndarray
    target: np.ndarray
    degrees: np.ndarray


def write_drive_page(path: Path, title: str, drive: DriveFrames, note: Mapping[str, str], *, sample: bool) -> None:
    """Write the page, completely or not at all; the same arguments give the same bytes.

    Args:
        path: HTML file to write.
        title: heading of the page.
        drive: frames in order.
        note: names and values of the notes below the heading.
        sample: whether the frames are from the embedded sample, which the page then states.

    Raises:
        ValueError: if columns have different lengths, or if there are no frames.
    """
    columns = (drive.weights, drive.kept, drive.seconds, drive.target, drive.degrees)
    if not drive.images or any(len(column) != len(drive.images) for column in columns):
        raise ValueError(f"{len(drive.images)} images and columns of {[len(column) for column in columns]} entries")
    every = 1
    while len(data := _data(drive, every)) > LARGEST and every < len(drive.images):
        every += 1
    frames = len(range(0, len(drive.images), every))
    write_text(path, render(_HERE, "drive", data, title=title, note=note, sample=sample, frames=frames))


def _data(drive: DriveFrames, every: int) -> Markup:
    chosen = range(0, len(drive.images), every)
    columns = {
        "images": [as_text(drive.images[frame]) for frame in chosen],
        "weights": [as_text(drive.weights[frame].tobytes()) for frame in chosen],
        "kept": [as_text(drive.kept[frame].tobytes()) for frame in chosen],
        "grid": list(drive.grid),
        **{
            name: np.round(getattr(drive, name)[::every].astype(float), 2).tolist()
            for name in ("seconds", "target", "degrees")
        },
    }
    return json_block(columns)
