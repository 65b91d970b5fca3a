"""The raw crawl from which the Naver sentiment movie corpus was made, as text for word vectors: from JSON to ids,
without the reviews that the corpus uses for evaluation.

    from preprocessing import naver_crawl
    result = naver_crawl.prepare("nsmc-raw", min_freq=5)
    result.train.ids, result.train.offsets, result.train.label, result.vocabulary, result.card

The crawl has 712 404 reviews with ratings 1 to 10, the corpus 200 000 of them. Reviews whose text occurs in the test
file of the corpus or in the validation split of the pipeline ``naver`` are left out, so that vectors learned here can
initialise a classifier of that corpus. Of the rest, one hundredth is held out for validation and one for test. The card
states all these counts.

The steps, in order: read-crawl, drop-empty, leave-out, hold-out, tokenize, vocabulary, encode.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from preprocessing import naver
from preprocessing.corpora import CorpusFiles, locate
from preprocessing.corpora.reading import check_count
from preprocessing.crawl_reading import Crawl, read_crawl, single_spaces
from preprocessing.errors import InputError, ParameterError, check_positive
from preprocessing.pipeline.step import Context, Dropped, Notes, Step
from preprocessing.text import steps
from preprocessing.text.data import Data, Split
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import SHOWN, DropEmpty, Encode, LearnVocabulary, SplitByHash, Tokenize, hash_numbers
from preprocessing.text.tokenizers import registry
from preprocessing.text.tokenizers.plain import without_spaces
from preprocessing.text.tokenizers.tokenizer import Tokenizer
from preprocessing.text.writing import write as write

SAMPLE = "sample naver-crawl"
PARTS = ("raw", "train", "test")
"""Inputs of the pipeline: the crawl, and the two official files of the corpus."""


def files(corpus: str = "nsmc-raw") -> CorpusFiles:
    """The crawl together with the official files of NSMC, or for ``sample`` the embedded sample of both.

    Raises MissingError when one of them is missing, InputError when an official file is damaged.
    """
    if corpus == "sample":
        return locate.find(SAMPLE)
    crawl, official = locate.find(corpus), locate.find("nsmc")
    return replace(
        crawl,
        paths=crawl.paths | official.paths,
        sha256=crawl.sha256 | official.sha256,
        urls=crawl.urls | official.urls,
        rows=crawl.rows | official.rows,
        stamps=crawl.stamps | official.stamps,
    )


def pipeline(
    *,
    tokenizer: str | Tokenizer = "mecab",
    min_freq: int = 5,
    max_size: int | None = None,
    one_in: int = 100,
) -> TextPipeline:
    """The pipeline for the crawl and files in its layout.

    ``tokenizer``: its name, or a tokenizer. ``min_freq`` and ``max_size``: limits of the vocabulary, which is learned
    on the training split. ``one_in``: one review in this many is held out for validation, and one for test. Raises
    ParameterError for an invalid value.
    """
    check_positive(min_freq=min_freq, max_size=max_size)
    chosen = registry.get(tokenizer) if isinstance(tokenizer, str) else tokenizer
    chain = (
        ReadCrawl(),
        DropEmpty(),
        LeaveOut(),
        HoldOut(one_in),
        Tokenize(chosen),
        LearnVocabulary(min_freq, max_size),
        Encode(),
    )
    return TextPipeline("naver-crawl", chain, chosen, sample=SAMPLE)


def prepare(
    corpus: str | CorpusFiles = "nsmc-raw", *, processes: int | None = None, cache: bool = True, **options: Any
) -> Result:
    """Run :func:`pipeline` with ``options`` on ``nsmc-raw``, ``sample`` or your own files (``locate.given`` with
    the parts ``raw``, ``train`` and ``test``)."""
    given = files(corpus) if isinstance(corpus, str) else corpus
    return pipeline(**options).run(given, processes=processes, cache=cache)


def _given(context: Context, step: str) -> CorpusFiles:
    files = context.corpus(step)
    if missing := [part for part in PARTS if part not in files.paths]:
        reason = f"has no {' and no '.join(missing)}"
        raise InputError(f"corpus {files.name}", reason, remedy=f"give all of {', '.join(PARTS)}")
    return files


@dataclass(frozen=True)
class ReadCrawl(Step[Data]):
    """Read every film's JSON, strictly."""

    name: ClassVar[str] = "read-crawl"

    @property
    def rule(self) -> str:
        return (
            "The crawl is a .tar.xz archive or a folder of `<film id>.json`: each a list of reviews whose review_id, "
            "review and rating (1 to 10) are text; anything else is an error. Films come in the order of their file "
            "names as strings, their reviews from top to bottom. Each run of white space becomes one space. Ratings 9 "
            "and 10 are label 1, ratings 1 to 4 label 0, others have no label, as in the corpus."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        corpus = _given(context, self.name)
        crawl = read_crawl(corpus.path("raw"))
        _check(crawl, corpus)
        reviews = crawl.reviews
        split = Split.of(
            [single_spaces(review.text) for review in reviews],
            row_id=self.row_ids(crawl),
            label=np.array([-1 if review.label is None else review.label for review in reviews], np.int8),
        )
        survey = steps.survey(split, width=5)
        del survey["texts_with_both_labels"]  # not meaningful: many reviews have no label
        unlabelled = int((split.label < 0).sum())
        facts = {
            "crawl": {"films": crawl.movies, "sha256": crawl.sha256, "reviews_without_label": unlabelled},
            "survey": {"crawl": survey},
        }
        return data.with_splits({"train": split}), Notes(facts=facts)

    def row_ids(self, crawl: Crawl) -> list[str]:
        """The id of each row, which is that of its review."""
        return [review.id for review in crawl.reviews]


def _check(crawl: Crawl, corpus: CorpusFiles) -> None:
    """Raise InputError unless the reviews are those of the official crawl; its archives may differ in their bytes."""
    path, content = corpus.path("raw"), corpus.contents.get("raw")
    remedy = "fetch it again; pass a crawl of your own by locate.given"
    check_count(path, len(crawl.reviews), corpus.rows.get("raw"), "reviews", remedy=remedy)
    if content is not None and crawl.sha256 != content:
        reason = f"SHA-256 of its films is {crawl.sha256}, the official crawl has {content}"
        raise InputError(path, reason, remedy=remedy)


@dataclass(frozen=True)
class LeaveOut(Step[Data]):
    """Leave out the reviews that the corpus uses for evaluation."""

    name: ClassVar[str] = "leave-out"

    @property
    def rule(self) -> str:
        return (
            "A review is left out when its text occurs in the official test file, or in the validation split: the "
            "rows that the step split-by-hash of the pipeline naver splits off the official train file. "
            "Texts are compared without white space, and the official ones after the step unquote of that pipeline. "
            "So no review of the two splits is left, and no copy of one."
        )

    def parameters(self) -> dict[str, int]:
        return {"validation_one_in": SplitByHash.one_in}

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        official = evaluated_texts(context, self.name)
        train = data.splits["train"]
        texts_of_train = [without_spaces(text) for text in train.text]
        crawled, keep = set(texts_of_train), np.ones(len(train), np.bool_)
        dropped, facts = [], {}
        for name in ("test", "validation"):
            texts = [without_spaces(text) for text in official[name]]
            wanted = {text for text in texts if text}
            matching = keep & np.fromiter((text in wanted for text in texts_of_train), np.bool_, len(keep))
            keep &= ~matching
            facts[name] = {
                "official_rows": len(texts),
                "of_them_empty": texts.count(""),
                "of_them_in_the_crawl": sum(text in crawled for text in texts if text),
                "reviews_left_out": int(matching.sum()),
            }
            if rows := int(matching.sum()):
                reason = f"text occurs in the {name} split of NSMC"
                dropped.append(Dropped("train", reason, rows, train.row_id[matching][:SHOWN].tolist()))
        return data.with_splits({"train": train.take(keep)}), Notes(facts={"left_out": facts}, dropped=dropped)


def evaluated_texts(context: Context, step: str) -> dict[str, list[str]]:
    """The texts of NSMC's splits ``test`` and ``validation``, with the doubled quotes of its files undone."""
    official = official_texts(context, step)
    return {name: official[name] for name in ("test", "validation")}


def official_texts(context: Context, step: str) -> dict[str, list[str]]:
    """The texts of each split of NSMC, with the doubled quotes of its files undone."""
    corpus = _given(context, step)
    official = {part: naver.read_ratings(corpus.path(part), rows=corpus.rows.get(part)) for part in ("train", "test")}
    divided, _ = SplitByHash().apply(Data(official), context)
    return {name: [naver.unquote(text) for text in split.text] for name, split in divided.splits.items()}


@dataclass(frozen=True)
class HoldOut(Step[Data]):
    """Split validation and test off the training reviews."""

    name: ClassVar[str] = "hold-out"
    one_in: int = 100

    def __post_init__(self) -> None:
        check_positive(one_in=self.one_in)
        if self.one_in < 3:
            raise ParameterError("one_in", self.one_in, "must be at least 3", remedy="choose a larger number")

    @property
    def rule(self) -> str:
        return (
            f"Digits 9 to 16 of the SHA-256 of a text (UTF-8), read as a hexadecimal number modulo {self.one_in}: 0 "
            "goes to validation, 1 to test, the rest stays in train. The first 8 digits select the validation split of "
            "NSMC, which is left out already; other digits make the two choices independent. All copies of a text "
            "are in the same split."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        train = data.splits["train"]
        number = hash_numbers(train.text, first_digit=8) % self.one_in
        rows = {"train": number > 1, "validation": number == 0, "test": number == 1}
        if empty := [name for name, chosen in rows.items() if not chosen.any()]:
            reason = f"of {len(train)} reviews none is left for {' and '.join(empty)}"
            raise InputError(f"step {self.name}", reason, remedy="give more reviews, or a smaller one_in")
        return data.with_splits({name: train.take(chosen) for name, chosen in rows.items()}), Notes()
