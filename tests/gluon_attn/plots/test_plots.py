"""The figures: correct, legible, deterministic, with Hangul glyphs."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry, fontManager
from matplotlib.image import imread

from gluon_attn.errors import UsageError
from gluon_attn.plots import fonts
from gluon_attn.plots.curves import (
    Score,
    positional_encoding,
    score_by_amount,
    score_by_length,
    score_by_minutes,
    training_curves,
    weights_by_distance,
)
from gluon_attn.plots.distributions import entropy_and_agreement, weights_histogram
from gluon_attn.plots.forest import Group, forest, strips
from gluon_attn.plots.heatmap import LONGEST_MATRIX, Matrix, __file__, attention_matrices, attention_matrix
from gluon_attn.plots.masks import masked_tokens
from gluon_attn.plots.style import COLOURS, watermark

SENTENCE = ["가지", "고", "있", "는", "이야기", "에", "비해", "정말로", "수준", "떨어지", "는", "연출", ",", "편집"]
EPOCHS = [
    {"epoch": e, "train_loss": 0.5 / e, "validation_loss": 0.4 + 0.01 * e, "validation_accuracy": 84.0 + e}
    for e in (1, 2, 3)
]


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    """matplotlib only warns when a glyph is missing or a layout fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def rows(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    weights = np.random.RandomState(seed).gamma(0.5, size=shape)
    return weights / weights.sum(axis=1, keepdims=True)


def recorded(monkeypatch: pytest.MonkeyPatch, method: str, argument: str) -> list[Any]:
    """The values of a keyword argument of a method of all axes, in the order of the calls."""
    values: list[Any] = []
    original = getattr(Axes, method)

    def call(axes: Axes, *positional: Any, **named: Any) -> Any:
        values.append(named.get(argument))
        return original(axes, *positional, **named)

    monkeypatch.setattr(Axes, method, call)
    return values


def draw_matrix(path: Path) -> None:
    attention_matrix(SENTENCE, SENTENCE, rows((14, 14)), path, "부정")


def draw_curves(path: Path) -> None:
    training_curves({"as written": EPOCHS, "mean": EPOCHS[:1]}, path)


def draw_weights(path: Path) -> None:
    weights_histogram({"best": np.array([0.0, 0.5, 1.0, 40.0])}, path)


def draw_scores_by_length(path: Path) -> None:
    score_by_length(
        {"rnnsearch": [20.0, 25.5], "encdec": [19.0, 11.0]},
        ["1-10", "11-20"],
        path,
        "BLEU",
        bounds={"least": [1.0, 2.0]},
    )


def draw_faithfulness(path: Path) -> None:
    entropy = {"best": np.array([0.2, 0.7, np.nan]), "last": np.array([0.9, 1.0, 1.0])}
    entropy_and_agreement(entropy, {"best": np.array([-0.5, 0.4]), "last": np.array([np.nan, 0.1])}, path)


def draw_distances(path: Path) -> None:
    weights_by_distance({"lstmn": np.array([0.5, 0.3, 0.2])}, path)


def draw_minutes(path: Path) -> None:
    trainings = [[(1.0, 20.0), (2.0, 25.0)], [(1.1, 19.0), (2.2, 24.0)]]
    score_by_minutes({"transformer": trainings, "rnnsearch": trainings[:1]}, path, "BLEU")


def draw_positional_encoding(path: Path) -> None:
    positional_encoding(np.eye(4), np.array([1.0, 0.5]), path)


def draw_forest(path: Path) -> None:
    effects = [("okt", (-0.5, -0.8, -0.2)), ("코모란", (0.1, -0.2, 0.4))]
    forest([Group("tokenizer", effects)], path, "accuracy points", band=0.2)


def draw_forest_with_a_large_effect(path: Path) -> None:
    effects = [("okt", (-0.5, -0.8, -0.2)), ("jamo", (-16.0, -17.0, -15.0))]
    forest([Group("tokenizer", effects)], path, "accuracy points", linear=1.0)


def draw_strips(path: Path) -> None:
    strips({"seeds": np.array([85.9, 86.1]), "one": np.array([84.0])}, path, "accuracy (%)")


def draw_amounts(path: Path) -> None:
    points = {0.0: [80.0, 81.0], 10.0: [85.0]}
    score_by_amount({"a": points}, path, "minutes of pretraining", "accuracy, %", scale="sqrt")


def draw_labels(path: Path) -> None:
    points = {100.0: [60.0], 10_000.0: [80.0, 82.0]}
    score_by_amount({"a": points, "b": points}, path, "labelled reviews", "accuracy, %", scale="log")


def draw_masks(path: Path) -> None:
    masked_tokens(["▁참", "🧡"], [0.5, 0.1], [[("▁참", 0.5), ("이", 0.2)], [("🧡", 0.3)]], path)


FIGURES = [
    draw_amounts,
    draw_labels,
    draw_masks,
    draw_forest,
    draw_forest_with_a_large_effect,
    draw_strips,
    draw_matrix,
    draw_curves,
    draw_minutes,
    draw_positional_encoding,
    draw_weights,
    draw_distances,
    draw_scores_by_length,
    draw_faithfulness,
]


def test_effects_are_on_a_logarithmic_scale_only_if_one_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scales, ticks = [], []
    set_xscale, set_xticks = Axes.set_xscale, Axes.set_xticks
    monkeypatch.setattr(
        Axes, "set_xscale", lambda axes, *of, **to: scales.append((of, to)) or set_xscale(axes, *of, **to)
    )
    monkeypatch.setattr(Axes, "set_xticks", lambda axes, *of: ticks.append(of[1]) or set_xticks(axes, *of))
    for lowest in (-0.99, -1.01):
        effects = [("okt", (-0.5, lowest, -0.2))]
        forest([Group("tokenizer", effects)], tmp_path / f"{lowest}.png", "accuracy points", linear=1.0)
    assert scales == [(("symlog",), {"linthresh": 1.0})]
    ((*names,),) = ticks
    assert {"-10", "-2", "-1", "-0.5", "0", "0.5", "1"} <= set(names)


def chunks(png: bytes) -> list[bytes]:
    names, at = [], 8
    while at < len(png):
        names.append(png[at + 4 : at + 8])
        at += 12 + int.from_bytes(png[at : at + 4], "big")
    return names


@pytest.mark.parametrize("draw", FIGURES)
def test_the_same_arguments_give_the_same_small_file_whatever_the_user_settings(
    draw: Callable[[Path], None], tmp_path: Path
) -> None:
    draw(tmp_path / "new folder" / "first.png")
    with matplotlib.rc_context({"font.size": 30, "savefig.dpi": 20, "axes.facecolor": "red", "font.family": "serif"}):
        draw(tmp_path / "second.png")
    first, second = (tmp_path / "new folder" / "first.png").read_bytes(), (tmp_path / "second.png").read_bytes()
    assert first == second
    assert len(first) < 300 * 1024
    assert set(chunks(first)) <= {b"IHDR", b"PLTE", b"pHYs", b"IDAT", b"IEND"}, "no date, no software"
    assert [path.name for path in tmp_path.rglob("*.part")] == []


@pytest.mark.parametrize("draw", [draw_matrix, draw_curves])
def test_a_watermark_is_on_every_figure_of_its_block_only(draw: Callable[[Path], None], tmp_path: Path) -> None:
    draw(tmp_path / "before.png")
    with watermark("SAMPLE"):
        with watermark(None):
            draw(tmp_path / "within.png")
        draw(tmp_path / "marked.png")
    draw(tmp_path / "after.png")
    plain = (tmp_path / "before.png").read_bytes()
    assert plain == (tmp_path / "within.png").read_bytes() == (tmp_path / "after.png").read_bytes()
    before, marked = (imread(tmp_path / f"{name}.png")[:, :, :3] for name in ("before", "marked"))
    assert before.shape == marked.shape
    changed = np.abs(before - marked).max(axis=2) > 0.1
    assert 0.02 < changed.mean() < 0.4
    columns = np.flatnonzero(changed.any(axis=0))
    assert columns[0] < 0.2 * len(changed[0]) and columns[-1] > 0.8 * len(changed[0]), (
        "the watermark does not cross the figure"
    )


def test_drawing_leaves_no_global_state_and_imports_neither_pyplot_nor_koreanize(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib, matplotlib; before = matplotlib.rcParams.copy()\n"
        "from gluon_attn.plots.curves import score_by_length\n"
        "score_by_length({'한글': [1, 2]}, ['1', '2'], pathlib.Path(sys.argv[1]), 'BLEU')\n"
        "print(matplotlib.rcParams.copy() == before, 'matplotlib.pyplot' in sys.modules, 'mxnet' in sys.modules,\n"
        "      'koreanize_matplotlib' in sys.modules)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "figure.png")]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.split() == ["True", "False", "False", "False"]


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


def test_matrices_side_by_side_have_one_colour_scale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limits = recorded(monkeypatch, "imshow", "vmax")
    sharp = np.eye(14)
    attention_matrices([Matrix(SENTENCE, SENTENCE, one) for one in (sharp, 0.1 * sharp + 0.9 / 14)], tmp_path / "x.png")
    assert limits == [100, 100]


def test_the_best_score_is_that_of_all_trainings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    labels = recorded(monkeypatch, "plot", "label")
    score_by_minutes({"small": [[(1, 20.0), (2, 30.0)], [(1, 35.0), (2, 25.0)]]}, tmp_path / "x.png", "BLEU")
    assert "small: 35.00 at best, all seeds" in labels and "other seeds" in labels


def test_a_title_keeps_the_case_of_its_score(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    titles = recorded(monkeypatch, "set", "title")
    for label in ("BLEU, test", "test accuracy (%)"):
        score_by_amount({"x": {1: [1.0]}}, tmp_path / "x.png", "pairs", label)
    assert [title for title in titles if title] == ["BLEU by pairs", "Test accuracy (%) by pairs"]


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
    ("options", "ringed"),
    [
        ({}, "mean: 87.00 % at epoch 3"),
        ({"score": Score("loss", "loss")}, "mean: 0.41 at epoch 1"),
        ({"selected_epochs": {"mean": 1}}, "mean: 85.00 % at epoch 1"),
    ],
)
def test_the_marked_epoch_is_the_best_or_the_selected_one(
    options: dict[str, Any], ringed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    legend = Figure.legend

    def capture(figure: Figure, handles: list[object], labels: list[str], **options: object) -> object:
        drawn.extend(labels)
        return legend(figure, handles, labels, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "legend", capture)
    training_curves({"mean": EPOCHS}, tmp_path / "curves.png", **options)
    assert drawn == [ringed]


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


def test_characters_without_a_glyph_become_code_points() -> None:
    assert fonts.drawable("가 a 🧡") == "가 a U+1F9E1"


def test_each_variant_has_its_colour(tmp_path: Path) -> None:
    training_curves({f"variant {i}": EPOCHS for i in range(4 * len(COLOURS))}, tmp_path / "curves.png")
    picture = (imread(tmp_path / "curves.png")[:, :, :3] * 255).round().astype(int)
    for colour in COLOURS:
        wanted = np.round(np.array(to_rgb(colour)) * 255)
        assert (np.abs(picture - wanted).max(axis=2) <= 8).sum() > 50, colour


UNDRAWABLE: list[tuple[Callable[..., None], tuple[object, ...]]] = [
    (attention_matrix, (["가"], ["가", "나"], np.ones((1, 1)))),
    (attention_matrix, ([], [], np.ones((0, 0)))),
    (attention_matrix, (["가"], ["나"], np.array([[np.nan]]))),
    (attention_matrix, (["가"], ["나"], np.array([[-0.1]]))),
    (attention_matrix, (["가"] * 81, ["나"], np.ones((81, 1)))),
    (attention_matrices, ([],)),
    (partial(score_by_minutes, score_label="BLEU"), ({},)),
    (partial(forest, label="points"), ([Group("none", [])],)),
    (partial(strips, label="points"), ({"none": np.zeros(0)},)),
    (training_curves, ({},)),
    (training_curves, ({"a": []},)),
    (training_curves, ({str(i): EPOCHS for i in range(4 * len(COLOURS) + 1)},)),
    (partial(score_by_length, score_label="BLEU"), ({"encdec": [1.0]}, ["1", "2"])),
    (partial(score_by_length, score_label="BLEU"), ({str(number): [1.0] for number in range(8)}, ["1"])),
    (weights_histogram, ({},)),
    (weights_by_distance, ({},)),
    (weights_by_distance, ({"a": np.zeros(0)},)),
    (weights_by_distance, ({"a": np.ones(2), "b": np.ones(3)},)),
    (weights_by_distance, ({str(i): np.ones(2) for i in range(8)},)),
    (entropy_and_agreement, ({"a": np.array([np.nan])}, {"a": np.array([0.5])})),
]


@pytest.mark.parametrize(("draw", "arguments"), UNDRAWABLE)
def test_invalid_figures_are_refused_in_one_line_and_leave_no_file(
    draw: Callable[..., None], arguments: tuple[object, ...], tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        draw(*arguments, tmp_path / "figure.png")
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_the_packaged_font_has_precedence_and_every_syllable() -> None:
    font = fonts.hangul_font()
    assert font.name == "NanumGothic.ttf"
    assert "koreanize_matplotlib" in font.parts
    assert fonts._glyphs(font).issuperset(range(0xAC00, 0xD7A4))


def test_without_the_package_a_system_font_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = fonts.hangul_font()
    monkeypatch.setattr(fonts, "find_spec", lambda name: None)
    monkeypatch.setattr(fonts, "SYSTEM_FAMILIES", ("Nowhere Gothic", "DejaVu Sans", "Installed Gothic"))
    installed = FontEntry(fname=str(packaged), name="Installed Gothic")
    monkeypatch.setattr(fontManager, "ttflist", [*fontManager.ttflist, installed])
    assert fonts.hangul_font() == packaged


def test_without_a_hangul_font_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "find_spec", lambda name: None)
    monkeypatch.setattr(fonts, "SYSTEM_FAMILIES", ("Nowhere Gothic", "DejaVu Sans"))
    with pytest.raises(UsageError, match=r"koreanize-matplotlib") as refused:
        fonts.hangul_font()
    assert "\n" not in str(refused.value)


def test_uniform_is_marked_only_where_all_keys_are_shown(tmp_path: Path) -> None:
    """Weights on padding that is not shown are missing from the rows: one over the keys shown is not uniform."""
    drawn = []
    for name, share in (("all", 1.0), ("some", 0.6)):
        attention_matrix(["a"], SENTENCE, np.full((1, 14), share / 14), tmp_path / f"{name}.png")
        image = (255 * imread(tmp_path / f"{name}.png")[..., :3]).round().astype(int)
        drawn.append(bool((abs(image - [0xD5, 0x5E, 0x00]).sum(axis=2) < 12).any()))
    assert drawn == [True, False]
