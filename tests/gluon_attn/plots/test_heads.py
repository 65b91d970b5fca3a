"""Lines of attention: drawn, or refused with what is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gluon_attn.errors import UsageError
from gluon_attn.plots.heads import attention_lines

WORDS = ["a", "dog", "runs"]


def darker(weights: np.ndarray, path: Path) -> np.ndarray:
    """By how much each pixel is darker than without any weight."""
    pictures = []
    for drawn in (np.zeros((3, 3)), weights):
        attention_lines([("head", WORDS, WORDS, drawn)], path)
        pictures.append(np.asarray(Image.open(path).convert("L"), int))
    return pictures[0] - pictures[1]


def test_a_larger_weight_is_a_darker_line_from_its_query_to_its_key(tmp_path: Path) -> None:
    weights = np.zeros((3, 3))
    weights[0, 2] = 1.0
    line, faint = (darker(scale * weights, tmp_path / "line.png") for scale in (1.0, 0.3))
    assert line.max() > 50 and 10 < faint.max() < line.max()
    drawn = line > 30  # the palette of the file changes other pixels a little
    columns = np.flatnonzero(drawn.any(axis=0))
    quarter = len(columns) // 4
    near_query, near_key = (
        np.average(np.arange(len(line)), weights=drawn[:, part].sum(axis=1))
        for part in (columns[:quarter], columns[-quarter:])
    )
    assert near_query < near_key, "the first query is above the last key"


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.png"
    with pytest.raises(UsageError, match="no heads to draw"):
        attention_lines([], path)
    with pytest.raises(UsageError, match=r"a head: weights \(2, 3\) for 3 queries and 3 keys"):
        attention_lines([("a head", WORDS, WORDS, np.ones((2, 3)))], path)
    with pytest.raises(UsageError, match="41 tokens cannot be read; draw at most 40"):
        attention_lines([("a head", ["x"] * 41, WORDS, np.ones((41, 3)))], path)
    assert not path.exists()
