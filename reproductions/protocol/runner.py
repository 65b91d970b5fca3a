"""Run an experiment: one process per run, several at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from tqdm import tqdm

from gluon_attn.errors import UsageError
from preprocessing import corpora
from preprocessing.errors import MissingError
from reproductions.protocol.preparing import by_stage, networks_to_train_first
from reproductions.protocol.processes import how_it_ended, pass_errors_on, pass_on
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.runs import CONFIG, OUTCOME, REPLACE, Outcome, Run, not_trained, read_json, training_of
from reproductions.protocol.task import PRETRAINED, TEACHER
from reproductions.protocol.training import combine


def corpus_or_sample(preset: Preset, variants: Sequence[str] = ()) -> Preset:
    """Return the preset, or, with a warning, the same preset on the embedded sample if a corpus of these variants
    (default: of all variants) is missing.

    A command calls this once, before anything is trained, so that all its trainings read the same corpus.

    Raises:
        InputError: if a corpus is damaged.
        UsageError: if there is no such variant.
    """
    if preset.on_sample:
        return preset
    wanted = [corpus for name in variants for corpus in preset.task(name).corpora] or preset.corpora
    for corpus in dict.fromkeys(wanted):
        try:
            corpora.find(corpus)
        except MissingError as missing:
            print(missing, file=sys.stderr)
            print(f"*** {corpus} IS MISSING: USING THE EMBEDDED SAMPLE; ITS NUMBERS MEAN NOTHING ***", file=sys.stderr)
            return replace(preset, on_sample=True)
    return preset


def runs_of(
    paper: str,
    preset: Preset,
    *,
    variants: Sequence[str] = (),
    seeds: Sequence[int] = (),
    profile: str,
    threads: int | None,
    runs: Path,
) -> list[Run]:
    """The runs of these variants (by default, those that the preset trains by default) with these seeds (by default,
    those that each variant declares, or else those of the preset), without repetitions. They are ordered by seed, so
    that an interrupted experiment has complete comparisons.

    Raises:
        UsageError: if there is no such variant, or if it is an ensemble, which is not trained itself.
    """
    preset.refuse_ensembles(variants)
    chosen = [preset.variant(name) for name in dict.fromkeys(variants or preset.default)] or list(preset.variants)
    on_sample = preset.on_sample and preset.name != "smoke"
    return [
        Run(paper, preset.name, variant.name, seed, profile, threads, runs, on_sample, preset.own)
        for seed in dict.fromkeys(seeds or sorted(seed for variant in chosen for seed in preset.seeds_of(variant.name)))
        for variant in chosen
        if seeds or seed in preset.seeds_of(variant.name)
    ]


def train_all(
    runs: Sequence[Run],
    *,
    jobs: int,
    resume: bool,
    overwrite: bool,
    then_score: bool = False,
    options: Sequence[str] = (),
) -> None:
    """Train runs in parallel, ``jobs`` at a time, each in its own process with the environment of its profile. Networks
    that some runs are initialised from are trained first, unless they are trained already or come with the project.
    With ``then_score``, each run also scores the test split. ``options`` are further words of the command that trains a
    run, such as its device and the number of micro-batches.

    Raises:
        UsageError: if a run exists already and neither ``resume`` nor ``overwrite`` is set, which is checked before
            anything is trained; or if a run failed, in which case the others finish first and all can be resumed.
    """
    check_options(runs, resume=resume, overwrite=overwrite)
    flags = (["--resume"] if resume else []) + (["--overwrite"] if overwrite else [])
    flags += [*(["--then-score"] if then_score else []), *options]
    # Together, since a network that is trained first may itself start from one of these runs.
    for stage in by_stage([*networks_to_train_first(runs), *runs]):
        for group, words in (
            ([run for run in stage if run not in runs], ["--resume", *options]),
            ([run for run in stage if run in runs], flags),
        ):
            if group:
                _in_processes("train-run", group, words, jobs)


def check_options(runs: Sequence[Run], *, resume: bool, overwrite: bool) -> None:
    """Make the checks of :func:`train_all` that precede all training.

    Raises:
        UsageError: if a run exists already and neither ``resume`` nor ``overwrite`` is set, or if both are set.
    """
    if resume and overwrite:
        raise UsageError("--resume continues what --overwrite would delete; choose one of them")
    existing = [run.directory for run in runs if (run.directory / CONFIG).exists()]
    if existing and not (resume or overwrite):
        raise UsageError(
            f"{existing[0]}: {len(existing)} of {len(runs)} runs exist already; continue them (--resume) or replace "
            "them (--overwrite)"
        )


def score_all(runs: Sequence[Run], *, jobs: int) -> list[Outcome]:
    """Score the test split with trained runs, ``jobs`` at a time. Runs that are already scored are not scored again.

    Raises:
        UsageError: if a run is not trained, which is checked before anything is scored; or if scoring failed.
    """
    _in_processes("score-run", unscored(runs), [], jobs)
    return [Outcome.of(run) for run in runs]


def unscored(runs: Sequence[Run]) -> list[Run]:
    """The trained runs among these that have not scored the test split yet.

    Raises:
        UsageError: if one of the runs is not trained.
    """
    untrained = [run for run in runs if not run.is_trained]
    if untrained:
        raise not_trained(*untrained)
    return [run for run in runs if not run.is_scored]


def _in_processes(command: str, runs: Sequence[Run], flags: Sequence[str], jobs: int) -> None:
    """Call a command for each run, in a separate process each. An exception such as Ctrl-C ends all of them. Parallel
    processes share one progress bar."""
    started: list[subprocess.Popen[str]] = []
    alone = jobs == 1
    call = partial(_in_process, command, flags=flags, alone=alone, started=started)
    bar = tqdm(total=len(runs), desc=command, unit="run", leave=False, disable=True if alone or not runs else None)
    with ThreadPoolExecutor(max_workers=jobs) as pool, bar:
        try:
            failures = []
            for message in pool.map(call, runs):
                failures += [message] if message else []
                bar.update()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in started:
                process.kill()  # finished work is on disk; the rest is repeated
            raise
    if failures:
        raise UsageError("; ".join(failures))


def _in_process(
    command: str, run: Run, *, flags: Sequence[str], alone: bool, started: list[subprocess.Popen[str]]
) -> str:
    """Call a command for a run in a separate process. Returns the reason if it failed, else an empty string."""
    words = [sys.executable, "-m", "reproductions", command, *run.arguments(), *flags]
    # A single run gets the terminal with its own progress bar; otherwise, messages are passed on line by line, above
    # the bar that all runs share.
    terminal = alone and sys.stderr.isatty()
    stdout = subprocess.PIPE if sys.stderr.isatty() and not alone else None
    stderr = None if terminal else subprocess.PIPE
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, encoding="utf-8", errors="replace"
    ) as process:
        started.append(process)
        reports = threading.Thread(target=pass_on, args=(process.stdout or (), sys.stdout))
        reports.start()
        reason, last = pass_errors_on(process.stderr or ())
        reports.join()
        status = process.wait()  # before the end of this block closes its stdin, which would end it
    if not status:
        return ""
    ended = "see above" if terminal and status > 0 else how_it_ended(status, last)
    if status == -signal.SIGKILL:
        ended += "; most likely the memory is full: use fewer --jobs"
    return f"{run.variant} seed {run.seed}: {reason or ended}"


def scored_before(preset: Preset, runs: Sequence[Run]) -> list[Run]:
    """Other scored runs in the same folder that belong to the same results: they were trained with the current settings
    and recipes of their variants, in the same environment, on the data of the other seeds of their variants."""
    first = runs[0]
    environment = training_of(first)["environment"]
    data = {run.variant: _data_of(run) for run in runs}
    others = []
    for variant in preset.variants:
        for path in sorted((first.root / variant.name).glob(f"seed-*/{OUTCOME}")):
            seed = path.parent.name.removeprefix("seed-")
            run = replace(first, variant=variant.name, seed=int(seed)) if seed.isdigit() else None
            if run is None or run in runs or not run.is_trained:
                continue
            as_these = (
                trained_as_declared(preset, variant.name, run.directory)
                and training_of(run)["environment"] == environment
            )
            if as_these and data.setdefault(variant.name, _data_of(run)) == _data_of(run):
                others.append(run)
    return others


def _data_of(run: Run) -> tuple[str, dict[str, str]]:
    """The digest of the prepared data of a trained run, and the SHA-256 of all that it read."""
    record = training_of(run)
    return record["pipeline"], record["corpora"]


def trained_as_declared(preset: Preset, name: str, directory: Path, remedy: str = REPLACE) -> bool:
    """Whether the run in a folder was trained with the current task, settings and recipe of a variant, and with
    as many networks as it needs (a pretrained one, teachers).

    Raises:
        UsageError: if its configuration is missing or damaged; the message ends with ``remedy``.
    """
    variant = preset.variant(name)
    declared = {
        "task": preset.task(name).name,
        "settings": variant.settings.as_json(),
        "recipe": variant.recipe.as_json(),
    }
    config = read_json(directory / CONFIG, remedy)
    if not isinstance(config, dict):
        return False
    known = {name: config.get(name) for name in declared}
    needed = {name for name in config.get("corpora", {}) if name.startswith((PRETRAINED, TEACHER))}
    return bool(known == json.loads(json.dumps(declared)) and needed == variant.networks.keys())


def combine_all(preset: Preset, runs: Sequence[Run]) -> list[Outcome]:
    """The outcomes of the ensembles of a preset that have at least two members among these runs."""
    trained = {(run.variant, int(run.seed)): run for run in runs}
    outcomes = []
    for ensemble in preset.ensembles:
        if seeds := ensemble.among(trained):
            outcomes.append(combine(ensemble, [trained[ensemble.members, seed] for seed in seeds]))
    return outcomes


def default_jobs(profile: str) -> int:
    """The number of runs in parallel: the number of cores if each run uses one core, otherwise 1."""
    return len(os.sched_getaffinity(0)) if profile == "portable" else 1
