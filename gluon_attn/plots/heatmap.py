"""Heatmaps of attention weights of a text or sentence pair: queries as rows, keys as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike

from gluon_attn.errors import UsageError
from gluon_attn.plots.fonts import drawable
from gluon_attn.plots.style import COLOURS, FAINT, INK, house_figure

LONGEST_MATRIX = 80
"""Maximum number of tokens on a side of a matrix; with more, labels are unreadable."""
LONGEST_LABEL = 14
"""Maximum number of characters of a label; longer tokens are cut."""
BETWEEN = 2.9
"""Space between two matrices in inches, for a colour bar and labels."""


def fits(weights: ArrayLike) -> bool:
    """Whether a matrix (queries, keys) is small enough to be drawn."""
    return max(np.shape(weights)) <= LONGEST_MATRIX


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix of attention weights.

    Attributes:
        tokens_query: labels of the rows, from top to bottom.
        tokens_key: labels of the columns.
        weights: (queries, keys), each row a distribution.
        title: title above the matrix, or None.
        masked: (queries, keys) of bool, pairs excluded by the mask, such as a word and later ones; drawn grey, not as
            0 %.

    Raises:
        UsageError: if shapes disagree, weights are outside 0 to 1, or there are no tokens or too many to read.
    """

    tokens_query: Sequence[str]
    tokens_key: Sequence[str]
    weights: np.ndarray
    title: str | None = None
    masked: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.asarray(self.weights, dtype=np.float64))
        rows, columns = self.shape
        if self.weights.shape != (rows, columns) or not self.weights.size:
            raise UsageError(f"attention matrix: weights {self.weights.shape} for {rows} queries and {columns} keys")
        if not fits(self.weights):
            raise UsageError(
                f"attention matrix: {max(rows, columns)} tokens cannot be read; draw at most {LONGEST_MATRIX}"
            )
        if not np.all((self.weights >= 0) & (self.weights <= 1 + 1e-4)):
            raise UsageError("attention matrix: weights outside 0 to 1")

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.tokens_query), len(self.tokens_key)

    @property
    def percent(self) -> np.ma.MaskedArray[Any, Any]:
        """The weights in per cent, without those that the mask excludes."""
        return np.ma.masked_array(100 * self.weights, False if self.masked is None else self.masked)

    @property
    def uniform(self) -> float:
        """The uniform weight over the keys that are drawn, in per cent."""
        return 100 / len(self.tokens_key)

    @property
    def darkest(self) -> float:
        """The weight with the darkest colour, in per cent. A scale that ends at the largest weight would make nearly
        uniform attention as dark as sharp attention."""
        return max(float(self.percent.max()), min(100.0, 4 * self.uniform))

    @property
    def is_numbered(self) -> bool:
        """Whether there is room for the weights as numbers."""
        return max(self.shape) <= 24

    @property
    def inches(self) -> tuple[float, float]:
        """Height and width of the axes."""
        rows, columns = self.shape
        cell = 0.42 if self.is_numbered else 0.2
        return rows * cell, columns * cell


def attention_matrix(
    tokens_query: Sequence[str],
    tokens_key: Sequence[str],
    weights: np.ndarray,
    path: Path,
    title: str | None = None,
    *,
    axis_labels: tuple[str, str] = ("query", "key"),
    masked: np.ndarray | None = None,
) -> None:
    """Draw one :class:`Matrix`; see :func:`attention_matrices`."""
    attention_matrices([Matrix(tokens_query, tokens_key, weights, title, masked)], path, axis_labels=axis_labels)


def attention_matrices(
    matrices: Sequence[Matrix], path: Path, *, axis_labels: tuple[str, str] = ("query", "key")
) -> None:
    """Draw attention weights as matrices side by side: one row per query and one column per key, in per cent of the
    row.

    Cells show their number if there are at most 24 on a side. All matrices have one colour scale. The colour bar marks
    the uniform weight, one over the number of keys, which is the weight of a model that attends to nothing in
    particular. It is not marked if a mask makes the number of keys differ by query, or if rows sum to less than one
    because some keys are not shown.

    Args:
        matrices: matrices from left to right.
        path: the PNG to write.
        axis_labels: labels of rows and columns.

    Raises:
        UsageError: if there are no matrices.
    """
    if not matrices:
        raise UsageError("attention matrices: none to draw")
    height = max(matrix.inches[0] for matrix in matrices)
    lefts = [0.0]
    for matrix in matrices:
        lefts.append(lefts[-1] + matrix.inches[1] + BETWEEN)
    width = lefts.pop() - BETWEEN if len(matrices) > 1 else matrices[0].inches[1]
    darkest = max(matrix.darkest for matrix in matrices)
    # Axes have an exact size; the page grows with the size of the labels.
    with house_figure(width, height, path, tight=True) as figure:
        for left, matrix in zip(lefts, matrices, strict=False):
            _draw(figure, matrix, darkest, left, (width, height), axis_labels)


def _draw(
    figure: Figure,
    matrix: Matrix,
    darkest: float,
    left: float,
    page: tuple[float, float],
    axis_labels: tuple[str, str],
) -> None:
    """Draw a matrix at the top of a page of (width, height), ``left`` inches from its left edge; ``darkest`` per cent
    have the darkest colour."""
    (rows, columns), (height, width), (page_width, page_height) = matrix.shape, matrix.inches, page
    percent = matrix.percent
    axes = figure.add_axes((left / page_width, 1 - height / page_height, width / page_width, height / page_height))
    image = axes.imshow(percent, cmap=_paper(), vmin=0, vmax=darkest, aspect="auto")
    axes.set_xticks(range(columns), _labels(matrix.tokens_key), rotation=45, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(rows), _labels(matrix.tokens_query))
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=11 if matrix.is_numbered else 8)
    axes.set(xlabel=axis_labels[1], ylabel=axis_labels[0])
    axes.spines[:].set(visible=True, color=FAINT)
    axes.set_facecolor("#e9ebee")
    axes.grid(False)
    axes.set_xticks(np.arange(1, columns) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, rows) - 0.5, minor=True)
    axes.grid(which="minor", axis="both", color="white", linewidth=0.8)
    axes.tick_params(which="minor", length=0)
    if matrix.is_numbered:
        _number_cells(axes, percent, darkest)
    bar_height = max(height, 1.6)
    bar_axes = figure.add_axes(
        (
            (left + width) / page_width + 0.25 / page_width,
            1 - bar_height / page_height,
            0.14 / page_width,
            bar_height / page_height,
        )
    )
    bar = figure.colorbar(image, cax=bar_axes)
    bar.set_label("attention weight (%)")
    bar_axes.spines["outline"].set_edgecolor(FAINT)
    if matrix.masked is None and np.all(matrix.weights.sum(axis=1) > 0.98):
        _mark_uniform(bar_axes, matrix.uniform)
    if matrix.title:
        axes.annotate(
            drawable(matrix.title),
            (0, 1),
            (0, 10),
            xycoords=_above(axes),
            textcoords="offset points",
            fontsize=12,
            va="bottom",
        )


def _above(axes: Axes) -> Callable[[RendererBase], Bbox]:
    """A box for annotations: as wide as the axes, up to the top of their tick labels."""

    def box(renderer: RendererBase) -> Bbox:
        frame = axes.get_window_extent(renderer)
        top = axes.xaxis.get_tightbbox(renderer)
        return Bbox.from_extents(frame.x0, frame.y0, frame.x1, frame.y1 if top is None else max(frame.y1, top.y1))

    return box


def _labels(tokens: Sequence[str]) -> list[str]:
    return [drawable(token if len(token) <= LONGEST_LABEL else token[: LONGEST_LABEL - 1] + "…") for token in tokens]


def _mark_uniform(bar_axes: Axes, uniform: float) -> None:
    """Mark the uniform weight, in per cent, on a colour bar."""
    bar_axes.plot(
        -0.35, uniform, ">", markersize=6, color=COLOURS[1], clip_on=False, transform=bar_axes.get_yaxis_transform()
    )
    bar_axes.annotate(
        f"▸ uniform: {uniform:.1f} %",
        (-0.6, 0),
        (0, -9),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize=8.5,
        color=COLOURS[1],
    )


def _number_cells(axes: Axes, percent: np.ma.MaskedArray[Any, Any], darkest: float) -> None:
    """Write each weight into its cell, dark on light and light on dark."""
    spread = percent.max() - percent.min()
    for (row, column), value in np.ma.ndenumerate(percent):
        # Near-uniform weights differ only after the decimal point.
        text = f"{value:.0f}" if spread >= 10 else f"{value:.1f}"
        dark = value > 0.5 * darkest
        axes.text(column, row, text, ha="center", va="center", fontsize=8.5, color="white" if dark else INK)


def _paper() -> LinearSegmentedColormap:
    """White to dark blue in even steps of CIE lightness from 100 to 20, so that darkness is proportional to weight."""
    steps = [(0.0, "#ffffff"), (0.166, "#c6dbef"), (0.4, "#6baed6"), (0.68, "#2171b5"), (1.0, "#08306b")]
    return LinearSegmentedColormap.from_list("paper", steps)
