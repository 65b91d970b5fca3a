"""Line plots: training curves, scores by length, weights by distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from matplotlib.ticker import MaxNLocator

from gluon_attn.errors import UsageError
from gluon_attn.metrics import lower_is_better
from gluon_attn.plots.fonts import drawable
from gluon_attn.plots.style import COLOURS, INK, MARKERS, house_figure

AmountT = TypeVar("AmountT", int, float)


@dataclass(frozen=True)
class Score:
    """A validation score: its name in the metrics (without ``validation_``), its label, and its unit, such as ``
    %``."""

    key: str
    label: str
    unit: str = ""


ACCURACY = Score("accuracy", "accuracy", " %")


def training_curves(
    curves: Mapping[str, Sequence[Mapping[str, float]]],
    path: Path,
    *,
    score: Score = ACCURACY,
    loss_label: str = "cross-entropy",
    loss_unit: str = "nats",
    loss_per: str = "example",
    train_label: str = "train",
    selected_epochs: Mapping[str, int] | None = None,
) -> None:
    """Plot loss (train and validation) and a validation score by epoch, with a colour and a marker for each variant.

    Args:
        curves: for each variant, its epochs in order, each with ``epoch``, ``train_loss``, ``validation_loss`` and the
            score.
        path: the PNG to write.
        score: the score to draw.
        loss_label, loss_unit: name and unit of the loss.
        loss_per: the item that the loss is averaged over.
        train_label: name of the training loss, if it has more terms than the validation loss.
        selected_epochs: for each variant, the epoch to mark with a ring, if it was not selected by the score. The
            default is the epoch with the best score, the first of equal ones.

    Raises:
        UsageError: if there are no variants, too many to tell apart, or a variant without epochs.
    """
    if not curves or not all(curves.values()):
        raise UsageError("training curves: each variant needs at least one epoch")
    if len(curves) > 4 * len(COLOURS):
        raise UsageError(
            f"training curves: {len(curves)} variants cannot be told apart; draw {4 * len(COLOURS)} or fewer"
        )
    with house_figure(10, 4.2, path) as figure:
        losses, validation = figure.subplots(1, 2)
        for number, (variant, rows) in enumerate(curves.items()):
            repeated, index = divmod(number, len(COLOURS))
            colour, face = COLOURS[index], "white" if repeated % 2 else COLOURS[index]
            epochs = [int(row["epoch"]) for row in rows]
            scores = [row[f"validation_{score.key}"] for row in rows]
            style: dict[str, Any] = {
                "color": colour,
                "marker": MARKERS[index],
                "markersize": 5 if repeated % 2 else 4,
                "markerfacecolor": face,
            }
            losses.plot(
                epochs, [row["train_loss"] for row in rows], linestyle=(0, (2, 1.5)), **{**style, "marker": "."}
            )
            losses.plot(epochs, [row["validation_loss"] for row in rows], **style)
            best = int(np.argmin(scores) if lower_is_better(score.key) else np.argmax(scores))
            if selected_epochs is not None:
                best = epochs.index(selected_epochs[variant])
            label = f"{variant}: {scores[best]:.2f}{score.unit} at epoch {epochs[best]}"
            validation.plot(epochs, scores, label=label, linestyle="--" if repeated > 1 else "-", **style)
            validation.plot(epochs[best], scores[best], "o", markersize=11, markerfacecolor="none", color=colour)
        losses.plot([], [], color=INK, label="validation")
        losses.plot([], [], color=INK, linestyle=(0, (2, 1.5)), label=train_label)
        losses.set(title="Loss", xlabel="epoch", ylabel=f"{loss_label} ({loss_unit} per {loss_per})")
        losses.set_ylim(bottom=0)
        ylabel = f"{score.label} ({score.unit.strip()})" if score.unit else score.label
        validation.set(title=f"Validation {score.label}", xlabel="epoch", ylabel=ylabel)
        losses.legend(loc="best")
        for axes in (losses, validation):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        figure.legend(*validation.get_legend_handles_labels(), loc="outside lower center", ncols=min(2, len(curves)))


def weights_by_distance(weights: Mapping[str, np.ndarray], path: Path) -> None:
    """Plot the mean attention weight of earlier memories by their distance from a word, and the uniform weight.

    Args:
        weights: for each name (memories,), the first for the previous word.
        path: the PNG to write.

    Raises:
        UsageError: if there are no names, too many, or different numbers of memories.
    """
    numbers = sorted({len(values) for values in weights.values()})
    if not 1 <= len(weights) <= len(COLOURS):
        raise UsageError(f"weights by distance: {len(weights)} names; draw 1 to {len(COLOURS)}")
    if len(numbers) != 1 or not numbers[0]:
        raise UsageError(f"weights by distance: names with {numbers} memories; draw equal numbers, at least 1")
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


def score_by_length(
    scores: Mapping[str, Sequence[float]],
    length_groups: Sequence[str],
    path: Path,
    score_label: str,
    *,
    length_label: str = "source length (words)",
    bounds: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Plot a score of each variant by sentence length (Bahdanau et al., 2015, figure 2).

    Args:
        scores: for each variant, one score per group.
        length_groups: labels of the groups, from short to long.
        path: the PNG to write.
        score_label: name of the score.
        length_label: label of the lengths, with their unit.
        bounds: for each name of a bound, one value per group; drawn as dashed lines above the scores.

    Raises:
        UsageError: if a variant does not have one score per group, or if there are too many variants.
    """
    if len(scores) > len(COLOURS):
        raise UsageError(f"scores by length: {len(scores)} variants cannot be told apart; draw {len(COLOURS)} or fewer")
    if wrong := [name for name, values in scores.items() if len(values) != len(length_groups)]:
        raise UsageError(f"scores by length: {wrong[0]} needs {len(length_groups)} scores, not {len(scores[wrong[0]])}")
    with house_figure(7, 4, path) as figure:
        axes = figure.subplots()
        for (variant, values), colour, marker in zip(scores.items(), COLOURS, MARKERS, strict=False):
            axes.plot(range(len(length_groups)), values, color=colour, marker=marker, markersize=5, label=variant)
        for number, (name, values) in enumerate((bounds or {}).items()):
            dashes = (0, (4 / (number + 1), 2))
            axes.plot(range(len(length_groups)), values, color=INK, linestyle=dashes, linewidth=1.2, label=name)
        axes.set_xticks(range(len(length_groups)), length_groups)
        axes.set_ylim(bottom=0)
        axes.set(title=f"{score_label} by length", xlabel=length_label, ylabel=score_label)
        axes.legend(loc="best")


def score_by_minutes(
    curves: Mapping[str, Sequence[Sequence[tuple[float, float]]]], path: Path, score_label: str
) -> None:
    """Plot a validation score by minutes of processor time, one line per training.

    Args:
        curves: for each variant, its trainings, each (minutes, score) of the epochs in order. The first training is
            drawn with markers, the others as thin lines; the legend has the best epoch of all.
        path: the PNG to write.
        score_label: name of the score, of which more is better.

    Raises:
        UsageError: if there are no variants, or too many.
    """
    if not curves or len(curves) > len(COLOURS):
        raise UsageError(f"score by minutes: {len(curves)} variants; draw 1 to {len(COLOURS)}")
    with house_figure(7, 4, path) as figure:
        axes = figure.subplots()
        for (variant, trainings), colour, marker in zip(curves.items(), COLOURS, MARKERS, strict=False):
            for number, epochs in enumerate(trainings):
                style: dict[str, Any] = {"linewidth": 0.9, "alpha": 0.6}
                if not number:
                    best = max(score for training in trainings for _, score in training)
                    label = f"{variant}: {best:.2f} at best" + (", all seeds" if len(trainings) > 1 else "")
                    style = {"marker": marker, "markersize": 4, "label": label}
                axes.plot(*zip(*epochs, strict=True), color=colour, **style)
        if max(map(len, curves.values())) > 1:
            axes.plot([], [], color=INK, linewidth=0.9, alpha=0.6, label="other seeds")
        axes.set_xlim(left=0)
        axes.set(
            title=f"Validation {score_label}, by time of training",
            xlabel="minutes of processor time, without validation",
            ylabel=score_label,
        )
        axes.legend(loc="lower right")


def positional_encoding(code: np.ndarray, similarity: np.ndarray, path: Path) -> None:
    """Plot positional encodings (Vaswani et al., 2017, sec. 3.5) and their similarity by distance.

    Args:
        code: (positions, units).
        similarity: (distances,), the product of two encodings at each distance, divided by that at distance 0.
        path: the PNG to write.
    """
    with house_figure(10, 3.9, path) as figure:
        left, right = figure.subplots(1, 2)
        image = left.imshow(code, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
        left.grid(False)
        left.set(title="Positional encoding", xlabel="dimension: sines, then cosines", ylabel="position")
        figure.colorbar(image, ax=left).set_label("value")
        right.plot(range(len(similarity)), similarity, color=COLOURS[0])
        right.set_xlim(left=0)
        right.set(title="Similarity of two positions", xlabel="distance", ylabel="dot product, relative to distance 0")


def scores_by_width(
    widths: Sequence[int], variance: np.ndarray, entropy: np.ndarray, scaled_entropy: np.ndarray, path: Path
) -> None:
    """Plot why dot products are scaled (Vaswani et al., 2017, sec. 3.2.1): the variance of the scores, and the entropy
    of their softmax with and without scaling, by width.

    Args:
        widths: widths of queries and keys.
        variance, entropy, scaled_entropy: (widths,), see :class:`~gluon_attn.evaluation.scores_by_width.ScoresByWidth`.
        path: the PNG to write.
    """
    with house_figure(10, 3.9, path) as figure:
        left, right = figure.subplots(1, 2)
        left.loglog(widths, variance, color=COLOURS[1], marker=MARKERS[1], label="q · k")
        scaled = np.asarray(variance) / np.asarray(widths)
        left.loglog(widths, scaled, color=COLOURS[0], marker=MARKERS[0], label="q · k / sqrt(d)")
        powers = [10**power for power in range(1 + int(np.log10(np.max(variance))))]
        left.set_yticks(powers, [str(power) for power in powers])
        left.set(title="Variance of the scores", xlabel="width d of query and key", ylabel="variance")
        right.plot(widths, entropy, color=COLOURS[1], marker=MARKERS[1], label="softmax(q · k)")
        right.plot(widths, scaled_entropy, color=COLOURS[0], marker=MARKERS[0], label="softmax(q · k / sqrt(d))")
        right.set_xscale("log")
        right.set_ylim(0, 1)
        right.set(
            title="Entropy of the weights",
            xlabel="width d of query and key",
            ylabel="entropy / log2(keys)  (0 one key, 1 uniform)",
        )
        for axes in (left, right):
            axes.set_xticks(widths, [str(width) for width in widths])
            axes.minorticks_off()
            axes.legend(loc="best")


def score_by_amount(
    series: Mapping[str, Mapping[AmountT, Sequence[float]]],
    path: Path,
    amount: str,
    label: str,
    *,
    scale: Literal["linear", "log", "sqrt"] = "linear",
) -> None:
    """Plot a score by an amount, such as labelled texts or minutes, with the mean and the range over seeds.

    Args:
        series: for each system, the values over seeds by amount.
        path: the PNG to write.
        amount: name of the amount.
        label: name of the score.
        scale: scale of the amount: ``linear``, for small whole numbers; ``log``; or ``sqrt``, which can show 0.

    Raises:
        UsageError: if there are no systems, or too many.
    """
    if not series or len(series) > len(COLOURS):
        raise UsageError(f"score by amount: {len(series)} systems; draw 1 to {len(COLOURS)}")
    with house_figure(7, 4.2, path) as figure:
        axes = figure.subplots()
        several = any(len(values) > 1 for points in series.values() for values in points.values())
        style: dict[str, Any] = {"markersize": 5, "capsize": 3, "clip_on": scale != "sqrt"}
        for (name, points), colour, marker in zip(series.items(), COLOURS, MARKERS, strict=False):
            amounts = sorted(points)
            means = np.array([np.mean(points[one]) for one in amounts])
            lows, highs = (np.array([limit(points[one]) for one in amounts]) for limit in (min, max))
            ranges = np.maximum(0.0, [means - lows, highs - means])
            axes.errorbar(amounts, means, yerr=ranges, label=drawable(name), color=colour, marker=marker, **style)
        if scale == "linear":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        else:
            if scale == "log":
                axes.set_xscale("log")
            else:
                axes.set_xscale("function", functions=(np.sqrt, np.square))
            ticks = sorted({one for points in series.values() for one in points})
            axes.set_xticks(ticks, [f"{one:,.0f}".replace(",", " ") if one >= 1 else f"{one:.1g}" for one in ticks])
            axes.minorticks_off()
        shown = f"{amount} (square-root scale)" if scale == "sqrt" else amount
        title = label.partition(",")[0]
        axes.set(title=f"{title[:1].upper()}{title[1:]} by {amount}", xlabel=shown)
        axes.set_ylabel(f"{label}; bars: range over seeds" if several else label)
        if len(series) > 1:
            axes.legend(loc="best")
