"""What is known about a corpus before any of its bytes are read: address, hash, licence, layout, rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus. ``layout``: its path below the data root, then other accepted paths.

    ``member``: the only file that is read from a zip archive; ``sha256`` is then that of the member, because archives
    of the same text differ. ``content``: SHA-256 of the files in an archive or folder, as computed by the step that
    reads it (``document_reading.content_sha256``, ``crawl_reading.read_crawl``) and checked there, so that the same
    text is accepted in any archive. ``optional``: the corpus is usable without it.
    """

    layout: tuple[str, ...]
    url: str | None = None
    sha256: str | None = None
    rows: int | None = None
    member: str | None = None
    content: str | None = None
    optional: bool = False


@dataclass(frozen=True)
class RegisteredCorpus:
    """A corpus of the registry. ``files``: the file of each part, by its name (``train``...)."""

    name: str
    title: str
    licence: str
    homepage: str
    files: Mapping[str, CorpusFile]
    how_to_get: str
    embedded: bool = False
