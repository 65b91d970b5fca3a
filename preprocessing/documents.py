"""Labelled documents such as IMDB's: from files to words, sentence by sentence, with every decision named.

    from preprocessing import documents, two_level
    result = documents.prepare("imdb", max_words=50)
    result.train.ids, result.train.offsets                            # each document as one sequence of words
    result.train.sentence_lengths, result.train.sentence_words(0)     # and its sentences
    batch = two_level.padded(result.train, rows)                      # (documents, sentences, words)
    documents.write(result, Path("out"))

The steps, in order: read-documents, plain-text, drop-empty, split-by-hash, mark-leaks, sentences, tokenize,
limit-sentences, vocabulary, encode.
"""

from __future__ import annotations

from preprocessing.corpora import CorpusFiles, locate
from preprocessing.document_reading import ReadDocuments, own_documents as own_documents
from preprocessing.errors import InputError
from preprocessing.text.document_steps import OVERLONG, LimitSentences, PlainText, SplitSentences, TokenizeSentences
from preprocessing.text.english import EnglishWords
from preprocessing.text.pipeline import Pipeline, Result
from preprocessing.text.steps import DropEmpty, Encode, LearnVocabulary, MarkLeaks, SplitByHash
from preprocessing.text.writing import write as write


def pipeline(
    *,
    max_sentences: int | None = None,
    max_words: int | None = None,
    overlong: str = "cut",
    min_freq: int = 5,
    max_size: int | None = None,
) -> Pipeline:
    """The pipeline for IMDB and documents of its layout.

    ``max_sentences``: kept of each document (None: all). ``max_words``: of each sentence (None: all); with
    ``overlong="cut"`` the rest of a longer one is lost, with ``"wrap"`` it becomes sentences of its own, so that none
    is, and ``max_sentences`` counts these. ``min_freq`` and ``max_size``: of the vocabulary, which is learned on the
    training split. Raises InputError for a parameter that makes no sense.
    """
    numbers = {"max_sentences": max_sentences, "max_words": max_words, "min_freq": min_freq, "max_size": max_size}
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise InputError(f"{name} {value}", "must be at least 1", remedy="choose a positive number")
    if overlong not in OVERLONG:
        raise InputError(f"overlong {overlong!r}", "no such choice", remedy=f"choose {' or '.join(OVERLONG)}")
    words = EnglishWords()
    steps = (
        ReadDocuments(),
        PlainText(),
        DropEmpty(),
        SplitByHash(),
        MarkLeaks(),
        SplitSentences(),
        TokenizeSentences(words),
        LimitSentences(max_sentences, max_words, overlong),
        LearnVocabulary(min_freq, max_size),
        Encode(),
    )
    return Pipeline("documents", steps, words, sample="sample documents")


def prepare(
    corpus: str | CorpusFiles = "imdb",
    *,
    max_sentences: int | None = None,
    max_words: int | None = None,
    overlong: str = "cut",
    min_freq: int = 5,
    max_size: int | None = None,
    processes: int | None = None,
    cache: bool = True,
) -> Result:
    """Find the corpus (``imdb``, ``sample``, or :func:`own_documents`) and run :func:`pipeline` on it."""
    chosen = pipeline(
        max_sentences=max_sentences, max_words=max_words, overlong=overlong, min_freq=min_freq, max_size=max_size
    )
    files = locate.find(corpus) if isinstance(corpus, str) else corpus
    return chosen.run(files, processes=processes, cache=cache)
