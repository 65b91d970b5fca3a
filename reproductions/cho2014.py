"""Cho et al. (2014), "Learning phrase representations using RNN encoder-decoder for statistical machine translation".

The paper introduces the gated recurrent unit and an encoder-decoder of two of them: one vector c summarises the source,
every step of the decoder reads it, and a maxout layer before the softmax reads it too. There it scores the phrase pairs
of a statistical system for English and French (WMT'14). Table 1, BLEU on its development and test set: the statistical
system alone 30.64 and 33.30, with the scores 31.20 and 33.87, with a neural language model as well 31.48 and 34.64.

Here there is no statistical system whose table could be scored: the network itself translates, Multi30k's captions
from English to French, and what is compared are its parts, which the paper has but never compares. One
network of 256 units in full training; its parts at one smaller setting: as the paper has it, with c only in the
decoder's first state (as in Sutskever et al., 2014), and with a hyperbolic tangent for the maxout.

Claims, ours: c at every step is better than c at the start only; the maxout readout is better than a plain one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mxnet.gluon import HybridBlock

from gluon_attn.models.rnnencdec import RNNEncDec
from gluon_attn.training.recipe import Recipe
from reproductions.protocol.experiment import Column, Preset, Reported, Variant
from reproductions.protocol.results import Claim, Row
from reproductions.protocol.runs import Outcome
from reproductions.tasks import translation_results
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
from reproductions.tasks.translation_results import OTHER_COLUMNS, Comparison, pages as pages

TITLE = "RNN encoder-decoder: the gated recurrent unit"
SOURCE = "Cho et al. (2014), arXiv:1406.1078"
COLUMNS = (
    Column("BLEU", "bleu"),
    *OTHER_COLUMNS,
)

_TABLE_1 = {"corpus": "wmt14 en-fr", "metric": "bleu", "source": "Cho et al. (2014), Table 1, test"}
_WITH_RNN = Reported("phrase-based system with RNN encoder-decoder scores", 33.87, **_TABLE_1)
REPORTED = (
    Reported("phrase-based system", 33.30, **_TABLE_1),
    _WITH_RNN,
    Reported("phrase-based system with CSLM and RNN scores", 34.64, **_TABLE_1),
    Reported("phrase-based system with CSLM, RNN and word penalty", 34.54, **_TABLE_1),
    Reported(
        "GRU encoder-decoder of 512 units, German to English",
        37.5,
        "multi30k de-en",
        "perplexity",
        "a public tutorial's notebook",
        "secondary",
    ),
)
_SCALE = "theirs scores the phrases of a statistical system, ours translates by itself, another corpus"

_FULL = {
    "units": 256,
    "embedding_units": 256,
    "maxout_units": 256,
    "dropout": 0.3,
    "smoothing": 0.1,
    "tied": True,
    "everywhere": True,
    "maxout": True,
}
_SMALL = {**_FULL, "units": 128, "embedding_units": 128, "maxout_units": 128, "dropout": 0.2}
_TINY = {**_FULL, "units": 16, "embedding_units": 16, "maxout_units": 16}
# The authors' own: 1 000 units, embeddings of 100, 500 maxout units, 15 000 words of either language.
_AUTHORS = {
    **_FULL,
    "units": 1000,
    "embedding_units": 100,
    "maxout_units": 500,
    "dropout": 0.0,
    "smoothing": 0.0,
    "tied": False,
    "tokens": "words",
    "max_size": 15_000,
}


def _variants(
    full: Mapping[str, Any], small: Mapping[str, Any], recipe: Recipe, shorter: Recipe
) -> tuple[Variant, ...]:
    """The paper's network at full size, and its parts at the smaller one."""
    corpus = {"corpus": "multi30k en-fr", "source": "en", "target": "fr"}

    def part(name: str, title: str, **changed: Any) -> Variant:
        settings = settings_of(**{**corpus, **small, **changed})
        return Variant(name, f"{title}, smaller setting", settings, shorter, seeds=(1,))

    return (
        Variant("encdec", "RNN encoder-decoder", settings_of(**corpus, **full), recipe, _WITH_RNN, differs=_SCALE),
        part("encdec-small", "RNN encoder-decoder"),
        part("start-only", "c in the decoder's first state only, not in the readout either", everywhere=False),
        part("plain-readout", "a hyperbolic tangent for the maxout, half the readout's weights", maxout=False),
    )


_HEADLINE = ("encdec-small", "start-only")
PRESETS = {
    "smoke": Preset("smoke", "sample", (1,), _variants(_TINY, _TINY, SMOKE_RECIPE, SMOKE_RECIPE), _HEADLINE),
    "cpu": Preset("cpu", "multi30k en-fr", (1, 2), _variants(_FULL, _SMALL, RECIPE, SHORTER), _HEADLINE),
    "paper": Preset("paper", "multi30k en-fr", (1,), _variants(_AUTHORS, _AUTHORS, RECIPE, RECIPE), _HEADLINE),
}


def build(variant: Variant, data: Data) -> HybridBlock:
    """The network of a variant, not yet initialized."""
    settings = variant.settings
    return RNNEncDec(
        units=settings["units"],
        maxout_units=settings["maxout_units"],
        context_at_every_step=settings["everywhere"],
        maxout=settings["maxout"],
        feature_dropout=settings["dropout"],
        dropout=settings["dropout"],
        **sizes(variant, data),
    )


_COMPARISONS = (
    Comparison(
        "everywhere",
        "The summary at every step is better than in the decoder's first state only",
        "ours; sec. 2.2 has it so",
        "encdec-small",
        "start-only",
    ),
    Comparison(
        "maxout",
        "The maxout readout is better than a plain one",
        "ours; appendix A.1.2 has it so",
        "encdec-small",
        "plain-readout",
    ),
)


def conclude(outcomes: Sequence[Outcome], preset: Preset) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the claims for which both sides are there."""
    return translation_results.conclude(outcomes, preset, _COMPARISONS)


def figures(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """Training curves, and BLEU by length."""
    return translation_results.figures(
        outcomes, preset, directory, lengths=("encdec", "encdec-small", "start-only", "plain-readout"), alignments=()
    )
