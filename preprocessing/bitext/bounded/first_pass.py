"""The first pass over a chunk, which needs no other chunk: read, check, normalise, lower-case, tokenise, hash."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.bitext.bounded.chunks import Chunk
from preprocessing.bitext.bounded.shards import Shards, packed
from preprocessing.bitext.data import SIDES
from preprocessing.bitext.reading import empty_side
from preprocessing.corpora.reading import CRLF, UNIX_LINES, check_text, decoded
from preprocessing.errors import InputError
from preprocessing.text.normalization import loose_key, normalizer
from preprocessing.text.parallel import tokenize_texts
from preprocessing.text.steps import SHOWN
from preprocessing.text.tokenizers.tokenizer import Tokenizer

HASHES = ("raw", "prepared", "letters")
"""Hashes of each sentence: of the raw line, of the text before tokenization, and of its letters and digits."""


@dataclass(frozen=True)
class FirstPass:
    """The first pass, as sent to the workers, with the parameters of the steps up to ``tokenize``."""

    folder: Path
    languages: tuple[str, str]
    tokenizers: tuple[Tokenizer, Tokenizer]
    lowercase: bool
    empty: str
    longest: int
    given: bool

    def __call__(self, chunk: Chunk) -> str:
        """Process a chunk and write its shard, unless the shard exists; return the name of the shard."""
        shards = Shards(self.folder)
        if chunk.name in shards:
            return chunk.name
        texts = [self._lines(chunk, side) for side in range(2)]
        lines = np.arange(chunk.first, chunk.first + len(texts[0]))
        blank = [row for row, pair in enumerate(zip(*texts, strict=True)) if not all(text.strip() for text in pair)]
        if blank:
            if self.empty == "refuse":
                side = 0 if not texts[0][blank[0]].strip() else 1
                raise empty_side(chunk.paths[side], self.languages[side], int(lines[blank[0]]))
            left_out = set(blank)
            texts = [[text for row, text in enumerate(column) if row not in left_out] for column in texts]
        arrays: dict[str, np.ndarray] = {"line": np.delete(lines, blank)}
        notes: dict[str, Any] = {"blank": lines[blank].tolist()[:SHOWN], "blanks": len(blank)}
        notes["padded"] = sum(text != text.strip() for column in texts for text in column)
        for number, name in enumerate(SIDES):
            columns, notes[name] = self._side(texts[number], number)
            arrays |= {f"{name}.{column}": values for column, values in columns.items()}
        shards.save(chunk.name, arrays, notes)
        return chunk.name

    def _lines(self, chunk: Chunk, side: int) -> list[str]:
        """The checked texts of one side of a chunk."""
        raw, path = chunk.texts[side], chunk.paths[side]
        if b"\r\n" in raw and not chunk.collection.carriage_returns:
            line = chunk.first + raw.count(b"\n", 0, raw.index(b"\r\n"))
            raise InputError(path, CRLF, line=line, remedy=UNIX_LINES)
        lines = decoded(path, raw, first=chunk.first).split("\n")[:-1]
        if max(map(len, lines)) > self.longest:
            line = next(number for number, text in enumerate(lines) if len(text) > self.longest)
            reason = f"a sentence of {len(lines[line])} characters, at most {self.longest} are allowed"
            remedy = "one sentence per line: are line feeds missing?"
            raise InputError(path, reason, line=chunk.first + line, remedy=remedy)
        if self.given and b"\0" in raw:
            for number, text in enumerate(lines):
                check_text(path, text, line=chunk.first + number, longest=self.longest)
        return lines

    def _side(self, texts: list[str], side: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The columns of one side of a chunk, and what the card needs of it."""
        normalized = list(map(normalizer(self.languages[side]), texts))
        changed = [row for row, text in enumerate(normalized) if text != texts[row]]
        prepared = list(map(str.lower, normalized)) if self.lowercase else normalized
        symbols, ids, lengths = tokenize_texts(self.tokenizers[side], prepared)
        columns = packed("text", texts) | packed("symbols", symbols)
        columns |= {"tokens": ids, "lengths": lengths.astype(np.int32)}
        columns["characters"] = np.fromiter(map(len, texts), np.int32, len(texts))
        for name, column in zip(HASHES, (texts, prepared, map(loose_key, prepared)), strict=True):
            columns[name] = hashes(column)
        notes: dict[str, Any] = {"changed": len(changed)}
        if changed:
            notes["example"] = [texts[changed[0]], normalized[changed[0]]]
        return columns, notes


def hashes(texts: Iterable[str]) -> np.ndarray:
    """128 bits of each text, (texts, 2) of uint64."""
    blake: Callable[..., Any] = hashlib.blake2b
    digests = b"".join([blake(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts])
    return np.frombuffer(digests, "<u8").reshape(-1, 2)


def of_pairs(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """128 bits of each pair from those of its sides."""
    return source * np.uint64(0x9E3779B97F4A7C15) + target * np.uint64(0xC2B2AE3D27D4EB4F)
