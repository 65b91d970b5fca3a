"""How all figures look, and how one is written.

The bytes of a PNG depend on what is drawn, the font and the version of matplotlib alone: no date, no user settings, no
state of pyplot. Colours are Okabe and Ito's, which people with any colour vision can tell apart
(https://jfly.uni-koeln.de/color/). Korean is drawn with :func:`.fonts.hangul_font`; a character that no font at hand
can draw appears as its code point, ``U+1F9E1``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from gluon_attn.files import atomic_file
from gluon_attn.plots.fonts import HANGUL, register_hangul

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, FAINT = "#26282b", "#d5d9de"

_STYLE: dict[str, Any] = {
    "font.family": [HANGUL, "DejaVu Sans"],
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.labelsize": 10,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#80868d",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.unicode_minus": False,
    "grid.color": "#e6e8eb",
    "grid.linewidth": 0.8,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": "#5c6168",
    "ytick.color": "#5c6168",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "figure.dpi": 150,
    "savefig.dpi": 150,
}


@contextmanager
def house_figure(width: float, height: float, path: Path, *, tight: bool = False) -> Iterator[Figure]:
    """A figure of so many inches in the house style, written to ``path`` if the block ends without an exception.

    The drawing is laid out inside these inches; with ``tight`` it has placed itself, and the page is cut around it.
    """
    register_hangul()
    with matplotlib.style.context(["default", _STYLE]):
        figure = Figure(figsize=(width, height), layout=None if tight else ConstrainedLayoutEngine(wspace=0.06))
        FigureCanvasAgg(figure)
        yield figure
        picture = BytesIO()
        figure.savefig(
            picture, format="png", facecolor="white", bbox_inches="tight" if tight else None, pad_inches=0.15
        )
    # Written anew, without matplotlib's metadata. A matrix keeps all its shades, they are data; lines need no more than
    # 256 colours, which takes a third of the bytes. Maximum coverage, unlike the median cut, keeps rare colours.
    image = Image.open(picture).convert("RGB")
    if not tight:
        image = image.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    with atomic_file(path) as stream:
        image.save(stream, format="png", optimize=True, dpi=(_STYLE["savefig.dpi"],) * 2)
