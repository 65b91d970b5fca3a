"""The Naver sentiment movie corpus as input of a pretrained network: in the pieces and with the vocabulary that the
pipeline ``naver_pretraining`` learned from the raw crawl.

    from preprocessing import naver_pieces
    result = naver_pieces.prepare("nsmc", pieces=8000)

Rows, splits and texts are those of the pipeline ``naver``. The result of ``naver_pretraining`` is cached, so that the
crawl is read only once.

The steps, in order: read-ratings, drop-empty, split-by-hash, mark-leaks, pretrained-pieces, tokenize, truncate, encode,
(limit-labelled).

Your own labelled texts are read in the pieces of a network that is pretrained already, by :func:`own_pipeline`, whose
steps are: read-texts, drop-empty, hold-out, mark-leaks, given-pieces, tokenize, truncate, encode, (limit-labelled).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from preprocessing import naver_pretraining
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.errors import InputError, check_positive
from preprocessing.files import sha256_of
from preprocessing.naver import ReadRatings
from preprocessing.naver_crawl import SAMPLE
from preprocessing.pipeline import saved
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.choices import LimitLabelled
from preprocessing.text.data import Data
from preprocessing.text.own_texts import reading_own_texts
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import DropEmpty, Encode, MarkLeaks, SplitByHash, Tokenize, Truncate
from preprocessing.text.tokenizers.sentencepiece import SentencePiece
from preprocessing.text.vocabulary import MASKED_SPECIALS
from preprocessing.text.writing import write as write

CORPUS = "nsmc"

PIECES = "pieces"
"""Part of your own texts: what the preprocessing of a pretrained network learned."""


def files(corpus: str = CORPUS) -> CorpusFiles:
    """The official files of NSMC together with the crawl, or for ``sample`` the embedded sample of both.

    Raises MissingError when one of them is missing, InputError when one is damaged.
    """
    if corpus == "sample":
        return locate.find(SAMPLE)
    official, whole = locate.find(corpus), naver_pretraining.files()
    return replace(whole, name=official.name, title=f"{official.title}, and its raw crawl")


def pipeline(
    *,
    pieces: int = 8000,
    pretraining_length: int = 60,
    one_in: int = 100,
    max_length: int = 126,
    labelled: int | None = None,
) -> TextPipeline:
    """The pipeline for NSMC with its crawl.

    ``pieces``, ``pretraining_length``, ``one_in``: parameters of the pipeline ``naver_pretraining``, called ``pieces``,
    ``max_length`` and ``one_in`` there. ``max_length``: maximum pieces per review. ``labelled``: number of training
    rows whose labels are used; None for all.
    """
    learned = PretrainedPieces(pieces, pretraining_length, one_in)
    return _pipeline(learned, SentencePiece(pieces), max_length, labelled)


def own_pipeline(*, max_length: int = 126, labelled: int | None = None) -> TextPipeline:
    """The pipeline for your own labelled texts (:func:`own_files`). ``max_length``, ``labelled``: as in
    :func:`pipeline`."""
    return reading_own_texts(_pipeline(GivenPieces(), GivenSentencePiece(), max_length, labelled))


def own_files(texts: CorpusFiles, learned: Path) -> CorpusFiles:
    """Your own labelled texts (``own_texts.own_texts``) together with the file that the pipeline ``naver_pretraining``
    of a pretrained network saved, ``preprocessing.npz`` in its run directory.

    Raises InputError when that file is missing.
    """
    if not learned.is_file():
        raise InputError(learned, "is missing", remedy="name the preprocessing.npz of a pretrained network")
    return replace(texts, paths={**texts.paths, PIECES: learned}, sha256={**texts.sha256, PIECES: sha256_of(learned)})


def _pipeline(learned: Step[Data], tokenizer: SentencePiece, max_length: int, labelled: int | None) -> TextPipeline:
    check_positive(max_length=max_length, labelled=labelled)
    chain: list[Step[Data]] = [ReadRatings(), DropEmpty(), SplitByHash(), MarkLeaks(), learned]
    chain += [Tokenize(tokenizer), Truncate(max_length), Encode()]
    chain += [] if labelled is None else [LimitLabelled(labelled)]
    return TextPipeline("naver-pieces", tuple(chain), tokenizer, MASKED_SPECIALS, SAMPLE)


def prepare(
    corpus: str | CorpusFiles = CORPUS, *, processes: int | None = None, cache: bool = True, **options: Any
) -> Result:
    """Run :func:`pipeline` with ``options`` on ``nsmc``, ``sample`` or your own files (``locate.given`` with the parts
    ``raw``, ``train`` and ``test``)."""
    given = files(corpus) if isinstance(corpus, str) else corpus
    return pipeline(**options).run(given, processes=processes, cache=cache)


@dataclass(frozen=True)
class PretrainedPieces(Step[Data]):
    """Use the pieces and the vocabulary that were learned from the text for pretraining."""

    name: ClassVar[str] = "pretrained-pieces"
    pieces: int
    max_length: int
    one_in: int

    @property
    def learned_by(self) -> TextPipeline:
        """The pipeline that learns the pieces and the vocabulary."""
        return naver_pretraining.pipeline(pieces=self.pieces, max_length=self.max_length, one_in=self.one_in)

    @property
    def rule(self) -> str:
        return (
            "The SentencePiece model and the vocabulary are those of the pipeline naver-pretraining on the raw crawl, "
            "which has no review of the validation and the test split, nor a near copy of one."
        )

    def parameters(self) -> dict[str, Any]:
        steps = [f"{step.name} {step.version}" for step in self.learned_by.steps]
        return {**super().parameters(), "steps": steps}

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        given = context.corpus(self.name)
        crawl = replace(given, name="nsmc-raw") if given.name == CORPUS else given
        result = self.learned_by.run(crawl, processes=context.processes, cache=context.cache)
        facts = {"pretraining": {"digest": result.digest, "crawl": result.card["facts"]["crawl"]}}
        return replace(data, tokenizer=result.tokenizer, vocabulary=result.vocabulary), Notes(facts=facts)


class GivenSentencePiece(SentencePiece):
    """A SentencePiece model that was trained elsewhere."""

    rule = (
        "Pieces of the given SentencePiece model, without sampling; text is normalised by nmt_nfkc first, and U+2581 "
        "marks the start of a word."
    )

    def parameters(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class GivenPieces(Step[Data]):
    """Use the pieces and the vocabulary of a pretrained network."""

    name: ClassVar[str] = "given-pieces"

    @property
    def rule(self) -> str:
        return (
            "The SentencePiece model and the vocabulary are those of a pretrained network, read from the file that the "
            "pipeline naver-pretraining saved for it."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        path = context.corpus(self.name).path(PIECES)
        arrays, description = saved.read(path)
        if description["pipeline"] != "naver-pretraining":
            reason = f"saved by the pipeline {description['pipeline']}, not by naver-pretraining"
            raise InputError(path, reason, remedy="name the preprocessing.npz of a pretrained network")
        learned = Data.from_arrays(arrays, GivenSentencePiece(), MASKED_SPECIALS)
        facts = {"pretraining": {"digest": description["digest"]}}
        return replace(data, tokenizer=learned.tokenizer, vocabulary=learned.vocabulary), Notes(facts=facts)
