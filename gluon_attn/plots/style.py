"""Style and writing of all figures, and the watermark of figures drawn from sample data.

The bytes of a PNG depend only on its content, the font and the versions of matplotlib and Pillow: not on the date, user
settings or the state of pyplot. Colours are Okabe and Ito's, which people with any colour vision can tell apart
(https://jfly.uni-koeln.de/color/). Korean is drawn with :func:`.fonts.hangul_font`; a character that no installed font
can draw appears as its code point, ``U+1F9E1``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image, ImageDraw, ImageFont

from gluon_attn.files import atomic_file
from gluon_attn.plots.fonts import HANGUL, hangul_font, register_hangul

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

_WATERMARK: ContextVar[str | None] = ContextVar("watermark", default=None)


@contextmanager
def watermark(text: str | None) -> Iterator[None]:
    """Write ``text``, such as SAMPLE, in large grey letters across all figures drawn in this context; None for none."""
    token = _WATERMARK.set(text)
    try:
        yield
    finally:
        _WATERMARK.reset(token)


@contextmanager
def house_figure(width: float, height: float, path: Path, *, tight: bool = False) -> Iterator[Figure]:
    """Create a figure of the given size in inches, which is written to ``path`` if the block ends without an exception.

    The content is laid out to fit the size; with ``tight`` it has its own layout, and the page is cropped to it.
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
    # Encoded again without matplotlib's metadata. A matrix keeps all its shades, they are data; lines need at most
    # 256 colours, which takes a third of the bytes. Maximum coverage, unlike the median cut, keeps rare colours.
    image = Image.open(picture).convert("RGB")
    if text := _WATERMARK.get():
        image = _marked(image, text)
    if not tight:
        image = image.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    with atomic_file(path) as stream:
        image.save(stream, format="png", optimize=True, dpi=(_STYLE["savefig.dpi"],) * 2)


def _marked(image: Image.Image, text: str) -> Image.Image:
    """Write ``text`` across the image, as large as its width and half of its height allow."""
    font = ImageFont.truetype(str(hangul_font()), 200)
    left, top, right, bottom = font.getbbox(text)
    scale = min(0.9 * image.width / (right - left), 0.5 * image.height / (bottom - top))
    font = ImageFont.truetype(str(hangul_font()), max(8, int(200 * scale)))
    layer = Image.new("RGBA", image.size, (255, 255, 255, 0))
    centre = (image.width / 2, image.height / 2)
    ImageDraw.Draw(layer).text(centre, text, font=font, anchor="mm", fill=(128, 128, 128, 96))
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")
