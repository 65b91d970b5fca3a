"""The data of a run, and the networks that its training needs."""

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
from reproductions.protocol.task import PRETRAINED, PreparedData, Task, TrainedModel


def prerequisites(run: Run) -> dict[str, Run]:
    """The runs whose networks the training of a run needs, by their names in its record
    (:attr:`~reproductions.protocol.task.Variant.networks`). They read the corpora of their papers, and otherwise have
    the options of the run itself.

    Raises:
        UsageError: if a name is not that of a paper and a variant.
    """
    return {role: _run_of(name, run) for role, name in preset_of(run).variant(run.variant).networks.items()}


def _run_of(name: str, run: Run) -> Run:
    """The run ``paper/variant/seed``, as another run needs it; without a seed, that of seed 1."""
    paper, _, rest = name.partition("/")
    variant, _, seed = rest.partition("/")
    if variant and paper == run.paper_name:
        paper = run.paper  # may be a path
    elif paper not in papers.names() or not variant:
        raise UsageError(f"network {name!r} is unknown; write it as PAPER/VARIANT or PAPER/VARIANT/SEED")
    if seed and not seed.isdigit():
        raise UsageError(f"network {name!r} has no seed {seed!r}; write it as PAPER/VARIANT/SEED")
    return replace(run, paper=paper, variant=variant, seed=int(seed or 1), own=None)


def needed_networks(run: Run) -> dict[str, TrainedModel[Any, Any]]:
    """The networks that the training of a run needs, by their names in its record: trained here, or networks that come
    with the project.

    Raises:
        UsageError: if one is not trained.
    """
    return {role: load_directory(needed.paper, _directory(needed)) for role, needed in prerequisites(run).items()}


def networks_to_train_first(runs: Sequence[Run]) -> list[Run]:
    """The runs whose networks must be trained before these: those that these need, directly or through other networks,
    and that are neither among them nor trained nor included. Each comes after those that it needs.

    Raises:
        UsageError: if a network would need itself.
    """
    needed = dict.fromkeys(network for run in runs for network in _untrained_before(run))
    return [network for network in needed if network not in runs]


def by_stage(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs in groups that are trained one after the other, since each needs networks of the groups before it. The last
    has all runs that none of the others needs."""
    needed = {network for run in runs for network in prerequisites(run).values()}
    before = [run for run in runs if run in needed]
    return [*(by_stage(before) if before else []), [run for run in runs if run not in needed]]


def _untrained_before(run: Run, following: tuple[Run, ...] = ()) -> list[Run]:
    """The networks that a run needs and that are neither trained nor come with the project, each after those that it
    needs in turn. The runs in ``following`` need this one."""
    untrained = list[Run]()
    for needed in prerequisites(run).values():
        if trained_directory(needed) is None:
            if needed in (run, *following):
                raise UsageError(f"{needed.variant}: its training needs its own network; name another one")
            untrained += [*_untrained_before(needed, (run, *following)), needed]
    return untrained


def task_of(run: Run) -> Task[Any, Any]:
    """The task of a run. If the run is on the user's own data and starts from a pretrained network, the task is told
    where that network is, since it may have to read text as the network does.

    Raises:
        UsageError: if that network is not trained.
    """
    task, needed = preset_of(run).task(run.variant), prerequisites(run).get(PRETRAINED)
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
