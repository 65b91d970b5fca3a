"""What the tests of card pages share: a page as a browser sees it, a profile, and hostile text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.pipeline import card as cards

ATTACK = "</title></style></script><img src=x onerror=\"document.title='taken'\"><svg onload=1>"


class Page(HTMLParser):
    """What a browser sees: elements with attributes, and the text."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def profile(lengths: list[int], width: int = 1) -> dict[str, Any]:
    return cards.profile(np.array(lengths, np.int64), width)
