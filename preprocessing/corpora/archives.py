"""The files of a folder, or of a tar archive: ``.tar``, ``.tar.gz``, ``.tar.bz2`` or ``.tar.xz``."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from preprocessing.corpora.reading import BROKEN, FETCH_AGAIN, check_unpacked, unpacked
from preprocessing.errors import InputError

_BLOCK = 1 << 20
_GIVE = "give a folder, .tar, .tar.gz, .tar.bz2 or .tar.xz"
_ZIP = b"PK\x03\x04"
_BROKEN: tuple[type[Exception], ...] = (tarfile.TarError, *BROKEN)


def contents(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of each wanted file of a folder or archive; ``wanted`` is called with its name in there.

    Files of a folder are ordered by name, those of an archive as they are stored.

    Raises InputError for an archive that cannot be unpacked or whose members lead out of it, and for a wanted file
    whose name is not UTF-8.
    """
    for name, raw in _of_folder(path, wanted) if path.is_dir() else _of_archive(path, wanted):
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"{path}: {name!r}", "the name of the file is not UTF-8", remedy="rename it") from error
        yield name, raw


@contextmanager
def opened(path: Path) -> Iterator[tarfile.TarFile]:
    """A tar archive as a stream, whose members are read in their order: seeking back in a compressed archive would
    decompress it from the beginning. Raises InputError for an archive that cannot be unpacked to its end."""
    with path.open("rb") as file:
        if file.read(len(_ZIP)) == _ZIP:
            raise InputError(path, "is a zip archive", remedy="unpack it and give the folder")
    try:
        with unpacked(path) as stream, tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK) as archive:
            yield archive
            # The checksum of the compression comes after the end of the archive.
            while stream.read(_BLOCK):
                pass
    except _BROKEN as error:
        reason = f"is not a tar archive, or cannot be decompressed to its end ({str(error) or type(error).__name__})"
        raise InputError(path, reason, remedy=f"{_GIVE}, or {FETCH_AGAIN}") from error


def content(path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """The bytes of a regular file in the archive that ``path`` was opened as."""
    check_unpacked(path, member.size)  # a sparse member can state a larger size than the archive has
    stream = archive.extractfile(member)
    assert stream is not None, "a regular file has content"
    return stream.read()


def leads_out(name: str) -> bool:
    """Whether the name of a member leads out of its archive."""
    return ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute()


def _of_folder(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        if file.is_file() and wanted(name):
            yield name, file.read_bytes()


def _of_archive(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    with opened(path) as archive:
        for member in archive:
            if leads_out(member.name):
                raise InputError(f"{path}: {member.name}", "leads out of the archive", remedy=FETCH_AGAIN)
            if member.isfile() and wanted(member.name):
                yield member.name, content(path, archive, member)
