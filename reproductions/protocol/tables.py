"""Results tables: their lines, and their display in a terminal or in Markdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table

from gluon_attn.errors import UsageError
from gluon_attn.metrics import interval_end, lower_is_better
from reproductions.protocol import papers
from reproductions.protocol.judging import after_holm
from reproductions.protocol.reported import Reported
from reproductions.protocol.reproduction import Preset, Reproduction
from reproductions.protocol.results import JudgedClaim, Result, Row
from reproductions.protocol.runs import Run, training_of
from reproductions.protocol.task import Column

ELSEWHERE = "‡ a published result of another paper here, not among these trainings."
FROM_MEMORY = "† from memory, not checked against the published text."


@dataclass(frozen=True)
class Line:
    """One line of a results table.

    Attributes:
        name, title: name and title of the variant.
        column: index of the first column in which the variant has a number.
        row: row of results in that column.
        numbers: numbers in all columns, as text, including those of the network from which it is initialised.
        intervals: intervals of the numbers in the first column that has one and in columns with intervals, by index.
        elsewhere: whether it is a published result of another paper.
    """

    name: str
    title: str
    column: int
    row: Row
    numbers: list[str]
    intervals: dict[int, tuple[float, float]]
    elsewhere: bool = False

    @property
    def reported(self) -> Reported | None:
        """The reported number, if it is comparable: corpus, split and metric are the same."""
        return Reported(**self.row.reported) if self.row.reported and self.row.comparable else None


def _corpus(preset: Preset, line: Line) -> str:
    """The corpus of a line; on the embedded sample, the corpus that it stands for."""
    if not preset.on_sample:
        return line.row.corpus
    members = {ensemble.name: ensemble.members for ensemble in preset.ensembles}
    return preset.task(members.get(line.name, line.name)).corpus


def table_lines(reproduction: Reproduction, preset: Preset, result: Result) -> list[Line]:
    """A line for each variant, and the lines of its baselines for each corpus and metric of these lines."""
    lines = lines_of(preset, result, reproduction.table_columns)
    corpora = {(_corpus(preset, line), line.row.metric) for line in lines}
    for baseline in reproduction.baselines:
        paper, _, variant = baseline.partition("/")
        path = papers.results_path(paper, preset.name)
        if not path.exists():
            continue
        of_corpus: dict[tuple[str, str], list[Line]] = {}
        published, theirs = papers.load(paper).preset(preset.name), Result.read(path)
        if published.on_sample != preset.on_sample:  # results on a corpus say nothing next to those on the sample
            continue
        _check_variants(path, theirs, published)
        for line in lines_of(published, theirs, reproduction.table_columns):
            key = (_corpus(published, line), line.row.metric)
            if key in corpora and variant in ("", line.name):
                of_corpus.setdefault(key, []).append(line)
        chosen = (each[0] if variant else _best_on_validation(each, theirs) for each in of_corpus.values())
        lines += [replace(line, name=f"{paper} {line.name}", elsewhere=True) for line in chosen if line]
    return lines


def _check_variants(path: Path, result: Result, preset: Preset) -> None:
    """Refuse the table of another paper that has variants which its script no longer declares."""
    if unknown := sorted({row.variant for row in result.rows} - set(preset.names)):
        remedy = f"publish it again first: gluon-attn publish {result.paper}"
        raise UsageError(f"{path}: has {', '.join(unknown)}, which preset {preset.name} does not declare; {remedy}")


def _best_on_validation(lines: Sequence[Line], result: Result) -> Line | None:
    """The line of the variant with the best validation result in the metric that all of them share; None if none has
    one. Ensembles have none."""
    metric = lines[0].row.metric
    means = {row.variant: row.mean for row in result.rows if (row.split, row.metric) == ("validation", metric)}
    validated = [line for line in lines if line.name in means]
    best = min if lower_is_better(metric) else max
    return best(validated, key=lambda line: means[line.name], default=None)


def lines_of(preset: Preset, result: Result, columns: Sequence[Column]) -> list[Line]:
    lines = []
    for name in dict.fromkeys(row.variant for row in result.rows):
        rows = [row_of(result, name, column) for column in columns]
        first = next((number for number, row in enumerate(rows) if row is not None), None)
        if first is not None:
            row = rows[first]
            assert row is not None
            source = (preset.variant(name).pretrained or "").removeprefix(f"{result.paper}/")
            given = [row_of(result, source, column) if column.of_pretraining else None for column in columns]
            shown = zip(rows, given, columns, strict=True)
            numbers = [_value(own or other, signed=column.signed) for own, other, column in shown]
            intervals = {
                at: own.ci95
                for at, (own, column) in enumerate(zip(rows, columns, strict=True))
                if own and (at == first or column.interval)
            }
            lines.append(Line(name, preset.variant(name).title, first, row, numbers, intervals))
    return lines


def row_of(result: Result, variant: str, column: Column) -> Row | None:
    """A variant's row in a column, if it was measured."""
    for row in result.rows:
        of_column = (row.variant, row.split, row.metric) == (variant, "test", column.metric)
        if of_column and column.signature in row.signature:
            return row
    return None


_MANY, _LONG_NAME = 7, 16  # with more columns of numbers, longer names take two lines, so that 80 characters suffice


def terminal_tables(reproduction: Reproduction, preset: Preset, result: Result) -> Group:
    """Two tables: the test results of each variant next to comparable numbers that others report, and the sources of
    these numbers with what differs."""
    lines = table_lines(reproduction, preset, result)
    if not lines:
        raise UsageError("these results have no row of this table; score the reproduction again")
    numbers = _table(f"{reproduction.title} ({_corpora(result)}, preset {result.preset})")
    numbers.padding = 0  # eight columns of numbers fit into 80 characters
    first, *others = (column.title for column in reproduction.table_columns)
    shown = [(*line.numbers, line.reported.shown if line.reported else "none") for line in lines]
    numbers.add_column("variant", no_wrap=True)
    columns = zip((f"ours, {first}", *others, "reported"), zip(*shown, strict=True), strict=True)
    filled = [(heading, cells) for heading, cells in columns if any(cells)]
    for heading, cells in filled:
        # On a narrow terminal cells wrap between words and headings anywhere; no digit is cut off.
        longest = max(len(word) for cell in cells for word in cell.split())
        numbers.add_column(heading, min_width=longest, overflow="fold", justify="right")
    for line, *row in zip(lines, *(cells for _, cells in filled), strict=True):
        name = _marked(line).replace(" ", "\n", 1)  # a published result of another paper takes two lines
        if len(filled) > _MANY and len(name) > _LONG_NAME:
            name = "-\n".join(name.rsplit("-", 1))
        numbers.add_row(name, *row)
    differences = _table("Reported by whom, and what differs")
    for heading in ("variant", "reported by", "differs"):
        differences.add_column(heading, overflow="fold")
    for line in lines:
        if line.reported or line.row.differs:
            differences.add_row(line.name, line.reported.by if line.reported else "", line.row.differs)
    return Group(numbers, *([differences] if differences.rows else []), *_notes(lines))


def _notes(lines: Sequence[Line]) -> list[str]:
    """What the marks in a table mean."""
    notes = [FROM_MEMORY] if any(line.reported and line.reported.checked == "memory" for line in lines) else []
    return notes + ([ELSEWHERE] if any(line.elsewhere for line in lines) else [])


def markdown_tables(reproduction: Reproduction, preset: Preset, result: Result) -> str:
    """The tables of :func:`terminal_tables` and :func:`claims_table` in Markdown."""
    lines = table_lines(reproduction, preset, result)
    first, *others = (column.title for column in reproduction.table_columns)
    headings, rows = ["variant", f"ours, {first}", *others, "reported", "reported by", "differs"], []
    for line in lines:
        reported = line.reported
        shown, by = (reported.shown, reported.by) if reported else ("none", "")
        rows.append([_marked(line), *line.numbers, shown, by, line.row.differs])
    text = f"{reproduction.title} ({_corpora(result)}, preset {result.preset})\n\n{markdown_table(headings, rows)}\n"
    text += "".join(f"\n{note}\n" for note in _notes(lines))
    if result.claims:
        text += f"\n{markdown_table(_CLAIM_HEADINGS, list(map(_claim_cells, result.claims)))}\n"
    return f"{text}\n{sample_warning(result.on_sample)}".rstrip()


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = ()) -> str:
    """A table in Markdown, without a line end after its last line; ``numbers`` are the headings of the columns that are
    aligned to the right."""
    rule = "|".join("-:" if heading in numbers else "-" for heading in headings)
    heading, *lines = (
        " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row) for row in (headings, *rows)
    )
    return "\n".join([f"| {heading} |", f"|{rule}|", *(f"| {line} |" for line in lines)])


def _marked(line: Line) -> str:
    return f"{line.name} ‡" if line.elsewhere else line.name


def sample_warning(on_sample: bool) -> str:
    """A warning for results on the embedded sample; an empty string for other results."""
    return "*** EMBEDDED SAMPLE: THESE NUMBERS AND VERDICTS MEAN NOTHING ***\n" if on_sample else ""


_CLAIM_HEADINGS = ("claim", "effect", "95 % interval", "verdict", "measured as")


def _claim_cells(claim: JudgedClaim) -> tuple[str, ...]:
    interval = shown_interval(claim.ci95)
    return f"{claim.id}: {claim.statement}", f"{claim.effect:+.3f}", interval, claim.verdict, claim.measure


def claims_table(result: Result) -> Table:
    """The claims with effect, interval and verdict; :func:`claim_details` shows everything else."""
    table = _table(f"Claims ({_corpora(result)}, preset {result.preset})")
    claim, effect, interval, verdict, measure = _CLAIM_HEADINGS
    for heading, whole in ((claim, False), (f"{effect} and\n{interval}", True), (verdict, True), (measure, False)):
        table.add_column(heading, overflow="fold", no_wrap=whole)
    lost = after_holm(result.claims)
    for each in result.claims:
        effect, interval, verdict, measure = _claim_cells(each)[1:]
        verdict += "\nnot after Holm" if each in lost else ""
        table.add_row(f"{each.id}\n{each.statement}\n", f"{effect}\n{interval}", verdict, measure)
    return table


def _table(title: str, *headings: str, show_header: bool = True) -> Table:
    """A table without vertical lines, which fits more columns into a narrow terminal."""
    return Table(*headings, title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_header=show_header)


def validation_table(runs: Sequence[Run]) -> Table:
    """The validation result of the best epoch of each run, which ``gluon-attn run`` prints."""
    table = _table("Validation", "variant", "seed", "best epoch", "validation", "minutes")
    for run in runs:
        record = training_of(run)
        metric, epoch = record["selected_by"], record["best_epoch"]
        value = record["history"][epoch - 1][f"validation_{metric}"]
        minutes = f"{record['train_seconds'] / 60:.1f}"
        table.add_row(run.variant, str(run.seed), str(epoch), f"{metric} {value:.2f}", minutes)
    return table


def claim_details(result: Result, claim: JudgedClaim) -> Table:
    """One claim of a table, with the effect of each seed, and its intervals over items, over seeds and over both."""
    table = _table(f"{claim.id}: {claim.statement} ({claim.source})", "", "", show_header=False)
    for seed, effect in claim.per_seed.items():
        table.add_row(f"seed {seed}", f"{effect:+.3f}")
    table.add_row("effect", f"{claim.effect:+.3f}")
    if claim.reported is not None:
        table.add_row("in the paper, on its own corpus", f"{claim.reported:+.3f}")
    table.add_row("95 % interval over items", shown_interval(claim.ci95_items))
    of_seeds = (claim.ci95_seeds, claim.ci95) if claim.ci95_seeds else None
    table.add_row("95 % interval over seeds", shown_interval(of_seeds[0]) if of_seeds else "not known")
    table.add_row("95 % interval over both", shown_interval(of_seeds[1]) if of_seeds else "not known")
    table.add_row("verdict", shown_verdict(claim, lost=claim in after_holm(result.claims)))
    table.add_row("measured as", claim.measure)
    return table


def shown_verdict(claim: JudgedClaim, *, lost: bool) -> str:
    """The verdict with what it is based on; ``lost``: whether Holm's correction takes it away."""
    corrected = "; not after Holm's correction" if lost else ""
    return f"{claim.verdict} ({claim.basis}{corrected})"


def shown_interval(interval: tuple[float, float]) -> str:
    return f"[{interval[0]:+.3f}, {interval[1]:+.3f}]"


def _corpora(result: Result) -> str:
    return " and ".join(dict.fromkeys(row.corpus for row in result.rows))


def _value(row: Row | None, *, signed: bool = False) -> str:
    """The mean over seeds with the standard deviation; for two seeds, the mean with both values, which say more than a
    deviation. Of a difference, the mean with its sign and its interval."""
    if row is None:
        return ""
    if signed:
        return f"{row.mean:+.2f} [{interval_end(row.ci95[0])}, {interval_end(row.ci95[1])}]"
    values = list(row.per_seed.values())
    if len(values) == 1:
        return f"{row.mean:.2f}"
    if len(values) == 2:
        return f"{row.mean:.2f} ({values[0]:.2f}, {values[1]:.2f})"
    return f"{row.mean:.2f} ± {row.std:.2f}"
