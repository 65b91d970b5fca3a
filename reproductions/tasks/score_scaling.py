"""Why dot products are scaled (Vaswani et al., 2017, sec. 3.2.1): a figure that needs no training."""

from __future__ import annotations

from pathlib import Path

from gluon_attn.evaluation import attention
from gluon_attn.plots import curves
from reproductions.protocol.reproduction import Groups

_WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


def scores_by_width(groups: Groups, directory: Path) -> dict[str, Path]:
    """Draw the variance of random scores and the entropy of their softmax by the width of queries and keys."""
    measured = attention.scores_by_width(_WIDTHS, keys=16, queries=500, seed=0)
    path = directory / "scores_by_width.png"
    curves.scores_by_width(measured.widths, measured.variance, measured.entropy, measured.scaled_entropy, path)
    return {"why dot products are scaled": path}
