"""Classification of the corpora of the papers: film reviews in Korean and in English, and sentences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from preprocessing import corpora, documents, naver, sentences
from preprocessing.corpora import CorpusFiles
from preprocessing.document_films import films_of
from preprocessing.document_reading import PART
from preprocessing.text.data import Split
from preprocessing.text.pipeline import TextPipeline
from reproductions.protocol.own_data import OwnData
from reproductions.tasks.classification.settings import ClassificationSettings, SequenceSettings
from reproductions.tasks.classification.task import Classification


@dataclass(frozen=True)
class NSMC(Classification[SequenceSettings]):
    """Korean film reviews in two classes, tokenised by ``tokenizer`` and cut to the length that the network reads.

    Attributes:
        labelled: number of training reviews whose labels are used; None for all.
    """

    corpus: str = "nsmc"
    language: str = "ko"
    tokenizer: str = "mecab"
    labelled: int | None = None

    @property
    def group(self) -> str:
        return "" if self.labelled else self.corpus

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.corpus, f"{self.labelled or 'all'} labelled texts")

    def pipeline(self, settings: SequenceSettings) -> TextPipeline:
        return naver.pipeline(
            tokenizer=self.tokenizer,
            min_freq=settings.min_freq,
            max_length=settings.max_length,
            labelled=self.labelled,
        )


@dataclass(frozen=True)
class IMDb(Classification[ClassificationSettings]):
    """English film reviews in two classes, in sentences of at most ``max_words`` words; ``overlong`` says how longer
    sentences are treated, ``validation`` how the validation split is chosen (:func:`preprocessing.documents.pipeline`).
    A user's own documents are split by hash."""

    corpus: str = "imdb"
    language: str = "en"
    max_words: int | None = None
    overlong: str = "cut"
    validation: str = "hash"
    notes = (
        "IMDb has up to 30 test reviews of a film, which a network tends to get right or wrong together. Intervals on "
        "IMDb are therefore from a bootstrap over its 3 581 test films. Over single reviews, as before, those of the "
        "rows were narrower by 17 to 29 %; no verdict changed.",
    )

    def own_folder(self, folder: Path) -> CorpusFiles:
        """TSV files, as the other tasks read them, so that both train on one folder; otherwise documents in the folder
        layout of IMDb, optionally in a tar archive."""
        return super().own_folder(folder) if (folder / "train.tsv").exists() else documents.own_documents(folder)

    def can_read(self, own: OwnData) -> bool:
        return own.files.name == documents.OWN_DOCUMENTS or super().can_read(own)

    def clusters(self, test: Split) -> np.ndarray:
        """The film of each review, numbered in the order of the reviews."""
        films = films_of(corpora.find(self.corpus).path(PART), test.row_id.tolist())
        numbers = {film: number for number, film in enumerate(dict.fromkeys(films))}
        return np.array([numbers[film] for film in films], np.int16)

    def pipeline(self, settings: ClassificationSettings) -> TextPipeline:
        return documents.pipeline(
            min_freq=settings.min_freq,
            max_words=self.max_words,
            overlong=self.overlong,
            validation="hash" if self.own else self.validation,
        )


@dataclass(frozen=True)
class SST(Classification[ClassificationSettings]):
    """Sentences of English film reviews, ``sst-2`` in two classes or ``sst-5`` in five."""

    corpus: str = "sst-5"
    language: str = "en"
    items: str = "sentences"

    @property
    def label_names(self) -> tuple[str, ...]:
        return sentences.labels_of(self.corpus)

    def pipeline(self, settings: ClassificationSettings) -> TextPipeline:
        return sentences.pipeline(classes=len(self.label_names), min_freq=settings.min_freq)
