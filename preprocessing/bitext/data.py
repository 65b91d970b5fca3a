"""Parallel text: the data of a translation pipeline, and how steps for one text are applied to its two sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.tokenizers.tokenizer import Tokenizer
from preprocessing.text.vocabulary import SEQUENCE_SPECIALS

SIDES = ("source", "target")


@dataclass(frozen=True, eq=False)
class Pair:
    """One split of parallel text: row ``i`` of ``target`` is the translation of row ``i`` of ``source``."""

    source: Split
    target: Split

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise ValueError(f"{len(self.source)} source rows but {len(self.target)} target rows")

    def __len__(self) -> int:
        return len(self.source)

    @property
    def row_id(self) -> np.ndarray:
        """Part and line of each pair, ``<part>:<line>``, (rows,) str; the same on both sides."""
        return self.source.row_id

    @property
    def sides(self) -> tuple[Split, Split]:
        return self.source, self.target

    def take(self, rows: np.ndarray) -> Pair:
        """The selected pairs; ``rows`` are indices or a boolean mask of shape (rows,)."""
        return Pair(self.source.take(rows), self.target.take(rows))


@dataclass(frozen=True, eq=False)
class Bitext:
    """All splits of both sides, and what the steps learned. Steps never change a Bitext: they return a new one."""

    source: Data = field(default_factory=Data)
    target: Data = field(default_factory=Data)

    @property
    def splits(self) -> dict[str, Pair]:
        """The two sides of each split, by its name."""
        return {name: Pair(split, self.target.splits[name]) for name, split in self.source.splits.items()}

    def with_splits(self, splits: Mapping[str, Pair]) -> Bitext:
        """The same state with other splits."""
        return Bitext(
            self.source.with_splits({name: pair.source for name, pair in splits.items()}),
            self.target.with_splits({name: pair.target for name, pair in splits.items()}),
        )

    def rows(self) -> dict[str, int]:
        """Pairs by split."""
        return self.source.rows()

    def token_counts(self) -> dict[str, int | None]:
        """Tokens by split and side (``train source``, ``train target`` ...), None before tokenisation."""
        counts = {side: getattr(self, side).token_counts() for side in SIDES}
        return {f"{name} {side}": counts[side][name] for name in self.source.splits for side in SIDES}

    def counts(self) -> dict[str, dict[str, int | None]]:
        """Pairs by split, and tokens by split and side."""
        return {"rows": dict(self.rows()), "tokens": self.token_counts()}

    def finished(self) -> Bitext:
        """The splits in the order train, validation, test, others; without the columns that only the steps need."""
        return Bitext(self.source.finished(), self.target.finished())

    def without_rows(self) -> Bitext:
        """The same state without splits."""
        return Bitext(self.source.without_rows(), self.target.without_rows())

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays, with names that begin with ``source.`` or ``target.``."""
        return {f"{side}.{name}": array for side in SIDES for name, array in getattr(self, side).to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], source: Tokenizer, target: Tokenizer) -> Bitext:
        """The inverse of :meth:`to_arrays`; ``source`` and ``target`` are the unfitted tokenizers."""
        sides = []
        for side, tokenizer in zip(SIDES, (source, target), strict=True):
            own = {name.removeprefix(f"{side}."): arrays[name] for name in arrays if name.startswith(f"{side}.")}
            sides.append(Data.from_arrays(own, tokenizer, SEQUENCE_SPECIALS))
        return cls(*sides)


@dataclass(frozen=True)
class BothSides(Step[Bitext]):
    """A step for one text, applied to each side with its own parameters; a side without a step is not changed.

    Steps of one side neither drop nor reorder rows. The card states their facts by side.
    """

    name: ClassVar[str] = "both-sides"
    source: Step[Data] | None
    target: Step[Data] | None

    @property
    def steps(self) -> dict[str, Step[Data]]:
        """The steps by side, without the sides that have none."""
        return {side: step for side, step in zip(SIDES, (self.source, self.target), strict=True) if step is not None}

    @property
    def rule(self) -> str:
        rules = {side: step.rule for side, step in self.steps.items()}
        if len(rules) == 2 and rules["source"] == rules["target"]:
            return rules["source"]
        return " ".join(f"{side.capitalize()}: {rules.get(side, 'not changed.')}" for side in SIDES)

    def parameters(self) -> dict[str, Any]:
        return {side: parameters for side, step in self.steps.items() if (parameters := step.parameters())}

    def describe(self) -> dict[str, Any]:
        first = next(iter(self.steps.values()))
        return {"name": first.name, "version": first.version, "rule": self.rule, "parameters": self.parameters()}

    def apply(self, data: Bitext, context: Context) -> tuple[Bitext, Notes]:
        result, examples = data, list[tuple[str, str]]()
        facts: dict[str, dict[str, Any]] = {}
        for side, step in self.steps.items():
            changed, notes = step.apply(getattr(data, side), context)
            result = replace(result, **{side: changed})
            examples += notes.examples
            for topic, fact in notes.facts.items():
                facts.setdefault(topic, {})[side] = fact
        return result, Notes(facts=facts, examples=examples)
