"""What a Vision Transformer learned: filters, positions and distances, drawn or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from gluon_attn.errors import UsageError
from gluon_attn.plots.style import COLOURS
from gluon_attn.plots.vision import attention_distance, filters, position_similarity
from tests.gluon_attn.plots.drawn import labels, pixels


def test_filters_are_grey_at_zero_and_use_the_whole_range(figures: list[Figure], tmp_path: Path) -> None:
    components = np.random.RandomState(0).standard_normal((3, 2, 2, 3))
    components[1, 0, 1] = 0.0
    filters(components, np.array([0.5, 0.3, 0.049]), tmp_path / "x.png", columns=2)
    (figure,) = figures
    drawn = [pixels(axes) for axes in figure.axes[:3]]
    for image, component in zip(drawn, components, strict=True):
        np.testing.assert_allclose(2 * image - 1, component / np.abs(component).max(), atol=1e-9)
    assert drawn[1][0, 1].tolist() == [0.5] * 3
    assert [axes.get_title() for axes in figure.axes] == ["50 %", "30 %", "5 %", ""]
    assert [axes.get_position().y0 > 0.5 for axes in figure.axes] == [True, True, False, False], "two columns"


def test_similarities_of_a_position_are_a_map_of_the_image(figures: list[Figure], tmp_path: Path) -> None:
    similarity = np.linspace(-1, 1, 81).reshape(9, 9)
    position_similarity(similarity, tmp_path / "x.png")
    (figure,) = figures
    *maps, _ = figure.axes
    np.testing.assert_array_equal(np.stack([pixels(axes) for axes in maps]), similarity.reshape(9, 3, 3))
    assert {axes.images[0].get_clim() for axes in maps} == {(-1, 1)}
    assert maps[0].get_position().y0 > maps[3].get_position().y0, "the first row of patches is at the top"


def test_distances_are_those_of_each_head_by_depth(figures: list[Figure], tmp_path: Path) -> None:
    distances = {"vit": np.array([[2.0, 5.0], [7.0, 8.0], [9.0, 4.0]]), "hybrid": np.array([[1.0, 3.0], [6.0, 6.5]])}
    attention_distance(distances, tmp_path / "x.png")
    (axes,) = figures[0].axes
    for number, (drawn, wanted) in enumerate(zip(axes.collections, distances.values(), strict=True)):
        assert isinstance(drawn, PathCollection)
        layers, values = np.asarray(drawn.get_offsets()).T
        assert values.tolist() == wanted.ravel().tolist()
        assert layers.round().tolist() == np.repeat(np.arange(1, len(wanted) + 1), 2).tolist()
        assert np.ptp(layers - layers.round()) < 1e-9 and (layers != layers.round()).all(), "networks are side by side"
        assert tuple(np.asarray(drawn.get_facecolor())[0, :3]) == to_rgb(COLOURS[number])
    assert labels(axes) == ["vit", "hybrid"] and axes.get_xticks().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("draw", "arguments", "message"),
    [
        (filters, (np.zeros((0, 2, 2, 3)), np.zeros(0)), "filters of the patch embedding: none to draw"),
        (position_similarity, (np.eye(8),), r"similarity of positions: \(8, 8\) is not of a square of patches"),
        (position_similarity, (np.ones((9, 4)),), r"similarity of positions: \(9, 4\) is not of a square of patches"),
        (attention_distance, ({},), "attention distance: 0 networks; draw 1 to 7"),
        (attention_distance, ({str(n): np.ones((1, 1)) for n in range(8)},), "attention distance: 8 networks"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw: Any, arguments: tuple[Any, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        draw(*arguments, tmp_path / "x.png")
    assert list(tmp_path.iterdir()) == []
