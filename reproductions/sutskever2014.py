"""Sutskever, Vinyals and Le (2014), "Sequence to sequence learning with neural networks".

A stack of LSTM layers encodes the sentence in its last states, and a second stack generates the translation from them,
without attention. The paper trains four layers of 1 000 units, 384 million parameters, on 12 million pairs of English
and French (WMT'14). Section 3.3: reversing the source lowers the test perplexity from 5.8 to 4.7 and raises BLEU from
25.9 to 30.6. Table 1: a single network scores 26.17 with the source in order and 30.59 with the source reversed (beam
12); five reversed networks score 33.00 with greedy search (beam 1), 34.50 with beam 2 and 34.81 with beam 12; two of
them with beam 12 score 33.27.

Here we train on Multi30k, English to French as in the paper, 29 000 captions of 13 words on average. Scores are not
comparable with the paper's, only the direction of differences between systems is. The networks have two layers of 512
units and joint byte pairs instead of 160 000 and 80 000 words. Adam (with lazy updates of the source embeddings)
replaces plain gradient descent. Dropout and label smoothing are added because the corpus is four hundred times smaller.
Embeddings enter the layers with a variance of 1, without which training begins slowly. As in the paper, search does not
normalise by length. The ensemble averages the probabilities of two networks.

Claims: reversing the source is better, in BLEU and in perplexity; beam 2 has most of the gain of beam 12; an ensemble
is better than one network; long sentences are hardly worse than short ones (sec. 3.7, Figure 3). In the ``paper``
preset, recipe, case and the selection of training text are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap_metric
from gluon_attn.models.deep_lstm import DeepLSTM
from reproductions.protocol.claims import Better, Effect, Measured
from reproductions.protocol.reported import Table
from reproductions.protocol.reproduction import Ensemble, Override, Reproduction
from reproductions.protocol.rows import stacked
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Column, Variant
from reproductions.tasks.bleu import bleu
from reproductions.tasks.translation.results import (
    OTHER_COLUMNS,
    bleu_by_length,
    by_length_class,
    long_minus_short,
)
from reproductions.tasks.translation.task import Translation, TranslationData, TranslationSettings
from reproductions.tasks.translation.trainings import SMOKE, STANDARD

TABLE_1 = Table("Sutskever et al. (2014), Table 1", corpus="wmt14 en-fr", metric="bleu")
FORWARD = TABLE_1.entry("single forward LSTM, beam 12", 26.17)
REVERSED = TABLE_1.entry("single reversed LSTM, beam 12", 30.59)
TWO_REVERSED = TABLE_1.entry("2 reversed LSTMs, beam 12", 33.27)
BEAM_1 = TABLE_1.entry("5 reversed LSTMs, beam 1", 33.00)
BEAM_2 = TABLE_1.entry("5 reversed LSTMs, beam 2", 34.50)
BEAM_12 = TABLE_1.entry("5 reversed LSTMs, beam 12", 34.81)
SECTION_3_3 = Table("Sutskever et al. (2014), sec. 3.3", corpus="wmt14 en-fr", metric="perplexity", digits=1)
FORWARD_PERPLEXITY = SECTION_3_3.entry("forward LSTM", 5.8)
REVERSED_PERPLEXITY = SECTION_3_3.entry("reversed LSTM", 4.7)
SCALE = "the paper has four hundred times as many sentences, and 4 layers of 1 000 units, not 2 of 512"
OUR_RECIPE = "recipe, case and the selection of training text are ours"
TRAINING = replace(STANDARD, epochs=5, learning_rate=3e-3)
MARGIN = 2.0  # BLEU points that count as hardly worse; chosen before anything was trained


@dataclass(frozen=True, kw_only=True)
class Settings(TranslationSettings):
    """The paper's values (sec. 3.2 to 3.4); its source vocabulary has 160 000 words.

    Attributes:
        layers: number of layers of the encoder and of the decoder.
        reverse_source: whether the encoder reads the source from its last token to its first.
        unit_variance: whether the components of embeddings have a variance of 1 at first where they enter a layer.
    """

    tokens: str = "words"
    max_size: int | None = 80_000
    beam: int = 12
    alpha: float = 0.0
    more_beams: tuple[int, ...] = (1, 2)
    units: int = 1000
    embedding_units: int = 1000
    layers: int = 4
    reverse_source: bool = True
    unit_variance: bool = False

    def build(self, data: TranslationData) -> DeepLSTM:
        return DeepLSTM(
            layers=self.layers,
            reverse_source=self.reverse_source,
            layer_dropout=self.dropout,
            unit_variance=self.unit_variance,
            **data.shared(self),
        )


joint_bpe = Settings(tokens="bpe", max_size=None, smoothing=0.1, tied=True, unit_variance=True)
backwards = replace(joint_bpe, units=512, embedding_units=512, layers=2, dropout=0.1)
forwards = replace(backwards, reverse_source=False)


def smoke(variant: Variant[Settings]) -> Variant[Settings]:
    return replace(variant, settings=replace(variant.settings, units=16, embedding_units=16), recipe=SMOKE)


WMT14 = Translation("wmt14 en-fr", source="en", target="fr")


def paper(variant: Variant[Settings]) -> Variant[Settings]:
    whole = Settings(reverse_source=variant.settings.reverse_source)
    return WMT14.at_scale(replace(variant, settings=whole, recipe=STANDARD), OUR_RECIPE)


def most_from_beam_2(outcomes: Sequence[Outcome]) -> Effect:
    """The gain in BLEU from beam 1 to beam 2, minus the gain from beam 2 to beam 12."""
    beams = [stacked(outcomes, array) for array in ("bleu_beam_1", "bleu_beam_2", "bleu")]

    def gained(totals: np.ndarray) -> float:
        one, two, twelve = (bleu(part) for part in np.split(totals, 3))
        return (two - one) - (twelve - two)

    estimate = bootstrap_metric(np.concatenate(beams, axis=2), gained, seed=0)
    return Effect(estimate, "BLEU points gained from 1 to 2, minus those gained from 2 to 12", "sentences")


def hardly_worse_when_long(outcomes: Sequence[Outcome]) -> Effect:
    estimate = bootstrap_metric(by_length_class(outcomes), long_minus_short, seed=0)
    return Effect(estimate, "BLEU above 12 words minus BLEU to 12", "sentences")


REPRODUCTION = Reproduction(
    title="Sequence to sequence: a deep LSTM without attention",
    source="Sutskever, Vinyals and Le (2014), arXiv:1409.3215",
    task=Translation("multi30k en-fr", source="en", target="fr"),
    reported=(
        FORWARD,
        REVERSED,
        TWO_REVERSED,
        BEAM_1,
        BEAM_2,
        BEAM_12,
        FORWARD_PERPLEXITY,
        REVERSED_PERPLEXITY,
    ),
    variants=(
        Variant("forward", "source read forwards", forwards, TRAINING, beside=FORWARD, differs=SCALE),
        Variant("reversed", "source read backwards", backwards, TRAINING, beside=REVERSED, differs=SCALE),
    ),
    ensembles=(
        Ensemble("forward-ensemble", "seeds 1 and 2, probabilities averaged", "forward", seeds=(1, 2), differs=SCALE),
        Ensemble(
            "reversed-ensemble",
            "seeds 1 and 2, probabilities averaged",
            "reversed",
            seeds=(1, 2),
            beside=TWO_REVERSED,
            differs=SCALE,
        ),
    ),
    claims=(
        Better("reversed", "Reading the source backwards raises BLEU", "reversed", "forward", source="Table 1"),
        Better(
            "reversed-perplexity",
            "Reading the source backwards lowers the perplexity",
            "reversed",
            "forward",
            source="sec. 3.3",
            metric="perplexity",
            reported=FORWARD_PERPLEXITY.value - REVERSED_PERPLEXITY.value,
        ),
        Measured(
            "beam-2",
            "A beam of 2 gives most of what a beam of 12 gains over greedy search",
            "Table 1",
            ("reversed",),
            most_from_beam_2,
            reported=(BEAM_2.value - BEAM_1.value) - (BEAM_12.value - BEAM_2.value),
        ),
        Measured(
            "long",
            f"BLEU of captions of more than 12 words is at most {MARGIN} points below that of the shorter captions",
            "sec. 3.7, Figure 3",
            ("reversed",),
            hardly_worse_when_long,
            margin=-MARGIN,
        ),
        Better(
            "ensemble",
            "An ensemble of two networks is better than one network",
            "reversed-ensemble",
            "reversed",
            source="Table 1",
        ),
    ),
    headline=("forward", "reversed"),
    main="reversed",
    seeds=(1, 2, 3),
    smoke=Override(smoke, seeds=(1, 2)),
    paper=Override(paper),
    columns=(
        Column("BLEU, beam 12", "bleu", "; beam 12,"),
        Column("beam 2", "bleu", "; beam 2,"),
        Column("beam 1", "bleu", "; beam 1,"),
        *OTHER_COLUMNS,
    ),
    notes=(
        "Without attention, these networks receive the source only in their initial state. Validation BLEU is 15.2 "
        "(`reversed`) and 11.7 (`forward`) after the first of five epochs, but 22.8 for `bahdanau2014/rnnsearch-fr`; "
        "over the last two epochs together, while the learning rate decays to 0, these three rise by 2.7, 2.6 and 0.1 "
        "points (means over seeds). `rnnsearch-fr` also has ten epochs, another learning rate, half the units and more "
        "dropout. The verdicts on the beam and on long sentences are about this training only, and the margin of 2.0 "
        "BLEU points in `long` is ours. The paper's effect of the beam is that of an ensemble of five.",
        "`long` compares different sentences, and captions of more than 12 words are harder for other networks too: "
        "BLEU is lower by 10.7 points for `reversed`, by 5.9 for `bahdanau2014/rnnsearch-fr` and by 13.4 for "
        "`cho2014/encdec` (means over seeds). The statement of this claim was reworded, and this comparison added, "
        "after the test split was scored.",
        "The recipe was changed after the test split was scored. Commit 68b919e5 published networks of 256 units with "
        "dropout 0.3, a learning rate of 0.002, ten epochs and the usual initialisation of embeddings, two seeds "
        "each: BLEU 20.08 (`forward`) and 24.15 (`reversed`) with beam 12; `beam-2` and `reversed-perplexity` were "
        "inconclusive. The present recipe was chosen on the validation split: twice as many units, less dropout, a "
        "higher learning rate, and embeddings that enter the layers with a variance of 1; the number of epochs, by "
        "the time that they take. It is the same for both directions.",
        "Commit 0779e1a published BLEU of ensembles of those smaller networks: with beam 12, 2 and 1, 21.27, 21.22 and "
        "20.47 (`forward`) and 25.10, 24.84 and 23.73 (`reversed`). They are not among the readings counted above, "
        "which are of single networks. `ensemble` (one ensemble, of two of the three networks) was supported until the "
        "threshold for one seed was raised to the largest deviation over seeds of any system on these captions, now "
        "that of `start-only` in `cho2014`; only more ensembles, each of other networks, could decide it.",
    ),
    figures=(bleu_by_length("forward", "reversed"),),
)
