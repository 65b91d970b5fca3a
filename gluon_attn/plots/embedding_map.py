"""Word vectors in two dimensions: words with similar vectors are near each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from gluon_attn.errors import UsageError
from gluon_attn.plots.fonts import drawable
from gluon_attn.plots.style import COLOURS, FAINT, house_figure

MOST_GROUPS, MOST_WORDS = 12, 120
"""Limits for a readable figure."""
_ROOM = (5.0, 3.0)  # pixels between words, and between lines


def word_map(groups: Sequence[Sequence[str]], positions: np.ndarray, path: Path, title: str) -> None:
    """Draw groups of words in two dimensions, each at its position, or next to it if words would overlap. The first
    word of a group is larger, and lines connect the others to it.

    Args:
        groups: words; the first of each group is the one that the others are neighbours of. Colours repeat after seven
            groups.
        positions: (words of all groups in order, 2).
        path: the PNG to write.
        title: title of the figure.

    Raises:
        UsageError: if there are no words, too many to read, or a different number of positions.
    """
    words = [word for group in groups for word in group]
    if not words or not all(groups) or len(groups) > MOST_GROUPS or len(words) > MOST_WORDS:
        limits = f"{MOST_GROUPS} groups and {MOST_WORDS} words"
        raise UsageError(f"word map: {len(groups)} groups, {len(words)} words; draw some, none empty, at most {limits}")
    if positions.shape != (len(words), 2):
        raise UsageError(f"word map: positions {positions.shape} for {len(words)} words")
    with house_figure(11, 8, path) as figure:
        axes = figure.subplots()
        axes.set(title=drawable(title), xticks=[], yticks=[])
        axes.grid(False)
        axes.spines[:].set(visible=True, color=FAINT)
        first = np.cumsum([0, *map(len, groups)])
        texts = []
        for number, group in enumerate(groups):
            for rank, word in enumerate(group):
                texts.append(
                    axes.text(
                        0,
                        0,
                        drawable(word),
                        color=COLOURS[number % len(COLOURS)],
                        fontsize=9.5 if rank else 14,
                        ha="center",
                        va="center",
                        zorder=3,
                    )
                )
        moved = _readable(axes, texts, positions)
        for text, position in zip(texts, moved, strict=True):
            text.set_position(tuple(position))
        for number, group in enumerate(groups):
            own = moved[first[number] : first[number] + len(group)]
            for position in own[1:]:
                axes.plot(*zip(own[0], position, strict=True), color=COLOURS[number % len(COLOURS)], alpha=0.22, lw=0.8)


def _readable(axes: Axes, texts: Sequence[Text], positions: np.ndarray) -> np.ndarray:
    """Return positions (words, 2) at which no text covers another; sets the limits of the axes to include them."""
    figure = axes.figure
    assert isinstance(figure, Figure) and isinstance(figure.canvas, FigureCanvasAgg)
    moved = positions.astype(np.float64)
    for _ in range(4):  # wider limits move words nearer to each other on the page
        low, high = moved.min(axis=0), moved.max(axis=0)
        around = 0.06 * np.maximum(high - low, 1e-6)
        axes.set(xlim=(low[0] - around[0], high[0] + around[0]), ylim=(low[1] - around[1], high[1] + around[1]))
        figure.draw_without_rendering()  # computes the layout, so that pixels are those of the image
        boxes = [text.get_window_extent(figure.canvas.get_renderer()) for text in texts]
        sizes = np.array([(box.width, box.height) for box in boxes])
        on_paper = pushed_apart(axes.transData.transform(moved), sizes + _ROOM)
        moved = axes.transData.inverted().transform(on_paper)
    return moved


def pushed_apart(centres: np.ndarray, sizes: np.ndarray, *, rounds: int = 500) -> np.ndarray:
    """Move boxes with the given centres (boxes, 2) and sizes (boxes, 2) apart until none overlap, or for ``rounds``
    rounds; two overlapping boxes each move half of the shortest distance. Returns the centres."""
    centres = centres.astype(np.float64).copy()
    reach = (sizes[:, None] + sizes) / 2
    # Boxes with the same centre move apart in their order.
    order = np.sign(np.arange(len(sizes))[:, None] - np.arange(len(sizes)))
    for _ in range(rounds):
        between = centres[:, None] - centres
        over = reach - np.abs(between)
        np.einsum("iij->ij", over)[:] = 0.0
        touching = (over > 1e-6).all(axis=2)
        if not touching.any():
            break
        axis = over.argmin(axis=2)
        by = np.take_along_axis(over, axis[..., None], axis=2)[..., 0]
        way = np.sign(np.take_along_axis(between, axis[..., None], axis=2)[..., 0])
        step = 0.5 * by * np.where(way == 0, order, way) * touching
        centres[:, 0] += (step * (axis == 0)).sum(axis=1)
        centres[:, 1] += (step * (axis == 1)).sum(axis=1)
    return centres
