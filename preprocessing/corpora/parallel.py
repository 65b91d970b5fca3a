"""Registered parallel corpora: Multi30k, Tatoeba, the collections joined with Tatoeba for Korean, and WMT'14."""

from __future__ import annotations

from preprocessing.corpora.corpus import CorpusFile, RegisteredCorpus

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
    """Korean and English. The files are joined or unpacked from official ones: their hashes are stated, but no address
    has exactly these bytes."""

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
            "CC BY-NC-ND 3.0 US in later versions), JHE too. Python documentation: CC0 (PEP 545). Bible: public domain."
        ),
        homepage="https://www.manythings.org/anki/",
        how_to_get=(
            "put these into ko_en/: kor.txt out of https://www.manythings.org/anki/kor-eng.zip as of 2022; "
            "korsts_train.tsv, korsts_dev.tsv and korsts_test.tsv, without header, English and Korean of each distinct "
            f"pair, joined from the STS benchmark and {_KORSTS}; park_news/korean-english-park.dev and .test, .en and "
            f".ko, from {_PARK}, and train of the same where you can get it; jhe_dev.tsv, English and Korean of "
            "jhe-koen-dev of the same; for networks trained on other text too, python_docs_ko.tsv.xz and "
            "bible_kjv_krv.tsv.xz, English and Korean of Python's documentation (PEP 545) and of the Bible (King "
            "James, Korean Revised); read files with other bytes with "
            'corpora.given("tatoeba ko-en", {"tatoeba": path, ...})'
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
            "jhe": CorpusFile(
                ("ko_en/jhe_dev.tsv",),
                sha256="af200e1fb284eadcd0898d7815aa5367d2d3c5cce6a5234f0eefda95de47f276",
                rows=720,
                optional=True,
            ),
        },
    )


_STATMT = "https://www.statmt.org"
_WMT14_TEXT = {
    # collection: (its archive, path of its files in the archive without the language)
    "europarl-v7": ("wmt13/training-parallel-europarl-v7.tgz", "training/europarl-v7.{pair}"),
    "commoncrawl": ("wmt13/training-parallel-commoncrawl.tgz", "commoncrawl.{pair}"),
    "news-commentary-v9": ("wmt14/training-parallel-nc-v9.tgz", "training/news-commentary-v9.{pair}"),
    "undoc": ("wmt13/training-parallel-un.tgz", "un/undoc.2000.{pair}"),
    "giga-fren": ("wmt10/training-giga-fren.tar", "giga-fren.release2.fixed"),
}


def _wmt14(language: str) -> RegisteredCorpus:
    """English with German or French. Hashes are published for the archives (docs/wmt14.md), not for the files in them,
    and exact numbers of rows only for the test sets."""
    collections = list(_WMT14_TEXT)[: 3 if language == "de" else 5]
    pair = f"{language}-en"
    files: dict[str, CorpusFile] = {}
    for name in collections:
        for side in ("en", language):
            path = f"wmt14/{_WMT14_TEXT[name][1].format(pair=pair)}.{side}"
            files[f"{name}.{side}"] = CorpusFile((path, f"{path}.gz"))
    for side, role in (("en", "src"), (language, "ref")):
        dev, test = "wmt14/dev/newstest2013", f"wmt14/test-full/newstest2014-{language}en-{role}.{side}.sgm"
        of_wmt13 = f"wmt14/test/newstest2013-src.{side}.sgm"  # in the test.tgz of WMT'13, both languages are named src
        files[f"newstest2013.{side}"] = CorpusFile((f"{dev}.{side}", f"{dev}-{role}.{side}.sgm", of_wmt13), rows=3_000)
        files[f"newstest2014.{side}"] = CorpusFile((test, f"wmt14/test-full/newstest2014.{side}"), rows=3_003)
    archives = ", ".join(f"{_STATMT}/{_WMT14_TEXT[name][0]}" for name in collections)
    return RegisteredCorpus(
        name=f"wmt14 en-{language}",
        title=f"WMT 2014, English and {'German' if language == 'de' else 'French'} (test: newstest2014)",
        licence=(
            "for research: the parts have terms of their own (Europarl, Common Crawl, News Commentary"
            + ("" if language == "de" else ", United Nations, Giga-French-English")
            + "), which their publishers state at the homepage where they do; cite Bojar et al. (2014)"
        ),
        homepage=f"{_STATMT}/wmt14/translation-task.html",
        how_to_get=(
            f"unpack {archives}, {_STATMT}/wmt14/dev.tgz and {_STATMT}/wmt14/test-full.tgz in wmt14/; see docs/wmt14.md"
        ),
        files=files,
    )


PARALLEL: tuple[RegisteredCorpus, ...] = (
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
    _wmt14("de"),
    _wmt14("fr"),
)
