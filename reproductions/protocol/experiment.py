"""The words of a reproduction: paper, reported, variant, preset, claim, row, result, manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gluon_attn.errors import UsageError
from gluon_attn.training.recipe import Recipe


@dataclass(frozen=True)
class Reported:
    """A number that somebody else reports.

    ``checked`` is ``text`` (against the published text), ``secondary`` (against a summary or README) or ``memory``; a
    number from memory is printed with a dagger.
    """

    system: str
    value: float
    corpus: str
    metric: str
    source: str
    checked: str = "text"
    details: str = ""


@dataclass(frozen=True)
class Variant:
    """One system of the experiment: what is built, and how it is trained in each preset.

    ``settings`` are all the hyper-parameters that are not the recipe's, by name; ``reported`` is the peer that stands
    beside it, ``comparable`` says whether the two numbers may be compared, and ``differs`` why not, or in what.
    ``seeds`` are its own where they are fewer than the preset's.
    """

    name: str
    title: str
    settings: Mapping[str, Any]
    recipe: Recipe
    reported: Reported | None = None
    comparable: bool = False
    differs: str = ""
    seeds: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Preset:
    """One scale of the experiment. ``headline`` are the variants that ``make reproduce`` trains, ``seeds`` those of
    every variant that names no others."""

    name: str
    corpus: str
    seeds: tuple[int, ...]
    variants: tuple[Variant, ...]
    headline: tuple[str, ...]

    def variant(self, name: str) -> Variant:
        """The variant of that name.

        Raises:
            UsageError: there is none.
        """
        for variant in self.variants:
            if variant.name == name:
                return variant
        names = ", ".join(variant.name for variant in self.variants)
        raise UsageError(f"variant {name!r} is unknown in preset {self.name}; choose from {names}")


@dataclass(frozen=True)
class Column:
    """One column of numbers in a script's table: the test row of that metric whose signature holds these words.

    A variant is compared by the first of its script's columns that it has a number in: that one is shown with its
    interval and beside the reported.
    """

    title: str
    metric: str
    signature: str = ""
