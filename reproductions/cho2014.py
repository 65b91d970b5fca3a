"""Cho et al. (2014), "Learning phrase representations using RNN encoder-decoder for statistical machine translation".

The paper introduces the gated recurrent unit and an encoder-decoder of two of them: one vector c summarises the source,
every step of the decoder reads it, and so does a maxout layer before the softmax. There it rescores the phrase pairs of
a statistical system for English and French (WMT'14): Table 1, 33.30 BLEU without the scores, 33.87 with them.

Here there is no statistical system to rescore: the network itself translates Multi30k, English to French, and its parts
are compared, which the paper does not do: one network of 256 units in full training, and at one smaller setting the
paper's network, c only in the decoder's initial state (as Sutskever et al., 2014), and tanh in place of maxout.

Claims (ours): c at every step is better than c in the initial state only; maxout is better than tanh.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gluon_attn.models.rnnencdec import RNNEncDec
from reproductions.protocol.claims import Better
from reproductions.protocol.reported import Reported, Table
from reproductions.protocol.reproduction import Override, Reproduction
from reproductions.protocol.task import Variant
from reproductions.tasks.translation import SMALL, SMOKE, STANDARD, Translation, TranslationData, TranslationSettings
from reproductions.tasks.translation_results import bleu_by_length

TABLE_1 = Table("Cho et al. (2014), Table 1, test", corpus="wmt14 en-fr", metric="bleu")
WITH_RNN = TABLE_1.entry("phrase-based system with RNN encoder-decoder scores", 33.87)


@dataclass(frozen=True, kw_only=True)
class Settings(TranslationSettings):
    """The paper's values (appendix A.1 and sec. 4.1)."""

    units: int = 1000
    embedding_units: int = 100
    maxout_units: int = 500
    dropout: float = 0.0
    tokens: str = "words"
    max_size: int | None = 15_000
    context_at_every_step: bool = True
    maxout: bool = True

    def build(self, data: TranslationData) -> RNNEncDec:
        return RNNEncDec(
            units=self.units,
            maxout_units=self.maxout_units,
            context_at_every_step=self.context_at_every_step,
            maxout=self.maxout,
            feature_dropout=self.dropout,
            dropout=self.dropout,
            **data.shared(self),
        )


full = Settings(
    units=256, embedding_units=256, maxout_units=256, dropout=0.3, smoothing=0.1, tied=True, tokens="bpe", max_size=None
)
small = replace(full, units=128, embedding_units=128, maxout_units=128, dropout=0.2)


def smoke(variant: Variant[Settings]) -> Variant[Settings]:
    tiny = replace(variant.settings, units=16, embedding_units=16, maxout_units=16, dropout=0.3)
    return replace(variant, settings=tiny, recipe=SMOKE)


def paper(variant: Variant[Settings]) -> Variant[Settings]:
    parts = variant.settings
    whole = Settings(context_at_every_step=parts.context_at_every_step, maxout=parts.maxout)
    return replace(variant, settings=whole, recipe=STANDARD)


REPRODUCTION = Reproduction(
    title="RNN encoder-decoder: the gated recurrent unit",
    source="Cho et al. (2014), arXiv:1406.1078",
    task=Translation("multi30k en-fr", source="en", target="fr"),
    reported=(
        TABLE_1.entry("phrase-based system", 33.30),
        WITH_RNN,
        TABLE_1.entry("phrase-based system with CSLM and RNN scores", 34.64),
        TABLE_1.entry("phrase-based system with CSLM, RNN and word penalty", 34.54),
        Reported(
            "GRU encoder-decoder of 512 units, German to English",
            37.5,
            "multi30k de-en",
            "perplexity",
            "a public tutorial's notebook",
            "secondary",
        ),
    ),
    variants=(
        Variant(
            "encdec",
            "RNN encoder-decoder",
            full,
            STANDARD,
            beside=WITH_RNN,
            differs="theirs rescores the phrases of a statistical system, ours translates by itself, another corpus",
        ),
        Variant("encdec-small", "RNN encoder-decoder, smaller setting", small, SMALL, seeds=(1,)),
        Variant(
            "start-only",
            "c in the decoder's initial state only, not in the readout either, smaller setting",
            replace(small, context_at_every_step=False),
            SMALL,
            seeds=(1,),
        ),
        Variant(
            "plain-readout",
            "tanh in place of maxout, half the readout's weights, smaller setting",
            replace(small, maxout=False),
            SMALL,
            seeds=(1,),
        ),
    ),
    claims=(
        Better(
            "everywhere",
            "The summary at every step is better than in the decoder's initial state only",
            "encdec-small",
            "start-only",
            source="ours; sec. 2.2 has it so",
        ),
        Better(
            "maxout",
            "The maxout readout is better than a plain one",
            "encdec-small",
            "plain-readout",
            source="ours; appendix A.1.2 has it so",
        ),
    ),
    headline=("encdec-small", "start-only"),
    seeds=(1, 2),
    smoke=Override(smoke),
    paper=Override(paper),
    figures=(bleu_by_length("encdec", "encdec-small", "start-only", "plain-readout"),),
)
