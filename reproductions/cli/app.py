"""The command line: ``gluon-attn COMMAND``, or ``python -m reproductions COMMAND``.

Imports of what loads MXNet stand inside the commands: a runtime profile must be set before.
"""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from preprocessing.errors import InputError
from reproductions.cli import preprocess
from reproductions.cli.preprocess import Replace

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The papers of attention, run, measured and put beside what others report.",
)
app.add_typer(preprocess.app, name="preprocess")
console = Console()

Paper = Annotated[str, typer.Argument(help="The script's name; `gluon-attn list` shows them.")]
PresetName = Annotated[str, typer.Option("--preset", help="smoke (seconds), cpu (our tables) or paper.")]
Seeds = Annotated[list[int] | None, typer.Option("--seed", help="Repeat for several; the preset's seeds if none.")]
Variants = Annotated[list[str] | None, typer.Option("--variant", help="Repeat for several; all if none.")]
Profile = Annotated[str, typer.Option(help="portable: same bits everywhere, one thread. fast: this machine as it is.")]
Threads = Annotated[int | None, typer.Option(help="Threads of the fast profile.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Trainings side by side; one for each core if not given.")]
Runs = Annotated[Path, typer.Option(help="Folder of the run directories.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with runs that were interrupted.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace runs that are there.")]


@app.command("list")
def list_papers() -> None:
    """The papers, their presets and variants, and which of them have results."""
    from reproductions.protocol.papers import PAPERS, script
    from reproductions.protocol.report import results_path

    for paper in PAPERS:
        module = script(paper)
        print(f"{paper}  {module.TITLE}\n  {module.SOURCE}")
        for name, preset in module.PRESETS.items():
            seeds = ", ".join(map(str, preset.seeds))
            state = "results committed" if results_path(paper, name).exists() else "no results yet"
            print(f"  preset {name}: corpus {preset.corpus}, seeds {seeds}, {state}")
            print("".join(f"    {variant.name}: {variant.title}\n" for variant in preset.variants), end="")


@app.command()
def run(
    paper: Paper,
    preset: PresetName = "cpu",
    variant: Variants = None,
    seed: Seeds = None,
    profile: Profile = "portable",
    threads: Threads = None,
    jobs: Jobs = None,
    runs: Runs = Path("runs"),
    resume: Resume = False,
    overwrite: Overwrite = False,
    publish: Annotated[bool, typer.Option("--publish", help="Write results and figures into reproductions/.")] = False,
) -> None:
    """Train variants and seeds, read the test split, and write results, figures and the reading page."""
    _run(paper, preset, variant, seed, profile, threads, jobs, runs, resume, overwrite, publish)


@app.command()
def reproduce(
    paper: Paper,
    preset: PresetName = "cpu",
    seed: Annotated[int, typer.Option(help="One seed.")] = 1,
    profile: Profile = "portable",
    runs: Runs = Path("runs"),
    overwrite: Overwrite = False,
) -> None:
    """The headline variants with one seed: the table, the figure and the page. Goes on where it was stopped."""
    runtime.configure(profile)
    from reproductions.protocol.papers import preset as find_preset

    headline = list(find_preset(paper, preset).headline)
    _run(paper, preset, headline, [seed], profile, None, None, runs, not overwrite, overwrite, False)


def _run(
    paper: str,
    preset: str,
    variants: list[str] | None,
    seeds: list[int] | None,
    profile: str,
    threads: int | None,
    jobs: int | None,
    runs: Path,
    resume: bool,
    overwrite: bool,
    publish: bool,
) -> None:
    runtime.configure(profile, threads)
    from reproductions.protocol.manifest import manifest
    from reproductions.protocol.papers import preset as find_preset, script
    from reproductions.protocol.report import loud_if_sample, results_path, terminal_tables
    from reproductions.protocol.results import RESULTS, Result
    from reproductions.protocol.runner import (
        corpus_or_sample,
        default_jobs,
        draw_afresh,
        train_all,
        units_of,
    )

    started = time.time()
    module = script(paper)
    chosen = corpus_or_sample(find_preset(paper, preset))
    if publish and chosen != find_preset(paper, preset):
        raise UsageError(f"results of preset {preset} on the embedded sample are not published; leave out --publish")
    if publish and (variants or seeds):
        raise UsageError("a published table is whole; leave out --variant and --seed, or --publish")
    names = variants or [variant.name for variant in chosen.variants]
    units = units_of(paper, chosen, variants=names, seeds=seeds, profile=profile, threads=threads, runs=runs)
    outcomes = train_all(units, jobs=jobs or default_jobs(profile), resume=resume, overwrite=overwrite)
    rows, claims = module.conclude(outcomes, chosen)
    result = Result(paper, preset, rows, claims, manifest(outcomes, _command(), started))
    place = units[0].place
    result.write(place / "results.json")
    drawn = module.figures(outcomes, chosen, place / "figures")
    pages = {f"figure, {name}": path for name, path in drawn.items()} | module.pages(outcomes, chosen, place)
    if publish:
        result.write(results_path(paper, preset))
        if preset != "smoke":
            draw_afresh(module.figures, outcomes, chosen, RESULTS / paper)
            for unit in units:
                unit.publish(RESULTS / paper / "outcomes")
    console.print(terminal_tables(result))
    for what, path in {"results": place / "results.json", **pages}.items():
        print(f"{what}: {path}")
    print(loud_if_sample(result), end="")


@app.command()
def compare(
    paper: Paper,
    preset: PresetName = "cpu",
    results: Annotated[Path | None, typer.Option(help="A results file; the committed one if not given.")] = None,
) -> None:
    """Print the table of measured beside reported, and what became of the claims."""
    from reproductions.protocol.papers import preset as find_preset
    from reproductions.protocol.report import claims_table, loud_if_sample, results_path, terminal_tables
    from reproductions.protocol.results import Result

    find_preset(paper, preset)
    result = Result.read(results or results_path(paper, preset))
    console.print(terminal_tables(result))
    console.print(claims_table(result))
    print(loud_if_sample(result), end="")


@app.command()
def verify(
    paper: Paper,
    preset: PresetName = "smoke",
    variant: Variants = None,
    seed: Seeds = None,
    profile: Profile = "portable",
    threads: Threads = None,
    jobs: Jobs = None,
) -> None:
    """Train again and compare the parameters' SHA-256: with the committed ones in the portable profile, with those of
    a second training in the fast one, whose bits belong to one machine."""
    from reproductions.protocol.verification import verify as check

    runtime.configure(profile, threads)
    lines, same = check(paper, preset, variant, seed, profile, threads, jobs)
    print("\n".join(lines))
    if not same:
        raise typer.Exit(1)


@app.command()
def report(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if the README is out of date.")] = False,
) -> None:
    """Generate the README's tables from the results files."""
    from reproductions.protocol.report import update_readme

    stale = update_readme(check=check)
    print("README is out of date" if stale and check else "README written" if stale else "README is up to date")
    if stale and check:
        raise typer.Exit(1)


@app.command()
def predict(
    paper: Paper,
    variant: Annotated[str, typer.Option(help="Which trained variant reads.")] = "as-written",
    preset: PresetName = "cpu",
    seed: Annotated[int, typer.Option(help="Which trained seed.")] = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    weights: Annotated[bool, typer.Option("--weights", help="Print each token with its weight.")] = False,
) -> None:
    """Read texts on standard input, one a line; print label, its probability and, if asked, the weights. Of word
    vectors: the words nearest to each and, if asked, their cosines. Of a language model: the line's perplexity,
    its words and how many are unknown and, if asked, what each word looks at most."""
    runtime.configure(profile, threads)
    from reproductions.protocol.papers import preset as find_preset, script
    from reproductions.protocol.runs import Unit, trained_or_on_sample

    find_preset(paper, preset).variant(variant)
    module = script(paper)
    if not hasattr(module, "predict"):
        raise UsageError(f"{paper} does not classify texts; gluon-attn translate {paper} translates them")
    unit = trained_or_on_sample(Unit(paper, preset, variant, seed, profile, threads, runs))
    for line in module.predict(unit, sys.stdin.buffer, weights=weights):
        print(line, flush=True)


@app.command()
def translate(
    paper: Paper,
    variant: Annotated[str, typer.Option(help="Which trained variant translates.")],
    preset: PresetName = "cpu",
    seed: Annotated[int, typer.Option(help="Which trained seed.")] = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    alignments: Annotated[
        Path | None, typer.Option(help="A new folder for the weights of each line, as JSON and as a heatmap.")
    ] = None,
) -> None:
    """Read source sentences on standard input, one a line, and print a translation for each."""
    runtime.configure(profile, threads)
    from reproductions.protocol.papers import preset as find_preset, script
    from reproductions.protocol.runs import Unit, trained_or_on_sample

    find_preset(paper, preset).variant(variant)
    module = script(paper)
    if not hasattr(module, "translate_lines"):
        raise UsageError(f"{paper} does not translate; gluon-attn predict {paper} reads texts")
    if alignments is not None and alignments.exists():
        raise UsageError(f"{alignments}: is there already; name a new folder for the alignments")
    unit = trained_or_on_sample(Unit(paper, preset, variant, seed, profile, threads, runs))
    interactive = sys.stdin.isatty()
    for line in module.translate_lines(unit, sys.stdin.buffer, interactive=interactive, alignments=alignments):
        print(line, flush=interactive)


@app.command()
def rebuild(
    corpus: Annotated[str, typer.Argument(help="naver")],
    raw: Annotated[Path, typer.Option(help="raw.tar.xz, or the folder of a clone of e9t/nsmc.")],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    overwrite: Replace = False,
) -> None:
    """Make the official NSMC files from the raw crawl, bit for bit, and the repaired variant beside them."""
    from preprocessing import naver_rebuild

    if corpus != "naver":
        raise UsageError(f"corpus {corpus!r} cannot be rebuilt; choose naver")
    made = naver_rebuild.rebuild(raw, out, overwrite=overwrite)
    for file in made.files:
        print(f"{file.verdict:9} {file.name:30} {file.rows:7} rows  {file.sha256}")
    if not made.is_official:
        raise UsageError(f"{raw}: a complete crawl, but not the one behind NSMC 1.0; the files in {out} differ")


@app.command()
def doctor() -> None:
    """Find the usual breakages of this environment and say what to do about each."""
    from reproductions.cli import doctor as clinic

    findings = clinic.diagnose()
    clinic.render(findings, console)
    if any(finding.status == "problem" for finding in findings):
        raise typer.Exit(1)


@app.command("train-unit", hidden=True)
def train_unit(
    paper: Paper,
    preset: PresetName,
    variant: Annotated[str, typer.Option()],
    seed: Annotated[int, typer.Option()],
    profile: Profile,
    runs: Runs,
    threads: Threads = None,
    on_sample: Annotated[bool, typer.Option("--on-sample")] = False,
    resume: Resume = False,
    overwrite: Overwrite = False,
) -> None:
    """One variant with one seed, in this process; ``run`` starts these and keeps their standard input open."""
    runtime.configure(profile, threads)
    from reproductions.protocol.runner import (
        end_with_parent,
        train_unit,
    )
    from reproductions.protocol.runs import Unit

    end_with_parent()
    unit = Unit(paper, preset, variant, seed, profile, threads, runs, on_sample)
    train_unit(unit, resume=resume, overwrite=overwrite)


def _command() -> str:
    """The command as it was given, but for the folder of the runs, which is nobody else's and changes no number."""
    words = sys.argv[1:]
    if "--runs" in words:
        place = words.index("--runs")
        del words[place : place + 2]
    return " ".join(["gluon-attn", *(word for word in words if not word.startswith("--runs="))])


_INTERRUPTED = 130


def main() -> None:
    """Run the command line; what a person can mend ends in one line and exit status 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that is not UTF-8 lacks some of the characters that reviews hold.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(standalone_mode=True)
    except (InputError, UsageError) as error:
        print(f"gluon-attn: {error}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:  # typer ends so at Ctrl-C, without a word
            print("gluon-attn: interrupted; a run goes on where it was with --resume", file=sys.stderr)
        raise
    except OSError as error:
        print(f"gluon-attn: {error.filename or 'input/output'}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
