"""Structured self-attentive sentence embedding (Lin et al., 2017, ICLR, arXiv:1703.03130).

A bidirectional LSTM reads a text, r hops of attention weigh its states, and their r weighted sums are the embedding of
the text; a penalty ||A A^T - I||_F^2 wants the hops to look at different words. The paper's corpora, half a million
reviews of Yelp and the Age corpus of tweets, stand behind licences; here IMDb's reviews (Maas et al., 2011), long texts
of two classes, stand for Yelp's, and the sentences of SST, short ones of five classes, for the tweets. NSMC is where
others have tried this network in public.

*Best* reads whole reviews of NSMC as the Naver script's best network does: morphemes with their syllables, a token
dropout of 0.3. All others have one smaller setting, 64 units, embeddings of 128, a penalty of 0.1 where nothing else is
said, whatever the corpus; IMDb's reviews are cut to 400 words. So rows of one corpus differ in what their title says
and in nothing else. Everything was chosen on the validation split: of NSMC a tenth of the official training file, of
IMDb a tenth of the training reviews, by the SHA-256 of the text; that of SST is official.

One hop has none to keep apart from: the penalty would only want all of its weight on one word. So one hop and six are
compared without it, beside the row of one, two, six and ten hops that have the same penalty.

The words of one network begin with the skip-gram vectors of ``mikolov2013``, as the paper's begin with word2vec's; what
that brings is measured against a network of the same size whose words begin at random.

On NSMC the penalty cannot reach zero: r hops over T < r tokens cost at least (r - T) + (r / T - 1)^2, however they look
(:func:`gluon_attn.evaluation.attention.least_penalty`), and a third of the reviews have fewer than ten tokens. A figure
shows what the hops cost beside what they must.

Adam stands for the paper's SGD, as in the public re-implementations; the paper's other sizes are preset ``paper``.

Claims: the penalty helps on long texts (Table 3); one hop is worse than many (Figure 5); with the penalty the hops
differ more (Figures 1 and 2), measured as what two hops share; attention beats the maximum over time (Table 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from mxnet.gluon import HybridBlock

from gluon_attn.evaluation.attention import least_penalty, overlap
from gluon_attn.evaluation.statistics import bootstrap
from gluon_attn.models.structured_classifier import StructuredClassifier
from gluon_attn.plots import highlighted_text
from gluon_attn.plots.curves import score_by_length, training_curves
from gluon_attn.plots.heatmap import attention_matrix
from gluon_attn.plots.highlighted_text import Paragraph
from gluon_attn.training.checkpoint import Checkpoint
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

TITLE = "Structured self-attentive sentence embedding"
SOURCE = "Lin et al. (2017), arXiv:1703.03130"

_NSMC = {"corpus": "nsmc", "metric": "accuracy"}
_YELP = {"corpus": "yelp, 5 classes", "metric": "accuracy"}
_AGE = {"corpus": "age, 5 classes", "metric": "accuracy"}
REPORTED = (
    Reported("self-attentive BiLSTM, pretrained vectors, Mecab", 86.37, source="aisolab/nlp_implementation", **_NSMC),
    Reported("3-layer BiLSTM, self-attention r=5, Mecab", 85.10, source="simonjisu/nsmc_study", **_NSMC),
    Reported("BiLSTM, self-attention r=5, penalty 1, Mecab", 72.24, source="simonjisu/nsmc_study", **_NSMC),
    Reported("Lin et al., r=30, penalty 1", 64.21, source="Lin et al. (2017), Tables 1 and 3", **_YELP),
    Reported("Lin et al., r=30, no penalty", 61.74, source="Lin et al. (2017), Table 3", **_YELP),
    Reported("Lin et al., BiLSTM and maximum", 61.99, source="Lin et al. (2017), Table 1", **_YELP),
    Reported("Lin et al., r=30, penalty 1", 80.45, source="Lin et al. (2017), Tables 1 and 3", **_AGE),
    Reported("Lin et al., r=30, no penalty", 79.27, source="Lin et al. (2017), Table 3", **_AGE),
    Reported("Lin et al., BiLSTM and maximum", 77.40, source="Lin et al. (2017), Table 1", **_AGE),
)
_PEER, _, _PEER_PENALTY, *_REST = REPORTED
_ON_YELP, _ON_AGE = _REST[:3], _REST[3:]
_SCALE = {
    "imdb": "another corpus, a twentieth of its size and of two classes",
    "sst": "another corpus, of sentences instead of tweets",
}
_AVERAGED_OVER = ("best",)

# What the ablations share, on every corpus.
_SMALL = {
    "model": "structured",
    "max_length": 120,
    "min_freq": 5,
    "embedding_units": 128,
    "cell": "lstm",
    "units": 64,
    "layers": 1,
    "hops": 6,
    "attention_units": 64,
    "pooling": None,
    "hidden": 128,
    "embedding_dropout": 0.3,
    "dropout": 0.3,
    "masked": True,
    "penalty": 0.1,
    "token_dropout": 0.0,
}
_SMALL_RECIPE = Recipe(epochs=4, batch_size=128, learning_rate=1e-3, decay="cosine", clip_norm=5.0)
_BEST = {
    **_SMALL,
    "min_freq": 2,
    "embedding_units": 200,
    "syllable_units": 100,
    "syllable_min_freq": 5,
    "syllables_of_a_token": 4,
    "units": 160,
    "embedding_dropout": 0.5,
    "dropout": 0.5,
    "token_dropout": 0.3,
    "penalty": 0.03,
}
_BEST_RECIPE = Recipe(epochs=9, batch_size=128, learning_rate=1e-3, warmup_steps=200, decay="cosine", clip_norm=5.0)
_TINY = {"embedding_units": 16, "units": 8, "attention_units": 8, "hidden": 8, "min_freq": 1}
_SMOKE_RECIPE = Recipe(epochs=2, batch_size=32, learning_rate=5e-3, clip_norm=5.0)

_ON: Mapping[str, Mapping[str, Any]] = {
    "nsmc": {"corpus": "nsmc", "tokenizer": "mecab"},
    "imdb": {"corpus": "imdb", "max_length": 400},
    "sst": {"corpus": "sst-5", "min_freq": 1},
}
_MAXIMUM: Mapping[str, Any] = {"hops": 0, "attention_units": 0, "pooling": "max", "penalty": 0.0}


def _variants(
    best: Mapping[str, Any],
    best_recipe: Recipe,
    small: Mapping[str, Any],
    recipe: Recipe,
    wide: int,
    seeds: tuple[int, ...] | None = None,
) -> tuple[Variant, ...]:
    """The best network on NSMC, and the smaller ones of each corpus, trained with the seeds given. ``wide``: units of
    the word vectors of ``mikolov2013``."""

    def ablation(name: str, title: str, reported: Reported | None = None, **changed: Any) -> Variant:
        corpus = name.partition("-")[0]
        settings = {**_SMALL, **_ON[corpus], **small, **changed}
        differs = _SCALE.get(corpus, "") + ("; six hops for 30" if settings["hops"] else "") if reported else ""
        return Variant(name, f"{title}, smaller setting", settings, recipe, reported, differs=differs, seeds=seeds)

    return (
        Variant(
            "best",
            "six hops, small penalty, morphemes with their syllables",
            {**best, **_ON["nsmc"]},
            best_recipe,
            _PEER,
            comparable=True,
            differs="the peer adds pretrained vectors to morphemes without syllables; trained on 120 000 reviews",
        ),
        ablation("nsmc-r1", "one hop", hops=1),
        ablation("nsmc-r2", "two hops", hops=2),
        ablation("nsmc-r6", "six hops"),
        ablation("nsmc-r10", "ten hops", hops=10),
        ablation("nsmc-r1-free", "one hop, no penalty", hops=1, penalty=0.0),
        ablation("nsmc-r6-free", "six hops, no penalty", penalty=0.0),
        replace(
            ablation("nsmc-r6-strict", "six hops, penalty 1", _PEER_PENALTY, penalty=1.0),
            differs="the peer has five hops and the norm without its square",
        ),
        ablation("nsmc-r6-unmasked", "six hops, padding not masked", masked=False),
        ablation("nsmc-r6-wide", f"six hops, embeddings of {wide}", embedding_units=wide),
        ablation(
            "nsmc-r6-vectors",
            f"six hops, embeddings of {wide} that begin with skip-gram's vectors",
            embedding_units=wide,
            vectors="mikolov2013/skip-gram",
        ),
        ablation("nsmc-max", "no attention: maximum of the states", **_MAXIMUM),
        ablation("imdb-r1-free", "one hop, no penalty", hops=1, penalty=0.0),
        ablation("imdb-r6", "six hops"),
        ablation("imdb-r6-free", "six hops, no penalty", _ON_YELP[1], penalty=0.0),
        ablation("imdb-r6-strict", "six hops, penalty 1", _ON_YELP[0], penalty=1.0),
        ablation("imdb-max", "no attention: maximum of the states", _ON_YELP[2], **_MAXIMUM),
        ablation("sst-r6-free", "six hops, no penalty", _ON_AGE[1], penalty=0.0),
        ablation("sst-r6-strict", "six hops, penalty 1", _ON_AGE[0], penalty=1.0),
        ablation("sst-max", "no attention: maximum of the states", _ON_AGE[2], **_MAXIMUM),
    )


def _paper() -> tuple[Variant, ...]:
    """The authors' sizes for Yelp, on IMDb."""
    settings = {
        **_SMALL,
        **_ON["imdb"],
        "embedding_units": 100,
        "units": 300,
        "hops": 30,
        "attention_units": 350,
        "hidden": 3_000,
        "embedding_dropout": 0.5,
        "dropout": 0.5,
        "penalty": 1.0,
    }
    recipe = Recipe(epochs=10, batch_size=32, learning_rate=0.06, optimizer="sgd", clip_norm=0.5)
    title = "the paper's sizes: 300 units, 30 hops, penalty 1"
    return (Variant("imdb-paper", title, settings, recipe, _ON_YELP[0], differs=_SCALE["imdb"]),)


_HEADLINE = ("nsmc-r1-free", "nsmc-r6-free", "nsmc-r6", "nsmc-max")
PRESETS = {
    "smoke": Preset(
        "smoke",
        "sample",
        (1,),
        _variants({**_BEST, **_TINY, "syllable_units": 8}, _SMOKE_RECIPE, _TINY, _SMOKE_RECIPE, 16),
        _HEADLINE,
    ),
    "cpu": Preset("cpu", "nsmc", (1, 2, 3), _variants(_BEST, _BEST_RECIPE, {}, _SMALL_RECIPE, 200, (1, 2)), _HEADLINE),
    "paper": Preset("paper", "imdb", (1,), _paper(), ("imdb-paper",)),
}


def build(variant: Variant, data: Data) -> HybridBlock:
    """The network of a variant, not yet initialized."""
    names = (
        *("embedding_units", "cell", "units", "layers", "hops", "attention_units", "pooling", "hidden"),
        *("embedding_dropout", "dropout", "masked"),
    )
    return StructuredClassifier(
        vocabulary_size=len(data.prepared.vocabulary),
        classes=len(data.labels),
        embedding=embedding(variant.settings, data),
        **{name: variant.settings[name] for name in names},
    )


def evaluate(
    model: HybridBlock, variant: Variant, data: Data, last: Checkpoint
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """As :func:`reproductions.tasks.classification.evaluate`, and of networks with two hops or more on each test text:
    ``overlap`` (texts,), what two hops share, and ``cost`` (texts,), the penalty before its coefficient, both of half
    precision. Texts without tokens have neither: NaN."""
    metrics, arrays = classification.evaluate(model, variant, data, last)
    if variant.settings["hops"] < 2:
        return metrics, arrays
    read = classify(model, variant, data.texts(data.prepared.splits["test"]), matrices=True)
    shared, cost = (np.full(len(read.matrices), np.nan, np.float16) for _ in range(2))
    for row, weights in enumerate(read.matrices):
        if weights.shape[1]:
            shared[row] = overlap(weights[None])[0]
            cost[row] = np.square(weights @ weights.T - np.eye(len(weights))).sum()
    return metrics, {**arrays, "overlap": shared, "cost": cost}


_COMPARISONS = (
    Comparison(
        "penalty",
        "The penalty helps on long texts, with the paper's coefficient of 1",
        "Table 3, Yelp",
        better="imdb-r6-strict",
        worse="imdb-r6-free",
    ),
    Comparison(
        "penalty-small",
        "The penalty helps on long texts, with a coefficient of 0.1",
        "Table 3, Yelp",
        better="imdb-r6",
        worse="imdb-r6-free",
    ),
    Comparison("one-hop", "One hop is worse than six", "Figure 5", better="nsmc-r6-free", worse="nsmc-r1-free"),
    Comparison(
        "one-hop-long",
        "One hop is worse than six, on long texts",
        "Figure 5",
        better="imdb-r6-free",
        worse="imdb-r1-free",
    ),
    Comparison(
        "maximum", "Attention is better than the maximum of the states", "Table 1", better="nsmc-r6", worse="nsmc-max"
    ),
    Comparison(
        "maximum-long",
        "Attention is better than the maximum of the states, on long texts",
        "Table 1, Yelp",
        better="imdb-r6-strict",
        worse="imdb-max",
    ),
    Comparison(
        "penalty-short", "The penalty helps on short texts", "Table 3, Age", better="sst-r6-strict", worse="sst-r6-free"
    ),
    Comparison(
        "vectors",
        "It helps to begin with the word vectors of the crawl",
        "not in the paper's tables",
        better="nsmc-r6-vectors",
        worse="nsmc-r6-wide",
    ),
    Comparison("masking", "Masking the padding helps", "not in the paper", better="nsmc-r6", worse="nsmc-r6-unmasked"),
)


def conclude(outcomes: Sequence[Outcome], preset: Preset) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the claims for which both sides are there."""
    rows, claims = classification_results.conclude(outcomes, preset, _COMPARISONS, averaged=_AVERAGED_OVER)
    groups = by_variant(outcomes)
    for corpus, texts in (("nsmc", "short texts"), ("imdb", "long texts")):
        free, strict = groups.get(f"{corpus}-r6-free"), groups.get(f"{corpus}-r6-strict")
        if free and strict:
            sides = (np.stack([one.predictions["overlap"] for one in side]) for side in (free, strict))
            shared = [side.mean(axis=0, dtype=np.float64) for side in sides]
            effect = bootstrap((shared[0] - shared[1])[np.isfinite(shared[0])], seed=0)
            measure = measured("what two hops share, without penalty minus with", "reviews", preset, free, strict)
            statement = f"With the penalty the hops differ more, on {texts}"
            claims.append(Claim.judge(f"overlap-{corpus}", statement, "Figures 1 and 2", measure, effect))
    return rows, claims


def figures(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """Training curves; the hops over a review, with and without penalty, a row each and summed; and what the hops cost
    beside what they must. Of several seeds the first is drawn."""
    first = {name: group[0] for name, group in by_variant(outcomes).items()}
    paths = {}
    for corpus in ("nsmc", "imdb", "sst"):
        of_corpus = [name for name in first if preset.variant(name).settings["corpus"].startswith(corpus)]
        curves = {name: first[name].facts["history"] for name in of_corpus}
        if curves:
            paths[f"training curves, {corpus}"] = directory / f"training_curves_{corpus}.png"
            training_curves(curves, paths[f"training curves, {corpus}"], train_label="train, with the penalty")
        sides = [first[name] for name in (f"{corpus}-r6-free", f"{corpus}-r6-strict") if name in first]
        if len(sides) == 2:
            paths[f"summed hops, {corpus}"] = directory / f"summed_hops_{corpus}.png"
            _draw_sums(sides, paths[f"summed hops, {corpus}"])
    for names in (("nsmc-r6-free", "nsmc-r6-strict"), ("best",)):
        together = [first[name] for name in names if name in first]
        for outcome in together:
            name = outcome.unit.variant
            paths[f"hops of {name}"] = directory / f"hops_{name}.png"
            _draw_hops(outcome, _chosen(together, 14, 1), paths[f"hops of {name}"])
    costs = [first[name] for name in ("nsmc-r6-free", "nsmc-r6", "nsmc-r6-strict") if name in first]
    if costs:
        paths["cost of the hops"] = directory / "cost_of_the_hops.png"
        hops = preset.variant(costs[0].unit.variant).settings["hops"]
        _draw_costs(costs, hops, paths["cost of the hops"])
    return paths


def _chosen(outcomes: Sequence[Outcome], tokens: int, count: int) -> np.ndarray:
    """The test reviews nearest to so many tokens that all the networks are right about, in the order of the corpus."""
    right = np.logical_and.reduce([outcome.predictions["right"] for outcome in outcomes])
    far = np.abs(outcomes[0].predictions["token_counts"] - tokens) + 1_000 * ~right
    return np.sort(np.argsort(far, kind="stable")[:count])


def _draw_hops(outcome: Outcome, rows: np.ndarray, path: Path) -> None:
    """The hops over one test review, a row each; rows: (1,) which review."""
    model, variant, data = load(outcome.unit)
    review = data.prepared.splits["test"].take(rows)
    read = classify(model, variant, data.texts(review), matrices=True)
    label, probability = data.labels[read.predicted[0]], read.probabilities[0].max()
    weights = read.matrices[0]
    attention_matrix(
        [f"hop {hop}" for hop in range(1, len(weights) + 1)],
        review.words(0)[: weights.shape[1]],
        weights,
        path,
        f"{variant.name}: {label}, {probability:.2f} (test review {rows[0] + 1}, {data.corpus})",
        axis_labels=("hop", "token"),
    )


def _draw_sums(outcomes: Sequence[Outcome], path: Path) -> None:
    """Some test reviews that both networks are right about, with the sum of the hops of each: two long or three short
    ones."""
    rows = _chosen(outcomes, *((70, 2) if outcomes[0].unit.variant.startswith("imdb") else (20, 3)))
    paragraphs = []
    for outcome in outcomes:
        model, variant, data = load(outcome.unit)
        reviews = data.prepared.splits["test"].take(rows)
        read = classify(model, variant, data.texts(reviews))
        for place, row in enumerate(rows):
            weights = read.token_weights[place]
            label, probability = data.labels[read.predicted[place]], read.probabilities[place].max()
            heading = f"{variant.name}, test review {row + 1}: {label}, {probability:.2f}"
            words = reviews.words(place)[: len(weights)]
            # As dark as it gets at four times the even weight, or more: weights that are nearly even stay pale.
            darkest = max(weights.max(), 4 / len(weights))
            paragraphs.append(Paragraph(words, weights / darkest, heading=heading))
    highlighted_text.draw(
        paragraphs, path, f"The sum of all hops, without penalty and with ({outcomes[0].facts['corpus']})"
    )


def _draw_costs(outcomes: Sequence[Outcome], hops: int, path: Path) -> None:
    """The mean of ||A A^T - I||_F^2 of the test reviews of each length, beside the least there can be."""
    all_lengths = outcomes[0].predictions["token_counts"]
    lengths = np.array([tokens for tokens in range(1, 21) if tokens in all_lengths])
    lines = {}
    for outcome in outcomes:
        cost, tokens = (outcome.predictions[name] for name in ("cost", "token_counts"))
        lines[outcome.unit.variant] = [float(cost[tokens == length].mean(dtype=np.float64)) for length in lengths]
    lines["the least possible"] = least_penalty(lengths, hops).tolist()
    score = f"cost of {hops} hops"
    score_by_length(
        lines, [str(length) for length in lengths], path, score, length_label="length of the review (tokens)"
    )


def pages(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """The page of all test reviews of NSMC with the weights of the best network, averaged over its hops."""
    group = by_variant(outcomes).get("best")
    if not group:
        return {}
    write_reading_page(group[0], directory / "reviews.html")
    return {"reading page": directory / "reviews.html"}
