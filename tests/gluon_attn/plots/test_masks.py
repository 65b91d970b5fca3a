"""Predictions of a masked language model, below the token that they are for."""

from __future__ import annotations

from pathlib import Path

from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from gluon_attn.plots.masks import masked_tokens
from gluon_attn.plots.style import COLOURS
from tests.gluon_attn.plots.drawn import written


def test_each_token_has_its_probability_and_its_predictions(figures: list[Figure], tmp_path: Path) -> None:
    predicted = [[("이", 0.62), ("▁참", 0.21)], [("🧡", 0.83), ("이", 0.04)]]
    masked_tokens(["▁참", "🧡"], [0.21, 0.83], predicted, tmp_path / "x.png")
    (axes,) = figures[0].axes
    above = [(0, -0.9, "▁참"), (0, -0.3, "p = 0.21"), (1, -0.9, "U+1F9E1"), (1, -0.3, "p = 0.83")]
    below = [(0, 0.5, "이 0.62"), (0, 1.5, "▁참 0.21"), (1, 0.5, "U+1F9E1 0.83"), (1, 1.5, "이 0.04")]
    assert sorted(written(axes)) == sorted([*above, *below])
    colours = {text.get_text(): to_hex(text.get_color()) for text in axes.texts}
    blue = to_hex(COLOURS[0])
    assert {text for text, colour in colours.items() if colour == blue} == {"▁참 0.21", "U+1F9E1 0.83"}
