"""Labelled documents as input of a published network with BERT's architecture: the last pieces of each.

    from preprocessing import document_pieces
    result = document_pieces.prepare("imdb", max_length=62)

Rows, splits and plain text are those of the pipeline ``documents``, split by film; pieces and vocabulary are those of
``sentence_pieces``. The end of a document is kept, where film reviews often state their verdict.

The steps, in order: read-documents, plain-text, drop-empty, split-by-film, mark-leaks, published-pieces, tokenize,
keep-last, encode.
"""

from __future__ import annotations

from typing import Any

from preprocessing.corpora import CorpusFiles
from preprocessing.document_films import SplitByFilm
from preprocessing.document_reading import ReadDocuments
from preprocessing.errors import check_positive
from preprocessing.sentence_pieces import PublishedPieces
from preprocessing.text.choices import KeepLast
from preprocessing.text.document_steps import PlainText
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import DropEmpty, Encode, MarkLeaks, Tokenize
from preprocessing.text.vocabulary import MASKED_SPECIALS
from preprocessing.text.wordpiece import WordPiece


def pipeline(*, max_length: int = 126) -> TextPipeline:
    """The pipeline for IMDb and documents in its layout. ``max_length``: maximum pieces per document."""
    check_positive(max_length=max_length)
    pieces = WordPiece()
    steps = (
        ReadDocuments(),
        PlainText(),
        DropEmpty(),
        SplitByFilm(),
        MarkLeaks(),
        PublishedPieces(),
        Tokenize(pieces),
        KeepLast(max_length),
        Encode(),
    )
    return TextPipeline("document-pieces", steps, pieces, MASKED_SPECIALS, "sample documents")


def prepare(
    corpus: str | CorpusFiles = "imdb", *, processes: int | None = None, cache: bool = True, **options: Any
) -> Result:
    """Run :func:`pipeline` with ``options`` on ``imdb``, ``sample`` or :func:`.documents.own_documents`."""
    return pipeline(**options).run(corpus, processes=processes, cache=cache)
