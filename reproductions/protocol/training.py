"""Train one run in this process, and score the test split with its network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mxnet.gluon import HybridBlock

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint, parameter_arrays, parameter_count, parameters_sha256
from gluon_attn.training.devices import device_of
from gluon_attn.training.distributed.workers import ALONE, Workers
from gluon_attn.training.loop import fit
from gluon_attn.training.run_directory import ReadOnlyRunDirectory, RunDirectory
from preprocessing.files import locked, write_json
from reproductions.protocol.loading import load, preset_of
from reproductions.protocol.manifest import commit, environment_digest, joined_commits
from reproductions.protocol.preparing import needed_networks, prepare, task_of, with_corpus
from reproductions.protocol.reproduction import Ensemble
from reproductions.protocol.runs import (
    CHECKPOINT,
    CHOSEN,
    OUTCOME,
    PREPROCESSING,
    PROCESSES,
    TRAINING,
    Outcome,
    Run,
    read_json,
    training_of,
    write_outcome,
)
from reproductions.protocol.task import PRETRAINED, PreparedData, Task, TrainedModel, Variant


def train(
    run: Run,
    *,
    resume: bool,
    overwrite: bool,
    then_score: bool = False,
    workers: Workers = ALONE,
    micro_batches: int = 1,
    device: str = "cpu",
) -> None:
    """Train one run in this process, and score it if ``then_score`` is set. The runtime profile must be configured
    before. If the run is resumed, finished parts are not repeated.

    With several workers, each of them calls this in its own process; only the first one writes and scores.

    Raises:
        UsageError: as for :class:`RunDirectory` and :func:`fit`, and if the device is not available.
    """
    with device_of(device, workers.rank):
        if workers.rank:
            _train(run, resume=True, overwrite=False, workers=workers, micro_batches=micro_batches, device=device)
            return
        with _locked(run.directory):
            given = {"resume": resume, "overwrite": overwrite}
            trained = _train(run, **given, workers=workers, micro_batches=micro_batches, device=device)
            if then_score and not run.is_scored:
                _score(run, trained or with_corpus(load(run), run))


def score(run: Run) -> Outcome:
    """Score the test split with the network of a trained run, unless it is scored already.

    Raises:
        UsageError: if the run is not trained.
    """
    with _locked(run.directory):
        if not run.is_scored:
            _score(run, with_corpus(load(run), run))
    return Outcome.of(run)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """The lock of a run directory. A process that has to wait prints for which one; what that one finishes is not
    repeated.

    Raises:
        UsageError: if the folder cannot be written.
    """

    def waiting(owner: str) -> None:
        print(f"{directory}: waiting for {owner}, which is training or scoring it", file=sys.stderr, flush=True)

    with ExitStack() as stack:
        try:
            stack.enter_context(locked(directory.with_name(f".{directory.name}.lock"), waiting))
        except OSError as error:
            reason = f"cannot be written ({error.strerror or error})"
            raise UsageError(
                f"{directory}: {reason}; make the folder writable, or choose another with --runs"
            ) from None
        yield


def _train(
    run: Run, *, resume: bool, overwrite: bool, workers: Workers, micro_batches: int, device: str
) -> TrainedModel[Any, Any] | None:
    """Train a run. Returns None if it was trained already, and in all workers except the first."""
    trained_at = commit()  # read before training: the tree may change while it lasts
    variant, task = preset_of(run).variant(run.variant), task_of(run)
    label = f"{run.variant}, seed {run.seed}"
    if not run.is_trained and not workers.rank:
        print(f"{label}: preparing the data", flush=True)
    with workers.first():  # the first worker leaves its prepared data in the cache
        data = prepare(run)
    networks = needed_networks(run)
    config = _config(run, variant, task, data, networks)
    directory: RunDirectory = ReadOnlyRunDirectory(run.directory)
    with workers.first():
        if not workers.rank:
            finished = (TRAINING, OUTCOME)
            directory = RunDirectory(run.directory, config, resume=resume, overwrite=overwrite, markers=finished)
    if run.is_trained:
        return None
    here, division = environment_digest(data.packages), _division(workers, micro_batches, device)
    origin = {} if workers.rank else _continued(run.directory, trained_at, here, division)

    pretrained, teachers = networks.pop(PRETRAINED, None), list(networks.values())
    model = _initialized(int(run.seed), variant, task, data, pretrained)
    objective = (task.taught_by(teachers) if teachers else task).objective(variant.settings, variant.recipe, data)
    log = partial(print, flush=True) if not workers.rank else None
    with_whom: dict[str, Any] = {"workers": workers, "micro_batches": micro_batches}
    recipe = variant.recipe.for_small_corpus(objective.steps) if run.own else variant.recipe
    fitted = fit(model, objective, recipe, directory, seed=int(run.seed), label=label, log=log, **with_whom)
    if workers.rank:
        return None
    trained = TrainedModel(model, variant, task, data, parameters_sha256(parameter_arrays(model)))
    chosen = task.choose(trained)
    record = {
        "history": fitted.history,
        "best_epoch": fitted.best_epoch,
        "selected_by": objective.select,
        "train_seconds": round(fitted.seconds, 1),
        "parameters": parameter_count(model),
        "parameters_sha256": trained.parameters_sha256,
        "corpus": data.corpus,
        "corpora": config["corpora"],
        "pipeline": data.digest,
        **origin,
        **({CHOSEN: chosen} if chosen else {}),
        **({"warmup_steps": recipe.warmup_steps} if recipe != variant.recipe else {}),
        **({"data": run.own.file_names} if run.own else {}),
        **({"profile": run.profile, "threads": threads_of(run)} if run.profile != "portable" else {}),
    }
    task.save(variant.settings, data, run.directory / PREPROCESSING)
    write_json(run.directory / TRAINING, record)
    return trained.with_chosen(chosen)


def _division(workers: Workers, micro_batches: int, device: str) -> dict[str, Any]:
    """How the work of a training is divided, and its device, as records have them; empty for the defaults."""
    return {
        **workers.record,
        **({"micro_batches": micro_batches} if micro_batches > 1 else {}),
        **({"device": device} if device != "cpu" else {}),
    }


def _continued(directory: Path, commit: str, environment: str, division: dict[str, Any]) -> dict[str, Any]:
    """Record what this process trains with: the commit, the environment and the division of the work. Return the
    entries of the training's record for all its processes so far.

    Raises:
        UsageError: if it began in another environment, or if the record of that is damaged.
    """
    path = directory / PROCESSES
    before: Any = {"commit": commit, "environment": environment, "divisions": [division]}
    if path.exists() and (directory / CHECKPOINT).exists():
        before = read_json(path, "replace the run (--overwrite)")
        if not isinstance(before, dict) or not {"commit", "environment", "divisions"} <= before.keys():
            raise UsageError(f"{path}: damaged; replace the run (--overwrite)")
    if before["environment"] != environment:
        raise UsageError(
            f"{directory}: its training began in another environment; continue it there, or replace it (--overwrite)"
        )
    origin = {"commit": joined_commits([before["commit"], commit]), "environment": environment}
    divisions = before["divisions"] + ([division] if division not in before["divisions"] else [])
    write_json(path, {**origin, "divisions": divisions})
    return {**origin, **({"divisions": divisions} if len(divisions) > 1 else division)}


def _config(
    run: Run,
    variant: Variant[Any],
    task: Task[Any, Any],
    data: PreparedData,
    networks: Mapping[str, TrainedModel[Any, Any]],
) -> dict[str, Any]:
    """What a run is trained with, as ``config.json`` holds it."""
    return {
        "paper": run.paper_name,
        "preset": run.preset,
        "variant": run.variant,
        "seed": run.seed,
        "profile": run.profile,
        "threads": threads_of(run),
        "task": task.name,
        "settings": variant.settings.as_json(),
        "recipe": variant.recipe.as_json(),
        "corpora": dict(data.corpora) | {role: network.parameters_sha256 for role, network in networks.items()},
        "pipeline": data.digest,
        **({"data": run.own.as_json()} if run.own else {}),
    }


def _initialized(
    seed: int,
    variant: Variant[Any],
    task: Task[Any, Any],
    data: PreparedData,
    pretrained: TrainedModel[Any, Any] | None,
) -> HybridBlock:
    """The network of a variant with its initial parameters."""
    runtime.seed_all(runtime.derive(seed, "initial parameters"))
    model = variant.settings.build(data)
    variant.settings.initialize(model, data)
    if pretrained:
        task.initialize(model, data, pretrained)
    model.hybridize(static_alloc=True, static_shape=True)
    return model


def _score(run: Run, trained: TrainedModel[Any, Any]) -> None:
    """Score the test split and write the outcome."""
    print(f"{run.variant}, seed {run.seed}: scoring the test split", flush=True)
    last = Checkpoint(run.directory / CHECKPOINT)
    evaluation = trained.task.evaluate(trained.model, trained.variant.settings, trained.data, last)
    training, here = training_of(run), environment_digest(trained.data.packages)
    elsewhere = {} if training["environment"] == here else {"scored_environment": here}
    record = {**training, **elsewhere, "metrics": evaluation.metrics}
    write_outcome(run.directory, record, evaluation.predictions, evaluation.examples, evaluation.texts)


def combine(ensemble: Ensemble, members: Sequence[Run]) -> Outcome:
    """Measure the networks of several seeds, in the order of the seeds, as an ensemble, and write its outcome, unless
    it exists already and is of the same trainings with the same settings.

    Raises:
        UsageError: if a member is not trained or not scored.
    """
    members = sorted(members, key=lambda member: int(member.seed))
    outcomes = [Outcome.of(member) for member in members]
    run = replace(members[0], variant=ensemble.name, seed="+".join(str(member.seed) for member in members))
    of = {
        "pipeline": outcomes[0].record["pipeline"],
        "settings": json.loads(json.dumps(preset_of(run).variant(ensemble.members).settings.as_json())),
        "commit": joined_commits(outcome.record["commit"] for outcome in outcomes),
        "parameters_sha256": "+".join(outcome.record["parameters_sha256"] for outcome in outcomes),
    }
    with _locked(run.directory):
        # A member may have been trained again since; settings of the search leave its parameters as they were.
        if not run.is_scored or any(Outcome.of(run).record.get(name) != value for name, value in of.items()):
            _combine(ensemble, members, outcomes, run, of)
    return Outcome.of(run)


def _combine(
    ensemble: Ensemble, members: Sequence[Run], outcomes: Sequence[Outcome], run: Run, of: Mapping[str, Any]
) -> None:
    """Measure an ensemble and write its outcome."""
    task = preset_of(run).task(ensemble.members)
    evaluation = task.combine(outcomes, lambda: [with_corpus(load(member), member) for member in members])
    first: dict[str, Any] = outcomes[0].record
    record = {
        **{name: first[name] for name in ("corpus", "corpora", "environment")},
        **({"data": first["data"]} if "data" in first else {}),
        "metrics": evaluation.metrics,
        "history": [],
        "train_seconds": round(sum(outcome.record["train_seconds"] for outcome in outcomes), 1),
        "parameters": sum(outcome.record["parameters"] for outcome in outcomes),
        **of,
    }
    write_outcome(run.directory, record, evaluation.predictions, evaluation.examples, evaluation.texts)


def threads_of(run: Run) -> int:
    """The number of threads that a run uses."""
    return int(runtime.environment(run.profile, run.threads)["OMP_NUM_THREADS"])
