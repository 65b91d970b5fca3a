"""Bag of tricks: fastText's linear classifier (Joulin, Grave, Bojanowski and Mikolov, 2017, EACL, arXiv:1607.01759).

A linear layer classifies a text from the mean of the vectors of its words and bigrams: no word order beyond two words
and no attention. Table 1, accuracy on Yelp polarity: 93.8 with words, 95.7 with bigrams. Here it is the baseline that
every network with attention has to beat, on the same corpora with the same tokenisation: morphemes on NSMC, words on
IMDb and SST. It reads whole texts, also where a network reads only the first tokens, except in *imdb-bigrams-400* and
five reviews of IMDb whose words and bigrams together exceed 4 000. It has its own vocabulary: words that occur once are
unknown, except on SST.

Bigrams are hashed into buckets that share one table with the words (sec. 2.2); the hash is FNV-1a of the ids. There are
a hundred thousand to one million buckets instead of ten million, for smaller corpora. Vectors have 16 units instead of
10, and the linear layer has a bias. Adam with cosine decay replaces SGD with linear decay. In training, words and
bigrams are replaced by the unknown word at random. The learning rate and this rate were chosen on the validation split
of NSMC and are the same for all corpora; smaller corpora are trained for more epochs.

Claim: bigrams help (Table 1).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from gluon_attn.training.recipe import Recipe
from reproductions.protocol.claims import Better
from reproductions.protocol.reported import Table
from reproductions.protocol.reproduction import Override, Reproduction
from reproductions.protocol.task import Variant
from reproductions.tasks.classification.corpora import NSMC, SST, IMDb
from reproductions.tasks.classification.fasttext_settings import FastTextSettings
from reproductions.tasks.classification.reported_on_nsmc import FASTTEXT
from reproductions.tasks.classification.task import Classification

TABLE_1 = Table(
    "Joulin et al. (2017), Table 1", corpus="yelp polarity", metric="accuracy", checked="secondary", digits=1
)
WORDS = TABLE_1.entry("fastText, h = 10", 93.8)
BIGRAMS = TABLE_1.entry("fastText, h = 10, bigrams", 95.7)


words = FastTextSettings(units=16, token_dropout=0.3, min_freq=2)
NSMC_WORDS = replace(words, buckets=500_000)
IMDB_WORDS = replace(words, buckets=1_000_000)
SST_WORDS = replace(words, buckets=100_000, min_freq=1)

RECIPE = Recipe(epochs=4, batch_size=64, learning_rate=3e-3, decay="cosine")
IMDB_RECIPE = replace(RECIPE, epochs=12)
SST_RECIPE = replace(RECIPE, epochs=40)


def smoke(variant: Variant[FastTextSettings]) -> Variant[FastTextSettings]:
    tiny = replace(variant.settings, min_freq=1, units=8, buckets=500)
    recipe = Recipe(epochs=2, batch_size=16, learning_rate=1e-2, decay="cosine")
    return replace(variant, settings=tiny, recipe=recipe)


def paper(variant: Variant[FastTextSettings]) -> Variant[FastTextSettings]:
    sizes = {name: getattr(FastTextSettings, name) for name in ("units", "buckets")}
    return replace(variant, settings=replace(variant.settings, **sizes))


def pair(
    name: str,
    corpus: str,
    task: Classification[Any],
    settings: FastTextSettings,
    recipe: Recipe,
    **beside: dict[str, Any],
) -> tuple[Variant[FastTextSettings], Variant[FastTextSettings]]:
    """Two variants, with words only and with bigrams; ``beside`` has further arguments of each, such as the reported
    number next to it."""
    bigrams = replace(settings, orders=(2,))
    return (
        Variant(f"{name}-words", f"{corpus}: words", settings, recipe, task, **beside.get("words", {})),
        Variant(f"{name}-bigrams", f"{corpus}: words and bigrams", bigrams, recipe, task, **beside.get("bigrams", {})),
    )


bigrams_help = partial(Better, source="Table 1")
FIRST_WORDS = "IMDb: words and bigrams, first 400 words, as many as `lin2017` reads"
LARGER = "Joulin et al. have 560 000 reviews of Yelp"
REPRODUCTION = Reproduction(
    title="Bag of tricks: words and bigrams without attention",
    source="Joulin et al. (2017), arXiv:1607.01759",
    task=NSMC(),
    reported=(FASTTEXT, WORDS, BIGRAMS),
    variants=(
        *pair(
            "nsmc",
            "NSMC",
            NSMC(),
            NSMC_WORDS,
            RECIPE,
            bigrams={"beside": FASTTEXT, "comparable": True, "differs": "how the peer tokenises reviews is not stated"},
        ),
        *pair(
            "imdb",
            "IMDb",
            IMDb(),
            IMDB_WORDS,
            IMDB_RECIPE,
            words={"beside": WORDS, "differs": LARGER},
            bigrams={"beside": BIGRAMS, "differs": LARGER},
        ),
        *pair("sst2", "SST, two classes", SST("sst-2"), SST_WORDS, SST_RECIPE),
        *pair("sst5", "SST, five classes", SST("sst-5"), SST_WORDS, SST_RECIPE),
        Variant("imdb-bigrams-400", FIRST_WORDS, replace(IMDB_WORDS, orders=(2,), max_words=400), IMDB_RECIPE, IMDb()),
    ),
    claims=(
        bigrams_help("bigrams-nsmc", "Bigrams help: NSMC", "nsmc-bigrams", "nsmc-words"),
        bigrams_help("bigrams-imdb", "Bigrams help: IMDb", "imdb-bigrams", "imdb-words"),
        bigrams_help("bigrams-sst2", "Bigrams help: SST, two classes", "sst2-bigrams", "sst2-words"),
        bigrams_help("bigrams-sst5", "Bigrams help: SST, five classes", "sst5-bigrams", "sst5-words"),
    ),
    headline=("nsmc-words", "nsmc-bigrams"),
    main="nsmc-bigrams",
    seeds=(1, 2, 3),
    smoke=Override(smoke),
    paper=Override(paper),
    notes=(
        "Bigrams help on NSMC and IMDb. On SST, with a few thousand whole sentences and without the labelled phrases, "
        "the intervals include zero.",
        "On IMDb, the validation split is chosen by a hash of the text, so it shares films with train. `lin2017`, next "
        "to which these rows stand, holds out whole films: its training reviews differ.",
    ),
)
