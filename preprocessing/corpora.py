"""The registry of corpora: where each comes from, what its bytes are, where to look for it, how to fetch it.

A file is looked for below the data root (``GLUON_ATTN_DATA``), then in the user cache
(``$XDG_CACHE_HOME/gluon-attn/data``, else ``~/.cache/gluon-attn/data``), then downloaded into the user cache, unless
``GLUON_ATTN_OFFLINE=1``. A file with the wrong SHA-256 is an error wherever it stands: it is never used, never skipped.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from preprocessing.download import download
from preprocessing.errors import InputError, MissingError
from preprocessing.files import sha256_of

SAMPLE_ROOT = Path(__file__).parent / "sample"


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus. ``layout``: where it stands below the data root; other accepted places follow it."""

    layout: tuple[str, ...]
    url: str | None = None
    sha256: str | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Corpus:
    """What is known about a corpus before any of its bytes are read. ``files``: part name (``train``...) to file."""

    name: str
    title: str
    licence: str
    homepage: str
    files: Mapping[str, CorpusFile]
    how_to_get: str
    embedded: bool = False


@dataclass(frozen=True)
class CorpusFiles:
    """A corpus found on this machine, its hashes verified. All mappings go from part name (``train``, ``test``...).

    ``rows`` holds the official row counts where there are any; ``origin`` is one of ``data root``, ``user cache``,
    ``downloaded``, ``embedded``, ``given``.
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


_NSMC = "https://raw.githubusercontent.com/e9t/nsmc/master/"
_CC0 = "CC0 1.0"

REGISTRY: dict[str, Corpus] = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            name="nsmc",
            title="Naver sentiment movie corpus 1.0",
            licence=_CC0,
            homepage="https://github.com/e9t/nsmc",
            how_to_get=f"download {_NSMC}ratings_train.txt and ratings_test.txt into the folder nsmc/ of the data root",
            files={
                "train": CorpusFile(
                    ("nsmc/ratings_train.txt",),
                    _NSMC + "ratings_train.txt",
                    "e03b7d14e9e41be8d464a28057cd25d7396c53e67aa7fd5f7e552c59b0ee2940",
                    150_000,
                ),
                "test": CorpusFile(
                    ("nsmc/ratings_test.txt",),
                    _NSMC + "ratings_test.txt",
                    "8ac9f64052f11dbf6ae0acb5e038f03d90a76f0eda7820cfb3a92d02edfcebda",
                    50_000,
                ),
            },
        ),
        Corpus(
            name="nsmc-raw",
            title="Naver sentiment movie corpus 1.0, the raw crawl (one JSON file per film)",
            licence=_CC0,
            homepage="https://github.com/e9t/nsmc",
            how_to_get="git clone https://github.com/e9t/nsmc and copy its folder raw/ to nsmc/raw of the data root",
            # Packed copies differ in their bytes, so the crawl has no hash of its own; what is rebuilt from it has.
            files={"raw": CorpusFile(("nsmc/raw.tar.xz", "nsmc/raw"))},
        ),
        Corpus(
            name="sample",
            title="Short Korean film reviews written for this project",
            licence="Apache-2.0",
            homepage="",
            how_to_get="it is part of the package: install the package again",
            embedded=True,
            files={
                "train": CorpusFile(("reviews/ratings_train.txt",)),
                "test": CorpusFile(("reviews/ratings_test.txt",)),
            },
        ),
    )
}


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
        path, origin = _locate(corpus, file)
        paths[part], hashes[part] = path, _verified(path, file)
        origins.append(origin)
    return CorpusFiles(
        name=name,
        paths=paths,
        sha256=hashes,
        licence=corpus.licence,
        urls={part: file.url for part, file in corpus.files.items() if file.url},
        origin=" and ".join(dict.fromkeys(origins)),
        title=corpus.title,
        homepage=corpus.homepage,
        rows={part: file.rows for part, file in corpus.files.items() if file.rows},
    )


def given(name: str, paths: Mapping[str, Path], licence: str = "not stated") -> CorpusFiles:
    """Files of the user's own as a corpus: no hash is expected of them, the ones they have are stated."""
    for path in paths.values():
        if not path.is_file():
            raise InputError(path, "no such file", remedy="give the path of an existing file")
    hashes = {part: sha256_of(path) for part, path in paths.items()}
    return CorpusFiles(name, dict(paths), hashes, licence, urls={}, origin="given")


def _locate(corpus: Corpus, file: CorpusFile) -> tuple[Path, str]:
    """The first existing place of a file and the word for it; downloads as the last resort."""
    if corpus.embedded:
        roots = [(SAMPLE_ROOT, "embedded")]
    else:
        given_root = os.environ.get("GLUON_ATTN_DATA")
        roots = [(Path(given_root), "data root")] if given_root else []
        roots.append((user_cache() / "data", "user cache"))
    for root, origin in roots:
        for place in file.layout:
            if (root / place).exists():
                return root / place, origin
    looked = ", ".join(str(root / file.layout[0]) for root, _ in roots)
    offline = os.environ.get("GLUON_ATTN_OFFLINE") == "1"
    if file.url is None or file.sha256 is None or offline:
        why = " and GLUON_ATTN_OFFLINE=1 forbids the download" if offline and file.url else ""
        remedy = f"{corpus.how_to_get} (GLUON_ATTN_DATA names the data root)"
        raise MissingError(looked, f"corpus {corpus.name} is not there{why}", remedy=remedy)
    target = user_cache() / "data" / file.layout[0]
    download(file.url, target, sha256=file.sha256, how_to_get=corpus.how_to_get)
    return target, "downloaded"


def _verified(path: Path, file: CorpusFile) -> str:
    if path.is_dir():
        return ""
    found = sha256_of(path)
    if file.sha256 is not None and found != file.sha256:
        size = path.stat().st_size
        raise InputError(
            path,
            f"SHA-256 is {found} ({size} bytes), the official file has {file.sha256}",
            remedy="the file is cut short or altered: delete it and fetch it again",
        )
    return found
