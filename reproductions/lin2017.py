"""Structured self-attentive sentence embedding (Lin et al., 2017, ICLR, arXiv:1703.03130).

A bidirectional LSTM reads a text, r hops of attention weight its states, and the r weighted sums are the embedding of
the text. A penalty ||A A^T - I||_F^2 makes the hops attend to different words. The paper's corpora, half a million Yelp
reviews and the Age corpus of tweets, need licences. IMDb's reviews (Maas et al., 2011; long texts, two classes) replace
Yelp, and the sentences of SST (short texts, five classes) replace the tweets. SNLI, its third corpus, is not used.

*best* reads whole NSMC reviews like the best network of the Naver script: morphemes with their syllables, token dropout
of 0.3. All other variants share one smaller setting, with a penalty of 0.1 unless stated otherwise; IMDb's reviews are
cut to 400 words, with the dropout of *best*; on SST words that occur once have embeddings too. Rows of one corpus
differ only in what their titles state, on SST also in epochs. Penalties are the paper's and two smaller ones; all else
was chosen on validation: on NSMC a tenth of the official training file, by the SHA-256 of the text; on IMDb the
training reviews of a tenth of the films, since test has other films; SST's is official. On IMDb training stops two
epochs after the best, and the penalty of 1 is warmed up.

With one hop the penalty has no other hop to compare with and would only concentrate the weight on one word. One hop and
six hops are therefore compared without it. One variant starts from the skip-gram vectors of ``mikolov2013``. Adam, with
lazy updates of embeddings, replaces SGD. The preset ``paper`` has the authors' sizes and SGD, no L2 penalty. On NSMC
the penalty cannot reach zero: r hops over T < r tokens have a penalty of at least (r - T) + (r / T - 1)^2
(:func:`gluon_attn.evaluation.hops.least_penalty`). Of the test reviews, 11 % have fewer than six tokens, the limit for
six hops, and 31 % fewer than ten.

Claims: the penalty helps on long texts (Table 3); one hop is worse than many (Figure 5); with the penalty two hops
overlap less (Figures 3 and 4); attention is better than max pooling (Table 1). Figure numbers are from memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gluon_attn.training.recipe import Recipe
from reproductions.protocol.claims import Better, Measured
from reproductions.protocol.reported import Reported, Table
from reproductions.protocol.reproduction import Override, Reproduction
from reproductions.protocol.task import Variant
from reproductions.tasks.classification.corpora import NSMC, SST, IMDb
from reproductions.tasks.classification.examples import of_length
from reproductions.tasks.classification.hops import (
    hops_of_review,
    less_overlap,
    measure_hops,
    penalty_by_length,
    summed_hops,
)
from reproductions.tasks.classification.reported_on_nsmc import FIVE_HOPS, PENALTY, SELF_ATTENTIVE, TWENTY_HOPS
from reproductions.tasks.classification.results import averaged, reading_page
from reproductions.tasks.classification.settings import StructuredSettings, Syllables

TITLE = "Structured self-attentive sentence embedding"
ON_NSMC = (SELF_ATTENTIVE, FIVE_HOPS, TWENTY_HOPS, PENALTY)
TABLE_1 = Table("Lin et al. (2017), Table 1", corpus="yelp, 5 classes", metric="accuracy")
TABLE_3 = replace(TABLE_1, source="Lin et al. (2017), Table 3")
TABLES = replace(TABLE_1, source="Lin et al. (2017), Tables 1 and 3")
YELP_STRICT = TABLES.entry("Lin et al., r=30, penalty 1", 64.21)
YELP_FREE = TABLE_3.entry("Lin et al., r=30, no penalty", 61.74)
YELP_MAX = TABLE_1.entry("Lin et al., BiLSTM and maximum", 61.99)
AGE = "age, 5 classes"
AGE_STRICT = replace(TABLES, corpus=AGE).entry("Lin et al., r=30, penalty 1", 80.45)
AGE_FREE = replace(TABLE_3, corpus=AGE).entry("Lin et al., r=30, no penalty", 79.27)
AGE_MAX = replace(TABLE_1, corpus=AGE).entry("Lin et al., BiLSTM and maximum", 77.40)


@dataclass(frozen=True, kw_only=True)
class Settings(StructuredSettings):
    """The paper's values for Yelp (sec. 4.2)."""

    min_freq: int = 5
    max_length: int = 400
    embedding_units: int = 100
    cell: str = "lstm"
    units: int = 300
    hops: int = 30
    attention_units: int = 350
    hidden: int = 3_000
    embedding_dropout: float = 0.5
    dropout: float = 0.5
    penalty: float = 1.0


nsmc = Settings(max_length=120, embedding_units=128, units=64, hops=6, attention_units=64, hidden=128)
nsmc = replace(nsmc, embedding_dropout=0.3, dropout=0.3, penalty=0.1)
best = replace(nsmc, min_freq=2, embedding_units=200, syllables=Syllables(), units=160, penalty=0.03)
best = replace(best, token_dropout=0.3, embedding_dropout=0.5, dropout=0.5)
wide = replace(nsmc, embedding_units=200)
imdb = replace(nsmc, max_length=400, token_dropout=0.3, embedding_dropout=0.5, dropout=0.5)
warmed_up = replace(imdb, penalty=1.0, penalty_warmup=500)
sst = replace(nsmc, min_freq=1)

SMALL = Recipe(epochs=4, batch_size=128, learning_rate=1e-3, decay="cosine", clip_norm=5.0)
STOPPED = replace(SMALL, epochs=6, patience=2)
BEST = replace(SMALL, epochs=9, warmup_steps=200)
SMOKE = Recipe(epochs=2, batch_size=32, learning_rate=5e-3, clip_norm=5.0)
SGD = Recipe(epochs=10, batch_size=32, learning_rate=0.06, optimizer="sgd", clip_norm=0.5)

PENALISED = "train, with the penalty"
NSMC_HOPS = NSMC(measurements=(measure_hops,), train_label=PENALISED)
IMDB_HOPS = IMDb(measurements=(measure_hops,), train_label=PENALISED, validation="film")
SST_HOPS = SST("sst-5", measurements=(measure_hops,), train_label=PENALISED)
# Variants in figures also keep test texts near a length, enough that both networks classify some of them correctly.
NSMC_BEST = replace(NSMC_HOPS, measurements=(measure_hops, of_length(14, 8, matrix=True)))
NSMC_DRAWN = replace(NSMC_HOPS, measurements=(*NSMC_BEST.measurements, of_length(20, 12)))
IMDB_DRAWN = replace(IMDB_HOPS, measurements=(measure_hops, of_length(70, 12)))
SST_DRAWN = replace(SST_HOPS, measurements=(measure_hops, of_length(20, 40)))


def smoke(variant: Variant[Settings]) -> Variant[Settings]:
    old = variant.settings
    syllables = old.syllables and replace(old.syllables, units=8)
    tiny = replace(old, min_freq=1, embedding_units=16, syllables=syllables, units=8, hidden=8)
    return replace(variant, settings=replace(tiny, attention_units=min(8, old.attention_units)), recipe=SMOKE)


MAXIMUM = "no attention: max pooling over the states"
ON_IMDB = "the paper has twenty times as many reviews, of Yelp, in five classes"
ON_SST = "the paper has tweets of the Age corpus"
IMDB_SIX, SST_SIX = (f"{differs}, and 30 hops, not six" for differs in (ON_IMDB, ON_SST))


def paper(variant: Variant[Settings]) -> Variant[Settings] | None:
    """The authors' sizes for Yelp, on IMDb."""
    if variant.name != "imdb-r6-strict":
        return None
    named = replace(variant, name="imdb-paper", title="the paper's sizes: 300 units, 30 hops, penalty 1")
    return replace(named, settings=Settings(), recipe=SGD, differs=ON_IMDB)


def row(
    name: str, title: str, settings: Settings, task: Any = NSMC_HOPS, beside: Reported | None = None, differs: str = ""
) -> Variant[Settings]:
    """One of the smaller networks."""
    return Variant(name, f"{title}, smaller setting", settings, SMALL, task, beside=beside, differs=differs)


def on_sst(variant: Variant[Settings], epochs: int = 8) -> Variant[Settings]:
    """The variant with five seeds and its own number of epochs."""
    return replace(variant, seeds=(1, 2, 3, 4, 5), recipe=replace(SMALL, epochs=epochs))


def without_attention(settings: Settings) -> Settings:
    return replace(settings, hops=0, attention_units=0, pooling="max", penalty=0.0)


LONG_TEXTS = (
    row("imdb-r1-free", "one hop, no penalty", replace(imdb, hops=1, penalty=0.0), IMDB_HOPS),
    row("imdb-r6", "six hops, penalty 0.1", imdb, IMDB_HOPS),
    row("imdb-r6-free", "six hops, no penalty", replace(imdb, penalty=0.0), IMDB_DRAWN, YELP_FREE, IMDB_SIX),
    row("imdb-r6-strict", "six hops, penalty rising to 1", warmed_up, IMDB_DRAWN, YELP_STRICT, IMDB_SIX),
    row("imdb-max", MAXIMUM, without_attention(imdb), IMDB_HOPS, YELP_MAX, ON_IMDB),
)
DIFFER, RECALLED = "With the penalty the hops differ more", "from memory: Figure"
BEAT = "are better than max pooling over the states"
SIX_WARMED_UP = "Six hops (penalty rising to 1)"
ON_LONG = "A penalty that rises towards the paper's 1 helps on long texts"
ON_SHORT = "The penalty helps on short texts, each network with its own number of epochs"
overlap = partial(Measured, effect=less_overlap)
REPRODUCTION = Reproduction(
    title=TITLE,
    source="Lin et al. (2017), arXiv:1703.03130",
    task=NSMC_HOPS,
    reported=(*ON_NSMC, YELP_STRICT, YELP_FREE, YELP_MAX, AGE_STRICT, AGE_FREE, AGE_MAX),
    variants=(
        Variant(
            "best",
            "six hops, penalty 0.03, morphemes with their syllables",
            best,
            BEST,
            NSMC_BEST,
            beside=SELF_ATTENTIVE,
            comparable=True,
            differs="the peer adds pretrained vectors to morphemes without syllables; trained on 120 000 reviews",
        ),
        row("nsmc-r1", "one hop, penalty 0.1", replace(nsmc, hops=1)),
        row("nsmc-r2", "two hops, penalty 0.1", replace(nsmc, hops=2)),
        row("nsmc-r6", "six hops, penalty 0.1", nsmc),
        row("nsmc-r6-warm", "six hops, penalty 0.1, warmed up for an epoch", replace(nsmc, penalty_warmup=1_000)),
        row("nsmc-r10", "ten hops, penalty 0.1", replace(nsmc, hops=10)),
        row("nsmc-r1-free", "one hop, no penalty", replace(nsmc, hops=1, penalty=0.0)),
        row("nsmc-r6-free", "six hops, no penalty", replace(nsmc, penalty=0.0), NSMC_DRAWN),
        row(
            "nsmc-r6-strict",
            "six hops, penalty 1",
            replace(nsmc, penalty=1.0),
            NSMC_DRAWN,
            PENALTY,
            "simonjisu's network with penalty 1 has five hops and the norm without its square",
        ),
        row("nsmc-r6-unmasked", "six hops, penalty 0.1, padding not masked", replace(nsmc, masked=False)),
        row("nsmc-r6-wide", "six hops, penalty 0.1, embeddings as wide as skip-gram's vectors", wide),
        replace(
            row("nsmc-r6-vectors", "six hops, penalty 0.1, embeddings initialised from skip-gram's vectors", wide),
            pretrained="mikolov2013/skip-gram",
        ),
        row("nsmc-max", MAXIMUM, without_attention(nsmc)),
        *(replace(variant, recipe=STOPPED) for variant in LONG_TEXTS),
        on_sst(row("sst-r6-free", "six hops, no penalty", replace(sst, penalty=0.0), SST_DRAWN, AGE_FREE, SST_SIX), 4),
        on_sst(row("sst-r6-strict", "six hops, penalty 1", replace(sst, penalty=1.0), SST_DRAWN, AGE_STRICT, SST_SIX)),
        on_sst(row("sst-max", MAXIMUM, without_attention(sst), SST_HOPS, AGE_MAX, ON_SST)),
    ),
    ensembles=(averaged("best", SELF_ATTENTIVE),),
    claims=(
        Better("penalty", ON_LONG, "imdb-r6-strict", "imdb-r6-free", "Table 3, Yelp"),
        Better("penalty-small", "A penalty of 0.1 helps on long texts", "imdb-r6", "imdb-r6-free"),
        Better("one-hop", "One hop is worse than six", "nsmc-r6-free", "nsmc-r1-free", f"{RECALLED} 5"),
        Better("one-hop-long", "One hop is worse than six, on long texts", "imdb-r6-free", "imdb-r1-free"),
        Better("maximum", f"Six hops (penalty 0.1) {BEAT}", "nsmc-r6", "nsmc-max", "Table 1"),
        Better("maximum-free", f"Six hops (no penalty) {BEAT}", "nsmc-r6-free", "nsmc-max", "Table 1"),
        Better("maximum-long", f"{SIX_WARMED_UP} {BEAT}, on long texts", "imdb-r6-strict", "imdb-max", "Table 1, Yelp"),
        Better("penalty-short", ON_SHORT, "sst-r6-strict", "sst-r6-free", "Table 3, Age"),
        Better("vectors", "Initialising embeddings from word vectors helps", "nsmc-r6-vectors", "nsmc-r6-wide"),
        Better("warm-up", "Warming the penalty up helps six hops", "nsmc-r6-warm", "nsmc-r6"),
        Better("masking", "Masking helps six hops (penalty 0.1)", "nsmc-r6", "nsmc-r6-unmasked"),
        overlap("overlap-nsmc", f"{DIFFER}, on short texts", f"{RECALLED} 3, Age", ("nsmc-r6-free", "nsmc-r6-strict")),
        overlap("overlap-imdb", f"{DIFFER}, on long texts", f"{RECALLED} 4, Yelp", ("imdb-r6-free", "imdb-r6-strict")),
    ),
    headline=("nsmc-r1-free", "nsmc-r6-free", "nsmc-r6", "nsmc-max"),
    main="best",
    seeds=(1, 2, 3),
    smoke=Override(smoke),
    paper=Override(paper),
    baselines=("joulin2016", "joulin2016/imdb-bigrams-400"),
    figures=(
        summed_hops("nsmc", "nsmc-r6-free", "nsmc-r6-strict", tokens=20, count=3),
        summed_hops("imdb", "imdb-r6-free", "imdb-r6-strict", tokens=70, count=2),
        summed_hops("sst", "sst-r6-free", "sst-r6-strict", tokens=20, count=3),
        hops_of_review("nsmc-r6-free", "nsmc-r6-strict", tokens=14),
        hops_of_review("best", tokens=14),
        penalty_by_length("nsmc-r6-free", "nsmc-r6", "nsmc-r6-strict", hops=6),
    ),
    pages=(reading_page(TITLE, "best"),),
    notes=(
        "A hop is a set of attention weights. Without the penalty two hops share 0.63 of their weight on NSMC, 0.90 on "
        "IMDb and 0.98 on SST. With penalty 1 they share 0.04 on NSMC, near its minimum (not zero below six tokens), "
        "0.50 on IMDb and 0.06 on SST; with 0.1 still 0.83 on IMDb. No corpus shows that the penalty helps: on IMDb "
        "and SST it is inconclusive, on NSMC the means fall as it grows. `imdb-r6-strict` keeps its second epoch, when "
        "the coefficient of the penalty has reached 0.70, with seed 2 its first (0.35), so the 0.50 above is not of a "
        "full penalty; in the third epoch, validation falls by 3.2 to 4.2 points (without it by 0.7 to 1.3).",
        "No claim shows attention better or worse than max pooling: on NSMC, six hops with a penalty of 0.1 are below "
        "it with every seed, without a penalty they are 0.1 points above it (inconclusive; `maximum-free` was added "
        "later), with a penalty of 1 they are 1.85 points below it (no claim). On SST `sst-r6-free` has 4 epochs, "
        "others 8. Masking also changes the penalty: lower if hops attend to padding. On IMDb, bigrams are better than "
        "all networks, also on the same 400 words (no claim; their validation reviews share films with train). There, "
        "six hops keep epoch 1 or 2 of six, at 0.75 of the learning rate or more, max pooling 5 or 6, at 0.07 or less: "
        "`maximum-long` may be a matter of the schedule. The vectors' text has near copies of test.",
        "On SST, all train on whole sentences only; the labelled phrases, on which others train, are not at hand.",
    ),
)
