"""Highlighted texts: all words drawn, lines wrapped, shades in proportion, one-line refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from gluon_attn.errors import UsageError
from gluon_attn.plots.highlighted_text import Paragraph, draw

WORDS = ["이", "영화", "는", "정말로", "좋", "았", "다"]


def picture(path: Path, *paragraphs: Paragraph, width: float = 7.5, title: str | None = None) -> np.ndarray:
    draw(paragraphs, path, title, width=width)
    return np.asarray(imread(path)[:, :, :3])


def blue(pixels: np.ndarray) -> int:
    """The number of pixels in the colour of words."""
    return int((pixels[:, :, 2] - pixels[:, :, 0] > 0.2).sum())


def test_more_weight_is_more_colour_and_zero_is_none(tmp_path: Path) -> None:
    none, some, all_of_them = (
        blue(picture(tmp_path / "a.png", Paragraph(WORDS, np.array(shades))))
        for shades in (np.zeros(7), np.eye(7)[3], np.ones(7))
    )
    assert none == 0 < some < all_of_them


def test_a_long_text_is_wrapped(tmp_path: Path) -> None:
    paragraph = Paragraph(WORDS * 20, np.full(140, 0.5))
    wide, narrow = (picture(tmp_path / "a.png", paragraph, width=width) for width in (9.0, 3.0))
    assert narrow.shape[0] > 1.8 * wide.shape[0] and narrow.shape[1] < 0.6 * wide.shape[1]
    assert blue(narrow) == pytest.approx(blue(wide), rel=0.1)


def test_headings_title_and_squares_take_space(tmp_path: Path) -> None:
    plain = picture(tmp_path / "a.png", Paragraph(WORDS, np.zeros(7)))
    titled = picture(tmp_path / "a.png", Paragraph(WORDS, np.zeros(7), heading="머리"), title="제목")
    squared = picture(tmp_path / "a.png", Paragraph(WORDS, np.zeros(7), shade=1.0))
    assert titled.shape[0] > plain.shape[0] + 40
    orange = (squared[:, :, 0] - squared[:, :, 2] > 0.4).sum()
    assert squared.shape[1] > plain.shape[1] and orange > 300
    assert not (plain[:, :, 0] - plain[:, :, 2] > 0.4).any()


def test_the_same_text_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    for path in (first, second):
        draw([Paragraph(WORDS, np.linspace(0, 1, 7), 0.3, "good")], path, "title")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("paragraphs", "refusal"),
    [
        ([], "no words"),
        ([Paragraph([], np.zeros(0))], "no words"),
        ([Paragraph(WORDS, np.zeros(6))], "7 words need as many shades"),
        ([Paragraph(WORDS, np.full(7, 1.5))], "from 0 to 1"),
        ([Paragraph(WORDS, np.full(7, np.nan))], "from 0 to 1"),
        ([Paragraph(WORDS, np.zeros(7), shade=-0.1)], "from 0 to 1"),
    ],
)
def test_invalid_texts_are_refused_and_leave_no_file(paragraphs: list[Paragraph], refusal: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=refusal):
        draw(paragraphs, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
