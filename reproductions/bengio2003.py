"""Bengio, Ducharme, Vincent and Janvin (2003), "A neural probabilistic language model", JMLR 3.

A network predicts a word from the features of the n - 1 words before it, and learns these features, instead of counting
n-grams. Tables 1 and 2, test perplexity: on the Brown corpus (one million words) 252 for a network mixed with trigrams
against 312 for the best n-gram model; on AP News (14 million words) 109 against 117. On Brown, n = 5 is better than
n = 3 for the network but not for n-grams, and the network generalises better without direct connections from the
features to the output (sec. 4.2). These numbers were checked in summaries only; the sizes of `paper` are from memory.

Here we use the Penn Treebank: 930 000 words including the ends of lines, with Mikolov's vocabulary of 10 000 words and
his split. Perplexity is token-weighted over all words and ends of lines, as in `cheng2016`, whose language models are
in the table too. Mikolov (2012) has 140.2 for a network of this kind, 141.2 for Kneser-Ney 5-grams and 116.7 for both.
The text is one stream: the context at the start of a line is the end of the previous line.

The n-gram models, n = 2 to 8, use interpolated Kneser-Ney smoothing with three estimated discounts
(`gluon_attn/models/kneser_ney.py`). Validation perplexity of 5-grams is 147.7, 148.0 if contexts start at the line,
151.4 with one discount. They are deterministic: one run is compared with each seed of a network.

The networks read 1, 2, 4 or 7 previous words. The tanh layer has 512 units and a word has 128 features, more than in
the paper. A batch is 512 words drawn from the whole text. Not in the paper: the features of a word are also its output
weights, after a projection; dropout on the features (0.3) and on the tanh layer (0.5); Adam with a learning rate that
rises to 0.002 over 200 updates and decays to 0 as a cosine over eight epochs; gradients clipped to a norm of 1. Weight
decay is 1e-5, in the paper 1e-4 with gradient descent. The recipe was chosen on validation with n = 5 and one seed:
without weight decay, perplexity is 151.2 after six epochs, with it 145.2; with dropout of 0.1 and 0.3 and no weight
decay the network overfits, from 154.5 after four epochs to 157.9 after seven; gradient descent (rate 20, gradients
clipped to 0.25) is slower (331.9 after two epochs, Adam 176.5). Separate output weights (200 units, 100 features) were
worse in the same time: 199.5 against 192.4 after one of three epochs.

The paper mixes both models with equal weights. Here the weight of the network depends on how many of the previous words
occur together as a context in the training text, and maximises the likelihood of the validation text. Both are shown.

Claims: the network is better than n-grams of the same order; the mixture is better than both; longer contexts help the
network, and more than they help n-grams; 5-grams are better than longer n-grams; the network is better
without direct connections; words with similar features have similar meaning (section 1), and skip-gram vectors capture
meaning better (Mikolov et al., 2013).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gluon_attn.models.neural_language_model import NeuralLanguageModel
from gluon_attn.models.word2vec import Word2Vec
from gluon_attn.training.recipe import Recipe
from reproductions.protocol.claims import Better, Measured
from reproductions.protocol.reported import Table
from reproductions.protocol.reproduction import Override, Reproduction
from reproductions.protocol.task import Variant
from reproductions.tasks.language_modelling import ngram_results, ngrams
from reproductions.tasks.language_modelling.task import LanguageModellingData
from reproductions.tasks.word_vectors.results import above_chance, map_of, neighbours_page
from reproductions.tasks.word_vectors.task import WordVectorData, WordVectors, WordVectorSettings

TABLE_1 = Table("Bengio et al. (2003), Table 1", corpus="brown", metric="perplexity", checked="secondary", digits=0)
TABLE_2 = Table("Bengio et al. (2003), Table 2", corpus="ap news", metric="perplexity", checked="secondary", digits=0)
MIKOLOV = Table("Mikolov (2012), Table 4.1", corpus="ptb", metric="perplexity", checked="secondary", digits=1)
BROWN_MIXTURE = TABLE_1.entry("network of five words, mixed with trigrams", 252.0)
BROWN_NGRAMS = TABLE_1.entry("best n-grams", 312.0)
FEED_FORWARD = MIKOLOV.entry("feed-forward network", 140.2)
KNESER_NEY_5 = MIKOLOV.entry("Kneser-Ney, 5 words", 141.2)
NETWORKS, NGRAMS = (2, 3, 5, 8), (2, 3, 4, 5, 6, 7, 8)

# Words of markets, persons and institutions, places, times, units and function words, as the corpus spells them.
LISTED = (
    *("rose", "fell", "gained", "profit", "loss", "stock", "bonds", "bank", "oil", "cars"),
    *("president", "chairman", "mr.", "company", "court", "congress", "japan", "california", "monday", "october"),
    *("million", "billion", "percent", "months", "he", "they", "said", "would", "good", "bad"),
)
MAPPED = ("rose", "profit", "stock", "bank", "president", "japan", "monday", "million", "he", "said")
VECTORS = WordVectors("ptb", LISTED, MAPPED, rated_elsewhere=True)


@dataclass(frozen=True, kw_only=True)
class Settings(ngrams.ContextSettings):
    """The paper's values for the best network on Brown; ``tied`` and dropout are ours."""

    feature_units: int = 30
    hidden_units: int = 100
    direct: bool = False
    tied: bool = False
    feature_dropout: float = 0.0
    dropout: float = 0.0

    def build(self, data: LanguageModellingData) -> NeuralLanguageModel:
        return NeuralLanguageModel(
            vocabulary_size=data.vocabulary_size,
            order=self.order,
            feature_units=self.feature_units,
            hidden_units=self.hidden_units,
            direct=self.direct,
            tied=self.tied,
            feature_dropout=self.feature_dropout,
            dropout=self.dropout,
        )


@dataclass(frozen=True, kw_only=True)
class SkipGram(WordVectorSettings):
    """Skip-gram with negative sampling, on the text that the networks are trained on."""

    min_freq: int = 1
    units: int = 128
    negatives: int = 5
    threshold: float = 1e-3
    example = "pair of words"

    def build(self, data: WordVectorData) -> Word2Vec:
        return Word2Vec(
            kind="skip-gram",
            vocabulary_size=len(data.prepared.vocabulary),
            units=self.units,
            negatives=self.negatives,
            noise=self.noise,
        )


network = Settings(feature_units=128, hidden_units=512, tied=True, feature_dropout=0.3, dropout=0.5)
RECIPE = Recipe(epochs=8, batch_size=512, learning_rate=2e-3, decay="cosine", warmup_steps=200, clip_norm=1.0)
RECIPE = replace(RECIPE, weight_decay=1e-5)
SKIP_GRAM = Recipe(epochs=15, batch_size=64, learning_rate=5e-3, decay="cosine")
ANOTHER_RECIPE = "ours has other sizes, dropout, features shared with the output"


def network_of(order: int, *, direct: bool = False) -> Variant[Any]:
    name, title = f"n{order}", f"network, n = {order}"
    return Variant(
        f"{name}-direct" if direct else name,
        f"{title}, direct connections" if direct else title,
        replace(network, order=order, direct=direct),
        RECIPE,
        beside=FEED_FORWARD if order == 5 and not direct else None,
        comparable=order == 5 and not direct,
        differs=ANOTHER_RECIPE if order == 5 and not direct else "",
    )


def ngrams_of(order: int) -> Variant[Any]:
    return Variant(
        f"kn{order}",
        f"Kneser-Ney {order}-grams",
        ngrams.NgramSettings(order=order),
        Recipe(epochs=1, batch_size=1, learning_rate=0.0),  # counting
        task=ngrams.NgramModelling("ptb"),
        seeds=(1,),
        beside=KNESER_NEY_5 if order == 5 else None,
        comparable=order == 5,
        differs="our contexts go on over ends of lines" if order == 5 else "",
        deterministic=True,
    )


def smoke(variant: Variant[Any]) -> Variant[Any]:
    if isinstance(variant.settings, ngrams.NgramSettings):
        return variant
    if isinstance(variant.settings, SkipGram):
        tiny = replace(variant.settings, units=16, noise=16, threshold=1e-2, length=16, held_out_rows=8)
        return replace(variant, settings=tiny, recipe=replace(SKIP_GRAM, epochs=2, batch_size=8))
    tiny = replace(variant.settings, feature_units=8, hidden_units=12)
    return replace(
        variant, settings=tiny, recipe=replace(RECIPE, epochs=2, batch_size=8, learning_rate=5e-3, warmup_steps=10)
    )


def paper(variant: Variant[Any]) -> Variant[Any]:
    """The paper's training: one word at a time by gradient descent, with a rate of 0.001 and weight decay."""
    if not isinstance(variant.settings, Settings):
        return variant
    own = Settings(order=variant.settings.order, direct=variant.settings.direct)
    recipe = Recipe(epochs=20, batch_size=1, learning_rate=1e-3, optimizer="sgd", weight_decay=1e-4)
    return replace(variant, settings=own, recipe=recipe, differs="")


REPRODUCTION = Reproduction(
    title="A neural probabilistic language model",
    source="Bengio et al. (2003), JMLR 3",
    task=ngrams.ContextModelling("ptb", LISTED, MAPPED),
    reported=(
        BROWN_NGRAMS,
        BROWN_MIXTURE,
        TABLE_2.entry("best n-grams", 117.0),
        TABLE_2.entry("network, mixed with trigrams", 109.0),
        KNESER_NEY_5,
        FEED_FORWARD,
        MIKOLOV.entry("feed-forward network, mixed with Kneser-Ney", 116.7),
    ),
    variants=(
        *(network_of(order) for order in NETWORKS),
        network_of(5, direct=True),
        *(ngrams_of(order) for order in NGRAMS),
        Variant("skip-gram", "skip-gram, word vectors", SkipGram(), SKIP_GRAM, task=VECTORS),
    ),
    claims=(
        Better("network", "The network with n = 5 is better than Kneser-Ney 5-grams", "n5", "kn5", source="sec. 4.2"),
        Measured(
            "mixture-network",
            "The mixture with n-grams, weighted on validation, is better than the network",
            "sec. 4.2",
            ("n5",),
            ngram_results.mixture_below_network,
        ),
        Measured(
            "mixture-ngrams",
            "The mixture with the network, weighted on validation, is better than the n-grams",
            "Table 1 (trigrams, equal weights)",
            ("n5", "kn5"),
            ngram_results.mixture_below_ngrams,
            reported=BROWN_NGRAMS.value - BROWN_MIXTURE.value,
        ),
        Better("longer-5", "For the network, n = 5 is better than n = 3", "n5", "n3", source="sec. 4.2"),
        Better("longer-8", "For the network, n = 8 is better than n = 5", "n8", "n5"),
        Better("longer-ngrams", "5-grams are better than 8-grams", "kn5", "kn8"),
        *(
            Measured(
                f"longer-more-{long}",
                f"From n = {short} to n = {long} the network gains more than n-grams",
                "sec. 4.2",
                (f"n{short}", f"n{long}", f"kn{short}", f"kn{long}"),
                ngram_results.gains_more,
            )
            for short, long in ((3, 5), (5, 8))
        ),
        Better("direct", "The network without direct connections is better", "n5", "n5-direct", source="sec. 4.2"),
        Measured("alike", "Neighbours by features share their sentiment above chance", "sec. 1", ("n5",), above_chance),
        Better(
            "skip-gram",
            "Neighbours by skip-gram's vectors share their sentiment more often than by the network's features",
            "skip-gram",
            "n5",
            source="Mikolov et al. (2013), Table 3",
        ),
    ),
    headline=("n5", "kn5"),
    main="n5",
    seeds=(1, 2, 3),
    smoke=Override(smoke),
    paper=Override(paper),
    columns=(*ngrams.ContextModelling.columns, WordVectors.columns[0]),
    baselines=("cheng2016/lstm", "cheng2016/lstmn"),
    figures=(
        ngram_results.perplexity_by_context(
            {order: f"n{order}" for order in NETWORKS}, {order: f"kn{order}" for order in NGRAMS}, network.mixed_with
        ),
        map_of("n5"),
    ),
    notes=(
        "Direct connections go through the tied features (W = C Q, 65 536 parameters); the paper's W is free.",
        "Neighbours are of 131 words whose sentiment IMDb's ratings show; 51.9 % would share it by chance.",
    ),
    pages=(neighbours_page("nearest words", "neighbours.tsv", "n5", "skip-gram"),),
)
