"""Table rows, effects and figures from the outcomes of pretraining and of pretrained classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gluon_attn.evaluation.statistics import bootstrap, perplexity
from gluon_attn.plots.curves import Score, training_curves as draw_training_curves
from reproductions.protocol.claims import Effect
from reproductions.protocol.results import Row
from reproductions.protocol.rows import bootstrapped_row, row, stacked, validation_row
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import Column, Variant
from reproductions.tasks.perplexity import reduction

NOTES = (
    "Left out of the text for pretraining, of the 712 404 reviews of the crawl, because NSMC evaluates on them: 63 981 "
    "whose text is in NSMC's test split and 15 207 whose text is in our validation split; then 8 610 and 850 with the "
    "same letters and digits, and 6 378 and 1 030 near copies (`preprocessing/naver_pretraining.py`).",
)

COLUMNS = (
    Column("perplexity of pretraining", "perplexity", of_pretraining=True),
    Column("accuracy on pairs, %", "pairs"),
)


def rows(outcomes: Sequence[Outcome], variant: Variant[Any]) -> list[Row]:
    """Test perplexity with its bootstrap interval over pairs, the validation perplexity that selected the epoch with
    its range over seeds, and the accuracy on pairs."""
    what = "of each next piece" if variant.settings.causal else "of each masked piece"
    made = [
        bootstrapped_row(
            outcomes, variant, stacked(outcomes, "likelihood"), perplexity, metric="perplexity", signature=what
        ),
        validation_row(outcomes, variant, "perplexity", f"{what}, best epoch"),
    ]
    if "told" in outcomes[0].predictions:
        told = 100.0 * stacked(outcomes, "told")
        made.append(
            row(
                outcomes,
                variant,
                split="test",
                metric="pairs",
                signature="two reviews of one film, or of two",
                values=told.mean(axis=1).tolist(),
                ci95=bootstrap(told.mean(axis=0), seed=0),
            )
        )
    return made


def compare(better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
    """Reduction in perplexity from the second side to the first; paired bootstrap over pairs."""
    return reduction(stacked(better, "likelihood"), stacked(worse, "likelihood"), "pairs")


def training_curves(outcomes: Mapping[str, Outcome], path: Path) -> None:
    """Training loss, which includes that of the second task, and validation loss and perplexity of the pieces."""
    curves = {name: outcome.record["history"] for name, outcome in outcomes.items()}
    score = Score("perplexity", "perplexity")
    label = "train, all tasks"
    draw_training_curves(curves, path, score=score, loss_per="piece", train_label=label)
