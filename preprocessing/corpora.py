"""The registry of corpora: where each comes from, what its bytes are, where to look for it, how to fetch it.

A file is looked for below the data root (``GLUON_ATTN_DATA``), then in the user cache
(``$XDG_CACHE_HOME/gluon-attn/data``, else ``~/.cache/gluon-attn/data``), then downloaded into the user cache, unless
``GLUON_ATTN_OFFLINE=1``. A file with the wrong SHA-256 is an error wherever it stands: it is never used, never skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from preprocessing.download import download
from preprocessing.errors import InputError, MissingError
from preprocessing.files import sha256_of
from preprocessing.reading import sha256_of_member

SAMPLE_ROOT = Path(__file__).parent / "sample"


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus. ``layout``: where it stands below the data root; other accepted places follow it.

    ``member``: the one file that is read in a zip archive; ``sha256`` is then that of the member, because archives of
    the same text differ. ``optional``: a corpus is usable without it.
    """

    layout: tuple[str, ...]
    url: str | None = None
    sha256: str | None = None
    rows: int | None = None
    member: str | None = None
    optional: bool = False


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

    ``rows`` holds the official row counts where there are any, ``members`` the file that is meant in an archive;
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
        )


_NSMC = "https://raw.githubusercontent.com/e9t/nsmc/master/"
_CC0 = "CC0 1.0"

_MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
_MULTI30K_FILES = {
    "train.en": ("train.en.gz", "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f", 29_000),
    "train.de": ("train.de.gz", "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6", 29_000),
    "train.fr": ("train.fr.gz", "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c", 29_000),
    "validation.en": ("val.en.gz", "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28", 1_014),
    "validation.de": ("val.de.gz", "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a", 1_014),
    "validation.fr": ("val.fr.gz", "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9", 1_014),
    "test.en": (
        "test_2016_flickr.en.gz",
        "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
        1_000,
    ),
    "test.de": (
        "test_2016_flickr.de.gz",
        "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
        1_000,
    ),
    "test.fr": (
        "test_2016_flickr.fr.gz",
        "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
        1_000,
    ),
}


def _multi30k(language: str) -> Corpus:
    files = {
        part: CorpusFile((f"multi30k/{name}",), _MULTI30K + name, sha256, rows)
        for part, (name, sha256, rows) in _MULTI30K_FILES.items()
        if part.endswith((".en", f".{language}"))
    }
    return Corpus(
        name=f"multi30k en-{language}",
        title=f"Multi30k, task 1, English and {'German' if language == 'de' else 'French'} (test: 2016 Flickr)",
        licence="captions of Flickr30k and their translations: for research, non-commercial",
        homepage="https://github.com/multi30k/dataset",
        how_to_get=f"fetch train, val and test_2016_flickr, .en.gz and .{language}.gz, from {_MULTI30K} to multi30k/",
        files=files,
    )


_PARK = "https://github.com/jungyeul/korean-parallel-corpora"
_KORSTS = "https://github.com/kakaobrain/KorNLUDatasets"


def _ko_en() -> Corpus:
    """Its files are joined or unpacked from official ones: hashes are stated, but no address gives these very bytes."""

    def park(name: str, en: str | None, ko: str | None, rows: int, *, optional: bool = False) -> dict[str, CorpusFile]:
        place = f"ko_en/park_news/korean-english-park.{name}"
        return {
            f"park-{name}.{language}": CorpusFile((f"{place}.{language}",), sha256=sha256, rows=rows, optional=optional)
            for language, sha256 in (("en", en), ("ko", ko))
        }

    def korsts(name: str, sha256: str, rows: int) -> dict[str, CorpusFile]:
        return {f"korsts-{name}": CorpusFile((f"ko_en/korsts_{name}.tsv",), sha256=sha256, rows=rows)}

    return Corpus(
        name="tatoeba ko-en",
        title="Korean and English: sentences of Tatoeba, KorSTS and Park et al.'s news",
        licence=(
            "Tatoeba: CC BY 2.0 FR. KorSTS: CC BY-SA 4.0. Park news: as its repository states (CC BY-SA 3.0; "
            "CC BY-NC-ND 3.0 US in later versions). Python documentation: CC0 (PEP 545). Bible: public domain."
        ),
        homepage="https://www.manythings.org/anki/",
        how_to_get=(
            "put these into ko_en/: kor.txt out of https://www.manythings.org/anki/kor-eng.zip as of 2022; "
            "korsts_train.tsv, korsts_dev.tsv and korsts_test.tsv, without header, English and Korean of each distinct "
            f"pair, joined from the STS benchmark and {_KORSTS}; park_news/korean-english-park.dev and .test, .en and "
            f".ko, from {_PARK}, and train of the same where you can get it"
        ),
        files={
            "tatoeba": CorpusFile(
                ("ko_en/kor.txt",),
                sha256="3988edfd32c892ccf4450772bc3a5906ebfcf3c8648f56012df204ddf27b8280",
                rows=3_798,
            ),
            **korsts("train", "3b59636549d1eca1b5cb0f80ae452bda4298ca7cd8edb8058832ba828cf1cf3b", 10_534),
            **korsts("dev", "d49094934c496141b7a274f0d2e920cf7fe54cf8de99d45fc751de44c3f3f88d", 2_910),
            **korsts("test", "fd1a3b8332cbc0b384c4317c8c34bb971e789cfc81037705ac89b63928b7e946", 2_551),
            **park("train", None, None, 94_123, optional=True),
            **park(
                "dev",
                "98e0d1284685328701410f9656098d9939ca69ab262bf69a9e1a7f9d716ef1dc",
                "248e0dd8e560db90ea7b51e4959a33d67a7bba48872429bc90f416ea8acbac44",
                1_000,
            ),
            **park(
                "test",
                "76e43f2ed5ce5d20e4187fb7bb167f5771db8d06ec34c66410ea044c35eed77c",
                "02d1445fcdcd26f99b29a7d5bf692688634571310c1f2d1093cfb2e2d1eb6be4",
                2_000,
            ),
            "python-docs": CorpusFile(
                ("ko_en/python_docs_ko.tsv.xz",),
                sha256="e31c6a2e1d73578e763920fe8277c163cac62fb9f60a609a71681d437e1c900a",
                rows=30_586,
                optional=True,
            ),
            "bible": CorpusFile(
                ("ko_en/bible_kjv_krv.tsv.xz",),
                sha256="1efbf46ca865539f6443a46154d8d40ca481a1d24d0e8d612d47bead266000c5",
                rows=30_893,
                optional=True,
            ),
        },
    )


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
        _multi30k("de"),
        _multi30k("fr"),
        Corpus(
            name="tatoeba en-fr",
            title="English-French sentence pairs of Tatoeba, as collected for Anki on 2019-04-07",
            licence="CC BY 2.0 FR (Tatoeba; collected by www.manythings.org/anki)",
            homepage="https://www.manythings.org/anki/",
            how_to_get=(
                "put fra-eng.zip of 2019-04-07 into fra_eng/; https://www.manythings.org/anki/fra-eng.zip changes with "
                'time, and of any other day it can be read with corpora.given("tatoeba en-fr", {"pairs": path})'
            ),
            files={
                "pairs": CorpusFile(
                    ("fra_eng/fra-eng.zip",),
                    sha256="0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104",
                    rows=167_130,
                    member="fra.txt",
                )
            },
        ),
        _ko_en(),
    )
}
REGISTRY["sample sentences"] = Corpus(
    name="sample",
    title="Short everyday sentences in Korean, English and French, written for this project",
    licence="Apache-2.0",
    homepage="",
    how_to_get="it is part of the package: install the package again",
    embedded=True,
    files={part: CorpusFile((f"sentences/{part}.tsv",)) for part in ("train", "validation", "test")},
)
"""``sample`` are reviews; these are the sentences of the same sample, for pipelines of translation."""


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
    )


def given(name: str, paths: Mapping[str, Path], licence: str = "not stated") -> CorpusFiles:
    """Files of the user's own as a corpus: no hash is expected of them, the ones they have are stated."""
    for path in paths.values():
        if not path.is_file():
            raise InputError(path, "no such file", remedy="give the path of an existing file")
    hashes = {part: sha256_of(path) for part, path in paths.items()}
    return CorpusFiles(name, dict(paths), hashes, licence, urls={}, origin="given")


def _roots(corpus: Corpus) -> list[tuple[Path, str]]:
    """The folders where a corpus is looked for, and the words for them."""
    if corpus.embedded:
        return [(SAMPLE_ROOT, "embedded")]
    given_root = os.environ.get("GLUON_ATTN_DATA")
    roots = [(Path(given_root), "data root")] if given_root else []
    return [*roots, (user_cache() / "data", "user cache")]


def _places(corpus: Corpus, file: CorpusFile) -> list[tuple[Path, str]]:
    """Where a file stands on this machine."""
    places = [(root / place, origin) for root, origin in _roots(corpus) for place in file.layout]
    return [(path, origin) for path, origin in places if path.exists()]


def _locate(corpus: Corpus, file: CorpusFile) -> tuple[Path, str]:
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
    if path.is_dir():
        return ""
    found = sha256_of_member(path, file.member) if file.member else sha256_of(path)
    if file.sha256 is not None and found != file.sha256:
        what = f"SHA-256 of {file.member} in it" if file.member else "SHA-256"
        size = path.stat().st_size
        raise InputError(
            path,
            f"{what} is {found} ({size} bytes), the official file has {file.sha256}",
            remedy="the file is cut short or altered: delete it and fetch it again",
        )
    return found
