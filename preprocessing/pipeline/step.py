"""Steps: named, versioned, pure transformations of the data that flows through a pipeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from preprocessing.corpora import CorpusFiles


class Dataset(Protocol):
    """What a pipeline and its card need of the data that flows: :class:`Data` of one text, or a bitext of two."""

    def rows(self) -> dict[str, int]:
        """Rows by split."""

    def token_counts(self) -> dict[str, int | None]:
        """Tokens by split, or by split and side; None before tokenisation."""

    def finished(self) -> Self:
        """The splits in the order train, validation, test, others; without what only the steps needed."""

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The canonical form, which is hashed and cached."""


DataT = TypeVar("DataT", bound=Dataset)


@dataclass(frozen=True)
class Context:
    """What a step may need besides the data; nothing in it changes the result except the corpus files."""

    files: CorpusFiles | None = None
    processes: int | None = None


@dataclass(frozen=True)
class Dropped:
    """Rows of one split that a step left out, and why; ``examples`` are the ids of the first few."""

    split: str
    reason: str
    rows: int
    examples: list[str]


@dataclass(frozen=True)
class Notes:
    """What a step has to say about its run: computed facts by topic, drops, examples of (before, after)."""

    facts: dict[str, Any] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    examples: list[tuple[str, str]] = field(default_factory=list)


class Step(ABC, Generic[DataT]):
    """One pure transformation of a :class:`Data`, or of another kind of data. Subclasses are frozen dataclasses: their
    fields are the step's parameters.

    ``version`` is raised whenever the same input and parameters would give another output. ``for_new_text`` tells
    whether the step also applies to texts that come after training.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    for_new_text: ClassVar[bool] = False

    @property
    @abstractmethod
    def rule(self) -> str:
        """What the step does, in words exact enough to write it again."""

    def parameters(self) -> dict[str, Any]:
        """The parameters, JSON-able; here the fields of the dataclass."""
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def apply(self, data: DataT, context: Context) -> tuple[DataT, Notes]:
        """New data and notes; the given data stays as it is."""

    def describe(self) -> dict[str, Any]:
        """Name, version, rule and parameters: what identifies the step in the card and in the cache."""
        return {"name": self.name, "version": self.version, "rule": self.rule, "parameters": self.parameters()}
