"""Read two parallel files in chunks of the same lines, once from the first line to the last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

from preprocessing.bitext.reading import Collection
from preprocessing.bitext.segments import is_markup, read_segments
from preprocessing.corpora import CorpusFiles
from preprocessing.corpora.reading import BROKEN, FETCH_AGAIN, UNREADABLE, check_count, unpacked, unreadable
from preprocessing.errors import InputError

CHUNK = 16_384
"""Number of pairs in a chunk. It does not affect the result."""

_LONGEST_LINE = 1 << 22


@dataclass(frozen=True)
class Chunk:
    """The lines from number ``first`` on (counted from 1) of both files of a collection, as bytes with their line
    feeds."""

    number: int
    collection: Collection
    paths: tuple[Path, Path]
    first: int
    texts: tuple[bytes, bytes]

    @property
    def name(self) -> str:
        """Name of the shard with what is read from the chunk."""
        return f"read-{self.number:06d}"


def chunks(files: CorpusFiles, collection: Collection, paths: tuple[Path, Path], start: int) -> Iterator[Chunk]:
    """The chunks of a collection, numbered from ``start``. Raises InputError for the first error that concerns more
    than one line: files of different lengths, a truncated file, an official file with another number of rows."""
    with _Lines(paths[0]) as source, _Lines(paths[1]) as target:
        first = 1
        while True:
            texts = source.take(CHUNK), target.take(CHUNK)
            counts = [len(lines) for lines in texts]
            if counts[0] != counts[1]:
                totals = [first - 1 + counts[0] + source.count(), first - 1 + counts[1] + target.count()]
                reason = f"{totals[0]} lines, but {paths[1].name} has {totals[1]}: they are not parallel"
                remedy = f"find the first misaligned line, or {FETCH_AGAIN}"
                raise InputError(paths[0], reason, line=min(totals) + 1, remedy=remedy)
            if not counts[0]:
                break
            yield Chunk(start, collection, paths, first, (b"".join(texts[0]), b"".join(texts[1])))
            start, first = start + 1, first + counts[0]
    if first == 1:
        raise InputError(paths[0], "no lines: the file is empty", line=1, remedy=FETCH_AGAIN)
    for path in paths:
        part = next(part for part, other in files.paths.items() if other == path)
        check_count(path, first - 1, files.rows.get(part))


class _Lines:
    """The lines of one file in order, as bytes with their line feeds."""

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0

    def __enter__(self) -> _Lines:
        self._context: Any = None
        if is_markup(self._path):
            self._lines: Iterator[bytes] = (f"{text}\n".encode() for text in read_segments(self._path))
            return self
        self._context = unpacked(self._path)
        try:
            stream: IO[bytes] = self._context.__enter__()
        except UNREADABLE as error:
            raise unreadable(self._path, error) from error
        except BROKEN as error:
            raise self._broken(error) from error
        self._lines = iter(partial(stream.readline, _LONGEST_LINE), b"")
        return self

    def __exit__(self, *error: object) -> None:
        if self._context is not None:
            self._context.__exit__(*error)

    def take(self, number: int) -> list[bytes]:
        """The next lines, fewer at the end of the file."""
        lines: list[bytes] = []
        try:
            for line in islice(self._lines, number):
                lines.append(line)
                if len(line) >= _LONGEST_LINE:  # at once: a file without line feeds would fill memory with such lines
                    remedy = "one sentence per line: are line feeds missing?"
                    at = self._read + len(lines)
                    raise InputError(self._path, f"a line of {len(line)} bytes or more", line=at, remedy=remedy)
        except BROKEN as error:
            raise self._broken(error) from error
        if lines and not lines[-1].endswith(b"\n"):
            reason = "the last line has no line feed: the file may be truncated"
            remedy = f"add it if the line is whole, or {FETCH_AGAIN}"
            raise InputError(self._path, reason, line=self._read + len(lines), remedy=remedy)
        if lines and not self._read and lines[0].startswith(b"\xef\xbb\xbf"):
            reason = "begins with a byte order mark"
            raise InputError(self._path, reason, line=1, remedy="save the file as UTF-8 without it")
        self._read += len(lines)
        return lines

    def count(self) -> int:
        """How many lines are left."""
        try:
            return sum(1 for _ in self._lines)
        except BROKEN as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> InputError:
        reason = f"cannot be decompressed to its end: truncated or damaged ({str(error) or type(error).__name__})"
        return InputError(self._path, reason, line=self._read + 1, remedy=FETCH_AGAIN)
