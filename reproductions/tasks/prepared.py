"""What the prepared data of every task that reads a corpus through a pipeline have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from preprocessing.pipeline.pipeline import RunResult

ResultT = TypeVar("ResultT", bound=RunResult[Any, Any])


@dataclass(frozen=True)
class PreparedCorpus(Generic[ResultT]):
    """A prepared corpus.

    Attributes:
        corpus, corpora: its name, and the SHA-256 of each file.
        prepared: the result of its pipeline.
        packages: those that influence the numbers, besides the ones that always do.
    """

    corpus: str
    corpora: Mapping[str, str]
    prepared: ResultT
    packages: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def digest(self) -> str:
        """SHA-256 of the prepared data."""
        return self.prepared.digest

    @property
    def rows(self) -> dict[str, int]:
        """Rows of each split."""
        return {name: rows or 0 for name, rows in self.prepared.data.counts()["rows"].items()}

    @property
    def warnings(self) -> list[str]:
        """What is odd in the corpus, each in one line."""
        return self.prepared.warnings
