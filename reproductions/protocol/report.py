"""Generate the page of each paper's results, and the tables of the project's README and of the benchmarks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from gluon_attn.errors import UsageError
from preprocessing.files import write_text
from reproductions.protocol import papers
from reproductions.protocol.claims_section import DEFINITE, has_one_seed
from reproductions.protocol.judging import after_holm
from reproductions.protocol.reported import linked
from reproductions.protocol.reproduction import Reproduction
from reproductions.protocol.results import Result
from reproductions.protocol.results_page import readme_of, results_readme_path
from reproductions.protocol.tables import lines_of, markdown_table
from reproductions.protocol.waiting import unmeasured_claims, untrained_variants, waiting_claims

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BENCHMARKS = ROOT / "benchmarks"


def write_reports(*, check: bool) -> list[Path]:
    """Generate the tables of the READMEs and the README of each paper's results from the published results.

    Args:
        check: only compare, write nothing.

    Returns:
        The files that differed.

    Raises:
        UsageError: if the project is installed without its READMEs.
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


def papers_markdown() -> str:
    """The table of the README: one line per paper with the result of its main system, or of the first in its table as
    long as that one is not trained, and the verdicts on its claims; and how many of these several tests at once would
    change."""
    rows, results = [], []
    for name in papers.names():
        path = papers.results_path(name, "cpu")
        if not path.exists():
            continue
        reproduction, result = papers.load(name), Result.read(path)
        results.append(result)
        preset = reproduction.preset("cpu")
        measured = lines_of(preset, result, reproduction.table_columns)
        line = next((line for line in measured if line.name == reproduction.main), measured[0])
        column = reproduction.table_columns[line.column]
        reported = line.reported
        value, by = (reported.shown, reported.by) if reported else ("", "")
        what = f"{line.title}: {line.row.corpus}, {column.title}"
        link = f"[{reproduction.title}](reproductions/results/{name}/README.md)"
        rows.append(
            [
                f"{link} ({linked(reproduction.source)})",
                what,
                line.numbers[line.column],
                value,
                by,
                _verdicts(reproduction, result),
            ]
        )
    headings = ("paper", "system", "measured", "reported", "by", "claims")
    return markdown_table(headings, rows, numbers=("measured", "reported")) + "\n\n" + _uncorrected(results)


def _uncorrected(results: Sequence[Result]) -> str:
    """How many verdicts of all papers would not survive a correction for multiple tests, or have one seed."""
    definite = [claim for result in results for claim in result.claims if claim.verdict in DEFINITE]
    lost, single = sum(len(after_holm(result.claims)) for result in results), sum(map(has_one_seed, definite))
    of_one_seed = f", and {single} {'has' if single == 1 else 'have'} one seed" if single else ""
    return (
        f"Verdicts are not corrected for multiple tests. Of the {len(definite)} claims that are supported or "
        f"contradicted, {lost} would be inconclusive with Holm's correction within each paper{of_one_seed}; each page "
        "names them."
    )


def _verdicts(reproduction: Reproduction, result: Result) -> str:
    """How many claims have each verdict, and how many wait for systems that are not trained."""
    verdicts = [claim.verdict for claim in result.claims]
    counts = {verdict: verdicts.count(verdict) for verdict in sorted(verdicts)}
    preset = reproduction.preset("cpu")
    what = "waiting for training" if untrained_variants(preset, result) else "waiting for an ensemble"
    counts["not measurable"] = len(unmeasured_claims(reproduction, result))
    counts[what] = len(waiting_claims(reproduction, preset, result))
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def speed_markdown() -> str:
    """The measurements of the benchmarks next to their targets, from ``table`` in each file of
    ``benchmarks/results``."""
    rows = []
    for path in sorted((BENCHMARKS / "results").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        load = record.get("load_average_at_start")
        processor = [record["hardware"].partition(",")[0], record.get("vectors")]
        where = [", ".join(filter(None, processor)), "" if load is None else f"{load:.1f}"]
        for line in record["table"]:
            met = "to be repeated" if line.get("repeat") else "yes" if line["met"] else "**no**"
            rows.append([line["measure"], line["measured"], line["target"], met, *where])
    headings = ("measure", "measured", "target", "met", "processor", "load")
    return markdown_table(headings, rows, numbers=("measured", "target", "load"))


def _between(path: Path, marker: str, content: str) -> str:
    """The text of a file with the content between two markers replaced."""
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)", re.DOTALL)
    if not pattern.search(text):
        raise UsageError(f"{path}: the marker '<!-- {marker} -->' is missing; put it where the table belongs")
    return pattern.sub(lambda match: match[1] + "\n" + content + "\n\n" + match[2], text)
