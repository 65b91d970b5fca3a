"""Interpolated Kneser-Ney n-grams with three discounts (Kneser and Ney, 1995; Chen and Goodman, 1998, "An empirical
study of smoothing techniques for language modeling", section 3).

For a context h of k - 1 words, and h' the same without its first word:

    p_k(w | h) = max(c(hw) - D(c(hw)), 0) / c(h .) + g(h) p_{k-1}(w | h')
    g(h) = (D_1 N_1(h .) + D_2 N_2(h .) + D_3+ N_3+(h .)) / c(h .),        p_0(w) = 1 / |V|

For the highest order, c is the number of occurrences of an n-gram; for lower orders, it is the number of distinct words
that precede it. N_i(h .) is the number of words with a count of i after h. The discounts of each order k are estimated
from n_i, the number of k-grams with a count of i: Y = n_1 / (n_1 + 2 n_2), D_1 = 1 - 2 Y n_2 / n_1,
D_2 = 2 - 3 Y n_3 / n_2, D_3+ = 3 - 4 Y n_4 / n_3.

NLTK takes one discount as an argument and computes one probability at a time; KenLM's package reads models but does not
estimate them. This implementation counts a million words in two seconds and scores a million words in one second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mxnet import nd
from mxnet.gluon import HybridBlock

from gluon_attn.errors import UsageError

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts used if they cannot be estimated from the counts, as in KenLM."""

_DTYPES = {"keys": np.int64, "probabilities": np.float32, "backoffs": np.float32}


@dataclass(frozen=True)
class _Table:
    """The k-grams of a text, for one k.

    Attributes:
        keys: (k-grams,) int64, ascending: the index of a k-gram's context times |V|, plus its last word. The index of
            a context is its position among the (k - 1)-grams; that of the empty context is 0.
        probabilities: (k-grams,), the first term of p_k.
        backoffs: (contexts,), g of each context, 1 if no word follows it.
    """

    keys: np.ndarray
    probabilities: np.ndarray
    backoffs: np.ndarray


class KneserNey(HybridBlock):
    """p(word | the n - 1 previous words), estimated from a text when the model is built. Call ``initialize()`` before
    using it, as for every block.

    The text is one stream of ids: a context may begin in the previous line, and ends of lines precede the first word.
    The parameters are the tables of all n-grams, so a saved model does not need the text.

    Args:
        order: *n*, 1 or more.
        vocabulary_size: number of words, |V|.
        first: the word that precedes the first one, the end of a line.
        text: (tokens,), the ids to count; None if the parameters will be set from a saved model.

    Raises:
        UsageError: if ``order`` is below 1, or if the text is empty.
        ValueError: if an id is not in the vocabulary, here and in every method that reads ids.
    """

    def __init__(
        self, *, order: int, vocabulary_size: int, first: int, text: np.ndarray | None, **parameters: Any
    ) -> None:
        super().__init__(**parameters)
        if order < 1:
            raise UsageError(f"order must be 1 or more, not {order}")
        if text is not None and not len(text):
            raise UsageError("the text has no words to count; give a text that is not empty")
        self.order = order
        self._vocabulary_size, self._first = vocabulary_size, first
        tables = [None] * order if text is None else self._estimated(np.asarray(text))
        with self.name_scope():
            for k, table in enumerate(tables, start=1):
                for part, dtype in _DTYPES.items():
                    name = f"{part}_{k}"
                    if table is None:  # a size of 0 is unknown and accepts any
                        parameter = self.params.get(
                            name, shape=(0,), dtype=dtype, grad_req="null", allow_deferred_init=True
                        )
                    else:
                        values = getattr(table, part).astype(dtype)
                        parameter = self.params.get_constant(name, nd.array(values, dtype=dtype))
                    setattr(self, name, parameter)

    def log_probabilities(self, ids: np.ndarray) -> np.ndarray:
        """ln p of each word of a text given the ``order - 1`` previous words, (tokens,) float64."""
        tables, padded = self._tables(), self._padded(ids)
        numbers = self._numbers(tables, padded)
        contexts = [of_length[self.order - 1 : -1] for of_length in numbers[: self.order]]
        return np.log(self._interpolated(tables, contexts, padded[self.order - 1 :]))

    def distribution(self, context: Sequence[int]) -> np.ndarray:
        """p of every word (vocabulary,) after a context of any length, whose last word is the nearest."""
        tables = self._tables()
        numbers = self._numbers(tables, self._padded(np.asarray(context, np.int64)))
        contexts = [of_length[-1] for of_length in numbers[: self.order]]
        return self._interpolated(tables, contexts, np.arange(self._vocabulary_size))

    def context_lengths(self, ids: np.ndarray) -> np.ndarray:
        """For each word of a text (tokens,), how many of the previous words, 0 to ``order - 1``, were counted as a
        context."""
        tables = self._tables()
        numbers = self._numbers(tables, self._padded(ids))
        lengths = np.zeros(len(ids), np.int64)
        for length in range(1, self.order):
            context = numbers[length][self.order - 1 : -1]
            lengths[(context >= 0) & (tables[length].backoffs[context] < 1)] = length
        return lengths

    def _padded(self, ids: np.ndarray) -> np.ndarray:
        if len(ids) and not 0 <= np.min(ids) <= np.max(ids) < self._vocabulary_size:
            raise ValueError(f"ids of {np.min(ids)} to {np.max(ids)}, but the vocabulary has {self._vocabulary_size}")
        return np.concatenate([np.full(self.order - 1, self._first), ids]).astype(np.int64)

    def _estimated(self, text: np.ndarray) -> list[_Table]:
        padded = self._padded(text)
        numbers, keys = [np.zeros(len(padded) + 1, np.int64)], []  # as those of `_numbers`
        for _ in range(self.order):
            distinct, number = np.unique(self._keys(numbers[-1][:-1], padded), return_inverse=True)
            incomplete = int(distinct[0] < 0)  # the first words have too few previous words
            keys.append(distinct[incomplete:])
            numbers.append(np.concatenate([[-1], number - incomplete]))
        tables = []
        for k in range(1, self.order + 1):
            last = numbers[k][self.order :]
            if k < self.order:  # each longer n-gram once, which counts the distinct preceding words
                _, once = np.unique(numbers[k + 1][self.order :], return_index=True)
                last = last[once]
            counts = np.bincount(last, minlength=len(keys[k - 1]))
            contexts = len(keys[k - 2]) if k > 1 else 1
            tables.append(_table(keys[k - 1], counts, contexts, self._vocabulary_size))
        return tables

    def _numbers(self, tables: Sequence[_Table], padded: np.ndarray) -> list[np.ndarray]:
        """For each length from 0 to the order, the index of the n-gram that ends before each position, and of the one
        that ends the text, (positions + 1,); -1 if it is not in the table."""
        numbers = [np.zeros(len(padded) + 1, np.int64)]
        for table in tables:
            rows = _rows(table.keys, self._keys(numbers[-1][:-1], padded))
            numbers.append(np.concatenate([[-1], rows]))
        return numbers

    def _keys(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        return np.where(contexts >= 0, contexts * self._vocabulary_size + words, -1)

    def _interpolated(self, tables: Sequence[_Table], contexts: Sequence[np.ndarray], words: np.ndarray) -> np.ndarray:
        """p of words after contexts, which are given by their indices for each length; unknown contexts are skipped."""
        p = np.full(len(words), 1 / self._vocabulary_size)
        for table, context in zip(tables, contexts, strict=True):
            rows = _rows(table.keys, self._keys(context, words))
            backoff = np.where(context >= 0, table.backoffs[context], 1.0)
            p = np.where(rows >= 0, table.probabilities[rows], 0.0) + backoff * p
        return p

    def _tables(self) -> list[_Table]:
        arrays = {name: parameter.data().asnumpy() for name, parameter in self._reg_params.items()}
        return [_Table(*(arrays[f"{part}_{k}"] for part in _DTYPES)) for k in range(1, self.order + 1)]


def discounts(counts: np.ndarray) -> tuple[float, float, float]:
    """Estimate D_1, D_2 and D_3+ from the counts of n-grams (n-grams,).

    In a text of a few hundred words, one of the counts from 1 to 4 may not occur, or a discount may not be between 0
    and its count; then all three are those of :data:`FALLBACK`.
    """
    n1, n2, n3, n4 = (int((counts == count).sum()) for count in (1, 2, 3, 4))
    if min(n1, n2, n3, n4) == 0:
        return FALLBACK
    y = n1 / (n1 + 2 * n2)
    estimated = 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3
    return estimated if all(0 < discount < count for count, discount in enumerate(estimated, 1)) else FALLBACK


def _table(keys: np.ndarray, counts: np.ndarray, contexts: int, vocabulary_size: int) -> _Table:
    """Build the table of k-grams with their counts (k-grams,); the count is 0 for those that occur only at the
    beginning of the text."""
    discount = np.array([0.0, *discounts(counts)])[np.minimum(counts, 3)]
    context = keys // vocabulary_size
    total, freed = (np.bincount(context, weights, contexts) for weights in (counts, discount))
    seen = total > 0
    backoffs = np.divide(freed, total, out=np.ones(contexts), where=seen)
    probabilities = np.divide(counts - discount, total[context], out=np.zeros(len(keys)), where=seen[context])
    return _Table(keys, probabilities, backoffs)


def _rows(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the index of each wanted key, -1 if it is not among the keys."""
    rows = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[rows] == wanted, rows, -1)
