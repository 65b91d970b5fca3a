"""One HTML file that plays a drive frame by frame with what a network attends to: plain images, no video codec.

As the page of reviews it carries its data, script and style and fetches nothing; images are ``data:`` URIs. The JSON
block has columns with one entry for each frame: ``images``, JPEG in base 64; ``weights`` and ``kept``, a byte for each
cell of the grid in base 64, relative to the largest weight of the frame; ``seconds``, ``target`` and ``degrees``; and
``grid``, its rows and columns.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from preprocessing.files import write_text

LARGEST = 6_000_000
"""Bytes of a page at most; of a longer drive fewer frames are shown, evenly over it."""

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class DriveFrames:
    """The frames of a drive as a network read them.

    Attributes:
        images: JPEG files.
        weights, kept: (frames, cells) uint8, relative to the largest weight of each frame: all of them, and those of
            regions that causal filtering keeps.
        grid: rows and columns of the cells.
        seconds: (frames,) since the beginning of the drive.
        target, degrees: (frames,), the driver's steering and the network's, in degrees, negative to the left.
    """

    images: Sequence[bytes]
    weights: np.ndarray
    kept: np.ndarray
    grid: tuple[int, int]
    seconds: np.ndarray
    target: np.ndarray
    degrees: np.ndarray


def write_drive_page(path: Path, title: str, drive: DriveFrames, note: Mapping[str, str], *, sample: bool) -> None:
    """Write the page, whole or not at all; the same arguments give the same bytes.

    Args:
        path: the HTML file.
        title: heading of the page.
        drive: the frames in order.
        note: what is below the heading.
        sample: whether the frames are of the embedded sample, which the page then says.

    Raises:
        ValueError: columns of different lengths, or no frames.
    """
    columns = (drive.weights, drive.kept, drive.seconds, drive.target, drive.degrees)
    if not drive.images or any(len(column) != len(drive.images) for column in columns):
        raise ValueError(f"{len(drive.images)} images and columns of {[len(column) for column in columns]} entries")
    every = 1
    while len(data := _json(drive, every)) > LARGEST and every < len(drive.images):
        every += 1
    script, style = ((_HERE / name).read_text(encoding="utf-8") for name in ("drive.js", "drive.css"))
    environment = Environment(loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined)
    page = environment.get_template("drive.html.j2").render(
        title=title,
        note=note,
        sample=sample,
        frames=len(range(0, len(drive.images), every)),
        script=Markup(script),
        script_hash=_csp_hash(script),
        style=Markup(style),
        style_hash=_csp_hash(style),
        data=Markup(data),
    )
    write_text(path, page)


def _json(drive: DriveFrames, every: int) -> str:
    chosen = range(0, len(drive.images), every)
    data = {
        "images": [_base64(drive.images[frame]) for frame in chosen],
        "weights": [_base64(drive.weights[frame].tobytes()) for frame in chosen],
        "kept": [_base64(drive.kept[frame].tobytes()) for frame in chosen],
        "grid": list(drive.grid),
        **{
            name: np.round(getattr(drive, name)[::every].astype(float), 2).tolist()
            for name in ("seconds", "target", "degrees")
        },
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _csp_hash(text: str) -> str:
    """The hash by which a content security policy allows one inline script or style."""
    return "sha256-" + _base64(hashlib.sha256(text.encode()).digest())
