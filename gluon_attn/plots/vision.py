"""What a Vision Transformer learned, as in Figures 7 and 11 of Dosovitskiy et al. (2021)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.plots.fonts import drawable
from gluon_attn.plots.style import COLOURS, MARKERS, house_figure


def filters(components: np.ndarray, shares: np.ndarray, path: Path, *, columns: int = 7) -> None:
    """Draw the principal components of the patch embedding as RGB images, where grey is 0.

    Args:
        components: (filters, height, width, 3).
        shares: (filters,), share of the variance from 0 to 1, written above each filter.
        path: the PNG to write.
        columns: number of filters per row.

    Raises:
        UsageError: if there are no filters.
    """
    if not len(components):
        raise UsageError("filters of the patch embedding: none to draw")
    columns = min(columns, len(components))
    rows = -(-len(components) // columns)
    with house_figure(1.1 * columns, 1.3 * rows, path) as figure:
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in grid:
            axes.set_axis_off()
        for axes, component, share in zip(grid, components, shares, strict=False):
            axes.imshow(0.5 + 0.5 * component / np.abs(component).max(), interpolation="nearest")
            axes.set_title(f"{100 * share:.0f} %", loc="center", fontsize=8, pad=3)


def position_similarity(similarity: np.ndarray, path: Path) -> None:
    """Draw the cosine similarity of each position with all others, as a grid of small maps in the order of the patches.

    Args:
        similarity: (patches, patches) of a square grid.
        path: the PNG to write.

    Raises:
        UsageError: if the patches are not a square grid.
    """
    grid = round(len(similarity) ** 0.5)
    if similarity.shape != (grid * grid, grid * grid):
        raise UsageError(f"similarity of positions: {similarity.shape} is not of a square of patches")
    with house_figure(6.6, 6.0, path) as figure:
        panels = figure.subplots(grid, grid, squeeze=False).ravel()
        for axes, of_patch in zip(panels, similarity, strict=True):
            image = axes.imshow(of_patch.reshape(grid, grid), vmin=-1, vmax=1, cmap="RdBu_r", interpolation="nearest")
            axes.set_axis_off()
        figure.colorbar(image, ax=list(panels), label="cosine", shrink=0.8)


def attention_distance(distances: Mapping[str, np.ndarray], path: Path) -> None:
    """Draw the mean attention distance of each head by depth, with a colour and a marker for each network.

    Args:
        distances: for each network (layers, heads) in pixels.
        path: the PNG to write.

    Raises:
        UsageError: if there are no networks, or too many.
    """
    if not distances or len(distances) > len(COLOURS):
        raise UsageError(f"attention distance: {len(distances)} networks; draw 1 to {len(COLOURS)}")
    with house_figure(6.4, 3.9, path) as figure:
        axes = figure.subplots()
        deepest = max(len(each) for each in distances.values())
        for number, (name, of_layers) in enumerate(distances.items()):
            layer = np.repeat(np.arange(1, len(of_layers) + 1), of_layers.shape[1])
            shifted = layer + 0.12 * (number - (len(distances) - 1) / 2)
            colour, marker = COLOURS[number], MARKERS[number]
            axes.scatter(
                shifted, of_layers.ravel(), s=28, alpha=0.85, color=colour, marker=marker, label=drawable(name)
            )
        axes.set(xlabel="layer", ylabel="mean attention distance (pixels)", xticks=range(1, deepest + 1))
        axes.set_ylim(bottom=0)
        axes.legend()
