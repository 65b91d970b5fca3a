"""What all figures have in common: the same bytes each time, a watermark on request, Hangul, refusals in one line."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontEntry, fontManager
from matplotlib.image import imread

from gluon_attn.errors import UsageError
from gluon_attn.plots import fonts
from gluon_attn.plots.curves import (
    positional_encoding,
    score_by_amount,
    score_by_length,
    score_by_minutes,
    training_curves,
    weights_by_distance,
)
from gluon_attn.plots.distributions import entropy_and_agreement, weights_histogram
from gluon_attn.plots.forest import Group, forest, strips
from gluon_attn.plots.heatmap import attention_matrices, attention_matrix
from gluon_attn.plots.masks import masked_tokens
from gluon_attn.plots.style import COLOURS, watermark
from tests.gluon_attn.plots.drawn import EPOCHS, SENTENCE, rows


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    """matplotlib only warns when a glyph is missing or a layout fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


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


def test_characters_without_a_glyph_become_code_points() -> None:
    assert fonts.drawable("가 a 🧡") == "가 a U+1F9E1"


def test_each_variant_has_its_colour(tmp_path: Path) -> None:
    training_curves({f"variant {i}": EPOCHS for i in range(4 * len(COLOURS))}, tmp_path / "curves.png")
    picture = (imread(tmp_path / "curves.png")[:, :, :3] * 255).round().astype(int)
    for colour in COLOURS:
        wanted = np.round(np.array(to_rgb(colour)) * 255)
        assert (np.abs(picture - wanted).max(axis=2) <= 8).sum() > 50, colour


MATRIX, CURVES, DISTANCE = "attention matrix: ", "training curves: ", "weights by distance: "
UNDRAWABLE: list[tuple[Callable[..., None], tuple[object, ...], str]] = [
    (attention_matrix, (["가"], ["가", "나"], np.ones((1, 1))), MATRIX + "weights (1, 1) for 1 queries and 2 keys"),
    (attention_matrix, ([], [], np.ones((0, 0))), MATRIX + "weights (0, 0) for 0 queries and 0 keys"),
    (attention_matrix, (["가"], ["나"], np.array([[np.nan]])), MATRIX + "weights outside 0 to 1"),
    (attention_matrix, (["가"], ["나"], np.array([[-0.1]])), MATRIX + "weights outside 0 to 1"),
    (attention_matrix, (["가"], ["나"], np.array([[1.1]])), MATRIX + "weights outside 0 to 1"),
    (attention_matrix, (["가"] * 81, ["나"], np.ones((81, 1))), MATRIX + "81 tokens cannot be read; draw at most 80"),
    (attention_matrices, ([],), "attention matrices: none to draw"),
    (partial(score_by_minutes, score_label="BLEU"), ({},), "score by minutes: 0 variants"),
    (partial(score_by_amount, amount="pairs", label="BLEU"), ({},), "score by amount: 0 systems"),
    (partial(forest, label="points"), ([Group("none", [])],), "forest: no effects to draw"),
    (partial(strips, label="points"), ({"none": np.zeros(0)},), "strips: each name needs at least one value"),
    (training_curves, ({},), CURVES + "each variant needs at least one epoch"),
    (training_curves, ({"a": []},), CURVES + "each variant needs at least one epoch"),
    (training_curves, (dict.fromkeys(map(str, range(29)), EPOCHS),), CURVES + "29 variants cannot be told apart"),
    (
        partial(score_by_length, score_label="BLEU"),
        ({"encdec": [1.0]}, ["1", "2"]),
        "scores by length: encdec needs 2 scores, not 1",
    ),
    (
        partial(score_by_length, score_label="BLEU"),
        ({str(number): [1.0] for number in range(8)}, ["1"]),
        "scores by length: 8 variants cannot be told apart",
    ),
    (weights_histogram, ({},), "distributions: 0 samples"),
    (weights_by_distance, ({},), DISTANCE + "0 names; draw 1 to 7"),
    (weights_by_distance, ({"a": np.zeros(0)},), DISTANCE + "names with [0] memories; draw equal numbers, at least 1"),
    (weights_by_distance, ({"a": np.ones(2), "b": np.ones(3)},), DISTANCE + "names with [2, 3] memories"),
    (weights_by_distance, (dict.fromkeys(map(str, range(8)), np.ones(2)),), DISTANCE + "8 names; draw 1 to 7"),
    (
        entropy_and_agreement,
        ({"a": np.array([np.nan])}, {"a": np.array([0.5])}),
        "distributions: a has no defined value",
    ),
]


@pytest.mark.parametrize(("draw", "arguments", "message"), UNDRAWABLE)
def test_invalid_figures_are_refused_in_one_line_and_leave_no_file(
    draw: Callable[..., None], arguments: tuple[object, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}") as refused:
        draw(*arguments, path=tmp_path / "figure.png")
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
