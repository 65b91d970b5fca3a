"""Heatmaps of attention: the numbers in their cells, one scale, what is grey, what is marked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread

from gluon_attn.plots.heatmap import LONGEST_LABEL, LONGEST_MATRIX, Matrix, attention_matrices, attention_matrix
from tests.gluon_attn.plots.drawn import SENTENCE, pixels, rows, written


def cells(axes: Axes) -> dict[tuple[int, int], str]:
    """The number in each cell, by row and column."""
    return {(int(y), int(x)): text for x, y, text in written(axes)}


def test_cells_have_the_weights_in_per_cent_queries_as_rows(figures: list[Figure], tmp_path: Path) -> None:
    weights = np.array([[0.7, 0.2, 0.1], [0.05, 0.15, 0.8]])
    attention_matrix(["a", "b"], ["x", "y", "z"], weights, tmp_path / "x.png", axis_labels=("target", "source"))
    axes, bar = figures[0].axes
    np.testing.assert_allclose(pixels(axes), 100 * weights)
    expected = {(0, 0): "70", (0, 1): "20", (0, 2): "10", (1, 0): "5", (1, 1): "15", (1, 2): "80"}
    assert cells(axes) == expected
    on_dark = {text.get_text() for text in axes.texts if to_hex(text.get_color()) == "#ffffff"}
    assert on_dark == {"70", "80"}
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a", "b"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["x", "y", "z"]
    assert (axes.get_ylabel(), axes.get_xlabel(), bar.get_ylabel()) == ("target", "source", "attention weight (%)")


def test_weights_that_are_nearly_equal_have_a_decimal(figures: list[Figure], tmp_path: Path) -> None:
    attention_matrix(["a"], ["x", "y"], np.array([[0.4525, 0.5475]]), tmp_path / "x.png")
    assert cells(figures[0].axes[0]) == {(0, 0): "45.2", (0, 1): "54.8"}


def test_a_large_matrix_has_no_numbers_and_long_tokens_are_cut(figures: list[Figure], tmp_path: Path) -> None:
    tokens = [f"{number:02}{'x' * LONGEST_LABEL}" for number in range(25)]
    attention_matrix(tokens, tokens, rows((25, 25)), tmp_path / "x.png", "title")
    axes, _ = figures[0].axes
    assert [text for _, _, text in written(axes)] == ["title"]
    shown = [tick.get_text() for tick in axes.get_xticklabels()]
    assert shown == [f"{number:02}{'x' * (LONGEST_LABEL - 3)}…" for number in range(25)]


def test_matrices_side_by_side_have_one_colour_scale(figures: list[Figure], tmp_path: Path) -> None:
    sharp = np.eye(14)
    attention_matrices([Matrix(SENTENCE, SENTENCE, one) for one in (sharp, 0.1 * sharp + 0.9 / 14)], tmp_path / "x.png")
    first, _, second, _ = figures[0].axes
    assert first.images[0].get_clim() == second.images[0].get_clim() == (0, 100)
    assert first.get_position().x1 < second.get_position().x0


def darkness_along_columns(path: Path) -> np.ndarray:
    """The number of pixels per column that are as blue as the darkest cell."""
    picture = imread(path)[:, :, :3]
    return (np.abs(picture - np.array(to_rgb("#08306b"))).max(axis=2) < 0.02).sum(axis=0)


def test_the_cell_of_the_largest_weight_is_the_darkest(tmp_path: Path) -> None:
    centres = []
    for column in (0, 13):
        weights = np.full((14, 14), 0.1 / 13)
        weights[:, column] = 0.9
        attention_matrix(SENTENCE, SENTENCE, weights, tmp_path / "matrix.png")
        dark = darkness_along_columns(tmp_path / "matrix.png")
        centres.append(int(np.argmax(dark)) / len(dark))
    assert centres[0] < 0.2
    assert centres[1] > 0.7


def test_nearly_uniform_attention_is_lighter_than_sharp_attention(tmp_path: Path) -> None:
    attention_matrix(SENTENCE, SENTENCE, np.full((14, 14), 1 / 14), tmp_path / "uniform.png")
    dark = darkness_along_columns(tmp_path / "uniform.png")
    assert dark[: int(0.8 * len(dark))].sum() == 0


def test_masked_cells_are_grey_and_have_no_number(tmp_path: Path) -> None:
    above = np.triu(np.ones((14, 14), bool), 1)
    causal = np.tril(np.ones((14, 14))) / np.arange(1, 15)[:, None]
    pictures = []
    for number, garbage in enumerate((0.0, 0.4)):
        weights = np.where(above, garbage, causal)
        attention_matrix(SENTENCE, SENTENCE, weights, tmp_path / f"{number}.png", masked=above)
        pictures.append((tmp_path / f"{number}.png").read_bytes())
    assert pictures[0] == pictures[1]
    grey = np.abs(imread(tmp_path / "0.png")[:, :, :3] - np.array(to_rgb("#e9ebee"))).max(axis=2) < 0.01
    cell = 0.42 * 150  # Inches times dots per inch.
    assert 0.85 < grey.sum() / (above.sum() * cell**2) < 1.0  # All pixels but the lines between the cells.


@pytest.mark.parametrize(
    "tokens",
    [["가"], ["🧡", "$x$", "_{a}"], ["ㅋ" * 300, "감", "監"], [f"토큰{i}" for i in range(LONGEST_MATRIX)]],
)
def test_any_token_can_be_a_label(tokens: list[str], tmp_path: Path) -> None:
    attention_matrix(tokens, tokens, rows((len(tokens), len(tokens))), tmp_path / "matrix.png")
    height, width = imread(tmp_path / "matrix.png").shape[:2]
    assert 100 < height < 5000
    assert 100 < width < 5000
    assert (tmp_path / "matrix.png").stat().st_size < 300 * 1024


def test_hops_may_be_fewer_than_tokens(tmp_path: Path) -> None:
    attention_matrix(["hop 1", "hop 2"], SENTENCE, rows((2, 14)), tmp_path / "hops.png")
    height, width = imread(tmp_path / "hops.png").shape[:2]
    assert width > height


def test_uniform_is_marked_only_where_all_keys_are_shown(tmp_path: Path) -> None:
    """Weights on padding that is not shown are missing from the rows: one over the keys shown is not uniform."""
    drawn = []
    for name, share in (("all", 1.0), ("some", 0.6)):
        attention_matrix(["a"], SENTENCE, np.full((1, 14), share / 14), tmp_path / f"{name}.png")
        image = (255 * imread(tmp_path / f"{name}.png")[..., :3]).round().astype(int)
        drawn.append(bool((abs(image - [0xD5, 0x5E, 0x00]).sum(axis=2) < 12).any()))
    assert drawn == [True, False]
