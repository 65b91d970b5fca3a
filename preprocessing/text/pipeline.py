"""Pipelines for rows with one text, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from preprocessing import corpora
from preprocessing.corpora import CorpusFiles
from preprocessing.errors import checked_list
from preprocessing.pipeline.pipeline import Pipeline, RunResult
from preprocessing.pipeline.step import Context, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.steps import label_balance
from preprocessing.text.tokenizers.tokenizer import Tokenizer
from preprocessing.text.vocabulary import SPECIALS, Vocabulary


@dataclass(frozen=True, eq=False, repr=False)
class Result(RunResult["TextPipeline", Data]):
    """Data, card and digest of one run on rows with one text."""

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
        """The tokenizer, fitted on the training split if it is a learned one."""
        if self.data.tokenizer is None:
            raise ValueError(f"pipeline {self.pipeline.name} does not tokenise")
        return self.data.tokenizer

    @property
    def keeps(self) -> str:
        """Which tokens of a long text are read: the ``first`` or the ``last``, or ``all``."""
        return next((step.keeps for step in self.pipeline.steps if step.keeps != Step.keeps), Step.keeps)

    def encode(self, texts: Iterable[str], *, processes: int | None = None, whole: bool = False) -> Split:
        """Encode new texts by the same steps and the same learned state, one row per text; the row of a blank text has
        no tokens. ``whole``: without the limit of length, if there is one.

        Raises ParameterError for a single text instead of a list."""
        new = Split.of(checked_list(texts))
        data = Data({"new": new}, self.data.tokenizer, self.data.vocabulary, learned=self.data.learned)
        for step in self.pipeline.steps:
            if step.for_new_rows and not (whole and step.keeps != Step.keeps):
                data, _ = step.apply(data, Context(processes=processes))
        return data.splits["new"]


@dataclass(frozen=True)
class TextPipeline(Pipeline[Data, Result]):
    """A pipeline for rows with one text.

    ``tokenizer``: the unfitted tokenizer. ``specials``: the special tokens of the vocabulary. ``sample``: the part of
    the embedded sample that the pipeline reads.
    """

    tokenizer: Tokenizer | None = None
    specials: tuple[str, ...] = SPECIALS
    sample: str = "sample"

    def files(self, corpus: str | CorpusFiles) -> CorpusFiles:
        """Like :meth:`Pipeline.files`; for the embedded sample, always the part for this pipeline."""
        files = super().files(corpus)
        return corpora.find(self.sample) if files.origin == "embedded" else files

    def empty(self) -> Data:
        return Data()

    def restored(self, arrays: Mapping[str, np.ndarray]) -> Data:
        return Data.from_arrays(arrays, self.tokenizer, self.specials)

    def splits_of_card(self, data: Data) -> dict[str, Any]:
        rows, tokens = data.rows(), data.token_counts()
        return {
            name: {
                "rows": rows[name],
                "tokens": tokens[name],
                **({} if split.sentences is None else {"sentences": len(split.sentences.ids)}),
                **label_balance(split.label),
            }
            for name, split in data.splits.items()
        }

    def result(self, data: Data, card: dict[str, Any], digest: str) -> Result:
        return Result(self, data, card, digest)
