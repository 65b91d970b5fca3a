"""The data of a drive: frames in the order in which they were taken, each with its time and the steering of the car."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from preprocessing.images.data import ImageData, ImageSplit
from preprocessing.pipeline.step import ordered


@dataclass(frozen=True, eq=False)
class DriveSplit(ImageSplit):
    """The frames of one split, column by column, in the order of time.

    Besides the columns of :class:`ImageSplit`, all (rows,): ``seconds`` float64 since the first frame of the drive;
    ``steering`` float64 as logged, negative to the left; ``target`` float64, what a network is to predict, both in
    degrees, or in 1/km for the target ``inverse radius``; ``stretch`` int64: rows with the same number follow each
    other without a gap, and no sequence crosses from one stretch to another.
    """

    seconds: np.ndarray = field(default_factory=lambda: np.empty(0, np.float64))
    steering: np.ndarray = field(default_factory=lambda: np.empty(0, np.float64))
    target: np.ndarray = field(default_factory=lambda: np.empty(0, np.float64))
    stretch: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    def take(self, rows: np.ndarray) -> DriveSplit:
        """The rows with these numbers."""
        columns = {name: getattr(self, name)[rows] for name in ("row_id", "label", *COLUMNS)}
        return replace(self, **columns, files=(), pixels=self.decoded[rows])

    @property
    def stretches(self) -> list[np.ndarray]:
        """The row numbers of each stretch, in the order of time."""
        starts = np.flatnonzero(np.diff(self.stretch)) + 1
        return np.split(np.arange(len(self)), starts) if len(self) else []


COLUMNS = tuple(item.name for item in fields(DriveSplit) if item.name not in ImageSplit.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class DriveData(ImageData):
    """All splits of a drive, each a :class:`DriveSplit`, and the normalization of its frames."""

    splits: Mapping[str, DriveSplit] = field(default_factory=dict)

    def finished(self) -> DriveData:
        return replace(self, splits={name: self.splits[name] for name in ordered(self.splits)})

    def without_rows(self) -> DriveData:
        return replace(self, splits={})

    def to_arrays(self) -> dict[str, np.ndarray]:
        arrays = super().to_arrays()
        for name, split in self.splits.items():
            arrays |= {f"{name}.{column}": getattr(split, column) for column in COLUMNS}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> DriveData:
        plain = ImageData.from_arrays(arrays)
        splits = {
            name: DriveSplit(
                split.row_id,
                split.label,
                (),
                split.pixels,
                **{column: arrays[f"{name}.{column}"] for column in COLUMNS},
            )
            for name, split in plain.splits.items()
        }
        return cls(splits, plain.normalization)
