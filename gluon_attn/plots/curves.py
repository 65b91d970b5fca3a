"""Lines: training curves, scores by length, weights by distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from gluon_attn.errors import UsageError
from gluon_attn.plots.style import COLOURS, INK, MARKERS, house_figure


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
