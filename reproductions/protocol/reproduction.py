"""A paper, declared as one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError
from reproductions.protocol.claims import Claim
from reproductions.protocol.own_data import OwnData
from reproductions.protocol.reported import Reported
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Column, Task, Variant

Groups = Mapping[str, Sequence[Outcome]]
"""Outcomes by variant, one per seed."""

Draw = Callable[[Groups, Path], Mapping[str, Path]]
"""A function that draws figures, or writes pages, into a directory from the available outcomes; it returns files by
title."""


@dataclass(frozen=True)
class Override:
    """A preset other than ``cpu``, as a change of every variant.

    Attributes:
        change: function that returns a variant as this preset trains it, or None if the preset leaves it out.
        seeds: seeds of its variants; a variant with seeds of its own keeps those that are among them, if any are.
    """

    change: Callable[[Variant[Any]], Variant[Any] | None]
    seeds: tuple[int, ...] = (1,)

    def variant(self, declared: Variant[Any]) -> Variant[Any] | None:
        """The variant as this preset trains it, or None."""
        changed = self.change(declared)
        if changed is None or changed.seeds is None:
            return changed
        return replace(changed, seeds=tuple(seed for seed in changed.seeds if seed in self.seeds) or None)


@dataclass(frozen=True)
class Ensemble:
    """The networks of several seeds of a variant, combined into one system.

    Attributes:
        name, title: name and title of the ensemble.
        members: name of the variant whose networks are combined.
        seeds: their seeds; empty for all.
        beside, comparable, differs: as for a :class:`Variant`.
    """

    name: str
    title: str
    members: str
    seeds: tuple[int, ...] = field(default=(), kw_only=True)
    beside: Reported | None = None
    comparable: bool = False
    differs: str = ""

    def among(self, trained: Iterable[tuple[str, int]]) -> list[int]:
        """The seeds of its members among these trainings, each a variant and a seed; none if only one is."""
        seeds = sorted(seed for variant, seed in trained if variant == self.members)
        seeds = [seed for seed in seeds if not self.seeds or seed in self.seeds]
        return seeds if len(seeds) > 1 else []


@dataclass(frozen=True)
class Preset:
    """One scale of the experiment: ``cpu`` (the tables), ``smoke`` (seconds, on the embedded sample) or ``paper``.

    Attributes:
        name: name of the preset.
        variants: the variants as this preset trains them, each with its task.
        seeds: seeds of every variant that does not declare its own.
        headline: names of the variants that ``gluon-attn reproduce`` trains.
        ensembles: ensembles of its variants.
        on_sample: whether the embedded sample is read.
        own: the user's own data, which are read instead of the corpora.
        default: names of the variants that are trained if none are named; all if empty.
    """

    name: str
    variants: tuple[Variant[Any], ...]
    seeds: tuple[int, ...]
    headline: tuple[str, ...]
    ensembles: tuple[Ensemble, ...] = ()
    on_sample: bool = False
    own: OwnData | None = None
    default: tuple[str, ...] = ()

    def variant(self, name: str) -> Variant[Any]:
        """The variant of that name; for an ensemble, the variant of its members under the name of the ensemble.

        Raises:
            UsageError: if there is no such variant.
        """
        for variant in self.variants:
            if variant.name == name:
                return variant
        for ensemble in self.ensembles:
            if ensemble.name == name:
                return replace(
                    self.variant(ensemble.members),
                    name=name,
                    title=ensemble.title,
                    beside=ensemble.beside,
                    comparable=ensemble.comparable,
                    differs=ensemble.differs,
                )
        names = ", ".join(variant.name for variant in self.variants)
        what = f"is unknown in preset {self.name}"
        if self.own:
            what = f"cannot be trained on {self.own.files.name}, or {what}"
        raise UsageError(f"variant {name!r} {what}; choose from {names}")

    def refuse_ensembles(self, names: Sequence[str]) -> None:
        """Check that no name is that of an ensemble, which is not trained itself and is not one network.

        Raises:
            UsageError: if one is.
        """
        for ensemble in self.ensembles:
            if ensemble.name in names:
                remedy = f"name {ensemble.members}, whose seeds are combined when they are scored together"
                raise UsageError(f"{ensemble.name} is an ensemble of {ensemble.members}; {remedy}")

    def seeds_of(self, variant: str) -> tuple[int, ...]:
        """The seeds of a variant: its own, or those of the preset.

        Raises:
            UsageError: if there is no such variant.
        """
        return self.variant(variant).seeds or self.seeds

    def task(self, variant: str) -> Task[Any, Any]:
        """The task of a variant.

        Raises:
            UsageError: if there is no such variant.
        """
        task = self.variant(variant).task
        assert task is not None
        return task

    def on(self, own: OwnData) -> Preset:
        """This preset on the user's own data: the variants whose task can read these data, without reported numbers.
        The variants that read the same corpus as the first variant of the headline, and start from the same network,
        are trained by default.

        A task may keep the pretrained networks of its variants; its variants without one are then left out. Elsewhere,
        such networks belong to other corpora and are not used: if the first variant of the headline has one that it
        does not keep, all are trained without theirs; otherwise the variants that have one are left out.

        Raises:
            UsageError: if no variant can read the data.
        """
        first = self.variant(self.headline[0])
        all_without = first.pretrained is not None and not self.task(first.name).keeps_pretrained
        readers = []
        for variant in self.variants:
            task, has_one = self.task(variant.name), variant.pretrained is not None
            if task.can_read(own) and (has_one if task.keeps_pretrained else all_without or not has_one):
                pretrained = variant.pretrained if task.keeps_pretrained else None
                reader = replace(variant, task=task.on(own), pretrained=pretrained)
                readers.append(replace(reader, beside=None, comparable=False, differs=""))
        if not readers:
            raise UsageError(f"no variant of preset {self.name} reads {own.files.name}; choose another paper")
        names = [variant.name for variant in readers]
        start = {variant.name: variant.pretrained for variant in readers}
        reads = self.task(first.name).reads
        alike = [name for name in names if self.task(name).reads == reads and start[name] == start.get(first.name)]
        default = tuple(alike or names)
        return replace(
            self,
            variants=tuple(readers),
            headline=tuple(name for name in self.headline if name in default) or default,
            ensembles=tuple(
                replace(ensemble, beside=None, comparable=False, differs="")
                for ensemble in self.ensembles
                if ensemble.members in names
            ),
            on_sample=False,
            own=own,
            default=default,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its variants and then of its ensembles, in the order of tables."""
        return (*(variant.name for variant in self.variants), *(ensemble.name for ensemble in self.ensembles))

    @property
    def corpora(self) -> tuple[str, ...]:
        """The corpora that its variants read, without repetitions."""
        return tuple(dict.fromkeys(corpus for variant in self.variants for corpus in self.task(variant.name).corpora))


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A paper: the numbers that it reports, the systems that are compared here, and its claims.

    Attributes:
        title, source: title of the reproduction, and reference of the paper.
        task: task of every variant that does not declare its own.
        reported: numbers reported by the paper and by others.
        variants: variants with the settings of preset ``cpu``.
        claims: claims in the order in which they are printed.
        headline: names of the variants that ``gluon-attn reproduce`` trains; the first is the default of commands that
            read text.
        main: name of the variant in the README's table, once it is trained; the first variant if empty.
        seeds: seeds of preset ``cpu``.
        smoke, paper: the two other presets.
        ensembles: ensembles of the variants of presets ``cpu`` and ``smoke``.
        columns: columns of the results table; those of the tasks if None.
        baselines: other papers' systems on the same corpus that are also in the table: ``paper`` for the one with the
            best validation result, ``paper/variant`` for a named one, which claims may name too.
        figures: figures in addition to the training curves and the figures of the tasks.
        pages: pages in addition to those of the tasks.
        notes: paragraphs below the table of the results README that explain its numbers.
        bits_of_one_processor: whether trainings have the published bits only on the model of processor that they were
            published from.
    """

    title: str
    source: str
    task: Task[Any, Any]
    reported: tuple[Reported, ...]
    variants: tuple[Variant[Any], ...]
    claims: tuple[Claim, ...]
    headline: tuple[str, ...]
    seeds: tuple[int, ...]
    smoke: Override
    paper: Override
    main: str = ""
    ensembles: tuple[Ensemble, ...] = ()
    columns: tuple[Column, ...] | None = None
    baselines: tuple[str, ...] = ()
    figures: Sequence[Draw] = ()
    pages: Sequence[Draw] = ()
    notes: tuple[str, ...] = ()
    bits_of_one_processor: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "main", self.main or self.variants[0].name)
        names = [variant.name for variant in self.variants] + [ensemble.name for ensemble in self.ensembles]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{self.title}: variant {repeated[0]!r} is declared twice")
        wanted = [(f"claim {claim.id}", name) for claim in self.claims for name in claim.variants]
        wanted += [("the headline", name) for name in (*self.headline, self.main)]
        wanted += [(f"ensemble {ensemble.name}", ensemble.members) for ensemble in self.ensembles]
        for where, name in wanted:
            if name not in names and ("/" not in name or name not in self.baselines):
                raise ValueError(f"{self.title}: {where} names variant {name!r}, which is not declared")
        if unknown := [each for each in self.variants if each.against and each.against not in names]:
            name, against = unknown[0].name, unknown[0].against
            raise ValueError(f"{self.title}: variant {name!r} is against {against!r}, which is not a variant here")
        ids = [claim.id for claim in self.claims]
        if repeated := [id for id in ids if ids.count(id) > 1]:
            raise ValueError(f"{self.title}: claim {repeated[0]!r} is declared twice")

    @property
    def presets(self) -> dict[str, Preset]:
        """All presets by name."""
        return {name: self.preset(name) for name in ("smoke", "cpu", "paper")}

    def preset(self, name: str) -> Preset:
        """The preset of that name.

        Raises:
            UsageError: if there is no such preset.
        """
        with_task = [replace(variant, task=variant.task or self.task) for variant in self.variants]
        if name == "cpu":
            return Preset(name, tuple(with_task), self.seeds, self.headline, self.ensembles)
        overrides = {"smoke": self.smoke, "paper": self.paper}
        if name not in overrides:
            raise UsageError(f"preset {name!r} is unknown; choose smoke, cpu or paper")
        override = overrides[name]
        changed = tuple(variant for variant in map(override.variant, with_task) if variant is not None)
        names = [variant.name for variant in changed]
        headline = tuple(name for name in self.headline if name in names) or tuple(names)
        ensembles = tuple(ensemble for ensemble in self.ensembles if name == "smoke" and ensemble.members in names)
        return Preset(name, changed, override.seeds, headline, ensembles, on_sample=name == "smoke")

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes of its tasks, followed by its own."""
        return (*dict.fromkeys(note for task in self._tasks for note in task.notes), *self.notes)

    @property
    def table_columns(self) -> tuple[Column, ...]:
        """The columns of the results table."""
        if self.columns is not None:
            return self.columns
        return tuple(dict.fromkeys(column for task in self._tasks for column in task.columns))

    @property
    def _tasks(self) -> list[Task[Any, Any]]:
        return [variant.task or self.task for variant in self.variants]
