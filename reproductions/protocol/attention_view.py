"""The attention of a trained network over one text, in a form that any page can show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

DIGITS = 4
"""Decimal places of a weight in JSON; a page shows per cent with at most two."""
LARGEST_MATRIX = 60
"""Maximum number of tokens along one side of a matrix on a page."""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Alternative:
    """One of the hypotheses that beam search kept.

    Attributes:
        tokens: tokens as the network generated them.
        text: detokenised text.
        log_p: ln p of the tokens and the end of sentence; None if it was not recorded.
        weights: (steps, source tokens); the last step is the end of sentence. None without attention.
    """

    tokens: Sequence[str]
    text: str
    log_p: float | None = None
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class Heads:
    """All heads of one kind of attention of a Transformer, over one text.

    Attributes:
        name: name of the kind of attention.
        rows, columns: tokens of the queries and of the keys.
        weights: (layers, heads, rows, columns).
        causal: whether a row attends to no column after its own.
    """

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    weights: np.ndarray
    causal: bool = False

    def as_json(self) -> dict[str, Any]:
        values = {"name": self.name, "rows": list(self.rows), "columns": list(self.columns), "causal": self.causal}
        return values | {"weights": _rounded(self.weights)}


@dataclass(frozen=True, kw_only=True)
class AttentionView:
    """One text with the attention weights of a network.

    Attributes:
        tokens: tokens that the network read, in order, without padding.
        joined: for each token, whether no space separates it from the previous one; empty if spaces are unknown.
        unknown: positions of tokens that are not in the vocabulary.
        weights: (tokens,), the mean weight of each token; None without attention. They sum to less than 1 if the
            network also attends to padding.
        matrix: (queries, tokens), all weights, if there are several queries.
        queries: what the rows of ``matrix`` are: ``token``, the tokens themselves; ``word``, the tokens after the
            first; ``hop``; ``query``.
        sentences: for a document, the weight of each sentence and its number of tokens.
        classes: name and probability of each class.
        surprise: for a language model, -ln p in nats of each token after the first, and of the end.
        alternatives: translations, the best first.
        heads: for a Transformer, its heads over the text and, if it translates, the first alternative.
        text: the text itself, if tokens are pieces of it.
        title: description of a published example.
        notes: remarks for the reader, one sentence each, such as that only part of the text was read.
    """

    tokens: Sequence[str]
    joined: Sequence[bool] = ()
    unknown: Sequence[int] = ()
    weights: np.ndarray | None = None
    matrix: np.ndarray | None = None
    queries: str = "token"
    sentences: Sequence[tuple[float, int]] = ()
    classes: Sequence[tuple[str, float]] = ()
    surprise: Sequence[float] = ()
    alternatives: Sequence[Alternative] = ()
    heads: Sequence[Heads] = ()
    text: str = ""
    title: str = ""
    notes: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """JSON values by name; empty ones are omitted."""
        values: dict[str, Any] = {
            "tokens": list(self.tokens),
            "joined": [position for position, joined in enumerate(self.joined) if joined],
            "unknown": list(self.unknown),
            "weights": _rounded(self.weights),
            "matrix": _rounded(self.matrix),
            "queries": self.queries,
            "sentences": [[round(float(weight), DIGITS), count] for weight, count in self.sentences],
            "classes": [[name, round(float(p), DIGITS)] for name, p in self.classes],
            "surprise": [round(float(nats), DIGITS) for nats in self.surprise],
            "alternatives": [
                {
                    "tokens": list(each.tokens),
                    "text": each.text,
                    "log_p": None if each.log_p is None else round(each.log_p, DIGITS),
                    "weights": _rounded(each.weights),
                    "windows": _windows(each.weights),
                }
                for each in self.alternatives
            ],
            "heads": [each.as_json() for each in self.heads],
            "text": self.text,
            "title": self.title,
            "notes": list(self.notes),
        }
        return {name: value for name, value in values.items() if name == "tokens" or value not in (None, [], "")}


def joined_tokens(text: str, tokens: Sequence[str]) -> list[bool]:
    """For each token, whether no space separates it from the previous one in the text, whatever their case; false for a
    token that is not the next piece of the text, for example after normalisation."""
    joined, start, missed = [], 0, 0
    for token in tokens:
        # Each token that was not found may stand for a word, and a token may leave the rest of its word out. A piece is
        # looked for no further than that: the same token may occur again much later.
        words = list(islice(_WORD.finditer(text, start), missed + 2))
        position = words[0].start() if words else len(text)
        is_piece = text[position : position + len(token)].lower() == token.lower()
        joined.append(is_piece and 0 < start == position)
        if not is_piece:
            position = text.find(token, start, words[-1].end()) if words else -1
        missed = missed + 1 if position < 0 else 0
        if position >= 0:
            start = position + len(token)
    return joined


def _rounded(weights: np.ndarray | None) -> Any:
    return None if weights is None else np.round(np.asarray(weights, np.float64), DIGITS).tolist()


def _windows(weights: np.ndarray | None) -> list[list[int]] | None:
    """Begin and end of the window of local attention at each step; None without weights, if all weights are non-zero,
    or if the non-zero weights of a step are not one contiguous range."""
    if weights is None or np.all(weights):
        return None
    windows = []
    for row in np.asarray(weights):
        inside = np.flatnonzero(row)
        if not len(inside) or not np.all(row[inside[0] : inside[-1] + 1]):
            return None
        windows.append([int(inside[0]), int(inside[-1]) + 1])
    return windows
