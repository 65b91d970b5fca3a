"""Learn the merges of byte pair encoding like ``subword_nmt.learn_bpe``, for millions of distinct words: the same codes
in a fifth of the time.

The symbols of all words are in one array, and each merge is a few NumPy operations on the occurrences of its pair.
Frequencies of pairs are kept, pruned and compared as in subword-nmt. Words that repeat a part of themselves three times
in a row, and words in which a merge gives a symbol that they already have from other merges, are processed one by one
by the functions of subword-nmt itself: for these words, its counts depend on the order of its updates.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
from subword_nmt.learn_bpe import get_pair_statistics, prune_stats, replace_pair, update_pair_statistics

_SHIFT = 32
_END = "</w>"
_REPEATED = re.compile(r"(.+?)\1\1", re.DOTALL)


def learn_merges(counts: Mapping[str, int], operations: int, least: int = 2) -> list[tuple[str, str]]:
    """Learn at most ``operations`` merges, the most frequent pair first, and none of a pair that occurs less than
    ``least`` times. ``counts``: the count of each word; at least one word must have two characters or more."""
    symbols = _Symbols()
    plain = [word for word in counts if not _REPEATED.search(word)]
    flat = _Flat(symbols, plain, np.fromiter((counts[word] for word in plain), np.int64, len(plain)))
    singly = _Singly(symbols)
    for word in counts:
        if _REPEATED.search(word):
            singly.add((*word[:-1], word[-1] + _END), counts[word])
    frequency: dict[int, int] = {}
    for code, count in (*flat.initial(), *singly.initial()):
        frequency[code] = frequency.get(code, 0) + count
    every = dict(frequency)
    threshold = max(frequency.values()) / 10
    candidates = {code: count for code, count in frequency.items() if count >= threshold}
    merges: list[tuple[str, str]] = []
    for number in range(operations):
        if not candidates:  # the best pair may be one that was pruned
            prune_stats(frequency, every, threshold)
            frequency = dict(every)
            threshold = max(frequency.values()) * number / (number + 10000.0)
            prune_stats(frequency, every, threshold)
            candidates = dict(frequency)
        most = max(candidates.values())
        if most < least:
            break
        best = max((code for code, count in candidates.items() if count == most), key=symbols.pair)
        first, second = best >> _SHIFT, best & ((1 << _SHIFT) - 1)
        merges.append((symbols.names[first], symbols.names[second]))
        known = len(symbols.names)
        merged = symbols.id_of(symbols.names[first] + symbols.names[second])
        if merged < known:
            for taken, count in flat.words_with_both(best, merged):
                singly.add(taken, count)
        for code, change in (*flat.merge(first, second, merged), *singly.merge(*merges[-1])):
            frequency[code] = now = frequency.get(code, 0) + change
            if now >= threshold:
                candidates[code] = now
            else:
                candidates.pop(code, None)
        frequency[best] = 0
        candidates.pop(best, None)
        if not number % 100:
            prune_stats(frequency, every, threshold)
    return merges


class _Symbols:
    """The numbers of symbols. A pair is one number: that of the first symbol times 2^32, plus that of the second."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._ids: dict[str, int] = {}

    def id_of(self, name: str) -> int:
        number = self._ids.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number

    def pair(self, code: int) -> tuple[str, str]:
        return self.names[code >> _SHIFT], self.names[code & ((1 << _SHIFT) - 1)]

    def code(self, pair: tuple[str, str]) -> int:
        return (self.id_of(pair[0]) << _SHIFT) | self.id_of(pair[1])


class _Flat:
    """Words as one array of symbols, in which a symbol that was merged into the one on its left is -1."""

    def __init__(self, symbols: _Symbols, words: list[str], counts: np.ndarray) -> None:
        self._symbols, self._counts = symbols, counts
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        self._starts = np.concatenate([[0], np.cumsum(lengths)])
        characters = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int32)
        last = self._starts[1:] - 1
        characters[last] += 1 << 24
        distinct, numbers = np.unique(characters, return_inverse=True)
        names = [chr(code & 0xFFFFFF) + (_END if code >> 24 else "") for code in distinct.tolist()]
        ids = np.array([symbols.id_of(name) for name in names], np.int32)
        self._at = ids[numbers]
        places = np.arange(len(characters), dtype=np.int32)
        self._next, self._previous = places + 1, places - 1
        self._next[last], self._previous[self._starts[:-1]] = -1, -1
        self._word = np.repeat(np.arange(len(words), dtype=np.int32), lengths)
        self._where: dict[int, list[np.ndarray]] = {}

    def initial(self) -> Iterator[tuple[int, int]]:
        """Yield all pairs and their frequencies."""
        left = np.flatnonzero(self._next >= 0).astype(np.int32)
        codes = (self._at[left].astype(np.int64) << _SHIFT) | self._at[left + 1]
        return self._indexed(left, codes, self._counts[self._word[left]])

    def words_with_both(self, pair: int, symbol: int) -> list[tuple[tuple[str, ...], int]]:
        """Remove the words that contain both a pair and a symbol; return their symbols and their counts."""
        taken = []
        for word in np.unique(self._word[self._occurrences(pair)]).tolist():
            places = slice(self._starts[word], self._starts[word + 1])
            at = self._at[places]
            if (at == symbol).any():
                taken.append((tuple(self._symbols.names[each] for each in at[at >= 0]), int(self._counts[word])))
                self._at[places] = -1
        return taken

    def merge(self, first: int, second: int, merged: int) -> Iterator[tuple[int, int]]:
        """Merge all occurrences of a pair; yield the pairs around it and the changes of their frequencies."""
        pair = (first << _SHIFT) | second
        left = self._occurrences(pair)
        self._where.pop(pair, None)
        if not len(left):
            return
        counts = self._counts[self._word[left]]
        right, before = self._next[left], self._previous[left]
        after = self._next[right]
        # The pair between two adjacent occurrences belongs to the second one.
        has_before, has_after = before >= 0, after >= 0
        has_after[:-1] &= after[:-1] != left[1:]
        lost = (self._at[before[has_before]].astype(np.int64) << _SHIFT) | first
        yield from _sums(lost, -counts[has_before])
        lost = (second << _SHIFT) | self._at[after[has_after]].astype(np.int64)
        yield from _sums(lost, -counts[has_after])

        self._at[left], self._at[right] = merged, -1
        self._next[left] = after
        self._previous[after[after >= 0]] = left[after >= 0]
        before = self._previous[left][has_before]
        gained = (self._at[before].astype(np.int64) << _SHIFT) | merged
        yield from self._indexed(before, gained, counts[has_before])
        gained = (merged << _SHIFT) | self._at[after[has_after]].astype(np.int64)
        yield from self._indexed(left[has_after], gained, counts[has_after])

    def _occurrences(self, pair: int) -> np.ndarray:
        """The positions of a pair, in order."""
        lists = self._where.get(pair, [])
        if not lists:
            return np.empty(0, np.int32)
        places = lists[0] if len(lists) == 1 else np.unique(np.concatenate(lists))
        places = places[self._at[places] == pair >> _SHIFT]
        places = places[self._next[places] >= 0]
        return places[self._at[self._next[places]] == pair & ((1 << _SHIFT) - 1)]

    def _indexed(self, places: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> Iterator[tuple[int, int]]:
        """Record the positions of pairs; yield each pair and its frequency."""
        order = np.argsort(codes, kind="stable")
        codes, places, counts = codes[order], places[order], counts[order]
        bounds = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])) if len(codes) else codes
        if not len(bounds):
            return
        sums = np.add.reduceat(counts, bounds).tolist()
        ends = [*bounds[1:].tolist(), len(codes)]
        for code, start, end, total in zip(codes[bounds].tolist(), bounds.tolist(), ends, sums, strict=True):
            self._where.setdefault(code, []).append(places[start:end])
            yield code, total


def _sums(codes: np.ndarray, changes: np.ndarray) -> list[tuple[int, int]]:
    """The sum of the changes of each pair."""
    distinct, numbers = np.unique(codes, return_inverse=True)
    totals = np.zeros(len(distinct), np.int64)
    np.add.at(totals, numbers, changes)
    return list(zip(distinct.tolist(), totals.tolist(), strict=True))


class _Singly:
    """Words that subword-nmt's own functions merge."""

    def __init__(self, symbols: _Symbols) -> None:
        self._symbols = symbols
        self._words: list[tuple[tuple[str, ...], int]] = []
        self._indices: defaultdict[tuple[str, str], defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))

    def add(self, word: tuple[str, ...], count: int) -> None:
        """Add a word, given as its symbols, and index its pairs."""
        for pair in pairwise(word):
            self._indices[pair][len(self._words)] += 1
        self._words.append((word, count))

    def initial(self) -> list[tuple[int, int]]:
        """All pairs and their frequencies."""
        frequency, _ = get_pair_statistics(self._words)
        return [(self._symbols.code(pair), count) for pair, count in frequency.items()]

    def merge(self, first: str, second: str) -> list[tuple[int, int]]:
        """Merge a pair in all words; return the pairs around it and the changes of their frequencies."""
        pair = (first, second)
        if pair not in self._indices:
            return []
        changes: defaultdict[tuple[str, str], int] = defaultdict(int)
        update_pair_statistics(pair, replace_pair(pair, self._words, self._indices), changes, self._indices)
        return [(self._symbols.code(around), change) for around, change in changes.items()]
