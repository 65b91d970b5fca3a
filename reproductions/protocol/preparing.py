"""The data of a run, and the network that it is initialised from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError
from reproductions.protocol import papers
from reproductions.protocol.loading import load_directory, preset_of
from reproductions.protocol.models import trained_directory
from reproductions.protocol.runs import Run, not_trained
from reproductions.protocol.task import PreparedData, Task, TrainedModel


def prerequisite(run: Run) -> Run | None:
    """The run whose network a run is initialised from, if its variant names one as ``paper/variant``. It has seed 1,
    reads the corpus of its paper, and otherwise has the options of the run itself.

    Raises:
        UsageError: if the name is not that of a paper and a variant.
    """
    name = preset_of(run).variant(run.variant).pretrained
    if name is None:
        return None
    paper, _, variant = name.partition("/")
    if variant and paper == run.paper_name:
        paper = run.paper  # may be a path
    elif paper not in papers.names() or not variant:
        raise UsageError(f"pretrained network {name!r} is unknown; write it as PAPER/VARIANT")
    return replace(run, paper=paper, variant=variant, seed=1, own=None)


def pretrained_network(run: Run) -> TrainedModel[Any, Any] | None:
    """The network that a run is initialised from: trained here, or one that comes with the project; None if the run
    starts from random parameters.

    Raises:
        UsageError: if that network is not trained.
    """
    needed = prerequisite(run)
    return None if needed is None else load_directory(needed.paper, _directory(needed))


def networks_to_train_first(runs: Sequence[Run]) -> list[Run]:
    """The runs whose networks must be trained before these: those that these start from, directly or through other
    networks, and that are neither among them nor trained nor included. Each comes after those that it starts from.

    Raises:
        UsageError: if a network would be initialised from itself.
    """
    needed = dict.fromkeys(network for run in runs for network in reversed(_untrained_before(run)))
    return [network for network in needed if network not in runs]


def by_stage(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs in groups that are trained one after the other, since each starts from networks of the groups before it. The
    last has all runs that none of the others starts from."""
    needed = set(map(prerequisite, runs))
    before = [run for run in runs if run in needed]
    return [*(by_stage(before) if before else []), [run for run in runs if run not in needed]]


def _untrained_before(run: Run) -> list[Run]:
    """The network that a run is initialised from, the one that this starts from in turn, and so on, up to one that is
    trained or comes with the project."""
    untrained = list[Run]()
    needed = prerequisite(run)
    while needed is not None and trained_directory(needed) is None:
        if needed in (run, *untrained):
            raise UsageError(f"{needed.variant}: would be initialised from itself; name another network")
        untrained.append(needed)
        needed = prerequisite(needed)
    return untrained


def task_of(run: Run) -> Task[Any, Any]:
    """The task of a run. If the run is on the user's own data and starts from a pretrained network, the task is told
    where that network is, since it may have to read text as the network does.

    Raises:
        UsageError: if that network is not trained.
    """
    task, needed = preset_of(run).task(run.variant), prerequisite(run)
    return task.after(_directory(needed)) if run.own and needed else task


def prepare(run: Run) -> PreparedData:
    """Read and preprocess the data of a run.

    Raises:
        UsageError: if they are the user's own, and the network that the run is initialised from is not trained.
        InputError: if they are missing or damaged.
    """
    preset = preset_of(run)
    data: PreparedData = task_of(run).prepare(preset.variant(run.variant).settings, sample=preset.on_sample)
    return data


def with_corpus(trained: TrainedModel[Any, Any], run: Run) -> TrainedModel[Any, Any]:
    """Return a trained network with all its data, which scoring the test split needs.

    Raises:
        UsageError: if the local corpus gives data that differ from those the network was trained on.
        InputError: if the corpus is missing or damaged.
    """
    data = prepare(run)
    if data.digest != trained.data.digest:
        raise UsageError(f"{run.directory}: trained on other data than the {data.corpus} corpus here; run it again")
    return replace(trained, data=data)


def _directory(needed: Run) -> Path:
    directory = trained_directory(needed)
    if directory is None:
        raise not_trained(needed)
    return directory
