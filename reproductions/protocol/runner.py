"""Running an experiment: one process for each (variant, seed), each with a run directory that can be resumed."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.files import write_arrays
from preprocessing.corpora import locate
from preprocessing.errors import MissingError
from preprocessing.files import write_json
from reproductions.protocol.experiment import Preset
from reproductions.protocol.manifest import commit, environment_digest
from reproductions.protocol.papers import preset, script
from reproductions.protocol.runs import Outcome, Unit, preset_of, vectors_of


def corpus_or_sample(wanted: Preset) -> Preset:
    """The preset, or the same on the embedded sample, said loudly, where its corpus is not to be had.

    A run asks once, before anything is trained, so that all its trainings read the same corpus.

    Raises:
        InputError: the corpus is here, but damaged.
    """
    try:
        locate.find(wanted.corpus)
    except MissingError as missing:
        print(missing, file=sys.stderr)
        print(f"*** NO {wanted.corpus}: THE EMBEDDED SAMPLE IS READ; ITS NUMBERS MEAN NOTHING ***", file=sys.stderr)
        return replace(wanted, corpus="sample")
    return wanted


def train_unit(unit: Unit, *, resume: bool, overwrite: bool) -> Outcome:
    """Train one unit in this process, read the test split once, and write its outcome.

    The runtime profile must be configured already. A unit that was finished before and is resumed is left alone.

    Raises:
        UsageError: what :class:`RunDirectory` and :func:`fit` refuse, or another process is at work in the directory.
    """
    with _alone(unit.directory):
        return _train_unit(unit, resume=resume, overwrite=overwrite)


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Hold the lock of a run directory, which ends with this process, however that ends."""
    path = directory.with_name(f".{directory.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{directory}: another process is training here; stop it or wait for its end") from None
        yield


def _train_unit(unit: Unit, *, resume: bool, overwrite: bool) -> Outcome:
    import mxnet as mx

    from gluon_attn.training import checkpoint
    from gluon_attn.training.loop import fit
    from gluon_attn.training.run_directory import RunDirectory
    from reproductions.tasks.word_vectors import word_vectors

    trained_at = commit()  # now: the tree may have changed by the time that training ends
    module, chosen = script(unit.paper), preset_of(unit)
    variant = chosen.variant(unit.variant)
    data = module.prepare(chosen, variant)
    beginning = vectors_of(unit)
    vectors = word_vectors(beginning) if beginning else None
    files = {**data.corpora, "vectors": vectors.sha256} if vectors else data.corpora
    config = {
        "paper": unit.paper,
        "preset": unit.preset,
        "variant": unit.variant,
        "seed": unit.seed,
        "profile": unit.profile,
        "threads": int(runtime.environment(unit.profile, unit.threads)["OMP_NUM_THREADS"]),
        "settings": dict(variant.settings),
        "recipe": asdict(variant.recipe),
        "corpora": files,
        "pipeline": data.digest,
    }
    run = RunDirectory(unit.directory, config, resume=resume, overwrite=overwrite)
    if unit.is_trained:
        return Outcome.read(unit)

    runtime.seed_all(runtime.derive(unit.seed, "initial parameters"))
    model = module.build(variant, data)
    model.initialize(mx.init.Xavier())
    if vectors:
        module.begin_with(model, variant, data, vectors)
    model.hybridize(static_alloc=True, static_shape=True)
    task = module.task(variant, data)
    label = f"{unit.variant}, seed {unit.seed}"
    trained = fit(model, task, variant.recipe, run, seed=unit.seed, label=label, log=partial(print, flush=True))
    metrics, arrays = module.evaluate(model, variant, data, checkpoint.Checkpoint(run.checkpoint))
    write_arrays(unit.directory / "predictions.npz", arrays)
    facts = {
        "metrics": metrics,
        "history": trained.history,
        "best_epoch": trained.best_epoch,
        "train_seconds": round(trained.seconds, 1),
        "parameters": checkpoint.parameter_count(model),
        "parameters_sha256": checkpoint.parameters_sha256(checkpoint.parameter_arrays(model)),
        "corpus": data.corpus,
        "corpora": files,
        "pipeline": data.digest,
        "commit": trained_at,
        "environment": environment_digest(data.packages),
    }
    write_json(unit.directory / "outcome.json", facts)
    return Outcome(unit, facts)


def train_all(units: Sequence[Unit], *, jobs: int, resume: bool, overwrite: bool) -> list[Outcome]:
    """Train units side by side, ``jobs`` at a time, each in a process of its own with its profile's environment; before
    them the word vectors that some begin with, where these are not trained yet.

    Raises:
        UsageError: a run is there already and neither ``resume`` nor ``overwrite`` was asked for, which is found out
            before anything is trained; or a unit failed: the others go on to their end first, and all can be resumed.
    """
    if resume and overwrite:
        raise UsageError("--resume goes on with what --overwrite would delete; choose one of them")
    there = [unit.directory for unit in units if (unit.directory / "config.json").exists()]
    if there and not (resume or overwrite):
        raise UsageError(
            f"{there[0]}: {len(there)} of {len(units)} runs are here already; go on with them (--resume) or replace "
            "them (--overwrite)"
        )

    def train(unit: Unit, *flags: str) -> str:
        command = [sys.executable, "-m", "reproductions", "train-unit", *unit.arguments(), *flags]
        # One training alone has the terminal and its progress bar; of several, what they say is passed on line by line.
        last = ""
        stderr = subprocess.PIPE if jobs > 1 else None
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=stderr, encoding="utf-8") as process:
            for line in process.stderr or ():
                print(last, end="", file=sys.stderr, flush=True)
                last = line
            process.wait()
        if process.returncode:
            return f"{unit.variant} seed {unit.seed}: {last.strip().removeprefix('gluon-attn: ') or 'see above'}"
        print(last, end="", file=sys.stderr, flush=True)
        return ""

    flags = (["--resume"] if resume else []) + (["--overwrite"] if overwrite else [])
    before = [one for one in dict.fromkeys(map(vectors_of, units)) if one and not one.is_trained]
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for stage, options in ((before, ["--resume"]), (units, flags)):
            failures = [message for message in pool.map(lambda unit, o=options: train(unit, *o), stage) if message]
            if failures:
                raise UsageError("; ".join(failures))
    return [Outcome.read(unit) for unit in units]


def draw_afresh(
    figures: Callable[[Sequence[Outcome], Preset, Path], Mapping[str, Path]],
    outcomes: Sequence[Outcome],
    preset: Preset,
    directory: Path,
) -> None:
    """Draw a script's figures into a directory, and remove from it those that the script has ceased to draw."""
    drawn = list(figures(outcomes, preset, directory).values())
    for path in directory.glob("*.png"):
        if path not in drawn:
            path.unlink()


def end_with_parent() -> None:
    """End this process when the one that holds the other end of its standard input ends, even if that was killed: a
    training that went on unseen would stand in the way of its own resumption."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def default_jobs(profile: str) -> int:
    """As many trainings side by side as there are cores, if each takes one."""
    return len(os.sched_getaffinity(0)) if profile == "portable" else 1


def units_of(
    paper: str,
    chosen: Preset,
    *,
    variants: Sequence[str],
    seeds: Sequence[int] | None,
    profile: str,
    threads: int | None,
    runs: Path,
) -> list[Unit]:
    """All trainings of these variants with these seeds, or with those of the preset: each once, seed by seed, so that
    an interrupted run has whole comparisons."""
    on_sample = chosen.corpus != preset(paper, chosen.name).corpus
    wanted = [chosen.variant(name) for name in dict.fromkeys(variants)]
    return [
        Unit(paper, chosen.name, variant.name, seed, profile, threads, runs, on_sample)
        for seed in dict.fromkeys(seeds or chosen.seeds)
        for variant in wanted
        if seeds or seed in (variant.seeds or chosen.seeds)
    ]
