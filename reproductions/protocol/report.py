"""Tables of measured next to reported numbers, for the terminal and for generated READMEs."""

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
from reproductions.protocol import papers
from reproductions.protocol.judging import after_holm
from reproductions.protocol.reported import Reported
from reproductions.protocol.reproduction import Preset, Reproduction
from reproductions.protocol.results import JudgedClaim, Result, Row
from reproductions.protocol.task import Column

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BENCHMARKS = ROOT / "benchmarks"
_FROM_MEMORY = "† from memory, not checked against the published text."


@dataclass(frozen=True)
class Line:
    """One line of a results table.

    Attributes:
        name, title: of the variant.
        column: the first column in which the variant has a number.
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
        """The reported number, where corpus, split and metric are the same."""
        return Reported(**self.row.reported) if self.row.reported and self.row.comparable else None


def table_lines(reproduction: Reproduction, preset: Preset, result: Result) -> list[Line]:
    """A line for each variant, and the best line of each baseline paper on each corpus of these variants."""
    lines = _lines(preset, result, reproduction.table_columns)
    corpora = {(line.row.corpus, line.row.metric) for line in lines}
    for name in reproduction.baselines:
        path = papers.results_path(name, preset.name)
        if not path.exists():
            continue
        best: dict[tuple[str, str], Line] = {}
        baseline = papers.load(name).preset(preset.name)
        for line in _lines(baseline, Result.read(path), reproduction.table_columns):
            key = (line.row.corpus, line.row.metric)
            if key in corpora and (key not in best or line.row.mean > best[key].row.mean):
                best[key] = replace(line, name=f"{name} {line.name}")
        lines += best.values()
    return lines


def _lines(preset: Preset, result: Result, columns: Sequence[Column]) -> list[Line]:
    lines = []
    for name in dict.fromkeys(row.variant for row in result.rows):
        rows = [row_of(result, name, column) for column in columns]
        first = next((number for number, row in enumerate(rows) if row is not None), None)
        if first is not None:
            row = rows[first]
            assert row is not None
            lines.append(Line(name, preset.variant(name).title, first, row, [_value(each) for each in rows]))
    return lines


def row_of(result: Result, variant: str, column: Column) -> Row | None:
    """A variant's row in a column, if it was measured."""
    for row in result.rows:
        of_column = (row.variant, row.split, row.metric) == (variant, "test", column.metric)
        if of_column and column.signature in row.signature:
            return row
    return None


def terminal_tables(reproduction: Reproduction, preset: Preset, result: Result) -> Group:
    """Test results of each variant next to what others report where the two compare, and below, who reports it and what
    differs."""
    numbers = Table(title=f"{reproduction.title} ({_corpora(result)}, preset {result.preset})")
    first, *others = (column.title for column in reproduction.table_columns)
    for heading in ("variant", f"ours, {first}", *others, "reported"):
        # On a narrow terminal a number's standard deviation goes below it; no digit is cut off.
        numbers.add_column(heading, no_wrap=heading == "variant", justify="left" if heading == "variant" else "right")
    differences = Table("variant", "reported by", "differs", title="Reported by whom, and what differs")
    lines = table_lines(reproduction, preset, result)
    for line in lines:
        reported = line.reported
        value = reported.shown if reported else "none"
        numbers.add_row(line.name, *line.numbers, value)
        if reported or line.row.differs:
            by = f"{reported.system} ({reported.source})" if reported else ""
            differences.add_row(line.name, by, line.row.differs)
    from_memory = any(line.reported and line.reported.checked == "memory" for line in lines)
    return Group(numbers, *([differences] if differences.rows else []), *([_FROM_MEMORY] if from_memory else []))


def sample_warning(result: Result) -> str:
    """A warning for what was measured on the embedded sample; nothing for other results."""
    return "*** EMBEDDED SAMPLE: THESE NUMBERS AND VERDICTS MEAN NOTHING ***\n" if result.on_sample else ""


def claims_table(result: Result) -> Table:
    """The claims with effect, interval and verdict; :func:`claim_details` has the rest."""
    table = Table(title=f"Claims ({_corpora(result)}, preset {result.preset})")
    for heading in ("claim", "effect", "95 % interval", "verdict", "measured as"):
        table.add_column(heading, overflow="fold")
    for claim in result.claims:
        table.add_row(claim.statement, f"{claim.effect:+.3f}", _interval(claim.ci95), claim.verdict, claim.measure)
    return table


def claim_details(claim: JudgedClaim) -> Table:
    """One claim with the effect of each seed, and its intervals over items, over seeds and over both."""
    table = Table("", "", title=f"{claim.id}: {claim.statement} ({claim.source})", show_header=False)
    for seed, effect in claim.per_seed.items():
        table.add_row(f"seed {seed}", f"{effect:+.3f}")
    table.add_row("effect", f"{claim.effect:+.3f}")
    if claim.reported is not None:
        table.add_row("in the paper, on its own corpus", f"{claim.reported:+.3f}")
    table.add_row("95 % interval over items", _interval(claim.ci95_items))
    table.add_row("95 % interval over seeds", _interval(claim.ci95_seeds) if claim.ci95_seeds else "one seed")
    table.add_row("95 % interval over both", _interval(claim.ci95) if claim.ci95_seeds else "one seed")
    table.add_row("verdict", f"{claim.verdict} ({claim.basis})")
    table.add_row("measured as", claim.measure)
    return table


def results_readme(reproduction: Reproduction, preset: Preset, result: Result, figures: Sequence[str]) -> str:
    """The README next to the results of a paper: its table, claims, reported numbers and figures.

    Args:
        reproduction, preset, result: of the paper.
        figures: names of the PNGs in the same folder.
    """
    first, *others = reproduction.table_columns
    headings = ["variant", "what", f"test {first.title}", *(column.title for column in others), "parameters"]
    headings += ["reported", "by", "differs"]
    lines = [
        f"# {reproduction.title}",
        "",
        f"{reproduction.source}. Script: [`{result.paper}.py`](../../{result.paper}.py). "
        "This page is generated; `gluon-attn report` writes it.",
        "",
        f"| {' | '.join(headings)} |",
        f"|-|-|{'-:|' * (len(others) + 3)}-|-|",
    ]
    for line in table_lines(reproduction, preset, result):
        row, reported, numbers = line.row, line.reported, list(line.numbers)
        numbers[line.column] += f" [{row.ci95[0]:.2f}, {row.ci95[1]:.2f}]"
        cells = (
            f"`{line.name}`",
            line.title,
            *numbers,
            f"{row.parameters:,}".replace(",", " "),
            reported.shown if reported else "",
            f"{reported.system} ({reported.source})" if reported else "",
            row.differs,
        )
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", _provenance(result), *(line for note in reproduction.all_notes for line in ("", note))]
    lines += ["", "## Claims", "", *_claims_markdown(result.claims)]
    lines += ["", "## Reported by others", "", *_reported_markdown(reproduction.reported)]
    if figures:
        lines += ["", "## Figures"]
        lines += [line for name in figures for line in ("", f"![{_caption(name)}]({name})")]
    return "\n".join(lines) + "\n"


def write_reports(*, check: bool) -> list[Path]:
    """Generate the README's tables and the README of each paper's results from the published results.

    Args:
        check: only compare, write nothing.

    Returns:
        The files that differed.

    Raises:
        UsageError: the project is installed without its READMEs.
    """
    if not README.is_file():
        raise UsageError(f"{README}: there is no README to write tables into; use a clone of the project")
    texts: dict[Path, str] = {}
    for name in papers.names():
        if papers.results_path(name, "cpu").exists():
            texts[results_readme_path(name)] = readme_of(name)
    for path, marker, table in (
        (README, "papers", papers_markdown()),
        (BENCHMARKS / "README.md", "speed", speed_markdown()),
    ):
        texts[path] = _between(path, marker, table)
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if not check:
            write_text(path, texts[path])
    return stale


def results_readme_path(paper: str) -> Path:
    """Where the README of a paper's results is."""
    return papers.results_folder(paper) / Path(paper).stem / "README.md"


def readme_of(paper: str) -> str:
    """The README of a paper's results, from its published results of preset ``cpu``."""
    reproduction = papers.load(paper)
    result = Result.read(papers.results_path(paper, "cpu"))
    figures = [path.name for path in sorted(results_readme_path(paper).parent.glob("*.png"))]
    return results_readme(reproduction, reproduction.preset("cpu"), result, figures)


def papers_markdown() -> str:
    """The table of the README: a line for each paper with its headline result and what became of its claims."""
    lines = ["| paper | headline | measured | reported | claims |", "|-|-|-:|-:|-|"]
    for name in papers.names():
        path = papers.results_path(name, "cpu")
        if not path.exists():
            continue
        reproduction, result = papers.load(name), Result.read(path)
        preset = reproduction.preset("cpu")
        by_name = {line.name: line for line in _lines(preset, result, reproduction.table_columns)}
        line = by_name[reproduction.main]
        column = reproduction.table_columns[line.column]
        reported = line.reported
        value = reported.shown if reported else ""
        what = f"{line.title}: {line.row.corpus}, {column.title}"
        link = f"[{reproduction.title}](reproductions/results/{name}/README.md)"
        cells = (f"{link} ({reproduction.source})", what, line.numbers[line.column], value, _verdicts(result))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _verdicts(result: Result) -> str:
    verdicts = [claim.verdict for claim in result.claims]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(sorted(verdicts)))


def speed_markdown() -> str:
    """What the benchmarks measured, next to their targets: the ``table`` of each file in ``benchmarks/results``."""
    lines = ["| measure | measured | target | met |", "|-|-:|-:|-|"]
    for path in sorted((BENCHMARKS / "results").glob("*.json")):
        for line in json.loads(path.read_text(encoding="utf-8"))["table"]:
            met = "yes" if line["met"] else "**no**"
            lines.append(f"| {line['measure']} | {line['measured']} | {line['target']} | {met} |")
    return "\n".join(lines)


def _between(path: Path, marker: str, content: str) -> str:
    """The text of a file with other content between two markers."""
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)", re.DOTALL)
    if not pattern.search(text):
        raise UsageError(f"{path}: the marker '<!-- {marker} -->' is missing; put it where the table belongs")
    return pattern.sub(lambda match: match[1] + "\n" + content + "\n\n" + match[2], text)


def _caption(name: str) -> str:
    return name.removesuffix(".png").replace("_", " ")


def _corpora(result: Result) -> str:
    return " and ".join(dict.fromkeys(row.corpus for row in result.rows))


def _value(row: Row | None) -> str:
    """The mean over seeds with its standard deviation; of two seeds both values, which say more than a deviation."""
    if row is None:
        return ""
    values = list(row.per_seed.values())
    if len(values) == 1:
        return f"{row.mean:.2f}"
    if len(values) == 2:
        return f"{row.mean:.2f} ({values[0]:.2f}, {values[1]:.2f})"
    return f"{row.mean:.2f} ± {row.std:.2f}"


def _provenance(result: Result) -> str:
    manifest = result.manifest
    commits = ", ".join(f"`{commit[:12]}`" for commit in manifest["commit"].split(", "))
    return (
        f"Mean ± standard deviation over seeds {_seeds(result)}; "
        "in brackets the 95 % bootstrap interval over test items. "
        "Epoch selected on validation; each training scores the test split once, at its end. "
        f"Profile `{manifest['profile']}`, {manifest['threads']} thread; "
        f"trained at {commits}; table written on {manifest['hardware']}."
    )


def _seeds(result: Result) -> str:
    """The seeds of most rows, and the rows with others."""
    all_seeds = list(map(str, result.manifest["seeds"]))
    # An ensemble is one system, whatever seeds its members have.
    seeds_of = {row.variant: tuple(row.per_seed) for row in result.rows if set(row.per_seed) <= set(all_seeds)}
    several = [seeds for seeds in seeds_of.values() if len(seeds) > 1] or [tuple(all_seeds)]
    usual = max(dict.fromkeys(several), key=several.count)
    exceptions = [
        f"`{name}`: {', '.join(seeds)}" for name, seeds in seeds_of.items() if len(seeds) > 1 and seeds != usual
    ]
    if len(all_seeds) > 1 and any(len(seeds) == 1 for seeds in seeds_of.values()):
        exceptions.append("rows with one value have one")
    return ", ".join(usual) + (f" ({'; '.join(exceptions)})" if exceptions else "")


def _interval(interval: tuple[float, float]) -> str:
    return f"[{interval[0]:+.3f}, {interval[1]:+.3f}]"


_CLAIM_HEADINGS = ("claim", "in the paper", "effect", "by seed", "95 % interval", "verdict", "measured as")


def _claim_cells(claim: JudgedClaim) -> tuple[str, ...]:
    reported = "" if claim.reported is None else f"{claim.reported:+.2f}"
    by_seed = ", ".join(f"{effect:+.2f}" for effect in claim.per_seed.values())
    verdict = f"{claim.verdict} ({claim.basis})"
    return (claim.statement, reported, f"{claim.effect:+.3f}", by_seed, _interval(claim.ci95), verdict, claim.measure)


def _claims_markdown(claims: Sequence[JudgedClaim]) -> list[str]:
    lines = [f"| {' | '.join(_CLAIM_HEADINGS)} |", "|-|-:|-:|-:|-:|-|-|"]
    lines += [f"| {' | '.join(_claim_cells(claim))} |" for claim in claims]
    judged = [claim for claim in claims if claim.verdict != "not judged"]
    lost = ", ".join(f"`{claim.id}`" for claim in after_holm(claims)) or "none"
    note = (
        f"{len(claims)} claims, {len(judged)} judged, each at the 95 % level without correction. Inconclusive after "
        f"Holm's correction over the claims with several seeds: {lost}. Effects in the paper are on its own corpus."
    )
    return [*lines, "", note]


def _reported_markdown(reported: Sequence[Reported]) -> list[str]:
    lines = ["| system | corpus | metric | value | source |", "|-|-|-|-:|-|"]
    for peer in reported:
        details = f" ({peer.details})" if peer.details else ""
        value = peer.shown
        lines.append(f"| {peer.system}{details} | {peer.corpus} | {peer.metric} | {value} | {peer.source} |")
    if any(peer.checked == "memory" for peer in reported):
        lines += ["", _FROM_MEMORY]
    return lines
