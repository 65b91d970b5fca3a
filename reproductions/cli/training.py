"""Commands that train, score and verify: run, score, reproduce and verify.

What loads MXNet is imported inside the commands: a runtime profile must be set before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.cli.division import Division
from reproductions.cli.options import (
    Asynchronous,
    Compression,
    Device,
    Folder,
    Hosts,
    Jobs,
    LocalWorkers,
    Overwrite,
    Paper,
    Pieces,
    Port,
    PresetName,
    Profile,
    Resume,
    Runs,
    Seeds,
    Source,
    Target,
    Test,
    Threads,
    Train,
    Validation,
    Variants,
)
from reproductions.protocol.own_data import DataOptions, check_sizes

if TYPE_CHECKING:
    from reproductions.protocol.own_data import OwnData
    from reproductions.protocol.reproduction import Preset
    from reproductions.protocol.results import Result
    from reproductions.protocol.runs import Outcome, Run

OneVariant = Annotated[str, typer.Option("--variant", help="Which variant.")]
OneSeed = Annotated[int, typer.Option("--seed", help="Which seed.")]
OnSample = Annotated[bool, typer.Option("--on-sample", help="Read the embedded sample.")]


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
    local_workers: LocalWorkers = None,
    hosts: Hosts = None,
    port: Port = None,
    pieces: Pieces = 1,
    device: Device = "cpu",
    compression: Compression = None,
    asynchronous: Asynchronous = False,
    train: Train = None,
    validation: Validation = None,
    test: Test = None,
    folder: Folder = None,
    source: Source = None,
    target: Target = None,
) -> None:
    """Train variants and seeds, and report validation.

    The test split is not read: `score` does that, once everything is chosen.
    """
    division = Division(local_workers, hosts, port, pieces, device, compression, asynchronous)
    own = DataOptions(train, validation, test, folder, source, target)
    chosen = _choose(paper, preset, variant, seed, profile, threads, runs, own)
    from reproductions.protocol import runner
    from reproductions.protocol.plan import compared_with_published, plan
    from reproductions.protocol.tables import sample_warning, validation_table

    jobs = jobs or division.jobs(runner.default_jobs(profile))
    runner.check_options(chosen.runs, resume=resume, overwrite=overwrite)
    print("\n".join(plan(chosen.preset, chosen.runs, jobs=jobs)), flush=True)
    runner.train_all(chosen.runs, jobs=jobs, resume=resume, overwrite=overwrite, options=division.words)
    Console(markup=False).print(validation_table(chosen.runs))
    print("\n".join(compared_with_published(chosen.runs)))
    print(f"When everything is chosen, score the test split: {chosen.command('score')}")
    if chosen.preset.own:
        answer = chosen.preset.task(chosen.runs[0].variant).command
        print(f"Answer lines of text: gluon-attn {answer} {paper} --model {chosen.runs[0].directory}")
    print(sample_warning(chosen.preset.on_sample), end="")


def score(
    paper: Paper,
    preset: PresetName = "cpu",
    variant: Variants = None,
    seed: Seeds = None,
    profile: Profile = "portable",
    threads: Threads = None,
    jobs: Jobs = None,
    runs: Runs = Path("runs"),
    publish: Annotated[bool, typer.Option("--publish", help="Write results and figures next to the script.")] = False,
    train: Train = None,
    validation: Validation = None,
    test: Test = None,
    folder: Folder = None,
    source: Source = None,
    target: Target = None,
) -> None:
    """Score the test split with trained networks: table, figures and pages.

    Each reading of the test split enters a record next to the published results. Networks that are scored already are
    not scored again. With --publish, a whole table replaces the published one; of --variant and --seed, what is
    published of others stays.
    """
    if publish and (variant or seed) and preset != "cpu":
        raise UsageError(f"a table of preset {preset} is published whole; leave out --variant and --seed, or --publish")
    own = DataOptions(train, validation, test, folder, source, target)
    if publish and own.given:
        raise UsageError("results on data of your own are not published; leave out --publish")
    chosen = _choose(paper, preset, variant, seed, profile, threads, runs, own)
    from reproductions.protocol import publishing, readings, runner

    if publish and any(run.on_sample for run in chosen.runs):
        raise UsageError(f"results of preset {preset} on the embedded sample are not published; leave out --publish")
    if publish and (variant or seed):
        publishing.check_addition(paper, chosen.preset, chosen.runs)
    unscored = runner.unscored(chosen.runs)
    if unscored and not chosen.preset.on_sample and not chosen.preset.own:
        # Before the test split is read: no reading can go unrecorded.
        print(f"readings of the test split recorded: {readings.append(paper, unscored)}")
    outcomes = runner.score_all(chosen.runs, jobs=jobs or runner.default_jobs(profile))
    _conclude(chosen, outcomes, publish=publish)


def reproduce(
    paper: Paper,
    preset: PresetName = "cpu",
    seed: Annotated[int, typer.Option(help="One seed.")] = 1,
    profile: Profile = "portable",
    runs: Runs = Path("runs"),
    overwrite: Overwrite = False,
) -> None:
    """Train and score the headline variants with one seed: table, figures and page.

    Continues where it was interrupted. Each network scores the test split once. The record of test readings is that of
    the published tables; these do not enter it.
    """
    runtime.configure(profile)
    from reproductions.protocol import papers, runner
    from reproductions.protocol.plan import compared_with_published, plan

    headline = papers.load(paper).preset(preset).headline
    chosen = _choose(paper, preset, headline, [seed], profile, None, runs, DataOptions())
    jobs = runner.default_jobs(profile)
    print("\n".join(plan(chosen.preset, chosen.runs, jobs=jobs)), flush=True)
    runner.train_all(chosen.runs, jobs=jobs, resume=not overwrite, overwrite=overwrite, then_score=True)
    _conclude(chosen, runner.score_all(chosen.runs, jobs=jobs), publish=False)
    print("\n".join(compared_with_published(chosen.runs)))
    print(f"test split: scored once by each of {len(chosen.runs)} trainings, not entered in the record of readings")


def verify(
    paper: Paper,
    preset: PresetName = "smoke",
    variant: Variants = None,
    seed: Seeds = None,
    profile: Profile = "portable",
    threads: Threads = None,
    jobs: Jobs = None,
    finished: Annotated[Path | None, typer.Option(help="Compare finished runs of this folder; train nothing.")] = None,
    train: Train = None,
    validation: Validation = None,
    test: Test = None,
    folder: Folder = None,
    source: Source = None,
    target: Target = None,
) -> None:
    """Train again and compare parameters, predictions, metrics and digests.

    In the portable profile with the published ones; in the fast one, whose bits belong to one machine, and on data of
    your own, with those of a second training.
    """
    runtime.configure(profile, threads)
    from reproductions.protocol import papers
    from reproductions.protocol.verification import verify as check

    own = DataOptions(train, validation, test, folder, source, target)
    read = _on_own_data(papers.load(paper).preset(preset), own, variant) if own.given else None
    data = read.own if read else None
    lines, same = check(paper, preset, tuple(variant or ()), tuple(seed or ()), profile, threads, jobs, finished, data)
    print("\n".join(lines))
    if not same:
        raise typer.Exit(1)


def train_run(
    paper: Paper,
    preset: PresetName,
    variant: OneVariant,
    seed: OneSeed,
    profile: Profile,
    runs: Runs,
    threads: Threads = None,
    on_sample: OnSample = False,
    resume: Resume = False,
    overwrite: Overwrite = False,
    then_score: Annotated[bool, typer.Option("--then-score", help="Score the test split too.")] = False,
    local_workers: LocalWorkers = None,
    hosts: Hosts = None,
    port: Port = None,
    pieces: Pieces = 1,
    device: Device = "cpu",
    compression: Compression = None,
    asynchronous: Asynchronous = False,
    train: Train = None,
    validation: Validation = None,
    test: Test = None,
    folder: Folder = None,
    source: Source = None,
    target: Target = None,
) -> None:
    """Train one variant with one seed in this process; ``run`` starts these and keeps their standard input open."""
    division = Division(local_workers, hosts, port, pieces, device, compression, asynchronous)
    runtime.configure(profile, division.threads(profile, threads))
    from gluon_attn.training.joining import join
    from reproductions.protocol import workers
    from reproductions.protocol.runs import Run
    from reproductions.protocol.training import train as train_one

    runtime.end_with_parent()
    own = _own_data(paper, preset, variant, DataOptions(train, validation, test, folder, source, target))
    one = Run(paper, preset, variant, seed, profile, threads, runs, on_sample, own)
    given = {"resume": resume, "overwrite": overwrite, "then_score": then_score}
    if division.cluster is None:
        with workers.as_member():
            joined = join(compression=compression, asynchronous=asynchronous)
            train_one(one, **given, workers=joined, pieces=pieces, device=device)
        return
    flags = [f"--{name.replace('_', '-')}" for name, is_given in given.items() if is_given]
    workers.train_together(division.cluster, ["train-run", *one.arguments(), *flags, *division.of_worker])


def serve_gradients(profile: Profile = "portable") -> None:
    """Be what DMLC_ROLE says, server or scheduler, until the workers leave; a training on several workers starts these
    and keeps their standard input open."""
    runtime.configure(profile)
    from gluon_attn.training.serving import serve

    runtime.end_with_parent()
    serve()


def score_run(
    paper: Paper,
    preset: PresetName,
    variant: OneVariant,
    seed: OneSeed,
    profile: Profile,
    runs: Runs,
    threads: Threads = None,
    on_sample: OnSample = False,
    train: Train = None,
    validation: Validation = None,
    test: Test = None,
    folder: Folder = None,
    source: Source = None,
    target: Target = None,
) -> None:
    """Score the test split with one trained network in this process; ``score`` starts these."""
    runtime.configure(profile, threads)
    from reproductions.protocol.runs import Run
    from reproductions.protocol.training import score as score_one

    runtime.end_with_parent()
    own = _own_data(paper, preset, variant, DataOptions(train, validation, test, folder, source, target))
    score_one(Run(paper, preset, variant, seed, profile, threads, runs, on_sample, own))


@dataclass(frozen=True)
class _Chosen:
    """The runs that a command is about, and their preset."""

    paper: str
    preset: Preset
    runs: list[Run]
    variants: tuple[str, ...]
    seeds: tuple[int, ...]
    folder: Path

    def command(self, name: str) -> str:
        """Another command for the same runs."""
        options = [f" --variant {variant}" for variant in self.variants] + [f" --seed {seed}" for seed in self.seeds]
        profile = "" if self.runs[0].profile == "portable" else f" --profile {self.runs[0].profile}"
        folder = "" if self.folder == Path("runs") else f" --runs {self.folder}"
        own = self.preset.own.command_line if self.preset.own else ""
        return f"gluon-attn {name} {self.paper} --preset {self.preset.name}{''.join(options)}{profile}{folder}{own}"


def _choose(
    paper: str,
    preset_name: str,
    variants: list[str] | tuple[str, ...] | None,
    seeds: list[int] | None,
    profile: str,
    threads: int | None,
    folder: Path,
    own: DataOptions,
) -> _Chosen:
    """The runs that are asked for; on the embedded sample, with a warning, where a corpus is missing."""
    runtime.configure(profile, threads)
    from reproductions.protocol import papers, runner

    preset = papers.load(paper).preset(preset_name)
    preset = _on_own_data(preset, own, variants) if own.given else runner.corpus_or_sample(preset, variants or ())
    names, numbers = tuple(variants or ()), tuple(seeds or ())
    runs = runner.runs_of(paper, preset, variants=names, seeds=numbers, profile=profile, threads=threads, runs=folder)
    return _Chosen(paper, preset, runs, names, numbers, folder)


def _on_own_data(preset: Preset, options: DataOptions, variants: Sequence[str] | None) -> Preset:
    """A preset on data of one's own, which are prepared once, so that whatever is wrong or odd is named once."""
    first = variants[0] if variants else preset.headline[0]
    preset = preset.on(preset.task(first).own_data(options))
    variant = preset.variant(first if variants else preset.default[0])
    data = preset.task(variant.name).prepare(variant.settings)
    check_sizes(data.rows)
    for warning in data.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return preset


def _own_data(paper: str, preset: str, variant: str, options: DataOptions) -> OwnData | None:
    """Data of one's own that the options of an inner command name."""
    from reproductions.protocol import papers

    return papers.load(paper).preset(preset).task(variant).own_data(options) if options.given else None


def _conclude(chosen: _Chosen, outcomes: list[Outcome], *, publish: bool) -> None:
    """Write what follows from scored networks, those that earlier commands scored included, and print the table."""
    from reproductions.protocol import conclude, papers, publishing, runner
    from reproductions.protocol.runs import Outcome, in_order
    from reproductions.protocol.tables import sample_warning, terminal_tables

    started = time.time()
    reproduction, preset, first = papers.load(chosen.paper), chosen.preset, chosen.runs[0]
    others = [] if publish else runner.scored_before(preset, chosen.runs)
    outcomes = [*outcomes, *map(Outcome.of, others)]
    outcomes = in_order([*outcomes, *runner.combine_all(preset, [*chosen.runs, *others])], preset.names)
    result = _result(chosen, outcomes, started)
    result.write(first.root / "results.json")
    files = {"results": first.root / "results.json"}
    drawn = conclude.draw_figures(reproduction, preset, outcomes, first.root / "figures")
    files |= {f"figure, {title}": path for title, path in drawn.items()}
    files |= conclude.write_pages(reproduction, preset, outcomes, first.root)
    if publish:
        if chosen.variants or chosen.seeds:
            outcomes = publishing.with_published(chosen.paper, preset, outcomes)
            result = _result(chosen, outcomes, started)
        publishing.publish(chosen.paper, preset, outcomes, result)
    Console(markup=False).print(terminal_tables(reproduction, preset, result))
    for title, path in files.items():
        print(f"{title}: {path}")
    print(sample_warning(result.on_sample), end="")


def _result(chosen: _Chosen, outcomes: Sequence[Outcome], started: float) -> Result:
    """Rows, claims and manifest of these outcomes."""
    from reproductions.protocol import papers
    from reproductions.protocol.conclude import conclude
    from reproductions.protocol.manifest import manifest
    from reproductions.protocol.results import Result
    from reproductions.protocol.training import threads_of

    first = chosen.runs[0]
    rows, claims = conclude(papers.load(chosen.paper), chosen.preset, outcomes)
    record = manifest(outcomes, _command(), started, threads_of(first), first.profile)
    return Result(first.paper_name, chosen.preset.name, rows, claims, record)


def _command() -> str:
    """The command as it was given, without the folder of the runs, which is local and changes no number."""
    words = sys.argv[1:]
    if "--runs" in words:
        position = words.index("--runs")
        del words[position : position + 2]
    return " ".join(["gluon-attn", *(word for word in words if not word.startswith("--runs="))])
