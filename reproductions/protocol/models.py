"""Find trained networks, and export them without the state that only training needs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import chain
from pathlib import Path

from gluon_attn.errors import UsageError
from gluon_attn.training import checkpoint
from preprocessing.files import atomic_directory
from reproductions.protocol import papers
from reproductions.protocol.loading import best_parameters, config_in
from reproductions.protocol.runs import (
    CHECKPOINT,
    CONFIG,
    PREPROCESSING,
    TRAINING,
    Run,
    not_trained,
)


def find(run: Run, variant: str | None) -> Path:
    """Find the directory of a trained network: the one of a run, else a network that comes with the paper, else the
    same run on the embedded sample.

    Args:
        run: the run to find.
        variant: variant of the network; None for the first trained one that answers the same command as that of the
            run: a variant of the headline, else a network that comes with the paper, else any other.

    Raises:
        UsageError: if there is none (the message says how to train it), if the variant is unknown, or if it is an
            ensemble, which is not one network.
    """
    preset = papers.load(run.paper).preset(run.preset)
    if variant:
        preset.variant(variant)  # refuses an unknown one
        preset.refuse_ensembles([variant])
    command = preset.task(run.variant).command
    headline = tuple(name for name in preset.headline if preset.task(name).command == command)
    wanted = (variant,) if variant else headline or (run.variant,)
    every = () if variant else [each.name for each in preset.variants]
    answering = [name for name in every if preset.task(name).command == command]
    runs = [replace(run, variant=name) for name in wanted]
    others = [replace(run, variant=name) for name in answering if name not in wanted]
    # Those that come with the paper are of preset cpu, and another preset may not know their variants.
    included = included_models(run.paper) if (run.preset, run.seed) == ("cpu", 1) else {}
    on_sample = [replace(each, on_sample=True) for each in (*runs, *others)]
    candidates = chain(
        (each.directory for each in runs if each.is_trained),
        (included[name] for name in wanted if name in included),
        (path for name, path in included.items() if name in answering),
        (each.directory for each in (*others, *on_sample) if each.is_trained),
    )
    if (directory := next(candidates, None)) is not None:
        return directory
    raise UsageError(f"{not_trained(runs[0])}; or name the folder of a trained network (--model)")


def trained_directory(run: Run) -> Path | None:
    """The directory of the network of a run: its own if it is trained, else that of the network that comes with the
    paper for this variant and seed; None if there is neither."""
    if run.is_trained:
        return run.directory
    if (run.preset, run.seed) != ("cpu", 1) or run.on_sample or run.own:
        return None
    return included_models(run.paper).get(run.variant)


def included_models(paper: str) -> dict[str, Path]:
    """The directories of the networks that come with a paper, by variant; all have preset ``cpu`` and seed 1."""
    folder = papers.models_folder(paper)
    return {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{TRAINING}"))}


def paper_of(directory: Path) -> str:
    """The paper of a trained network.

    Raises:
        UsageError: if the directory holds no network or a damaged one, or one of a script of the user.
    """
    paper = str(config_in(directory)["paper"])
    if paper not in papers.names():
        raise UsageError(
            f"{directory}: a network of {paper}, a script of your own; give the path of that script as PAPER"
        )
    return paper


def export(directory: Path, target: Path) -> None:
    """Copy a trained network to a new folder: its configuration, its preprocessing and the parameters of its best epoch
    with their SHA-256, but not the state of the training.

    Raises:
        UsageError: if the folder exists, or if the run is damaged or not trained.
    """
    if target.exists():
        raise UsageError(f"{target}: exists already; name a new folder")
    parameters = best_parameters(directory)
    with atomic_directory(target) as part:
        for name in (CONFIG, TRAINING, PREPROCESSING):
            shutil.copyfile(directory / name, part / name)
        checkpoint.save(part / CHECKPOINT, {"best": parameters}, {}, compressed=True)
