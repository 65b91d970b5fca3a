"""Commands that train, score and verify: run, score, reproduce and verify.

Modules that load MXNet are imported inside the commands, because the runtime profile must be set before.
"""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.cli.choosing import check_own_data, choose, on_own_data
from reproductions.cli.concluding import write_results
from reproductions.cli.division import Division
from reproductions.cli.options import (
    Asynchronous,
    Compression,
    Device,
    Folder,
    Hosts,
    Jobs,
    LocalWorkers,
    MicroBatches,
    Overwrite,
    Paper,
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
from reproductions.protocol.own_data import DataOptions


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
    micro_batches: MicroBatches = 1,
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
    """Train variants and seeds, and report validation results.

    The test split is not read: `score` does that, once everything is chosen.
    """
    division = Division(local_workers, hosts, port, micro_batches, device, compression, asynchronous)
    own = DataOptions(train, validation, test, folder, source, target)
    chosen = choose(paper, preset, variant, seed, profile, threads, runs, own)
    from reproductions.protocol import runner
    from reproductions.protocol.plan import compared_with_published, plan
    from reproductions.protocol.tables import sample_warning, validation_table

    if jobs and jobs > 1 and division.port is not None:
        raise UsageError("--port is for one training at a time; leave it out, or give --jobs 1")
    jobs = jobs or division.jobs(runner.default_jobs(profile))
    runner.check_options(chosen.runs, resume=resume, overwrite=overwrite)
    print("\n".join(plan(chosen.preset, chosen.runs, jobs=jobs)), flush=True)
    runner.train_all(chosen.runs, jobs=jobs, resume=resume, overwrite=overwrite, options=division.words)
    Console(markup=False).print(validation_table(chosen.runs))
    print("\n".join(compared_with_published(chosen.runs)))
    print(f"When everything is chosen, score the test split: {chosen.command('score')}")
    if chosen.preset.own:
        answer = chosen.preset.task(chosen.runs[0].variant).command
        options = shlex.join([paper, "--model", str(chosen.runs[0].directory)])
        print(f"Use the network: gluon-attn {answer} {options}")
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

    Each network that reads the test split is added to a record next to the published results; ensembles of such
    networks are not. Networks that are already scored are not scored again. With --publish, the new table replaces the
    published one; with --variant or --seed, published results of other variants and seeds are kept.
    """
    own = DataOptions(train, validation, test, folder, source, target)
    if publish and own.given:
        raise UsageError("results on data of your own are not published; leave out --publish")
    if publish and (variant or seed) and preset != "cpu":
        raise UsageError(f"a table of preset {preset} is published whole; leave out --variant and --seed, or --publish")
    chosen = choose(paper, preset, variant, seed, profile, threads, runs, own)
    from reproductions.protocol import publishing, readings, runner

    if publish and any(run.on_sample for run in chosen.runs):
        raise UsageError(f"results of preset {preset} on the embedded sample are not published; leave out --publish")
    unscored = runner.unscored(chosen.runs)
    if publish:
        publishing.check_publication(paper, chosen.preset, chosen.runs, whole=not (variant or seed))
    else:
        publishing.check_together(chosen.runs)
    if not chosen.preset.on_sample and not chosen.preset.own:
        # Recorded before the test split is read, so that no reading can go unrecorded.
        if unscored:
            print(f"{len(unscored)} readings of the test split recorded: {readings.record(paper, unscored)}")
        if publish and (earlier := readings.unrecorded(paper, chosen.runs)):
            readings.append(paper, earlier, "Some trainings were scored before their reading was recorded.")
    outcomes = runner.score_all(chosen.runs, jobs=jobs or runner.default_jobs(profile))
    write_results(chosen, outcomes, publish=publish)


def reproduce(
    paper: Paper,
    preset: PresetName = "cpu",
    seed: Annotated[int, typer.Option(min=0, help="One seed.")] = 1,
    profile: Profile = "portable",
    runs: Runs = Path("runs"),
    overwrite: Overwrite = False,
) -> None:
    """Train and score the headline variants of a paper with one seed: table, figures and page.

    If the command is interrupted, the same command continues where it stopped. Each network scores the test split once.
    These readings are not added to the record of test readings, which is that of the published tables.
    """
    runtime.configure(profile)
    from reproductions.protocol import papers, runner
    from reproductions.protocol.plan import compared_with_published, plan

    headline = papers.load(paper).preset(preset).headline
    chosen = choose(paper, preset, headline, [seed], profile, None, runs, DataOptions())
    jobs = runner.default_jobs(profile)
    print("\n".join(plan(chosen.preset, chosen.runs, jobs=jobs)), flush=True)
    runner.train_all(chosen.runs, jobs=jobs, resume=not overwrite, overwrite=overwrite, then_score=True)
    write_results(chosen, runner.score_all(chosen.runs, jobs=jobs), publish=False)
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
    finished: Annotated[
        Path | None, typer.Option(help="Compare the finished runs of this folder; do not train them.")
    ] = None,
    train: Train = None,
    validation: Validation = None,
    test: Test = None,
    folder: Folder = None,
    source: Source = None,
    target: Target = None,
) -> None:
    """Train again and compare parameters, predictions, metrics and digests.

    In the portable profile, they are compared with the published ones; in the fast profile, whose bits depend on the
    machine, and on your own data, with those of a second training.
    """
    runtime.configure(profile, threads)
    from reproductions.protocol import papers, runner
    from reproductions.protocol.verification import verify as check

    own = DataOptions(train, validation, test, folder, source, target)
    data = None
    if own.given:
        chosen = on_own_data(papers.load(paper).preset(preset), own, variant)
        runs = partial(runner.runs_of, paper, chosen, profile=profile, threads=threads, runs=finished or Path("runs"))
        check_own_data(runs(variants=variant or (), seeds=seed or ()))
        data = chosen.own
    lines, same = check(paper, preset, tuple(variant or ()), tuple(seed or ()), profile, threads, jobs, finished, data)
    print("\n".join(lines))
    if not same:
        raise typer.Exit(1)
