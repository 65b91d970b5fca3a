"""fastText: a linear classifier over the mean of word and n-gram vectors (Joulin, Grave, Bojanowski and Mikolov, 2017,
"Bag of tricks for efficient text classification", sec. 2), with hashed n-grams (sec. 2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mxnet as mx
import numpy as np
from mxnet.gluon import nn

from gluon_attn.attention.masks import token_mask
from gluon_attn.attention.pooling import mean_pooling
from gluon_attn.models.outputs import Classifier
from gluon_attn.typing import Operators, Tensor

# FNV-1a with 64 bits (Fowler, Noll and Vo).
_OFFSET_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


def ngrams(ids: np.ndarray, n: int, buckets: int) -> np.ndarray:
    """Return the bucket of each n-gram of a sequence: FNV-1a of its ids, modulo the number of buckets.

    The 64-bit hash is computed over the bytes of the n ids in order, four little-endian bytes each. A bucket therefore
    depends only on the ids, not on the machine, the process or the order of the texts.

    Args:
        ids: (tokens,) integers from 0 to 2**32 - 1; ids of words, or code points for character n-grams.
        n: length of an n-gram, one or more.
        buckets: number of buckets, one or more.

    Returns:
        (tokens - n + 1,) of int64, in the order of the sequence; empty if the sequence is shorter than n.

    Raises:
        ValueError: if ``n`` or ``buckets`` is below 1.
    """
    if n < 1 or buckets < 1:
        raise ValueError(f"n-grams of {n} ids in {buckets} buckets: both must be one or more")
    count = max(0, len(ids) - n + 1)
    hashed = np.full(count, _OFFSET_BASIS)
    for offset in range(n):
        column = ids[offset : offset + count].astype(np.uint64)
        for shift in range(0, 32, 8):
            hashed = (hashed ^ (column >> np.uint64(shift) & np.uint64(0xFF))) * _PRIME
    return (hashed % np.uint64(buckets)).astype(np.int64)


def bags(sequences: Sequence[np.ndarray], orders: Sequence[int], buckets: int, first: int) -> list[np.ndarray]:
    """Return the n-grams of each sequence as rows of an embedding table: bucket b is row ``first + b``.

    All orders share the buckets. The caller chooses the layout of the table, for example words first, then word n-grams
    from the size of the vocabulary on, then character n-grams.

    Args:
        sequences: (tokens,) ids of each text.
        orders: the values of n.
        buckets: number of buckets.
        first: row of the first bucket.

    Returns:
        For each sequence (n-grams,) of int32, in the order of ``orders``.
    """
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    flat = np.concatenate([np.empty(0, np.int64), *sequences])
    ends = np.cumsum(lengths)
    by_order = []
    for n in orders:
        # Hash the n-grams of all texts concatenated, and leave out those that cross from one text into the next.
        rows = (first + ngrams(flat, n, buckets)).astype(np.int32)
        inside = (np.repeat(ends, lengths) - np.arange(len(flat)) >= n)[: len(rows)]
        counts = np.maximum(lengths - n + 1, 0)
        by_order.append(np.split(rows[inside], np.cumsum(counts)[:-1]))
    empty = np.empty(0, np.int32)
    return [np.concatenate([empty, *(rows[i] for rows in by_order)]) for i in range(len(sequences))]


class NgramClassifier(Classifier):
    """softmax(B mean(A x) + b): the mean of the vectors of a text's words and n-grams, followed by a linear layer. The
    paper and fastText have no bias b.

    Args:
        rows: number of rows of the table A: words and buckets of n-grams.
        units: width of a vector.
        classes: number of labels.

    Call: ``(ids, valid_length) -> ClassifierOutput``: ids (batch, length) of int32, words and n-grams in any order,
    valid_length (batch,); the output has only logits.
    """

    def __init__(self, *, rows: int, units: int, classes: int, **parameters: Any) -> None:
        super().__init__(**parameters)
        with self.name_scope():
            self.embedding = nn.Embedding(
                rows, units, weight_initializer=mx.init.Uniform(1.0 / units), sparse_grad=True
            )
            self.output = nn.Dense(classes, in_units=units)

    def hybrid_forward(self, F: Operators, ids: Tensor, valid_length: Tensor) -> tuple[Tensor]:
        vectors = self.embedding(ids)
        return (self.output(mean_pooling(F, vectors, token_mask(F, vectors, valid_length))),)
