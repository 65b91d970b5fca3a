"""Rows of unequal length as two flat arrays, so that an operation on all ids is one NumPy expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Ragged(Sequence[np.ndarray]):
    """``ids`` (ids,) int32 and ``offsets`` (rows + 1,) int64: row ``i`` is ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: np.ndarray
    offsets: np.ndarray

    def __post_init__(self) -> None:
        if self.ids.dtype != np.int32 or self.offsets.dtype != np.int64:
            raise TypeError(f"ids must be int32 and offsets int64, not {self.ids.dtype} and {self.offsets.dtype}")
        if len(self.offsets) == 0 or self.offsets[0] != 0 or self.offsets[-1] != len(self.ids):
            raise ValueError("offsets must start at 0 and end at the number of ids")

    @classmethod
    def from_lengths(cls, ids: np.ndarray, lengths: np.ndarray) -> Ragged:
        """Divide flat ids (ids,) into rows of the given lengths (rows,)."""
        return cls(np.asarray(ids, np.int32), _offsets(lengths))

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Build from nested sequences: for small data and for tests."""
        flat = np.fromiter((item for row in rows for item in row), np.int32)
        return cls.from_lengths(flat, np.fromiter(map(len, rows), np.int64, len(rows)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: Any) -> Any:
        """The ids of one row, a view of shape (length,); of a slice, a list of such views."""
        row = range(len(self))[row]
        if isinstance(row, range):
            return [self[each] for each in row]
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Ids per row, (rows,) int64."""
        return np.diff(self.offsets)

    def take(self, rows: np.ndarray) -> Ragged:
        """The selected rows; ``rows`` are indices or a boolean mask of shape (len(self),)."""
        return self._gather(self.offsets[:-1][rows], self.lengths[rows])

    def slice(self, start: int, stop: int) -> Ragged:
        """Rows ``start`` to ``stop`` without copying the ids."""
        offsets = self.offsets[start : stop + 1]
        return Ragged(self.ids[offsets[0] : offsets[-1]], offsets - offsets[0])

    def truncated(self, max_length: int) -> Ragged:
        """The first ``max_length`` ids of each row."""
        if max_length < 0:
            raise ValueError(f"max_length must not be negative, got {max_length}")
        return self._gather(self.offsets[:-1], np.minimum(self.lengths, max_length))

    def ends(self, max_length: int) -> Ragged:
        """The last ``max_length`` ids of each row."""
        if max_length < 0:
            raise ValueError(f"max_length must not be negative, got {max_length}")
        lengths = np.minimum(self.lengths, max_length)
        return self._gather(self.offsets[1:] - lengths, lengths)

    def where(self, mask: np.ndarray) -> Ragged:
        """The ids for which ``mask`` (ids,) of bool is true; rows may become empty."""
        counts = np.concatenate([[0], np.cumsum(mask, dtype=np.int64)])
        return Ragged(self.ids[mask], counts[self.offsets])

    def mapped(self, table: np.ndarray) -> Ragged:
        """Each id ``i`` replaced by ``table[i]``; the rows keep their lengths."""
        return Ragged(np.asarray(table, np.int32)[self.ids], self.offsets)

    def expanded(self, table: Ragged) -> Ragged:
        """Each id ``i`` replaced by the ids of row ``i`` of ``table``: none, one or several."""
        parts = table.take(self.ids)
        return Ragged(parts.ids, parts.offsets[self.offsets])

    def sums(self) -> np.ndarray:
        """The sum of the ids of each row, (rows,) int64: for ids that are counts."""
        total = np.concatenate([[0], np.cumsum(self.ids, dtype=np.int64)])
        summed: np.ndarray = np.diff(total[self.offsets])
        return summed

    def counts(self, size: int) -> np.ndarray:
        """How often each of the ids 0 to ``size - 1`` occurs, (size,) int64."""
        return np.bincount(self.ids, minlength=size).astype(np.int64, copy=False)

    def padded(self, pad: int, max_length: int | None = None) -> np.ndarray:
        """(rows, T) int32, ``pad`` after each row; T is ``max_length``, else the longest row. Longer rows are cut."""
        width = int(self.lengths.max(initial=0)) if max_length is None else max_length
        rows = self.truncated(width)
        out = np.full((len(self), width), pad, np.int32)
        out[np.arange(width) < rows.lengths[:, None]] = rows.ids
        return out

    def _gather(self, starts: np.ndarray, lengths: np.ndarray) -> Ragged:
        offsets = _offsets(lengths)
        positions = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Ragged(self.ids[positions], offsets)


def _offsets(lengths: np.ndarray) -> np.ndarray:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def pack_strings(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Strings as one UTF-8 byte array (bytes,) uint8 and byte offsets (strings + 1,) int64: storable without pickle."""
    encoded = [string.encode("utf-8") for string in strings]
    return (
        np.frombuffer(b"".join(encoded), np.uint8),
        _offsets(np.fromiter(map(len, encoded), np.int64, len(encoded))),
    )


def unpack_strings(utf8: np.ndarray, offsets: np.ndarray) -> list[str]:
    """The inverse of :func:`pack_strings`."""
    raw, bounds = utf8.tobytes(), offsets.tolist()
    return [raw[start:stop].decode("utf-8") for start, stop in pairwise(bounds)]


def string_arrays(name: str, strings: Sequence[str]) -> dict[str, np.ndarray]:
    """The arrays of :func:`pack_strings`, named ``<name>_utf8`` and ``<name>_offsets``."""
    utf8, offsets = pack_strings(strings)
    return {f"{name}_utf8": utf8, f"{name}_offsets": offsets}


def strings_in(arrays: Mapping[str, np.ndarray], name: str) -> list[str]:
    """The inverse of :func:`string_arrays`."""
    return unpack_strings(arrays[f"{name}_utf8"], arrays[f"{name}_offsets"])


class PackedStrings(Sequence[str]):
    """Strings that stay packed, possibly on disk, and are decoded when they are read. They are indexed like an object
    array of strings: row numbers or a mask return such an array."""

    def __init__(self, utf8: np.ndarray, offsets: np.ndarray) -> None:
        """``utf8`` and ``offsets`` are those of :func:`pack_strings`."""
        self.utf8, self.offsets = utf8, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, (int, np.integer)):
            row = range(len(self))[rows]
            return self.utf8[self.offsets[row] : self.offsets[row + 1]].tobytes().decode("utf-8")
        chosen = np.arange(len(self))[rows].tolist()
        column = np.empty(len(chosen), object)
        column[:] = [self[row] for row in chosen]
        return column

    def tolist(self) -> list[str]:
        """All strings, in memory."""
        return list(self)


def packed_strings(strings: Any) -> tuple[np.ndarray, np.ndarray]:
    """:func:`pack_strings` of a column of strings, which may be packed."""
    if isinstance(strings, PackedStrings):
        return strings.utf8, strings.offsets
    return pack_strings(strings.tolist())
