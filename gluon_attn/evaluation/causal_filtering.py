"""Causal filtering: which attended regions of a frame change the output (Kim and Canny, 2017, section 3.4).

Attention shows what a network reads, not what it uses. Therefore the attended cells of the grid are clustered into
regions, each region is masked in turn, and only regions whose mask changes the steering are kept.

The paper draws particles from the attention map and clusters them. Here the cells themselves are clustered with their
weights, which is the limit of many particles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import DBSCAN

RADIUS = 1.5
"""Distance up to which two cells are neighbours: the eight cells around one."""

NEIGHBOURHOOD = 9
_SAMPLES = 1000  # samples of a cell with the uniform weight


@dataclass(frozen=True)
class Region:
    """An attended region of a frame.

    Attributes:
        cells: indices of its cells in the grid, row by row.
        weight: sum of their attention weights.
        effect: absolute change of the steering without them.
    """

    cells: np.ndarray
    weight: float
    effect: float


def attended_regions(weights: np.ndarray, grid: tuple[int, int], density: float = 1.5) -> list[np.ndarray]:
    """Cluster the attended cells of a frame by DBSCAN (Ester et al., 1996).

    Cells with more than the uniform weight are clustered. A cell is the core of a region if it and its eight neighbours
    have on average at least ``density`` times the uniform weight; those that are not clustered, or are outside the
    grid, count as 0.

    Args:
        weights: (cells,), not negative, row by row.
        grid: rows and columns.
        density: threshold as a multiple of the uniform weight.

    Returns:
        The cells of each region, ordered by the first core cell of each; no regions if attention is nearly uniform.
    """
    relative = weights * len(weights) / max(float(weights.sum()), 1e-12)
    cells = np.flatnonzero(relative > 1)
    if not len(cells):
        return []
    positions = np.stack(np.divmod(cells, grid[1]), axis=1)
    # DBSCAN counts whole samples.
    samples = np.rint(_SAMPLES * relative[cells])
    clusters = DBSCAN(eps=RADIUS, min_samples=round(_SAMPLES * density * NEIGHBOURHOOD), algorithm="brute")
    labels = clusters.fit_predict(positions, sample_weight=samples)
    return [cells[labels == label] for label in range(labels.max() + 1)]


def causal_regions(
    weights: np.ndarray,
    grid: tuple[int, int],
    steer: Callable[[np.ndarray, np.ndarray], np.ndarray],
    density: float = 1.5,
) -> list[list[Region]]:
    """Return the attended regions of frames, each with the effect of masking it.

    Args:
        weights: (frames, cells).
        grid: rows and columns of the cells.
        steer: (frame numbers (n,), weights (n, cells)) -> steering (n,) of the network with these weights instead of
            its own; weights of a masked region are 0, the others are unchanged.
        density: see :func:`attended_regions`.

    Returns:
        The regions of each frame.
    """
    attended = [(frame, cells) for frame, own in enumerate(weights) for cells in attended_regions(own, grid, density)]
    regions: list[list[Region]] = [[] for _ in weights]
    if not attended:
        return regions
    frames = np.array([frame for frame, _ in attended])
    masked = weights[frames]
    for row, (_, cells) in enumerate(attended):
        masked[row, cells] = 0
    numbers = np.arange(len(weights))
    unmasked = steer(numbers, weights)
    effects = np.abs(steer(frames, masked) - unmasked[frames])
    for (frame, cells), effect in zip(attended, effects.tolist(), strict=True):
        regions[frame].append(Region(cells, float(weights[frame, cells].sum()), effect))
    return regions


def kept_weights(weights: np.ndarray, regions: Sequence[Region], least: float) -> np.ndarray:
    """Return the weights (cells,) of the regions whose effect is at least ``least``, 0 elsewhere."""
    filtered = np.zeros_like(weights)
    for region in regions:
        if region.effect >= least:
            filtered[region.cells] = weights[region.cells]
    return filtered
