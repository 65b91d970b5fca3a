"""The documents that the site shows as pages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True)
class Guide:
    """A document of the repository that is shown as a page of the site, with its pictures in a separate folder.

    Attributes:
        document: Markdown file, which exists only in a clone of the project.
        pictures: folder of its pictures.
        title, menu: title of the page and its name in the menu.
        language: language of the text.
    """

    document: Path
    pictures: Path
    title: str
    menu: str
    language: str


STEPS = Guide(
    _DOCS / "attention_step_by_step.md",
    _DOCS / "attention_step_by_step",
    "The attention layer, step by step",
    "Step by step",
    "en",
)
NAVER = Guide(_DOCS / "naver.ko.md", _DOCS / "naver", "네이버 영화 리뷰와 어텐션", "한국어", "ko")
GUIDES = {name: guide for name, guide in {"steps": STEPS, "naver": NAVER}.items() if guide.document.is_file()}
"""Guides by the name of their folder in the site."""
