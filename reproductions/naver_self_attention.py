"""The GluonNLP post "Attention API로 간단히 어텐션 사용하기" on the Naver sentiment movie corpus.

The post (freesearch.pe.kr/archives/4876) classifies Korean film reviews with one self-attention layer over a
bidirectional GRU and reads the attention matrix of one review. It reports no accuracy, so ours stand beside what others
report for other networks on the same test split.

What the post says: Mecab morphemes, reviews cut and padded to 30 tokens, dropout 0.3 on the embeddings,
``MLPAttentionCell(30, dropout=0.2)`` on the GRU's states as query, key and value, and one dense layer over all 30
positions; padding is nowhere masked. What it leaves open is fixed here, on the validation split: embeddings of 128,
32 units in each direction, tokens seen 5 times or more, Xavier initialisation, Adam on batches of 128 for three epochs
with a rate that falls from 0.001 to 0 as a cosine, the epoch with the best validation accuracy. The validation split is
a tenth of the official training file, chosen by the SHA-256 of the text, so that copies of a review never stand on both
sides. Networks that do not depend on padding read batches of like length; those of the post read random ones.

Adam is MXNet's lazy one: of the embeddings only those in a batch are updated, momentum included.

*Wide* and *vectors* measure what it brings to begin with the skip-gram vectors of ``mikolov2013``, trained on the crawl
without the reviews of the test and the validation split: two networks that differ in nothing else. All seeds begin
with the vectors of one training.

Claims: attention is better than none; additive against dot-product; what masking the padding does; word vectors help;
and the post's remark that a badly trained model shows no readable weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from gluonnlp.model import AttentionCell
from mxnet.gluon import HybridBlock

from gluon_attn.attention.additive import AdditiveAttention
from gluon_attn.attention.multiplicative import scaled_dot
from gluon_attn.evaluation.attention import faithfulness
from gluon_attn.evaluation.statistics import Estimate, bootstrap
from gluon_attn.models.self_attention_classifier import AsWritten, Masked
from gluon_attn.models.stacked_classifier import StackedClassifier
from gluon_attn.plots.curves import training_curves
from gluon_attn.plots.distributions import entropy_and_agreement
from gluon_attn.plots.heatmap import attention_matrix
from gluon_attn.training.checkpoint import Checkpoint, parameter_arrays, set_parameters
from gluon_attn.training.recipe import Recipe
from reproductions.protocol.experiment import Preset, Reported, Variant
from reproductions.protocol.results import Claim, Row
from reproductions.protocol.rows import by_variant, measured
from reproductions.protocol.runs import Outcome, load
from reproductions.tasks import classification, classification_results
from reproductions.tasks.classification import (
    Data,
    begin_with as begin_with,
    classify,
    embedding,
    predict as predict,
    prepare as prepare,
    task as task,
)
from reproductions.tasks.classification_results import COLUMNS as COLUMNS, Comparison, write_reading_page

TITLE = "Self-attention over a Bi-GRU on Naver film reviews"
SOURCE = "freesearch.pe.kr/archives/4876, “Attention API로 간단히 어텐션 사용하기”"
SENTENCE = "가지고 있는 이야기에 비해 정말로 수준떨어지는 연출, 편집"

_NSMC = {"corpus": "nsmc", "metric": "accuracy"}
REPORTED = (
    Reported("KoBERT, pretrained", 90.1, source="SKTBrain/KoBERT", **_NSMC),
    Reported("2-layer BiLSTM, Mecab", 87.7, source="lih0905/korean-tokenizers", **_NSMC),
    Reported("CNN 3/4/5, Mecab", 86.39, source="simonjisu/nsmc_study", **_NSMC),
    Reported("self-attentive BiLSTM, pretrained vectors, Mecab", 86.37, source="aisolab/nlp_implementation", **_NSMC),
    Reported("sentence CNN, Mecab", 85.84, source="aisolab/nlp_implementation", **_NSMC),
    Reported("fastText", 85.50, source="monologg/KoBERT-nsmc", **_NSMC),
    Reported("3-layer BiLSTM, self-attention r=5, Mecab", 85.10, source="simonjisu/nsmc_study", **_NSMC),
    Reported(
        "BiLSTM 128, word2vec 300, Okt", 83.0, source="gusalsdmlwlq.github.io", details="given as about 83", **_NSMC
    ),
)
_PEER = {reported.system: reported for reported in REPORTED}

_RECIPE = Recipe(epochs=3, batch_size=128, learning_rate=1e-3, decay="cosine")
_SETTINGS = {"tokenizer": "mecab", "min_freq": 5, "max_length": 30, "embedding_units": 128, "units": 32, "dropout": 0.3}


def _variants(
    settings: Mapping[str, Any], recipe: Recipe, long: Recipe, best: Mapping[str, Any], best_recipe: Recipe, wide: int
) -> tuple[Variant, ...]:
    """The systems compared; all but the best differ from the one as written in what their titles say and in nothing
    else. ``wide``: units of the word vectors of ``mikolov2013``."""
    additive = {"attention": "additive", "attention_units": 30, "attention_dropout": 0.2}
    masked = {**settings, **additive, "model": "masked", "pooling": "attention"}
    as_wide = {**masked, "embedding_units": wide}
    return (
        Variant(
            "as-written",
            "additive self-attention, padding unmasked",
            {**settings, **additive, "model": "as written"},
            recipe,
            reported=_PEER["self-attentive BiLSTM, pretrained vectors, Mecab"],
            comparable=True,
            differs="the peer adds pretrained vectors, 128 units and six hops; trained on 120 000 reviews",
        ),
        Variant(
            "masked",
            "additive self-attention, padding masked and pooled",
            masked,
            recipe,
        ),
        Variant(
            "dot",
            "scaled dot-product self-attention, padding unmasked",
            {**settings, "attention_dropout": 0.2, "model": "as written", "attention": "scaled dot"},
            recipe,
        ),
        Variant(
            "no-attention",
            "no attention: the dense layer reads the GRU, padding unmasked",
            {**settings, "model": "as written", "attention": None},
            recipe,
        ),
        Variant(
            "mean",
            "no attention: mean of the states, padding masked",
            {**settings, "model": "masked", "pooling": "mean", "attention": None},
            recipe,
            reported=_PEER["fastText"],
            comparable=True,
            differs="the peer is the mean of word and n-gram vectors, with no GRU",
        ),
        Variant(
            "last",
            "no attention: last state of each direction, padding masked",
            {**settings, "model": "masked", "pooling": "last", "attention": None},
            recipe,
            reported=_PEER["BiLSTM 128, word2vec 300, Okt"],
            comparable=True,
            differs="the peer has 128 LSTM units, Okt morphemes and pretrained vectors",
        ),
        Variant("wide", f"as masked, embeddings of {wide}", as_wide, recipe),
        Variant(
            "vectors",
            f"as masked, embeddings of {wide} that begin with skip-gram's vectors",
            {**as_wide, "vectors": "mikolov2013/skip-gram"},
            recipe,
        ),
        Variant("over-fitted", "as masked, trained on and on at a constant rate: for its weights", masked, long),
        Variant(
            "best",
            "spelled tokens, Bi-GRU, attention and maximum pooling, whole reviews",
            best,
            best_recipe,
            reported=_PEER["2-layer BiLSTM, Mecab"],
            comparable=True,
            differs="whether the peer selected on the test split is not stated",
        ),
    )


_BEST = {
    "model": "stacked",
    "tokenizer": "mecab",
    "min_freq": 2,
    "max_length": 120,
    "embedding_units": 200,
    "syllable_units": 100,
    "syllable_min_freq": 5,
    "syllables_of_a_token": 4,
    "cell": "gru",
    "units": 160,
    "layers": 1,
    "attention_units": 64,
    "embedding_dropout": 0.5,
    "dropout": 0.5,
    "token_dropout": 0.3,
}
_BEST_RECIPE = Recipe(epochs=9, batch_size=128, learning_rate=1e-3, warmup_steps=200, decay="cosine")
# Trained on long after its best epoch, on purpose: the claim about badly trained models compares the two.
_LONG = Recipe(epochs=10, batch_size=128, learning_rate=1e-3)

_SMALL = {**_SETTINGS, "min_freq": 1, "embedding_units": 16, "units": 8}
_SMALL_BEST = {**_BEST, "min_freq": 1, "embedding_units": 16, "syllable_units": 8, "units": 8, "attention_units": 8}
_SHORT = Recipe(epochs=2, batch_size=32, learning_rate=5e-3)

_CPU = _variants(_SETTINGS, _RECIPE, _LONG, _BEST, _BEST_RECIPE, 200)
_SMOKE = _variants(_SMALL, _SHORT, replace(_SHORT, epochs=3), _SMALL_BEST, _SHORT, 16)
_HEADLINE = ("as-written", "mean", "last")

PRESETS = {
    "smoke": Preset("smoke", "sample", (1,), _SMOKE, _HEADLINE),
    "cpu": Preset("cpu", "nsmc", (1, 2, 3), _CPU, _HEADLINE),
    # The post's network is small enough to train here as it is: `paper` is its row of `cpu` alone.
    "paper": Preset("paper", "nsmc", (1, 2, 3), _CPU[:1], _HEADLINE[:1]),
}


def build(variant: Variant, data: Data) -> HybridBlock:
    """The network of a variant, not yet initialized."""
    settings = dict(variant.settings)
    common = {
        "vocabulary_size": len(data.prepared.vocabulary),
        "embedding_units": settings["embedding_units"],
        "units": settings["units"],
        "classes": 2,
        "dropout": settings["dropout"],
    }
    if settings["model"] == "stacked":
        names = ("cell", "layers", "attention_units", "embedding_dropout")
        sizes = {name: settings[name] for name in names}
        return StackedClassifier(**common, **sizes, embedding=embedding(settings, data))
    if settings["model"] == "masked":
        return Masked(**common, pooling=settings["pooling"], attention=_attention(settings))
    return AsWritten(**common, length=settings["max_length"], attention=_attention(settings))


def _attention(settings: Mapping[str, Any]) -> AttentionCell | None:
    if settings["attention"] == "additive":
        length = settings["max_length"] if settings["model"] == "as written" else None
        return AdditiveAttention(settings["attention_units"], settings["attention_dropout"], length)
    if settings["attention"] == "scaled dot":
        return scaled_dot(settings["attention_dropout"])
    return None


def evaluate(
    model: HybridBlock, variant: Variant, data: Data, last: Checkpoint
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """As :func:`.text_classification.evaluate`; where the variant trains on past its best epoch, the arrays also say
    how readable its weights are at the best and at the last epoch, measured on validation reviews."""
    metrics, arrays = classification.evaluate(model, variant, data, last)
    if variant.name == "over-fitted":
        arrays |= _readability(model, variant, data, last)
    return metrics, arrays


def _readability(model: HybridBlock, variant: Variant, data: Data, last: Checkpoint) -> dict[str, np.ndarray]:
    sequences = [ids for ids in data.prepared.splits["validation"].sequences() if 5 <= len(ids) <= 29][:1_000]

    def read(some: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        result = classify(model, variant, some)
        return result.probability, result.token_weights

    best = parameter_arrays(model)
    found = {"best": faithfulness(read, sequences)}
    set_parameters(model, last.group("parameters"))
    found["last"] = faithfulness(read, sequences)
    set_parameters(model, best)
    return {
        f"{what}_{when}": getattr(value, what) for when, value in found.items() for what in ("entropy", "agreement")
    }


_COMPARISONS = tuple(
    Comparison(id, statement, SOURCE, better, worse)
    for id, statement, better, worse in (
        (
            "attention",
            "As written, the network is better with its attention than without",
            "as-written",
            "no-attention",
        ),
        (
            "attention-mean",
            "Self-attention, masked and pooled, is better than the mean of the states",
            "masked",
            "mean",
        ),
        ("attention-last", "Self-attention, masked and pooled, is better than the last state", "masked", "last"),
        ("additive-dot", "Additive attention is better than scaled dot-product attention", "as-written", "dot"),
        ("masking", "Masking the padding and pooling is better than reading the padding", "masked", "as-written"),
        ("vectors", "It helps to begin with the word vectors of the crawl", "vectors", "wide"),
    )
)


def conclude(outcomes: Sequence[Outcome], preset: Preset) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the claims for which both sides are there."""
    rows, claims = classification_results.conclude(outcomes, preset, _COMPARISONS, averaged=("best",))
    if over_fitted := by_variant(outcomes).get("over-fitted"):
        claims += _readability_claims(over_fitted, preset)
    return rows, claims


def _readability_claims(outcomes: Sequence[Outcome], preset: Preset) -> list[Claim]:
    """The post's remark on badly trained models: the over-fitted last epoch against the best one, mean of the seeds."""

    def change(what: str, sign: int = 1) -> Estimate:
        # A review read by three networks is one review: seeds are averaged before reviews are resampled.
        best, last = (np.mean([o.predictions[f"{what}_{when}"] for o in outcomes], axis=0) for when in ("best", "last"))
        return bootstrap(sign * (best - last), seed=0)

    def measure(what: str) -> str:
        return measured(what, "reviews", preset, outcomes, split="validation")

    statement = "A badly trained (over-fitted) model's weights are less readable: "
    return [
        Claim.judge(
            "readable-agreement",
            statement + "they agree less with the effect of deleting a token",
            SOURCE,
            measure("Spearman correlation, best epoch minus last"),
            change("agreement"),
        ),
        Claim.judge(
            "readable-entropy",
            statement + "they are less concentrated than those of the best epoch",
            SOURCE,
            measure("normalised entropy, last epoch minus best"),
            change("entropy", sign=-1),
        ),
    ]


def figures(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """Draw what was trained: training curves, the post's sentence, readability. Of several seeds the first is drawn."""
    first = {name: group[0] for name, group in by_variant(outcomes).items()}
    paths = {"training curves": directory / "training_curves.png"}
    training_curves({name: outcome.facts["history"] for name, outcome in first.items()}, paths["training curves"])
    for name, outcome in first.items():
        if name in ("as-written", "masked", "dot"):
            paths[f"attention of {name}"] = directory / f"attention_{name}.png"
            _draw_sentence(outcome, paths[f"attention of {name}"])
    if "over-fitted" in first:
        paths["readability"] = directory / "readability.png"
        arrays, facts = first["over-fitted"].predictions, first["over-fitted"].facts
        names = {f"best epoch ({facts['best_epoch']})": "best", f"last epoch ({len(facts['history'])})": "last"}
        entropy, agreement = (
            {title: arrays[f"{what}_{when}"] for title, when in names.items()} for what in ("entropy", "agreement")
        )
        entropy_and_agreement(entropy, agreement, paths["readability"])
    return paths


def _draw_sentence(outcome: Outcome, path: Path) -> None:
    model, variant, data = load(outcome.unit)
    sentence = data.prepared.encode([SENTENCE])
    tokens = sentence.words(0)
    read = classify(model, variant, data.texts(sentence), matrices=True)
    label = f"{variant.name}: positive with probability {read.probability[0]:.2f} ({data.corpus})"
    padding = 1 - float(read.token_weights[0].sum())
    if padding > 0.005:
        label += f"; {padding:.0%} of the weight is on padding"
    attention_matrix(tokens, tokens, read.matrices[0], path, label)


def pages(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """The page of all test reviews with the weights of the first network that has some."""
    attentive = next((outcome for outcome in outcomes if "token_weights" in outcome.predictions), None)
    if attentive is None:
        return {}
    write_reading_page(attentive, directory / "reviews.html", featured=SENTENCE)
    return {"reading page": directory / "reviews.html"}
