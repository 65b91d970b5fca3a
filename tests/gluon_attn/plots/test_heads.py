"""Lines of attention: drawn, or refused with what is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gluon_attn.errors import UsageError
from gluon_attn.plots.heads import attention_lines

WORDS = ["a", "dog", "runs"]


def test_a_larger_weight_is_a_darker_line(tmp_path: Path) -> None:
    """From query 0 to key 0 with a weight of 1, and with none."""
    pictures = []
    for number, weights in enumerate((np.eye(3), np.roll(np.eye(3), 1, axis=1))):
        path = tmp_path / f"{number}.png"
        attention_lines([("head", WORDS, WORDS, weights)], path)
        pictures.append(np.asarray(Image.open(path).convert("L"), int))
    assert pictures[0].shape == pictures[1].shape
    assert np.abs(pictures[0] - pictures[1]).max() > 50


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.png"
    with pytest.raises(UsageError, match="no heads to draw"):
        attention_lines([], path)
    with pytest.raises(UsageError, match=r"a head: weights \(2, 3\) for 3 queries and 3 keys"):
        attention_lines([("a head", WORDS, WORDS, np.ones((2, 3)))], path)
    with pytest.raises(UsageError, match="41 tokens cannot be read; draw at most 40"):
        attention_lines([("a head", ["x"] * 41, WORDS, np.ones((41, 3)))], path)
    assert not path.exists()
