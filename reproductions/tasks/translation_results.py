"""From finished trainings of a script that translates to its rows, claims and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gluon_attn.evaluation.statistics import Estimate, bootstrap_difference, bootstrap_metric, perplexity
from gluon_attn.plots.curves import Score, score_by_length, training_curves
from preprocessing.files import write_text
from preprocessing.pipeline.ragged import unpack_strings
from reproductions.protocol.experiment import Column, Preset, Variant
from reproductions.protocol.results import Claim, Row
from reproductions.protocol.rows import by_variant, measured, row_of
from reproductions.protocol.runs import Outcome, load
from reproductions.tasks.bleu import bleu, chrf_signature
from reproductions.tasks.translation import PEERS, Data, counts, draw, prepare, search_of, translate

# What stands beside BLEU in the table of a script.
OTHER_COLUMNS = (Column("sacreBLEU", "sacrebleu"), Column("chrF", "chrf"), Column("perplexity", "perplexity"))
# Words of a source sentence, for what depends on its length.
LENGTHS = ((1, 8), (9, 11), (12, 14), (15, 18), (19, None))


@dataclass(frozen=True)
class Comparison:
    """A claim that one variant is better than another, in BLEU, or with ``array`` likelihood in perplexity."""

    id: str
    statement: str
    source: str
    better: str
    worse: str
    array: str = "bleu"


def conclude(
    outcomes: Sequence[Outcome], preset: Preset, comparisons: Sequence[Comparison]
) -> tuple[list[Row], list[Claim]]:
    """Rows for what was trained, and the comparisons of which both sides are there."""
    groups = by_variant(outcomes)
    made = []
    for name, group in groups.items():
        variant = preset.variant(name)
        made += rows(group, variant, prepare(preset, variant))
    there = [one for one in comparisons if one.better in groups and one.worse in groups]
    return made, [_judge(one, groups, preset) for one in there]


def _judge(one: Comparison, groups: Mapping[str, Sequence[Outcome]], preset: Preset) -> Claim:
    if one.array == "likelihood":
        what, effect = (
            "by how much perplexity is lower",
            difference(groups, one.worse, one.better, perplexity, one.array),
        )
    else:
        what, effect = "BLEU points", difference(groups, one.better, one.worse, bleu, one.array)
    measure = measured(what, "sentences", preset, groups[one.better], groups[one.worse])
    return Claim.judge(one.id, one.statement, one.source, measure, effect)


def rows(outcomes: Sequence[Outcome], variant: Variant, data: Data) -> list[Row]:
    """Rows of one variant: BLEU both ways, and of every other search that its settings ask for, chrF and perplexity on
    test, and the BLEU that selected the epoch. What is reported stands beside the first.

    Intervals are the bootstrap's over sentences; those of chrF and of validation the range over seeds.
    """
    search = search_of(variant)
    made = [
        _row(outcomes, variant, metric, array, f"{signature}; {words}", score)
        for metric, array, signature, words, score in (
            ("bleu", "bleu", PEERS.signature, _named(**search), bleu),
            ("sacrebleu", "sacrebleu", data.official.signature, _named(**search), bleu),
            *(
                ("bleu", f"bleu_beam_{beam}", PEERS.signature, _named(beam, search["alpha"]), bleu)
                for beam in variant.settings["more_beams"]
            ),
            ("bleu", "bleu_replaced", PEERS.signature, f"{_named(**search)}, unknown words replaced", bleu),
            ("perplexity", "likelihood", "of each token", "with the end of sentence", perplexity),
        )
        if array in outcomes[0].predictions
    ]
    chrfs = [outcome.facts["metrics"]["chrf"] for outcome in outcomes]
    best = [max(epoch["validation_bleu"] for epoch in outcome.facts["history"]) for outcome in outcomes]
    for split, metric, signature, values in (
        ("test", "chrf", f"{chrf_signature()}; {_named(**search)}", chrfs),
        ("validation", "bleu", "greedy, best epoch", best),
    ):
        span = Estimate(float(np.mean(values)), min(values), max(values))
        made.append(
            row_of(outcomes, variant, split=split, metric=metric, signature=signature, values=values, ci95=span)
        )
    return made


def _row(
    outcomes: Sequence[Outcome],
    variant: Variant,
    metric: str,
    array: str,
    signature: str,
    score: Callable[[np.ndarray], float],
) -> Row:
    """One test row of a metric of sums over sentences."""
    each = np.stack([outcome.predictions[array] for outcome in outcomes])
    values, interval = [score(one.sum(axis=0)) for one in each], bootstrap_metric(each, score, seed=0)
    row = row_of(outcomes, variant, split="test", metric=metric, signature=signature, values=values, ci95=interval)
    return row if array == "bleu" else replace(row, reported=None, comparable=False)


def _named(beam: int, alpha: float) -> str:
    """How a search is named in a row's signature."""
    return f"beam {beam}, alpha {alpha:g}"


def ensemble_counts(outcomes: Sequence[Outcome], beam: int) -> np.ndarray:
    """BLEU counts (sentences, 10) of the test split, translated by the networks of all seeds as one, whose
    probabilities are averaged at each token."""
    loaded = [load(outcome.unit) for outcome in outcomes]
    _, variant, data = loaded[0]
    test, search = data.prepared.splits["test"].source, {**search_of(variant), "beam": beam}
    return counts(data, "test", translate([model for model, _, _ in loaded], data, test, **search))


def ensemble_row(outcomes: Sequence[Outcome], variant: Variant, each: np.ndarray, beam: int) -> Row:
    """The row of an ensemble.

    Args:
        outcomes: its members.
        variant: of the members, with the name of the ensemble and what is reported of one.
        each: BLEU counts (sentences, 10), of :func:`ensemble_counts`.
        beam: of the search.
    """
    signature = f"{PEERS.signature}; {_named(beam, variant.settings['alpha'])}"
    score, interval = bleu(each.sum(axis=0)), bootstrap_metric(each[None], bleu, seed=0)
    values = [score] * len(outcomes)
    row = row_of(outcomes, variant, split="test", metric="bleu", signature=signature, values=values, ci95=interval)
    main = beam == variant.settings["beam"]
    return replace(
        row,
        reported=row.reported if main else None,
        comparable=row.comparable and main,
        std=0.0,
        per_seed={"+".join(row.per_seed): score},
        parameters=row.parameters * len(outcomes),
        train_seconds=row.train_seconds * len(outcomes),
    )


def difference(
    groups: Mapping[str, Sequence[Outcome]],
    first: str,
    second: str,
    score: Callable[[np.ndarray], float] = bleu,
    array: str = "bleu",
) -> Estimate:
    """A score of the first variant minus that of the second, mean of their seeds, by paired bootstrap over sentences.

    Args:
        groups: outcomes by variant, over the same sentences.
        first, second: names of variants.
        score: of the sums over sentences.
        array: what is summed.
    """
    sides = [np.stack([outcome.predictions[array] for outcome in groups[name]]) for name in (first, second)]
    return bootstrap_difference(sides[0], sides[1], score, seed=0)


def by_halves(arrays: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
    """BLEU counts (runs, sentences, 20) whose sums are those of the sentences of more than 12 words and those of the
    others."""
    long = (arrays[0]["words"] > 12)[:, None]
    return np.stack([np.hstack([each["bleu"] * long, each["bleu"] * ~long]) for each in arrays])


def long_minus_short(totals: np.ndarray) -> float:
    """BLEU of the sentences of more than 12 words minus that of the others, from the sums of :func:`by_halves`."""
    of_long, of_short = (bleu(part) for part in np.split(totals, 2))
    return of_long - of_short


def pages(outcomes: Sequence[Outcome], preset: Preset, directory: Path) -> dict[str, Path]:
    """What each variant, of several seeds the first, has made of the test split: a TSV of source, reference and
    translation."""
    paths = {}
    for name, group in by_variant(outcomes).items():
        prepared, arrays = prepare(preset, preset.variant(name)).prepared, group[0].predictions
        said = unpack_strings(arrays["text_utf8"], arrays["text_offsets"])
        columns = prepared.splits["test"].source.text.tolist(), prepared.references("test"), said
        lines = ["\t".join(text.replace("\t", " ") for text in row) for row in zip(*columns, strict=True)]
        paths[f"translations of {name}"] = directory / f"translations_{name}.tsv"
        write_text(paths[f"translations of {name}"], "\n".join(["source\treference\ttranslation", *lines]) + "\n")
    return paths


def figures(
    outcomes: Sequence[Outcome],
    preset: Preset,
    directory: Path,
    *,
    lengths: Sequence[str],
    alignments: Sequence[str],
) -> dict[str, Path]:
    """Training curves of all variants, BLEU by length of the source, and the alignments that
    :func:`translation.evaluate` keeps; of several seeds the first is drawn.

    Args:
        outcomes: finished trainings.
        preset: what they were trained with.
        directory: where the PNGs go.
        lengths: variants whose BLEU is drawn by length, if they are there.
        alignments: variants with attention whose alignments are drawn, if they are there.
    """
    first = {name: group[0] for name, group in by_variant(outcomes).items()}
    paths = {"training curves": directory / "training_curves.png"}
    curves = {name: outcome.facts["history"] for name, outcome in first.items()}
    training_curves(curves, paths["training curves"], score=Score("bleu", "BLEU, greedy"), loss_per="token")
    lines = {name: by_length(first[name]) for name in lengths if name in first}
    if lines:
        paths["BLEU by length"] = directory / "bleu_by_length.png"
        score_by_length(lines, length_labels(), paths["BLEU by length"], "BLEU")
    for name in alignments:
        if name in first:
            paths |= _alignments(first[name], preset, directory)
    return paths


def _alignments(outcome: Outcome, preset: Preset, directory: Path) -> dict[str, Path]:
    variant, arrays, paths = preset.variant(outcome.unit.variant), outcome.predictions, {}
    source = prepare(preset, variant).prepared.splits["test"].source
    said = unpack_strings(arrays["aligned_utf8"], arrays["aligned_offsets"])
    for number, (row, tokens) in enumerate(zip(arrays["aligned"], said, strict=True), start=1):
        path = directory / f"alignment_{variant.name}_{number}.png"
        title = f"{variant.name}: test sentence {row + 1} ({outcome.facts['corpus']})"
        draw(source.words(row), tokens.split(" ") if tokens else [], arrays[f"alignment_{row}"], path, title)
        paths[f"alignment {number} of {variant.name}"] = path
    return paths


def by_length(outcome: Outcome) -> list[float]:
    """BLEU of the test sentences of each range of lengths."""
    arrays = outcome.predictions
    words, each = arrays["words"], arrays["bleu"]
    return [bleu(each[(words >= low) & (words <= (high or words.max()))].sum(axis=0)) for low, high in LENGTHS]


def length_labels() -> list[str]:
    """The ranges of lengths as an axis names them."""
    return [f"{low}-{high or ''}" for low, high in LENGTHS]
