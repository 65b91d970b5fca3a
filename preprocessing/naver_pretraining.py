"""The raw crawl of Naver film reviews as text for pretraining: from JSON to the ids of subword pieces.

    from preprocessing import naver_pretraining
    result = naver_pretraining.prepare("nsmc-raw", pieces=8000)
    result.train.ids, result.train.offsets, result.train.row_id, result.vocabulary, result.card

A network that is pretrained here and fine-tuned on NSMC must not have read the text that NSMC evaluates on: reviews of
the test file and of the validation split are left out, with their copies and near copies. The masked tokens and the
pairs of reviews are drawn again in every epoch of training; the last two steps state the rules and count one draw.

The steps, in order: read-films, drop-empty, leave-out, leave-out-near-copies, drop-repeated, hold-out, tokenize,
truncate, vocabulary, encode, pair-reviews, mask-words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from preprocessing.corpora import CorpusFiles
from preprocessing.crawl_reading import Crawl
from preprocessing.errors import check_positive
from preprocessing.naver_crawl import SAMPLE, HoldOut, LeaveOut, ReadCrawl, evaluated_texts, files as files
from preprocessing.pipeline.step import Context, Dropped, Notes, Step
from preprocessing.text.data import Data
from preprocessing.text.masking import Masking, MaskWords
from preprocessing.text.near_copies import NGRAM, SHORTEST, collapsed_key, near_copies
from preprocessing.text.pairs import FILM_SEPARATOR, PairReviews
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import SHOWN, DropEmpty, Encode, LearnVocabulary, Tokenize, Truncate
from preprocessing.text.tokenizers.plain import without_spaces
from preprocessing.text.tokenizers.sentencepiece import SentencePiece
from preprocessing.text.vocabulary import MASKED_SPECIALS, Vocabulary
from preprocessing.text.writing import write as write


def pipeline(
    *, pieces: int = 8000, max_length: int = 60, one_in: int = 100, masking: Masking | None = None
) -> TextPipeline:
    """The pipeline for the crawl and files in its layout.

    ``pieces``: an upper bound on the number of pieces. ``max_length``: maximum pieces per review. ``one_in``: one
    review in this many is held out for validation, and one for test. ``masking``: the rule by which words are masked.
    Raises ParameterError for an invalid value.
    """
    check_positive(pieces=pieces, max_length=max_length)
    tokenizer = SentencePiece(pieces)
    chain = (
        ReadFilms(),
        DropEmpty(),
        LeaveOut(),
        LeaveOutNearCopies(),
        DropRepeated(),
        HoldOut(one_in),
        Tokenize(tokenizer),
        Truncate(max_length),
        LearnPieces(),
        Encode(),
        PairReviews(),
        MaskWords(masking or Masking()),
    )
    return TextPipeline("naver-pretraining", chain, tokenizer, MASKED_SPECIALS, SAMPLE)


def prepare(
    corpus: str | CorpusFiles = "nsmc-raw", *, processes: int | None = None, cache: bool = True, **options: Any
) -> Result:
    """Run :func:`pipeline` with ``options`` on ``nsmc-raw``, ``sample`` or your own files (``locate.given`` with
    the parts ``raw``, ``train`` and ``test``)."""
    given = files(corpus) if isinstance(corpus, str) else corpus
    return pipeline(**options).run(given, processes=processes, cache=cache)


@dataclass(frozen=True)
class ReadFilms(ReadCrawl):
    """Read every film's JSON, strictly, and name each review by its film."""

    name: ClassVar[str] = "read-films"

    @property
    def rule(self) -> str:
        return f"{super().rule} The id of a row is `<film id>{FILM_SEPARATOR}<review_id>`."

    def row_ids(self, crawl: Crawl) -> list[str]:
        pairs = zip(crawl.movie_ids, crawl.reviews, strict=True)
        return [f"{film}{FILM_SEPARATOR}{review.id}" for film, review in pairs]


@dataclass(frozen=True)
class LeaveOutNearCopies(Step[Data]):
    """Leave out near copies of the reviews that the corpus uses for evaluation."""

    name: ClassVar[str] = "leave-out-near-copies"
    version: ClassVar[int] = 2
    threshold: float = 0.5

    @property
    def rule(self) -> str:
        return (
            "The key of a text are its letters and digits (Unicode NFKC, case folded; the text itself without any), "
            "each run of one character as a single one. A review is left out when its key is that of a text of NSMC's "
            f"test or validation split, or, of keys of {SHORTEST} characters or more, when both share many character "
            f"{NGRAM}-grams: those in common are at least {self.threshold:g} of all distinct ones of the two (Jaccard "
            "index). All pairs are compared, none is sampled."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        keys = [collapsed_key(text) for text in train.text]
        keep = np.ones(len(train), np.bool_)
        dropped, facts, examples = [], {}, []
        for name, texts in evaluated_texts(context, self.name).items():
            wanted = {collapsed_key(text) for text in texts if text}
            same = keep & np.fromiter((key in wanted for key in keys), np.bool_, len(keys))
            near = keep & ~same & near_copies(keys, sorted(wanted), self.threshold)
            facts[name] = {"same_key": int(same.sum()), "near_copies": int(near.sum())}
            for reason, rows in (("has the key of a text", same), ("is a near copy of a text", near)):
                if count := int(rows.sum()):
                    ids = train.row_id[rows][:SHOWN].tolist()
                    dropped.append(Dropped("train", f"{reason} in the {name} split of NSMC", count, ids))
            keep &= ~(same | near)
            examples += [(train.text[row], "left out") for row in np.flatnonzero(near)[:1]]
        notes = Notes(facts={"near_copies": facts}, dropped=dropped, examples=examples)
        return data.with_splits({"train": train.take(keep)}), notes


@dataclass(frozen=True)
class DropRepeated(Step[Data]):
    """Leave out all but the first of equal texts."""

    name: ClassVar[str] = "drop-repeated"

    @property
    def rule(self) -> str:
        return "Of texts that are equal without white space only the first is kept: thousands are a single word."

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        seen: set[str] = set()
        keep = np.ones(len(train), np.bool_)
        for row, text in enumerate(map(without_spaces, train.text)):
            keep[row] = text not in seen
            seen.add(text)
        ids = train.row_id[~keep][:SHOWN].tolist()
        dropped = [Dropped("train", "the same text comes before", int((~keep).sum()), ids)] if ids else []
        return data.with_splits({"train": train.take(keep)}), Notes(dropped=dropped)


@dataclass(frozen=True)
class LearnPieces(LearnVocabulary):
    """Make the vocabulary from the pieces of the tokenizer."""

    name: ClassVar[str] = "vocabulary"
    specials: ClassVar[tuple[str, ...]] = MASKED_SPECIALS

    @property
    def rule(self) -> str:
        ids = ", ".join(f"{special} is {index}" for index, special in enumerate(self.specials))
        return (
            "The pieces of the SentencePiece model that occur in the training split, by descending frequency, ties by "
            f"the piece (code points); {ids}. A character without a piece is unknown."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train, tokenizer = data.splits["train"], data.tokenizer
        assert isinstance(tokenizer, SentencePiece)
        pieces = tokenizer.pieces
        is_piece = np.array([symbol in pieces for symbol in train.symbols], np.bool_)
        vocabulary = self.learn(train.symbols, train.tokenized.counts(len(train.symbols)) * is_piece)
        facts = self.facts(vocabulary, train) | {"model_sha256": tokenizer.sha256}
        return replace(data, vocabulary=vocabulary), Notes(facts={"vocabulary": facts})

    def learn(self, symbols: Sequence[str], counts: np.ndarray) -> Vocabulary:
        return Vocabulary.learn(symbols, counts, specials=self.specials)
