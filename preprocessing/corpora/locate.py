"""Find the files of a registered corpus (``registry.py``), verify and, where needed, download them.

A file is searched for below the data root (``GLUON_ATTN_DATA``), then in the user cache
(``$XDG_CACHE_HOME/gluon-attn/data``, else ``~/.cache/gluon-attn/data``), then downloaded into the user cache, unless
``GLUON_ATTN_OFFLINE`` is set to ``1``. A file with the wrong SHA-256 is an error, wherever it is: it is never used and
never skipped.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from preprocessing.corpora.corpus import CorpusFile, RegisteredCorpus
from preprocessing.corpora.reading import sha256_of_member
from preprocessing.corpora.registry import REGISTRY
from preprocessing.errors import InputError, MissingError
from preprocessing.files import sha256_of, sha256_of_folder

SAMPLE_ROOT = Path(__file__).parent / "sample"


@dataclass(frozen=True)
class CorpusFiles:
    """A corpus on this machine, its hashes verified. The keys of all mappings are part names (``train``, ``test``...).

    ``rows``: official row counts, where known. ``members``: the file to read in an archive. ``contents``: the expected
    SHA-256 of the documents in a part whose own bytes are not the official ones. ``origin`` is one of ``data root``,
    ``user cache``, ``downloaded``, ``embedded``, ``given``. ``stamps``: size and time of change of each part when it
    was hashed.
    """

    name: str
    paths: dict[str, Path]
    sha256: dict[str, str]
    licence: str
    urls: dict[str, str]
    origin: str
    title: str = ""
    homepage: str = ""
    rows: dict[str, int] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    stamps: dict[str, str] = field(default_factory=dict, compare=False)

    def path(self, part: str) -> Path:
        """The path of a part; raises InputError when the corpus does not have it."""
        if part not in self.paths:
            remedy = f"give it too; given are {', '.join(self.paths) or 'none'}"
            raise InputError(f"corpus {self.name}", f"has no part {part}", remedy=remedy)
        return self.paths[part]

    def only(self, parts: Iterable[str]) -> CorpusFiles:
        """The same corpus restricted to these parts; a part that it does not have is ignored."""
        available = [part for part in parts if part in self.paths]
        return replace(
            self,
            paths={part: self.paths[part] for part in available},
            sha256={part: self.sha256[part] for part in available},
            urls={part: self.urls[part] for part in available if part in self.urls},
            rows={part: self.rows[part] for part in available if part in self.rows},
            members={part: self.members[part] for part in available if part in self.members},
            contents={part: self.contents[part] for part in available if part in self.contents},
            stamps={part: self.stamps[part] for part in available if part in self.stamps},
        )

    def check_unchanged(self) -> None:
        """Raise InputError for a part that was changed after it was hashed: what is read from it would be stored under
        the hash of other bytes."""
        for part, stamp in self.stamps.items():
            if stamp != _stamp(self.paths[part]):
                remedy = "run again when nothing writes to it"
                raise InputError(self.paths[part], "was changed while it was in use", remedy=remedy)


def user_cache() -> Path:
    """The folder for downloads and results: ``$XDG_CACHE_HOME/gluon-attn``, else ``~/.cache/gluon-attn``; without a
    home folder, as in some containers, a folder below the one for temporary files."""
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "gluon-attn"
    try:
        return Path.home() / ".cache" / "gluon-attn"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"gluon-attn-{os.getuid()}"


def find(name: str, *, offline: bool = False) -> CorpusFiles:
    """Locate every file of a registered corpus, verify its SHA-256, and download what is missing unless ``offline``.

    Raises InputError for an unknown name, a file whose bytes are not the official ones, or a data root that is not a
    folder; MissingError for a file that is not found and cannot be downloaded.
    """
    corpus = REGISTRY.get(name)
    if corpus is None:
        raise InputError(name, "no such corpus", remedy=f"known are {', '.join(REGISTRY)}")
    paths, hashes, stamps, origins = {}, {}, {}, []
    for part, file in corpus.files.items():
        if file.optional and not _existing(corpus, file):
            continue
        path, origin = _locate(corpus, file, offline=offline)
        paths[part], stamps[part], hashes[part] = path, _stamp(path), _verified(path, file)
        origins.append(origin)
    return CorpusFiles(
        name=corpus.name,
        paths=paths,
        sha256=hashes,
        licence=corpus.licence,
        urls={part: file.url for part, file in corpus.files.items() if file.url and part in paths},
        origin=" and ".join(dict.fromkeys(origins)),
        title=corpus.title,
        homepage=corpus.homepage,
        rows={part: file.rows for part, file in corpus.files.items() if file.rows and part in paths},
        members={part: file.member for part, file in corpus.files.items() if file.member and part in paths},
        contents={
            part: file.content
            for part, file in corpus.files.items()
            if file.content and part in paths and hashes[part] != file.sha256
        },
        stamps=stamps,
    )


def is_downloaded(name: str) -> bool:
    """Whether :func:`find` downloads all files of a registered corpus that it needs and does not find."""
    files = [file for file in REGISTRY[name].files.values() if not file.optional]
    return not _is_offline() and all(file.url and file.sha256 for file in files)


def given(
    name: str, paths: Mapping[str, Path | str], licence: str = "not stated", *, folders: bool = False
) -> CorpusFiles:
    """Your own files as a corpus; their hashes are computed, not checked. With ``folders`` a path may be a folder of
    files. Raises InputError for a path that is not a file, and if no paths are given."""
    if not paths:
        raise InputError(name, "no files are given", remedy="give the path of each part, such as train and test")
    files = {part: Path(path) for part, path in paths.items()}
    for path in files.values():
        if not (path.is_file() or (folders and path.is_dir())):
            reason = "is not a regular file" if path.exists() else "no such file"
            raise InputError(path, reason, remedy="give the path of an existing file")
        try:
            str(path).encode()
        except UnicodeEncodeError:  # cards and results are UTF-8, and contain it
            raise InputError(path, "the name is not UTF-8", remedy="rename the file") from None
    try:
        stamps = {part: _stamp(path) for part, path in files.items()}
        hashes = {part: _sha256(path) for part, path in files.items()}
    except PermissionError as error:
        raise InputError(str(error.filename), "cannot be read", remedy="change its permissions") from None
    return CorpusFiles(name, files, hashes, licence, urls={}, origin="given", stamps=stamps)


def _roots(corpus: RegisteredCorpus) -> list[tuple[Path, str]]:
    """The folders in which a corpus is searched for, each with its origin."""
    if corpus.embedded:
        return [(SAMPLE_ROOT, "embedded")]
    given_root = os.environ.get("GLUON_ATTN_DATA")
    if given_root and not Path(given_root).is_dir():
        raise InputError(f"GLUON_ATTN_DATA={given_root}", "is not a folder", remedy="correct it or unset it")
    roots = [(Path(given_root), "data root")] if given_root else []
    return [*roots, (user_cache() / "data", "user cache")]


def _existing(corpus: RegisteredCorpus, file: CorpusFile) -> list[tuple[Path, str]]:
    """The paths of a file on this machine, each with its origin."""
    paths = [(root / layout, origin) for root, origin in _roots(corpus) for layout in file.layout]
    return [(path, origin) for path, origin in paths if path.exists()]


def _locate(corpus: RegisteredCorpus, file: CorpusFile, *, offline: bool) -> tuple[Path, str]:
    """The first existing path of a file and its origin; downloads the file as the last resort."""
    if paths := _existing(corpus, file):
        return paths[0]
    searched = ", ".join(str(root / file.layout[0]) for root, _ in _roots(corpus))
    forbidden = _is_offline()
    if file.url is None or file.sha256 is None or offline or forbidden:
        why = " and GLUON_ATTN_OFFLINE forbids the download" if forbidden and file.url else ""
        remedy = f"{corpus.how_to_get} (GLUON_ATTN_DATA names the data root)"
        raise MissingError(searched, f"corpus {corpus.name} is missing{why}", remedy=remedy)
    from preprocessing.corpora.download import download

    target = user_cache() / "data" / file.layout[0]
    download(file.url, target, sha256=file.sha256, how_to_get=corpus.how_to_get)
    return target, "downloaded"


def _is_offline() -> bool:
    """Whether GLUON_ATTN_OFFLINE forbids downloads."""
    given = os.environ.get("GLUON_ATTN_OFFLINE", "").strip().lower()
    if given in ("", "0", "no", "false", "off"):
        return False
    if given in ("1", "yes", "true", "on"):
        return True
    raise InputError(f"GLUON_ATTN_OFFLINE={given}", "is neither yes nor no", remedy="set it to 1 or 0, or unset it")


def _verified(path: Path, file: CorpusFile) -> str:
    actual = sha256_of_member(path, file.member) if file.member else _sha256(path)
    if path.is_dir() or file.content is not None or file.sha256 in (None, actual):
        return actual
    what = f"SHA-256 of its member {file.member}" if file.member else "SHA-256"
    raise InputError(
        path,
        f"{what} is {actual} ({path.stat().st_size} bytes), the official file has {file.sha256}",
        remedy="the file is truncated or altered: delete it and fetch it again",
    )


def _stamp(path: Path) -> str:
    """Sizes and times of change of a file, or of all files of a folder: it differs if one of them is changed."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    if not path.exists():
        return "missing"
    states = [(file.relative_to(path).as_posix(), file.stat()) for file in files if file.is_file()]
    return "; ".join(f"{name!r} {state.st_size} {state.st_mtime_ns}" for name, state in states)


def _sha256(path: Path) -> str:
    return sha256_of_folder(path) if path.is_dir() else sha256_of(path)
