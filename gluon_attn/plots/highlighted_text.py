"""Texts with each word highlighted by its attention weight, as in Yang et al. (2016, Figures 5 and 6) and Lin et al.
(2017, Figures 2 to 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from gluon_attn.errors import UsageError
from gluon_attn.plots.fonts import drawable
from gluon_attn.plots.style import INK, house_figure

LINE, GAP, MARGIN = 0.24, 0.07, 0.3
"""In inches: line height, space between words, and margin for the marker of a paragraph."""

_OF_WORDS = LinearSegmentedColormap.from_list("words", ["#ffffff", "#9ecae1", "#4292c6"])
_OF_PARAGRAPHS = LinearSegmentedColormap.from_list("paragraphs", ["#ffffff", "#fdae6b", "#d94801"])


@dataclass(frozen=True)
class Paragraph:
    """Highlighted words, wrapped into lines.

    Attributes:
        words: words in order.
        shades: (words,), from 0, white, to 1, the darkest.
        shade: shade of the paragraph, from 0 to 1, drawn as a square before it; None for no square.
        heading: heading above the paragraph.
    """

    words: Sequence[str]
    shades: np.ndarray
    shade: float | None = None
    heading: str | None = None


def draw(paragraphs: Sequence[Paragraph], path: Path, title: str | None = None, *, width: float = 7.5) -> None:
    """Draw paragraphs below each other.

    Args:
        paragraphs: paragraphs from top to bottom.
        path: the PNG to write.
        title: title of the figure.
        width: width of a line in inches.

    Raises:
        UsageError: if there are no words, or if shades do not match the words or are outside 0 to 1.
    """
    if not any(len(paragraph.words) for paragraph in paragraphs):
        raise UsageError("highlighted text: no words to draw")
    for paragraph in paragraphs:
        shades = np.append(paragraph.shades, paragraph.shade or 0.0)
        if len(paragraph.shades) != len(paragraph.words) or not np.all((shades >= 0) & (shades <= 1 + 1e-6)):
            raise UsageError(f"highlighted text: {len(paragraph.words)} words need as many shades from 0 to 1")
    left = MARGIN if any(paragraph.shade is not None for paragraph in paragraphs) else 0.0
    with house_figure(width, 1, path, tight=True) as figure:
        y = 0.0
        if title:
            _write(figure, 0, y, title, fontsize=11)
            y -= 1.5 * LINE
        for paragraph in paragraphs:
            if paragraph.heading:
                _write(figure, left, y, paragraph.heading, fontsize=9, color="#5c6168")
                y -= LINE
            if paragraph.shade is not None:
                _colour(figure, (0, y, 0.2, 0.18), _OF_PARAGRAPHS(paragraph.shade))
            y = _words(figure, paragraph, left, y, width) - 1.5 * LINE


def _words(figure: Figure, paragraph: Paragraph, left: float, y: float, width: float) -> float:
    """Write the words of a paragraph starting at ``left``; return the height of its last line."""
    x = left
    for word, shade in zip(paragraph.words, paragraph.shades, strict=True):
        text = _write(figure, x, y, word, fontsize=10, color="white" if shade > 0.85 else INK)
        taken = text.get_window_extent().width / figure.dpi
        if x > left and x + taken > width:
            x, y = left, y - LINE
            text.set_position(_in_page(figure, x, y))
        _colour(figure, (x - GAP / 2, y - 0.05, taken + GAP, LINE - 0.02), _OF_WORDS(float(shade)))
        x += taken + GAP
    return y


def _write(figure: Figure, x: float, y: float, text: str, **style: Any) -> Text:
    return figure.text(*_in_page(figure, x, y), drawable(text), zorder=2, **style)


def _colour(figure: Figure, box: tuple[float, float, float, float], colour: Any) -> None:
    corner, size = _in_page(figure, *box[:2]), _in_page(figure, *box[2:])
    figure.add_artist(Rectangle(corner, *size, color=colour, linewidth=0, transform=figure.transFigure, zorder=1))


def _in_page(figure: Figure, x: float, y: float) -> tuple[float, float]:
    """Convert inches to fractions of the page. Text outside is not lost, since the page is cropped to its content."""
    width, height = figure.get_size_inches()
    return x / width, y / height
