"""Predictions of a masked language model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gluon_attn.plots.fonts import drawable
from gluon_attn.plots.style import COLOURS, house_figure


def masked_tokens(
    tokens: Sequence[str],
    probability: Sequence[float],
    predicted: Sequence[Sequence[tuple[str, float]]],
    path: Path,
) -> None:
    """Draw the most probable predictions for each token of a text, masked one at a time; the token itself is coloured.

    Args:
        tokens: tokens of the text.
        probability: (tokens,), probability of each token at its position.
        predicted: for each position, the most probable tokens with their probabilities, in descending order.
        path: the PNG to write.
    """
    rows = max(map(len, predicted), default=0)
    title = "Predicted for each token, masked alone\np: probability of the token itself, in blue"
    with house_figure(max(4.0, 1.3 * len(tokens)), 0.45 * rows + 1.6, path) as figure:
        axes = figure.subplots()
        axes.set(xlim=(-0.5, len(tokens) - 0.5), ylim=(rows + 0.3, -1.6), title=title)
        axes.axis("off")
        for column, (token, own, best) in enumerate(zip(tokens, probability, predicted, strict=True)):
            axes.text(column, -0.9, drawable(token), ha="center", va="center", fontweight="bold")
            axes.text(column, -0.3, f"p = {own:.2f}", ha="center", va="center", fontsize="small")
            for row, (other, p) in enumerate(best):
                colour = COLOURS[0] if other == token else "black"
                axes.text(column, row + 0.5, f"{drawable(other)} {p:.2f}", ha="center", va="center", color=colour)
