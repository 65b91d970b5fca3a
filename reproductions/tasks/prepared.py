"""Base class of the prepared data of tasks that read a corpus through a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from preprocessing.pipeline.pipeline import RunResult

ResultT = TypeVar("ResultT", bound=RunResult[Any, Any])


def hashes(prepared: RunResult[Any, Any]) -> dict[str, str]:
    """SHA-256 of each corpus file; of the crawl of film reviews, that of its contents, since archives of one crawl
    differ in their bytes."""
    facts = prepared.card["facts"]
    crawl = facts.get("pretraining", facts).get("crawl")
    return dict(prepared.corpora) | ({"raw": crawl["sha256"]} if crawl and "raw" in prepared.corpora else {})


@dataclass(frozen=True)
class PreparedCorpus(Generic[ResultT]):
    """A prepared corpus.

    Attributes:
        corpus, corpora: name of the corpus, and the SHA-256 of each file.
        prepared: result of the pipeline.
        packages: packages that affect the results, in addition to those that always do.
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
        """Number of rows of each split."""
        return {name: rows or 0 for name, rows in self.prepared.data.counts()["rows"].items()}

    @property
    def warnings(self) -> list[str]:
        """Warnings about the corpus, one line each."""
        return self.prepared.warnings
