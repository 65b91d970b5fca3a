"""Forest plots of effects with intervals, and strip plots of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.metrics import interval_end
from gluon_attn.plots.fonts import drawable
from gluon_attn.plots.style import COLOURS, FAINT, INK, house_figure


@dataclass(frozen=True)
class Group:
    """Effects under one heading.

    Attributes:
        title: the heading.
        effects: label of each effect, and its mean with the lower and upper end of its interval.
    """

    title: str
    effects: Sequence[tuple[str, tuple[float, float, float]]]


def forest(
    groups: Sequence[Group], path: Path, label: str, *, band: float | None = None, linear: float | None = None
) -> None:
    """Draw effects as points with intervals, one below the other, with their values; effects whose interval excludes
    zero are coloured.

    Args:
        groups: groups from top to bottom.
        path: the PNG to write.
        label: label of the effects, with their unit.
        band: two standard deviations of the difference of equal systems, shaded on either side of zero.
        linear: if the end of an interval is larger, the scale is linear up to this effect and logarithmic beyond it,
            so that small effects can be told apart next to large ones. None for a linear scale.

    Raises:
        UsageError: if there are no effects.
    """
    rows = sum(1 + len(group.effects) for group in groups)
    if not any(group.effects for group in groups):
        raise UsageError("forest: no effects to draw")
    with house_figure(8, 0.9 + 0.22 * rows, path) as figure:
        axes = figure.subplots()
        axes.grid(False)
        axes.axvline(0, color=INK, linewidth=0.8)
        if band:
            label_of_band = f"±2 SD of the difference of equal systems: {band:.2f}"
            axes.axvspan(-band, band, color=FAINT, alpha=0.5, linewidth=0, label=label_of_band)
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0))
        labels, heading, y = [], [], 0
        for group in groups:
            labels.append(group.title)
            heading.append(True)
            y += 1
            for name, (mean, low, high) in group.effects:
                sure = low > 0 or high < 0
                colour = (COLOURS[0] if mean > 0 else COLOURS[1]) if sure else "#80868d"
                axes.plot([low, high], [y, y], color=colour, linewidth=1.6)
                axes.plot(mean, y, "o", color=colour, markersize=4.5)
                numbers = f"{mean:+.2f}  [{interval_end(low)}, {interval_end(high)}]"
                axes.text(1.02, y, numbers, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)
                labels.append(f"{name}   ")
                heading.append(False)
                y += 1
        axes.set_yticks(range(rows), [drawable(each) for each in labels])
        for tick, is_heading in zip(axes.get_yticklabels(), heading, strict=True):
            tick.set_color(INK if is_heading else "#5c6168")
            tick.set_fontsize(10.5 if is_heading else 9)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_ylim(rows - 0.4, -0.6)
        largest = max(abs(end) for group in groups for _, (_, *ends) in group.effects for end in ends)
        if linear is not None and largest > linear:
            axes.set_xscale("symlog", linthresh=linear)
            axes.margins(x=0.04)
            axes.autoscale_view(scaley=False)
            low, high = axes.get_xlim()
            ticks = [sign * each * linear for each in (1, 2, 5, 10, 20, 50) for sign in (-1, 1)]
            ticks = [0.0, -linear / 2, linear / 2, *ticks]
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
            axes.set_xlim(low, high)
            label += f" (linear up to {linear:g}, logarithmic beyond)"
        axes.set_xlabel(label)


def strips(values: Mapping[str, np.ndarray], path: Path, label: str) -> None:
    """Draw sets of values as dots on a common scale, one set below the other, with their number and, of three or more,
    their standard deviation.

    Args:
        values: for each name (values,).
        path: the PNG to write.
        label: label of the values, with their unit.

    Raises:
        UsageError: if there are no values.
    """
    if not values or not all(len(each) for each in values.values()):
        raise UsageError("strips: each name needs at least one value")
    with house_figure(8, 0.9 + 0.42 * len(values), path) as figure:
        axes = figure.subplots()
        for y, each in enumerate(values.values()):
            axes.plot([np.min(each), np.max(each)], [y, y], color=FAINT, linewidth=6, solid_capstyle="round")
            axes.plot(each, np.full(len(each), y), "o", color=COLOURS[y % len(COLOURS)], markersize=5, alpha=0.75)
            spread = f"n = {len(each)}" + (f", deviation {np.std(each, ddof=1):.2f}" if len(each) > 2 else "")
            axes.text(1.02, y, spread, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)
        axes.set_yticks(range(len(values)), [drawable(name) for name in values])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(values) - 0.4, -0.6)
        axes.set_xlabel(label)
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
