"""Attention heads over a sentence, as lines between queries and keys (Vaswani et al., 2017, figures 3 to 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gluon_attn.errors import UsageError
from gluon_attn.plots.fonts import drawable
from gluon_attn.plots.style import COLOURS, house_figure

LONGEST = 40
"""Maximum number of tokens; with more, lines cannot be told apart."""


def fits(weights: ArrayLike) -> bool:
    """Whether a head (queries, keys) is small enough to be drawn."""
    return max(np.shape(weights)) <= LONGEST


def attention_lines(
    heads: Sequence[tuple[str, Sequence[str], Sequence[str], np.ndarray]],
    path: Path,
    *,
    axis_labels: tuple[str, str] = ("query", "key"),
) -> None:
    """Draw heads side by side: queries on the left, keys on the right, and lines between them whose opacity is the
    weight.

    Args:
        heads: for each head, its title, the tokens of queries and keys, and weights (queries, keys), each row a
            distribution.
        path: the PNG to write.
        axis_labels: labels of queries and keys.

    Raises:
        UsageError: if there are no heads, if weights do not match the tokens, or if there are too many tokens.
    """
    if not heads:
        raise UsageError("attention lines: no heads to draw")
    for title, queries, keys, weights in heads:
        if np.shape(weights) != (len(queries), len(keys)):
            raise UsageError(f"{title}: weights {np.shape(weights)} for {len(queries)} queries and {len(keys)} keys")
        if not fits(weights):
            raise UsageError(f"{title}: {max(len(queries), len(keys))} tokens cannot be read; draw at most {LONGEST}")
    longest = max(max(len(queries), len(keys)) for _, queries, keys, _ in heads)
    with house_figure(3.4 * len(heads), 0.6 + 0.24 * longest, path) as figure:
        for axes, (title, queries, keys, weights) in zip(
            figure.subplots(1, len(heads), squeeze=False)[0], heads, strict=True
        ):
            for query, row in enumerate(weights):
                for key, weight in enumerate(row):
                    axes.plot([0, 1], [query, key], color=COLOURS[0], alpha=float(min(1.0, weight)), linewidth=2)
            for x, tokens, side in ((-0.04, queries, "right"), (1.04, keys, "left")):
                for y, token in enumerate(tokens):
                    axes.text(x, y, drawable(token), ha=side, va="center", fontsize=9)
            for x, label, side in ((-0.04, axis_labels[0], "right"), (1.04, axis_labels[1], "left")):
                axes.text(x, -1.2, label, ha=side, va="center", fontsize=8, color="#5c6168")
            axes.set(xlim=(-1.0, 2.0), ylim=(longest - 0.5, -1.8), title=drawable(title))
            axes.set_axis_off()
