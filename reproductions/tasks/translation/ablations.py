"""Ablations: variants that each change one setting of a network, as in the rows of a paper's table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gluon_attn.training.recipe import Recipe
from reproductions.protocol.reported import Reported
from reproductions.protocol.task import Variant


@dataclass(frozen=True)
class Ablation:
    """One row of the table.

    Attributes:
        part: part of the table; rows of one part share a figure of training curves.
        title: title of the row.
        setting: name of the setting; empty for the row of the unchanged network.
        value, paper: its value here and in the paper.
        bleu: what the paper reports.
        one_seed: whether it is trained with seed 1 only.
        recipe: its recipe; that of the base if None.
    """

    part: str
    title: str
    setting: str = ""
    value: Any = None
    paper: Any = None
    bleu: Reported | None = None
    one_seed: bool = False
    recipe: Recipe | None = None

    def changed(self, value: Any) -> dict[str, Any]:
        """The setting with a value, by name."""
        return {self.setting: value} if self.setting else {}

    def variant(self, name: str, base: Variant[Any], differs: str) -> Variant[Any]:
        """The variant of this row. ``base`` has the settings and the recipe of the unchanged network and the task, and
        what its title adds; ``differs`` is formatted with the reported number."""
        return replace(
            base,
            name=name,
            title=f"{self.title}, {base.title}",
            settings=replace(base.settings, **self.changed(self.value)),
            recipe=self.recipe or base.recipe,
            task=replace(base.task, part=self.part),  # type: ignore[type-var]
            seeds=(1,) if self.one_seed else None,
            beside=self.bleu,
            differs=differs.format(self.bleu) if self.bleu else "",
        )
