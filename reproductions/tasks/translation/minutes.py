"""How many minutes of processor time a translator needs to reach a validation BLEU.

Trainings of one variant do the same work in each epoch, whatever their seed, but on other machines or beside other work
it takes longer. Minutes are therefore the number of epochs times the minutes per epoch of the seed whose trainings took
the fewest minutes. The trainings of this seed should run side by side on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gluon_attn.evaluation.statistics import Estimate
from gluon_attn.plots.curves import score_by_minutes
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.runs import Outcome, paired


class Pace(NamedTuple):
    """The seed whose trainings took the fewest minutes, and the minutes per epoch of each variant with this seed."""

    seed: int | str
    minutes: list[float]


def pace(sides: Sequence[Sequence[Outcome]]) -> Pace | None:
    """The minutes of processor time per epoch, without validation, of the outcomes of each variant; None if the
    variants share no seed."""
    histories = [{outcome.seed: outcome.record["history"] for outcome in side} for side in sides]
    shared = [seed for seed in histories[0] if all(seed in of_side for of_side in histories)]
    if not shared:
        return None
    fastest = min(shared, key=lambda seed: sum(of_side[seed][-1]["cpu_seconds"] for of_side in histories))
    return Pace(fastest, [each[fastest][-1]["cpu_seconds"] / 60 / len(each[fastest]) for each in histories])


def minutes_gained(first: Sequence[Outcome], second: Sequence[Outcome]) -> Effect | None:
    """The effect of the claim that the first variant needs fewer minutes to reach the best validation BLEU of the
    second, seed by seed. A training of the first variant that never reaches it would need more than all of its epochs:
    it counts with these, and saves nothing. None without a seed that both have."""
    at = pace((first, second))
    if at is None:
        return None
    fast_epoch, slow_epoch = at.minutes
    gained: dict[int | str, float] = {}
    for fast, slow in paired(first, second):
        best = max(row["validation_bleu"] for row in slow.record["history"])
        needed, reached = (_epochs_to(outcome, best) for outcome in (slow, fast))
        assert needed is not None  # it is the best of this training
        saved = needed * slow_epoch - (reached or len(fast.record["history"])) * fast_epoch
        gained[fast.seed] = saved if reached else min(0.0, saved)
    mean = float(np.mean([*gained.values()]))
    what = (
        f"minutes of processor time to the best validation BLEU of {second[0].variant}, {second[0].variant} minus "
        f"{first[0].variant}, at the minutes per epoch of seed {at.seed}"
    )
    return Effect(Estimate(mean, mean, mean), what, items="", split="validation", by_seed=gained)


def _epochs_to(outcome: Outcome, bleu: float) -> int | None:
    """The number of epochs until a validation BLEU is reached."""
    history = outcome.record["history"]
    return next((number for number, row in enumerate(history, start=1) if row["validation_bleu"] >= bleu), None)


def bleu_by_minutes(*variants: str) -> Draw:
    """A figure of validation BLEU by minutes of processor time, with all trainings of these variants."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        drawn = {name: groups[name] for name in variants if name in groups}
        at = pace([*drawn.values()]) if drawn else None
        if at is None:
            return {}
        curves = {
            name: [
                [(number * epoch, row["validation_bleu"]) for number, row in enumerate(one.record["history"], start=1)]
                for one in outcomes
            ]
            for (name, outcomes), epoch in zip(drawn.items(), at.minutes, strict=True)
        }
        path = directory / "bleu_by_minutes.png"
        score_by_minutes(curves, path, "BLEU, greedy")
        return {"BLEU by minutes": path}

    return draw
