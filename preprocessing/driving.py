"""Drives for learning to steer: from frames and a log to HSV pixels, smoothed targets and splits by blocks of time.

    from preprocessing import driving
    result = driving.prepare("udacity lake")
    test = result.splits["test"]
    result.inputs(test.decoded)                 # (frames, 3, height, width) float32 between -2 and 2
    test.target, test.stretches                 # degrees, and which frames follow each other without a gap

The steps, in order: read-drive, hsv, normalize, smooth, blocks, measure-leak (Kim and Canny, 2017, sec. 3.1 and 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import __version__ as pillow_version

from preprocessing.arrays import write_arrays
from preprocessing.corpora import CorpusFiles, given
from preprocessing.corpora.reading import check_count
from preprocessing.driving_reading import FULL_LOCK, LogRow, read_drive
from preprocessing.errors import InputError, ParameterError, check_above_zero, check_choice, check_positive
from preprocessing.files import result_directory, write_json
from preprocessing.images import drive_page
from preprocessing.images.data import ImageSplit
from preprocessing.images.decoding import RULE, decode
from preprocessing.images.drive_data import COLUMNS, DriveData, DriveSplit
from preprocessing.images.drive_steps import WHOLE, Blocks, MeasureLeak, SmoothSteering, ToHSV
from preprocessing.images.steps import Normalize, Resize
from preprocessing.pipeline.pipeline import Pipeline, RunResult
from preprocessing.pipeline.step import Context, Notes, Step

OWN_DRIVE = "own drive"
"""Corpus name of the user's own drive."""

CORPORA = ("udacity lake", "udacity track")
"""Names of the registered drives."""

FRAMES, LOG = "frames", "log"
"""Parts of a corpus."""

CYCLE = Blocks.cycle
"""Splits of consecutive blocks."""

INVERSE_RADIUS = "inverse radius"
TARGETS = ("degrees", INVERSE_RADIUS)
"""Prediction targets."""

TEST_ONLY = ("test",)
"""Cycle of a drive that is used only for testing."""

BLOCKS, SAMPLE_BLOCKS = 20.0, 2.0
"""Block length in seconds of a drive and of the embedded sample, which lasts 12 seconds."""


def pipeline(
    *,
    height: int = 80,
    width: int = 160,
    smoothing: float = 0.2,
    block_seconds: float = BLOCKS,
    gap_seconds: float = 2.0,
    cycle: Sequence[str] = CYCLE,
    gaps: str = "refuse",
    target: str = "degrees",
    car: Mapping[str, float] | None = None,
) -> DrivePipeline:
    """The pipeline for a drive.

    ``height``, ``width``: size of the frames after resizing. ``smoothing``: factor of the exponential smoothing of
    targets; 1 for none. ``block_seconds``, ``gap_seconds``, ``cycle``: how the drive is split (:class:`Blocks`).
    ``gaps``: whether a gap in time of over a second is an error (``refuse``) or divides the drive (``divide``).
    ``target``: ``degrees``, or ``inverse radius`` if the log states the speed. ``car``: the attributes of the car in
    :class:`ReadInverseRadius`. Raises ParameterError for an invalid value.
    """
    check_positive(height=height, width=width)
    check_choice("target", target, TARGETS)
    if car and target != INVERSE_RADIUS:
        remedy = f"leave these out, or choose {INVERSE_RADIUS}"
        raise ParameterError("target", target, "does not use wheel base, steering ratio and slip", remedy=remedy)
    steps: tuple[Step[Any], ...] = (
        ReadInverseRadius(height, width, gaps, **car or {})
        if target == INVERSE_RADIUS
        else ReadDrive(height, width, gaps),
        ToHSV(),
        Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25)),
        SmoothSteering(smoothing),
        Blocks(float(block_seconds), float(gap_seconds), tuple(cycle)),
        MeasureLeak(),
    )
    return DrivePipeline("driving", steps)


def prepare(
    corpus: str | CorpusFiles = "udacity lake", *, processes: int | None = None, cache: bool = True, **options: Any
) -> DriveResult:
    """Run :func:`pipeline` with ``options`` on ``udacity lake``, ``udacity track``, ``sample`` or your own files
    (:func:`own_drive`)."""
    return pipeline(**options).run(corpus, processes=processes, cache=cache)


def own_drive(frames: Path, log: Path, licence: str = "not stated") -> CorpusFiles:
    """Your own drive as a corpus: a folder or tar archive of frames with a table, or two HDF5 files
    (:mod:`preprocessing.driving_reading`). Raises InputError for a missing file."""
    return given(OWN_DRIVE, {FRAMES: frames, LOG: log}, licence, folders=True)


LOGS = ("driving_log.csv", "interpolated.csv", "log.h5")
"""File names of the log in a user's folder."""


def own_folder(folder: Path) -> CorpusFiles:
    """Your own drive in one folder: a log with a name of :data:`LOGS` and its frames, a folder ``center``,
    ``frames`` or ``IMG``, an archive of one of these names (``.tar``, ``.tar.gz``, ``.tar.bz2`` or ``.tar.xz``), or
    ``camera.h5`` with ``log.h5``.

    Raises InputError when the log or the frames are missing or there are several.
    """
    if not folder.is_dir():
        raise InputError(folder, "no such folder", remedy="give the folder of a drive")
    logs = [folder / name for name in LOGS if (folder / name).is_file()]
    named = ("center", "frames", "IMG", "center.tar*", "frames.tar*", "IMG.tar*")
    patterns = ("camera.h5",) if logs and logs[0].suffix == ".h5" else named
    frames = sorted(path for pattern in patterns for path in folder.glob(pattern))
    for what, plural, matching, names in (
        ("log", "logs", logs, LOGS),
        ("folder or archive of frames", "folders or archives of frames", frames, patterns),
    ):
        if len(matching) > 1:
            names_of_files = ", ".join(path.name for path in matching)
            raise InputError(folder, f"has several {plural}", remedy=f"keep one of {names_of_files}")
        if not matching:
            raise InputError(folder, f"has no {what}", remedy=f"put one of {', '.join(names)} there")
    return own_drive(frames[0], logs[0])


@dataclass(frozen=True)
class ReadDrive(Step[DriveData]):
    """Read the log and its frames, strictly, and bring the frames to one size."""

    name: ClassVar[str] = "read-drive"
    height: int = 80
    width: int = 160
    gaps: str = "refuse"
    longest_gap: float = 1.0

    def __post_init__(self) -> None:
        check_choice("gaps", self.gaps, ("refuse", "divide"))

    @property
    def rule(self) -> str:
        gaps = "an error" if self.gaps == "refuse" else "where the drive is divided into two stretches"
        return (
            "Frames are in the order of the log. Steering is in degrees: in the simulator's log 1 is "
            f"{FULL_LOCK:g} degrees; angles of the challenge are radians; those of comma.ai are degrees, of the first "
            "row of the log at which a frame was the latest. Of several cameras only the centre is read. Not a finite "
            "number, rows or frames out of order, a frame that is missing, damaged or of another size than the first, "
            "and archive members outside the archive or that are links are errors; frames without a row are counted "
            f"and not used. A gap in time of over {self.longest_gap:g} s is {gaps}. {RULE} Frames are resized to "
            f"height {self.height} and width {self.width} by Pillow's bilinear interpolation with antialiasing; those "
            "of that size are not changed."
        )

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "versions": {"pillow": pillow_version}}

    def apply(self, data: DriveData, context: Context) -> tuple[DriveData, Notes]:
        files = context.corpus(self.name)
        log = files.path(LOG)
        drive = read_drive(files.path(FRAMES), log, self.resized)
        check_count(log, len(drive.rows), files.rows.get(LOG))
        seconds = np.array([row.seconds for row in drive.rows])
        steps = np.diff(seconds)
        wide = np.flatnonzero(steps > self.longest_gap)
        if len(wide) and self.gaps == "refuse":
            row = drive.rows[wide[0] + 1]
            reason = f"a gap of {steps[wide[0]]:.2f} s before this row; over {self.longest_gap:g} s is not one drive"
            remedy = "cut the log there; `preprocess driving` can also divide it (--gaps divide)"
            raise InputError(log, reason, line=row.line, remedy=remedy)
        steering = self.steering(log, drive.rows)
        split = DriveSplit(
            np.array([row.frame for row in drive.rows], np.str_),
            np.full(len(drive.rows), -1, np.int64),
            pixels=np.stack(drive.frames),
            seconds=seconds - seconds[0],
            steering=steering,
            target=steering.copy(),
            stretch=np.concatenate([[0], np.cumsum(steps > self.longest_gap)]).astype(np.int64),
        )
        facts = {
            "drive": {
                "frames": len(split),
                "frames_without_a_row": drive.unused,
                "seconds": round(float(split.seconds[-1]), 3),
                "median_interval": round(float(np.median(steps)), 3) if len(steps) else None,
                "longest_interval": round(float(steps.max()), 3) if len(steps) else None,
                "frame_before_error": round(float(np.abs(np.diff(split.steering)).mean()), 3) if len(steps) else None,
            }
        }
        warnings = [f"{drive.unused} frames have no row in {log.name} and are not used"] if drive.unused else []
        own = warnings if files.origin == "given" else []
        return DriveData({WHOLE: split}), Notes(facts=facts | self.facts, warnings=own)

    @property
    def facts(self) -> dict[str, Any]:
        """Facts that do not depend on the drive."""
        return {}

    def steering(self, log: Path, rows: Sequence[LogRow]) -> np.ndarray:
        """The steering of each row, in the unit of the target."""
        return np.array([row.steering for row in rows])

    def resized(self, image: np.ndarray) -> np.ndarray:
        """A frame (height, width, 3) uint8, resized to the size of this step."""
        return Resize(self.height, self.width).resized(image)


@dataclass(frozen=True)
class ReadInverseRadius(ReadDrive):
    """Like :class:`ReadDrive`, with the inverse of the turning radius instead of the angle of the steering wheel (Kim
    and Canny, 2017, sec. 3.1), because it depends less on the car and on its speed.

    Attributes:
        wheel_base: wheel base of the car in metres.
        steering_ratio: ratio of the angle of the steering wheel to that of the front wheels.
        slip: factor of the squared speed, in (s/m)^2. The defaults are those of comma.ai's car
            (``view_steering_model.py`` of github.com/commaai/research).
    """

    name: ClassVar[str] = "read-inverse-radius"
    wheel_base: float = 2.67
    steering_ratio: float = 15.3
    slip: float = 0.0014

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above_zero(wheel_base=self.wheel_base, steering_ratio=self.steering_ratio)
        if not 0 <= self.slip < math.inf:
            remedy = "choose 0 for a car that does not slip"
            raise ParameterError("slip", self.slip, "must be 0 or above", remedy=remedy)

    @property
    def rule(self) -> str:
        return (
            f"{super().rule} The inverse of the turning radius takes the place of the steering: angle in radians / "
            f"({self.steering_ratio:g} * {self.wheel_base:g} m * (1 + {self.slip:g} * speed^2)), speed in metres a "
            "second, in 1/km. It is the unit of steering, target and errors, also where a later rule says degrees."
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {"unit": "1/km"}

    def steering(self, log: Path, rows: Sequence[LogRow]) -> np.ndarray:
        if any(row.speed is None for row in rows):
            reason = "states no speed in metres a second, without which there is no turning radius"
            raise InputError(log, reason, remedy="choose the target degrees")
        speed = np.array([row.speed for row in rows], np.float64)
        radians = np.radians([row.steering for row in rows])
        inverse: np.ndarray = 1000 * radians / (self.steering_ratio * self.wheel_base * (1 + self.slip * speed**2))
        return inverse


@dataclass(frozen=True, eq=False, repr=False)
class DriveResult(RunResult["DrivePipeline", DriveData]):
    """Data, card and digest of one drive."""

    @property
    def splits(self) -> dict[str, DriveSplit]:
        """The splits by name, in the order train, validation, test."""
        return dict(self.data.splits)

    def inputs(self, pixels: np.ndarray) -> np.ndarray:
        """Pixels (rows, height, width, 3) of a split, or of :meth:`encode`, as float32 inputs (rows, 3, height,
        width)."""
        assert self.data.normalization is not None, "every pipeline of drives normalizes"
        return self.data.normalization(pixels)

    def encode(self, files: Sequence[bytes]) -> ImageSplit:
        """Process new frames with the same steps, one row per file, without time and steering."""
        reading = self.pipeline.steps[0]
        assert isinstance(reading, ReadDrive)
        names = [f"new {row}" for row in range(len(files))]
        images = [reading.resized(decode(name, file)) for name, file in zip(names, files, strict=True)]
        pixels = np.stack(images) if images else np.empty((0, reading.height, reading.width, 3), np.uint8)
        split = DriveSplit(np.array(names, np.str_), np.full(len(files), -1, np.int64), pixels=pixels)
        data, _ = ToHSV().apply(DriveData({"new": split}), Context())
        return data.splits["new"]


@dataclass(frozen=True)
class DrivePipeline(Pipeline[DriveData, DriveResult]):
    """A pipeline for a drive. The facts of its card are ``drive``, ``blocks`` {split: statistics of its driving},
    ``leak`` {by_block, by_frame: {nearest_frame, always_0}} in the unit of the target, and ``channels``."""

    def files(self, corpus: str | CorpusFiles) -> CorpusFiles:
        return super().files("sample driving" if corpus == "sample" else corpus)

    def empty(self) -> DriveData:
        return DriveData()

    def restored(self, arrays: Mapping[str, np.ndarray]) -> DriveData:
        return DriveData.from_arrays(arrays)

    def splits_of_card(self, data: DriveData) -> dict[str, Any]:
        return {name: {"rows": len(split)} for name, split in data.splits.items()}

    def result(self, data: DriveData, card: dict[str, Any], digest: str) -> DriveResult:
        return DriveResult(self, data, card, digest)


def write(result: DriveResult, directory: Path, *, overwrite: bool = False, page: bool = False) -> None:
    """Write a result as files, the whole directory or nothing: for each split, ``<split>.npz`` with ``pixels`` (frames,
    height, width, 3) uint8 in HSV, ``row_id``, ``seconds``, ``steering``, ``target`` and ``stretch`` (frames,);
    ``card.json``; with ``page``, also ``card.html``, the card as a web page.

    Raises InputError when the directory is not empty, unless ``overwrite`` is true and it contains an earlier result.
    """
    with result_directory(directory, overwrite=overwrite) as temporary:
        for name, split in result.splits.items():
            arrays = {column: getattr(split, column) for column in ("row_id", *COLUMNS)}
            write_arrays(temporary / f"{name}.npz", {"pixels": split.decoded, **arrays}, compressed=True)
        write_json(temporary / "card.json", result.card)
        if page:
            drive_page.write(result.card, temporary / "card.html")
