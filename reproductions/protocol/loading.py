"""Load trained networks from their run directories."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint, parameters_sha256, set_parameters
from reproductions.protocol import papers
from reproductions.protocol.own_data import OwnData
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.runs import (
    CHECKPOINT,
    CHOSEN,
    CONFIG,
    PREPROCESSING,
    REPLACE,
    SAMPLE,
    TRAINING,
    Run,
    not_trained,
    read_json,
    training_in,
)
from reproductions.protocol.task import Task, TrainedModel, Variant


def preset_of(run: Run) -> Preset:
    """The preset that a run is trained with."""
    preset = papers.load(run.paper).preset(run.preset)
    if run.own:
        return preset.on(run.own)
    return replace(preset, on_sample=preset.on_sample or run.on_sample)


def load(run: Run) -> TrainedModel[Any, Any]:
    """Load the network of a run; see :func:`load_directory`.

    Raises:
        UsageError: if the run is not trained, and as for :func:`load_directory`.
    """
    if not run.is_trained:
        raise not_trained(run)
    return load_directory(run.paper, run.directory)


def load_directory(paper: str, directory: Path) -> TrainedModel[Any, Any]:
    """Load a trained network from its run directory or a copy of it: the parameters of its best epoch, its variant, and
    its data without rows, which contain only what the preprocessing learned. No corpus is needed.

    Raises:
        UsageError: if the directory holds no network of this paper, if the network was trained with settings that
            differ from the current ones of its variant, or if its parameters do not match their recorded hash.
        InputError: if its preprocessing is missing or damaged, or differs from the current one.
    """
    config, training, variant, task = declared(paper, directory)
    if config["settings"] != json.loads(json.dumps(variant.settings.as_json())):
        raise UsageError(f"{directory}: trained with other settings than {variant.name} has now; run it again")
    parameters = best_parameters(directory)
    data = task.restore(variant.settings, directory / PREPROCESSING, sample=training["corpus"] == SAMPLE)
    model = variant.settings.build(data)
    model.initialize()
    set_parameters(model, parameters, source=directory / CHECKPOINT)
    model.hybridize(static_alloc=True, static_shape=True)
    trained = TrainedModel(model, variant, task, data, training["parameters_sha256"])
    try:
        return trained.with_chosen(training.get(CHOSEN, {}))
    except TypeError:
        raise UsageError(f"{directory / TRAINING}: damaged ({CHOSEN!r} is not of its settings); {REPLACE}") from None


def declared(paper: str, directory: Path) -> tuple[dict[str, Any], dict[str, Any], Variant[Any], Task[Any, Any]]:
    """Describe the network of a run directory without loading it: its configuration, the record of its training, its
    variant and its task.

    Raises:
        UsageError: if the directory holds no network of this paper, or if its configuration is damaged.
    """
    config, training = config_in(directory), training_in(directory)
    if config["paper"] != Path(paper).stem:
        raise UsageError(f"{directory}: a network of {config['paper']}, not of {paper}; name that paper")
    preset = papers.load(paper).preset(config["preset"])
    if "data" in config:
        try:
            preset = preset.on(OwnData.from_json(config["data"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise UsageError(f"{directory / CONFIG}: damaged (no description of its data); {REPLACE}") from None
    name = config["variant"]
    if name not in [variant.name for variant in preset.variants]:
        reason = f"a network of variant {name!r}, which preset {preset.name} no longer has"
        raise UsageError(f"{directory}: {reason}; train one of {', '.join(each.name for each in preset.variants)}")
    return config, training, preset.variant(name), preset.task(name)


def config_in(directory: Path) -> dict[str, Any]:
    """Read the configuration of a run from its directory or a copy of it.

    Raises:
        UsageError: if the directory holds no network, or if its configuration is damaged.
    """
    if not any((directory / name).exists() for name in (CONFIG, TRAINING)):
        raise UsageError(f"{directory}: no trained network is here; name a run directory, a copy or an export of one")
    config = read_json(directory / CONFIG, REPLACE)
    if not isinstance(config, dict) or not config.keys() >= {"paper", "preset", "variant", "seed", "settings"}:
        raise UsageError(f"{directory / CONFIG}: damaged (no configuration of a run); {REPLACE}")
    return config


def best_parameters(directory: Path) -> dict[str, np.ndarray]:
    """Read the parameters of the best epoch of a trained run, by name.

    Raises:
        UsageError: if the run is not trained, or if its parameters do not match their recorded hash.
    """
    stated = training_in(directory)["parameters_sha256"]
    path = directory / CHECKPOINT
    parameters = Checkpoint(path).group("best")
    if parameters_sha256(parameters) != stated:
        raise UsageError(f"{path}: not the parameters that training.json states; replace the run (--overwrite)")
    return parameters
