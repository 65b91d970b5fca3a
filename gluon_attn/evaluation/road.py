"""The edges of the road in a frame, found by its colour: a measure independent of any network.

It is meant for roads of a single colour, as in a simulator. In an HSV frame, the road is the area connected to the
surface in front of the car that has about the same saturation and value.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

SURFACE = (0.65, 0.82, 0.4, 0.6)
"""Top, bottom, left and right of the road surface in front of the car, as fractions of the frame. The bonnet is
below."""

TOLERANCE = (30, 45)
"""Maximum difference in saturation and value, out of 255, between a road pixel and the surface."""


def road_edges(hsv: np.ndarray) -> np.ndarray:
    """Return the pixels of a frame that are on the edge of the road.

    Args:
        hsv: (height, width, 3) uint8.

    Returns:
        (height, width) bool. The borders of the frame and pixels below the surface in front of the car are not edges.
    """
    height, width = hsv.shape[:2]
    top, bottom, left, right = (
        round(part * size) for part, size in zip(SURFACE, (height, height, width, width), strict=True)
    )
    smooth = ndimage.uniform_filter(hsv[:, :, 1:].astype(np.float64), (5, 5, 0))
    surface = np.median(smooth[top:bottom, left:right], axis=(0, 1))
    alike = (np.abs(smooth - surface) <= TOLERANCE).all(axis=2)
    parts, _ = ndimage.label(alike)
    numbers = np.bincount(parts[top:bottom, left:right].ravel())
    numbers[:1] = 0
    road = ndimage.binary_fill_holes(parts == numbers.argmax()) if numbers.any() else np.zeros_like(alike)
    edges = road & ~ndimage.binary_erosion(road, border_value=1)
    edges[bottom:] = False
    return edges


def distances_to_edges(hsv: np.ndarray, grid: tuple[int, int]) -> np.ndarray:
    """Return the distance in pixels of the centre of each cell of a grid to the nearest edge of the road, (rows *
    columns,); NaN if no edge is found.

    Args:
        hsv: (height, width, 3) uint8.
        grid: rows and columns, which divide height and width.
    """
    edges = road_edges(hsv)
    if not edges.any():
        return np.full(grid[0] * grid[1], np.nan)
    distances = ndimage.distance_transform_edt(~edges)
    rows, columns = (
        ((np.arange(count) + 0.5) * size / count).astype(int) for count, size in zip(grid, edges.shape, strict=True)
    )
    return distances[np.ix_(rows, columns)].reshape(-1)
