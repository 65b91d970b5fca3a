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
    interval: float,
    label: str,
    part_name: str = "block",
) -> None:
    """Draw each part of a series in a separate panel, with the truth in black and a colour for each system.

    Args:
        truth: (values,).
        systems: predictions by name, each (values,).
        parts: row numbers of each part, consecutive and without gaps.
        path: the PNG to write.
        interval: seconds between two values.
        label: label of the values, with their unit.
        part_name: name of a part.

    Raises:
        UsageError: if there are no parts, or more systems than colours.
    """
    if not parts or len(systems) > len(COLOURS):
        raise UsageError(f"over time: {len(parts)} parts and {len(systems)} systems; draw some parts and a few systems")
    with house_figure(10, 1.7 * len(parts) + 0.6, path) as figure:
        panels = figure.subplots(len(parts), 1, squeeze=False, sharey=True)[:, 0]
        for number, (axes, rows) in enumerate(zip(panels, parts, strict=True), start=1):
            seconds = interval * np.arange(len(rows))
            axes.axhline(0, color="#c9cdd2", linewidth=0.8)
            axes.plot(seconds, truth[rows], color=INK, linewidth=1.6, label="driver")
            for (name, values), colour in zip(systems.items(), COLOURS, strict=False):
                axes.plot(seconds, values[rows], color=colour, linewidth=1.3, label=name)
            axes.set_title(f"{part_name} {number}", fontsize=9)
            axes.set_ylabel(label)
        panels[-1].set_xlabel("seconds")
        panels[0].legend(loc="upper right", fontsize=8, ncols=len(systems) + 1)
