"""Pipelines: an ordered list of named, versioned, pure steps. Running one yields the data and its card.

Same input and same pipeline give the same bytes: no step reads a clock, a random state, an unordered set, or the number
of processes. That is what allows results to be cached under (corpus hashes, steps, versions, parameters).
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from preprocessing.corpora import CorpusFiles
from preprocessing.pipeline import cache as result_cache, card as cards
from preprocessing.pipeline.cache import digest
from preprocessing.pipeline.step import Context, DataT, Step

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class AnyPipeline(ABC, Generic[DataT, ResultT]):
    """A name and an ordered list of steps; the first reads the corpus files. What flows through is up to the subclass:
    :class:`Pipeline` has rows of one text, a translation pipeline rows of two."""

    name: str
    steps: tuple[Step[DataT], ...]

    @abstractmethod
    def nothing(self) -> DataT:
        """The data that the first step gets."""

    @abstractmethod
    def restored(self, arrays: Mapping[str, np.ndarray]) -> DataT:
        """The data back from its canonical form."""

    @abstractmethod
    def splits_of_card(self, data: DataT) -> dict[str, Any]:
        """What the card says of each split of the finished data."""

    @abstractmethod
    def result(self, data: DataT, card: dict[str, Any], digest: str) -> ResultT:
        """What :meth:`run` returns."""

    def describe(self) -> list[dict[str, Any]]:
        """All steps with their versions, rules and parameters."""
        return [step.describe() for step in self.steps]

    def key(self, files: CorpusFiles) -> str:
        """SHA-256 of everything the result depends on: corpus bytes, steps, versions, parameters."""
        identity = [self.name, files.name, files.sha256, self.describe(), cards.FORMAT, result_cache.FORMAT]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

    def run(self, files: CorpusFiles, *, processes: int | None = None, cache: bool = True) -> ResultT:
        """Run all steps, or read the result of an earlier identical run from the cache.

        ``processes``: at most so many for tokenisation (default: all processors); it never changes the result.
        Raises InputError for bad corpus files; a damaged cache entry is reported and built again.
        """
        entry = result_cache.path_of(self.name, self.key(files))
        if not cache:
            data, card, _ = self._run(files, processes)
            return self.result(data, card, card["digest"])
        with result_cache.alone(entry):
            if (found := result_cache.load(entry)) is None:
                data, card, arrays = self._run(files, processes)
                result_cache.store(entry, arrays, card)
                return self.result(data, card, card["digest"])
        arrays, card = found
        return self.result(self.restored(arrays), card, card["digest"])

    def _run(self, files: CorpusFiles, processes: int | None) -> tuple[DataT, dict[str, Any], dict[str, np.ndarray]]:
        """Run all steps: the data, its card and its canonical arrays."""
        data, records, facts = self.nothing(), [], {}
        for step in self.steps:
            before = data
            data, notes = step.apply(before, Context(files, processes))
            records.append(cards.step_record(step.describe(), before, data, notes))
            facts.update(notes.facts)
        data = data.finished()
        arrays = data.to_arrays()
        card = cards.build(self.name, files, records, facts, self.splits_of_card(data), digest(arrays))
        return data, card, arrays
