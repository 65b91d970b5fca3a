"""Generate the README of each paper's results, and the tables of the project's README."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError
from preprocessing.files import write_text
from reproductions.protocol import papers
from reproductions.protocol.claims import Claim
from reproductions.protocol.elsewhere import published, variant_named
from reproductions.protocol.judging import after_holm
from reproductions.protocol.readings import Reading, read_readings, summary
from reproductions.protocol.reported import MARKS, Reported
from reproductions.protocol.reproduction import Preset, Reproduction
from reproductions.protocol.results import JudgedClaim, Result, Row
from reproductions.protocol.tables import FROM_MEMORY, lines_of, markdown_table, shown_interval, table_lines

DEFINITE = ("supported", "contradicted")
ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BENCHMARKS = ROOT / "benchmarks"


def results_readme(
    reproduction: Reproduction,
    preset: Preset,
    result: Result,
    readings: Sequence[Reading],
    figures: Sequence[str],
) -> str:
    """The README next to the results of a paper: its table, claims, reported numbers and figures.

    Args:
        reproduction, preset, result: the paper, its preset and its results.
        readings: the readings of its test splits.
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
    ]
    rows, table = [], table_lines(reproduction, preset, result)
    for line in table:
        row, reported, numbers = line.row, line.reported, list(line.numbers)
        numbers[line.column] += f" [{row.ci95[0]:.2f}, {row.ci95[1]:.2f}]"
        rows.append(
            [
                f"`{line.name}`",
                line.title,
                *numbers,
                f"{row.parameters:,}".replace(",", " "),
                reported.shown if reported else "",
                f"{reported.system} ({reported.source})" if reported else "",
                row.differs,
            ]
        )
    lines.append(markdown_table(headings, rows, numbers=headings[2:-2]))
    trained = list(result.manifest["parameters_sha256"].values())
    paragraphs = (
        _provenance(result, [line.row for line in table]),
        *untrained(reproduction, preset, result),
        *_trained_twice(result),
        *summary(readings, trained),
    )
    for paragraph in (*paragraphs, *reproduction.all_notes):
        lines += ["", paragraph]
    lines += [
        "",
        "## Claims",
        "",
        *_claims_markdown(result.claims, _marks(reproduction, preset, result)),
        *_unmeasured(reproduction, result),
    ]
    lines += ["", "## Reported by others", "", *_reported_markdown(reproduction.reported)]
    if figures:
        lines += ["", "## Figures"]
        lines += [line for name in figures for line in ("", f"![{_caption(name)}]({name})")]
    return "\n".join(lines) + "\n"


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


def results_readme_path(paper: str) -> Path:
    """The file of the README of a paper's results."""
    return papers.results_folder(paper) / Path(paper).stem / "README.md"


def readme_of(paper: str) -> str:
    """The README of a paper's results, generated from its published results of preset ``cpu``."""
    reproduction = papers.load(paper)
    result = Result.read(papers.results_path(paper, "cpu"))
    figures = [path.name for path in sorted(results_readme_path(paper).parent.glob("*.png"))]
    return results_readme(reproduction, reproduction.preset("cpu"), result, read_readings(paper), figures)


def papers_markdown() -> str:
    """The table of the README: one line per paper with its headline result, or the first in its table as long as that
    one is not trained, and the verdicts on its claims; and how many of these several tests at once would change."""
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
        value = reported.shown if reported else ""
        what = f"{line.title}: {line.row.corpus}, {column.title}"
        link = f"[{reproduction.title}](reproductions/results/{name}/README.md)"
        rows.append(
            [f"{link} ({reproduction.source})", what, line.numbers[line.column], value, _verdicts(reproduction, result)]
        )
    headings = ("paper", "headline", "measured", "reported", "claims")
    return markdown_table(headings, rows, numbers=("measured", "reported")) + "\n\n" + _uncorrected(results)


def _uncorrected(results: Sequence[Result]) -> str:
    """How many verdicts of all papers would not survive a correction for multiple tests, or have one seed."""
    definite = [claim for result in results for claim in result.claims if claim.verdict in DEFINITE]
    lost, single = sum(len(after_holm(result.claims)) for result in results), sum(map(_has_one_seed, definite))
    return (
        f"Verdicts are not corrected for multiple tests. Of the {len(definite)} claims that are supported or "
        f"contradicted, {lost} would be inconclusive with Holm's correction within each paper, and {single} have one "
        "seed; each page names them."
    )


def _has_one_seed(claim: JudgedClaim) -> bool:
    return claim.verdict in DEFINITE and claim.basis.startswith("one seed")


def _verdicts(reproduction: Reproduction, result: Result) -> str:
    """How many claims have each verdict, and how many wait for systems that are not trained."""
    verdicts = [claim.verdict for claim in result.claims]
    counts = {verdict: verdicts.count(verdict) for verdict in sorted(verdicts)}
    waiting = "waiting for training" if _untrained(reproduction.preset("cpu"), result) else "waiting for an ensemble"
    counts[waiting] = len(_waiting(reproduction, result))
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def _waiting(reproduction: Reproduction, result: Result) -> list[str]:
    """The claims that have no verdict because a system is not trained."""
    return [claim.id for claim in reproduction.claims if not _is_trained(claim, result)]


def _is_trained(claim: Claim, result: Result) -> bool:
    """Whether all systems that a claim names are trained, here or by another paper."""
    trained = {row.variant for row in result.rows}
    return all(name in trained or published(name) for name in claim.variants)


def speed_markdown() -> str:
    """The measurements of the benchmarks next to their targets, from ``table`` in each file of
    ``benchmarks/results``."""
    rows = [
        [line["measure"], line["measured"], line["target"], "yes" if line["met"] else "**no**"]
        for path in sorted((BENCHMARKS / "results").glob("*.json"))
        for line in json.loads(path.read_text(encoding="utf-8"))["table"]
    ]
    return markdown_table(("measure", "measured", "target", "met"), rows, numbers=("measured", "target"))


def _between(path: Path, marker: str, content: str) -> str:
    """The text of a file with the content between two markers replaced."""
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)", re.DOTALL)
    if not pattern.search(text):
        raise UsageError(f"{path}: the marker '<!-- {marker} -->' is missing; put it where the table belongs")
    return pattern.sub(lambda match: match[1] + "\n" + content + "\n\n" + match[2], text)


def _caption(name: str) -> str:
    return name.removesuffix(".png").replace("_", " ")


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


def untrained(reproduction: Reproduction, preset: Preset, result: Result) -> list[str]:
    """A paragraph on the declared trainings that are not in the table yet, and on the claims that need them."""
    missing = _untrained(preset, result)
    waiting = ", ".join(f"`{id}`" for id in _waiting(reproduction, result))
    if not missing:
        return [f"Without a verdict until their ensembles are scored: {waiting}."] if waiting else []
    claims = f"; without a verdict until then: {waiting}" if waiting else ""
    return [f"Declared, but not trained yet: {', '.join(missing)}{claims}."]


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
        if parameters in elsewhere:
            seeds.setdefault(f"`{variant}` as `{elsewhere[parameters]}`", []).append(seed)
    if not seeds:
        return []
    same = ", ".join(f"{what} ({'seeds' if len(of) > 1 else 'seed'} {', '.join(of)})" for what, of in seeds.items())
    return [f"The same trainings as in other tables, so no independent evidence: {same}."]


def _untrained(preset: Preset, result: Result) -> list[str]:
    """The declared variants that are not in the table, or not with all seeds."""
    trained: dict[str, set[str]] = {}
    for row in result.rows:
        trained.setdefault(row.variant, set()).update(row.per_seed)
    missing = []
    for variant in preset.variants:
        seeds = [str(seed) for seed in preset.seeds_of(variant.name)]
        seeds = [seed for seed in seeds if seed not in trained.get(variant.name, ())]
        if seeds:
            partly = f" (seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)})" if variant.name in trained else ""
            missing.append(f"`{variant.name}`{partly}")
    return missing


def _seeds(result: Result) -> str:
    """The seeds of most rows, followed by the rows with other seeds."""
    all_seeds = list(map(str, result.manifest["seeds"]))
    # An ensemble counts as one system, regardless of the seeds of its members.
    seeds_of = {row.variant: tuple(row.per_seed) for row in result.rows if set(row.per_seed) <= set(all_seeds)}
    several = [seeds for seeds in seeds_of.values() if len(seeds) > 1] or [tuple(all_seeds)]
    usual = max(dict.fromkeys(several), key=several.count)
    exceptions = [
        f"`{name}`: {', '.join(seeds)}" for name, seeds in seeds_of.items() if len(seeds) > 1 and seeds != usual
    ]
    if len(all_seeds) > 1 and any(len(seeds) == 1 for seeds in seeds_of.values()):
        exceptions.append("rows with one value have one")
    return ", ".join(usual) + (f" ({'; '.join(exceptions)})" if exceptions else "")


_CLAIM_HEADINGS = (
    "id",
    "claim",
    "stated in",
    "in the paper",
    "effect",
    "by seed",
    "95 % interval",
    "verdict",
    "measured as",
)


def _marks(reproduction: Reproduction, preset: Preset, result: Result) -> dict[str, str]:
    """The mark of each claim's effect in the paper: that of the number next to one of its systems which was checked the
    least."""
    shown = {claim.id for claim in result.claims if claim.reported is not None}
    marks = {}
    for claim in reproduction.claims:
        if claim.id in shown:
            beside = [variant_named(preset, name).beside for name in claim.variants]
            checked = {number.checked for number in beside if number}
            marks[claim.id] = next((mark for how, mark in MARKS.items() if how in checked), "")
    return marks


def _claim_cells(claim: JudgedClaim, mark: str = "") -> tuple[str, ...]:
    reported = "" if claim.reported is None else f"{claim.reported:+.2f}{mark}"
    by_seed = ", ".join(f"{effect:+.2f}" for effect in claim.per_seed.values())
    verdict = f"{claim.verdict} ({claim.basis})"
    return (
        f"`{claim.id}`",
        claim.statement,
        claim.source or "ours",
        reported,
        f"{claim.effect:+.3f}",
        by_seed,
        shown_interval(claim.ci95),
        verdict,
        claim.measure,
    )


def _claims_markdown(claims: Sequence[JudgedClaim], marks: Mapping[str, str]) -> list[str]:
    if not claims:
        return ["None can be judged yet."]
    cells = [_claim_cells(claim, marks.get(claim.id, "")) for claim in claims]
    table = markdown_table(_CLAIM_HEADINGS, cells, numbers=_CLAIM_HEADINGS[3:7])
    judged = [claim for claim in claims if claim.verdict != "not judged"]
    one_seed = " Verdicts from one seed rest on a fixed threshold; their intervals are over test items only."
    note = (
        f"{len(claims)} claim{'s' * (len(claims) != 1)}, {len(judged)} judged, each at the 95 % level without "
        f"correction for multiple tests.{_after_correction(claims)}{one_seed * any(map(_has_one_seed, claims))} "
        "Effects in the paper are those on its own corpus."
    )
    return [table, "", note]


def _after_correction(claims: Sequence[JudgedClaim]) -> str:
    """What Holm's correction would change; nothing if no claim has a p-value."""
    if all(claim.p is None for claim in claims):
        return ""
    lost = ", ".join(f"`{claim.id}`" for claim in after_holm(claims))
    changed = f"makes these inconclusive: {lost}" if lost else "changes no verdict"
    return f" Holm's correction over the claims with several seeds {changed}."


def _unmeasured(reproduction: Reproduction, result: Result) -> list[str]:
    """A paragraph on the claims whose systems are all in the table, but whose effect cannot be measured from their
    outcomes."""
    judged = {claim.id for claim in result.claims}
    unmeasured = [
        f"{claim.statement} (`{claim.id}`)"
        for claim in reproduction.claims
        if _is_trained(claim, result) and claim.id not in judged
    ]
    if not unmeasured:
        return []
    return ["", f"Declared, but not measurable on these outcomes: {'; '.join(unmeasured)}."]


def _reported_markdown(reported: Sequence[Reported]) -> list[str]:
    rows = []
    for peer in reported:
        details = f" ({peer.details})" if peer.details else ""
        rows.append([f"{peer.system}{details}", peer.corpus, peer.metric, peer.shown, peer.source])
    lines = [markdown_table(("system", "corpus", "metric", "value", "source"), rows, numbers=("value",))]
    if any(peer.checked == "memory" for peer in reported):
        lines += ["", FROM_MEMORY]
    return lines
