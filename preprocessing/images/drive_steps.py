"""The steps that any drive can use: conversion of colours to HSV, smoothing of targets over time, splits by blocks of
time, and a measure of what a split by frame would leak."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from PIL import Image, __version__ as pillow_version

from preprocessing.errors import InputError, check_positive
from preprocessing.images.drive_data import DriveData, DriveSplit
from preprocessing.pipeline.step import SPLITS, Context, Dropped, Notes, Step

WHOLE = "drive"
"""Name of the split before blocks are assigned to train, validation and test."""


@dataclass(frozen=True)
class ToHSV(Step[DriveData]):
    """Convert colours to hue, saturation and value."""

    name: ClassVar[str] = "hsv"
    for_new_rows: ClassVar[bool] = True

    @property
    def rule(self) -> str:
        return (
            "RGB becomes HSV by Pillow's conversion, in 8 bits: hue 0 to 255 for the full circle, saturation and value "
            "0 to 255."
        )

    def parameters(self) -> dict[str, Any]:
        return {"versions": {"pillow": pillow_version}}

    def apply(self, data: DriveData, context: Context) -> tuple[DriveData, Notes]:
        splits = {name: replace(split, pixels=to_hsv(split.decoded)) for name, split in data.splits.items()}
        return replace(data, splits=splits), Notes()


def to_hsv(pixels: np.ndarray) -> np.ndarray:
    """RGB (rows, height, width, 3) uint8 as HSV of the same shape."""
    return _converted(pixels, "RGB", "HSV")


def to_rgb(pixels: np.ndarray) -> np.ndarray:
    """HSV (rows, height, width, 3) uint8 as RGB of the same shape; a round trip through HSV changes values by a few
    units."""
    return _converted(pixels, "HSV", "RGB")


def _converted(pixels: np.ndarray, source: str, target: str) -> np.ndarray:
    images = [np.asarray(Image.fromarray(image, source).convert(target)) for image in pixels]
    return np.stack(images) if images else pixels


@dataclass(frozen=True)
class SmoothSteering(Step[DriveData]):
    """Smooth the logged steering, so that a network does not have to predict jerks of the hand."""

    name: ClassVar[str] = "smooth"
    factor: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.factor <= 1:
            where = f"smoothing factor {self.factor}"
            raise InputError(where, "must be above 0 and at most 1", remedy="1 leaves the steering as it is")

    @property
    def rule(self) -> str:
        return (
            f"The target of a frame is {self.factor:g} times its steering plus {1 - self.factor:g} times the target of "
            "the frame before (single exponential smoothing); that of the first frame of a stretch is its steering. "
            "The target so follows the steering by "
            f"{(1 - self.factor) / self.factor:.1f} frames on average. It depends on earlier frames only."
        )

    def apply(self, data: DriveData, context: Context) -> tuple[DriveData, Notes]:
        splits = {}
        for name, split in data.splits.items():
            target = np.empty(len(split))
            for rows in split.stretches:
                target[rows] = smoothed(split.steering[rows], self.factor)
            splits[name] = replace(split, target=target)
        return replace(data, splits=splits), Notes()


def smoothed(values: np.ndarray, factor: float) -> np.ndarray:
    """Single exponential smoothing of one or more successive values (rows,)."""
    result = [float(values[0])]
    for value in values[1:].tolist():
        result.append(factor * value + (1 - factor) * result[-1])
    return np.array(result)


@dataclass(frozen=True)
class Blocks(Step[DriveData]):
    """Divide a drive into blocks of time, and distribute these among the splits.

    Attributes:
        seconds: length of a block.
        gap: seconds that are left out where a block of one split follows one of another.
        cycle: the splits of successive blocks, repeated to the end of the drive.
    """

    name: ClassVar[str] = "blocks"
    seconds: float = 20.0
    gap: float = 2.0
    cycle: tuple[str, ...] = ("train", "train", "validation", "train", "test")

    def __post_init__(self) -> None:
        if not 0 < self.seconds < math.inf or not 0 <= self.gap < self.seconds:
            where = f"blocks of {self.seconds:g} s with a gap of {self.gap:g} s"
            remedy = "choose a block above 0 s, not infinite, and a gap from 0 s to less than the block"
            raise InputError(where, "impossible lengths", remedy=remedy)
        if not self.cycle or set(self.cycle) - set(SPLITS):
            raise InputError(f"cycle {self.cycle}", "names no known splits", remedy=f"choose from {', '.join(SPLITS)}")

    @property
    def rule(self) -> str:
        return (
            f"The drive is cut into blocks of {self.seconds:g} s, by the time since its first frame; a gap in time "
            f"does not move their bounds. Successive blocks are {', '.join(self.cycle)}, and so on. Where a block "
            f"follows one of another split, its first {self.gap:g} s are left out: frames of different splits are "
            "further apart than that. Blocks of one split that follow each other are one stretch."
        )

    def apply(self, data: DriveData, context: Context) -> tuple[DriveData, Notes]:
        drive = data.splits[WHOLE]
        # Differences of times such as 8.2 - 8 are not exact in floating point; whole microseconds are.
        seconds = np.rint(1e6 * drive.seconds)
        block = np.floor(seconds / (1e6 * self.seconds)).astype(np.int64)
        split_of = np.array([SPLITS.index(name) for name in self.cycle])
        split = split_of[block % len(self.cycle)]
        before = np.where(block > 0, split_of[(block - 1) % len(self.cycle)], split)
        in_gap = (before != split) & (seconds - block * (1e6 * self.seconds) < 1e6 * self.gap)
        stretch = _stretches(drive.stretch, split, in_gap)
        drive = replace(drive, stretch=stretch)
        splits, dropped = {}, []
        for index, name in enumerate(SPLITS):
            if name not in self.cycle:
                continue
            rows = np.flatnonzero((split == index) & ~in_gap)
            if not len(rows):
                where = f"{drive.seconds[-1]:.0f} s of driving" if len(drive) else "no frames"
                remedy = "drive longer; `preprocess driving` can also cut shorter blocks (--block)"
                raise InputError(where, f"nothing is left for {name}", remedy=remedy)
            splits[name] = drive.take(rows)
            left_out = np.flatnonzero((split == index) & in_gap)
            if len(left_out):
                examples = drive.row_id[left_out[:3]].tolist()
                dropped.append(Dropped(name, "in the gap after a block of another split", len(left_out), examples))
        facts = {"blocks": {name: _survey(splits[name]) for name in splits}}
        return replace(data, splits=splits), Notes(facts=facts, dropped=dropped)


def _stretches(stretch: np.ndarray, split: np.ndarray, in_gap: np.ndarray) -> np.ndarray:
    """Stretches (rows,) counted from 0, divided where the split changes or rows are left out."""
    state = np.stack([stretch, split, in_gap])
    changes = (state[:, 1:] != state[:, :-1]).any(axis=0)
    return np.concatenate([[0], np.cumsum(changes)]).astype(np.int64)


def _survey(split: DriveSplit) -> dict[str, Any]:
    """Statistics of the driving in a split, rounded to three digits."""
    target = np.abs(split.target)
    return {
        "frames": len(split),
        "stretches": len(split.stretches),
        "seconds": round(sum(float(np.ptp(split.seconds[rows])) for rows in split.stretches), 3),
        "mean_absolute_steering": round(float(np.abs(split.steering).mean()), 3),
        "steering_exactly_0": round(float((split.steering == 0).mean()), 3),
        "mean_absolute_target": round(float(target.mean()), 3),
        "largest_absolute_target": round(float(target.max()), 3),
    }


@dataclass(frozen=True)
class MeasureLeak(Step[DriveData]):
    """Measure what a split by frame would leak."""

    name: ClassVar[str] = "measure-leak"
    rows: int = 10
    columns: int = 20

    def __post_init__(self) -> None:
        check_positive(rows=self.rows, columns=self.columns)

    @property
    def rule(self) -> str:
        return (
            "Changes nothing. Each test frame gets the target of the training frame that is most similar: the smallest "
            f"Euclidean distance of the value channel, summed over a grid of {self.rows} x {self.columns} cells. The "
            "mean absolute error of that in degrees is stated for the blocks, and for the same frames divided at "
            "random (NumPy's RandomState(0)) into splits of the same sizes; next to it that of always 0."
        )

    def apply(self, data: DriveData, context: Context) -> tuple[DriveData, Notes]:
        if not {"train", "test"} <= data.splits.keys():
            return data, Notes()
        train, test = data.splits["train"], data.splits["test"]
        features = np.concatenate([self._features(split.decoded) for split in (train, test)])
        target = np.concatenate([train.target, test.target])
        numbers = np.arange(len(target))
        shuffled = np.random.RandomState(0).permutation(len(target))
        facts = {
            name: _nearest_error(features, target, order[: len(train)], order[len(train) :])
            for name, order in (("by_block", numbers), ("by_frame", shuffled))
        }
        return data, Notes(facts={"leak": facts})

    def _features(self, pixels: np.ndarray) -> np.ndarray:
        """Sums of the value channel over each cell of the grid, (rows, cells), whole numbers."""
        height, width = pixels.shape[1] // self.rows, pixels.shape[2] // self.columns
        if not height or not width:
            size = f"{pixels.shape[2]} x {pixels.shape[1]}"
            raise InputError(f"frames of {size} pixels", "are too small for the grid", remedy="choose larger ones")
        value = pixels[:, : height * self.rows, : width * self.columns, 2].astype(np.float64)
        cells = value.reshape(len(pixels), self.rows, height, self.columns, width)
        return cells.sum(axis=(2, 4)).reshape(len(pixels), -1)


_ROWS = 256  # test frames compared at a time: all distances of a long drive would need gigabytes


def _nearest_error(features: np.ndarray, target: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """Errors, in the unit of the target, of predicting the target of the nearest training frame and of always
    predicting 0, rounded to three digits. Features are whole numbers, so that sums of their products are exact in any
    order."""
    squares = (features**2).sum(axis=1)
    known, nearest = features[train].T, np.empty(len(test))
    for start in range(0, len(test), _ROWS):
        rows = slice(start, start + _ROWS)
        distances = squares[train] - 2 * features[test[rows]] @ known
        nearest[rows] = target[train][distances.argmin(axis=1)]
    return {
        "nearest_frame": round(float(np.abs(nearest - target[test]).mean()), 3),
        "always_0": round(float(np.abs(target[test]).mean()), 3),
    }
