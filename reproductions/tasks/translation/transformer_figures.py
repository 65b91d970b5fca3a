"""Figures of Vaswani et al. (2017) that need no training: why dot products are scaled, and sinusoidal positions."""

from __future__ import annotations

from pathlib import Path

from mxnet import nd

from gluon_attn.evaluation.scores_by_width import scores_by_width as measure
from gluon_attn.layers.positions import SinusoidalPositions
from gluon_attn.plots import curves
from reproductions.protocol.reproduction import Groups

_WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_POSITIONS, _UNITS = 100, 128


def scores_by_width(groups: Groups, directory: Path) -> dict[str, Path]:
    """Draw the variance of random scores and the entropy of their softmax by the width of queries and keys (sec.
    3.2.1)."""
    measured = measure(_WIDTHS, keys=16, queries=500, seed=0)
    path = directory / "scores_by_width.png"
    curves.scores_by_width(measured.widths, measured.variance, measured.entropy, measured.scaled_entropy, path)
    return {"why dot products are scaled": path}


def positional_encoding(groups: Groups, directory: Path) -> dict[str, Path]:
    """Draw the sinusoids of the first positions, and the dot product of two position vectors, which depends only on
    their distance (sec. 3.5)."""
    code = SinusoidalPositions(_UNITS)(nd.arange(_POSITIONS)).asnumpy()
    products = code @ code[0]
    path = directory / "positional_encoding.png"
    curves.positional_encoding(code, products / products[0], path)
    return {"positional encoding": path}
