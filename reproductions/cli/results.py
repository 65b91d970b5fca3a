"""Commands that read published results: list, compare, power, publish and report.

Modules that load MXNet are imported inside the commands, because the runtime profile must be set before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.cli.options import WIDE, Paper, PresetName, ResultsFile

if TYPE_CHECKING:
    from reproductions.protocol.reproduction import Preset
    from reproductions.protocol.results import Result


def list_papers(
    paper: Annotated[str | None, typer.Argument(help="A paper, or the path of a script. Default: all papers.")] = None,
) -> None:
    """List the papers, one per line; or the presets of one paper with their variants: those of the headline, which have
    results, and how long a training takes.
    """
    from reproductions.protocol import index

    if paper is None:
        width = max(map(len, index.names()))
        for name in index.names():
            state = "" if index.is_published(name) else " (no results yet)"
            state += " [network included]" if index.has_network(name) else ""
            print(f"{name:{width}}  {index.title(name)}{state}")
        return
    from reproductions.protocol import papers
    from reproductions.protocol.models import included_models

    reproduction, included = papers.load(paper), included_models(paper)
    print(f"{paper}  {reproduction.title}\n  {reproduction.source}")
    for preset in reproduction.presets.values():
        seeds = ", ".join(map(str, preset.seeds))
        result = _published(papers.results_path(paper, preset.name))
        published = result.seeds if result else {}
        minutes = {row.variant: row.train_seconds / 60 for row in result.rows} if result else {}
        done = sum(variant.name in published for variant in preset.variants)
        state = f"results of {done} of {len(preset.variants)} variants" if done else "no results yet"
        state += ", some without all seeds" * any(
            variant.name in published and _missing(preset, variant.name, published) for variant in preset.variants
        )
        corpora = "sample" if preset.on_sample else ", ".join(preset.corpora)
        print(f"  preset {preset.name}: corpus {corpora}, seeds {seeds}, {state}")
        for variant in preset.variants:
            names, missing = published.get(variant.name, []), _missing(preset, variant.name, published)
            trained = ""
            if names:
                time = f"; {_minutes(minutes[variant.name])} each" if variant.name in minutes else ""
                trained = f" [results of {_seeds(names)}{f', not of {_seeds(missing)}' * bool(missing)}{time}]"
            headline = " [headline]" if variant.name in preset.headline else ""
            network = " [network included]" if preset.name == "cpu" and variant.name in included else ""
            print(f"    {variant.name}: {variant.title}{headline}{trained}{network}")


def _minutes(minutes: float) -> str:
    whole = round(minutes)
    return f"{whole} minute{'s' * (whole > 1)}" if whole else "less than a minute"


def _seeds(seeds: Sequence[str]) -> str:
    return f"{'seeds' if len(seeds) > 1 else 'seed'} {', '.join(seeds)}"


def _missing(preset: Preset, variant: str, published: Mapping[str, Sequence[str]]) -> list[str]:
    """The declared seeds of a variant that are not published."""
    return [str(seed) for seed in preset.seeds_of(variant) if str(seed) not in published.get(variant, ())]


def _published(results: Path) -> Result | None:
    """A results file; None if there is none."""
    from reproductions.protocol.results import Result

    return Result.read(results) if results.exists() else None


def compare(
    paper: Paper,
    preset: PresetName = "cpu",
    results: ResultsFile = None,
    claim: Annotated[str | None, typer.Option(help="One claim: its seeds, and its intervals.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results file: rows, claims and manifest.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables in Markdown.")] = False,
    wide: Annotated[bool, typer.Option("--wide", help="Do not fit the tables to the terminal.")] = False,
) -> None:
    """Print the table of measured next to reported numbers, and the verdicts on the claims."""
    from reproductions.protocol import papers
    from reproductions.protocol.claims_section import after_correction
    from reproductions.protocol.tables import (
        claim_details,
        claims_table,
        markdown_tables,
        sample_warning,
        terminal_tables,
    )
    from reproductions.protocol.waiting import judged_claim, untrained

    if json + markdown + wide + (claim is not None) > 1:
        raise UsageError("--claim, --json, --markdown and --wide exclude each other; choose one")

    reproduction = papers.load(paper)
    declared = reproduction.preset(preset)
    result = _results(paper, preset, results)
    if json:
        print(result.text(), end="")
        return
    if markdown:
        print(markdown_tables(reproduction, declared, result))
        return
    console = Console(width=WIDE if wide else None, markup=False)
    if claim is not None:
        console.print(claim_details(result, judged_claim(reproduction, result, claim)))
    else:
        console.print(terminal_tables(reproduction, declared, result))
        if result.claims:
            console.print(claims_table(result))
            if corrected := after_correction(result.claims):
                print(corrected.replace("`", ""))
        else:
            print("Claims: none; a claim needs all of its variants, scored.")
        if results is None:  # a file of some runs does not know what else is trained, or can be
            for paragraph in untrained(reproduction, declared, result):
                print(paragraph.replace("`", ""))
    print(sample_warning(result.on_sample), end="")


def power(
    paper: Paper,
    claim: Annotated[str, typer.Option(help="Id of the claim, as compare prints it.")],
    effect: Annotated[float, typer.Option(help="The effect to show, in the unit of the claim.")],
    preset: PresetName = "cpu",
    results: ResultsFile = None,
) -> None:
    """Print how many seeds per variant, trained ones included, a verdict on a claim would need."""
    from reproductions.protocol import judging, papers
    from reproductions.protocol.waiting import judged_claim

    reproduction, result = papers.load(paper), _results(paper, preset, results)
    judged = judged_claim(reproduction, result, claim)
    margin = next((each.margin for each in reproduction.claims if each.id == claim), 0.0)
    if effect == margin or not math.isfinite(effect):
        raise UsageError(f"--effect {effect:g}: there is nothing to show; give an effect above or below {margin:g}")
    seeds = judging.power(judged, abs(effect - margin))
    if seeds is None:
        print(f"{claim}: 100 seeds per variant are too few to show {effect:g}; more test items may be needed")
    else:
        print(f"{claim}: with {seeds} seeds per variant, an effect of {effect:g} is shown with a probability of 0.8")


def _results(paper: str, preset: str, path: Path | None) -> Result:
    """Read a results file of a paper: the published one, or another."""
    from reproductions.protocol import papers
    from reproductions.protocol.results import Result

    papers.load(paper).preset(preset)  # refuses an unknown paper or preset
    result = Result.read(path or papers.results_path(paper, preset))
    if result.paper != Path(paper).stem:
        remedy = f"give {result.paper}, or the path of its script, as PAPER"
        raise UsageError(f"{path}: results of {result.paper}, not of {paper}; {remedy}")
    if result.preset != preset:
        raise UsageError(f"{path}: results of preset {result.preset}, not {preset}; add --preset {result.preset}")
    return result


def publish(
    paper: Annotated[
        str | None,
        typer.Argument(help="A paper, or the path of a script. Default: all papers with published outcomes."),
    ] = None,
    preset: PresetName = "cpu",
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if something would change.")] = False,
) -> None:
    """Regenerate a published table from its published outcomes: results, figures and README.

    Nothing is trained, and no corpus is read. A claim with one seed is judged by the deviation over seeds in the tables
    of all papers of its task, so a new table can change a verdict of another paper: give no PAPER to regenerate all.
    """
    runtime.configure("portable")
    from reproductions.protocol import papers, publishing

    published = [name for name in papers.names() if papers.results_path(name, preset).exists()]
    if paper is None and not published:
        raise UsageError(f"no paper has results of preset {preset}; choose smoke, cpu or paper")
    changed = False
    # Verdicts depend on the rows of other papers, and rows on nothing else: a second pass reads rows that are all new.
    for name in [paper] if paper is not None else published if check else published * 2:
        for path in publishing.publish_again(name, preset, check=check):
            print(f"{'would change' if check else 'written'}: {path}")
            changed = True
    if check and changed:
        raise typer.Exit(1)


def report(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a file is out of date.")] = False,
) -> None:
    """Generate the table of the README and the README of each paper's results from the results files.

    Also draws the figures of the step-by-step guide to the attention layer.
    """
    runtime.configure("portable")
    from reproductions.guides.attention_step_by_step import write_pictures
    from reproductions.protocol.report import write_reports

    stale = write_reports(check=check)
    stale += write_pictures(check=check)
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path}")
    if not stale:
        print("all reports are up to date")
    if stale and check:
        raise typer.Exit(1)
