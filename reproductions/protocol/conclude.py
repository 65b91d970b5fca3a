"""Compute rows, judged claims, figures and pages from outcomes. No data are prepared and no network is built."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gluon_attn.plots.style import watermark
from reproductions.protocol.differences import difference_rows
from reproductions.protocol.elsewhere import with_elsewhere
from reproductions.protocol.judging import judge
from reproductions.protocol.reproduction import Preset, Reproduction
from reproductions.protocol.results import JudgedClaim, Row
from reproductions.protocol.runs import Outcome, by_variant


def conclude(
    reproduction: Reproduction, preset: Preset, outcomes: Sequence[Outcome]
) -> tuple[list[Row], list[JudgedClaim]]:
    """Rows of the trained variants and of their differences; judged claims whose variants are all trained here, or
    published by another paper."""
    groups = by_variant(outcomes)
    rows: list[Row] = []
    for name, group in groups.items():
        rows += preset.task(name).rows(group, preset.variant(name))
    rows += difference_rows(reproduction, preset, groups, rows)
    known = with_elsewhere(reproduction, preset, groups)
    complete = [claim for claim in reproduction.claims if all(name in known for name in claim.variants)]
    judged = [judge(reproduction, claim, preset, known, rows) for claim in complete]
    return rows, [claim for claim in judged if claim is not None]


def draw_figures(
    reproduction: Reproduction, preset: Preset, outcomes: Sequence[Outcome], directory: Path
) -> dict[str, Path]:
    """Draw all figures of a paper: training curves by group of tasks, the figures of each task, and the paper's own. If
    there are several seeds, the first outcome is drawn. Figures of the embedded sample are marked. Returns PNGs by
    title."""
    with watermark("SAMPLE" if outcomes[0].on_sample else None):
        return _draw_figures(reproduction, preset, outcomes, directory)


def _draw_figures(
    reproduction: Reproduction, preset: Preset, outcomes: Sequence[Outcome], directory: Path
) -> dict[str, Path]:
    groups = by_variant(outcomes)
    first = {name: group[0] for name, group in groups.items() if not group[0].is_ensemble}
    curves: dict[str, dict[str, Outcome]] = {}
    for name, outcome in first.items():
        if group := preset.task(name).group:
            curves.setdefault(group, {})[name] = outcome
    figures: dict[str, Path] = {}
    several = len({preset.task(variant.name).group for variant in preset.variants} - {""}) > 1
    for group, members in curves.items():
        title = f"training curves, {group}" if several else "training curves"
        figures[title] = directory / f"training_curves{'_' + _slug(group) if several else ''}.png"
        preset.task(next(iter(members))).training_curves(members, figures[title])
    for name, outcome in first.items():
        figures |= preset.task(name).figures(outcome, preset.variant(name), directory)
    for draw in reproduction.figures:
        figures |= draw(groups, directory)
    return figures


def _slug(text: str) -> str:
    return "_".join(text.replace("-", "").split())


def write_pages(
    reproduction: Reproduction, preset: Preset, outcomes: Sequence[Outcome], directory: Path
) -> dict[str, Path]:
    """Write all pages of a paper, for the first outcome of each variant. Returns files by title."""
    groups = by_variant(outcomes)
    pages: dict[str, Path] = {}
    for name, group in groups.items():
        pages |= preset.task(name).pages(group[0], preset.variant(name), directory)
    for write in reproduction.pages:
        pages |= write(groups, directory)
    return pages
