"""Equations of small matrices with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from gluon_attn.plots.fonts import drawable
from gluon_attn.plots.style import FAINT, INK, house_figure

CELL = 0.44  # inches
LETTER, GAP = 0.085, 0.16  # inches of a letter of a label, and between a sign and what is next to it
TOP, BOTTOM = 0.62, 0.3  # inches for the name above a matrix, and for its shape below

_VALUES = LinearSegmentedColormap.from_list("values", ["#f3b58f", "#ffffff", "#9cc8ea"])
_WEIGHTS = LinearSegmentedColormap.from_list("weights", ["#ffffff", "#fbe3b5", "#f0a020"])


@dataclass(frozen=True)
class Matrix:
    """One matrix of an equation.

    Attributes:
        name: the name above the matrix.
        values: (rows, columns).
        sign: the sign before the matrix, such as ``×``; words are written small, with an arrow below.
        weights: whether values are from 0 to 1, larger ones darker; otherwise positive values are blue, negative ones
            orange.
        rows, columns: labels, possibly empty.
    """

    name: str
    values: np.ndarray
    sign: str = ""
    weights: bool = False
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()

    @property
    def width(self) -> float:
        """Width in inches, including row labels and the sign before the matrix."""
        return self.sign_width + self.label_width + CELL * self.values.shape[1]

    @property
    def label_width(self) -> float:
        """Width of the row labels in inches."""
        return max((LETTER * len(label) + 0.1 for label in self.rows), default=0.0)

    @property
    def sign_width(self) -> float:
        """Width of the sign before the matrix in inches, including gaps."""
        return 2 * GAP + max(0.14, LETTER * len(self.sign)) if self.sign else 0.0


def draw(matrices: Sequence[Matrix], path: Path) -> None:
    """Draw matrices side by side, vertically centred.

    Args:
        matrices: from left to right.
        path: the PNG to write.
    """
    most = max(matrix.values.shape[0] for matrix in matrices)
    labelled = 0.5 if any(matrix.columns for matrix in matrices) else 0.0
    width, height = sum(matrix.width for matrix in matrices), CELL * most + TOP + labelled + BOTTOM
    with house_figure(width, height, path, tight=True) as figure:
        left, middle = 0.0, BOTTOM + CELL * most / 2
        for matrix in matrices:
            if matrix.sign:
                _sign(figure, matrix.sign, (left + matrix.sign_width / 2) / width, middle / height)
            left += matrix.sign_width + matrix.label_width
            rows, columns = matrix.values.shape
            box = (left, middle - CELL * rows / 2, CELL * columns, CELL * rows)
            _draw(figure.add_axes((box[0] / width, box[1] / height, box[2] / width, box[3] / height)), matrix)
            left += box[2]


def _draw(axes: Axes, matrix: Matrix) -> None:
    values = np.asarray(matrix.values, dtype=np.float64)
    rows, columns = values.shape
    shown = np.clip(values, -2, 2)
    colours, low, high = (_WEIGHTS, 0.0, 1.0) if matrix.weights else (_VALUES, -2.0, 2.0)
    axes.imshow(shown, cmap=colours, aspect="auto", vmin=low, vmax=high)
    for (row, column), value in np.ndenumerate(values):
        text = "−∞" if value < -1e9 else f"{value:.2f}".replace("-", "−")
        axes.text(column, row, text, ha="center", va="center", fontsize=8.5, color=INK)
    axes.set_xticks(range(columns) if matrix.columns else [], [drawable(label) for label in matrix.columns])
    axes.set_yticks(range(rows) if matrix.rows else [], [drawable(label) for label in matrix.rows])
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=8.5)
    axes.tick_params(axis="x", labelrotation=45)
    for label in axes.get_xticklabels():
        label.set(ha="left", rotation_mode="anchor")
    axes.spines[:].set(visible=True, color=FAINT)
    axes.grid(False)
    for position in range(1, columns):
        axes.axvline(position - 0.5, color="white", linewidth=0.8)
    for position in range(1, rows):
        axes.axhline(position - 0.5, color="white", linewidth=0.8)
    above = 38 if matrix.columns else 7
    axes.annotate(
        matrix.name,
        (0.5, 1),
        (0, above),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        fontsize=11,
    )
    shape = f"{rows} × {columns}"
    axes.annotate(
        shape,
        (0.5, 0),
        (0, -5),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=7.5,
        color="#5c6168",
    )


def _sign(figure: Figure, sign: str, x: float, y: float) -> None:
    if len(sign) == 1:
        figure.text(x, y, sign, ha="center", va="center", fontsize=14)
        return
    figure.text(x, y, sign, ha="center", va="bottom", fontsize=9)
    figure.text(x, y, "→", ha="center", va="top", fontsize=14)
