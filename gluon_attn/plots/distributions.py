"""Distributions of attention weights, of their entropy and of their agreement with leave-one-out effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from gluon_attn.errors import UsageError
from gluon_attn.plots.style import COLOURS, house_figure


def weights_histogram(weights: Mapping[str, np.ndarray], path: Path) -> None:
    """Plot the distribution of attention weights relative to uniform attention, on a logarithmic scale.

    Args:
        weights: for each name, a 1-D array of weights times the number of keys; 1 is the weight of uniform attention.
        path: the PNG to write.

    Raises:
        UsageError: if there is nothing to draw, or there are too many names.
    """
    with house_figure(7, 3.6, path) as figure:
        axes = figure.subplots()
        edges = np.linspace(-5, 5, 61)
        logarithms = {name: np.log2(np.maximum(values, 2.0**-5)) for name, values in weights.items()}
        _distributions(axes, logarithms, edges, lambda median: f"{2**median:.2f}×")
        axes.set_xticks(range(-5, 6), ["≤ 1/32", "1/16", "1/8", "1/4", "1/2", "1", "2", "4", "8", "16", "≥ 32"])
        axes.set(title="Attention weights", xlabel="weight relative to uniform (times)", ylabel="share of tokens (%)")


def entropy_and_agreement(
    entropy: Mapping[str, np.ndarray],
    agreement: Mapping[str, np.ndarray],
    path: Path,
    agreement_label: str = "Spearman correlation",
) -> None:
    """Plot the faithfulness of attention of several models, such as the best and an overfitted epoch: distributions of
    the entropy of the weights and of their agreement with leave-one-out effects
    (:func:`gluon_attn.evaluation.faithfulness.faithfulness`).

    Args:
        entropy: for each model, a 1-D array with one value per review: the entropy of its weights in bits divided by
            log2 of its length, 0 (one token has all the weight) to 1 (uniform). It is undefined for reviews of one
            token: these are NaN and not counted in n.
        agreement: for each model, a 1-D array with one value per review, -1 to 1 or 0 to 1: the agreement of the
            weights with leave-one-out effects. Undefined values are NaN and not counted in n.
        path: the PNG to write.
        agreement_label: the measure of agreement, e.g. ``top-1 hit rate``.

    Raises:
        UsageError: if there is no model, if there are too many, or if a model has no defined value.
    """
    with house_figure(10, 3.9, path) as figure:
        left, right = figure.subplots(1, 2)
        _distributions(left, entropy, np.linspace(0, 1, 51))
        left.set(
            title="Entropy of the attention weights",
            xlabel="entropy / log₂(length)  (0 one token, 1 uniform)",
            ylabel="share of reviews (%)",
        )
        lowest = min((float(np.nanmin(values, initial=0.0)) for values in agreement.values()), default=0.0)
        _distributions(right, agreement, np.linspace(-1 if lowest < 0 else 0, 1, 51))
        right.set(
            title="Agreement of weight and effect of deletion", xlabel=agreement_label, ylabel="share of reviews (%)"
        )


def _distributions(
    axes: Axes, samples: Mapping[str, np.ndarray], edges: np.ndarray, written: Callable[[float], str] = "{:.2f}".format
) -> None:
    """Draw overlaid histograms in per cent, with each median as a line and, formatted by ``written``, in the legend."""
    if not samples or len(samples) > len(COLOURS):
        raise UsageError(f"distributions: {len(samples)} samples; draw 1 to {len(COLOURS)}")
    top = 0.0
    medians = []
    for (name, values), colour in zip(samples.items(), COLOURS, strict=False):
        defined = np.asarray(values, dtype=np.float64)
        defined = defined[~np.isnan(defined)]
        if not len(defined):
            raise UsageError(f"distributions: {name} has no defined value")
        counts, _ = np.histogram(np.clip(defined, edges[0], edges[-1]), edges)
        share = 100 * counts / len(defined)
        median = float(np.median(defined))
        label = f"{name}: median {written(median)}, n = {len(defined):,}"
        axes.stairs(share, edges, fill=True, color=colour, alpha=0.18)
        axes.stairs(share, edges, color=colour, linewidth=1.6, label=label)
        medians.append((median, colour))
        top = max(top, float(share.max()))
    for median, colour in medians:
        axes.vlines(median, 0, 1.05 * top, color=colour, linewidth=1.2, linestyle=(0, (4, 2)))
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, top * (1.1 + 0.12 * len(samples)))
    axes.legend(loc="upper left")
