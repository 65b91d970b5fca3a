"""Line plots: the numbers they were given, at their places and with their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from gluon_attn.plots.curves import (
    Score,
    positional_encoding,
    score_by_amount,
    score_by_length,
    score_by_minutes,
    scores_by_width,
    training_curves,
    weights_by_distance,
)
from tests.gluon_attn.plots.drawn import EPOCHS, labels, pixels, points


def ticks(axes: Axes) -> list[tuple[float, str]]:
    return list(zip(axes.get_xticks().tolist(), [tick.get_text() for tick in axes.get_xticklabels()], strict=True))


def test_training_curves_have_the_losses_of_train_and_validation(figures: list[Figure], tmp_path: Path) -> None:
    training_curves({"mean": EPOCHS, "one": EPOCHS[1:2]}, tmp_path / "x.png")
    losses, _ = figures[0].axes
    train, validation, of_one, validation_of_one, *_ = losses.lines
    assert points(train) == [(1, 0.5), (2, 0.25), (3, 0.166667)]
    assert points(validation) == [(1, 0.41), (2, 0.42), (3, 0.43)]
    assert points(of_one) == [(2, 0.25)] and points(validation_of_one) == [(2, 0.42)]
    assert [line.is_dashed() for line in losses.lines] == [True, False, True, False, False, True]
    assert labels(losses) == ["validation", "train"], "the first is solid, the second is dashed"
    assert losses.get_ylabel() == "cross-entropy (nats per example)"


def test_training_curves_have_the_score_of_validation(figures: list[Figure], tmp_path: Path) -> None:
    training_curves({"mean": EPOCHS, "one": EPOCHS[1:2]}, tmp_path / "x.png")
    _, scores = figures[0].axes
    assert [points(line) for line in scores.lines] == [[(1, 85), (2, 86), (3, 87)], [(3, 87)], [(2, 86)], [(2, 86)]]
    assert scores.get_ylabel() == "accuracy (%)" and scores.get_title(loc="left") == "Validation accuracy"


@pytest.mark.parametrize(
    ("options", "label", "ring"),
    [
        ({}, "mean: 87.00 % at epoch 3", (3, 87)),
        ({"score": Score("loss", "loss")}, "mean: 0.41 at epoch 1", (1, 0.41)),
        ({"selected_epochs": {"mean": 1}}, "mean: 85.00 % at epoch 1", (1, 85)),
    ],
)
def test_the_marked_epoch_is_the_best_or_the_selected_one(
    options: dict[str, Any], label: str, ring: tuple[float, float], figures: list[Figure], tmp_path: Path
) -> None:
    training_curves({"mean": EPOCHS}, tmp_path / "curves.png", **options)
    (figure,) = figures
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [label]
    assert points(figure.axes[1].lines[1]) == [ring]


def test_weights_by_distance_are_in_per_cent_from_the_previous_word_on(figures: list[Figure], tmp_path: Path) -> None:
    weights_by_distance({"lstmn": np.array([0.5, 0.3, 0.2]), "even": np.full(3, 1 / 3)}, tmp_path / "x.png")
    (axes,) = figures[0].axes
    lstmn, even, uniform = axes.lines
    assert points(lstmn) == [(1, 50), (2, 30), (3, 20)]
    assert points(even) == [(1, 33.333333), (2, 33.333333), (3, 33.333333)]
    assert np.asarray(uniform.get_ydata()) == pytest.approx(100 / 3)
    assert labels(axes) == ["lstmn", "even", "uniform: 33.3 %"]


def test_scores_by_length_are_in_the_order_of_the_groups(figures: list[Figure], tmp_path: Path) -> None:
    scores, bounds = {"rnnsearch": [25.5, 20.0, 22.0], "encdec": [19.0, 11.0, 12.0]}, {"least": [1.0, 2.0, 0.5]}
    score_by_length(scores, ["1-10", "11-20", "21-"], tmp_path / "x.png", "BLEU", bounds=bounds)
    (axes,) = figures[0].axes
    drawn = {line.get_label(): points(line) for line in axes.lines}
    assert drawn == {name: list(enumerate(values)) for name, values in (scores | bounds).items()}
    assert ticks(axes) == [(0, "1-10"), (1, "11-20"), (2, "21-")]
    assert (axes.get_title(loc="left"), axes.get_ylabel()) == ("BLEU by length", "BLEU")


def test_scores_by_minutes_are_those_of_each_training(figures: list[Figure], tmp_path: Path) -> None:
    first, second = [(1.0, 20.0), (2.5, 30.0)], [(1.5, 35.0), (2.0, 25.0)]
    score_by_minutes({"small": [first, second], "large": [second]}, tmp_path / "x.png", "BLEU")
    (axes,) = figures[0].axes
    assert [points(line) for line in axes.lines] == [first, second, second, []]
    assert labels(axes) == ["small: 35.00 at best, all seeds", "large: 35.00 at best", "other seeds"]


def test_positional_encodings_have_positions_as_rows(figures: list[Figure], tmp_path: Path) -> None:
    code = np.linspace(-0.9, 0.9, 12).reshape(3, 4)
    positional_encoding(code, np.array([1.0, 0.5, 0.7]), tmp_path / "x.png")
    left, right, _ = figures[0].axes
    np.testing.assert_array_equal(pixels(left), code)
    assert left.images[0].get_clim() == (-1, 1), "white is 0"
    assert (left.get_ylabel(), left.get_xlabel()) == ("position", "dimension: sines, then cosines")
    assert points(right.lines[0]) == [(0, 1), (1, 0.5), (2, 0.7)]


def test_scores_by_width_have_variances_with_and_without_scaling(figures: list[Figure], tmp_path: Path) -> None:
    widths, variance = (1, 16, 64), np.array([1.0, 20.0, 60.0])
    scores_by_width(widths, variance, np.array([0.9, 0.5, 0.2]), np.array([0.9, 0.8, 0.7]), tmp_path / "x.png")
    left, right = figures[0].axes
    assert {line.get_label(): points(line) for line in left.lines} == {
        "q · k": [(1, 1), (16, 20), (64, 60)],
        "q · k / sqrt(d)": [(1, 1), (16, 1.25), (64, 0.9375)],
    }
    assert {line.get_label(): points(line) for line in right.lines} == {
        "softmax(q · k)": [(1, 0.9), (16, 0.5), (64, 0.2)],
        "softmax(q · k / sqrt(d))": [(1, 0.9), (16, 0.8), (64, 0.7)],
    }
    assert ticks(left) == ticks(right) == [(1, "1"), (16, "16"), (64, "64")]


@pytest.mark.parametrize(("scale", "several"), [("linear", True), ("log", True), ("sqrt", True), ("linear", False)])
def test_scores_by_amount_are_means_with_the_range_over_seeds(
    scale: Any, several: bool, figures: list[Figure], tmp_path: Path
) -> None:
    """Of three values whose mean is not their median, and of one."""
    series = {"a": {10: [85.0], 2: [80.0, 82.0, 87.0] if several else [83.0]}}
    score_by_amount(series, tmp_path / "x.png", "minutes", "accuracy, %", scale=scale)
    (axes,) = figures[0].axes
    (container,) = axes.containers
    assert isinstance(container, ErrorbarContainer)
    line, _, (bars,) = container
    assert points(line) == [(2, 83), (10, 85)]
    ranges = [(80, 87) if several else (83, 83), (85, 85)]
    assert [tuple(segment[:, 1].round(6)) for segment in bars.get_segments()] == ranges
    assert [tuple(segment[:, 0]) for segment in bars.get_segments()] == [(2, 2), (10, 10)]
    assert axes.get_ylabel() == ("accuracy, %; bars: range over seeds" if several else "accuracy, %")
    if scale != "linear":
        assert ticks(axes) == [(2, "2"), (10, "10")]
    assert axes.get_xlabel() == ("minutes (square-root scale)" if scale == "sqrt" else "minutes")


def test_a_title_keeps_the_case_of_its_score(figures: list[Figure], tmp_path: Path) -> None:
    for label in ("BLEU, test", "test accuracy (%)"):
        score_by_amount({"x": {1: [1.0]}}, tmp_path / "x.png", "pairs", label)
    titles = [figure.axes[0].get_title(loc="left") for figure in figures]
    assert titles == ["BLEU by pairs", "Test accuracy (%) by pairs"]
