"""Causal filtering of test frames: which attended regions change the steering, and how far regions are from the edges
of the road."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from mxnet import nd

from gluon_attn.evaluation.causal_filtering import Region, causal_regions, kept_weights
from gluon_attn.evaluation.road import distances_to_edges
from gluon_attn.training.drives import Frames, Predictions, Stretch, stretches
from preprocessing.images.drive_data import DriveSplit
from preprocessing.images.drive_steps import to_rgb
from reproductions.html.embedded_images import as_text, compressed

EVERY = 2
"""One frame in this many is filtered, and shown on the page of the test drive."""

SHOWN = 6
"""Number of frames in the figure: the sharpest turns, at least :data:`APART` frames apart."""

APART = 40
"""Minimum number of frames between two frames of the figure: 4 s at 10 frames per second."""

_BATCH = 64
_QUALITY = 70


@dataclass(frozen=True)
class FilteredFrames:
    """Results for the filtered test frames: arrays and examples of the outcome, and data for the page."""

    arrays: dict[str, np.ndarray]
    examples: dict[str, Any]
    texts: dict[str, np.ndarray]


def filtered(
    model: Any,
    frames: Frames,
    split: DriveSplit,
    predictions: Predictions,
    item: np.ndarray,
    *,
    steps: int,
    density: float,
    least_effect: float,
) -> FilteredFrames:
    """Filter one test frame in :data:`EVERY`.

    Arrays by region (regions,): ``region_item`` int32, the test item of its frame; and as float32 ``region_weight``,
    ``region_effect`` in degrees, and ``region_distance`` in pixels, the weighted mean over its cells, NaN if there is
    no edge. Further arrays are ``least_effect`` (1,) and ``regions_by_frame`` (filtered frames,). The examples
    ``frames`` are turns as JPEG with all weights and with the kept weights.
    """
    assert predictions.weights is not None
    grid = model.grid
    regions: dict[int, list[Region]] = {}
    for stretch in stretches(model, frames, steps=steps, state_units=model.state_units):
        rows = np.arange(0, len(stretch.rows), EVERY)
        weights = stretch.weights[rows]
        each = causal_regions(weights, grid, _Steering(model, stretch, rows), density)
        regions |= dict(zip(stretch.rows[rows].tolist(), each, strict=True))
    columns: list[tuple[float, ...]] = []
    for row, own in regions.items():
        distances = distances_to_edges(split.decoded[row], grid) if own else np.empty(0)
        for region in own:
            weights = predictions.weights[row][region.cells]
            distance = float((weights * distances[region.cells]).sum() / weights.sum())
            columns.append((item[row], region.weight, region.effect, distance))
    table = np.array(columns, np.float64).reshape(-1, 4)
    arrays = {
        "region_item": table[:, 0].astype(np.int32),
        "region_weight": table[:, 1].astype(np.float32),
        "region_effect": table[:, 2].astype(np.float32),
        "region_distance": table[:, 3].astype(np.float32),
        "regions_by_frame": np.array([len(own) for own in regions.values()], np.int32),
        "least_effect": np.array([least_effect], np.float32),
    }
    kept = {row: kept_weights(predictions.weights[row], own, least_effect) for row, own in regions.items()}
    examples = {"grid": list(grid), "frames": _turns(split, predictions, kept)}
    return FilteredFrames(arrays, examples, _page_arrays(split, predictions, kept, grid))


class _Steering:
    """Steers frames of a stretch with weights other than the network's own."""

    def __init__(self, model: Any, stretch: Stretch, rows: np.ndarray) -> None:
        self._model, self._stretch, self._rows = model, stretch, rows

    def __call__(self, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        stretch, parts = self._stretch, []
        for first in range(0, len(numbers), _BATCH):
            rows = self._rows[numbers[first : first + _BATCH]]
            values = (weights[first : first + _BATCH], stretch.features[rows], stretch.h[rows], stretch.c[rows])
            parts.append(self._model.steer(*(nd.array(value) for value in values)).asnumpy())
        return np.concatenate(parts)


def _turns(split: DriveSplit, predictions: Predictions, kept: dict[int, np.ndarray]) -> list[dict[str, Any]]:
    """Return the filtered frames with the largest targets, no two of them close to each other, in temporal order."""
    chosen: list[int] = []
    for row in sorted(kept, key=lambda row: (-abs(float(split.target[row])), row)):
        if len(chosen) < SHOWN and all(abs(row - other) >= APART for other in chosen):
            chosen.append(row)
    assert predictions.weights is not None
    return [
        {
            "frame": str(split.row_id[row]),
            "jpeg": as_text(_jpeg(split.decoded[row])),
            "target": round(float(split.target[row]), 3),
            "degrees": round(float(predictions.degrees[row]), 3),
            "weights": np.round(predictions.weights[row].astype(float), 6).tolist(),
            "kept": np.round(kept[row].astype(float), 6).tolist(),
        }
        for row in sorted(chosen)
    ]


def _page_arrays(
    split: DriveSplit, predictions: Predictions, kept: dict[int, np.ndarray], grid: tuple[int, int]
) -> dict[str, np.ndarray]:
    """Return the filtered frames as JPEG, with their weights relative to the largest of each frame."""
    assert predictions.weights is not None
    rows = np.array(list(kept))
    files = [_jpeg(split.decoded[row]) for row in rows]
    weights = predictions.weights[rows]
    scale = 255 / weights.max(axis=1, keepdims=True)
    return {
        "jpeg": np.frombuffer(b"".join(files), np.uint8),
        "jpeg_offsets": np.cumsum([0, *map(len, files)]),
        "weights": np.rint(weights * scale).astype(np.uint8),
        "kept": np.rint(np.stack([kept[row] for row in rows]) * scale).astype(np.uint8),
        "seconds": split.seconds[rows],
        "target": split.target[rows],
        "degrees": predictions.degrees[rows],
        "grid": np.array(grid),
    }


def _jpeg(hsv: np.ndarray) -> bytes:
    return compressed(to_rgb(hsv[None])[0], "jpeg", quality=_QUALITY)
