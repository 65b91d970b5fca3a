"""Pipelines: an ordered list of named, versioned, pure steps. Running one yields the data and its card.

The same input and the same pipeline give the same bytes: no step depends on a clock, a random state, the order of a
set, or the number of processes. So results can be cached under (corpus hashes, steps, versions, parameters).
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from preprocessing import corpora
from preprocessing.arrays import digest
from preprocessing.corpora import CorpusFiles
from preprocessing.corpora.reading import FETCH_AGAIN, of_own_file
from preprocessing.errors import InputError, check_positive
from preprocessing.pipeline import cache as result_cache, card as cards, saved
from preprocessing.pipeline.step import Context, DataT, Step
from preprocessing.progress import progress

WARNINGS = "warnings"
"""Name of the warnings among a card's facts."""

PipelineT = TypeVar("PipelineT", bound="Pipeline[Any, Any]")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, eq=False, repr=False)
class RunResult(Generic[PipelineT, DataT]):
    """The result of running a pipeline. ``digest`` is the SHA-256 of the canonical bytes of the data."""

    pipeline: PipelineT
    data: DataT
    card: dict[str, Any]
    digest: str

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} {count}" for name, count in self.data.counts()["rows"].items())
        corpus, name = self.card["corpus"]["name"], self.card["pipeline"]
        return f"<{type(self).__name__} of {corpus} by {name}: {rows}; digest {self.digest[:12]}>"

    @property
    def corpora(self) -> dict[str, str]:
        """SHA-256 of each part of the corpus, as the manifest of a reproduction states them."""
        return {part: file["sha256"] for part, file in self.card["corpus"]["files"].items()}

    @property
    def warnings(self) -> list[str]:
        """Warnings about oddities in the data, one line each."""
        warnings: list[str] = self.card["facts"].get(WARNINGS, [])
        return warnings

    def save(self, path: Path | str) -> None:
        """Write what the steps learned, without rows. From this file, :meth:`Pipeline.load` restores a result that can
        encode new rows without the corpus.

        Raises:
            InputError: the file cannot be written.
        """
        corpus = self.card["corpus"]
        files = {part: {"sha256": file["sha256"]} for part, file in corpus["files"].items()}
        description = {
            "pipeline": self.pipeline.name,
            "steps": self.pipeline.describe(),
            "corpus": {"name": corpus["name"], "files": files},
            "digest": self.digest,
        }
        saved.write(Path(path), self.data.without_rows().to_arrays(), description)


@dataclass(frozen=True)
class Pipeline(ABC, Generic[DataT, ResultT]):
    """A name and an ordered list of steps; the first step reads the corpus files. A subclass defines which kind of data
    flows through it and what a run returns."""

    name: str
    steps: tuple[Step[DataT], ...]

    @abstractmethod
    def empty(self) -> DataT:
        """The empty data that the first step receives."""

    @abstractmethod
    def restored(self, arrays: Mapping[str, np.ndarray]) -> DataT:
        """The data restored from its canonical form."""

    @abstractmethod
    def splits_of_card(self, data: DataT) -> dict[str, Any]:
        """The entry ``splits`` of the card: one record for each split of the finished data."""

    @abstractmethod
    def result(self, data: DataT, card: dict[str, Any], digest: str) -> ResultT:
        """What :meth:`run` returns."""

    def files(self, corpus: str | CorpusFiles) -> CorpusFiles:
        """The files that this pipeline reads: those of a registered corpus, by its name, or the given files."""
        return corpora.find(corpus) if isinstance(corpus, str) else corpus

    def describe(self) -> list[dict[str, Any]]:
        """All steps with their versions, rules and parameters."""
        return [step.describe() for step in self.steps]

    def key(self, files: CorpusFiles) -> str:
        """SHA-256 of everything the result depends on: corpus bytes, steps, versions, parameters."""
        identity = [self.name, files.name, files.sha256, self.describe(), cards.FORMAT, result_cache.FORMAT]
        if files.origin == "given":  # warnings name these files
            identity.append({part: path.name for part, path in files.paths.items()})
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

    def run(self, corpus: str | CorpusFiles, *, processes: int | None = None, cache: bool = True) -> ResultT:
        """Run all steps, or read the result of an earlier identical run from the cache.

        ``corpus``: name of a registered corpus, or the files of one. ``processes``: maximum number of worker processes
        (default: all processors); it never changes the result. Raises InputError for bad corpus files, and for files
        that are changed meanwhile; a damaged cache entry is reported and rebuilt.
        """
        check_positive(processes=processes)
        files = self.files(corpus)
        entry = result_cache.path_of(self.name, self.key(files)) if cache else None
        if entry is None:
            data, card, _ = self._run(files, processes, cache=False)
            return self.result(data, card, card["digest"])
        with result_cache.locked(entry):
            if (stored := result_cache.load(entry)) is None:
                data, card, arrays = self._run(files, processes)
                result_cache.store(entry, arrays, card)
                return self.result(data, card, card["digest"])
        arrays, card = stored
        # The licence and the names of equal files may differ from those of the run that is stored.
        return self.result(self.restored(arrays), card | {"corpus": cards.corpus_of(files)}, card["digest"])

    def load(self, path: Path | str) -> ResultT:
        """The result that :meth:`RunResult.save` wrote: no rows, but the learned state, and the digest of the data that
        it was learned from.

        Raises:
            InputError: the file is missing or damaged, or was written by other steps or versions of them.
        """
        path = Path(path)
        arrays, description = saved.read(path)
        steps = json.loads(json.dumps(self.describe()))
        if (description["pipeline"], description["steps"]) != (self.name, steps):
            pairs = zip(description["steps"], steps, strict=False)
            changed = next((own["name"] for stored, own in pairs if stored != own), "its length")
            reason = f"made by other preprocessing than that of pipeline {self.name} here (step {changed})"
            raise InputError(path, reason, remedy="install the versions of requirements.lock, or train again")
        card = {"pipeline": self.name, "corpus": description["corpus"], "facts": {}, "digest": description["digest"]}
        return self.result(self.restored(arrays), card, description["digest"])

    def _run(
        self, files: CorpusFiles, processes: int | None, *, cache: bool = True
    ) -> tuple[DataT, dict[str, Any], dict[str, np.ndarray]]:
        """Run all steps; return the data, its card and its canonical arrays."""
        data, records, warnings = self.empty(), [], list[str]()
        facts: dict[str, Any] = {}
        try:
            for step in (bar := progress(self.steps, self.name, "step")):
                bar.set_postfix_str(step.name)
                before = data
                data, notes = step.apply(before, Context(files, processes, cache))
                records.append(cards.step_record(step.describe(), before, data, notes))
                facts.update(notes.facts)
                warnings += notes.warnings
        except InputError as error:
            if files.origin == "given" and error.remedy.endswith(FETCH_AGAIN):
                raise of_own_file(error) from error
            raise
        files.check_unchanged()
        facts |= {WARNINGS: warnings} if warnings else {}
        data = data.finished()
        arrays = data.to_arrays()
        card = cards.build(self.name, files, records, facts, self.splits_of_card(data), digest(arrays))
        return data, card, arrays
