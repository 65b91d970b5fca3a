"""Rows, effects and figures from outcomes of language modelling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap_metric, in_blocks, perplexity
from gluon_attn.plots.curves import Score, training_curves as draw_training_curves, weights_by_distance
from gluon_attn.plots.heatmap import attention_matrix
from preprocessing.ptb import END_OF_LINE
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.results import Row
from reproductions.protocol.rows import bootstrapped_row, stacked, validation_row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Column, Variant
from reproductions.tasks.perplexity import reduction

COLUMNS = (Column("perplexity", "perplexity"),)
BLOCK = 100
"""Number of consecutive lines that the bootstrap draws together. The losses of neighbouring lines are alike, because
they are often of one article: on the Penn Treebank, drawing single lines gives half the standard error."""
BLOCKS = f"blocks of up to {BLOCK} lines"
NOTES = (
    f"Intervals over test items draw blocks of {BLOCK} lines, since the losses of neighbouring lines are alike. When "
    "the test split was first scored, they drew single lines, and most were half as wide.",
)


def of_blocks(outcomes: Sequence[Outcome], name: str) -> np.ndarray:
    """The sums of an array of the outcomes over blocks of lines, (seeds, blocks, counts); at least 20 blocks."""
    return in_blocks(stacked(outcomes, name), BLOCK, 20)


def rows(outcomes: Sequence[Outcome], variant: Variant[Any]) -> list[Row]:
    """Return perplexity on test, with a bootstrap interval over blocks of lines, and the validation perplexity that
    selected the epoch, with the range over seeds."""
    likelihood, signature = of_blocks(outcomes, "likelihood"), "of each word and end of line, the file as one stream"
    return [
        bootstrapped_row(outcomes, variant, likelihood, perplexity, metric="perplexity", signature=signature),
        validation_row(outcomes, variant, "perplexity"),
    ]


def compare(better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
    """Reduction of the perplexity on the first side, averaged over seeds; paired bootstrap over blocks of lines."""
    return reduction(of_blocks(better, "likelihood"), of_blocks(worse, "likelihood"), BLOCKS)


def nearest_third(outcomes: Sequence[Outcome]) -> Effect:
    """Excess of the weight of the nearest third of the memories over their uniform share, in percentage points;
    bootstrap over blocks of lines."""
    by_distance, tokens = of_blocks(outcomes, "weight_by_distance"), of_blocks(outcomes, "likelihood")[:, :, 1]
    window = by_distance.shape[2]
    nearest = window // 3

    def above_uniform(totals: np.ndarray) -> float:
        return float(100 * (totals[0] / totals[1] - nearest / window))

    each = np.stack([by_distance[:, :, :nearest].sum(axis=2), tokens], axis=2)
    what = f"percentage points of the weight on the nearest {nearest} of {window} memories, minus the uniform share"
    return Effect(bootstrap_metric(each, above_uniform, seed=0), what, BLOCKS)


def training_curves(outcomes: Mapping[str, Outcome], path: Path) -> None:
    """Draw loss and validation perplexity."""
    curves = {name: outcome.record["history"] for name, outcome in outcomes.items()}
    score = Score("perplexity", "perplexity")
    draw_training_curves(curves, path, score=score, loss_per="word")


def draw_lines(outcome: Outcome, variant: Variant[Any], directory: Path) -> dict[str, Path]:
    """Draw the weights of an outcome's validation lines, including the end of the previous line; nothing without
    attention."""
    paths = {}
    for number, line in enumerate(outcome.examples.get("lines", ()), start=1):
        path = directory / f"attention_{variant.name}_{number}.png"
        words, weights = line["words"], np.array(line["weights"], np.float32)
        before = 1 - weights.sum() / len(words)
        attention_matrix(
            words,
            [END_OF_LINE, *words[:-1]],
            weights,
            path,
            f"{variant.name}: validation line {line['line'] + 1} ({outcome.record['corpus']}); "
            f"{before:.0%} of the weight is on lines before",
            axis_labels=("word", "memory before it"),
            masked=outside_window(weights, line["window"]),
        )
        paths[f"attention {number} of {variant.name}"] = path
    return paths


def outside_window(weights: np.ndarray, window: int) -> np.ndarray:
    """Mask the memories that words cannot attend to, later ones and those no longer on the tape, in a matrix with a row
    for each word and a column for each memory from the one before the first word on."""
    everywhere = np.ones(weights.shape, bool)
    return np.triu(everywhere, 1) | np.tril(everywhere, -window)


def attention_by_distance(*variants: str) -> Draw:
    """Draw the mean weight of a memory by its distance, for these variants."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        weights = {}
        for name in variants:
            if name in groups:
                arrays = groups[name][0].predictions
                weights[name] = arrays["weight_by_distance"].sum(axis=0) / arrays["likelihood"][:, 1].sum()
        if not weights:
            return {}
        path = directory / "weights_by_distance.png"
        weights_by_distance(weights, path)
        return {"weights by distance": path}

    return draw
