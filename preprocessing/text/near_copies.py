"""Find near copies of texts exactly, without sampling, by character n-grams (a set-similarity join with prefix
filtering; Chaudhuri et al., 2006; Bayardo et al., 2007)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from preprocessing.errors import InputError
from preprocessing.text.normalization import loose_key
from preprocessing.text.tokenizers.plain import without_spaces

NGRAM = 4
"""Order of the character n-grams."""

SHORTEST = 8
"""Minimum length in characters of a key that is compared by n-grams; shorter keys have too few of them."""

_REPEATED = re.compile(r"(.)\1+", re.DOTALL)
_PAIRS_AT_ONCE = 1 << 18


def collapsed_key(text: str) -> str:
    """The letters and digits of a text in lower case (Unicode NFKC), with each run of one character reduced to a single
    one: equal for texts that differ at most in spaces, punctuation, case, character forms and repetitions."""
    return _REPEATED.sub(r"\1", loose_key(without_spaces(unicodedata.normalize("NFKC", text))))


def near_copies(keys: Sequence[str], references: Sequence[str], threshold: float) -> np.ndarray:
    """Which keys are near copies of a reference.

    Two keys are near copies when the Jaccard index of their sets of n-grams, the number of shared n-grams divided by
    that of all distinct ones, is at least the threshold. Each set is sorted from the rarest n-gram to the most frequent
    one, and only a prefix of it has to be searched: sets that are this similar share an n-gram in their prefixes.

    Args:
        keys, references: from :func:`collapsed_key`; a key shorter than ``SHORTEST`` is not a near copy of any other.
        threshold: above 0, at most 1.

    Returns:
        (len(keys),) of bool.
    """
    sets = _ngram_sets([*keys, *references])
    starts = np.concatenate([[0], np.cumsum(sets.sizes)])
    prefix = np.where(sets.sizes > 0, sets.sizes - np.ceil(threshold * sets.sizes - 1e-9).astype(np.int64) + 1, 0)
    rows = np.repeat(np.arange(len(sets.sizes)), prefix)
    entries = np.arange(len(rows)) - np.repeat(np.cumsum(prefix) - prefix, prefix) + starts[rows]
    ngrams = sets.ngrams[entries]
    of_reference = rows >= len(keys)
    order = np.argsort(ngrams[of_reference], kind="stable")
    reference_ngrams, reference_rows = ngrams[of_reference][order], rows[of_reference][order]
    ngrams, rows = ngrams[~of_reference], rows[~of_reference]
    first = np.searchsorted(reference_ngrams, ngrams, side="left")
    matches = np.searchsorted(reference_ngrams, ngrams, side="right") - first

    near = np.zeros(len(keys), np.bool_)
    bounds = np.searchsorted(np.cumsum(matches), np.arange(0, matches.sum(), _PAIRS_AT_ONCE))
    for begin, end in pairwise([*bounds.tolist(), len(matches)]):
        count = matches[begin:end]
        ours = np.repeat(rows[begin:end], count)
        theirs = reference_rows[np.arange(count.sum()) - np.repeat(np.cumsum(count) - count - first[begin:end], count)]
        sizes = sets.sizes[ours], sets.sizes[theirs]
        similar = (np.minimum(*sizes) >= threshold * np.maximum(*sizes) - 1e-9) & ~near[ours]
        pairs = np.unique(ours[similar] * np.int64(len(sets.sizes)) + theirs[similar])
        ours, theirs = np.divmod(pairs, len(sets.sizes))
        shared = _shared(sets, starts, ours, theirs)
        union = sets.sizes[ours] + sets.sizes[theirs] - shared
        near[ours[shared >= threshold * union - 1e-9]] = True
    return near


class _Sets(NamedTuple):
    """The sets of n-grams of all keys, one after another, each with its rarest n-grams first. N-grams are numbered by
    ascending frequency; the size of the set of a short key is 0."""

    ngrams: np.ndarray
    sizes: np.ndarray


def _ngram_sets(keys: Sequence[str]) -> _Sets:
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    points = np.frombuffer("".join(keys).encode("utf-32-le"), np.uint32)
    different = np.flatnonzero(np.bincount(points))  # as many as have 16 bits, so that an n-gram has 64
    if len(different) > 1 << 16:
        raise InputError("keys", f"{len(different)} different characters", remedy="compare fewer texts at once")
    characters = np.searchsorted(different, points).astype(np.uint64)
    counts = np.where(lengths >= SHORTEST, lengths - NGRAM + 1, 0)
    rows = np.repeat(np.arange(len(keys)), counts)
    first = np.arange(len(rows)) + np.repeat(np.cumsum(lengths) - lengths - np.cumsum(counts) + counts, counts)
    codes = np.zeros(len(rows), np.uint64)
    for offset in range(NGRAM):
        codes = (codes << np.uint64(16)) | characters[first + offset]
    distinct, numbers, frequency = np.unique(codes, return_inverse=True, return_counts=True)
    by_frequency = np.lexsort((distinct, frequency))
    rank = np.empty(len(distinct), np.int64)
    rank[by_frequency] = np.arange(len(distinct))
    pairs = np.unique(rows * np.int64(max(1, len(distinct))) + rank[numbers])
    rows, ngrams = np.divmod(pairs, max(1, len(distinct)))
    return _Sets(ngrams, np.bincount(rows, minlength=len(keys)).astype(np.int64))


def _shared(sets: _Sets, starts: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """For each pair of sets, the number of n-grams that they have in common."""
    both: list[np.ndarray] = []
    for side in (ours, theirs):
        sizes = sets.sizes[side]
        pair = np.repeat(np.arange(len(side)), sizes)
        entries = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes - starts[side], sizes)
        both.append(pair * np.int64(sets.ngrams.max(initial=0) + 1) + sets.ngrams[entries])
    common = np.intersect1d(both[0], both[1], assume_unique=True)
    return np.bincount(common // np.int64(sets.ngrams.max(initial=0) + 1), minlength=len(ours))
