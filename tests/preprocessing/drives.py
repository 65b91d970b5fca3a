"""What the tests of drives share: frames of a road that is drawn from a formula, and logs in every layout. The embedded
sample is a drive of 120 frames by the same formula."""

from __future__ import annotations

import io
import math
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image


def curvature(frame: int) -> float:
    """How the road bends at a frame, between -1 (left) and 1."""
    return math.sin(frame / 7) * math.cos(frame / 17)


def drawn_road(frame: int, height: int = 80, width: int = 160) -> np.ndarray:
    """A frame (height, width, 3) uint8: sky, grass, and a grey road with white edges that bends by ``curvature``."""
    image = np.empty((height, width, 3), np.uint8)
    horizon = height * 2 // 5
    image[:horizon], image[horizon:] = (120, 170, 230), (70, 130 + frame % 5, 50)
    for row in range(horizon, height):
        near = (row - horizon + 1) / (height - horizon)
        centre = width * (0.5 + 0.3 * curvature(frame) * (1 - near) ** 2)
        half = width * 0.32 * near + 1
        left, right = int(centre - half), int(centre + half)
        edge = max(1, int(5 * near))
        image[row, max(left, 0) : max(right, 0)] = (110, 110, 112)
        for begin in (left, right):
            image[row, max(begin - edge, 0) : max(begin, 0)] = (235, 235, 235)
    return image


def png(image: np.ndarray) -> bytes:
    """An image as an uncompressed PNG, which archives compress well together."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG", compress_level=0)
    return stream.getvalue()


def frames(count: int, height: int = 80, width: int = 160) -> dict[str, bytes]:
    """Files by the names of the simulator's log."""
    return {f"center/{frame:04d}.png": png(drawn_road(frame, height, width)) for frame in range(count)}


def log_lines(count: int, interval: float = 100.0) -> list[str]:
    """The simulator's log, header first; steering follows the road."""
    rows = [
        f"center/{frame:04d}.png,{frame * interval:.0f},{0.5 * curvature(frame):.4f},0.5,0,30" for frame in range(count)
    ]
    return ["frame,milliseconds,steering,throttle,brake,speed", *rows]


def write_archive(path: Path, files: dict[str, bytes], links: Sequence[str] = ()) -> Path:
    """A tar archive, compressed by the ending of its name, without dates and owners."""
    ending = path.suffix.removeprefix(".")
    with tarfile.open(path, f"w:{ending}" if ending in ("gz", "xz") else "w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name in links:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/hostname"
            archive.addfile(member)
    return path


def write_drive(folder: Path, files: dict[str, bytes], lines: Sequence[str], archive: str = "center.tar") -> None:
    """An archive of frames and ``driving_log.csv`` in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_archive(folder / archive, files)
    (folder / "driving_log.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
