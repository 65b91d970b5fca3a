"""Hierarchical attention networks (Yang et al., 2016, NAACL, "Hierarchical attention networks for document
classification").

Words form sentences and sentences form documents. On both levels a bidirectional GRU encodes the sequence and attention
selects what matters. The paper's corpora are reviews of Yelp, Amazon and IMDb (348 415 in ten classes), and answers of
Yahoo. Here we use the 50 000 IMDb reviews of Maas et al. (2011) in two classes with the official split. The paper's
accuracies are therefore not comparable with ours; its differences are.

A review is split into sentences and words by rule (:mod:`preprocessing.documents`). A sentence of more than 50 words is
continued in a new one, so nothing is left out. As in the paper, words that occur more than five times have an
embedding, which is initialised from word2vec vectors trained on the same reviews: the variant *imdb* of
``mikolov2013``. Adam, with MXNet's lazy updates of embeddings, replaces the paper's SGD. Dropout on embeddings, words,
and sentence and document vectors compensates for a smaller corpus. A batch has reviews with similar numbers of
sentences. Everything was chosen on the validation split, a tenth of the training reviews by the SHA-256 of the text; it
shares films with the other training reviews, the test split does not.

*best* is the paper's network with twice the units of GRU and attention, more dropout, also of tokens, and twice the
epochs. The systems compared all have the paper's width, 50 units in each direction and a context vector of 100, and
share one shorter training. *flat-whole* reads a review as one sequence with the same GRU and one level of the same
attention, without its bias; it has no sentences and therefore no dropout on sentence vectors. *flat* reads the first
400 words of it.

Claims: attention is better than mean (HN-AVE) and max pooling (HN-MAX), which are alike; hierarchical is better than
flat with the same attention, which the flat systems of Table 2 do not have; and the weight of a word depends on its
context, measured as the paper shows it: "good" has more weight in positive reviews, "bad" in negative ones (Figures 3
and 4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gluon_attn.models.hierarchical_attention import HierarchicalAttentionNetwork
from gluon_attn.training.recipe import Recipe
from preprocessing.text.pipeline import Result
from reproductions.protocol.claims import Better, Measured
from reproductions.protocol.reported import Table
from reproductions.protocol.reproduction import Override, Reproduction
from reproductions.protocol.task import Variant
from reproductions.tasks.classification.accuracy import level
from reproductions.tasks.classification.corpora import IMDb
from reproductions.tasks.classification.document_attention import (
    draw_shaded_reviews,
    shaded_reviews,
    weighs_more,
    weights_by_label,
    words_in_context,
)
from reproductions.tasks.classification.inputs import Documents, TextInputs
from reproductions.tasks.classification.results import reading_page
from reproductions.tasks.classification.settings import ClassificationData, ClassificationSettings, StructuredSettings

TITLE = "Hierarchical attention networks"
TABLE_2 = Table(
    "Yang et al. (2016), Table 2", corpus="imdb, 10 classes", metric="accuracy", checked="secondary", digits=1
)
ATT, AVE = TABLE_2.entry("HN-ATT", 49.4), TABLE_2.entry("HN-AVE", 47.8)
MAX = replace(TABLE_2, checked="memory").entry("HN-MAX", 48.2)
RICHLIAO = Table("richliao/textClassifier", corpus="imdb", metric="accuracy", digits=1)
PEER = RICHLIAO.entry("hierarchical attention network, pretrained vectors", 90.4)
GLUONNLP = Table("GluonNLP model zoo, trained from scratch", corpus="imdb", metric="accuracy")
PEER_FLAT = GLUONNLP.entry("LSTM of 200 units", 85.60)

WHOLE = 4_000  # words; the longest review has 2 740
MARGIN = 0.5  # accuracy points within which HN-AVE and HN-MAX count as alike: under half of the gains in Table 2


@dataclass(frozen=True, kw_only=True)
class Settings(ClassificationSettings):
    """The paper's sizes (sec. 3.3); the dropouts are ours."""

    min_freq: int = 6
    token_dropout: float = 0.1
    embedding_units: int = 200
    units: int = 50
    attention_units: int = 100
    pooling: str = "attention"
    embedding_dropout: float = 0.3
    dropout: float = 0.3

    def inputs(self, prepared: Result) -> TextInputs:
        return Documents()

    def build(self, data: ClassificationData) -> HierarchicalAttentionNetwork:
        return HierarchicalAttentionNetwork(
            vocabulary_size=data.vocabulary_size,
            embedding_units=self.embedding_units,
            units=self.units,
            attention_units=self.attention_units,
            classes=data.classes,
            pooling=self.pooling,
            embedding_dropout=self.embedding_dropout,
            dropout=self.dropout,
        )


att = Settings()
best = replace(att, units=100, attention_units=200, embedding_dropout=0.5, dropout=0.5, token_dropout=0.2)
flat = StructuredSettings(
    min_freq=6,
    max_length=400,
    token_dropout=0.1,
    embedding_units=200,
    cell="gru",
    units=50,
    hops=1,
    attention_units=100,
    hidden=0,
    embedding_dropout=0.3,
    dropout=0.3,
)
RECIPE = Recipe(epochs=4, batch_size=64, learning_rate=1e-3, warmup_steps=100, decay="cosine", clip_norm=5.0)
SMOKE = Recipe(epochs=2, batch_size=16, learning_rate=5e-3, clip_norm=5.0)


def smoke(variant: Variant[Any]) -> Variant[Any]:
    units = 12 if variant.settings == best else 8
    tiny = replace(variant.settings, min_freq=1, embedding_units=16, units=units, attention_units=8)
    return replace(variant, settings=replace(tiny, embedding_dropout=0.3, dropout=0.3, token_dropout=0.1), recipe=SMOKE)


def paper(variant: Variant[Any]) -> Variant[Any] | None:
    """Only the network with the paper's widths, which is small enough to be trained here."""
    return variant if variant.settings == att else None


SCALE = "the paper has 348 415 reviews in ten classes"
PEER_DIFFERS = "richliao/textClassifier reports a fifth of the training file, not the test split; other word vectors"
FLAT_DIFFERS = "the peer has one LSTM of 200 units and the mean of its states, and random embeddings"
REVIEWS = IMDb(max_words=50, overlong="wrap")
IN_CONTEXT = replace(REVIEWS, measurements=(words_in_context("good", "bad"),))
DRAWN = replace(REVIEWS, measurements=(*IN_CONTEXT.measurements, shaded_reviews))
row = partial(Variant, pretrained="mikolov2013/imdb")
in_context = partial(Measured, source="Figures 3 and 4", variants=("att",))
in_table_2 = partial(Better, source="Table 2")
REPRODUCTION = Reproduction(
    title=TITLE,
    source="Yang et al. (2016), NAACL",
    task=REVIEWS,
    reported=(
        PEER,
        RICHLIAO.entry("hierarchical LSTM without attention", 89.4),
        PEER_FLAT,
        ATT,
        AVE,
        MAX,
        TABLE_2.entry("LSTM-GRNN", 45.3),
    ),
    variants=(
        row(
            "best",
            "HN-ATT of twice the width, with more dropout, trained longer",
            best,
            replace(RECIPE, epochs=8),
            IN_CONTEXT,
            beside=PEER,
            differs=PEER_DIFFERS,
        ),
        row("att", "HN-ATT: attention on both levels", att, RECIPE, DRAWN, beside=ATT, differs=SCALE),
        row("ave", "HN-AVE: mean pooling on both", replace(att, pooling="mean"), RECIPE, beside=AVE, differs=SCALE),
        row("max", "HN-MAX: max pooling on both", replace(att, pooling="max"), RECIPE, beside=MAX, differs=SCALE),
        row(
            "flat",
            "one Bi-GRU with attention over the first 400 words",
            flat,
            RECIPE,
            beside=PEER_FLAT,
            comparable=True,
            differs=FLAT_DIFFERS,
        ),
        row("flat-whole", "one Bi-GRU with attention over whole reviews", replace(flat, max_length=WHOLE), RECIPE),
    ),
    claims=(
        in_table_2("att-ave", "Attention is better than the mean", "att", "ave"),
        in_table_2("att-max", "Attention is better than max pooling", "att", "max"),
        Better("hierarchical", "Hierarchical is better than flat, both with attention", "att", "flat-whole"),
        Better("structure", "Hierarchical without attention is better than flat with it", "ave", "flat-whole"),
        Better("whole", "Flat over whole reviews is better than over their first 400 words", "flat-whole", "flat"),
        Measured(
            "ave-max",
            f"Mean and max pooling are alike: at most {MARGIN} points apart",
            "Table 2",
            ("ave", "max"),
            level(MARGIN, "reviews"),
            reported=MARGIN - abs(AVE.value - MAX.value),
        ),
        in_context(
            "context-good",
            '"good" weighs more in positive reviews than in negative ones',
            effect=partial(weighs_more, "good", 1),
        ),
        in_context(
            "context-bad",
            '"bad" weighs more in negative reviews than in positive ones',
            effect=partial(weighs_more, "bad", 0),
        ),
    ),
    headline=("att", "ave", "flat-whole"),
    main="att",
    seeds=(1, 2, 3),
    smoke=Override(smoke),
    paper=Override(paper, seeds=(1, 2, 3)),
    baselines=("joulin2016",),
    figures=(draw_shaded_reviews("att"), weights_by_label("att", "good", "bad")),
    pages=(reading_page(TITLE, "best", every=50),),
    notes=(
        "Our three systems rank as in the paper's IMDb column: HN-ATT, HN-MAX, HN-AVE. The paper's HN-MAX is cited "
        "from memory; on its other corpora, from memory too, HN-MAX and HN-AVE are about equal. “good” and “bad” show "
        "the effect of its Figures 3 and 4.",
        "Changed after test was scored: `ave-max` chooses the best and the worst system once, by their means, instead "
        "of by seed; `hierarchical` (then supported) and `structure` (then inconclusive) compared with `flat` and now "
        f"compare with `flat-whole`; `flat-whole` and `whole` were added. The margin of {MARGIN} points is ours.",
        "All networks here start from word2vec vectors, `joulin2016` from random ones; both hold out validation "
        "reviews by the SHA-256 of their text, which share films with the others (`lin2017` holds out films). "
        "Validation may therefore mislead: it prefers `best` (91.97 %, mean of three seeds), `flat-whole` (91.74) and "
        "`flat` (91.60) to `att` (91.46), which is the best on test. `best`, twice as wide, with more dropout and "
        "eight epochs instead of four, is no better there than `att`.",
        "`flat` reads the first 400 words: on the 4 151 longer test reviews HN-ATT is better by 4.10 points, on the "
        "others by 0.53 (95 % interval over films 0.29 to 0.78). No advantage is shown over `flat-whole`, which "
        "reads whole reviews.",
    ),
)
