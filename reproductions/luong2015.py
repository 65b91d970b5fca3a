"""Luong, Pham and Manning (2015), "Effective approaches to attention-based neural machine translation".

A deep LSTM encoder-decoder whose top layer looks back at the source: at all of it (*global*), or at a window around
one place (*local*), which is the step itself (*local-m*) or predicted (*local-p*); by four scores, *location*, *dot*,
*general* and *concat*; and with *input feeding*, each step reads what the one before has looked at. The paper trains
four layers of 1 000 units on 4.5 million pairs of English and German (WMT'14). Table 1 adds one thing after another:
11.3 BLEU, reversed source 12.6, dropout 14.0, global attention (location) 16.8, input feeding 18.1, local-p (general)
19.0, unknown words replaced 20.9. Table 4 compares attentions: global location 18.1, dot 18.6, general 17.3; local-m
general 18.6; local-p dot 18.0, general 19.0. Table 6, alignment error rates, needs alignments by hand, which Multi30k
has not.

Here: Multi30k, 29 000 captions of 13 words, so numbers do not compare with the paper's, systems do. The best system
has one layer of 256 units over joint byte pairs, in full training: with two, attention takes epochs longer to form.
The systems of both tables are trained at one smaller setting, over words that occur three times or more, so that
there are unknown ones to be replaced: by what the word looked at most likely means in the training text (IBM Model 1;
the paper's dictionary comes from an aligner), or by that word itself. The window of local attention is 11 words wide,
not 21: captions are half as long as the paper's sentences. Adam instead of plain gradient descent; the paper's
dropout of 0.2 (0.3 in the best system); label smoothing.

Claims: each step of Table 1 brings something; of global attentions dot is better than general and concat, of local ones
general is better than dot (Table 4); attention helps more on long sentences (sec. 5.2, Figure 6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from mxnet.gluon import HybridBlock

from gluon_attn.attention.additive import AdditiveScore
from gluon_attn.attention.global_attention import GlobalAttention, LocationScore
from gluon_attn.attention.local import MonotonicAttention, PredictiveAttention
from gluon_attn.attention.multiplicative import DotScore, GeneralScore
from gluon_attn.evaluation.statistics import bootstrap_difference
from gluon_attn.models.deep_lstm import DeepLSTM
from gluon_attn.training.recipe import Recipe
from reproductions.protocol.experiment import Column, Preset, Reported, Variant
from reproductions.protocol.results import Claim, Row
from reproductions.protocol.rows import by_variant, measured
from reproductions.protocol.runs import Outcome
from reproductions.tasks import translation_results
from reproductions.tasks.bleu import bleu
from reproductions.tasks.translation import (
    RECIPE,
    SHORTER,
    SMOKE_RECIPE,
    Data,
    evaluate as evaluate,
    prepare as prepare,
    settings_of,
    sizes,
    task as task,
    translate_lines as translate_lines,
)
from reproductions.tasks.translation_results import (
    OTHER_COLUMNS,
    Comparison,
    by_halves,
    long_minus_short,
    pages as pages,
)

TITLE = "Global and local attention in translation"
SOURCE = "Luong, Pham and Manning (2015), arXiv:1508.04025"
COLUMNS = (
    Column("BLEU", "bleu"),
    Column("unknown replaced", "bleu", "unknown words replaced"),
    *OTHER_COLUMNS,
)

_WMT = {"corpus": "wmt14 en-de", "metric": "bleu"}
_TABLE_1 = {**_WMT, "source": "Luong et al. (2015), Table 1"}
_TABLE_4 = {**_WMT, "source": "Luong et al. (2015), Table 4"}
_FOOTNOTE = {"corpus": "wmt14 en-de", "metric": "perplexity", "source": "Luong et al. (2015), Table 4 and footnote"}
_BASE = Reported("base", 11.3, **_TABLE_1)
_REVERSE = Reported("base + reverse", 12.6, **_TABLE_1)
_DROPOUT = Reported("base + reverse + dropout", 14.0, **_TABLE_1)
_LOCATION = Reported("base + reverse + dropout + global attention (location)", 16.8, **_TABLE_1)
_FEED = Reported("base + reverse + dropout + global attention (location) + feed", 18.1, **_TABLE_1)
_LOCAL_P = Reported("base + reverse + dropout + local-p attention (general) + feed", 19.0, **_TABLE_1)
_DOT = Reported("global (dot)", 18.6, **_TABLE_4)
_GENERAL = Reported("global (general)", 17.3, **_TABLE_4)
_LOCAL_M_GENERAL = Reported("local-m (general)", 18.6, **_TABLE_4)
_LOCAL_P_DOT = Reported("local-p (dot)", 18.0, **_TABLE_4)
_PEER = Reported(
    "text-only RNN with attention, byte pairs", 38.1, "multi30k en-de", "bleu", "Caglayan et al. (2017)", "memory"
)
REPORTED = (
    _BASE,
    _REVERSE,
    _DROPOUT,
    _LOCATION,
    _FEED,
    _LOCAL_P,
    Reported("base + reverse + dropout + local-p attention (general) + feed + unk replace", 20.9, **_TABLE_1),
    Reported("ensemble of 8 + unk replace", 23.0, **_TABLE_1),
    _DOT,
    _GENERAL,
    _LOCAL_M_GENERAL,
    _LOCAL_P_DOT,
    Reported("global (dot) + unk replace", 20.5, **_TABLE_4),
    Reported("global (general) + unk replace", 19.1, **_TABLE_4),
    Reported("local-m (general) + unk replace", 20.4, **_TABLE_4),
    Reported("local-p (dot) + unk replace", 19.6, **_TABLE_4),
    Reported("global (dot)", 6.1, **_FOOTNOTE),
    Reported("global (concat)", 6.7, **_FOOTNOTE),
    _PEER,
)
_SCALE = "another corpus, a hundredth of its size; 1 layer of 128 units, not 4 of 1 000"

_SHARED = {"layers": 1, "smoothing": 0.1, "tied": True, "radius": 5}
_FULL = {**_SHARED, "units": 256, "embedding_units": 256, "dropout": 0.3}
_SMALL = {**_SHARED, "units": 128, "embedding_units": 128, "tokens": "words", "min_freq": 3, "unknown": True}
_TINY = {"units": 16, "embedding_units": 16}
# The authors' own: 4 layers of 1 000 units, 50 000 words of either language, windows 21 wide.
_AUTHORS = {
    "units": 1000,
    "embedding_units": 1000,
    "layers": 4,
    "smoothing": 0.0,
    "tied": False,
    "radius": 10,
    "tokens": "words",
    "min_freq": 1,
    "max_size": 50_000,
    "unknown": True,
}
_LONGER = replace(RECIPE, epochs=16)  # an epoch takes less than one of RNNsearch
_WHOLE = {"attention": "global", "score": "general", "feeding": True, "backwards": True, "dropout": 0.2}


def _variants(
    full: Mapping[str, Any], small: Mapping[str, Any], recipe: Recipe, shorter: Recipe
) -> tuple[Variant, ...]:
    """The best system, and those of Tables 1 and 4 at the smaller setting."""
    corpus = {"corpus": "multi30k en-de", "source": "en", "target": "de"}

    def system(name: str, title: str, reported: Reported | None, attention: str = "global", **changed: Any) -> Variant:
        settings = settings_of(**{**corpus, **_WHOLE, **small, "attention": attention, **changed})
        differs = _SCALE if reported else ""
        return Variant(name, f"{title}, smaller setting", settings, shorter, reported, differs=differs, seeds=(1,))

    return (
        Variant(
            "best",
            "global (general), reversed source, dropout, input feeding, byte pairs",
            settings_of(**{**corpus, **_WHOLE, **full}),
            recipe,
            _PEER,
            comparable=True,
            differs="another implementation: other units, sizes and search",
        ),
        system("base", "deep LSTM", _BASE, "none", feeding=False, backwards=False, dropout=0.0),
        system("reverse", "and the source reversed", _REVERSE, "none", feeding=False, dropout=0.0),
        system("dropout", "and dropout", _DROPOUT, "none", feeding=False),
        system("location", "and global attention (location)", _LOCATION, score="location", feeding=False),
        system("feed", "and input feeding", _FEED, score="location"),
        system("dot", "global (dot), input feeding", _DOT, score="dot"),
        system("general", "global (general), input feeding", _GENERAL),
        system("concat", "global (concat), input feeding", None, score="concat"),
        system("local-m-dot", "local-m (dot), input feeding", None, "local-m", score="dot"),
        system("local-m-general", "local-m (general), input feeding", _LOCAL_M_GENERAL, "local-m"),
        system("local-p-dot", "local-p (dot), input feeding", _LOCAL_P_DOT, "local-p", score="dot"),
        system("local-p-general", "local-p (general), input feeding", _LOCAL_P, "local-p"),
    )


_HEADLINE = ("dropout", "location")
PRESETS = {
    "smoke": Preset(
        "smoke",
        "sample",
        (1,),
        _variants({**_FULL, **_TINY}, {**_SMALL, **_TINY, "min_freq": 2}, SMOKE_RECIPE, SMOKE_RECIPE),
        _HEADLINE,
    ),
    "cpu": Preset("cpu", "multi30k en-de", (1, 2), _variants(_FULL, _SMALL, _LONGER, SHORTER), _HEADLINE),
    "paper": Preset("paper", "multi30k en-de", (1,), _variants(_AUTHORS, _AUTHORS, RECIPE, RECIPE), _HEADLINE),
}


def build(variant: Variant, data: Data) -> HybridBlock:
    """The network of a variant, not yet initialized."""
    settings = variant.settings
    return DeepLSTM(
        units=settings["units"],
        layers=settings["layers"],
        reverse_source=settings["backwards"],
        attention=_attention(settings),
        input_feeding=settings["feeding"],
        layer_dropout=settings["dropout"],
        dropout=settings["dropout"],
        **sizes(variant, data),
    )


def _attention(settings: Mapping[str, Any]) -> HybridBlock | None:
    """The attention of these settings (sec. 3.1 and 3.2); its parameters take their names from it alone."""
    units, radius = settings["units"], settings["radius"]
    if settings["attention"] == "none":
        return None
    score = {
        "location": lambda: LocationScore(settings["max_length"], units),
        "dot": DotScore,
        "general": lambda: GeneralScore(units, units),
        "concat": lambda: AdditiveScore(units, units, units, use_bias=False),
    }[settings["score"]]()
    return {
        "global": lambda: GlobalAttention(score),
        "local-m": lambda: MonotonicAttention(score, radius),
        "local-p": lambda: PredictiveAttention(score, radius, units),
    }[settings["attention"]]()


_COMPARISONS = (
    Comparison("reverse", "Reversing the source helps", "Table 1", "reverse", "base"),
    Comparison("dropout", "Dropout helps", "Table 1", "dropout", "reverse"),
    Comparison("attention", "Global attention (location) helps", "Table 1", "location", "dropout"),
    Comparison("feeding", "Input feeding helps", "Table 1", "feed", "location"),
    Comparison(
        "local", "local-p (general) is better than global attention (location)", "Table 1", "local-p-general", "feed"
    ),
    Comparison("dot-global", "Of global attentions dot is better than general", "Table 4", "dot", "general"),
    Comparison(
        "concat-worst",
        "Of global attentions concat has a worse perplexity than dot",
        "sec. 5.3, footnote",
        "dot",
        "concat",
        "likelihood",
    ),
    Comparison(
        "general-local", "Of local-p attentions general is better than dot", "Table 4", "local-p-general", "local-p-dot"
    ),
    Comparison(
        "predicting",
        "With the score general, local-p is better than local-m",
        "Table 4",
        "local-p-general",
        "local-m-general",
    ),
)


def conclude(outcomes: Sequence[Outcome], preset: Preset) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the claims for which both sides are there."""
    rows, claims = translation_results.conclude(outcomes, preset, _COMPARISONS)
    groups = by_variant(outcomes)
    arrays = {name: [outcome.predictions for outcome in group] for name, group in groups.items()}
    if found := arrays.get("local-p-general"):
        after, before = (np.stack([each[name] for each in found]) for name in ("bleu_replaced", "bleu"))
        claims.append(
            Claim.judge(
                "unknown",
                "Replacing unknown words helps",
                "Table 1",
                measured("BLEU points of local-p (general)", "sentences", preset, groups["local-p-general"]),
                bootstrap_difference(after, before, bleu, seed=0),
            )
        )
    if "location" in arrays and "dropout" in arrays:
        halves = by_halves(arrays["location"]), by_halves(arrays["dropout"])
        claims.append(
            Claim.judge(
                "long",
                "Attention helps more on long sentences than on short ones",
                "sec. 5.2, Figure 6",
                measured(
                    "BLEU points gained above 12 words minus those gained below",
                    "sentences",
                    preset,
                    groups["location"],
                    groups["dropout"],
                ),
                bootstrap_difference(*halves, long_minus_short, seed=0),
            )
        )
    return rows, claims


def figures(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """Training curves like Figure 5, BLEU by length like Figure 6, alignments like Figure 7."""
    return translation_results.figures(
        outcomes,
        preset,
        directory,
        lengths=("base", "dropout", "feed", "general", "local-m-general", "local-p-general"),
        alignments=("best", "feed", "local-m-general", "local-p-general"),
    )
