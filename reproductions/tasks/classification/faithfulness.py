"""Faithfulness of attention weights at the best and at the last epoch of a training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gluon_attn.evaluation.faithfulness import faithfulness
from gluon_attn.evaluation.statistics import bootstrap
from gluon_attn.plots.distributions import entropy_and_agreement
from gluon_attn.training.checkpoint import parameter_arrays, set_parameters
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.runs import Outcome
from reproductions.tasks.classification.predictions import classify
from reproductions.tasks.classification.task import EvaluatedModel, MeasurementResult


def faithfulness_of_epochs(evaluated: EvaluatedModel) -> MeasurementResult:
    """Measure the faithfulness of the attention weights at the best and at the last epoch, on 1 000 validation texts of
    5 to 29 tokens: ``entropy_best``, ``agreement_best``, ``entropy_last`` and ``agreement_last``, as defined by
    :class:`~gluon_attn.evaluation.faithfulness.Faithfulness`. Afterwards the network has the parameters of its best
    epoch again. With more than two classes, nothing is measured: there is no one probability that a token changes."""
    model, data = evaluated.model, evaluated.data
    if len(data.labels) != 2:
        return MeasurementResult()
    sequences = [ids for ids in data.prepared.validation.sequences() if 5 <= len(ids) <= 29][:1_000]

    def read(some: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        predictions = classify(model, data.inputs, some)
        return predictions.probability, predictions.token_weights

    best = parameter_arrays(model)
    measured = {"best": faithfulness(read, sequences)}
    set_parameters(model, evaluated.last.group("parameters"))
    measured["last"] = faithfulness(read, sequences)
    set_parameters(model, best)
    return MeasurementResult(
        {
            f"{what}_{when}": getattr(value, what)
            for when, value in measured.items()
            for what in ("entropy", "agreement")
        }
    )


def less_agreement(outcomes: Sequence[Outcome]) -> Effect | None:
    """Decrease of the agreement between weights and leave-one-out effects from the best epoch to the last; None if no
    text was measured."""
    return _effect("agreement", 1, outcomes, "Spearman correlation, best epoch minus last")


def more_entropy(outcomes: Sequence[Outcome]) -> Effect | None:
    """Increase of the entropy of the weights from the best epoch to the last; None if no text was measured."""
    return _effect("entropy", -1, outcomes, "normalised entropy, last epoch minus best")


def _effect(value: str, sign: int, outcomes: Sequence[Outcome], what: str) -> Effect | None:
    """The value of the best epoch minus that of the last, times the sign. Seeds are averaged before texts are
    resampled, since a text read by three networks is still one text."""
    if not all(_measured(outcome) for outcome in outcomes):
        return None
    best, last = (
        np.mean([one.predictions[f"{value}_{when}"] for one in outcomes], axis=0) for when in ("best", "last")
    )
    return Effect(bootstrap(sign * (best - last), seed=0), what, "reviews", split="validation")


def _measured(outcome: Outcome) -> bool:
    return len(outcome.predictions.get("entropy_best", ())) > 0


def faithfulness_by_epoch(variant: str) -> Draw:
    """Draw entropy and agreement of the weights at the best and at the last epoch."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        if variant not in groups or not _measured(groups[variant][0]):
            return {}
        arrays, record = groups[variant][0].predictions, groups[variant][0].record
        epochs = {f"best epoch ({record['best_epoch']})": "best", f"last epoch ({len(record['history'])})": "last"}
        entropy, agreement = (
            {title: arrays[f"{what}_{when}"] for title, when in epochs.items()} for what in ("entropy", "agreement")
        )
        path = directory / "readability.png"
        entropy_and_agreement(entropy, agreement, path)
        return {"readability": path}

    return draw
