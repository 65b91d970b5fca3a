"""Trained networks, loaded from their run directories."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint, parameters_sha256, set_parameters
from reproductions.protocol import papers
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.runs import CHECKPOINT, PREPROCESSING, Run, read_json, training_in, training_of
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
    """The network of a run, as :func:`load_directory` has it."""
    training_of(run)  # which says how to train it
    return load_directory(run.directory, preset_of(run), run.variant)


def load_directory(directory: Path, preset: Preset, variant_name: str) -> TrainedModel[Any, Any]:
    """A trained network with the parameters of its best epoch, its variant, and data without rows: what it learned of
    the text that it reads. No corpus is needed.

    Raises:
        UsageError: it is not trained, it was trained with other settings than the variant has now, or its parameters
            are not those that it states.
        InputError: its preprocessing is missing, damaged, or another one than here.
    """
    variant, task = preset.variant(variant_name), preset.task(variant_name)
    parameters = best_parameters(directory)
    config = read_json(directory / "config.json")
    if not isinstance(config, dict) or config.get("settings") != json.loads(json.dumps(variant.settings.as_json())):
        raise UsageError(f"{directory}: trained with other settings than {variant_name} has now; run it again")
    data = task.restore(variant.settings, directory / PREPROCESSING, sample=preset.on_sample)
    model = variant.settings.build(data)
    model.initialize()
    set_parameters(model, parameters)
    model.hybridize(static_alloc=True, static_shape=True)
    return TrainedModel(model, variant, data, training_in(directory)["parameters_sha256"])


def with_corpus(trained: TrainedModel[Any, Any], run: Run) -> TrainedModel[Any, Any]:
    """A trained network with all its data, for the test split.

    Raises:
        UsageError: the corpus here gives other data than those it was trained on.
        InputError: the corpus is missing or damaged.
    """
    preset = preset_of(run)
    data = preset.task(run.variant).prepare(trained.variant.settings, sample=preset.on_sample)
    if data.digest != trained.data.digest:
        raise UsageError(f"{run.directory}: trained on other data than the {data.corpus} corpus here; run it again")
    return replace(trained, data=data)


def best_parameters(directory: Path) -> dict[str, np.ndarray]:
    """The parameters of a trained run's best epoch, by name.

    Raises:
        UsageError: it is not trained, or its parameters are not those that it states.
    """
    stated = training_in(directory)["parameters_sha256"]
    path = directory / CHECKPOINT
    parameters = Checkpoint(path).group("best")
    if parameters_sha256(parameters) != stated:
        raise UsageError(f"{path}: not the parameters that training.json states; replace the run (--overwrite)")
    return parameters
