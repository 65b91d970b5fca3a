"""Bahdanau, Cho and Bengio (2015), "Neural machine translation by jointly learning to align and translate".

The paper trains two networks on 348 million words of English and French (WMT'14): RNNencdec, which reads the source
into one vector (Cho et al., 2014), and RNNsearch, whose decoder looks back at the states of every source word. Both
are trained on sentences of up to 30 and of up to 50 words. Table 1, BLEU of newstest2014: RNNencdec-30 13.93,
RNNsearch-30 21.50, RNNencdec-50 17.82, RNNsearch-50 26.75. Figure 2: RNNencdec falls off on long sentences,
RNNsearch-50 does not.
Figure 3: alignments are mostly monotone.

Here: Multi30k, 29 000 captions of 13 words, so numbers do not compare with the paper's, systems do. Networks of 256
units instead of 1 000, joint byte pairs instead of 30 000 words, Adam instead of Adadelta, dropout and label smoothing
against a corpus a thousand times smaller. *Short* stands for the paper's 30 words: the captions of up to 12 words,
about half of them. The four systems of Table 1 are trained at one smaller setting, beside the full training of
RNNsearch.
Figure 2's long sentences are made by joining two and three consecutive test captions, source and reference alike.

Korean both ways as well, one seed: Tatoeba's sentences with KorSTS's machine-translated training set.

Claims: attention is better than one vector; short sentences with attention are better than all without; one vector
loses more on long sentences; alignments are mostly monotone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from mxnet.gluon import HybridBlock

from gluon_attn.evaluation.statistics import bootstrap, bootstrap_difference, rank_correlation
from gluon_attn.models.encoder_decoder import EncoderDecoder
from gluon_attn.models.rnnencdec import RNNEncDec
from gluon_attn.models.rnnsearch import RNNSearch
from gluon_attn.plots.curves import score_by_length
from gluon_attn.training.checkpoint import Checkpoint
from gluon_attn.training.recipe import Recipe
from preprocessing.pipeline.ragged import Ragged
from preprocessing.text.data import Split
from reproductions.protocol.experiment import Column, Preset, Reported, Variant
from reproductions.protocol.results import Claim, Row
from reproductions.protocol.rows import by_variant, measured
from reproductions.protocol.runs import Outcome
from reproductions.tasks import translation, translation_results
from reproductions.tasks.bleu import bleu
from reproductions.tasks.translation import (
    PEERS,
    RECIPE,
    SHORTER,
    SMOKE_RECIPE,
    Data,
    prepare as prepare,
    search_of,
    settings_of,
    sizes,
    task as task,
    translate,
    translate_lines as translate_lines,
)
from reproductions.tasks.translation_results import (
    OTHER_COLUMNS,
    Comparison,
    by_halves,
    by_length,
    length_labels,
    long_minus_short,
    pages as pages,
)

TITLE = "RNNsearch: attention in translation"
SOURCE = "Bahdanau, Cho and Bengio (2015), arXiv:1409.0473"
COLUMNS = (
    Column("BLEU", "bleu"),
    *OTHER_COLUMNS,
)

_TABLE_1 = {"corpus": "wmt14 en-fr", "metric": "bleu", "source": "Bahdanau et al. (2015), Table 1, all sentences"}
_ENCDEC_30 = Reported("RNNencdec-30", 13.93, **_TABLE_1)
_SEARCH_30 = Reported("RNNsearch-30", 21.50, **_TABLE_1)
_ENCDEC_50 = Reported("RNNencdec-50", 17.82, **_TABLE_1)
_SEARCH_50 = Reported("RNNsearch-50", 26.75, **_TABLE_1)
_CAGLAYAN = {"metric": "bleu", "source": "Caglayan et al. (2017)", "checked": "memory"}
_PEER_DE = Reported("text-only RNN with attention, byte pairs", 38.1, corpus="multi30k en-de", **_CAGLAYAN)
_PEER_FR = Reported("text-only RNN with attention, byte pairs", 52.5, corpus="multi30k en-fr", **_CAGLAYAN)
_CALIXTO = Reported(
    "text-only RNN with attention", 33.7, "multi30k en-de", "bleu", "Calixto et al. (2017)", checked="memory"
)
REPORTED = (
    _ENCDEC_30,
    _SEARCH_30,
    _ENCDEC_50,
    _SEARCH_50,
    Reported("RNNsearch-50*, trained longer", 28.45, **_TABLE_1),
    Reported("Moses", 33.30, **_TABLE_1),
    _PEER_DE,
    _CALIXTO,
    _PEER_FR,
    Reported(
        "BiLSTM 2 x 512 with additive attention, beam 5",
        30.05,
        "multi30k en-de",
        "bleu",
        "a public tutorial's README",
        "secondary",
        "words that occur twice or more",
    ),
    Reported(
        "BiGRU 512 with additive attention, greedy",
        28.11,
        "multi30k de-en",
        "bleu",
        "a public tutorial's notebook",
        "secondary",
        "the other direction",
    ),
)
_SCALE = "another corpus, a thousandth of its size; 128 units, not 1 000"

_FULL = {
    "units": 256,
    "embedding_units": 256,
    "attention_units": 256,
    "maxout_units": 256,
    "embedding_dropout": 0.3,
    "encoder_dropout": 0.3,
    "feature_dropout": 0.3,
    "smoothing": 0.1,
    "tied": True,
}
_SMALL = {
    name: 128 if name.endswith("units") else 0.2 if name.endswith("dropout") else value for name, value in _FULL.items()
}
_TINY = {name: 16 if name.endswith("units") else value for name, value in _FULL.items()}
# The authors' own: 1 000 units, embeddings of 620, 500 maxout units, 30 000 words of either language.
_AUTHORS = {
    **_FULL,
    "units": 1000,
    "embedding_units": 620,
    "attention_units": 1000,
    "maxout_units": 500,
    "embedding_dropout": 0.0,
    "encoder_dropout": 0.0,
    "feature_dropout": 0.0,
    "smoothing": 0.0,
    "tied": False,
    "tokens": "words",
    "max_size": 30_000,
}
_KOREAN = replace(RECIPE, epochs=14)  # less than half as many pairs

_DE = {"corpus": "multi30k en-de", "source": "en", "target": "de"}
_FR = {"corpus": "multi30k en-fr", "source": "en", "target": "fr"}
_KO_EN = {"corpus": "tatoeba ko-en", "source": "ko", "target": "en"}
_EN_KO = {"corpus": "tatoeba ko-en", "source": "en", "target": "ko"}
SHORT = 12


def _variants(
    full: Mapping[str, Any], small: Mapping[str, Any], recipe: Recipe, korean: Recipe, shorter: Recipe
) -> tuple[Variant, ...]:
    """RNNsearch at full size on each corpus, and the paper's four systems at the smaller one."""

    def search(name: str, title: str, corpus: Mapping[str, Any], peer: Reported | None = None) -> Variant:
        settings, differs = (
            settings_of(**{**full, **corpus, "model": "rnnsearch"}),
            "another implementation: other sizes and search",
        )
        if peer is None:
            return Variant(name, title, settings, korean, seeds=(1,))
        return Variant(name, title, settings, recipe, peer, comparable=True, differs=differs)

    def of_table(name: str, model: str, length: int, peer: Reported) -> Variant:
        words = f"captions of up to {length} words" if length == SHORT else "all captions"
        settings = settings_of(**{**small, **_DE, "model": model, "max_length": length})
        title = f"{model}, trained on {words}, smaller setting"
        return Variant(name, title, settings, shorter, peer, differs=_SCALE, seeds=(1,))

    return (
        search("rnnsearch", "RNNsearch, English to German", _DE, _PEER_DE),
        search("rnnsearch-fr", "RNNsearch, English to French", _FR, _PEER_FR),
        search("rnnsearch-ko-en", "RNNsearch, Korean to English", _KO_EN),
        search("rnnsearch-en-ko", "RNNsearch, English to Korean", _EN_KO),
        of_table("encdec-short", "rnnencdec", SHORT, _ENCDEC_30),
        of_table("search-short", "rnnsearch", SHORT, _SEARCH_30),
        of_table("encdec-all", "rnnencdec", 50, _ENCDEC_50),
        of_table("search-all", "rnnsearch", 50, _SEARCH_50),
    )


_HEADLINE = ("encdec-all", "search-all")
PRESETS = {
    "smoke": Preset(
        "smoke", "sample", (1,), _variants(_TINY, _TINY, SMOKE_RECIPE, SMOKE_RECIPE, SMOKE_RECIPE), _HEADLINE
    ),
    "cpu": Preset("cpu", "multi30k en-de", (1, 2), _variants(_FULL, _SMALL, RECIPE, _KOREAN, SHORTER), _HEADLINE),
    "paper": Preset("paper", "multi30k en-de", (1,), _variants(_AUTHORS, _AUTHORS, RECIPE, _KOREAN, RECIPE), _HEADLINE),
}


def build(variant: Variant, data: Data) -> HybridBlock:
    """The network of a variant, not yet initialized."""
    settings = variant.settings
    common = {
        **sizes(variant, data),
        "units": settings["units"],
        "maxout_units": settings["maxout_units"],
        "dropout": settings["embedding_dropout"],
        "feature_dropout": settings["feature_dropout"],
    }
    if settings["model"] == "rnnencdec":
        return RNNEncDec(**common)
    return RNNSearch(attention_units=settings["attention_units"], encoder_dropout=settings["encoder_dropout"], **common)


def evaluate(
    model: EncoderDecoder, variant: Variant, data: Data, last: Checkpoint
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """As :func:`translation.evaluate`; besides, for German BLEU counts of joined test captions (``joined_2``,
    ``joined_3``) and their words, and for each sentence ``monotone``, the rank correlation of target places with the
    source places they look at most, not a number below three tokens."""
    metrics, arrays = translation.evaluate(model, variant, data, last)
    source = data.prepared.splits["test"].source
    if variant.settings["target"] == "de":
        for number in (2, 3):
            arrays[f"joined_{number}"] = _joined_counts(model, variant, data, number)
            arrays[f"joined_{number}_words"] = _together(arrays["words"], number).sum(axis=1)
    if variant.settings["model"] == "rnnsearch":
        found = translate([model], data, source, beam=1)
        looks = [one.weights[: len(one.tokens)].argmax(axis=1) for one in found if one.weights is not None]
        arrays["monotone"] = np.array(
            [rank_correlation(np.arange(len(at)), at) if len(at) > 2 else np.nan for at in looks]
        )
    return metrics, arrays


def _together(rows: np.ndarray, number: int) -> np.ndarray:
    """Consecutive rows side by side, (rows // number, number, ...); a rest that is too few is left out."""
    whole = len(rows) // number * number
    return rows[:whole].reshape(-1, number, *rows.shape[1:])


def _joined_counts(model: EncoderDecoder, variant: Variant, data: Data, number: int) -> np.ndarray:
    """BLEU counts of consecutive test captions translated as one sentence: their tokens behind each other, against the
    words of their references behind each other."""
    test = data.prepared.splits["test"]
    groups, sequences = _together(np.arange(len(test)), number), test.source.sequences()
    tokens = Ragged.from_rows([np.concatenate([sequences[row] for row in rows]) for rows in groups])
    joined = replace(Split.of([" ".join(test.source.text[rows]) for rows in groups]), encoded=tokens)
    said = [" ".join(data.prepared.words(one.tokens)) for one in translate([model], data, joined, **search_of(variant))]
    references = np.array(data.prepared.reference_tokens("test"), dtype=object)
    return PEERS.counts(said, [" ".join(references[rows]) for rows in groups])


_COMPARISONS = (
    Comparison("attention", "RNNsearch is better than RNNencdec", "Table 1", "search-all", "encdec-all"),
    Comparison(
        "attention-short", "So it is when both learn from short sentences", "Table 1", "search-short", "encdec-short"
    ),
    Comparison(
        "short-beats-all",
        "RNNsearch trained on short sentences is better than RNNencdec trained on all",
        "sec. 5.1",
        "search-short",
        "encdec-all",
    ),
)


def conclude(outcomes: Sequence[Outcome], preset: Preset) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the claims for which both sides are there."""
    rows, claims = translation_results.conclude(outcomes, preset, _COMPARISONS)
    groups = by_variant(outcomes)
    if "search-all" in groups and "encdec-all" in groups:
        claims += _of_length(groups["encdec-all"], groups["search-all"], preset)
    if "rnnsearch" in groups:
        seeds = np.stack([outcome.predictions["monotone"] for outcome in groups["rnnsearch"]])
        order = seeds.mean(axis=0)[~np.isnan(seeds).any(axis=0)]
        if len(order):  # a network that has learned nothing may say too little
            what = measured(
                "rank correlation of target and source places, minus a half (halfway to the same)",
                "sentences",
                preset,
                groups["rnnsearch"],
            )
            effect = bootstrap(order - 0.5, seed=0)
            claims.append(Claim.judge("monotone", "Alignments are largely monotone", "sec. 5.2.1", what, effect))
    return rows, claims


def _of_length(encdec: Sequence[Outcome], search: Sequence[Outcome], preset: Preset) -> list[Claim]:
    """Figure 2 in three ways. A network that translates short sentences badly has less to lose in points; and three
    captions in a row are longer than what either was trained on, and end where no training sentence ends."""
    arrays = [[outcome.predictions for outcome in side] for side in (encdec, search)]
    single_and_joined = [
        np.stack([np.hstack([_together(each["bleu"], 3).sum(axis=1), each["joined_3"]]) for each in side])
        for side in arrays
    ]
    halves = [by_halves(side) for side in arrays]

    def lost(totals: np.ndarray) -> float:
        single, joined = (bleu(part) for part in np.split(totals, 2))
        return single - joined

    def lost_share(totals: np.ndarray) -> float:
        return 100 * lost(totals) / max(bleu(np.split(totals, 2)[0]), 1e-9)

    claims = []
    for id, how, score, sides, what in (
        ("length", "points, three captions joined", lost, single_and_joined, "BLEU points lost"),
        ("length-share", "per cent, three captions joined", lost_share, single_and_joined, "per cent of BLEU lost"),
        ("length-captions", "points, single captions", _short_minus_long, halves, "BLEU to 12 words minus above"),
    ):
        effect = bootstrap_difference(sides[0], sides[1], score, seed=0)
        statement = f"On long sentences RNNencdec loses more than RNNsearch ({how})"
        what = measured(f"{what}, RNNencdec minus RNNsearch", "sentences", preset, encdec, search)
        claims.append(Claim.judge(id, statement, "Figure 2", what, effect))
    return claims


def _short_minus_long(totals: np.ndarray) -> float:
    return -long_minus_short(totals)


def figures(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """Training curves, alignments like Figure 3, and BLEU by length like Figure 2, of the four systems of Table 1 with
    joined sentences as well."""
    aligned = ("rnnsearch", "rnnsearch-fr", "rnnsearch-ko-en", "rnnsearch-en-ko")
    paths = translation_results.figures(outcomes, preset, directory, lengths=(), alignments=aligned)
    groups = by_variant(outcomes)
    wanted = ("rnnsearch", "encdec-short", "search-short", "encdec-all", "search-all")
    names: list[str] = [name for name in wanted if name in groups]
    if names:
        arrays = [groups[name][0].predictions for name in names]
        joined = {
            name: [bleu(each[f"joined_{number}"].sum(axis=0)) for number in (2, 3)]
            for name, each in zip(names, arrays, strict=True)
        }
        means = [f"{arrays[0][f'joined_{number}_words'].mean():.0f}\n({number} joined)" for number in (2, 3)]
        lines = {name: [*by_length(groups[name][0]), *joined[name]] for name in names}
        paths["BLEU by length"] = directory / "bleu_by_length.png"
        score_by_length(lines, [*length_labels(), *means], paths["BLEU by length"], "BLEU")
    return paths
