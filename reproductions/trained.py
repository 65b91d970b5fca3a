"""A finished training, read back: the network, its variant and its data."""

from __future__ import annotations

import json
from typing import Any

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint, set_parameters
from reproductions.experiment import Variant, script
from reproductions.runner import Outcome, Unit, preset_of


def load(unit: Unit) -> tuple[Any, Variant, Any]:
    """A trained network with the parameters of its best epoch, its variant, and the data that its script prepares.

    Raises:
        UsageError: it is not trained, or was trained on another corpus or preprocessing, or with other settings, than
            what is here now.
    """
    module, preset = script(unit.paper), preset_of(unit)
    variant = preset.variant(unit.variant)
    trained = Outcome.read(unit)
    data = module.prepare(preset, variant)
    if trained.facts["pipeline"] != data.digest:
        raise UsageError(
            f"{unit.directory}: trained on other data than the {data.corpus} corpus gives now; run it again"
        )
    config = json.loads((unit.directory / "config.json").read_text(encoding="utf-8"))
    if config["settings"] != json.loads(json.dumps(dict(variant.settings))):
        raise UsageError(f"{unit.directory}: trained with other settings than {unit.variant} has now; run it again")
    model = module.build(variant, data)
    model.initialize()
    set_parameters(model, Checkpoint(unit.directory / "checkpoint.npz").group("best"))
    model.hybridize(static_alloc=True, static_shape=True)
    return model, variant, data
