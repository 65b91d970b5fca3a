"""The parallel corpora that have a pipeline: their languages, collections and splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from preprocessing.bitext.reading import UNSPLIT, Collection
from preprocessing.text.normalization import LANGUAGES

OWN_FILES = "own files"


@dataclass(frozen=True)
class ParallelCorpus:
    """The languages, collections and splits of a parallel corpus.

    ``extra``: collections that are read only on request. ``one_in``: parameter of the split by hash. ``hold_out``: one
    train pair in this many goes to validation if no validation files are given. ``drop_overlap``: the default for
    leaving out train pairs with a sentence of another split. ``stand_ins``: languages that the corpus does not have,
    and their replacements. ``empty``: the default for pairs with an empty side. ``longest``: maximum characters of a
    sentence.
    """

    languages: tuple[str, ...]
    collections: tuple[Collection, ...]
    extra: Mapping[str, Collection] = field(default_factory=dict)
    one_in: int = 0
    hold_out: int = 0
    drop_overlap: bool = False
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    empty: str = "refuse"
    longest: int = 10_000


_OFFICIAL = tuple(Collection(split, split) for split in ("train", "validation", "test"))
_OWN = tuple(
    replace(collection, optional=True, without="held out from train instead")
    if collection.split == "validation"
    else collection
    for collection in _OFFICIAL
)
_EN_KO = ("en", "ko")
_NEWS = "News. HTML character references in it, such as &#8212;, are kept as they are."
_TRIPLES = ("ko", "en", "fr")


def _wmt14(language: str, *names: str) -> ParallelCorpus:
    """A corpus of WMT'14. Its training text is from the web and from proceedings: it has carriage returns, long lines
    and empty sides, which are left out."""
    train = tuple(Collection(name, "train", carriage_returns=True) for name in names)
    held_out = (("newstest2013", "validation"), ("newstest2014", "test"))
    sets = tuple(Collection(name, split, markup=True) for name, split in held_out)
    return ParallelCorpus(("en", language), (*train, *sets), empty="drop", longest=100_000)


CORPORA: dict[str, ParallelCorpus] = {
    "multi30k en-de": ParallelCorpus(("en", "de"), _OFFICIAL),
    "multi30k en-fr": ParallelCorpus(("en", "fr"), _OFFICIAL),
    "tatoeba en-fr": ParallelCorpus(
        ("en", "fr"),
        (Collection("pairs", UNSPLIT, ("en", "fr"), ignored=1, member="fra.txt"),),
        one_in=50,
    ),
    "tatoeba ko-en": ParallelCorpus(
        ("ko", "en"),
        (
            Collection("tatoeba", UNSPLIT, _EN_KO, ignored=1, note="Translated by people."),
            Collection("korsts-train", "train", _EN_KO, note="The Korean side is machine translation."),
            Collection("park-train", "train", optional=True, note="News."),
            Collection("korsts-dev", "validation korsts", _EN_KO, note="Translated by people."),
            Collection("park-dev", "validation park", note=_NEWS),
            Collection("korsts-test", "test korsts", _EN_KO, note="Translated by people."),
            Collection("park-test", "test park", note=_NEWS),
        ),
        extra={
            "python-docs": Collection("python-docs", "train", _EN_KO, note="Technical documentation with markup."),
            "bible": Collection("bible", "train", _EN_KO, note="Archaic language on both sides."),
            "jhe": Collection("jhe", "test jhe", _EN_KO, note="Example sentences; used only for testing."),
        },
        one_in=10,
        drop_overlap=True,
    ),
    "wmt14 en-de": _wmt14("de", "europarl-v7", "commoncrawl", "news-commentary-v9"),
    "wmt14 en-fr": _wmt14("fr", "europarl-v7", "commoncrawl", "news-commentary-v9", "undoc", "giga-fren"),
    "sample": ParallelCorpus(
        _TRIPLES,
        tuple(Collection(split, split, _TRIPLES, header=True) for split in ("train", "validation", "test")),
        stand_ins={"de": "fr"},
    ),
    OWN_FILES: ParallelCorpus(LANGUAGES, _OWN, hold_out=20),
}
