"""Commands that read published results: list, compare, power, publish and report.

What loads MXNet is imported inside the commands: a runtime profile must be set before.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.cli.options import Paper, PresetName, ResultsFile

if TYPE_CHECKING:
    from reproductions.protocol.results import Result


def list_papers(
    paper: Annotated[str | None, typer.Argument(help="A paper, or the path of a script. Default: all papers.")] = None,
) -> None:
    """The papers, their presets and variants, and which of them have results."""
    from reproductions.protocol import papers

    for name in [paper] if paper is not None else papers.names():
        reproduction = papers.load(name)
        print(f"{name}  {reproduction.title}\n  {reproduction.source}")
        for preset in reproduction.presets.values():
            seeds = ", ".join(map(str, preset.seeds))
            state = "results published" if papers.results_path(name, preset.name).exists() else "no results yet"
            corpora = "sample" if preset.on_sample else ", ".join(preset.corpora)
            print(f"  preset {preset.name}: corpus {corpora}, seeds {seeds}, {state}")
            print("".join(f"    {variant.name}: {variant.title}\n" for variant in preset.variants), end="")


def compare(
    paper: Paper,
    preset: PresetName = "cpu",
    results: ResultsFile = None,
    claim: Annotated[str | None, typer.Option(help="One claim: its seeds, and its intervals.")] = None,
) -> None:
    """Print the table of measured next to reported, and the verdicts on the claims."""
    from reproductions.protocol import papers
    from reproductions.protocol.tables import claim_details, claims_table, sample_warning, terminal_tables

    reproduction = papers.load(paper)
    declared = reproduction.preset(preset)
    result = _results(paper, preset, results)
    console = Console()
    if claim is not None:
        console.print(claim_details(result.claim(claim)))
    else:
        console.print(terminal_tables(reproduction, declared, result))
        console.print(claims_table(result))
    print(sample_warning(result.on_sample), end="")


def power(
    paper: Paper,
    claim: Annotated[str, typer.Option(help="Which claim.")],
    effect: Annotated[float, typer.Option(help="The effect to show, in the unit of the claim.")],
    preset: PresetName = "cpu",
    results: ResultsFile = None,
) -> None:
    """How many seeds per variant a verdict on a claim would need."""
    from reproductions.protocol import judging

    judged = _results(paper, preset, results).claim(claim)
    seeds = judging.power(judged, abs(effect))
    if seeds is None:
        print(f"{claim}: no number of seeds shows {effect:g} on this test split; it needs more test items")
    else:
        print(f"{claim}: {seeds} seeds per variant show {effect:g} with a probability of 0.8")


def _results(paper: str, preset: str, path: Path | None) -> Result:
    """A results file of a paper: the published one, or another."""
    from reproductions.protocol import papers
    from reproductions.protocol.results import Result

    papers.load(paper).preset(preset)  # refuses what is unknown
    result = Result.read(path or papers.results_path(paper, preset))
    if result.paper != Path(paper).stem:
        raise UsageError(f"{path}: results of {result.paper}, not of {paper}; gluon-attn compare {result.paper}")
    return result


def publish(
    paper: Paper,
    preset: PresetName = "cpu",
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if something would change.")] = False,
) -> None:
    """Make a published table again from its published outcomes: results, figures and README.

    Nothing is trained, and no corpus is read.
    """
    runtime.configure("portable")
    from reproductions.protocol import publishing

    changed = publishing.publish_again(paper, preset, check=check)
    for path in changed:
        print(f"{'would change' if check else 'written'}: {path}")
    if check and changed:
        raise typer.Exit(1)


def report(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a file is out of date.")] = False,
) -> None:
    """Generate the table of the README and the README of each paper's results from the results files.

    Also draws the pictures of the walk through the attention layer.
    """
    runtime.configure("portable")
    from reproductions.explorer.steps import write_pictures
    from reproductions.protocol.report import write_reports

    stale = write_reports(check=check)
    stale += write_pictures(check=check)
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path}")
    if not stale:
        print("all reports are up to date")
    if stale and check:
        raise typer.Exit(1)
