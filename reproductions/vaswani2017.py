"""Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser and Polosukhin (2017), "Attention is all you need".

The Transformer translates with attention alone: no recurrence, so that all tokens of a sentence are computed at once.
On WMT'14 the base network (6 + 6 layers of 512 units, 8 heads, 65 million parameters) reaches 27.3 BLEU to German and
38.1 to French, the big one (1024 units, 16 heads, 213 million) 28.4 and 41.8. Table 3 changes one thing at a time, on
newstest2013: one head is 0.9 BLEU worse than eight, small keys are worse, wider and deeper is better, without dropout
1.2 are lost, label smoothing raises perplexity and BLEU, learned positions are as good as sinusoids.

Here: Multi30k, 29 000 captions, so numbers do not compare with the paper's, systems do. The network is the
Transformer-Tiny that Wu et al. (2021) found best for this corpus: 4 + 4 layers of 128 units, 4 heads, hidden layers of
256 units, one matrix of embeddings for source, target and output. It is trained on smaller batches and for fewer epochs
than theirs, at a rate that falls to zero instead of with the root of the step. Layers are normalised before each
sublayer, not after (pre-norm); the paper's order is a row of the table. RNNsearch (Bahdanau et al., 2015) is trained on
the same pairs with as many parameters, for as long as its validation BLEU rises. Table 3 is repeated on a network of 2
+ 2 layers.

Claims: the Transformer is better than RNNsearch with as many parameters, and reaches RNNsearch's BLEU in less time; and
those of Table 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from gluon_attn.evaluation.attention import scores_by_width
from gluon_attn.evaluation.statistics import Estimate
from gluon_attn.models.rnnsearch import RNNSearch
from gluon_attn.models.transformer import Transformer
from gluon_attn.plots.curves import scores_by_width as draw_scores_by_width
from gluon_attn.training.recipe import Recipe
from reproductions.protocol.claims import Better, Effect, Measured
from reproductions.protocol.reported import Reported, Table
from reproductions.protocol.reproduction import Groups, Override, Reproduction
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Variant
from reproductions.tasks.attention_heads import AttentionHeads, attends, heads
from reproductions.tasks.translation import SMOKE, STANDARD, Translation, TranslationData, TranslationSettings
from reproductions.tasks.translation_measures import minutes_gained
from reproductions.tasks.translation_results import alignments, bleu_by_length, compare

TABLE_2 = Table("Vaswani et al. (2017), Table 2", corpus="wmt14 en-de", metric="bleu", digits=1)
TABLE_3 = Table("Vaswani et al. (2017), Table 3, newstest2013", corpus="wmt14 en-de", metric="bleu", digits=1)
BASE = TABLE_3.entry("base", 25.8)
TINY = Reported(
    "Transformer-Tiny", 41.02, "multi30k en-de", "bleu", "Wu et al. (2021), README of Revisit-MMT", "secondary"
)
TINY_FR = replace(TINY, value=61.80, corpus="multi30k en-fr", checked="memory")
OTHER_TRAINING = "another implementation: smaller batches, fewer epochs, 5 000 merges and not 10 000"
SCALE = "another corpus, a hundredth of its size; a network of 2 + 2 layers of 128 units"

LEARNED_POSITIONS = 64  # training sentences have up to 50 words; later positions share the last vector
RECURRENT_UNITS = 160  # with which RNNsearch has as many parameters as the Transformer

GERMAN = AttentionHeads("multi30k en-de", source="en", target="de")
FRENCH = AttentionHeads("multi30k en-fr", source="en", target="fr")
FROM_GERMAN = AttentionHeads("multi30k en-de", source="de", target="en")
FROM_FRENCH = AttentionHeads("multi30k en-fr", source="fr", target="en")
FROM_KOREAN = AttentionHeads("tatoeba ko-en", source="ko", target="en")
TO_KOREAN = AttentionHeads("tatoeba ko-en", source="en", target="ko")


@dataclass(frozen=True, kw_only=True)
class Settings(TranslationSettings):
    """The paper's base network (sec. 3 and 5).

    Attributes:
        layers: N, of the encoder and of the decoder.
        heads: h.
        key_units: d_k, None for units / heads.
        hidden_units: d_ff.
        norm: ``post`` or ``pre``.
        positions: ``sinusoidal``, ``learned`` or ``none``.
        shared: one vocabulary, and one matrix of embeddings, for source and target (sec. 3.4).
    """

    operations: int = 37_000
    beam: int = 4
    alpha: float = 0.6
    smoothing: float = 0.1
    tied: bool = True
    units: int = 512
    dropout: float = 0.1
    layers: int = 6
    heads: int = 8
    key_units: int | None = None
    hidden_units: int = 2048
    norm: str = "post"
    positions: str = "sinusoidal"
    shared: bool = True

    multiples: ClassVar[tuple[int, int]] = (2, 2)  # its graphs are small, whatever the length

    @property
    def pipeline_options(self) -> dict[str, Any]:
        return {**super().pipeline_options, "joint_vocabulary": self.shared}

    def build(self, data: TranslationData) -> Transformer:
        return Transformer(
            encoder_layers=self.layers,
            decoder_layers=self.layers,
            heads=self.heads,
            key_units=self.key_units,
            hidden_units=self.hidden_units,
            norm=self.norm,
            positions=self.positions,
            length=LEARNED_POSITIONS,
            layer_dropout=self.dropout,
            shared=self.shared,
            **data.shared(self),
        )


@dataclass(frozen=True, kw_only=True)
class RecurrentSettings(TranslationSettings):
    """RNNsearch, all of whose layers have the same width."""

    def build(self, data: TranslationData) -> RNNSearch:
        widths = {"attention_units": self.units, "maxout_units": self.units}
        return RNNSearch(encoder_dropout=self.dropout, feature_dropout=self.dropout, **widths, **data.shared(self))


TRAINING = Recipe(
    epochs=36,
    batch_size=256,
    batch_tokens=1024,
    learning_rate=3e-3,
    warmup_steps=500,
    decay="cosine",
    beta2=0.98,
    epsilon=1e-9,
)
ABLATION = replace(TRAINING, epochs=14)
PAPER = replace(
    TRAINING,
    epochs=12,
    batch_size=10_000,
    batch_tokens=25_000,
    learning_rate=(512 * 4000) ** -0.5,
    warmup_steps=4000,
    decay="inverse-sqrt",
    average=5,
)
LONGER = replace(TRAINING, epochs=48)  # for Korean, with less than half as many pairs
RECURRENT = replace(STANDARD, epochs=14)
RECURRENT_LONGER = replace(STANDARD, epochs=18)

tiny = Settings(
    operations=5_000, units=128, layers=4, heads=4, hidden_units=256, dropout=0.3, norm="pre", beam=5, alpha=1.0
)
small = replace(tiny, layers=2, dropout=0.2)
recurrent = RecurrentSettings(
    units=RECURRENT_UNITS, embedding_units=RECURRENT_UNITS, smoothing=0.1, tied=True, dropout=0.3
)


@dataclass(frozen=True)
class Part(Translation):
    """The rows of one part of Table 3, whose training curves are one figure."""

    part: str

    @property
    def group(self) -> str:
        return self.part


@dataclass(frozen=True)
class Ablation:
    """A row of Table 3: what is changed here, what in the paper, and the BLEU there.

    ``part`` of the table; ``seeds`` are those of the tables where a claim rests on the row.
    """

    part: str
    title: str
    changed: dict[str, Any]
    paper: dict[str, Any]
    reported: Reported | None = None
    seeds: tuple[int, ...] | None = (1,)

    def variant(self, name: str) -> Variant[Settings]:
        title = f"{self.title}, smaller network"
        differs = SCALE if self.reported else ""
        settings = replace(small, **self.changed)
        task: Any = Part("multi30k en-de", source="en", target="de", part=self.part)
        return Variant(name, title, settings, ABLATION, task, self.seeds, self.reported, differs=differs)


ABLATIONS = {
    "small": Ablation("attention", "4 heads", {}, {}, BASE, None),
    "heads-1": Ablation("attention", "1 head", {"heads": 1}, {"heads": 1}, TABLE_3.entry("1 head", 24.9), None),
    "heads-2": Ablation("attention", "2 heads", {"heads": 2}, {"heads": 4}, TABLE_3.entry("4 heads", 25.5)),
    "heads-8": Ablation("attention", "8 heads", {"heads": 8}, {"heads": 16}, TABLE_3.entry("16 heads", 25.8)),
    "keys-8": Ablation(
        "attention", "keys of 8", {"key_units": 8}, {"key_units": 16}, TABLE_3.entry("keys of 16", 25.1), None
    ),
    "keys-16": Ablation(
        "attention", "keys of 16", {"key_units": 16}, {"key_units": 32}, TABLE_3.entry("keys of 32", 25.4)
    ),
    "layers-1": Ablation(
        "size", "1 + 1 layers", {"layers": 1}, {"layers": 2}, TABLE_3.entry("2 + 2 layers", 23.7), None
    ),
    "units-64": Ablation("size", "64 units", {"units": 64}, {"units": 256}, TABLE_3.entry("256 units", 24.5), None),
    "units-256": Ablation("size", "256 units", {"units": 256}, {"units": 1024}, TABLE_3.entry("1024 units", 26.0)),
    "hidden-128": Ablation(
        "size",
        "hidden layers of 128",
        {"hidden_units": 128},
        {"hidden_units": 1024},
        TABLE_3.entry("hidden layers of 1024", 25.4),
    ),
    "hidden-512": Ablation(
        "size",
        "hidden layers of 512",
        {"hidden_units": 512},
        {"hidden_units": 4096},
        TABLE_3.entry("hidden layers of 4096", 26.2),
    ),
    "no-dropout": Ablation(
        "training", "no dropout", {"dropout": 0.0}, {"dropout": 0.0}, TABLE_3.entry("no dropout", 24.6), None
    ),
    "no-smoothing": Ablation(
        "training",
        "no label smoothing",
        {"smoothing": 0.0},
        {"smoothing": 0.0},
        TABLE_3.entry("no label smoothing", 25.3),
        None,
    ),
    "learned": Ablation(
        "training",
        "learned positions",
        {"positions": "learned"},
        {"positions": "learned"},
        TABLE_3.entry("learned positions", 25.7),
        None,
    ),
    "no-positions": Ablation("training", "no positions", {"positions": "none"}, {"positions": "none"}, None, None),
    "post-norm": Ablation("training", "normalised after each sublayer", {"norm": "post"}, {"norm": "post"}),
}


def smoke(variant: Variant[Any]) -> Variant[Any]:
    settings, recipe = variant.settings, replace(SMOKE, batch_tokens=variant.recipe.batch_tokens)
    if isinstance(settings, RecurrentSettings):
        return replace(variant, settings=replace(settings, units=16, embedding_units=16), recipe=recipe)
    changed = {"layers": 1, "heads": min(settings.heads, 2), "hidden_units": settings.hidden_units // 16}
    changed |= {"units": settings.units // 8, "key_units": settings.key_units and settings.key_units // 4}
    return replace(variant, settings=replace(settings, **changed), recipe=recipe)


def paper(variant: Variant[Any]) -> Variant[Any] | None:
    """Table 3; of the others the base network to German and the big one to French (Table 2)."""
    if variant.name in ABLATIONS:
        settings = Settings(**ABLATIONS[variant.name].paper)
    elif variant.name == "transformer":
        settings = Settings()
    elif variant.name == "transformer-fr":
        settings = Settings(units=1024, heads=16, hidden_units=4096)
    else:
        return None
    return replace(variant, settings=settings, recipe=PAPER)


def learned_positions(learned: Sequence[Outcome], sinusoidal: Sequence[Outcome]) -> Effect:
    """By how much learned positions are better than half a BLEU point below sinusoids; the half is ours."""
    effect = compare("bleu", learned, sinusoidal)
    low, mean, high = (value + 0.5 for value in (effect.estimate.low, effect.estimate.mean, effect.estimate.high))
    return replace(
        effect, estimate=Estimate(mean, low, high), what="BLEU points, learned minus sinusoidal, plus a half"
    )


def why_scaled(groups: Groups, directory: Path) -> dict[str, Path]:
    """Draw variance and entropy of random scores by width."""
    measured = scores_by_width((1, 2, 4, 8, 16, 32, 64, 128, 256, 512), keys=16, queries=500, seed=0)
    path = directory / "scores_by_width.png"
    draw_scores_by_width(measured.widths, measured.variance, measured.entropy, measured.scaled_entropy, path)
    return {"why dot products are scaled": path}


def language(name: str, title: str, task: Any, recipe: Recipe = TRAINING, **more: Any) -> Variant[Settings]:
    return Variant(f"transformer{name}", f"Transformer, {title}", tiny, recipe, task, **more)


def baseline(name: str, title: str, task: Any, recipe: Recipe) -> Variant[RecurrentSettings]:
    return Variant(f"rnnsearch{name}", f"RNNsearch, as many parameters, {title}", recurrent, recipe, task)


def better(id: str, statement: str, winner: str, loser: str, metric: str = "", **more: Any) -> Better:
    return Better(id, statement, winner, loser, "Table 3", metric, **more)


REPRODUCTION = Reproduction(
    title="The Transformer: attention alone",
    source="Vaswani et al. (2017), arXiv:1706.03762",
    task=GERMAN,
    reported=(
        TABLE_2.entry("base", 27.3),
        TABLE_2.entry("big", 28.4),
        TINY,
        TINY_FR,
        *(row.reported for row in ABLATIONS.values() if row.reported),
    ),
    variants=(
        language("", "English to German", GERMAN, beside=TINY, comparable=True, differs=OTHER_TRAINING),
        language("-fr", "English to French", FRENCH, beside=TINY_FR, comparable=True, differs=OTHER_TRAINING),
        language("-de-en", "German to English", FROM_GERMAN),
        language("-fr-en", "French to English", FROM_FRENCH),
        language("-ko-en", "Korean to English", FROM_KOREAN, LONGER),
        language("-en-ko", "English to Korean", TO_KOREAN, LONGER),
        baseline("", "English to German", GERMAN, RECURRENT),
        baseline("-fr", "English to French", FRENCH, RECURRENT),
        baseline("-ko-en", "Korean to English", FROM_KOREAN, RECURRENT_LONGER),
        baseline("-en-ko", "English to Korean", TO_KOREAN, RECURRENT_LONGER),
        *(row.variant(name) for name, row in ABLATIONS.items()),
    ),
    claims=(
        Better("attention-alone", "The Transformer is better than RNNsearch", "transformer", "rnnsearch", "Table 2"),
        Better("attention-alone-fr", "The same to French", "transformer-fr", "rnnsearch-fr", "Table 2"),
        Measured(
            "time",
            "The Transformer reaches RNNsearch's BLEU in less time",
            "Table 2",
            ("transformer", "rnnsearch"),
            minutes_gained,
        ),
        Measured(
            "head-before",
            "A head of the encoder attends to the token before",
            "sec. 4",
            ("transformer",),
            attends("before", 0.5),
        ),
        Measured(
            "head-aligns",
            "A head of the decoder attends to the source token that is translated",
            "sec. 4",
            ("transformer",),
            attends("lexicon", 0.5),
        ),
        better("heads", "Several heads are better than one", "small", "heads-1"),
        better("keys", "Small keys are worse", "small", "keys-8"),
        better("depth", "Deeper is better", "small", "layers-1"),
        better("width", "Wider is better", "small", "units-64"),
        better("dropout", "Dropout helps", "small", "no-dropout"),
        better(
            "smoothing-perplexity",
            "Label smoothing raises perplexity",
            "no-smoothing",
            "small",
            "perplexity",
            reported=0.25,
        ),
        better("smoothing-bleu", "Label smoothing raises BLEU", "small", "no-smoothing"),
        Measured(
            "positions",
            "Learned positions are as good as sinusoids",
            "Table 3",
            ("learned", "small"),
            learned_positions,
            reported=0.4,
        ),
        Better("order", "Without positions it is worse", "small", "no-positions", "sec. 3.5"),
    ),
    headline=("transformer", "rnnsearch"),
    seeds=(1, 2, 3),
    smoke=Override(smoke),
    paper=Override(paper),
    notes=(
        "The margin of the claim on learned positions, half a point, and the half of a head's weight are ours. Minutes "
        "are processor time of training, without validation.",
    ),
    figures=(
        bleu_by_length("transformer", "rnnsearch"),
        why_scaled,
        heads("transformer", "transformer-ko-en"),
        alignments("transformer", "rnnsearch", "transformer-ko-en"),
    ),
)
