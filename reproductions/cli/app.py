"""The command line: ``gluon-attn COMMAND``, or ``python -m reproductions COMMAND``.

What loads MXNet is imported inside the commands: a runtime profile must be set before.
"""

from __future__ import annotations

import io
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from preprocessing.errors import InputError
from reproductions.cli import preprocess
from reproductions.cli.preprocess import Replace

if TYPE_CHECKING:
    from reproductions.protocol.results import Result

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The papers of attention, reproduced: run a script, compare with what is reported, reuse the preprocessing.",
)
app.add_typer(preprocess.app, name="preprocess")
console = Console()

Paper = Annotated[str, typer.Argument(help="A paper of `gluon-attn list`, or the path of a script of your own.")]
PresetName = Annotated[str, typer.Option("--preset", help="smoke (seconds), cpu (our tables) or paper.")]
Seeds = Annotated[list[int] | None, typer.Option("--seed", help="Repeat for several. Default: the preset's.")]
Variants = Annotated[list[str] | None, typer.Option("--variant", help="Repeat for several. Default: all.")]
Profile = Annotated[
    str,
    typer.Option(
        help="portable: same bits everywhere, one thread. fast: all cores; reproducible on this machine only."
    ),
]
Threads = Annotated[int | None, typer.Option(help="Threads of the fast profile.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Number of trainings to run in parallel. Default: one per core.")]
Runs = Annotated[Path, typer.Option(help="Folder of the run directories.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue interrupted runs.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing runs.")]
AnyVariant = Annotated[str | None, typer.Option(help="Which trained variant. Default: the first of the headline.")]
OneSeed = Annotated[int, typer.Option(help="Which trained seed.")]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What is trained, how, and where its files go."""

    paper: str
    preset: str
    variants: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    profile: str = "portable"
    threads: int | None = None
    jobs: int | None = None
    runs: Path = Path("runs")
    resume: bool = False
    overwrite: bool = False
    publish: bool = False


@app.command("list")
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
    publish: Annotated[bool, typer.Option("--publish", help="Write results and figures next to the script.")] = False,
) -> None:
    """Train variants and seeds, score the test split, and write results, figures and pages."""
    _run(
        RunOptions(
            paper=paper,
            preset=preset,
            variants=tuple(variant or ()),
            seeds=tuple(seed or ()),
            profile=profile,
            threads=threads,
            jobs=jobs,
            runs=runs,
            resume=resume,
            overwrite=overwrite,
            publish=publish,
        )
    )


@app.command()
def reproduce(
    paper: Paper,
    preset: PresetName = "cpu",
    seed: Annotated[int, typer.Option(help="One seed.")] = 1,
    profile: Profile = "portable",
    runs: Runs = Path("runs"),
    overwrite: Overwrite = False,
) -> None:
    """The headline variants with one seed: table, figures and page. Continues where it was interrupted."""
    runtime.configure(profile)
    from reproductions.protocol import papers

    _run(
        RunOptions(
            paper=paper,
            preset=preset,
            variants=papers.load(paper).preset(preset).headline,
            seeds=(seed,),
            profile=profile,
            runs=runs,
            resume=not overwrite,
            overwrite=overwrite,
        )
    )


def _run(options: RunOptions) -> None:
    runtime.configure(options.profile, options.threads)
    from reproductions.protocol import conclude, papers, publishing, runner
    from reproductions.protocol.manifest import manifest
    from reproductions.protocol.report import sample_warning, terminal_tables
    from reproductions.protocol.results import Result
    from reproductions.protocol.runs import in_order
    from reproductions.protocol.training import threads_of

    started = time.time()
    reproduction = papers.load(options.paper)
    declared = reproduction.preset(options.preset)
    preset = runner.corpus_or_sample(declared)
    if options.publish and preset != declared:
        raise UsageError(
            f"results of preset {preset.name} on the embedded sample are not published; leave out --publish"
        )
    if options.publish and (options.variants or options.seeds):
        raise UsageError("a published table is whole; leave out --variant and --seed, or --publish")
    wanted = runner.runs_of(
        options.paper,
        preset,
        variants=options.variants,
        seeds=options.seeds,
        profile=options.profile,
        threads=options.threads,
        runs=options.runs,
    )
    jobs = options.jobs or runner.default_jobs(options.profile)
    outcomes = runner.train_all(wanted, jobs=jobs, resume=options.resume, overwrite=options.overwrite)
    outcomes = in_order([*outcomes, *runner.combine_all(preset, wanted)], preset.names)
    rows, claims = conclude.conclude(reproduction, preset, outcomes)
    record = manifest(outcomes, _command(), started, threads_of(wanted[0]), options.profile)
    result = Result(wanted[0].paper_name, preset.name, rows, claims, record)
    root = wanted[0].root
    result.write(root / "results.json")
    files = {"results": root / "results.json"}
    drawn = conclude.draw_figures(reproduction, preset, outcomes, root / "figures")
    files |= {f"figure, {title}": path for title, path in drawn.items()}
    files |= conclude.write_pages(reproduction, preset, outcomes, root)
    if options.publish:
        publishing.publish(options.paper, preset, outcomes, result)
    console.print(terminal_tables(reproduction, preset, result))
    for title, path in files.items():
        print(f"{title}: {path}")
    print(sample_warning(result), end="")


@app.command()
def compare(
    paper: Paper,
    preset: PresetName = "cpu",
    results: Annotated[Path | None, typer.Option(help="A results file. Default: the published one.")] = None,
    claim: Annotated[str | None, typer.Option(help="One claim: its seeds, and its intervals.")] = None,
) -> None:
    """Print the table of measured next to reported, and the verdicts on the claims."""
    from reproductions.protocol import papers
    from reproductions.protocol.report import claim_details, claims_table, sample_warning, terminal_tables

    reproduction = papers.load(paper)
    declared = reproduction.preset(preset)
    result = _results(paper, preset, results)
    if claim is not None:
        console.print(claim_details(result.claim(claim)))
    else:
        console.print(terminal_tables(reproduction, declared, result))
        console.print(claims_table(result))
    print(sample_warning(result), end="")


@app.command()
def power(
    paper: Paper,
    claim: Annotated[str, typer.Option(help="Which claim.")],
    effect: Annotated[float, typer.Option(help="The effect to show, in the unit of the claim.")],
    preset: PresetName = "cpu",
    results: Annotated[Path | None, typer.Option(help="A results file. Default: the published one.")] = None,
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


@app.command()
def publish(
    paper: Paper,
    preset: PresetName = "cpu",
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if something would change.")] = False,
) -> None:
    """Make the published table of a paper again from its published outcomes: results, figures and README. Nothing is
    trained, and no corpus is read."""
    runtime.configure("portable")
    from reproductions.protocol import publishing

    changed = publishing.publish_again(paper, preset, check=check)
    for path in changed:
        print(f"{'would change' if check else 'written'}: {path}")
    if check and changed:
        raise typer.Exit(1)


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
    """Train again and compare the parameters' SHA-256: with the published ones in the portable profile, with those of a
    second training in the fast one, whose bits belong to one machine."""
    runtime.configure(profile, threads)
    from reproductions.protocol.verification import verify as check

    lines, same = check(paper, preset, tuple(variant or ()), tuple(seed or ()), profile, threads, jobs)
    print("\n".join(lines))
    if not same:
        raise typer.Exit(1)


@app.command()
def report(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a file is out of date.")] = False,
) -> None:
    """Generate the table of the README and the README of each paper's results from the results files."""
    from reproductions.protocol.report import write_reports

    stale = write_reports(check=check)
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path}")
    if not stale:
        print("all reports are up to date")
    if stale and check:
        raise typer.Exit(1)


@app.command()
def predict(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    weights: Annotated[bool, typer.Option("--weights", help="Print each token with its attention weight.")] = False,
) -> None:
    """Classify texts on standard input, one per line: label and its probability."""
    _answer("predict", paper, variant, preset, seed, profile, threads, runs, {"weights": weights})


@app.command()
def neighbours(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    cosines: Annotated[bool, typer.Option("--cosines", help="Print each neighbour with its cosine.")] = False,
) -> None:
    """The nearest words of the words on standard input, one per line."""
    _answer("neighbours", paper, variant, preset, seed, profile, threads, runs, {"weights": cosines})


@app.command()
def perplexity(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    weights: Annotated[bool, typer.Option("--weights", help="Print what each word attends to most.")] = False,
) -> None:
    """The perplexity of sentences on standard input, one per line, with their words and how many are unknown."""
    _answer("perplexity", paper, variant, preset, seed, profile, threads, runs, {"weights": weights})


@app.command()
def translate(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    alignments: Annotated[
        Path | None, typer.Option(help="A new folder for the attention weights of each line, as JSON and heatmap.")
    ] = None,
) -> None:
    """Translate sentences on standard input, one per line."""
    if alignments is not None and alignments.exists():
        raise UsageError(f"{alignments}: exists already; name a new folder for the alignments")
    options = {"alignments": alignments, "interactive": sys.stdin.isatty()}
    _answer("translate", paper, variant, preset, seed, profile, threads, runs, options)


def _answer(
    command: str,
    paper: str,
    variant: str | None,
    preset: str,
    seed: int,
    profile: str,
    threads: int | None,
    runs: Path,
    options: dict[str, Any],
) -> None:
    """Answer the lines of standard input with a trained network."""
    runtime.configure(profile, threads)
    from reproductions.protocol import papers
    from reproductions.protocol.loading import finished_or_on_sample, load
    from reproductions.protocol.runs import Run
    from reproductions.protocol.task import AnswerOptions

    declared = papers.load(paper).preset(preset)
    name = variant or declared.headline[0]
    task = declared.task(name)
    if task.command != command:
        raise UsageError(f"{paper} {name}: its task is {task.name}; use gluon-attn {task.command} {paper}")
    trained = load(finished_or_on_sample(Run(paper, preset, name, seed, profile, threads, runs)))
    if trained.data.corpus == "sample":
        print("*** TRAINED ON THE EMBEDDED SAMPLE: ITS ANSWERS MEAN NOTHING ***", file=sys.stderr)
    for line in task.answer(trained, sys.stdin.buffer, AnswerOptions(**options)):
        print(line, flush=True)


@app.command()
def rebuild(
    corpus: Annotated[str, typer.Argument(help="naver")],
    raw: Annotated[Path, typer.Option(help="raw.tar.xz, or the folder of a clone of e9t/nsmc.")],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    overwrite: Replace = False,
) -> None:
    """Make the official NSMC files from the raw crawl, bit for bit, and the repaired variant next to them."""
    from preprocessing import naver_rebuild

    if corpus != "naver":
        raise UsageError(f"corpus {corpus!r} cannot be rebuilt; choose naver")
    rebuilt = naver_rebuild.rebuild(raw, out, overwrite=overwrite)
    for file in rebuilt.files:
        print(f"{file.verdict:9} {file.name:30} {file.rows:7} rows  {file.sha256}")
    if not rebuilt.is_official:
        raise UsageError(f"{raw}: a complete crawl, but not that of NSMC 1.0; the files in {out} differ")


@app.command()
def doctor() -> None:
    """Check the environment and suggest fixes."""
    from reproductions.cli import doctor as checks

    findings = checks.diagnose()
    checks.render(findings, console)
    if any(finding.status == "problem" for finding in findings):
        raise typer.Exit(1)


@app.command("train-run", hidden=True)
def train_run(
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
    from reproductions.protocol import runner
    from reproductions.protocol.runs import Run
    from reproductions.protocol.training import train

    runner.end_with_parent()
    train(Run(paper, preset, variant, seed, profile, threads, runs, on_sample), resume=resume, overwrite=overwrite)


def _command() -> str:
    """The command as it was given, without the folder of the runs, which is local and changes no number."""
    words = sys.argv[1:]
    if "--runs" in words:
        position = words.index("--runs")
        del words[position : position + 2]
    return " ".join(["gluon-attn", *(word for word in words if not word.startswith("--runs="))])


_INTERRUPTED = 130


def main() -> None:
    """Run the command line; an error that a user can fix ends in one line and exit status 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that is not UTF-8 lacks some of the characters of the corpora.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(standalone_mode=True)
    except (InputError, UsageError) as error:
        print(f"gluon-attn: {error}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:  # typer ends so at Ctrl-C, without a word
            print("gluon-attn: interrupted; a run continues with --resume", file=sys.stderr)
        raise
    except OSError as error:
        print(f"gluon-attn: {error.filename or 'input/output'}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
