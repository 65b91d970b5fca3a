"""Attention over an image: bright where the weight is, and refused where there is nothing to draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gluon_attn.errors import UsageError
from gluon_attn.plots import image_attention
from gluon_attn.plots.image_attention import Panel, overlay, upsample

GREY = np.full((40, 60, 3), 200, np.uint8)


def test_the_map_is_smooth_and_keeps_the_position_of_the_cell() -> None:
    weights = np.zeros((4, 6))
    weights[1, 4] = 1.0
    smooth = upsample(weights, 40, 60)
    assert smooth.shape == (40, 60) and smooth.min() >= 0
    row, column = np.unravel_index(smooth.argmax(), smooth.shape)
    assert 10 <= row < 20 and 40 <= column < 50
    assert np.abs(np.diff(smooth, axis=0)).max() < 0.2  # a cell is 10 pixels high: no steps at its border


def test_the_image_is_bright_at_the_weight_and_dark_elsewhere() -> None:
    weights = np.zeros((4, 6))
    weights[1, 4] = 1.0
    shown = overlay(GREY, weights)
    assert shown.dtype == np.uint8 and shown.shape == GREY.shape
    assert shown.max() == 200 and shown[30:, :30].max() < 45


def test_equal_weights_leave_the_image_as_it_is() -> None:
    assert (overlay(GREY, np.full((7, 7), 1 / 49)) == GREY).all()


def brightest_quadrant(panel: np.ndarray) -> tuple[int, int] | None:
    """Row and column of the brightest quadrant of the image in a part of a figure; None if all are equally bright."""
    rows = np.flatnonzero((panel < 250).mean(axis=1) > 0.5)
    columns = np.flatnonzero((panel[rows] < 250).mean(axis=0) > 0.5)
    image = panel[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    means = np.array([[part.mean() for part in np.array_split(half, 2, axis=1)] for half in np.array_split(image, 2)])
    if np.ptp(means) < 5:
        return None
    row, column = np.unravel_index(means.argmax(), means.shape)
    return int(row), int(column)


def test_panels_are_drawn_with_and_without_weights(tmp_path: Path) -> None:
    """Bright where the weight is: in the first row and the last column, and the other way around."""
    path = tmp_path / "drawn.png"
    sharp = np.zeros((7, 7))
    sharp[0, 6] = 1.0
    image_attention.draw([Panel(GREY, None, "a"), Panel(GREY, sharp, "dog"), Panel(GREY, sharp.T, "runs")], path)
    with Image.open(path) as image:
        assert image.width > 500
        panels = np.array_split(np.asarray(image.convert("L")), 3, axis=1)
    assert [brightest_quadrant(panel) for panel in panels] == [None, (0, 1), (1, 0)]


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no panels"):
        image_attention.draw([], tmp_path / "none.png")
    for wrong in (np.ones(4), np.full((2, 2), -1.0), np.full((2, 2), np.nan), np.ones((0, 2))):
        with pytest.raises(UsageError, match="are not a grid of finite numbers"):
            overlay(GREY, wrong)
    assert not list(tmp_path.iterdir())
