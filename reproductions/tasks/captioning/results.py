"""Rows, effects, figures and pages from outcomes of captioning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap, bootstrap_difference, bootstrap_metric, perplexity
from gluon_attn.plots import image_attention
from gluon_attn.plots.curves import Score, training_curves as draw_training_curves
from gluon_attn.plots.image_attention import Panel
from preprocessing.files import write_text
from preprocessing.pipeline.ragged import strings_in
from reproductions.html.embedded_images import pixels_of
from reproductions.protocol.claims import Effect
from reproductions.protocol.results import Row
from reproductions.protocol.rows import bootstrapped_row, row, stacked, validation_row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Column, Variant
from reproductions.tasks.bleu import bleu
from reproductions.tasks.captioning.meteor import meteor
from reproductions.tasks.captioning.scores import OFFICIAL, ORDERS, PEERS, bleu_n
from reproductions.tasks.perplexity import reduction

COLUMNS = (
    Column("BLEU-4", "bleu-4"),
    Column("BLEU-3", "bleu-3"),
    Column("BLEU-2", "bleu-2"),
    Column("BLEU-1", "bleu-1"),
    Column("CIDEr", "cider"),
    Column("METEOR", "meteor"),
    Column("sacreBLEU", "sacrebleu"),
    Column("perplexity", "perplexity"),
)
METRICS = (*reversed(ORDERS), "perplexity")
NOTES = (
    "BLEU-n is the geometric mean of the n-gram precisions up to order n, times the brevity penalty for the closest "
    "of five reference lengths, without smoothing. It is computed from sacreBLEU's counts on lower-cased words without "
    "punctuation (the rule of neuraltalk2, which most published numbers share). The column sacreBLEU compares with "
    "the original references, which have punctuation; the captions have none. CIDEr and METEOR are those of the COCO "
    "evaluation code (pycocoevalcap), times 100, on the same words; its own PTBTokenizer would split a few words "
    "differently. CIDEr is the mean over captions, METEOR is computed from counts summed over captions. Search never "
    "generates the unknown word. EfficientNet-Lite0, which computes the image features, is "
    "not fine-tuned.",
)
"""How the metrics of a results README are computed."""

_COCO = "pycocoevalcap 1.2 on the pipeline's words"


def rows(outcomes: Sequence[Outcome], variant: Variant[Any]) -> list[Row]:
    """Return the rows of one variant: BLEU-4 to BLEU-1, sacreBLEU and perplexity on test, CIDEr and METEOR if they were
    measured, and the validation BLEU-4 that selected the epoch. Intervals are bootstrapped over images."""
    search = f"beam {variant.settings.beam}, alpha {variant.settings.alpha:g}"
    unsmoothed = PEERS.signature.replace("smooth:exp", "smooth:none")  # see bleu_n
    measured: list[tuple[str, str, str, Callable[[np.ndarray], float]]] = [
        *((name, "bleu", f"{unsmoothed}; {search}", partial(bleu_n, name=name)) for name in reversed(ORDERS)),
        ("sacrebleu", "sacrebleu", f"{OFFICIAL.signature}; {search}", bleu),
        ("perplexity", "likelihood", "per word, including the end of the caption", perplexity),
    ]
    if all("meteor" in outcome.predictions for outcome in outcomes):
        measured.append(("meteor", "meteor", f"{_COCO}; {search}", lambda totals: 100 * meteor(totals)))
    made = [
        bootstrapped_row(outcomes, variant, stacked(outcomes, array), score, metric=metric, signature=signature)
        for metric, array, signature, score in measured
    ]
    if all("cider" in outcome.predictions for outcome in outcomes):
        each = 100 * stacked(outcomes, "cider")
        interval, values = bootstrap(each.mean(axis=0), seed=0), each.mean(axis=1).tolist()
        signature = f"{_COCO}; {search}"
        made.append(
            row(outcomes, variant, split="test", metric="cider", signature=signature, values=values, ci95=interval)
        )
    return [*made, validation_row(outcomes, variant, "bleu-4", "greedy, best epoch")]


def compare(metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
    """Improvement of the first side over the second, in BLEU-n points or perplexity; paired bootstrap over images."""
    if metric == "perplexity":
        return reduction(stacked(better, "likelihood"), stacked(worse, "likelihood"), "images")
    sides = stacked(better, "bleu"), stacked(worse, "bleu")
    return Effect(bootstrap_difference(*sides, partial(bleu_n, name=metric), seed=0), f"{metric} points", "images")


def _rise(than: int) -> Callable[[np.ndarray], float]:
    """The mean of the first column minus that of column ``than``, in percentage points of the number of nouns."""
    return lambda totals: float(100 * (totals[0] - totals[than]) / max(totals[3], 1))


def shows_class_better_than_random(own: Sequence[Outcome], random: Sequence[Outcome]) -> Effect | None:
    """Whether attention finds the object that a noun names: increase of the probability of the noun's ImageNet classes,
    in points, with the noun's own weights instead of those of nouns in other images, minus the increase with random
    attention. Each side is measured over the nouns of its own captions; None if either has no such noun."""
    sides = stacked(own, "nouns"), stacked(random, "nouns")
    if not all(sums[..., 3].sum(axis=1).all() for sums in sides):
        return None
    names = f"{own[0].variant} minus {random[0].variant}"
    what = f"percentage points that own weights add to a noun's class, above nouns in other images, {names}"
    return Effect(bootstrap_difference(*sides, _rise(1), seed=0), what, "images")


def shows_class_better_than_equal(outcomes: Sequence[Outcome]) -> Effect | None:
    """Increase of the probability of a noun's ImageNet classes, in points, with the noun's own weights instead of equal
    ones: whether attention raises the class at all; None if no caption has such a noun."""
    sums = stacked(outcomes, "nouns")
    if not sums[..., 3].sum(axis=1).all():
        return None
    what = "percentage points of the noun's class probability: its own weights against equal weights"
    return Effect(bootstrap_metric(sums, _rise(2), seed=0), what, "images")


def training_curves(outcomes: Mapping[str, Outcome], path: Path) -> None:
    """Draw training loss and validation BLEU-4 of greedy search."""
    curves = {name: outcome.record["history"] for name, outcome in outcomes.items()}
    draw_training_curves(curves, path, score=Score("bleu-4", "BLEU-4, greedy"), loss_per="word")


def draw_examples(outcome: Outcome, variant: Variant[Any], directory: Path) -> dict[str, Path]:
    """Draw the attention over the example images, word by word."""
    paths = {}
    for number, example in enumerate(outcome.examples.get("captions", ()), start=1):
        path = directory / f"caption_{variant.name}_{number}.png"
        pixels = pixels_of(example["jpeg"])
        words, weights = example["words"], np.array(example["weights"], np.float32)
        chosen = "best" if example["kind"] == "good" else "worst"
        shown = f"test image {example['row'] + 1}, one of the {chosen} by n-gram overlap"
        title = f"{variant.name}, {shown}; a reference: {example['references'][0]}"
        image_attention.draw(word_panels(pixels, words, weights), path, title)
        paths[f"{example['kind']} caption {number} of {variant.name}"] = path
    return paths


def word_panels(pixels: np.ndarray, words: Sequence[str], weights: np.ndarray) -> list[Panel]:
    """Return the image, followed by the image with the weights of each word: pixels (height, width, 3), weights (words
    or one more, positions) of a square grid."""
    side = round(weights.shape[1] ** 0.5)
    attended = [Panel(pixels, row.reshape(side, side), word) for word, row in zip(words, weights, strict=False)]
    return [Panel(pixels), *attended]


def write_captions(outcome: Outcome, variant: Variant[Any], directory: Path) -> dict[str, Path]:
    """Write the captions of the test images as TSV with name, caption and references."""
    if not outcome.texts:
        return {}
    names, references, captions = (
        strings_in(arrays, name)
        for name, arrays in (("name", outcome.texts), ("reference", outcome.texts), ("text", outcome.predictions))
    )
    lines = [
        "\t".join((name, caption, reference.replace("\n", " | ")))
        for name, caption, reference in zip(names, captions, references, strict=True)
    ]
    path = directory / f"captions_{variant.name}.tsv"
    write_text(path, "\n".join(["image\tcaption\treferences", *lines]) + "\n")
    return {f"captions of {variant.name}": path}
