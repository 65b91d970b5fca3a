"""Effects and figures of translation on test sets of other domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gluon_attn.evaluation.statistics import Estimate, bootstrap_metric
from gluon_attn.plots.curves import score_by_length
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.rows import best_validation, stacked
from reproductions.protocol.runs import Outcome
from reproductions.tasks.bleu import bleu
from reproductions.tasks.translation.domains import TestSet, has_arrays
from reproductions.tasks.translation.results import bleu_points, by_length, length_labels

_FEWEST = 30  # sentences of a range of lengths that is drawn


def below_half(other: TestSet, of: TestSet | None = None) -> Callable[[Sequence[Outcome]], Effect | None]:
    """An effect: half of the BLEU on a test set, by default the network's own test split, minus that on another one."""
    arrays = of.array("bleu") if of else "bleu", other.array("bleu")

    def effect(outcomes: Sequence[Outcome]) -> Effect | None:
        if not has_arrays(arrays, outcomes):
            return None
        first, second = (bootstrap_metric(stacked(outcomes, array), bleu, seed=0) for array in arrays)
        mean = first.mean / 2 - second.mean
        # Two independent samples of sentences.
        half_width = float(np.hypot((first.high - first.low) / 4, (second.high - second.low) / 2))
        what = f"half of the BLEU on {of.title if of else 'the test split'} minus that on {other.title}"
        degrees = min(first.degrees, second.degrees)
        return Effect(Estimate(mean, mean - half_width, mean + half_width, degrees), what, "sentences")

    return effect


def chosen_on_validation(other: TestSet) -> Callable[..., Effect | None]:
    """An effect: the gain in BLEU on the other test set over the first system of the one with the best validation BLEU,
    chosen for each seed; it may be the first itself."""

    def effect(first: Sequence[Outcome], *others: Sequence[Outcome]) -> Effect | None:
        systems = (first, *others)
        if not has_arrays((other.array("bleu"),), *systems):
            return None
        by_seed = [{outcome.seed: outcome for outcome in outcomes} for outcomes in systems]
        shared = [outcome.seed for outcome in first if all(outcome.seed in each for each in by_seed)]
        if not shared:
            return None
        of_seed = [[each[seed] for each in by_seed] for seed in shared]
        best = [max(outcomes, key=lambda one: best_validation(one, "bleu")) for outcomes in of_seed]
        chosen = " or ".join(dict.fromkeys(outcome.variant for outcome in best))
        what = f"BLEU points on {other.title}, {chosen} minus {first[0].variant}"
        return bleu_points(best, [outcomes[0] for outcomes in of_seed], what, other.array("bleu"))

    return effect


def bleu_by_length_and_test_set(variants: Sequence[str], others: Sequence[TestSet]) -> Draw:
    """For each variant, a figure of BLEU by source length on the test split of its corpus and on those of the other
    test sets that it is scored on, of the first seed: sentences of another domain may also be longer. Ranges with few
    sentences are left out."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        paths = {}
        for name in variants:
            for outcome in groups.get(name, ())[:1]:
                scored = [other for other in others if has_arrays((other.array("words"),), [outcome])]
                lines = {"its own corpus": by_length(outcome, fewest=_FEWEST)}
                lines |= {other.title: by_length(outcome, f"_{other.name}", _FEWEST) for other in scored}
                path = paths[f"BLEU by length of {name}"] = directory / f"bleu_by_length_{name}.png"
                score_by_length(lines, length_labels(), path, "BLEU")
        return paths

    return draw
