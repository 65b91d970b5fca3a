"""Commands that other commands start, one process per run, worker or server: train-run, score-run, serve-gradients.

Modules that load MXNet are imported inside the commands, because the runtime profile must be set before.
"""

from __future__ import annotations

from typing import Annotated

import typer

from gluon_attn import runtime
from reproductions.cli.choosing import own_data
from reproductions.cli.division import Division
from reproductions.cli.options import (
    Asynchronous,
    Compression,
    Device,
    Folder,
    Hosts,
    LocalWorkers,
    MicroBatches,
    Overwrite,
    Paper,
    Port,
    PresetName,
    Profile,
    Resume,
    Runs,
    Source,
    Target,
    Test,
    Threads,
    Train,
    Validation,
)
from reproductions.protocol.own_data import DataOptions

OneVariant = Annotated[str, typer.Option("--variant", help="Which variant.")]
OneSeed = Annotated[int, typer.Option("--seed", help="Which seed.")]
OnSample = Annotated[bool, typer.Option("--on-sample", help="Read the embedded sample.")]


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
    """Train one variant with one seed in this process; ``run`` starts these and keeps their standard input open."""
    division = Division(local_workers, hosts, port, micro_batches, device, compression, asynchronous)
    threads = division.threads(profile, threads)
    runtime.configure(profile, threads)
    from gluon_attn.training.distributed.joining import join
    from reproductions.protocol import workers
    from reproductions.protocol.runs import Run
    from reproductions.protocol.training import train as train_one

    runtime.end_with_parent()
    own = own_data(paper, preset, variant, DataOptions(train, validation, test, folder, source, target))
    one = Run(paper, preset, variant, seed, profile, threads, runs, on_sample, own)
    given = {"resume": resume, "overwrite": overwrite, "then_score": then_score}
    if division.cluster is None:
        with workers.as_member():
            joined = join(compression=compression, asynchronous=asynchronous)
            train_one(one, **given, workers=joined, micro_batches=micro_batches, device=device)
        return
    flags = [f"--{name.replace('_', '-')}" for name, is_given in given.items() if is_given]
    workers.train_together(division.cluster, ["train-run", *one.arguments(), *flags, *division.of_worker])


def serve_gradients(profile: Profile = "portable") -> None:
    """Run as server or scheduler, according to DMLC_ROLE, until the workers leave; a training on several workers starts
    these and keeps their standard input open."""
    runtime.configure(profile)
    from gluon_attn.training.distributed.serving import serve

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
    own = own_data(paper, preset, variant, DataOptions(train, validation, test, folder, source, target))
    score_one(Run(paper, preset, variant, seed, profile, threads, runs, on_sample, own))
