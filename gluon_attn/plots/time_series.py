"""Values over time: the truth, and the predictions of several systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.plots.style import COLOURS, INK, house_figure


def over_time(
    truth: np.ndarray,
    systems: Mapping[str, np.ndarray],
    parts: Sequence[np.ndarray],
    path: Path,
    *,
    step_name: str,
    label: str,
    truth_name: str,
    part_name: str = "block",
) -> None:
    """Draw each part of a series in a separate panel, with the truth in black and a colour for each system.

    Args:
        truth: (values,).
        systems: predictions by name, each (values,).
        parts: row numbers of each part, consecutive and without gaps.
        path: the PNG to write.
        step_name: what one value is of, such as a frame; the label of the horizontal axis.
        label: label of the values, with their unit.
        truth_name: name of the truth in the legend.
        part_name: name of a part.

    Raises:
        UsageError: if there are no parts, or more systems than colours.
    """
    if not parts or len(systems) > len(COLOURS):
        raise UsageError(f"over time: {len(parts)} parts and {len(systems)} systems; draw some parts and a few systems")
    with house_figure(10, 1.7 * len(parts) + 0.6, path) as figure:
        panels = figure.subplots(len(parts), 1, squeeze=False, sharey=True)[:, 0]
        for number, (axes, rows) in enumerate(zip(panels, parts, strict=True), start=1):
            steps = np.arange(1, len(rows) + 1)
            axes.axhline(0, color="#c9cdd2", linewidth=0.8)
            axes.plot(steps, truth[rows], color=INK, linewidth=1.6, label=truth_name)
            for (name, values), colour in zip(systems.items(), COLOURS, strict=False):
                axes.plot(steps, values[rows], color=colour, linewidth=1.3, label=name)
            axes.set_title(f"{part_name} {number}", fontsize=9)
            axes.set_ylabel(label)
        panels[-1].set_xlabel(step_name)
        panels[0].legend(loc="upper right", fontsize=8, ncols=len(systems) + 1)
