"""What attention heads attend to, measured by the weight that they give to marked keys."""

from __future__ import annotations

import numpy as np


def weight_on(weights: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Total weight of the marked keys, averaged over the queries that have any.

    Args:
        weights: (heads, queries, keys), each row a distribution.
        marks: (queries, keys) of bool.

    Returns:
        (heads,); NaN if no query has a marked key.
    """
    queries = marks.any(axis=1)
    if not queries.any():
        return np.full(len(weights), np.nan)
    mean: np.ndarray = (weights[:, queries] * marks[queries]).sum(axis=2).mean(axis=1)
    return mean


def at_offset(length: int, offset: int) -> np.ndarray:
    """Mark (length, length) the key ``offset`` tokens after each query; -1 is the previous token."""
    return np.eye(length, k=offset, dtype=bool)


def same_word(is_continued: np.ndarray) -> np.ndarray:
    """Mark (pieces, pieces) the other pieces of the word that each piece belongs to.

    Args:
        is_continued: (pieces,), whether the next piece belongs to the same word.
    """
    word = np.concatenate([[0], np.cumsum(~np.asarray(is_continued, bool))])[: len(is_continued)]
    return (word[:, None] == word) & ~np.eye(len(word), dtype=bool)
