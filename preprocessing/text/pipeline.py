"""Pipelines of rows with one text, and what running one gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preprocessing import corpora
from preprocessing.corpora import CorpusFiles
from preprocessing.pipeline import card as cards
from preprocessing.pipeline.pipeline import AnyPipeline
from preprocessing.pipeline.step import Context
from preprocessing.text.data import Data, Split
from preprocessing.text.tokenizers import Tokenizer
from preprocessing.text.vocabulary import SPECIALS, Vocabulary


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
