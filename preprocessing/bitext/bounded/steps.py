"""Which pipelines can run in bounded memory, and their steps by kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from preprocessing.bitext.data import Bitext, BothSides
from preprocessing.bitext.reading import ReadPairs
from preprocessing.bitext.split import HoldOutPairs, SplitPairs
from preprocessing.bitext.steps import FitTokenizer
from preprocessing.corpora import CorpusFiles
from preprocessing.pipeline.step import Step
from preprocessing.text.tokenizers.reversible import ReversibleTokenizer
from preprocessing.text.truecasing import Truecase


class Translating(Protocol):
    """What a bounded run needs from a translation pipeline."""

    @property
    def name(self) -> str: ...
    @property
    def steps(self) -> tuple[Step[Bitext], ...]: ...
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def source_tokenizer(self) -> ReversibleTokenizer: ...
    @property
    def target_tokenizer(self) -> ReversibleTokenizer: ...
    def key(self, files: CorpusFiles) -> str: ...
    def restored(self, arrays: Mapping[str, np.ndarray]) -> Bitext: ...


def obstacle(pipeline: Translating, files: CorpusFiles) -> str:
    """Why a pipeline cannot run in bounded memory on these files; an empty string if it can."""
    steps = pipeline.steps
    reading = find(steps, ReadPairs)
    if any(collection.columns for collection in reading.collections):
        return "text in columns"
    if find(steps, SplitPairs, required=False) or (
        find(steps, HoldOutPairs, required=False) and not any(part.startswith("validation.") for part in files.paths)
    ):
        return "a split by groups of pairs: give files for validation and test"
    if find(steps, FitTokenizer, required=False):
        return "SentencePiece: it learns from all text at once"
    if find(steps, Truecase, required=False):
        return "truecasing"
    return ""


def find(steps: tuple[Step[Bitext], ...], kind: type[Any], *, required: bool = True) -> Any:
    """The step of type ``kind``, or the step of a side if the sides have one of this type; None if there is none and it
    is not ``required``."""
    for step in steps:
        sides = (step.source, step.target) if isinstance(step, BothSides) else ()
        for each in (step, *sides):
            if isinstance(each, kind):
                return each
    if required:
        raise ValueError(f"the pipeline has no step {kind.__name__}")
    return None
