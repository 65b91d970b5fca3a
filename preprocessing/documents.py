"""Labelled documents such as IMDb's: from files to words, sentence by sentence, with every decision stated.

    from preprocessing import documents
    result = documents.prepare("imdb", max_words=50)
    result.train.ids, result.train.offsets                         # each document as one sequence of words
    result.train.sentence_lengths, result.train.sentence_words(0)  # and its sentences
    documents.write(result, Path("out"))

The steps, in order: read-documents, plain-text, drop-empty, split-by-hash (or split-by-film), mark-leaks, sentences,
tokenize, limit-sentences, vocabulary, encode.
"""

from __future__ import annotations

from typing import Any

from preprocessing.corpora import CorpusFiles
from preprocessing.document_films import SplitByFilm
from preprocessing.document_reading import (
    OWN_DOCUMENTS as OWN_DOCUMENTS,
    ReadDocuments,
    own_documents as own_documents,
)
from preprocessing.errors import check_choice, check_positive
from preprocessing.text.document_steps import LimitSentences, PlainText, SplitSentences, TokenizeSentences
from preprocessing.text.english import EnglishWords
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import DropEmpty, Encode, LearnVocabulary, MarkLeaks, SplitByHash
from preprocessing.text.writing import write as write


def pipeline(
    *,
    max_sentences: int | None = None,
    max_words: int | None = None,
    overlong: str = "cut",
    min_freq: int = 5,
    max_size: int | None = None,
    validation: str = "hash",
) -> TextPipeline:
    """The pipeline for IMDb and documents in its layout.

    ``max_sentences``: maximum per document, ``max_words``: maximum per sentence (None: no limit). With
    ``overlong="cut"``, the rest of a longer sentence is lost; with ``"wrap"``, it becomes further sentences, which
    count towards ``max_sentences``. ``min_freq`` and ``max_size``: limits of the vocabulary, which is learned on the
    training split. ``validation``: a tenth of the training documents by the ``hash`` of their text, or all documents on
    a tenth of the films, chosen by the hash of the ``film``. Raises ParameterError for an invalid value.
    """
    check_positive(max_sentences=max_sentences, max_words=max_words, min_freq=min_freq, max_size=max_size)
    check_choice("validation", validation, ("hash", "film"))
    words = EnglishWords()
    steps = (
        ReadDocuments(),
        PlainText(),
        DropEmpty(),
        SplitByHash() if validation == "hash" else SplitByFilm(),
        MarkLeaks(),
        SplitSentences(),
        TokenizeSentences(words),
        LimitSentences(max_sentences, max_words, overlong),
        LearnVocabulary(min_freq, max_size),
        Encode(),
    )
    return TextPipeline("documents", steps, words, sample="sample documents")


def prepare(
    corpus: str | CorpusFiles = "imdb", *, processes: int | None = None, cache: bool = True, **options: Any
) -> Result:
    """Run :func:`pipeline` with ``options`` on ``imdb``, ``sample`` or :func:`own_documents`."""
    return pipeline(**options).run(corpus, processes=processes, cache=cache)
