"""The preprocessing card as a web page: one HTML file that contains no scripts and loads no other files.

It shows ``card.json`` (for its structure see ``card.py``) and adds no numbers except shares of those in the card.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from preprocessing.files import write_text

TEMPLATE = "pipeline/card_page/card_page.html.j2"
_PACKAGE = Path(__file__).parents[2]
_NO_UNITS = ("name", "version", "rule", "parameters", "dropped", "examples")
"""Entries of a step that are not counts; the others (``rows``, ``tokens``) are counts by split."""

WIDTH, HEIGHT = 640, 180
"""Size of the plotting area of a histogram, in SVG units."""

_MOST_BARS = 100


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram in SVG units, y downwards, and its tooltip."""

    x: float
    y: float
    width: float
    height: float
    tooltip: str


@dataclass(frozen=True)
class Histogram:
    """Everything the template needs to draw one distribution of lengths.

    ``ticks`` are (x, label) below, ``grid`` (y, label) at the left, ``marks`` (x, label, line, anchor) above, each
    label on its own line so that labels of close marks do not overlap; ``anchor`` is the SVG text-anchor.
    """

    title: str
    bars: list[Bar]
    ticks: list[tuple[float, str]]
    grid: list[tuple[float, str]]
    marks: list[tuple[float, str, int, str]]


def write(
    card: Mapping[str, Any], path: Path, *, template: str = TEMPLATE, topics: Sequence[str] = (), **values: Any
) -> None:
    """Write the page of a card, whole or not at all; the same card gives the same bytes.

    Args:
        card: the card from ``card.build``, or read from ``card.json``.
        path: the HTML file.
        template: path below the folder ``preprocessing``; for a kind of data with its own sections, a template that
            extends ``TEMPLATE``.
        topics: topics of ``card["facts"]`` that the template shows; any other is shown as JSON.
        values: other values that the template needs.
    """
    environment = Environment(
        loader=FileSystemLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": _count, "percent": percent, "link": _link, "json": _json}
    environment.globals |= {"width": WIDTH, "height": HEIGHT}
    columns = dict.fromkeys(key for split in card["splits"].values() for key in split if not key.startswith("rate_"))
    page = environment.get_template(template).render(
        card=card,
        split_columns=list(columns),
        units=_units(card),
        other_facts={topic: value for topic, value in card["facts"].items() if topic not in topics},
        **values,
    )
    write_text(path, page)


def _units(card: Mapping[str, Any]) -> dict[str, list[str]]:
    """What the steps count (``rows``, ``tokens``), each with its columns: the splits of the result, then all others."""
    names: dict[str, dict[str, None]] = {}
    for step in card["steps"]:
        for unit in step:
            if unit not in _NO_UNITS:
                names.setdefault(unit, {}).update(dict.fromkeys(step[unit] or {}))
    return {
        unit: list(dict.fromkeys([*(name for name in card["splits"] if name in counted), *counted]))
        for unit, counted in names.items()
        if counted
    }


def histograms(profiles: Mapping[str, Mapping[str, Any]], cut: int | None = None) -> list[Histogram]:
    """One histogram for each profile with rows, all on the same axes.

    The axis ends slightly beyond the longest 99th percentile (and beyond ``cut``); the last bar includes all longer
    rows.
    """
    profiles = {name: profile for name, profile in profiles.items() if profile["rows"]}
    if not profiles:
        return []
    most = max(profile["percentiles"]["99"] for profile in profiles.values())
    reach = max(1.25 * most, most + 2, 1.1 * (cut or 0))
    longest = max(profile["max"] for profile in profiles.values())
    binned = {}
    for name, profile in profiles.items():
        width = profile["histogram"]["width"]
        # Bars are a whole number of bins wide, so that every count is a sum of counts in the card.
        grouped = width * ceil(min(reach, longest + 1) / width / _MOST_BARS)
        bars = ceil(min(reach, longest + 1) / grouped)
        binned[name] = grouped, _grouped(profile["histogram"]["counts"], grouped // width, bars)
    highest = max(max(counts) / profiles[name]["rows"] for name, (_, counts) in binned.items())
    return [_draw(name, profiles[name], *binned[name], highest, cut) for name in profiles]


def _grouped(counts: list[int], together: int, bars: int) -> list[int]:
    """Counts of ``bars`` groups of ``together`` bins; all bins beyond them are added to the last group."""
    groups = [sum(counts[start : start + together]) for start in range(0, bars * together, together)]
    groups[-1] += sum(counts[bars * together :])
    return groups


def _draw(
    name: str, profile: Mapping[str, Any], step: int, counts: list[int], highest: float, cut: int | None
) -> Histogram:
    rows, end = profile["rows"], step * len(counts)
    scale = WIDTH / end
    bars = []
    for bar, count in enumerate(counts):
        height = HEIGHT * count / rows / highest
        first, last = bar * step, (bar + 1) * step - 1
        lengths = f"{first}" if first == last else f"{first} to {last}"
        if bar == len(counts) - 1 and profile["max"] > last:
            lengths = f"{first} to {profile['max']}"
        tooltip = f"length {lengths}: {_count(count)} rows, {percent(count / rows)}"
        bars.append(
            Bar(round(first * scale, 2), round(HEIGHT - height, 2), round(step * scale, 2), round(height, 2), tooltip)
        )
    median, most = profile["percentiles"]["50"], profile["percentiles"]["99"]
    notable = [(median + 0.5, f"median: {median}"), (most + 0.5, f"99 %: {most}")]
    if cut is not None and cut < end:
        notable.append((cut + 1, f"cut after {cut}"))
    marks = []
    for line, (length, label) in enumerate(sorted(notable)):
        x = round(length * scale, 2)
        marks.append((x, label, line, "end" if x > 0.85 * WIDTH else "start"))
    stride = _nice(end / 8)
    # A tick is at the middle of a bar for one length, at the left edge of a bar for several.
    shift = 0.5 if step == 1 else 0
    ticks = [(round((length + shift) * scale, 2), str(length)) for length in range(0, end, stride)]
    grid_stride = _nice(100 * highest / 3)
    grid = [
        (round(HEIGHT * (1 - percent / 100 / highest), 2), f"{percent} %")
        for percent in range(0, int(100 * highest) + 1, grid_stride)
    ]
    return Histogram(f"{name}: {_count(rows)} rows", bars, ticks, grid, marks)


def _nice(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50 ... that is not below ``least``."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= least:
                return digit * power
        power *= 10


def _count(number: int | None) -> str:
    """A count such as 12,345; a dash for None."""
    return "–" if number is None else f"{number:,}"


def percent(fraction: float | None) -> str:
    """A fraction as a percentage with two decimals; a fraction above 0 is never shown as 0."""
    if fraction is None:
        return "–"
    return "< 0.01 %" if 0 < fraction < 5e-5 else f"{100 * fraction:.2f} %"


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _link(url: str | None) -> str:
    """The address if it is a web address, else an empty string: anyone may have edited the card."""
    return url if url and url.startswith(("https://", "http://")) else ""
