"""Read driving logs and their frames strictly, in three layouts.

- The Udacity simulator: its own log, ``center,left,right,steering,throttle,brake,speed`` with or without this header,
  where the name of a frame has its time; or a table ``frame,milliseconds,steering,...``. The steering is from -1 to 1,
  where 1 is 25 degrees.
- The Udacity challenge: ``interpolated.csv`` with ``timestamp`` in nanoseconds, ``frame_id``, ``filename`` and
  ``angle`` in radians, and ``speed`` in metres a second; only the rows of the centre camera are read.
- comma.ai: an HDF5 file with the frames ``X`` (frames, 3, height, width), and one with the log: ``times`` in seconds,
  ``cam1_ptr``, the latest frame at each time, ``steering_angle``, which is taken as degrees, and ``speed`` in metres a
  second.

Frames of the first two are files in a folder or in a tar archive, compressed or not; the log states their order.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import h5py
import numpy as np

from preprocessing.corpora import archives
from preprocessing.corpora.reading import FETCH_AGAIN, read_lines
from preprocessing.errors import InputError
from preprocessing.images.decoding import decode

FULL_LOCK = 25.0
"""Steering angle in degrees at the simulator's steering value 1."""

_WIDEST = 1080.0  # degrees that a steering wheel can be turned: three full turns
_CAMERA = "center_camera"
_SIMULATOR = ["center", "left", "right", "steering", "throttle", "brake", "speed"]
_RECORDED = re.compile(r"_(\d{4}(?:_\d\d){5}_\d{3})\.\w+", re.ASCII)  # center_2016_12_01_13_30_48_287.jpg


@dataclass(frozen=True)
class LogRow:
    """One frame of a log: its line (in HDF5 its row, from 1), its name, its time in seconds, the steering in degrees,
    and the speed in metres a second if the log states it."""

    line: int
    frame: str
    seconds: float
    steering: float
    speed: float | None = None


@dataclass(frozen=True)
class Drive:
    """The rows of a log with their frames (rows, height, width, 3) uint8, RGB; ``unused`` frames have no row."""

    rows: list[LogRow]
    frames: list[np.ndarray]
    unused: int


Shrink = Callable[[np.ndarray], np.ndarray]
"""Function applied to each frame when it is read, since the full-size frames of a drive may not fit in memory."""


def read_drive(frames: Path, log: Path, shrink: Shrink) -> Drive:
    """Read a drive in any of the layouts.

    Raises InputError with file, row, reason and remedy for a table without the columns of a layout; a value that is not
    a finite number or must be a mistake; rows or frames that are not in the order of time; a frame that is missing,
    damaged, there twice, or not of the size of the first one; an archive with members outside it.
    """
    if log.is_dir():
        raise InputError(log, "is a folder", remedy="give the log itself, such as driving_log.csv")
    if h5py.is_hdf5(log) or h5py.is_hdf5(frames):
        return _read_comma(frames, log, shrink)
    rows = _read_table(log)
    _check_order(log, rows)
    wanted = {row.frame: row for row in rows}
    pixels: dict[str, np.ndarray] = {}
    size: tuple[int, ...] = ()
    unused = 0
    for name, content in _folder(frames, wanted) if frames.is_dir() else _archive(frames):
        row = wanted.get(name)
        if row is None:
            unused += 1
            continue
        if name in pixels:
            raise InputError(frames, f"frame {name} occurs twice", remedy="remove one of them")
        image = _decoded(log, row, frames, content)
        size = size or image.shape
        if image.shape != size:
            reason = f"frame {name} has {_size(image.shape)} pixels, those before it {_size(size)}"
            raise InputError(log, reason, line=row.line, remedy="give frames of one size")
        pixels[name] = shrink(image)
    for row in rows:
        if row.frame not in pixels:
            reason = f"frame {row.frame} is missing in {frames.name}"
            raise InputError(log, reason, line=row.line, remedy=f"remove the row, or {FETCH_AGAIN}")
    return Drive(rows, [pixels[row.frame] for row in rows], unused)


def _decoded(log: Path, row: LogRow, frames: Path, content: bytes) -> np.ndarray:
    try:
        return decode(row.frame, content)
    except InputError as error:
        reason = f"frame {row.frame} of {frames.name} {error.reason}"
        raise InputError(log, reason, line=row.line, remedy=FETCH_AGAIN) from error


def _size(shape: Sequence[int]) -> str:
    return f"{shape[1]} x {shape[0]}"


# --- tables ---


def _read_table(log: Path) -> list[LogRow]:
    lines = [line.removesuffix("\r") for line in read_lines(log, carriage_returns=True)]
    header, *table = (_cells(log, line, text) for line, text in enumerate(lines, start=1))
    header = [cell.strip() for cell in header]
    if not any(header):
        raise InputError(log, "has an empty first line", line=1, remedy="remove it")
    if not table and not _RECORDED.search(header[0]):
        raise InputError(log, "has a header, but no rows", line=1, remedy=FETCH_AGAIN)
    if len(header) == len(_SIMULATOR) and (header == _SIMULATOR or _RECORDED.search(header[0])):
        return _recorded(log, table, start=2) if header == _SIMULATOR else _recorded(log, [header, *table], start=1)
    if {"frame", "milliseconds", "steering"} <= set(header):
        names, scale = ("frame", "milliseconds", "steering"), (1e-3, FULL_LOCK)
        widest, with_speed = FULL_LOCK, False  # the simulator's speed has no stated unit
    elif {"timestamp", "frame_id", "filename", "angle"} <= set(header):
        names, scale = ("filename", "timestamp", "angle"), (1e-9, 180 / math.pi)
        widest, with_speed = _WIDEST, "speed" in header
    else:
        reason = f"columns {','.join(header)[:80]} are of no known layout"
        remedy = f"give {','.join(_SIMULATOR)}, frame,milliseconds,steering or timestamp,frame_id,filename,angle"
        raise InputError(log, reason, line=1, remedy=remedy)
    rows = []
    for line, cells in enumerate(table, start=2):
        if len(cells) != len(header):
            reason = f"{len(cells)} columns, the header has {len(header)}"
            raise InputError(log, reason, line=line, remedy=FETCH_AGAIN)
        row = dict(zip(header, cells, strict=True))
        if row.get("frame_id", _CAMERA) != _CAMERA:
            continue
        time = _number(log, line, names[1], row[names[1]])
        steering = _steering(log, line, names[2], row[names[2]], scale[1], widest)
        speed = _number(log, line, "speed", row["speed"]) if with_speed else None
        rows.append(LogRow(line, _member(log, line, row[names[0]]), time * scale[0], steering, speed))
    if not rows:
        raise InputError(log, f"no rows of the camera {_CAMERA}", line=2, remedy=FETCH_AGAIN)
    return rows


def _recorded(log: Path, table: Sequence[Sequence[str]], start: int) -> list[LogRow]:
    """The rows of the simulator's own log, which names frames by their paths on the machine that recorded them."""
    rows = []
    for line, cells in enumerate(table, start=start):
        if len(cells) != len(_SIMULATOR):
            reason = f"{len(cells)} columns, not {len(_SIMULATOR)}"
            raise InputError(log, reason, line=line, remedy=FETCH_AGAIN)
        frame = "/".join(PurePosixPath(cells[0].strip().replace("\\", "/")).parts[-2:])
        matched = _RECORDED.search(frame)
        try:
            time = datetime.strptime(matched[1] if matched else "", "%Y_%m_%d_%H_%M_%S_%f")
        except ValueError:
            remedy = "name it as the simulator does, center_<year>_<month>_<day>_<hour>_<minute>_<second>_<ms>.jpg"
            raise InputError(log, f"frame {frame!r} has no time in its name", line=line, remedy=remedy) from None
        steering = _steering(log, line, "steering", cells[3].strip(), FULL_LOCK, FULL_LOCK)
        rows.append(LogRow(line, _member(log, line, frame), (time - datetime(1970, 1, 1)).total_seconds(), steering))
    return rows


def _cells(log: Path, line: int, text: str) -> list[str]:
    """The cells of one line. A reader of all lines would go on to the next quotation mark, and take lines for text."""
    try:
        (cells,) = csv.reader([text], strict=True)
    except csv.Error as error:
        remedy = f"correct its quotation marks, or {FETCH_AGAIN}"
        raise InputError(log, f"is not a line of CSV ({error})", line=line, remedy=remedy) from error
    return cells


def _number(log: Path, line: int, column: str, text: str) -> float:
    try:
        value = float(text.replace("_", "?"))  # Python would read 0_5 as 5
    except ValueError:
        raise InputError(log, f"{column} {text!r} is not a number", line=line, remedy="correct the value") from None
    if not math.isfinite(value):
        raise InputError(log, f"{column} is {text}", line=line, remedy="remove the row, or correct the value")
    return value


def _steering(log: Path, line: int, column: str, text: str, scale: float, widest: float) -> float:
    """The steering in degrees: the number times ``scale``, at most ``widest`` to either side."""
    degrees = _number(log, line, column, text) * scale
    if abs(degrees) > widest:
        raise InputError(log, f"{column} {text} is more than {widest:g} degrees", line=line, remedy="correct the value")
    return degrees


def _member(log: Path, line: int, name: str) -> str:
    if not name or archives.leads_out(name):
        reason = f"frame {name!r} is not a path below the folder of the frames"
        raise InputError(log, reason, line=line, remedy="name frames as in the archive, such as center/0001.jpg")
    return PurePosixPath(name).as_posix()


def _check_order(log: Path, rows: Sequence[LogRow]) -> None:
    for before, row in pairwise(rows):
        if row.seconds <= before.seconds:
            reason = f"is {before.seconds - row.seconds:.3f} s before the row above, or at the same time"
            raise InputError(log, reason, line=row.line, remedy="put the rows in the order of time, each frame once")
        if _numbers(row.frame) <= _numbers(before.frame):
            reason = f"frame {row.frame} comes after {before.frame}: frames are not in order"
            raise InputError(log, reason, line=row.line, remedy="number the frames in the order of time")


def _numbers(name: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", name)]


# --- frames as files ---


def _folder(folder: Path, wanted: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Files below a folder by their path relative to it, or relative to its parent if the names in the log begin with
    the name of the folder (``center/``)."""
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            name = file.relative_to(folder).as_posix()
            long = f"{folder.resolve().name}/{name}"
            yield long if long in wanted else name, file.read_bytes()


def _archive(path: Path) -> Iterator[tuple[str, bytes]]:
    with archives.opened(path) as archive:
        for member in archive:
            if archives.leads_out(member.name):
                raise InputError(path, f"member {member.name!r} is outside the archive", remedy="do not use it")
            if member.isdir():
                continue
            if not member.isfile():
                raise InputError(path, f"member {member.name!r} is not a file", remedy="pack the frames themselves")
            yield PurePosixPath(member.name).as_posix(), archives.content(path, archive, member)


# --- comma.ai ---


def _read_comma(frames: Path, log: Path, shrink: Shrink) -> Drive:
    rows = _comma_rows(log)
    try:
        with h5py.File(frames, "r") as file:
            images = _dataset(frames, file, "X")
            if images.ndim != 4 or images.shape[1] != 3 or images.dtype != np.uint8:
                reason = f"X is {images.dtype} {images.shape}, not uint8 (frames, 3, height, width)"
                raise InputError(frames, reason, remedy=FETCH_AGAIN)
            for row in rows:
                if not 0 <= int(row.frame) < len(images):
                    reason = f"frame {row.frame} is missing in {frames.name}, which has {len(images)}"
                    raise InputError(log, reason, line=row.line, remedy=FETCH_AGAIN)
            pixels = [shrink(np.ascontiguousarray(images[int(row.frame)].transpose(1, 2, 0))) for row in rows]
            return Drive(rows, pixels, len(images) - len(rows))
    except OSError as error:
        raise InputError(frames, f"is not HDF5, or damaged ({error})", remedy=FETCH_AGAIN) from error


def _comma_rows(log: Path) -> list[LogRow]:
    """The first row of the log for each frame."""
    try:
        with h5py.File(log, "r") as file:
            names = ["cam1_ptr", "times", "steering_angle", *(["speed"] if "speed" in file else [])]
            columns = [np.asarray(_dataset(log, file, name)) for name in names]
    except OSError as error:
        raise InputError(log, f"is not HDF5, or damaged ({error})", remedy=FETCH_AGAIN) from error
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "iuf":
            raise InputError(log, f"{name} is {column.dtype}, not numbers", remedy=FETCH_AGAIN)
    if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
        shapes = ", ".join(str(column.shape) for column in columns)
        raise InputError(log, f"{', '.join(names[:-1])} and {names[-1]} have shapes {shapes}", remedy=FETCH_AGAIN)
    rows: list[LogRow] = []
    for line, values in enumerate(zip(*columns, strict=True), start=1):
        for name, value in zip(names, values, strict=True):
            if not math.isfinite(value):
                raise InputError(log, f"{name} is {value}", line=line, remedy="remove the row, or correct the value")
        pointer, seconds, steering, *speed = map(float, values)
        if abs(steering) > _WIDEST:
            raise InputError(log, f"steering_angle {steering} is too large", line=line, remedy="correct the value")
        if not rows or int(rows[-1].frame) != int(pointer):
            rows.append(LogRow(line, str(int(pointer)), seconds, steering, *speed))
    if not rows:
        raise InputError(log, "no rows", line=1, remedy=FETCH_AGAIN)
    _check_order(log, rows)
    return rows


def _dataset(path: Path, file: Any, name: str) -> Any:
    if not isinstance(file.get(name), h5py.Dataset):
        raise InputError(path, f"has no data set {name}; it has {', '.join(sorted(file))[:80]}", remedy=FETCH_AGAIN)
    return file[name]
