"""Sentences in the SGML files of the WMT test sets."""

from __future__ import annotations

import html
import re
from pathlib import Path

from preprocessing.corpora.reading import FETCH_AGAIN, decoded, read_bytes
from preprocessing.errors import InputError

RULE = (
    "Of a file whose name ends in .sgm the lines are its seg elements, in order: their text with character references "
    "decoded and white space as single spaces; all other markup is left out."
)

_SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"<seg\b", re.IGNORECASE)


def is_markup(path: Path) -> bool:
    """Whether a file is SGML, by its name; it may be compressed."""
    return ".sgm" in path.suffixes[-2:]


def read_segments(path: Path) -> list[str]:
    """The sentences of a file. Raises InputError for invalid UTF-8, for a segment that does not end, and for a file
    without segments."""
    content = decoded(path, read_bytes(path))
    segments = list(_SEGMENT.finditer(content))
    for number, opening in enumerate(_OPENING.finditer(content)):
        if number >= len(segments) or segments[number].start() != opening.start():
            line = content.count("\n", 0, opening.start()) + 1
            raise InputError(path, "a seg element without an end", line=line, remedy=FETCH_AGAIN)
    if not segments:
        raise InputError(path, "no seg elements: not a test set in SGML", line=1, remedy=FETCH_AGAIN)
    return [" ".join(html.unescape(segment[1]).split()) for segment in segments]
