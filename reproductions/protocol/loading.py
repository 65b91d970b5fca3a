"""Trained networks, loaded from their run directories."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint, parameters_sha256, set_parameters
from reproductions.protocol import papers
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.runs import Run, read_json, training_of
from reproductions.protocol.task import TrainedModel


def preset_of(run: Run) -> Preset:
    """The preset that a run is trained with."""
    preset = papers.load(run.paper).preset(run.preset)
    return replace(preset, on_sample=preset.on_sample or run.on_sample)


def trained_or_on_sample(run: Run) -> Run:
    """The run, or the same on the embedded sample where only that is trained."""
    on_sample = replace(run, on_sample=True)
    return on_sample if on_sample.is_trained and not run.is_trained else run


def load(run: Run) -> TrainedModel[Any, Any]:
    """A trained network with the parameters of its best epoch, its variant, and its data.

    Raises:
        UsageError: it is not trained, it was trained with another corpus, preprocessing or settings than those here, or
            its parameters are not those that it states.
    """
    preset = preset_of(run)
    variant, task = preset.variant(run.variant), preset.task(run.variant)
    training = training_of(run)
    data = task.prepare(variant.settings, sample=preset.on_sample)
    if training["pipeline"] != data.digest:
        raise UsageError(f"{run.directory}: trained on other data than the {data.corpus} corpus here; run it again")
    config = read_json(run.directory / "config.json")
    if not isinstance(config, dict) or config.get("settings") != json.loads(json.dumps(variant.settings.as_json())):
        raise UsageError(f"{run.directory}: trained with other settings than {run.variant} has now; run it again")
    parameters = best_parameters(run)
    model = variant.settings.build(data)
    model.initialize()
    set_parameters(model, parameters)
    model.hybridize(static_alloc=True, static_shape=True)
    return TrainedModel(model, variant, data, training["parameters_sha256"])


def best_parameters(run: Run) -> dict[str, np.ndarray]:
    """The parameters of a trained run's best epoch, by name.

    Raises:
        UsageError: it is not trained, or its parameters are not those that it states.
    """
    path = run.directory / "checkpoint.npz"
    parameters = Checkpoint(path).group("best")
    if parameters_sha256(parameters) != training_of(run)["parameters_sha256"]:
        raise UsageError(f"{path}: not the parameters that training.json states; replace the run (--overwrite)")
    return parameters
