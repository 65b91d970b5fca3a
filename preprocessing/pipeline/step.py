"""Steps: named, versioned, pure transformations of the data that flows through a pipeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from preprocessing.corpora import CorpusFiles
from preprocessing.errors import InputError

SPLITS = ("train", "validation", "test")


def ordered(splits: Iterable[str]) -> list[str]:
    """Names of splits in the order train, validation, test, others."""
    return sorted(splits, key=lambda name: SPLITS.index(name) if name in SPLITS else len(SPLITS))


class Dataset(Protocol):
    """What a pipeline and its card need from the data that flows through it, whatever its kind."""

    def counts(self) -> dict[str, dict[str, int | None]]:
        """What the card counts before and after each step: ``rows`` by split, and further units of this kind of data
        (``tokens``), None if there are none yet."""

    def finished(self) -> Self:
        """The splits in the order train, validation, test, others, without the columns that only the steps need."""

    def without_rows(self) -> Self:
        """What the steps learned, without any split."""

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The canonical form, which is hashed and cached."""


DataT = TypeVar("DataT", bound=Dataset)


@dataclass(frozen=True)
class Context:
    """What a step may need besides the data; only the corpus files change the result. ``cache``: whether pipelines that
    a step runs may use the cache."""

    files: CorpusFiles | None = None
    processes: int | None = None
    cache: bool = True

    def corpus(self, step: str) -> CorpusFiles:
        """The corpus files, for the step that reads them; raises InputError when none are given."""
        if self.files is None:
            raise InputError(f"step {step}", "no corpus files are given", remedy="pass them to Pipeline.run")
        return self.files


@dataclass(frozen=True)
class Dropped:
    """Rows of one split that a step left out, and why; ``examples`` are the ids of the first few."""

    split: str
    reason: str
    rows: int
    examples: list[str]


@dataclass(frozen=True)
class Notes:
    """What a step reports for the card: computed facts by topic, dropped rows, examples of (before, after), and
    warnings about oddities in the data, one line each."""

    facts: dict[str, Any] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    examples: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Step(ABC, Generic[DataT]):
    """One pure transformation of the data of a pipeline. Subclasses are frozen dataclasses: their fields are the
    step's parameters.

    ``version`` is raised whenever the same input and parameters would give a different output. ``for_new_rows`` tells
    whether the step also applies to rows that are encoded after training. ``keeps`` names the tokens of a long row that
    remain after the step: ``all``, the ``first`` or the ``last``.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    for_new_rows: ClassVar[bool] = False
    keeps: ClassVar[str] = "all"

    @property
    @abstractmethod
    def rule(self) -> str:
        """What the step does, in words exact enough to implement it again."""

    def parameters(self) -> dict[str, Any]:
        """The parameters, JSON-able; here the fields of the dataclass."""
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def apply(self, data: DataT, context: Context) -> tuple[DataT, Notes]:
        """New data and notes; the given data is not modified."""

    def describe(self) -> dict[str, Any]:
        """Name, version, rule and parameters: what identifies the step in the card and in the cache."""
        return {"name": self.name, "version": self.version, "rule": self.rule, "parameters": self.parameters()}
