"""Find sentences and pairs that occur more than once, by hashes of 128 bits.

The hashes that begin with the same bits are sorted together, one such part at a time: memory is bounded whatever the
number of hashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from preprocessing.bitext.bounded.first_pass import of_pairs
from preprocessing.bitext.bounded.shards import Shards

AT_ONCE = 1 << 22
"""Approximate number of hashes in memory at a time."""


@dataclass(frozen=True)
class FindCopies:
    """Find the rows of shards whose hash occurs in an earlier row.

    Attributes:
        folder, shards: where the rows are, in order.
        rows: number of rows of each shard.
        kind: kind of the hashes.
        sides: the sides whose hashes are compared, one or both.
    """

    folder: Path
    shards: tuple[str, ...]
    rows: tuple[int, ...]
    kind: str
    sides: tuple[str, ...]

    def __call__(self) -> np.ndarray:
        """The row numbers of the copies, counted over all shards, ascending."""
        bits = max(0, int(np.ceil(np.log2(max(1, sum(self.rows)) / AT_ONCE))))
        copies = [self._copies(*self._part(part, bits)) for part in range(1 << bits)]
        return np.sort(np.concatenate(copies))

    def _part(self, part: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
        """The hashes that begin with the bits of a part, and their rows."""
        hashes, rows = [np.empty((0, 2), np.uint64)], [np.empty(0, np.int64)]
        for start, own in self._hashes():
            chosen = np.flatnonzero(own[:, 0] >> np.uint64(64 - bits) == part) if bits else np.arange(len(own))
            hashes.append(own[chosen])
            rows.append(chosen + start)
        return np.concatenate(hashes), np.concatenate(rows)

    def _hashes(self) -> Iterator[tuple[int, np.ndarray]]:
        start = 0
        for name, rows in zip(self.shards, self.rows, strict=True):
            columns = list(Shards(self.folder).load(name, [f"{side}.{self.kind}" for side in self.sides]).values())
            yield start, columns[0] if len(columns) == 1 else of_pairs(*columns)
            start += rows

    @staticmethod
    def _copies(hashes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        order = np.argsort(hashes[:, 0], kind="stable")
        first = hashes[order, 0]
        same = np.flatnonzero(first[1:] == first[:-1])
        if not (hashes[order[same], 1] == hashes[order[same + 1], 1]).all():
            order = np.lexsort((hashes[:, 1], hashes[:, 0]))
            ordered = hashes[order]
            same = np.flatnonzero((ordered[1:] == ordered[:-1]).all(axis=1))
        copies: np.ndarray = rows[order[same + 1]]
        return copies


def members(hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Which of the hashes (n, 2) are among the wanted ones (m, 2), (n,) of bool."""
    if not len(wanted) or not len(hashes):
        return np.zeros(len(hashes), np.bool_)
    ordered = np.unique(_joined(wanted))
    own = _joined(hashes)
    nearest = np.minimum(np.searchsorted(ordered["first"], own["first"]), len(ordered) - 1)
    possible = np.flatnonzero(ordered["first"][nearest] == own["first"])
    is_member = np.zeros(len(hashes), np.bool_)
    is_member[possible] = np.isin(own[possible], ordered)
    return is_member


def _joined(hashes: np.ndarray) -> np.ndarray:
    """Each hash as one value that is compared by all its bits."""
    return np.ascontiguousarray(hashes).view([("first", "<u8"), ("second", "<u8")])[:, 0]
