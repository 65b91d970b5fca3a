"""Tables of measured beside reported, for the terminal and for the README, which is generated from the results."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Group
from rich.table import Table

from gluon_attn.errors import UsageError
from preprocessing.files import write_text
from reproductions.protocol.experiment import Column, Reported
from reproductions.protocol.papers import PAPERS, preset, script
from reproductions.protocol.results import RESULTS, Claim, Result, Row

FLOOR = "joulin2016"
"""The script whose systems, words and bigrams without attention, stand below all others that classify their corpus."""

README = RESULTS.parent.parent / "README.md"
BENCHMARKS = README.parent / "benchmarks" / "results"
_FROM_MEMORY = "† from memory, not checked against the published text."
_DAGGER = {"text": "", "secondary": " (secondary source)", "memory": " †"}


@dataclass(frozen=True)
class Line:
    """One line of a table of results.

    Attributes:
        name, title: of the variant.
        column: the first of the script's columns that the variant has a number in.
        row: in that column.
        numbers: in all columns.
    """

    name: str
    title: str
    column: int
    row: Row
    numbers: list[str]

    @property
    def reported(self) -> Reported | None:
        return Reported(**self.row.reported) if self.row.reported else None


def table_lines(result: Result) -> list[Line]:
    """A line for each variant, and for each of the corpora that are classified the best line of :data:`FLOOR`."""
    columns = script(result.paper).COLUMNS
    lines = _lines(result, columns)
    classified = [line.row.corpus for line in lines if line.row.metric == "accuracy"]
    path = results_path(FLOOR, result.preset)
    if result.paper == FLOOR or not classified or not path.exists():
        return lines
    best: dict[str, Line] = {}
    for line in _lines(Result.read(path), columns):
        corpus = line.row.corpus
        if corpus in classified and (corpus not in best or line.row.mean > best[corpus].row.mean):
            best[corpus] = replace(line, name=f"{FLOOR} {line.name}")
    return lines + list(best.values())


def _lines(result: Result, columns: Sequence[Column]) -> list[Line]:
    """A line for each variant that has a number in any of these columns."""
    titles = {variant.name: variant.title for variant in preset(result.paper, result.preset).variants}
    lines = []
    for name in dict.fromkeys(row.variant for row in result.rows):
        rows = [row_of(result, name, column) for column in columns]
        for place, row in enumerate(rows):
            if row is not None:
                title = titles.get(name, "the probabilities of all its seeds, averaged")
                lines.append(Line(name, title, place, row, [_value(each) for each in rows]))
                break
    return lines


def terminal_tables(result: Result) -> Group:
    """Test results of each variant beside what others report, and below, who reports it and what differs."""
    columns = script(result.paper).COLUMNS
    numbers = Table(title=f"{script(result.paper).TITLE} ({_corpora(result)}, preset {result.preset})")
    first, *others = (column.title for column in columns)
    for heading in ("variant", f"ours, {first}", *others, "reported"):
        # On a narrow terminal a number's standard deviation goes below it; no digit is cut off.
        numbers.add_column(heading, no_wrap=heading == "variant", justify="left" if heading == "variant" else "right")
    differences = Table("variant", "reported by", "differs", title="Reported by whom, and what differs")
    lines = table_lines(result)
    for line in lines:
        reported = line.reported
        numbers.add_row(
            line.name,
            *line.numbers,
            f"{reported.value:.2f}{_DAGGER[reported.checked]}" if reported else "none published",
        )
        if reported or line.row.differs:
            by = f"{reported.system} ({reported.source})" if reported else ""
            differences.add_row(line.name, by, line.row.differs)
    from_memory = any(line.reported and line.reported.checked == "memory" for line in lines)
    return Group(numbers, *([differences] if differences.rows else []), *([_FROM_MEMORY] if from_memory else []))


def loud_if_sample(result: Result) -> str:
    """A line that nobody overlooks for what ran on the embedded sample; nothing for what did not."""
    on_sample = any(row.corpus == "sample" for row in result.rows)
    return "*** EMBEDDED SAMPLE: THESE NUMBERS AND VERDICTS MEAN NOTHING ***\n" if on_sample else ""


def claims_table(result: Result) -> Table:
    """The claims with effect, interval and verdict."""
    table = Table(title=f"Claims ({_corpora(result)}, preset {result.preset})")
    for heading in ("claim", "effect", "95 % interval", "verdict", "measured as"):
        table.add_column(heading, overflow="fold")
    for claim in result.claims:
        interval = f"[{claim.ci95[0]:+.3f}, {claim.ci95[1]:+.3f}]"
        table.add_row(claim.statement, f"{claim.effect:+.3f}", interval, claim.verdict, claim.measure)
    return table


def row_of(result: Result, variant: str, column: Column) -> Row | None:
    """A variant's row in a column, if it was measured."""
    for row in result.rows:
        if (row.variant, row.split, row.metric) == (
            variant,
            "test",
            column.metric,
        ) and column.signature in row.signature:
            return row
    return None


def markdown(result: Result) -> str:
    """Results and claims of one paper as the README shows them."""
    module = script(result.paper)
    first, *others = module.COLUMNS
    headings = [
        "variant",
        "what",
        f"test {first.title}",
        *(column.title for column in others),
        "parameters",
        "reported",
    ]
    lines = [
        f"| {' | '.join([*headings, 'by', 'differs'])} |",
        f"|-|-|{'-:|' * (len(others) + 3)}-|-|",
    ]
    for line in table_lines(result):
        row, reported, numbers = line.row, line.reported, list(line.numbers)
        numbers[line.column] += f" [{row.ci95[0]:.2f}, {row.ci95[1]:.2f}]"
        cells = (
            f"`{line.name}`",
            line.title,
            *numbers,
            f"{row.parameters:,}".replace(",", " "),
            f"{reported.value:.2f}{_DAGGER[reported.checked]}" if reported else "none",
            f"{reported.system} ({reported.source})" if reported else "",
            row.differs,
        )
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", _provenance(result), "", *_claims_markdown(result.claims), "", *_peers_table(module.REPORTED)]
    return "\n".join(lines)


def update_readme(*, check: bool) -> bool:
    """Regenerate every table of the README from the results of the preset ``cpu``; whether anything differed.

    Args:
        check: only compare, write nothing.
    """
    found = README.read_text(encoding="utf-8")
    wanted = found
    for paper in PAPERS:
        path = results_path(paper, "cpu")
        if path.exists():
            wanted = _between(wanted, f"results {paper}", markdown(Result.read(path)))
    wanted = _between(wanted, "speed", speed_markdown())
    if wanted != found and not check:
        write_text(README, wanted)
    return wanted != found


def speed_markdown() -> str:
    """What the benchmarks measured, beside their targets: the ``table`` of each file in ``benchmarks/results``."""
    lines = ["| measure | measured | target | met |", "|-|-:|-:|-|"]
    for path in sorted(BENCHMARKS.glob("*.json")):
        for line in json.loads(path.read_text(encoding="utf-8"))["table"]:
            met = "yes" if line["met"] else "**no**"
            lines.append(f"| {line['measure']} | {line['measured']} | {line['target']} | {met} |")
    return "\n".join(lines)


def _between(text: str, marker: str, content: str) -> str:
    pattern = re.compile(rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)", re.DOTALL)
    if not pattern.search(text):
        raise UsageError(f"{README.name}: the marker '<!-- {marker} -->' is missing; put it where the table belongs")
    return pattern.sub(lambda match: match[1] + "\n" + content + "\n\n" + match[2], text)


def _corpora(result: Result) -> str:
    return " and ".join(dict.fromkeys(row.corpus for row in result.rows))


def _value(row: Row | None) -> str:
    if row is None:
        return ""
    return f"{row.mean:.2f} ± {row.std:.2f}" if len(row.per_seed) > 1 else f"{row.mean:.2f}"


def _provenance(result: Result) -> str:
    manifest = result.manifest
    commits = ", ".join(f"`{commit[:12]}`" for commit in manifest["commit"].split(", "))
    return (
        f"Mean ± standard deviation over seeds {_seeds(result)}; "
        "in brackets the 95 % bootstrap interval over test items. "
        f"Epoch selected on validation, test read once. Profile `{manifest['profile']}`, {manifest['threads']} thread; "
        f"trained at {commits}; table written on {manifest['hardware']}."
    )


def _seeds(result: Result) -> str:
    """The seeds of most rows, and of which rows they are others; those of one seed are known by having no ±."""
    all_seeds = list(map(str, result.manifest["seeds"]))
    # An ensemble is one network, whatever seeds its members have.
    seeds_of = {row.variant: tuple(row.per_seed) for row in result.rows if set(row.per_seed) <= set(all_seeds)}
    several = [seeds for seeds in seeds_of.values() if len(seeds) > 1] or [tuple(all_seeds)]
    usual = max(dict.fromkeys(several), key=several.count)
    exceptions = [
        f"`{name}`: {', '.join(seeds)}" for name, seeds in seeds_of.items() if len(seeds) > 1 and seeds != usual
    ]
    if len(all_seeds) > 1 and any(len(seeds) == 1 for seeds in seeds_of.values()):
        exceptions.append("rows without ± have one")
    return ", ".join(usual) + (f" ({'; '.join(exceptions)})" if exceptions else "")


def _claims_markdown(claims: Sequence[Claim]) -> list[str]:
    lines = ["| claim | effect | 95 % interval | verdict | measured as |", "|-|-:|-:|-|-|"]
    for claim in claims:
        interval = f"[{claim.ci95[0]:+.3f}, {claim.ci95[1]:+.3f}]"
        lines.append(
            f"| {claim.statement} | {claim.effect:+.3f} | {interval} | **{claim.verdict}** | {claim.measure} |"
        )
    return lines


def _peers_table(reported: Sequence[Reported]) -> list[str]:
    lines = ["| reported by others | corpus | metric | value | source |", "|-|-|-|-:|-|"]
    for peer in reported:
        details = f" ({peer.details})" if peer.details else ""
        value = f"{peer.value:.2f}{_DAGGER[peer.checked]}"
        lines.append(f"| {peer.system}{details} | {peer.corpus} | {peer.metric} | {value} | {peer.source} |")
    if any(peer.checked == "memory" for peer in reported):
        lines += ["", _FROM_MEMORY]
    return lines


def results_path(paper: str, preset_name: str) -> Path:
    """Where the committed results of a paper are: those of the main preset carry no preset in their name."""
    return RESULTS / (f"{paper}.json" if preset_name == "cpu" else f"{paper}.{preset_name}.json")
