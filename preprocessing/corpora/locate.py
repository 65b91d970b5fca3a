"""Where a corpus of the registry (``registry.py``) is looked for, how it is verified and fetched.

A file is looked for below the data root (``GLUON_ATTN_DATA``), then in the user cache
(``$XDG_CACHE_HOME/gluon-attn/data``, else ``~/.cache/gluon-attn/data``), then downloaded into the user cache, unless
``GLUON_ATTN_OFFLINE=1``. A file with the wrong SHA-256 is an error wherever it stands: it is never used, never skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from preprocessing.corpora.download import download
from preprocessing.corpora.reading import sha256_of_member
from preprocessing.corpora.registry import REGISTRY, CorpusFile, RegisteredCorpus
from preprocessing.errors import InputError, MissingError
from preprocessing.files import sha256_of, sha256_of_folder

SAMPLE_ROOT = Path(__file__).parent / "sample"


@dataclass(frozen=True)
class CorpusFiles:
    """A corpus found on this machine, its hashes verified. All mappings go from part name (``train``, ``test``...).

    ``rows`` holds the official row counts where there are any, ``members`` the file that is meant in an archive,
    ``contents`` what the documents in a part must hash to, where its own bytes are not the official ones;
    ``origin`` is one of ``data root``, ``user cache``, ``downloaded``, ``embedded``, ``given``.
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

    def only(self, parts: Iterable[str]) -> CorpusFiles:
        """The same corpus with these parts alone, as far as they are there."""
        kept = [part for part in parts if part in self.paths]
        return replace(
            self,
            paths={part: self.paths[part] for part in kept},
            sha256={part: self.sha256[part] for part in kept},
            urls={part: self.urls[part] for part in kept if part in self.urls},
            rows={part: self.rows[part] for part in kept if part in self.rows},
            members={part: self.members[part] for part in kept if part in self.members},
            contents={part: self.contents[part] for part in kept if part in self.contents},
        )


def user_cache() -> Path:
    """The folder for downloads and results: ``$XDG_CACHE_HOME/gluon-attn``, else ``~/.cache/gluon-attn``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gluon-attn"


def find(name: str) -> CorpusFiles:
    """Locate every file of a registered corpus, verify its SHA-256, download what is missing.

    Raises InputError in one line that says what to do: MissingError when a file is neither there nor to be had, another
    when its bytes are not the official ones.
    """
    corpus = REGISTRY.get(name)
    if corpus is None:
        raise InputError(name, "no such corpus", remedy=f"known are {', '.join(REGISTRY)}")
    paths, hashes, origins = {}, {}, []
    for part, file in corpus.files.items():
        if file.optional and not _places(corpus, file):
            continue
        path, origin = _locate(corpus, file)
        paths[part], hashes[part] = path, _verified(path, file)
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
    )


def given(name: str, paths: Mapping[str, Path], licence: str = "not stated", *, folders: bool = False) -> CorpusFiles:
    """Files of the user's own as a corpus: no hash is expected of them, the ones they have are stated. With ``folders``
    a folder of files will do as well."""
    for path in paths.values():
        if not (path.is_file() or (folders and path.is_dir())):
            raise InputError(path, "no such file", remedy="give the path of an existing file")
    hashes = {part: _sha256(path) for part, path in paths.items()}
    return CorpusFiles(name, dict(paths), hashes, licence, urls={}, origin="given")


def _roots(corpus: RegisteredCorpus) -> list[tuple[Path, str]]:
    """The folders where a corpus is looked for, and the words for them."""
    if corpus.embedded:
        return [(SAMPLE_ROOT, "embedded")]
    given_root = os.environ.get("GLUON_ATTN_DATA")
    roots = [(Path(given_root), "data root")] if given_root else []
    return [*roots, (user_cache() / "data", "user cache")]


def _places(corpus: RegisteredCorpus, file: CorpusFile) -> list[tuple[Path, str]]:
    """Where a file stands on this machine."""
    places = [(root / place, origin) for root, origin in _roots(corpus) for place in file.layout]
    return [(path, origin) for path, origin in places if path.exists()]


def _locate(corpus: RegisteredCorpus, file: CorpusFile) -> tuple[Path, str]:
    """The first existing place of a file and the word for it; downloads as the last resort."""
    if places := _places(corpus, file):
        return places[0]
    looked = ", ".join(str(root / file.layout[0]) for root, _ in _roots(corpus))
    offline = os.environ.get("GLUON_ATTN_OFFLINE") == "1"
    if file.url is None or file.sha256 is None or offline:
        why = " and GLUON_ATTN_OFFLINE=1 forbids the download" if offline and file.url else ""
        remedy = f"{corpus.how_to_get} (GLUON_ATTN_DATA names the data root)"
        raise MissingError(looked, f"corpus {corpus.name} is not there{why}", remedy=remedy)
    target = user_cache() / "data" / file.layout[0]
    download(file.url, target, sha256=file.sha256, how_to_get=corpus.how_to_get)
    return target, "downloaded"


def _verified(path: Path, file: CorpusFile) -> str:
    found = sha256_of_member(path, file.member) if file.member else _sha256(path)
    if path.is_dir() or file.content is not None or file.sha256 in (None, found):
        return found
    what = f"SHA-256 of {file.member} in it" if file.member else "SHA-256"
    raise InputError(
        path,
        f"{what} is {found} ({path.stat().st_size} bytes), the official file has {file.sha256}",
        remedy="the file is cut short or altered: delete it and fetch it again",
    )


def _sha256(path: Path) -> str:
    return sha256_of_folder(path) if path.is_dir() else sha256_of(path)
