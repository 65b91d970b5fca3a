"""What the tests of figures share: something to draw, and the data of what was drawn."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

SENTENCE = ["가지", "고", "있", "는", "이야기", "에", "비해", "정말로", "수준", "떨어지", "는", "연출", ",", "편집"]
EPOCHS = [
    {"epoch": e, "train_loss": 0.5 / e, "validation_loss": 0.4 + 0.01 * e, "validation_accuracy": 84.0 + e}
    for e in (1, 2, 3)
]


def rows(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    """Random weights, each row a distribution."""
    weights = np.random.RandomState(seed).gamma(0.5, size=shape)
    return weights / weights.sum(axis=1, keepdims=True)


def points(line: Line2D) -> list[tuple[float, float]]:
    """The points of a line, rounded to six decimals."""
    return [(round(x, 6), round(y, 6)) for x, y in np.asarray(line.get_xydata(), np.float64).tolist()]


def pixels(axes: Axes) -> np.ndarray:
    """The values of the one image in axes."""
    (image,) = axes.images
    return np.asarray(image.get_array())


def labels(axes: Axes) -> list[str]:
    """The entries of the legend of axes."""
    legend = axes.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def written(axes: Axes) -> list[tuple[float, float, str]]:
    """The position and the content of each text inside axes."""
    return [(*text.get_position(), text.get_text()) for text in axes.texts]
