"""Reviews of the raw crawl that the Naver sentiment movie corpus does not have, as unlabelled text for its classifiers.

    from preprocessing import naver_unlabelled
    result = naver_unlabelled.prepare("nsmc-raw")
    result.train.text, result.card

Left out are all reviews of the corpus, with their copies, and near copies of those that it evaluates on, so that a
classifier that learns from the others has seen neither. The ratings of the crawl are not used. Of what remains, a share
is chosen by hash.

The steps, in order: read-crawl, drop-labels, drop-empty, leave-out, leave-out-near-copies, leave-out-labelled,
drop-repeated, choose-by-hash.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from preprocessing.corpora import CorpusFiles
from preprocessing.errors import InputError, check_positive
from preprocessing.naver_crawl import SAMPLE, LeaveOut, ReadCrawl, files as files, official_texts
from preprocessing.naver_pretraining import DropRepeated, LeaveOutNearCopies
from preprocessing.pipeline.step import Context, Dropped, Notes, Step
from preprocessing.text.data import Data
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import SHOWN, DropEmpty, hash_numbers
from preprocessing.text.tokenizers.plain import without_spaces


def pipeline(*, one_in: int = 2) -> TextPipeline:
    """The pipeline for the crawl and files in its layout. One review in ``one_in`` is chosen. Raises ParameterError for
    an invalid value."""
    chain = (
        ReadCrawl(),
        DropLabels(),
        DropEmpty(),
        LeaveOut(),
        LeaveOutNearCopies(),
        LeaveOutLabelled(),
        DropRepeated(),
        ChooseByHash(one_in),
    )
    return TextPipeline("naver-unlabelled", chain, sample=SAMPLE)


def prepare(
    corpus: str | CorpusFiles = "nsmc-raw", *, one_in: int = 2, processes: int | None = None, cache: bool = True
) -> Result:
    """Run :func:`pipeline` on ``nsmc-raw``, ``sample`` or your own files (``locate.given`` with the parts ``raw``,
    ``train`` and ``test``)."""
    given = files(corpus) if isinstance(corpus, str) else corpus
    return pipeline(one_in=one_in).run(given, processes=processes, cache=cache)


@dataclass(frozen=True)
class DropLabels(Step[Data]):
    """Remove the labels."""

    name: ClassVar[str] = "drop-labels"

    @property
    def rule(self) -> str:
        return "The ratings are not used: no review has a label."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        splits = {name: replace(split, label=np.full_like(split.label, -1)) for name, split in data.splits.items()}
        return data.with_splits(splits), Notes()


@dataclass(frozen=True)
class LeaveOutLabelled(Step[Data]):
    """Leave out the reviews whose labels the corpus trains on."""

    name: ClassVar[str] = "leave-out-labelled"

    @property
    def rule(self) -> str:
        return "A review is left out when its text is in the training split of NSMC, compared as in the step leave-out."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        labelled = {without_spaces(text) for text in official_texts(context, self.name)["train"]}
        known = np.fromiter((without_spaces(text) in labelled for text in train.text), np.bool_, len(train))
        ids = train.row_id[known][:SHOWN].tolist()
        dropped = [Dropped("train", "text is in the train split of NSMC", int(known.sum()), ids)] if ids else []
        return data.with_splits({"train": train.take(~known)}), Notes(dropped=dropped)


@dataclass(frozen=True)
class ChooseByHash(Step[Data]):
    """Choose a share of the reviews."""

    name: ClassVar[str] = "choose-by-hash"
    one_in: int = 2

    def __post_init__(self) -> None:
        check_positive(one_in=self.one_in)

    @property
    def rule(self) -> str:
        return (
            "A review is chosen when the hexadecimal number in digits 17 to 24 of the SHA-256 of its text (UTF-8) is "
            f"divisible by {self.one_in}."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        chosen = hash_numbers(train.text, first_digit=16) % self.one_in == 0
        if not chosen.any():
            raise InputError(
                f"step {self.name}", f"of {len(train)} reviews none is chosen", remedy="give more, or a smaller one_in"
            )
        dropped = [Dropped("train", "not chosen", int((~chosen).sum()), train.row_id[~chosen][:SHOWN].tolist())]
        return data.with_splits({"train": train.take(chosen)}), Notes(dropped=dropped)
