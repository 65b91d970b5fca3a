"""Attention over an image: the image is bright at large weights and dark elsewhere (after Xu et al., 2015, Figures
2, 3 and 5, which overlay white instead)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from gluon_attn.errors import UsageError
from gluon_attn.plots.fonts import drawable
from gluon_attn.plots.style import house_figure

DARKEST = 0.18
"""Brightness, relative to the original, of an image region with weight 0."""

PANEL = 1.75
"""Width of a panel in inches."""


@dataclass(frozen=True)
class Panel:
    """One image of a figure.

    Attributes:
        image: (height, width, 3) uint8.
        weights: (rows, columns) of a grid over the whole image, not negative; None for the image without attention.
        title: title above the image.
    """

    image: np.ndarray
    weights: np.ndarray | None = None
    title: str = ""


def upsample(weights: np.ndarray, height: int, width: int) -> np.ndarray:
    """Upsample weights of a grid to a smooth map: bicubic interpolation between cell centres, clipped at 0.

    Args:
        weights: (rows, columns).
        height, width: size of the map.

    Returns:
        (height, width) float32.

    Raises:
        UsageError: if weights are not a grid, or are negative or not finite.
    """
    if weights.ndim != 2 or not weights.size or not (weights >= 0).all() or not np.isfinite(weights).all():
        reason = f"weights of shape {weights.shape} are not a grid of finite numbers of 0 or more"
        raise UsageError(f"attention over an image: {reason}; give (rows, columns)")
    grid = Image.fromarray(np.ascontiguousarray(weights, np.float32))
    smooth = np.asarray(grid.resize((width, height), Image.Resampling.BICUBIC))
    return np.maximum(smooth, 0.0)


def overlay(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Scale the brightness of an image by smooth weights, from :data:`DARKEST` for a weight of 0 to unchanged for the
    largest weight. Equal weights leave the image unchanged.

    Args:
        image: (height, width, 3) uint8.
        weights: (rows, columns) of a grid over the whole image, not negative.

    Returns:
        (height, width, 3) uint8.

    Raises:
        UsageError: as in :func:`upsample`.
    """
    height, width = image.shape[:2]
    smooth = upsample(weights, height, width)
    relative = smooth / max(float(smooth.max()), 1e-12)
    bright = image * (DARKEST + (1 - DARKEST) * relative)[:, :, None]
    return np.rint(bright).astype(np.uint8)


def draw(panels: Sequence[Panel], path: Path, title: str | None = None, *, columns: int = 6) -> None:
    """Draw images in rows. Below each image with attention is the ratio of its largest weight to the uniform weight,
    since a bright spot of 1.2 times the uniform weight would otherwise look like one of 50 times. There is no ratio if
    all weights are 0.

    Args:
        panels: panels from left to right, row by row.
        path: the PNG to write.
        title: title of the figure.
        columns: number of panels per row.

    Raises:
        UsageError: if there are no panels, or weights that cannot be drawn.
    """
    if not panels:
        raise UsageError("attention over an image: no panels to draw")
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    tallest = max(panel.image.shape[0] / panel.image.shape[1] for panel in panels)
    with house_figure(PANEL * columns, (PANEL * tallest + 0.45) * rows + (0.4 if title else 0), path) as figure:
        if title:
            figure.suptitle(drawable(title), x=0.01, ha="left", fontsize=11)
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in grid:
            axes.set_axis_off()
        for axes, panel in zip(grid, panels, strict=False):
            shown = panel.image if panel.weights is None else overlay(panel.image, panel.weights)
            axes.imshow(shown, interpolation="antialiased")
            axes.set_title(drawable(panel.title), loc="center", fontsize=9, pad=4)
            if panel.weights is not None and panel.weights.any():
                peak = float(panel.weights.max() / max(float(panel.weights.mean()), 1e-12))
                place = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "center", "va": "top"}
                axes.annotate(f"{peak:.1f} × uniform", (0.5, 0), (0, -3), fontsize=7, color="#5c6168", **place)
