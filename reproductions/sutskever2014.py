"""Sutskever, Vinyals and Le (2014), "Sequence to sequence learning with neural networks".

A stack of LSTM layers reads the sentence into its last states, a second stack says the translation from them, without
any attention. The paper trains four layers of 1 000 units, 384 million parameters, on 12 million pairs of English and
French (WMT'14). Section 3.3: reading the source backwards lowers the test perplexity from 5.8 to 4.7 and raises BLEU
from 25.9 to 30.6. Table 1: a single network that reads forwards 26.17, backwards 30.59 (beam 12); five of them 33.00
with greedy search (beam 1), 34.50 with a beam of 2 and 34.81 with 12; two of them with a beam of 12, 33.27.

Here: Multi30k, English to French like the paper's, 29 000 captions of 13 words; numbers do not compare with the
paper's, systems do. Two layers of 256 units, joint byte pairs instead of 160 000 and 80 000 words, Adam instead of
plain gradient descent, dropout and label smoothing against a corpus four hundred times smaller. The search is the
paper's: no length normalisation. The ensemble averages the probabilities of the two seeds.

Claims: backwards is better, in BLEU and in perplexity; a beam of 2 has most of what one of 12 gains; an ensemble is
better than its members; long sentences are hardly worse than short ones (sec. 3.7, Figure 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from mxnet.gluon import HybridBlock

from gluon_attn.evaluation.statistics import Estimate, bootstrap_difference, bootstrap_metric
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
    ensemble_counts,
    ensemble_row,
    long_minus_short,
    pages as pages,
)

TITLE = "Sequence to sequence: a deep LSTM without attention"
SOURCE = "Sutskever, Vinyals and Le (2014), arXiv:1409.3215"
BEAM, MORE_BEAMS = 12, (1, 2)
MARGIN = 2.0  # BLEU points that count as hardly worse; chosen before anything was trained
COLUMNS = (
    Column("BLEU, beam 12", "bleu", f"; beam {BEAM},"),
    Column("beam 2", "bleu", "; beam 2,"),
    Column("beam 1", "bleu", "; beam 1,"),
    *OTHER_COLUMNS,
)

_WMT = {"corpus": "wmt14 en-fr", "metric": "bleu"}
_TABLE_1 = {**_WMT, "source": "Sutskever et al. (2014), Table 1"}
_SECTION = {"corpus": "wmt14 en-fr", "source": "Sutskever et al. (2014), sec. 3.3"}
_FORWARD = Reported("single forward LSTM, beam 12", 26.17, **_TABLE_1)
_REVERSED = Reported("single reversed LSTM, beam 12", 30.59, **_TABLE_1)
_ENSEMBLE = Reported("2 reversed LSTMs, beam 12", 33.27, **_TABLE_1)
REPORTED = (
    _FORWARD,
    _REVERSED,
    _ENSEMBLE,
    Reported("5 reversed LSTMs, beam 1", 33.00, **_TABLE_1),
    Reported("5 reversed LSTMs, beam 2", 34.50, **_TABLE_1),
    Reported("5 reversed LSTMs, beam 12", 34.81, **_TABLE_1),
    Reported("forward LSTM", 5.8, metric="perplexity", **_SECTION),
    Reported("reversed LSTM", 4.7, metric="perplexity", **_SECTION),
    Reported(
        "2 layers of 256 units, forward, beam 12",
        3.75,
        "multi30k, target not stated",
        "bleu",
        "a public re-implementation's README",
        "secondary",
        "cased",
    ),
    Reported(
        "2 layers of 256 units, reversed, beam 12",
        16.02,
        "multi30k, target not stated",
        "bleu",
        "a public re-implementation's README",
        "secondary",
        "cased",
    ),
)
_SCALE = "another corpus, a four-hundredth of its size; 2 layers of 256 units, not 4 of 1 000"

_CPU = {"units": 256, "embedding_units": 256, "layers": 2, "dropout": 0.3, "smoothing": 0.1, "tied": True}
_TINY = {**_CPU, "units": 16, "embedding_units": 16}
# The authors' own: 4 layers of 1 000 units, 160 000 source and 80 000 target words, 384 million parameters.
_AUTHORS = {
    **_CPU,
    "units": 1000,
    "embedding_units": 1000,
    "layers": 4,
    "dropout": 0.0,
    "smoothing": 0.0,
    "tied": False,
    "tokens": "words",
    "max_size": 80_000,
}


def _variants(sizes: Mapping[str, Any], recipe: Recipe) -> tuple[Variant, ...]:
    common = {"corpus": "multi30k en-fr", "source": "en", "target": "fr", "beam": BEAM, "alpha": 0.0}
    settings = settings_of(**{**common, "more_beams": MORE_BEAMS, **sizes})
    return tuple(
        Variant(name, title, {**settings, "backwards": backwards}, recipe, reported, differs=_SCALE)
        for name, title, backwards, reported in (
            ("forward", "the source read from its first token to its last", False, _FORWARD),
            ("reversed", "the source read backwards", True, _REVERSED),
        )
    )


_HEADLINE = ("forward", "reversed")
PRESETS = {
    "smoke": Preset("smoke", "sample", (1, 2), _variants(_TINY, SMOKE_RECIPE), _HEADLINE),
    "cpu": Preset("cpu", "multi30k en-fr", (1, 2), _variants(_CPU, RECIPE), _HEADLINE),
    "paper": Preset("paper", "multi30k en-fr", (1,), _variants(_AUTHORS, RECIPE), _HEADLINE),
}


def build(variant: Variant, data: Data) -> HybridBlock:
    """The network of a variant, not yet initialized."""
    settings = variant.settings
    return DeepLSTM(
        units=settings["units"],
        layers=settings["layers"],
        reverse_source=settings["backwards"],
        layer_dropout=settings["dropout"],
        dropout=settings["dropout"],
        **sizes(variant, data),
    )


_COMPARISONS = (
    Comparison("reversed", "Reading the source backwards raises BLEU", "sec. 3.3", "reversed", "forward"),
    Comparison(
        "reversed-perplexity",
        "Reading the source backwards lowers the perplexity",
        "sec. 3.3",
        "reversed",
        "forward",
        "likelihood",
    ),
)


def conclude(outcomes: Sequence[Outcome], preset: Preset) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained and for the ensembles of its seeds, and the claims for which both sides are there."""
    rows, claims = translation_results.conclude(outcomes, preset, _COMPARISONS)
    groups = by_variant(outcomes)
    ensembles = {
        name: {beam: ensemble_counts(group, beam) for beam in (BEAM, *MORE_BEAMS)}
        for name, group in groups.items()
        if len(group) > 1
    }
    for name, by_beam in ensembles.items():
        reported = _ENSEMBLE if name == "reversed" else None
        variant = replace(preset.variant(name), name=f"{name}-ensemble", reported=reported)
        rows += [ensemble_row(groups[name], variant, counts, beam) for beam, counts in by_beam.items()]
    if group := groups.get("reversed"):
        arrays = [outcome.predictions for outcome in group]
        claims += [
            Claim.judge(
                "beam-2",
                "A beam of 2 has most of what a beam of 12 gains over greedy search",
                "Table 1",
                measured("BLEU points gained from 1 to 2, minus those gained from 2 to 12", "sentences", preset, group),
                _beam_2(arrays),
            ),
            Claim.judge(
                "long",
                f"Long sentences are hardly worse than short ones: at most {MARGIN} BLEU points",
                "sec. 3.7, Figure 3",
                measured(f"BLEU above 12 words minus BLEU below, plus {MARGIN}", "sentences", preset, group),
                bootstrap_metric(by_halves(arrays), lambda totals: long_minus_short(totals) + MARGIN, seed=0),
            ),
        ]
    if "reversed" in ensembles:
        single = np.stack([outcome.predictions["bleu"] for outcome in groups["reversed"]])
        both = ensembles["reversed"][BEAM][None]
        claims.append(
            Claim.judge(
                "ensemble",
                "Two networks together are better than one",
                "Table 1",
                measured("BLEU points, ensemble minus the mean of its members", "sentences", preset),
                bootstrap_difference(both, single, bleu, seed=0),
            )
        )
    return rows, claims


def _beam_2(arrays: Sequence[Mapping[str, np.ndarray]]) -> Estimate:
    """What BLEU gains from a beam of 1 to one of 2, minus what it gains from 2 to 12."""
    together = np.stack([np.hstack([each[f"bleu_beam_{beam}"] for beam in (1, 2)] + [each["bleu"]]) for each in arrays])

    def gained(totals: np.ndarray) -> float:
        one, two, twelve = (bleu(part) for part in np.split(totals, 3))
        return (two - one) - (twelve - two)

    return bootstrap_metric(together, gained, seed=0)


def figures(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """Training curves, and BLEU by length like Figure 3."""
    return translation_results.figures(outcomes, preset, directory, lengths=("forward", "reversed"), alignments=())
