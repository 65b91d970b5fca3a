"""Runs: one training each, and what it leaves."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.files import read_arrays
from reproductions.protocol.experiment import Preset, Variant
from reproductions.protocol.papers import PAPERS, preset, script


@dataclass(frozen=True)
class Unit:
    """One training: a variant with a seed, in a profile, and where its files go.

    ``on_sample``: the preset's corpus was not to be had when the run began, and the embedded sample stands in for it.
    """

    paper: str
    preset: str
    variant: str
    seed: int
    profile: str
    threads: int | None
    runs: Path
    on_sample: bool = False

    @property
    def place(self) -> Path:
        """The folder of all that is trained with the same preset, profile and corpus."""
        return self.runs / self.paper / f"{self.preset}-{self.profile}{'-sample' if self.on_sample else ''}"

    @property
    def directory(self) -> Path:
        """The run directory of this training alone."""
        return self.place / self.variant / f"seed-{self.seed}"

    @property
    def label(self) -> str:
        """Its name in a manifest."""
        return f"{self.variant}/{self.seed}"

    @property
    def is_trained(self) -> bool:
        """Whether it has come to its end."""
        return (self.directory / "outcome.json").exists()

    def publish(self, directory: Path) -> None:
        """Copy what a finished training leaves to the same place below a directory: all but its parameters and the
        weights of single tokens, which are large. Copied back below ``place`` it counts as trained, and is enough for
        rows and claims."""
        to = directory / self.directory.relative_to(self.place)
        to.mkdir(parents=True, exist_ok=True)
        arrays = Outcome.read(self).predictions
        kept = {name: array for name, array in arrays.items() if not name.endswith("_weights")}
        np.savez_compressed(to / "predictions.npz", **kept)
        for name in ("config.json", "outcome.json"):
            shutil.copyfile(self.directory / name, to / name)

    def arguments(self) -> list[str]:
        """How to train this unit on the command line."""
        flags = ["--preset", self.preset, "--variant", self.variant, "--seed", str(self.seed)]
        flags += ["--profile", self.profile, "--runs", str(self.runs), *(["--on-sample"] if self.on_sample else [])]
        return [self.paper, *flags, *(["--threads", str(self.threads)] if self.threads else [])]


@dataclass(frozen=True)
class Outcome:
    """What a finished unit leaves: ``outcome.json`` and ``predictions.npz`` in its directory."""

    unit: Unit
    facts: dict[str, Any]

    @property
    def predictions(self) -> dict[str, np.ndarray]:
        """Arrays that the script's ``evaluate`` returned, over the items of the test split in the corpus's order."""
        path = self.unit.directory / "predictions.npz"
        return read_arrays(path, remedy="train it again (--overwrite)")

    @classmethod
    def read(cls, unit: Unit) -> Outcome:
        """Read a finished unit.

        Raises:
            UsageError: the unit has not been trained to its end, or the file is damaged.
        """
        if not unit.is_trained:
            raise UsageError(
                f"{unit.directory}: {unit.variant} with seed {unit.seed} is not trained to its end; train it with "
                f"gluon-attn run {unit.paper} --preset {unit.preset} --variant {unit.variant} --seed {unit.seed}"
            )
        path = unit.directory / "outcome.json"
        try:
            return cls(unit, json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise UsageError(f"{path}: damaged ({error}); delete it and run again with --resume") from None


def load(unit: Unit) -> tuple[Any, Variant, Any]:
    """A trained network with the parameters of its best epoch, its variant, and the data that its script prepares.

    Raises:
        UsageError: it is not trained, or was trained on another corpus or preprocessing, or with other settings, than
            what is here now.
    """
    # Here, since it imports MXNet, which must come after the profile is set.
    from gluon_attn.training.checkpoint import Checkpoint, set_parameters

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


def trained_or_on_sample(unit: Unit) -> Unit:
    """The unit, or what was trained on the embedded sample in its place where only that is there."""
    on_sample = replace(unit, on_sample=True)
    return on_sample if on_sample.is_trained and not unit.is_trained else unit


def preset_of(unit: Unit) -> Preset:
    """The preset that a unit is trained with."""
    found = preset(unit.paper, unit.preset)
    return replace(found, corpus="sample") if unit.on_sample else found


def vectors_of(unit: Unit) -> Unit | None:
    """The training whose word vectors a unit begins with, if its variant's settings name one as ``vectors``, such as
    ``mikolov2013/skip-gram``: that with seed 1, otherwise as the unit itself is trained.

    Raises:
        UsageError: the name is not that of a script and a variant.
    """
    name = preset_of(unit).variant(unit.variant).settings.get("vectors")
    if name is None:
        return None
    paper, _, variant = name.partition("/")
    if paper not in PAPERS or not variant:
        raise UsageError(f"vectors {name!r} are unknown; name script and variant, as in mikolov2013/skip-gram")
    return replace(unit, paper=paper, variant=variant, seed=1)
