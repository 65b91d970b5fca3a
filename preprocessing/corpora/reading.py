"""Strict reading of text files, compressed or not: every error is one line with file, line, reason and remedy."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedIOBase, BufferedReader, RawIOBase
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import IO, Any

from preprocessing.errors import InputError

FETCH_AGAIN = "fetch the official file again"
CRLF, UNIX_LINES = "Windows line endings (CRLF)", "save the file with Unix line endings (LF)"
_BLOCK = 1 << 16
SMALL, _LARGEST_RATIO = 1 << 26, 100
"""Unpacked size in bytes that is always accepted, and maximum compression ratio of larger files."""
BROKEN: tuple[type[Exception], ...] = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)
"""Exceptions that the standard library raises for a truncated or damaged archive."""
_COMPRESSED = (".zip", ".gz", ".tgz", ".xz", ".txz", ".bz2", ".tbz2")
UNREADABLE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
"""Exceptions for a file that cannot be opened at all, which :data:`BROKEN` has too."""


def unreadable(path: Path, error: OSError) -> InputError:
    """The error of a file that cannot be opened."""
    return InputError(path, f"cannot be read ({error.strerror})", remedy="name a file that you may read")


def read_bytes(path: Path, member: str | None = None) -> bytes:
    """The bytes of a file, decompressed by its ending (:func:`unpacked`), or of one member of a ``.zip``.

    Raises InputError for a file that cannot be opened, and for a truncated or damaged one with the last line that could
    be read.
    """
    content = bytearray()
    try:
        with unpacked(path, member) as stream:
            while block := stream.read(_BLOCK):
                content += block
    except UNREADABLE as error:
        raise unreadable(path, error) from error
    except BROKEN as error:
        if isinstance(error, OSError) and path.suffix not in _COMPRESSED:
            raise unreadable(path, error) from error
        reason = f"cannot be decompressed to its end: truncated or damaged ({str(error) or type(error).__name__})"
        raise InputError(path, reason, line=content.count(b"\n") + 1, remedy=FETCH_AGAIN) from error
    return bytes(content)


def sha256_of_member(path: Path, member: str) -> str:
    """SHA-256 of one file in a zip archive; unlike that of the archive it does not change when the archive is packed
    again."""
    return hashlib.sha256(read_bytes(path, member)).hexdigest()


def decoded(path: str | PathLike[str], raw: bytes, *, first: int = 1) -> str:
    """Bytes decoded as UTF-8; raises InputError with the line of the first invalid byte. ``first`` is the number of
    their first line in the file."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + raw.count(b"\n", 0, error.start)
        reason = f"invalid UTF-8 (byte 0x{raw[error.start]:02x}: {error.reason}){looks_like(raw)}"
        raise InputError(path, reason, line=line, remedy=f"save the file as UTF-8, or {FETCH_AGAIN}") from error


def looks_like(raw: bytes) -> str:
    """A guess at the encoding of a file that is not UTF-8, to add to an error."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "; it looks like UTF-16, as Excel writes Unicode text"
    try:
        raw.decode("cp949")
    except UnicodeDecodeError:
        return ""
    return "; it looks like CP949 (EUC-KR), as Korean Windows writes it" if _COMMON_SYLLABLE.search(raw) else ""


_COMMON_SYLLABLE = re.compile(rb"[\xb0-\xc8][\xa1-\xfe]")
"""A Hangul syllable of KS X 1001. Others of CP949 are rare: an apostrophe of Windows-1252 and a letter look so."""


def read_lines(path: Path, member: str | None = None, *, carriage_returns: bool = False) -> list[str]:
    """All lines of a UTF-8 file without their line feeds.

    Only a line feed ends a line, and the last line must have one. Raises InputError for an empty file, a byte order
    mark, Windows line endings (unless ``carriage_returns`` are characters like any other), a missing last line feed,
    invalid UTF-8.
    """
    content = decoded(path, read_bytes(path, member))
    if not content:
        raise InputError(path, "no lines: the file is empty", line=1, remedy=FETCH_AGAIN)
    if content.startswith("\ufeff"):
        raise InputError(path, "begins with a byte order mark", line=1, remedy="save the file as UTF-8 without it")
    if not carriage_returns and "\r\n" in content:
        line = content[: content.index("\r\n")].count("\n") + 1
        raise InputError(path, CRLF, line=line, remedy=UNIX_LINES)
    lines = content.split("\n")
    if lines.pop():
        reason = "the last line has no line feed: the file may be truncated"
        raise InputError(path, reason, line=len(lines) + 1, remedy=f"add it if the line is whole, or {FETCH_AGAIN}")
    return lines


_SURROGATE = re.compile("[\ud800-\udfff]")


def has_half_pair(text: str) -> bool:
    """Whether a text contains half a surrogate pair, which JSON can escape, but which is not a character."""
    return _SURROGATE.search(text) is not None


def check_count(path: Path, count: int, expected: int | None, unit: str = "rows", *, remedy: str = FETCH_AGAIN) -> None:
    """Raise InputError unless as many rows were read as the official corpus has; None if that is not known."""
    if expected is not None and count != expected:
        raise InputError(path, f"{count} {unit}, the official corpus has {expected}", remedy=remedy)


def check_text(where: str | PathLike[str], text: str, *, line: int | None = None, longest: int) -> None:
    """Raise InputError for a text in your own files that must be a mistake: with a NUL, or with more than ``longest``
    characters."""
    if "\0" in text:
        remedy = "remove it: is this a text file in UTF-8?"
        raise InputError(where, "contains a NUL character", line=line, remedy=remedy)
    if len(text) > longest:
        reason = f"a text of {len(text)} characters, at most {longest} are allowed"
        raise InputError(where, reason, line=line, remedy="divide it: are line feeds missing?")


def of_own_file(error: InputError) -> InputError:
    """The error without the advice to fetch an official file, for your own files."""
    remedy = error.remedy.removesuffix(FETCH_AGAIN).rstrip(" :").removesuffix(", or")
    return InputError(error.where, error.reason, line=error.line, remedy=remedy or "correct or replace the file")


@contextmanager
def unpacked(path: Path, member: str | None = None) -> Iterator[IO[bytes] | BufferedIOBase]:
    """A file as a stream, decompressed if its name ends in ``.gz``, ``.tgz``, ``.xz``, ``.txz``, ``.bz2``, ``.tbz2`` or
    ``.zip``; reading it may raise the errors ``BROKEN``.

    Raises InputError for a compressed file whose content is larger than text can be: for a zip archive, by the size
    that it states, before anything is decompressed; otherwise, as soon as that much has been read.
    """
    with ExitStack() as stack:
        if path.suffix == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(path))
            name = _inside(path, archive, member)
            check_unpacked(path, archive.getinfo(name).file_size)
            yield stack.enter_context(archive.open(name))
        elif path.suffix in (".gz", ".tgz"):
            yield limited(path, stack.enter_context(gzip.GzipFile(path)))
        elif path.suffix in (".xz", ".txz"):
            yield limited(path, stack.enter_context(lzma.LZMAFile(path)))
        elif path.suffix in (".bz2", ".tbz2"):
            yield limited(path, stack.enter_context(bz2.BZ2File(path)))
        else:
            yield stack.enter_context(path.open("rb"))


def check_unpacked(path: Path, size: int) -> None:
    """Raise InputError if ``size`` is too large for the content of a compressed file: such a file is not text, but made
    to fill memory."""
    packed = path.stat().st_size
    if size > max(SMALL, _LARGEST_RATIO * packed):
        reason = f"{packed} bytes become more than {max(SMALL, _LARGEST_RATIO * packed)}, which no text does"
        raise InputError(path, reason, remedy="unpack it and check what is in it before you use it")


def limited(path: Path, stream: IO[bytes] | BufferedIOBase) -> BufferedReader:
    """A stream that decompresses a file, with the limit of :func:`check_unpacked`."""
    return BufferedReader(_Limited(path, stream))


class _Limited(RawIOBase):
    """A decompressed stream that raises an error when it becomes too large."""

    def __init__(self, path: Path, stream: IO[bytes] | BufferedIOBase) -> None:
        self._path, self._stream, self._size = path, stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(len(buffer))
        self._size += len(block)
        check_unpacked(self._path, self._size)
        buffer[: len(block)] = block
        return len(block)


def _inside(path: Path, archive: zipfile.ZipFile, member: str | None) -> str:
    """The one name in the archive whose last part is ``member``; the folders around it are ignored."""
    if member is None:
        raise InputError(path, "is a zip archive", remedy="unpack it and give the file")
    names = [name for name in archive.namelist() if PurePosixPath(name).name == member]
    if len(names) != 1:
        count = f"{len(names)} files" if names else "no file"
        raise InputError(path, f"the archive contains {count} named {member}", remedy=FETCH_AGAIN)
    return names[0]
