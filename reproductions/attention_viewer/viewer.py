"""An HTML file in which every review can be found and read with its attention weights.

The page contains its data, script and style and fetches nothing. The data are in a JSON block. The script displays them
only through ``textContent``, so text from a corpus is never parsed as markup; a content security policy that lists the
hashes of our script and style forbids everything else.

The JSON block has ``labels``, the names of the labels, and columns with one entry per review: ``id``; ``pieces``, its
tokens joined by line feeds, with a space before each token that starts a word; ``weights``, two base-64 digits per
token (0 to 4095, in units of 1/4095); ``gold``, ``predicted`` and ``in_train``, one character each (``-``: no gold
label; with more than ten labels, ``gold`` and ``predicted`` are lists of their numbers); ``probability`` of the
predicted label in ten-thousandths. Some entries exist only for some reviews and are stored by position: ``rest``, the
end of the text that the model did not read; ``text``, if the tokens are not pieces of the text; ``matrix``, all weights
row by row, encoded like ``weights``. ``examples`` lists the positions of the texts that are not from the corpus; these
are shown but not counted.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.files import write_text
from reproductions.html.inline_page import json_block, render

SAMPLE = "sample"
"""Name of the embedded corpus, on which results are meaningless."""

_HERE = Path(__file__).parent
_DIGITS = np.array(list(string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"))
# Control characters and spaces inside a token are replaced by visible symbols; none of these is a line feed.
_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x20: "␣", 0x7F: "␡"}


@dataclass(frozen=True)
class Review:
    """One review as the model read it.

    Attributes:
        id: id of the review in the corpus.
        tokens: tokens that the model read, in order, without padding.
        weights: (tokens,), attention weight of each token; for a (query, key) matrix, the mean over the queries. The
            weights sum to 1, or to less if the model also attends to padding; the page shows how much.
        predicted: label that the model predicts.
        probability: probability that the model gives to this label.
        label: gold label, None if there is none.
        text: text as in the corpus, None to show the tokens only.
        in_train: whether the same text occurs in the training split.
        matrix: (queries, tokens), all weights; given for a few reviews only.
        is_example: whether the text is not from the corpus; its id is then a description, and it is not counted.
    """

    id: str
    tokens: Sequence[str]
    weights: Sequence[float] | np.ndarray
    predicted: int
    probability: float
    label: int | None = None
    text: str | None = None
    in_train: bool = False
    matrix: Sequence[Sequence[float]] | np.ndarray | None = None
    is_example: bool = False


def write(
    path: Path,
    *,
    title: str,
    reviews: Iterable[Review],
    note: Mapping[str, str],
    labels: Sequence[str] = ("negative", "positive"),
    language: str = "ko",
    back: tuple[str, str] | None = None,
) -> None:
    """Write the page, completely or not at all; the same arguments give the same bytes.

    Args:
        path: HTML file to write.
        title: heading of the page.
        reviews: reviews in the order of the corpus.
        note: names and values of the notes below the heading, at least ``model``, ``corpus`` and ``digest``. If the
            corpus is ``sample``, the page warns that its numbers mean nothing.
        labels: names of the labels, two or more.
        language: language code of the reviews, for HTML.
        back: address and text of a link to the page from which this one is linked; None for a page of its own.

    Raises:
        ValueError: if the note lacks model, corpus or digest, or if a review has weights that do not match its tokens
            or are not part of a distribution, or a label or probability out of range.
    """
    missing = [key for key in ("model", "corpus", "digest") if not note.get(key)]
    if missing:
        raise ValueError(f"the note of a reading page must say {' and '.join(missing)}")
    page = render(
        _HERE,
        "viewer",
        json_block(_columns(reviews, labels)),
        title=title,
        note=note,
        sample=note["corpus"] == SAMPLE,
        labels=list(enumerate(labels)),
        language=language,
        back=back,
    )
    write_text(path, page)


def _columns(reviews: Iterable[Review], labels: Sequence[str]) -> dict[str, Any]:
    """The content of the JSON block, which the docstring of this module describes."""
    ids, pieces, weights, gold, predicted, in_train, probability = [], [], [], [], [], [], []
    rest: dict[int, str] = {}
    text: dict[int, str] = {}
    matrix: dict[int, str] = {}
    examples: list[int] = []
    for position, review in enumerate(reviews):
        _check(review, len(labels))
        ids.append(review.id)
        aligned = _align(review.text, review.tokens) if review.text is not None else None
        if aligned is not None:
            shown, rest_of_text = aligned
            if rest_of_text:
                rest[position] = rest_of_text
        else:
            shown = [" " + token.translate(_PICTURES) for token in review.tokens]
            if review.text is not None:
                text[position] = review.text
        pieces.append("\n".join(shown))
        weights.append(_code(review.weights))
        gold.append("-" if review.label is None else str(review.label))
        predicted.append(str(review.predicted))
        in_train.append("1" if review.in_train else "0")
        probability.append(round(10_000 * float(review.probability)))
        if review.matrix is not None:
            matrix[position] = _code(review.matrix)
        if review.is_example:
            examples.append(position)
    return {
        "labels": list(labels),
        "id": ids,
        "pieces": pieces,
        "weights": weights,
        "gold": gold if len(labels) > 10 else "".join(gold),
        "predicted": predicted if len(labels) > 10 else "".join(predicted),
        "in_train": "".join(in_train),
        "probability": probability,
        "rest": rest,
        "text": text,
        "matrix": matrix,
        "examples": examples,
    }


def _check(review: Review, labels: int) -> None:
    where = f"review {review.id}"
    count = len(review.tokens)
    weights = np.asarray(review.weights, dtype=np.float64)
    if not all(review.tokens):
        raise ValueError(f"{where}: an empty token")
    if weights.shape != (count,):
        raise ValueError(f"{where}: weights {weights.shape} for {count} tokens")
    if not (np.all(weights >= 0) and weights.sum() < 1 + 1e-3):
        raise ValueError(f"{where}: the weights are no part of a distribution, their sum is {weights.sum():.6g}")
    if review.matrix is not None and (np.ndim(review.matrix) != 2 or np.shape(review.matrix)[1] != count):
        raise ValueError(f"{where}: a matrix {np.shape(review.matrix)} for {count} tokens")
    for label in (review.predicted, 0 if review.label is None else review.label):
        if not 0 <= label < labels:
            raise ValueError(f"{where}: label {label} of {labels}")
    if not 0 <= review.probability <= 1:
        raise ValueError(f"{where}: probability {review.probability}")


def _align(text: str, tokens: Sequence[str]) -> tuple[list[str], str] | None:
    """Find the tokens in the text, one after another.

    Returns:
        The tokens, each preceded by a space if the text has one there, and the text after the last token; None if the
        tokens are not pieces of the text, for example after normalisation or with word-piece marks.
    """
    text = " ".join(text.split())
    pieces = []
    start = 0
    for token in tokens:
        gap = text[start : start + 1] == " "
        start += gap
        if token != token.translate(_PICTURES) or not text.startswith(token, start):
            return None
        pieces.append(" " * gap + token)
        start += len(token)
    return pieces, text[start:].translate(_PICTURES | {0x20: " "})


def _code(weights: Any) -> str:
    levels = np.rint(np.clip(np.asarray(weights, dtype=np.float64).ravel(), 0, 1) * 4095).astype(np.int64)
    return "".join(_DIGITS[np.stack([levels // 64, levels % 64], axis=1).ravel()])
