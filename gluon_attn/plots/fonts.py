"""A font with Hangul for the figures, or an error that says what to install, so that Korean is never drawn as boxes."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import matplotlib
from matplotlib.font_manager import FontEntry, FontProperties, fontManager
from matplotlib.ft2font import FT2Font

from gluon_attn.errors import UsageError

HANGUL = "gluon-attn Hangul"
"""Font name that :func:`register_hangul` registers with matplotlib."""

SYSTEM_FAMILIES = (
    "NanumGothic",
    "Nanum Gothic",
    "Noto Sans CJK KR",
    "Noto Sans KR",
    "Noto Sans CJK JP",  # the first face of the collection that all Noto Sans CJK share; it has every syllable
    "Apple SD Gothic Neo",
    "Malgun Gothic",
    "Baekmuk Gulim",
    "UnDotum",
)

_DEJAVU = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")  # comes with matplotlib


def hangul_font() -> Path:
    """Return the file of a font that has every Hangul syllable.

    NanumGothic from the package ``koreanize_matplotlib`` is preferred to any system font: its version is pinned like
    those of the other packages, so a figure has the same glyphs, and the same bytes, on every machine.

    Raises:
        UsageError: if neither the package nor a system font is installed.
    """
    font = _packaged_font() or _system_font()
    if font is None:
        raise UsageError(
            "no font with Hangul was found, Korean tokens would show as boxes; "
            "install the package koreanize-matplotlib==0.1.1 or a system font such as fonts-nanum"
        )
    return font


def register_hangul() -> None:
    """Register the font with matplotlib under a unique name, so that no other font is used instead.

    Raises:
        UsageError: if no font with Hangul is installed.
    """
    if all(entry.name != HANGUL for entry in fontManager.ttflist):
        fontManager.ttflist.append(FontEntry(fname=str(hangul_font()), name=HANGUL))


def drawable(text: str) -> str:
    """Replace each character that neither the Hangul font nor DejaVu Sans can draw by its code point."""
    hangul, latin = _glyphs(hangul_font()), _glyphs(_DEJAVU)
    return "".join(c if ord(c) in hangul or ord(c) in latin else f"U+{ord(c):04X}" for c in text)


@cache
def _glyphs(font: Path) -> frozenset[int]:
    """Return the code points that a font file can draw."""
    return frozenset(FT2Font(str(font)).get_charmap())


def _packaged_font() -> Path | None:
    # Located, not imported: importing it changes matplotlib's global settings and needs distutils.
    spec = find_spec("koreanize_matplotlib")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        font = Path(folder, "fonts", "NanumGothic.ttf")
        if font.is_file():
            return font
    return None


def _system_font() -> Path | None:
    syllables = range(0xAC00, 0xD7A4)
    for family in SYSTEM_FAMILIES:
        try:
            font = Path(fontManager.findfont(FontProperties(family=family), fallback_to_default=False))
        except ValueError:  # matplotlib's way to say that this family is not installed
            continue
        if _glyphs(font).issuperset(syllables):
            return font
    return None
