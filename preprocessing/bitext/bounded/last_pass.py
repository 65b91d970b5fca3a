"""The last pass over a chunk: its rows are written as ids to their places in the arrays of the result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.bitext.bounded.shards import Column, Shards, strings_of
from preprocessing.bitext.bounded.words import WORDS, Rows
from preprocessing.bitext.data import SIDES
from preprocessing.bitext.steps import detokenized
from preprocessing.pipeline.ragged import Ragged
from preprocessing.text.data import Data
from preprocessing.text.normalization import normalizer
from preprocessing.text.vocabulary import UNKNOWN_ID

FINAL = "final"
"""Shard of one side: the ``symbols`` of each word as ``ids`` and ``offsets``, and the vocabulary id of each symbol."""


@dataclass(frozen=True)
class Destination:
    """A shard of a split, and where its rows, the bytes of its texts and its tokens are in the arrays of that split.

    Attributes:
        split: the split that the shard belongs to.
        index: index of the shard in the split.
        part: the part of the corpus, with which the ids of rows begin.
        row: position of the first row in the arrays.
        text, tokens: positions of the first byte of text and of the first token, of source and target.
    """

    split: Rows
    index: int
    part: str
    row: int = 0
    text: tuple[int, int] = (0, 0)
    tokens: tuple[int, int] = (0, 0)

    @property
    def shard(self) -> str:
        return self.split.shards[self.index]


@dataclass(frozen=True)
class Sizes:
    """Count the selected rows of a shard, the bytes of their texts and their tokens, on source and target."""

    folder: Path

    def __call__(self, destination: Destination) -> tuple[int, tuple[int, int], tuple[int, int]]:
        shards = Shards(self.folder)
        selected = destination.split.masks(shards, "selected")[destination.index]
        text, tokens = [], []
        for side in SIDES:
            arrays = shards.load(destination.shard, [f"{side}.text.offsets"])
            text.append(int(np.diff(arrays[f"{side}.text.offsets"])[selected].sum()))
            words, _, pieces = words_of_rows(shards, destination.shard, side, selected)
            tokens.append(int(np.diff(pieces.offsets)[words.ids].sum()))
        return int(selected.sum()), (text[0], text[1]), (tokens[0], tokens[1])


@dataclass(frozen=True)
class LastPass:
    """Write the rows of a shard.

    Attributes:
        folder: folder of the shards.
        out: folder of the arrays.
        languages, lowercase: languages of the text, and whether it is lower-cased, to check that detokenisation
            restores it.
        states: tokenizers and what was learned, of source and target.
        width: characters of the ids of rows, by split.
    """

    folder: Path
    out: Path
    languages: tuple[str, str]
    lowercase: bool
    states: tuple[Data, Data]
    width: dict[str, int]

    def __call__(self, destination: Destination) -> str:
        """Write the rows, unless that is done; return the name of the shard with counts for the card."""
        shards, name = Shards(self.folder), destination.shard.replace("read", "written")
        if name in shards:
            return name
        split = destination.split
        selected = split.masks(shards, "selected")[destination.index]
        lines = shards.load(destination.shard, ["line"])["line"][selected].tolist()
        ids = np.array([f"{destination.part}:{line}" for line in lines], f"<U{self.width[split.name]}")
        Column(self.out / f"source.{split.name}.row_id.npy").write(destination.row, ids)
        notes: dict[str, Any] = {}
        lengths: dict[str, np.ndarray] = {}
        for number, side in enumerate(SIDES):
            arrays = shards.load(destination.shard, [f"{side}.text.utf8", f"{side}.text.offsets"])
            sizes = np.diff(arrays[f"{side}.text.offsets"])
            utf8 = arrays[f"{side}.text.utf8"][np.repeat(selected, sizes)]
            words, encoding, pieces = words_of_rows(shards, destination.shard, side, selected)
            tokens = words.expanded(pieces)
            encoded = tokens.mapped(encoding)
            ends = np.cumsum(sizes[selected]) + destination.text[number]
            columns = {
                "text.utf8": (destination.text[number], utf8),
                "text.offsets": (destination.row + 1, ends),
                "tokens.ids": (destination.tokens[number], tokens.ids),
                "tokens.offsets": (destination.row + 1, tokens.offsets[1:] + destination.tokens[number]),
                "encoded.ids": (destination.tokens[number], encoded.ids),
            }
            for column, (start, values) in columns.items():
                Column(self.out / f"{side}.{split.name}.{column}.npy").write(start, values)
            lengths[side] = np.bincount(tokens.lengths)
            unknown = np.concatenate([[0], np.cumsum(encoded.ids == UNKNOWN_ID)])
            notes[side] = {"rows_with_unknown": int((np.diff(unknown[encoded.offsets]) > 0).sum())}
            if split.name != "train":
                starts = np.concatenate([[0], ends - destination.text[number]]).tolist()
                raw = utf8.tobytes()
                texts = [raw[a:b].decode("utf-8") for a, b in pairwise(starts)]
                notes[side]["round_trip"] = self._round_trip(number, texts, tokens)
        shards.save(name, lengths, notes)
        return name

    def _round_trip(self, side: int, texts: list[str], tokens: Ragged) -> dict[str, Any]:
        """Count the texts that detokenisation restores; keep the first one that it does not restore."""
        normalize, symbols = normalizer(self.languages[side]), _symbols(self.folder, SIDES[side])
        counts: dict[str, Any] = {"rows": len(texts), "exact": 0, "but_for_spaces": 0}
        for row, text in enumerate(texts):
            wanted = normalize(text).lower() if self.lowercase else normalize(text)
            restored = detokenized(self.states[side], [symbols[token] for token in tokens[row].tolist()])
            counts["exact"] += wanted == restored
            counts["but_for_spaces"] += wanted.replace(" ", "") == restored.replace(" ", "")
            if wanted != restored:
                counts.setdefault("example", [wanted, restored])
        return counts


def words_of_rows(shards: Shards, shard: str, side: str, selected: np.ndarray) -> tuple[Ragged, np.ndarray, Ragged]:
    """The words of the selected rows of a shard, the vocabulary id of each symbol, and the symbols of each word."""
    arrays = shards.load(shard, [f"{side}.tokens", f"{side}.lengths"])
    words = Ragged.from_lengths(arrays[f"{side}.tokens"], arrays[f"{side}.lengths"])
    numbers = shards.load(f"{WORDS}-{side}", [shard])[shard]
    words = (words if selected.all() else words.take(selected)).mapped(numbers)
    encoding, pieces = _final(shards.folder, side)
    return words, encoding, pieces


@lru_cache(maxsize=2)
def _final(folder: Path, side: str) -> tuple[np.ndarray, Ragged]:
    arrays = Shards(folder).load(f"{FINAL}-{side}", ["ids", "offsets", "encoding"])
    return arrays["encoding"], Ragged(arrays["ids"], arrays["offsets"])


@lru_cache(maxsize=2)
def _symbols(folder: Path, side: str) -> list[str]:
    return strings_of(Shards(folder).load(f"{FINAL}-{side}", ["symbols.utf8", "symbols.offsets"]), "symbols")
