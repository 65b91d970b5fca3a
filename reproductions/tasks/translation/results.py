"""Table rows, effects, figures and pages from the outcomes of translation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import bootstrap_difference, perplexity
from gluon_attn.plots.curves import Score, score_by_length, training_curves as draw_training_curves
from gluon_attn.plots.heatmap import Matrix, attention_matrices, fits
from preprocessing.files import write_text
from preprocessing.pipeline.ragged import strings_in
from preprocessing.text.normalization import JOINER
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.results import Row
from reproductions.protocol.rows import alone, bootstrapped_row, row, stacked, validation_row
from reproductions.protocol.runs import CHOSEN, Outcome
from reproductions.protocol.task import Column, Variant
from reproductions.tasks.bleu import PEERS, Bleu, bleu, chrf_signature
from reproductions.tasks.perplexity import reduction

OTHER_COLUMNS = (Column("sacreBLEU", "sacrebleu"), Column("chrF", "chrf"), Column("perplexity", "perplexity"))
COLUMNS = (Column("BLEU", "bleu"), *OTHER_COLUMNS)
NOTES = (
    "Scores are not comparable with those on WMT, whose systems have a hundred to a thousand times as much text; only "
    "the direction of a difference between the same systems is. The test set of Multi30k is that of 2016 (Flickr). "
    "BLEU is computed on lower-cased Moses tokens (Mecab's morphemes for Korean) of translations and references whose "
    "punctuation is normalised as that of the training text; published results on Multi30k differ in normalisation, "
    "tokenizer, case and tool. sacreBLEU and chrF are computed on detokenised, lower-cased text, in which an "
    "unknown token is the word UNK, since sacreBLEU splits `<unk>` into three tokens. The signature of each row in the "
    "results file states the search. Perplexities are only comparable between rows with the same target vocabulary, "
    "which depends on the training text, the kind of token and the limit of length.",
)
"""How the metrics of a results README are computed."""
LENGTHS = ((1, 8), (9, 11), (12, 14), (15, 18), (19, None))
"""Ranges of source length in words."""
AXES = ("target", "source")

METRICS = ("bleu", "perplexity")


def rows(
    outcomes: Sequence[Outcome],
    variant: Variant[Any],
    official: Bleu,
    further: Mapping[str, tuple[str, str]] | None = None,
) -> list[Row]:
    """Rows of one variant: BLEU and sacreBLEU, BLEU with other beams and computed in ``further`` ways (array, metric
    and signature), chrF and perplexity on test, and the validation BLEU that selected the epoch. The reported number is
    next to the first row.

    Intervals are bootstrap intervals over sentences; those of chrF and of validation are ranges over seeds.
    """
    settings, first = variant.settings, outcomes[0]
    search = _search(settings.beam, variant, outcomes)
    measured = [
        ("bleu", "bleu", f"{PEERS.signature}; {search}", bleu),
        ("sacrebleu", "sacrebleu", f"{official.signature}; {search}", bleu),
        *(
            ("bleu", f"bleu_beam_{beam}", f"{PEERS.signature}; {_search(beam, variant, outcomes)}", bleu)
            for beam in settings.more_beams
        ),
        *((metric, array, f"{way}; {search}", bleu) for array, (metric, way) in (further or {}).items()),
        ("bleu", "bleu_replaced", f"{PEERS.signature}; {search}, unknown words replaced", bleu),
        ("perplexity", "likelihood", "of each token; with the end of sentence", perplexity),
    ]
    made = []
    for metric, array, signature, score in measured:
        if any(array in outcome.predictions for outcome in outcomes):
            each = stacked(outcomes, array)
            one = bootstrapped_row(outcomes, variant, each, score, metric=metric, signature=signature)
            made.append(one if array == "bleu" else alone(one))
    if first.is_ensemble:
        return made
    made.append(chrf_row(outcomes, variant))
    return [*made, validation_row(outcomes, variant, "bleu", "greedy, best epoch")]


def chrf_row(outcomes: Sequence[Outcome], variant: Variant[Any], name: str = "chrf", of: str = "") -> Row:
    """The row of the metric of that name, chrF on the test split or on another test set, which ``of`` names.

    Raises:
        UsageError: if an outcome lacks it.
    """
    for outcome in outcomes:
        if name not in outcome.record["metrics"]:
            raise UsageError(f"{outcome.directory}: has no {name}; train and score this seed again")
    values = [outcome.record["metrics"][name] for outcome in outcomes]
    signature = f"{of}{chrf_signature()}; {_search(variant.settings.beam, variant, outcomes)}"
    return row(outcomes, variant, split="test", metric="chrf", signature=signature, values=values)


def _search(beam: int, variant: Variant[Any], outcomes: Sequence[Outcome]) -> str:
    """The part of a row's signature that names the search."""
    if not variant.settings.alphas:
        return f"beam {beam}, alpha {variant.settings.alpha:g}"
    chosen = [outcome.record[CHOSEN]["alpha"] for outcome in outcomes if CHOSEN in outcome.record]
    by_seed = f" ({', '.join(f'{alpha:g}' for alpha in chosen)})" if chosen else ""
    return f"beam {beam}, alpha chosen on validation{by_seed}"


def compare(metric: str, better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
    """Gain in BLEU, or reduction in perplexity, of the first side over the second; paired bootstrap over sentences."""
    if metric == "perplexity":
        return reduction(stacked(better, "likelihood"), stacked(worse, "likelihood"), "sentences")
    return bleu_points(better, worse, "BLEU points", metric)


def bleu_points(
    better: Sequence[Outcome], worse: Sequence[Outcome], what: str, array: str = "bleu", of_worse: str = ""
) -> Effect:
    """Difference in BLEU, with an interval by paired bootstrap over sentences.

    Args:
        better, worse: the two sides.
        what: what the number is, as a table has it.
        array: name of the counts.
        of_worse: name of the counts of the other side, if that is another one.
    """
    sides = stacked(better, array), stacked(worse, of_worse or array)
    return Effect(bootstrap_difference(*sides, bleu, seed=0), what, "sentences")


def by_length_class(outcomes: Sequence[Outcome]) -> np.ndarray:
    """BLEU counts (seeds, sentences, 20): in one half the sentences of more than 12 words, in the other half the
    rest."""
    long = (outcomes[0].predictions["words"] > 12)[:, None]
    each = stacked(outcomes, "bleu")
    return np.concatenate([each * long, each * ~long], axis=2)


def long_minus_short(totals: np.ndarray) -> float:
    """BLEU of the sentences of more than 12 words minus that of the others, from sums of :func:`by_length_class`."""
    long, short = (bleu(half) for half in np.split(totals, 2))
    return long - short


def by_length(outcome: Outcome, suffix: str = "", fewest: int = 1) -> list[float]:
    """BLEU of the test sentences of each range of lengths; NaN for a range with fewer than ``fewest`` sentences.
    ``suffix`` is the end of the names of another test set's arrays."""
    words, each = outcome.predictions[f"words{suffix}"], outcome.predictions[f"bleu{suffix}"]
    ranges = [each[(words >= low) & (words <= (high or words.max()))] for low, high in LENGTHS]
    return [bleu(counts.sum(axis=0)) if len(counts) >= fewest else math.nan for counts in ranges]


def length_labels() -> list[str]:
    """Axis labels of the ranges of lengths."""
    return [f"{low}–{high}" if high else f"{low} or more" for low, high in LENGTHS]


def training_curves(outcomes: Mapping[str, Outcome], path: Path) -> None:
    """Training loss, with label smoothing if a variant has it, and validation loss without; BLEU of greedy search."""
    curves = {name: outcome.record["history"] for name, outcome in outcomes.items()}
    score, label = Score("bleu", "BLEU, greedy"), "train, with any label smoothing"
    draw_training_curves(curves, path, score=score, loss_per="token", train_label=label)


def bleu_by_length(*variants: str, joined: Sequence[int] = ()) -> Draw:
    """A figure of BLEU by source length. With ``joined``, it includes that many consecutive sentences translated as
    one, which the outcomes must have."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        drawn = {name: groups[name][0] for name in variants if name in groups}
        if not drawn:
            return {}
        lines = {name: by_length(outcome) for name, outcome in drawn.items()}
        labels = length_labels()
        for number in joined:
            for name, outcome in drawn.items():
                lines[name].append(bleu(outcome.predictions[f"joined_{number}"].sum(axis=0)))
            words = next(iter(drawn.values())).predictions[f"joined_{number}_words"].mean()
            labels.append(f"{words:.0f},\n{number} sentences\nas one")
        path = directory / "bleu_by_length.png"
        score_by_length(lines, labels, path, "BLEU")
        return {"BLEU by length": path}

    return draw


def alignments(*variants: str) -> Draw:
    """Figures of the alignments in the outcomes of these variants; none without attention, and none of a translation
    that is too long for a figure."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        for name in variants:
            for outcome in groups.get(name, ())[:1]:
                for number, example in enumerate(_drawable(outcome), start=1):
                    path = directory / f"alignment_{name}_{number}.png"
                    attention_matrices([_matrix(outcome, example)], path, axis_labels=AXES)
                    paths[f"alignment {number} of {name}"] = path
        return paths

    return draw


def alignments_next_to(first: str, second: str) -> Draw:
    """Figures of the alignments of two variants, side by side, for each sentence whose translations fit a
    figure."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        sides = [groups[name][0] for name in (first, second) if name in groups]
        pairs = zip(*(side.examples.get("alignments", ()) for side in sides), strict=False)
        shown = [pair for pair in pairs if all(fits(one["weights"]) for one in pair)]
        for number, pair in enumerate(shown, start=1):
            path = directory / f"alignments_{number}.png"
            matrices = [_matrix(*one) for one in zip(sides, pair, strict=True)]
            attention_matrices(matrices, path, axis_labels=AXES)
            paths[f"alignment {number} of {' and '.join(side.variant for side in sides)}"] = path
        return paths

    return draw


def _drawable(outcome: Outcome) -> list[Mapping[str, Any]]:
    return [example for example in outcome.examples.get("alignments", ()) if fits(example["weights"])]


def _matrix(outcome: Outcome, example: Mapping[str, Any]) -> Matrix:
    title = f"{outcome.variant}: test sentence {example['row'] + 1} ({outcome.record['corpus']})"
    return alignment(example["source"], example["target"], np.array(example["weights"], np.float32), title)


def alignment(source: Sequence[str], target: Sequence[str], weights: np.ndarray, title: str) -> Matrix:
    """The alignment of one translation, with a row for each target token and a column for each source token."""
    return Matrix(as_drawn([*target, "</s>"][: len(weights)]), as_drawn(source or ["<unk>"]), weights, title)


def as_drawn(tokens: Sequence[str]) -> list[str]:
    """Tokens for a figure: a morpheme that is attached to the one before has a hyphen, as in grammars, since fonts lack
    the pipeline's mark."""
    return [token.replace(JOINER, "-") for token in tokens]


def draw_alignment(source: Sequence[str], target: Sequence[str], weights: np.ndarray, path: Path, title: str) -> None:
    """Draw the alignment of one translation."""
    attention_matrices([alignment(source, target, weights, title)], path, axis_labels=AXES)


def write_translations(outcome: Outcome, variant: Variant[Any], directory: Path) -> dict[str, Path]:
    """Write a TSV of the test split: source, reference and translation."""
    if not outcome.texts:
        return {}
    columns = [
        strings_in(arrays, name)
        for name, arrays in (("source", outcome.texts), ("reference", outcome.texts), ("text", outcome.predictions))
    ]
    lines = ["\t".join(text.replace("\t", " ") for text in sentence) for sentence in zip(*columns, strict=True)]
    path = directory / f"translations_{variant.name}.tsv"
    write_text(path, "\n".join(["source\treference\ttranslation", *lines]) + "\n")
    return {f"translations of {variant.name}": path}
