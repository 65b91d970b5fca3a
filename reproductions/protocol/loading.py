"""Trained networks, loaded from their run directories."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint, parameters_sha256, set_parameters
from reproductions.protocol import papers
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.runs import Outcome, Run, read_json
from reproductions.protocol.task import TrainedModel


def preset_of(run: Run) -> Preset:
    """The preset that a run is trained with."""
    preset = papers.load(run.paper).preset(run.preset)
    return replace(preset, on_sample=preset.on_sample or run.on_sample)


def finished_or_on_sample(run: Run) -> Run:
    """The run, or the same trained on the embedded sample where only that is finished."""
    on_sample = replace(run, on_sample=True)
    return on_sample if on_sample.is_finished and not run.is_finished else run


def load(run: Run) -> TrainedModel[Any, Any]:
    """A trained network with the parameters of its best epoch, its variant, and its data.

    Raises:
        UsageError: it is not trained, it was trained with another corpus, preprocessing or settings than those here, or
            its parameters are not those of its outcome.
    """
    preset = preset_of(run)
    variant, task = preset.variant(run.variant), preset.task(run.variant)
    outcome = Outcome.of(run)
    data = task.prepare(variant.settings, sample=preset.on_sample)
    if outcome.record["pipeline"] != data.digest:
        raise UsageError(f"{run.directory}: trained on other data than the {data.corpus} corpus here; run it again")
    config = read_json(run.directory / "config.json")
    if not isinstance(config, dict) or config.get("settings") != json.loads(json.dumps(variant.settings.as_json())):
        raise UsageError(f"{run.directory}: trained with other settings than {run.variant} has now; run it again")
    path = run.directory / "checkpoint.npz"
    parameters = Checkpoint(path).group("best")
    if parameters_sha256(parameters) != outcome.record["parameters_sha256"]:
        raise UsageError(f"{path}: not the parameters that outcome.json states; replace the run (--overwrite)")
    model = variant.settings.build(data)
    model.initialize()
    set_parameters(model, parameters)
    model.hybridize(static_alloc=True, static_shape=True)
    return TrainedModel(model, variant, data, outcome.record["parameters_sha256"])
