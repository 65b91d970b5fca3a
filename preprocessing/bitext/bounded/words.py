"""The words of one side of all chunks: numbered in the order of their first occurrence, counted, and split into pieces.

Memory grows with the number of distinct words.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

import numpy as np
from subword_nmt.apply_bpe import BPE, check_vocab_and_split

from preprocessing.bitext.bounded.shards import Shards, packed, strings_of
from preprocessing.bitext.data import SIDES
from preprocessing.bitext.splitting import SEPARATOR, Splitter
from preprocessing.bitext.subwords import frequent, learn, written
from preprocessing.pipeline.ragged import Ragged

WORDS, MERGES, PIECES = "words", "merges", "pieces"
BLOCK = 1 << 16
"""Number of words that one task splits into pieces."""


@dataclass(frozen=True)
class Rows:
    """The rows of one split.

    Attributes:
        name: name of the split.
        shards: shards of its first pass, in order.
        rows: number of rows of each shard.
        masked: whether rows are left out. If so, the shard ``rows-<name>`` has the mask ``tokenized`` of the rows that
            are tokenised, and the mask ``selected`` of those in the result.
    """

    name: str
    shards: tuple[str, ...]
    rows: tuple[int, ...]
    masked: bool = False

    def masks(self, shards: Shards, column: str) -> list[np.ndarray]:
        """For each shard, which rows are tokenised or selected, (rows,) of bool."""
        ends = np.cumsum(self.rows)
        if not self.masked:
            return [np.ones(rows, np.bool_) for rows in self.rows]
        mask = shards.load(f"rows-{self.name}", [column])[column]
        return np.split(mask, ends[:-1])


@dataclass(frozen=True)
class NumberWords:
    """Number and count the words of one side. Saves the arrays ``symbols``, ``counts.<split>`` and, for each shard, the
    number of each of its symbols (-1 for symbols that occur only in rows that are not tokenised)."""

    folder: Path
    splits: tuple[Rows, ...]

    def __call__(self, side: str) -> str:
        shards, name = Shards(self.folder), f"{WORDS}-{side}"
        if name in shards:
            return name
        table: defaultdict[str, int] = defaultdict(count().__next__)
        counts = {split.name: np.zeros(1 << 16, np.int64) for split in self.splits}
        numbers: dict[str, np.ndarray] = {}
        for split in self.splits:
            masks = zip(split.masks(shards, "tokenized"), split.masks(shards, "selected"), strict=True)
            for shard, (tokenized, selected) in zip(split.shards, masks, strict=True):
                columns = [f"{side}.symbols.utf8", f"{side}.symbols.offsets", f"{side}.tokens", f"{side}.lengths"]
                arrays = shards.load(shard, columns)
                symbols = strings_of(arrays, f"{side}.symbols")
                tokens = Ragged.from_lengths(arrays[f"{side}.tokens"], arrays[f"{side}.lengths"])
                order = np.arange(len(symbols))
                if not tokenized.all():
                    distinct, first = np.unique(tokens.take(tokenized).ids, return_index=True)
                    order = distinct[np.argsort(first)]
                own = np.fromiter((table[symbols[symbol]] for symbol in order.tolist()), np.int32, len(order))
                renumbered = np.full(len(symbols), -1, np.int32)
                renumbered[order] = own
                numbers[shard] = renumbered
                of_chunk = (tokens if selected.all() else tokens.take(selected)).counts(len(symbols))
                for each, counted in counts.items():
                    if len(counted) < len(table):
                        counts[each] = np.concatenate([counted, np.zeros(len(table), np.int64)])
                counts[split.name][own] += of_chunk[order]
        arrays = {f"counts.{each}": counted[: len(table)] for each, counted in counts.items()}
        shards.save(name, arrays | numbers | packed("symbols", list(table)))
        return name


@dataclass(frozen=True)
class LearnMerges:
    """Learn the merges from the words of train on both sides. Saves the codes as subword-nmt writes them."""

    folder: Path
    operations: int

    def __call__(self, train: str) -> str:
        shards = Shards(self.folder)
        if MERGES not in shards:
            counts: Counter[str] = Counter()
            for side in SIDES:
                arrays = shards.load(f"{WORDS}-{side}", ["symbols.utf8", "symbols.offsets", f"counts.{train}"])
                of_side = zip(strings_of(arrays, "symbols"), arrays[f"counts.{train}"].tolist(), strict=True)
                counts.update({word: times for word, times in of_side if times})
            codes = learn(counts, self.operations).encode("utf-8")
            shards.save(MERGES, {"codes": np.frombuffer(codes, np.uint8)}, {"types": len(counts)})
        return MERGES


@dataclass(frozen=True)
class SplitWords:
    """Split a block of words of one side into pieces, whether these are known or not."""

    folder: Path

    def __call__(self, block: tuple[str, int]) -> str:
        side, number = block
        shards, name = Shards(self.folder), f"{PIECES}-{side}-{number:05d}"
        if name in shards:
            return name
        arrays = shards.load(f"{WORDS}-{side}", ["symbols.utf8", "symbols.offsets"])
        bounds = arrays["symbols.offsets"][number * BLOCK : (number + 1) * BLOCK + 1]
        raw = arrays["symbols.utf8"][bounds[0] : bounds[-1]].tobytes()
        splitter = Splitter(shards.load(MERGES, ["codes"])["codes"].tobytes().decode("utf-8"))
        table: defaultdict[str, int] = defaultdict(count().__next__)
        rows = []
        for start, stop in pairwise((bounds - bounds[0]).tolist()):
            rows.append([table[piece] for piece in splitter.pieces(raw[start:stop].decode("utf-8"))])
        ragged = Ragged.from_rows(rows)
        shards.save(name, {"ids": ragged.ids, "offsets": ragged.offsets} | packed("pieces", list(table)))
        return name


@dataclass(frozen=True)
class JoinPieces:
    """Number the pieces of all words of one side, and split rare ones again, as subword-nmt does with a vocabulary.
    Saves ``symbols``, the pieces of each word, and the ``frequency`` of the pieces before that."""

    folder: Path
    min_freq: int

    def __call__(self, task: tuple[str, str, int]) -> str:
        side, train, blocks = task
        shards, name = Shards(self.folder), f"{PIECES}-{side}"
        if name in shards:
            return name
        counts = shards.load(f"{WORDS}-{side}", [f"counts.{train}"])[f"counts.{train}"]
        names: defaultdict[str, int] = defaultdict(count().__next__)
        ids, lengths = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for number in range(blocks):
            arrays = shards.load(f"{PIECES}-{side}-{number:05d}")
            own = np.fromiter((names[piece] for piece in strings_of(arrays, "pieces")), np.int32)
            ids.append(own[arrays["ids"]])
            lengths.append(np.diff(arrays["offsets"]))
        words = Ragged.from_lengths(np.concatenate(ids), np.concatenate(lengths))
        times = np.bincount(words.ids, np.repeat(counts, words.lengths), len(names)).astype(np.int64)
        listed = list(names)
        state = written(Counter({listed[piece]: int(times[piece]) for piece in np.flatnonzero(times).tolist()}))
        words, symbols = self._known(shards, words, listed, frequent(state.decode("utf-8"), self.min_freq))
        final = {"ids": words.ids, "offsets": words.offsets, "frequency": np.frombuffer(state, np.uint8)}
        shards.save(name, final | packed("symbols", symbols))
        return name

    def _known(self, shards: Shards, words: Ragged, names: list[str], known: set[str]) -> tuple[Ragged, list[str]]:
        """The words in known pieces if possible; pieces are numbered in the order of the words."""
        replaced: dict[int, list[str]] = {}
        if known:
            unknown = np.array([piece not in known for piece in names], np.bool_)
            rare = np.add.reduceat(unknown[words.ids], words.offsets[:-1]) if len(words) else np.empty(0)
            codes = shards.load(MERGES, ["codes"])["codes"].tobytes().decode("utf-8")
            merged = BPE(io.StringIO(codes)).bpe_codes_reverse
            for word in np.flatnonzero(rare).tolist():
                pieces = [names[piece] for piece in words[word].tolist()]
                if len(pieces) == 1 == len(pieces[0]):
                    continue  # subword-nmt leaves a word of one character unchanged
                plain = (*(piece.removesuffix(SEPARATOR) for piece in pieces[:-1]), pieces[-1])
                again = check_vocab_and_split(plain, merged, known, SEPARATOR)
                replaced[word] = [*(piece + SEPARATOR for piece in again[:-1]), again[-1]]
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        renumbered = np.full(len(names), -1, np.int64)
        parts: list[np.ndarray] = []
        lengths = words.lengths
        start = 0
        for word in (*sorted(replaced), len(words)):
            own = words.ids[words.offsets[start] : words.offsets[word]]
            if len(own):
                distinct, first = np.unique(own, return_index=True)
                for piece in distinct[np.argsort(first)].tolist():
                    if renumbered[piece] < 0:
                        renumbered[piece] = numbers[names[piece]]
                parts.append(renumbered[own])
            if word in replaced:
                parts.append(np.array([numbers[piece] for piece in replaced[word]]))
                lengths[word] = len(replaced[word])
            start = word + 1
        ids = np.concatenate([np.empty(0, np.int64), *parts])
        return Ragged.from_lengths(ids, lengths), list(numbers)
