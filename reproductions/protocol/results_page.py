"""The page of each paper's results: its README, with table, claims, reported numbers and figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError
from reproductions.protocol import papers
from reproductions.protocol.claims_section import claims_section, marks_of, unmeasured
from reproductions.protocol.differences import COLUMN
from reproductions.protocol.readings import Reading, read_readings, summary
from reproductions.protocol.reported import Reported, linked
from reproductions.protocol.reproduction import Preset, Reproduction
from reproductions.protocol.results import Result, Row
from reproductions.protocol.tables import FROM_MEMORY, Line, markdown_table, table_lines
from reproductions.protocol.waiting import untrained

FIGURES = "figures.json"
"""Name of the file with the titles of the figures, which is next to them."""


def results_readme(
    reproduction: Reproduction,
    preset: Preset,
    result: Result,
    readings: Sequence[Reading],
    figures: Mapping[str, str],
) -> str:
    """The README next to the results of a paper: its table, claims, reported numbers and figures.

    Args:
        reproduction, preset, result: the paper, its preset and its results.
        readings: the readings of its test splits.
        figures: titles of the PNGs in the same folder, by file name.
    """
    table = table_lines(reproduction, preset, result)
    claims = claims_section(
        result.claims,
        marks_of(reproduction, preset, result),
        {claim.id: claim.margin for claim in reproduction.claims},
    )
    blocks = [
        f"# {reproduction.title}",
        f"{linked(reproduction.source)}. Script: [`{result.paper}.py`](../../{result.paper}.py). "
        "This page is generated; `gluon-attn report` writes it.",
        _table_markdown(reproduction, table),
        _provenance(result, [line.row for line in table]),
        *_on_differences(result),
        *untrained(reproduction, preset, result),
        *_trained_twice(result),
        *summary(readings, result.manifest["parameters_sha256"]),
        *reproduction.all_notes,
        "## Claims",
        "\n".join([*claims, *unmeasured(reproduction, result)]),
    ]
    if reproduction.reported:
        blocks += ["## Reported by others", "\n".join(_reported_markdown(reproduction.reported))]
    if figures:
        blocks.append("## Figures")
        for name, title in figures.items():
            caption = title[:1].upper() + title[1:]
            blocks += [f"![{caption}]({name})", f"*{caption}*"]
    return "\n\n".join(blocks) + "\n"


def _table_markdown(reproduction: Reproduction, table: Sequence[Line]) -> str:
    """The table of the systems, without the columns on reported numbers if there are none."""
    first, *others = reproduction.table_columns
    several_corpora = len({line.row.corpus for line in table}) > 1
    headings = ["variant", "what", *(["corpus"] if several_corpora else []), f"test {first.title}"]
    headings += [*(column.title for column in others), "parameters", "reported", "by", "differs"]
    rows = []
    for line in table:
        row, reported, numbers = line.row, line.reported, list(line.numbers)
        for at, (low, high) in line.intervals.items():
            numbers[at] += f" [{low:.2f}, {high:.2f}]"
        rows.append(
            [
                f"`{line.name}`",
                line.title,
                *([row.corpus] if several_corpora else []),
                *numbers,
                f"{row.parameters:,}".replace(",", " "),
                reported.shown if reported else "",
                reported.by if reported else "",
                row.differs,
            ]
        )
    headings, *rows = _without_empty([headings, *rows], optional=("reported", "by", "differs"))
    texts = ("variant", "what", "corpus", "by", "differs")
    return markdown_table(headings, rows, numbers=[heading for heading in headings if heading not in texts])


def _without_empty(table: Sequence[Sequence[str]], optional: Collection[str]) -> list[list[str]]:
    """The headings and rows of a table without the optional columns that no row fills."""
    headings, *rows = table
    shown = [name not in optional or any(row[at] for row in rows) for at, name in enumerate(headings)]
    return [list(compress(cells, shown)) for cells in table]


def results_readme_path(paper: str) -> Path:
    """The file of the README of a paper's results."""
    return papers.results_folder(paper) / Path(paper).stem / "README.md"


def readme_of(paper: str) -> str:
    """The README of a paper's results, generated from its published results of preset ``cpu``.

    Raises:
        UsageError: if a file of the published results is missing or damaged.
    """
    reproduction = papers.load(paper)
    result = Result.read(papers.results_path(paper, "cpu"))
    path = results_readme_path(paper).with_name(FIGURES)
    try:
        figures = dict[str, str](json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({error}); write it with gluon-attn publish {paper}") from None
    return results_readme(reproduction, reproduction.preset("cpu"), result, read_readings(paper), figures)


def _provenance(result: Result, rows: Sequence[Row]) -> str:
    """Seeds, intervals, profile and commits of a table; ``rows`` are all its rows, also those of other papers."""
    manifest = result.manifest
    threads = manifest["threads"]
    commits = ", ".join(f"`{commit[:12]}`" for commit in manifest["commit"].split(", "))
    in_parentheses = any(len(row.per_seed) == 2 for row in rows)
    both = "of two seeds, both values in parentheses; " if in_parentheses else ""
    return (
        f"Mean ± standard deviation over seeds {_seeds(result)}; {both}"
        "in brackets the 95 % bootstrap interval over test items. "
        f"Epoch selected on validation. Profile `{manifest['profile']}`, {threads} thread{'s' * (threads > 1)}"
        f"{_exceptions(manifest)}; trained at {commits}; table written on {manifest['hardware']}."
    )


def _exceptions(manifest: Mapping[str, Any]) -> str:
    """The trainings with other options that change bits, and these options."""
    options = manifest.get("options", {})
    return "".join(f"; `{label}` with `{' '.join(words)}`" for label, words in options.items())


def _seeds(result: Result) -> str:
    """The seeds of most rows, followed by the rows with other seeds."""
    all_seeds = list(map(str, result.manifest["seeds"]))
    # An ensemble counts as one system, regardless of the seeds of its members.
    seeds_of = {name: tuple(seeds) for name, seeds in result.seeds.items() if set(seeds) <= set(all_seeds)}
    several = [seeds for seeds in seeds_of.values() if len(seeds) > 1] or [tuple(all_seeds)]
    usual = max(dict.fromkeys(several), key=several.count)
    exceptions = [
        f"`{name}`: {', '.join(seeds)}" for name, seeds in seeds_of.items() if len(seeds) > 1 and seeds != usual
    ]
    if len(all_seeds) > 1 and any(len(seeds) == 1 for seeds in seeds_of.values()):
        exceptions.append("rows with a single value: one seed")
    return ", ".join(usual) + (f" ({'; '.join(exceptions)})" if exceptions else "")


def _on_differences(result: Result) -> list[str]:
    """A paragraph on the intervals of differences, if the table has some."""
    count = sum(row.metric == COLUMN.metric for row in result.rows)
    if not count:
        return []
    text = "The interval of a difference is over seeds and test items, as for claims"
    if count == 1:
        return [f"{text}, at the 95 % level."]
    return [
        f"{text}. The {count} differences are each at the 95 % level, without correction for multiple tests: "
        f"if all were zero, {count / 20:.2f} intervals on average would exclude zero by chance."
    ]


NO_PARAMETERS = hashlib.sha256().hexdigest()
"""SHA-256 of the parameters of a system that has none; it does not identify a training."""


def _trained_twice(result: Result) -> list[str]:
    """A paragraph on the trainings that are also in the table of another paper, with the same parameters."""
    elsewhere: dict[str, str] = {}
    for name in papers.names():
        path = papers.results_path(name, result.preset)
        if name != result.paper and path.exists():
            for label, parameters in Result.read(path).manifest["parameters_sha256"].items():
                elsewhere[parameters] = f"{name}/{label.rpartition('/')[0]}"
    seeds: dict[str, list[str]] = {}
    for label, parameters in result.manifest["parameters_sha256"].items():
        variant, _, seed = label.rpartition("/")
        if parameters in elsewhere and parameters != NO_PARAMETERS:
            seeds.setdefault(f"`{variant}` as `{elsewhere[parameters]}`", []).append(seed)
    if not seeds:
        return []
    same = ", ".join(f"{what} ({'seeds' if len(of) > 1 else 'seed'} {', '.join(of)})" for what, of in seeds.items())
    return [f"The same trainings as in other tables, so no independent evidence: {same}."]


def _reported_markdown(reported: Sequence[Reported]) -> list[str]:
    rows = []
    for peer in reported:
        details = f" ({peer.details})" if peer.details else ""
        rows.append([f"{peer.system}{details}", peer.corpus, peer.metric, peer.shown, linked(peer.source)])
    lines = [markdown_table(("system", "corpus", "metric", "value", "source"), rows, numbers=("value",))]
    if any(peer.checked == "memory" for peer in reported):
        lines += ["", FROM_MEMORY]
    return lines
