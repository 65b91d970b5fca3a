"""Pipelines: an ordered list of named, versioned, pure steps. Running one yields the data and its card.

Same input and same pipeline give the same bytes: no step reads a clock, a random state, an unordered set, or the number
of processes. That is what allows results to be cached under (corpus hashes, steps, versions, parameters).
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from preprocessing import cache as result_cache, card as cards, corpora
from preprocessing.corpora import CorpusFiles
from preprocessing.data import Data, Dataset, Split, digest
from preprocessing.tokenizers import Tokenizer
from preprocessing.vocabulary import SPECIALS, Vocabulary

DataT = TypeVar("DataT", bound=Dataset)
ResultT = TypeVar("ResultT")


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


@dataclass(frozen=True, eq=False)
class Result:
    """Data, card and digest of one run. ``digest`` is the SHA-256 of the canonical bytes of the data."""

    pipeline: Pipeline
    data: Data
    card: dict[str, Any]
    digest: str

    @property
    def splits(self) -> dict[str, Split]:
        """The splits by name, in the order train, validation, test."""
        return dict(self.data.splits)

    @property
    def train(self) -> Split:
        return self.data.splits["train"]

    @property
    def validation(self) -> Split:
        return self.data.splits["validation"]

    @property
    def test(self) -> Split:
        return self.data.splits["test"]

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary learned on the training split."""
        if self.data.vocabulary is None:
            raise ValueError(f"pipeline {self.pipeline.name} learns no vocabulary")
        return self.data.vocabulary

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, fitted on the training split where it learns anything."""
        if self.data.tokenizer is None:
            raise ValueError(f"pipeline {self.pipeline.name} does not tokenise")
        return self.data.tokenizer

    def encode(self, texts: Sequence[str], *, processes: int | None = None) -> Split:
        """New texts through the same steps and the same learned state: one row per text, blank text gives a row without
        tokens. Use ``.words(row)``, ``.ids``, ``.offsets``, ``.lengths``, ``.padded()`` of what is returned."""
        data = Data({"new": Split.of(list(texts))}, self.data.tokenizer, self.data.vocabulary)
        for step in self.pipeline.steps:
            if step.for_new_text:
                data, _ = step.apply(data, Context(processes=processes))
        return data.splits["new"]


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


@dataclass(frozen=True)
class Pipeline(AnyPipeline[Data, Result]):
    """A pipeline of rows with one text.

    ``tokenizer`` is the unfitted one. ``specials``: those of its vocabulary. ``sample``: the part of the embedded
    sample that it reads, whichever it is given.
    """

    tokenizer: Tokenizer | None = None
    specials: tuple[str, ...] = SPECIALS
    sample: str = "sample"

    def run(self, files: CorpusFiles, *, processes: int | None = None, cache: bool = True) -> Result:
        """As :meth:`AnyPipeline.run`; of the embedded sample its own part is read, whichever is given."""
        if files.origin == "embedded":
            files = corpora.find(self.sample)
        return super().run(files, processes=processes, cache=cache)

    def nothing(self) -> Data:
        return Data()

    def restored(self, arrays: Mapping[str, np.ndarray]) -> Data:
        return Data.from_arrays(arrays, self.tokenizer, self.specials)

    def splits_of_card(self, data: Data) -> dict[str, Any]:
        return cards.splits(data)

    def result(self, data: Data, card: dict[str, Any], digest: str) -> Result:
        return Result(self, data, card, digest)
