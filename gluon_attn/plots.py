"""Figures: training curves, attention matrices, distributions. Arrays in, one PNG in the house style out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from gluon_attn.errors import UsageError
from gluon_attn.fonts import drawable
from gluon_attn.house_style import COLOURS, FAINT, INK, MARKERS, house_figure

LONGEST_MATRIX = 80
"""Tokens along one side of an attention matrix beyond which no label could be read."""
LONGEST_LABEL = 14
"""Characters of a token beyond which its label is cut."""


def training_curves(
    curves: Mapping[str, Sequence[Mapping[str, float]]],
    path: Path,
    *,
    score: tuple[str, str, str] = ("accuracy", "accuracy", " %"),
    per: str = "example",
    loss: str = "cross-entropy",
    train: str = "train",
    lower_is_better: bool = False,
    kept: Mapping[str, int] | None = None,
) -> None:
    """Loss (train and validation) and a validation score by epoch, a colour and a marker for each variant.

    Args:
        curves: for each variant its epochs in order, each with ``epoch``, ``train_loss``, ``validation_loss`` (nats)
            and the score. The epoch with the best score is ringed, the first of equals, or the one that is ``kept``.
        path: the PNG to write.
        score: the score's name behind ``validation_``, how it is called, and its unit.
        per: what the loss is a mean over.
        loss: what it is.
        train: how that of training is called, if it has more in it.
        lower_is_better: whether the best score is the smallest.
        kept: for each variant the epoch that was selected, if by something else than the score.

    Raises:
        UsageError: no variants, more than can be told apart, or a variant without epochs.
    """
    if not curves or not all(curves.values()):
        raise UsageError("training curves: each variant needs at least one epoch")
    if len(curves) > 2 * len(COLOURS):
        raise UsageError(
            f"training curves: {len(curves)} variants cannot be told apart; draw {2 * len(COLOURS)} or fewer"
        )
    name, called, unit = score
    with house_figure(10, 4.2, path) as figure:
        losses, accuracy = figure.subplots(1, 2)
        for number, (variant, rows) in enumerate(curves.items()):
            again, place = divmod(number, len(COLOURS))
            colour, face = COLOURS[place], "white" if again else COLOURS[place]
            epochs = [int(row["epoch"]) for row in rows]
            scores = [row[f"validation_{name}"] for row in rows]
            style: dict[str, Any] = {
                "color": colour,
                "marker": MARKERS[place],
                "markersize": 5 if again else 4,
                "markerfacecolor": face,
            }
            losses.plot(
                epochs, [row["train_loss"] for row in rows], linestyle=(0, (2, 1.5)), **{**style, "marker": "."}
            )
            losses.plot(epochs, [row["validation_loss"] for row in rows], **style)
            best = int(np.argmin(scores) if lower_is_better else np.argmax(scores))
            if kept is not None:
                best = epochs.index(kept[variant])
            label = f"{variant}: {scores[best]:.2f}{unit} at epoch {epochs[best]}"
            accuracy.plot(epochs, scores, label=label, **style)
            accuracy.plot(epochs[best], scores[best], "o", markersize=11, markerfacecolor="none", color=colour)
        losses.plot([], [], color=INK, label="validation")
        losses.plot([], [], color=INK, linestyle=(0, (2, 1.5)), label=train)
        losses.set(title="Loss", xlabel="epoch", ylabel=f"{loss} (nats per {per})")
        losses.set_ylim(bottom=0)
        accuracy.set(
            title=f"Validation {called}", xlabel="epoch", ylabel=f"{called} ({unit.strip()})" if unit else called
        )
        losses.legend(loc="best")
        for axes in (losses, accuracy):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        figure.legend(*accuracy.get_legend_handles_labels(), loc="outside lower center", ncols=min(2, len(curves)))


def attention_matrix(
    tokens_query: Sequence[str],
    tokens_key: Sequence[str],
    weights: np.ndarray,
    path: Path,
    title: str | None = None,
    *,
    names: tuple[str, str] = ("query", "key"),
    blank: np.ndarray | None = None,
) -> None:
    """Attention weights as a matrix: a row for each query, a column for each key, in per cent of the row.

    Cells carry their number where there are at most 24 on a side. The colour bar marks the uniform weight, one over the
    number of keys: what a model that attends to nothing in particular would show. Where some pairs are ``blank``, each
    query has a number of keys of its own, and nothing is marked.

    Args:
        tokens_query: labels of the rows, from the top.
        tokens_key: labels of the columns.
        weights: (queries, keys), each row a distribution.
        path: the PNG to write.
        title: a line above the matrix, or None.
        names: what the rows and the columns are.
        blank: (queries, keys) of bool: pairs that cannot be, such as a word and those behind it; grey, not 0 %.

    Raises:
        UsageError: shapes disagree, weights outside 0 to 1, no tokens, or too many for any label to be read.
    """
    weights = np.asarray(weights, dtype=np.float64)
    rows, columns = len(tokens_query), len(tokens_key)
    if weights.shape != (rows, columns) or not weights.size:
        raise UsageError(f"attention matrix: weights {weights.shape} for {rows} queries and {columns} keys")
    if max(rows, columns) > LONGEST_MATRIX:
        raise UsageError(f"attention matrix: {max(rows, columns)} tokens cannot be read; draw at most {LONGEST_MATRIX}")
    if not np.all((weights >= 0) & (weights <= 1 + 1e-4)):
        raise UsageError("attention matrix: weights outside 0 to 1")
    numbered = max(rows, columns) <= 24
    cell = 0.42 if numbered else 0.2  # inches
    width, height = columns * cell, rows * cell
    percent: np.ma.MaskedArray[Any, Any] = np.ma.masked_array(100 * weights, False if blank is None else blank)
    uniform = 100 / columns
    # A scale that ends at the largest weight would paint nearly uniform attention as dark as sharp attention.
    darkest = max(float(percent.max()), min(100.0, 4 * uniform))
    # Axes of an exact size; the page then grows around whatever room the labels take.
    with house_figure(width, height, path, tight=True) as figure:
        axes = figure.add_axes((0, 0, 1, 1))
        image = axes.imshow(percent, cmap=_paper(), vmin=0, vmax=darkest, aspect="auto")
        axes.set_xticks(range(columns), _labels(tokens_key), rotation=45, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(rows), _labels(tokens_query))
        axes.xaxis.tick_top()
        axes.tick_params(length=0, labelsize=11 if numbered else 8)
        axes.set(xlabel=names[1], ylabel=names[0])
        axes.spines[:].set(visible=True, color=FAINT)
        axes.set_facecolor("#e9ebee")
        axes.grid(False)
        axes.set_xticks(np.arange(1, columns) - 0.5, minor=True)
        axes.set_yticks(np.arange(1, rows) - 0.5, minor=True)
        axes.grid(which="minor", axis="both", color="white", linewidth=0.8)
        axes.tick_params(which="minor", length=0)
        if numbered:
            _number_cells(axes, percent, darkest)
        bar_height = max(height, 1.6)
        bar_axes = figure.add_axes((1 + 0.25 / width, 1 - bar_height / height, 0.14 / width, bar_height / height))
        bar = figure.colorbar(image, cax=bar_axes)
        bar.set_label("attention weight (%)")
        bar_axes.spines["outline"].set_edgecolor(FAINT)
        if blank is None:
            _mark_uniform(bar_axes, uniform)
        if title:
            axes.annotate(
                drawable(title),
                (0, 1),
                (0, 10),
                xycoords=_above(axes),
                textcoords="offset points",
                fontsize=12,
                va="bottom",
            )


def weights_histogram(weights: Mapping[str, np.ndarray], path: Path) -> None:
    """How attention is spread: the distribution of weights relative to uniform, on a logarithmic scale.

    Args:
        weights: for each name a 1-D array of weights times number of keys: 1 is what uniform attention gives a token.
        path: the PNG to write.

    Raises:
        UsageError: nothing to draw, or too many names.
    """
    with house_figure(7, 3.6, path) as figure:
        axes = figure.subplots()
        edges = np.linspace(-5, 5, 61)
        logarithms = {name: np.log2(np.maximum(values, 2.0**-5)) for name, values in weights.items()}
        _distributions(axes, logarithms, edges, lambda median: f"{2**median:.2f}×")
        axes.set_xticks(range(-5, 6), ["≤ 1/32", "1/16", "1/8", "1/4", "1/2", "1", "2", "4", "8", "16", "≥ 32"])
        axes.set(title="Attention weights", xlabel="weight relative to uniform (times)", ylabel="share of tokens (%)")


def weights_by_distance(weights: Mapping[str, np.ndarray], path: Path) -> None:
    """The mean weight of the memories before a word by how far they are from it, beside the uniform weight.

    Args:
        weights: for each name (memories,), the first that of the word before.
        path: the PNG to write.

    Raises:
        UsageError: nothing to draw, too many names, or names with different numbers of memories.
    """
    numbers = sorted({len(values) for values in weights.values()})
    if len(numbers) != 1 or not numbers[0] or len(weights) > len(COLOURS):
        raise UsageError(f"weights by distance: {len(weights)} names with {numbers or 'no'} memories; draw some alike")
    distances = range(1, numbers[0] + 1)
    with house_figure(7, 3.6, path) as figure:
        axes = figure.subplots()
        for (name, values), colour, marker in zip(weights.items(), COLOURS, MARKERS, strict=False):
            axes.plot(distances, 100 * np.asarray(values), color=colour, marker=marker, markersize=5, label=name)
        uniform = 100 / numbers[0]
        axes.axhline(uniform, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), label=f"uniform: {uniform:.1f} %")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set(
            title="Attention to the memories before a word", xlabel="distance (words)", ylabel="attention weight (%)"
        )
        axes.legend(loc="best")


def length_histogram(
    counts: Sequence[int], edges: Sequence[float], path: Path, marks: Mapping[float, str] | None = None
) -> None:
    """A histogram of lengths in tokens, with vertical marks such as the length at which texts are cut.

    Args:
        counts: texts in each bin.
        edges: borders of the bins, one more than counts, increasing.
        path: the PNG to write.
        marks: a label for each length that deserves one.

    Raises:
        UsageError: edges do not fit the counts or do not increase.
    """
    heights, borders = np.asarray(counts, dtype=np.float64), np.asarray(edges, dtype=np.float64)
    if not len(heights) or len(borders) != len(heights) + 1 or np.any(np.diff(borders) <= 0):
        raise UsageError(f"length histogram: {len(heights)} counts need {len(heights) + 1} increasing edges")
    with house_figure(7, 3.6, path) as figure:
        axes = figure.subplots()
        axes.stairs(heights, borders, fill=True, color=COLOURS[0], alpha=0.85)
        axes.set_xlim(borders[0], borders[-1])
        axes.set_ylim(0, 1.22 * max(heights.max(), 1))
        for place, (length, label) in enumerate(sorted((marks or {}).items())):
            axes.axvline(length, color=COLOURS[1], linewidth=1.4, linestyle=(0, (4, 2)))
            # Neighbouring labels alternate between two heights, so that close marks stay apart.
            axes.annotate(
                drawable(f"{length:g}: {label}"),
                (length, 0.97 - 0.09 * (place % 2)),
                (4, 0),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                va="top",
                fontsize=9,
            )
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set(title=f"Lengths of {heights.sum():,.0f} texts", xlabel="length (tokens)", ylabel="texts")


def score_by_length(
    scores: Mapping[str, Sequence[float]],
    lengths: Sequence[str],
    path: Path,
    score: str,
    *,
    of: str = "source length (words)",
) -> None:
    """A score of each variant on sentences of like length (Bahdanau et al., 2015, figure 2).

    Args:
        scores: for each variant one score for each group.
        lengths: what the groups are called, from short to long.
        path: the PNG to write.
        score: what the score is called.
        of: what the lengths are.

    Raises:
        UsageError: a variant with another number of scores than there are groups, or too many variants.
    """
    if len(scores) > len(COLOURS):
        raise UsageError(f"scores by length: {len(scores)} variants cannot be told apart; draw {len(COLOURS)} or fewer")
    if wrong := [name for name, values in scores.items() if len(values) != len(lengths)]:
        raise UsageError(f"scores by length: {wrong[0]} needs {len(lengths)} scores, it has {len(scores[wrong[0]])}")
    with house_figure(7, 4, path) as figure:
        axes = figure.subplots()
        for (variant, values), colour, marker in zip(scores.items(), COLOURS, MARKERS, strict=False):
            axes.plot(range(len(lengths)), values, color=colour, marker=marker, markersize=5, label=variant)
        axes.set_xticks(range(len(lengths)), lengths)
        axes.set_ylim(bottom=0)
        axes.set(title=f"{score} by length", xlabel=of, ylabel=score)
        axes.legend(loc="best")


def entropy_and_agreement(
    entropy: Mapping[str, np.ndarray],
    agreement: Mapping[str, np.ndarray],
    path: Path,
    agreement_label: str = "Spearman correlation",
) -> None:
    """The best epoch beside the over-fitted one: how spread its weights are and whether they point at what decides.

    Args:
        entropy: for each model a 1-D array, one value per review: entropy of its weights in bits over log2 of its
            length, 0 (all on one token) to 1 (uniform). Reviews of one token have none: NaN, left out of the count n.
        agreement: for each model a 1-D array, -1 to 1 or 0 to 1, one value per review: agreement of the weights
            with what deleting each token does to the prediction. NaN where it is undefined, left out of the count n.
        path: the PNG to write.
        agreement_label: the measure of agreement, e.g. ``top-1 hit rate``.

    Raises:
        UsageError: no model, too many, or one without a single defined value.
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
    """Overlaid histograms in per cent, with each median as a line and, ``written`` out, in the legend."""
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


def _above(axes: Axes) -> Callable[[RendererBase], Bbox]:
    """A place for annotations: the axes in width, up to the top of their tick labels in height."""

    def box(renderer: RendererBase) -> Bbox:
        frame = axes.get_window_extent(renderer)
        top = axes.xaxis.get_tightbbox(renderer)
        return Bbox.from_extents(frame.x0, frame.y0, frame.x1, frame.y1 if top is None else max(frame.y1, top.y1))

    return box


def _labels(tokens: Sequence[str]) -> list[str]:
    return [drawable(token if len(token) <= LONGEST_LABEL else token[: LONGEST_LABEL - 1] + "…") for token in tokens]


def _mark_uniform(bar_axes: Axes, uniform: float) -> None:
    """Mark the uniform weight, in per cent, on a colour bar."""
    bar_axes.plot(
        -0.35, uniform, ">", markersize=6, color=COLOURS[1], clip_on=False, transform=bar_axes.get_yaxis_transform()
    )
    bar_axes.annotate(
        f"▸ uniform: {uniform:.1f} %",
        (-0.6, 0),
        (0, -9),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize=8.5,
        color=COLOURS[1],
    )


def _number_cells(axes: Axes, percent: np.ma.MaskedArray[Any, Any], darkest: float) -> None:
    """Write each weight into its cell, dark on light and light on dark."""
    spread = percent.max() - percent.min()
    for (row, column), value in np.ma.ndenumerate(percent):
        # Near-uniform rows differ only behind the point.
        text = f"{value:.0f}" if spread >= 10 else f"{value:.1f}"
        dark = value > 0.5 * darkest
        axes.text(column, row, text, ha="center", va="center", fontsize=8.5, color="white" if dark else INK)


def _paper() -> LinearSegmentedColormap:
    """White to dark blue; the colours stand where CIE lightness falls evenly from 100 to 20, so ink is proportional."""
    steps = [(0.0, "#ffffff"), (0.166, "#c6dbef"), (0.4, "#6baed6"), (0.68, "#2171b5"), (1.0, "#08306b")]
    return LinearSegmentedColormap.from_list("paper", steps)
