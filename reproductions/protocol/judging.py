"""Verdicts on claims, from the variance over seeds and over test items.

A verdict needs at least two seeds that all variants of the claim share. The effects of the seeds give the standard
deviation over seeds, and the bootstrap over test items gives the standard error over items. A claim is *supported* if
the 95 % interval over both is above zero, *contradicted* if it is below zero, and *inconclusive* otherwise. With fewer
shared seeds, a claim is *not judged* unless the effect exceeds three times the largest known deviation over seeds of
such a system, times the square root of two because it is a difference; the interval then takes that as the deviation
over seeds. A claim with a margin is judged in the same way by the effect minus the margin. A deterministic variant has
one outcome, which is compared with each seed of the other variants. If all variants of a claim are deterministic, the
interval is over items only. All seeds of a variant start from one pretrained network, if from any, and have the
same teachers; a verdict on sides where these are different ones says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.inference import Deviation, Inference, holm, largest_deviation, over_seeds, seeds_needed
from gluon_attn.evaluation.statistics import Estimate
from gluon_attn.metrics import lower_is_better
from reproductions.protocol import papers
from reproductions.protocol.claims import Better, Claim, Effect
from reproductions.protocol.elsewhere import variant_named
from reproductions.protocol.reproduction import Groups, Preset, Reproduction
from reproductions.protocol.results import JudgedClaim, Result, Row
from reproductions.protocol.rows import SAMPLE_WARNING
from reproductions.protocol.task import Task

CLEAR = 3 * math.sqrt(2)
"""Minimum difference between single seeds, in standard deviations over seeds, for a verdict."""

_DEGREES = 3
"""Minimum degrees of freedom of a standard deviation over the seeds of one task."""


def judge(
    reproduction: Reproduction, claim: Claim, preset: Preset, groups: Groups, rows: Sequence[Row]
) -> JudgedClaim | None:
    """Judge a claim whose variants all have outcomes; None if its effect cannot be measured.

    Args:
        reproduction, claim, preset: the paper, its claim, and the preset of the training.
        groups: outcomes by variant, those of other papers as ``paper/variant``.
        rows: rows of the paper's own outcomes, for the deviation over seeds.
    """
    effect = measure(claim, preset, groups)
    if effect is None:
        return None
    by_seed = effects_by_seed(claim, preset, groups) if effect.by_seed is None else effect.by_seed
    estimate, margin = effect.estimate, claim.margin
    deviation = None if len(by_seed) > 1 else known_deviation(reproduction, claim, preset, rows)
    interval, by_seeds = (estimate.low, estimate.high), None
    inference: Inference | None
    if len(by_seed) < 2 and all(variant_named(preset, name).deterministic for name in claim.variants):
        deviation, basis = Deviation(0.0, 1), "no random part; interval over items"
        inference = Inference(estimate.mean - margin, 0.0, 1, estimate.error, estimate.degrees)
    else:
        inference, basis = _over_seeds(claim, preset, groups, estimate, by_seed, deviation)
        if inference is not None:
            half, half_of_seeds = inference.half(), inference.half_of_seeds()
            interval = (estimate.mean - half, estimate.mean + half)
            by_seeds = (estimate.mean - half_of_seeds, estimate.mean + half_of_seeds)
    verdict = "not judged"
    if inference is not None:
        verdict = "supported" if interval[0] > margin else "contradicted" if interval[1] < margin else "inconclusive"
    on_sample = groups[claim.variants[0]][0].on_sample
    resampled = f", bootstrap over {effect.items}" if effect.items else ""
    warning = f"; {SAMPLE_WARNING}" if on_sample else ""
    return JudgedClaim(
        id=claim.id,
        statement=claim.statement,
        source=claim.source,
        effect=estimate.mean,
        ci95=interval,
        verdict=verdict,
        basis=basis,
        measure=f"{effect.split}, {effect.what}{resampled}{warning}",
        per_seed={str(seed): value for seed, value in by_seed.items()},
        ci95_items=(estimate.low, estimate.high),
        ci95_seeds=by_seeds,
        seed_deviation=_deviation(by_seed, deviation),
        p=None if inference is None else inference.p,
        reported=reported_difference(reproduction, claim, preset),
    )


def _over_seeds(
    claim: Claim,
    preset: Preset,
    groups: Groups,
    estimate: Estimate,
    by_seed: Mapping[int | str, float],
    deviation: Deviation | None,
) -> tuple[Inference | None, str]:
    """The inference over seeds and items for the effect of a claim minus its margin, and what it is based on. None if
    there are too few seeds: fewer than two, unless the effect is far above the known deviation over seeds."""
    effect = estimate.mean - claim.margin
    if len(by_seed) > 1:
        inference = over_seeds(np.array(list(by_seed.values())), estimate.error, estimate.degrees)
        # The effect differs from the mean over seeds if the sides share only some of them.
        return replace(inference, effect=effect), f"{len(by_seed)} seeds{_pretraining(claim, preset)}"
    basis = _few_seeds(claim, groups, by_seed)
    if deviation is None or abs(effect) <= CLEAR * deviation.value:
        return None, basis
    basis += f"; exceeds {CLEAR * deviation.value:.3f}, 3 √2 times the largest deviation over seeds of such systems"
    error = math.sqrt(2) * deviation.value
    return Inference(effect, error, deviation.degrees, estimate.error, estimate.degrees), basis


def measure(claim: Claim, preset: Preset, groups: Groups) -> Effect | None:
    """The effect of a claim, as the mean over the seeds of each variant, with its interval over items; None if there is
    none, or if it was measured on a single item."""
    if isinstance(claim, Better):
        effect = preset.task(claim.better).compare(claim.metric, groups[claim.better], groups[claim.worse])
    else:
        effect = claim.effect(*(groups[name] for name in claim.variants))
    return effect if effect and effect.estimate.degrees else None


def _few_seeds(claim: Claim, groups: Groups, by_seed: Mapping[int | str, float]) -> str:
    """How many seeds the variants of a claim share, if they do not share two."""
    if all(len(groups[name]) == 1 for name in claim.variants):
        return "one seed"
    return f"{'one' if by_seed else 'no'} shared seed"


def _pretraining(claim: Claim, preset: Preset) -> str:
    """What to add to the number of seeds if the sides start from different pretrained networks or have different
    teachers: there is one of each, so the seeds do not show how much these differ."""
    variants = [variant_named(preset, name) for name in claim.variants]
    pretraining = ", one pretraining" if len({variant.pretrained for variant in variants}) > 1 else ""
    return pretraining + (", one set of teachers" if len({variant.teachers for variant in variants}) > 1 else "")


def effects_by_seed(claim: Claim, preset: Preset, groups: Groups) -> dict[int | str, float]:
    """The effect of each seed that all variants of a claim share; the outcome of a deterministic variant is used for
    every seed."""
    of_variant = [{outcome.seed: outcome for outcome in groups[name]} for name in claim.variants]
    all_seeds = dict.fromkeys(seed for seeds in of_variant for seed in seeds)
    for number, name in enumerate(claim.variants):
        if variant_named(preset, name).deterministic:
            of_variant[number] = dict.fromkeys(all_seeds, groups[name][0])
    shared = [seed for seed in all_seeds if all(seed in seeds for seeds in of_variant)]
    effects: dict[int | str, float] = {}
    for seed in shared:
        single = {name: [seeds[seed]] for name, seeds in zip(claim.variants, of_variant, strict=True)}
        effect = measure(claim, preset, single)
        if effect is not None:
            effects[seed] = effect.estimate.mean
    return effects


def known_deviation(reproduction: Reproduction, claim: Claim, preset: Preset, rows: Sequence[Row]) -> Deviation | None:
    """The largest standard deviation over seeds of the metric that a claim compares, of all systems that have at least
    two seeds and read the same, in this table and in every other published one; if these are too few, of the systems
    of all tasks of the same kind. Trainings that two tables share count once. None for :class:`Measured` claims, and if
    no system has two seeds."""
    if not isinstance(claim, Better):
        return None
    task = preset.task(claim.better)
    metric = claim.metric or task.metrics[0]
    same, kind = _samples(rows, preset, task, metric)
    for name in () if preset.on_sample or preset.own else papers.names():
        path = papers.results_path(name, preset.name)
        if path.exists() and papers.load(name) is not reproduction:
            others = _samples(Result.read(path).rows, papers.load(name).preset(preset.name), task, metric)
            same, kind = same + others[0], kind + others[1]
    same, kind = _distinct(same), _distinct(kind)
    degrees = sum(len(sample) - 1 for sample in same)
    return largest_deviation(same if degrees >= _DEGREES else kind)


def reported_difference(reproduction: Reproduction, claim: Claim, preset: Preset) -> float | None:
    """The effect in the paper: the one that the claim declares, otherwise the difference of the numbers reported next
    to its two systems, positive if it has the direction that the claim states. None if the paper itself does not report
    both numbers in the metric of the claim and on the same corpus."""
    if claim.reported is not None or not isinstance(claim, Better):
        return claim.reported
    better, worse = (variant_named(preset, name).beside for name in claim.variants)
    if better is None or worse is None or better == worse:
        return None
    metric = claim.metric or preset.task(claim.better).metrics[0]
    papers_of = {_author_and_year(source) for source in (better.source, worse.source, reproduction.source)}
    if (
        None in papers_of
        or len(papers_of) > 1
        or better.corpus != worse.corpus
        or {better.metric, worse.metric} != {metric}
    ):
        return None
    difference = better.value - worse.value
    return -difference if lower_is_better(metric) else difference


def _author_and_year(source: str) -> tuple[str, ...] | None:
    """The first author and the year of a source such as ``Cho et al. (2014), Table 1``; None if it names no paper."""
    match = re.match(r"(\w+)[^()]*\((\d{4})", source)
    return match.groups() if match else None


def power(claim: JudgedClaim, effect: float) -> int | None:
    """The number of seeds per variant that would show an effect with a probability of 0.8; None if 100 seeds would not,
    since the test split is too small.

    Raises:
        UsageError: if the deviation over seeds is not known, or if nothing in the systems is random.
    """
    if claim.seed_deviation == 0.0 and len(claim.per_seed) < 2:
        raise UsageError(
            f"claim {claim.id}: its systems have no random part, so seeds do not matter; choose another claim"
        )
    if claim.seed_deviation is None:
        raise UsageError(f"claim {claim.id}: its deviation over seeds is not known; train two seeds or more")
    low, high = claim.ci95_items
    return seeds_needed(effect, claim.seed_deviation, Estimate(claim.effect, low, high).error)


def after_holm(claims: Sequence[JudgedClaim]) -> list[JudgedClaim]:
    """The definite verdicts that do not survive Holm's correction over all judged claims of a paper."""
    tested = [claim for claim in claims if claim.p is not None]
    adjusted = holm([claim.p for claim in tested if claim.p is not None])
    definite = ("supported", "contradicted")
    return [claim for claim, p in zip(tested, adjusted, strict=True) if claim.verdict in definite and p >= 0.05]


def _deviation(by_seed: Mapping[int | str, float], of_task: Deviation | None) -> float | None:
    """The standard deviation of an effect over seeds: computed from its own seeds if there are several, otherwise that
    of a difference of two systems of the task."""
    if len(by_seed) > 1:
        return float(np.std(list(by_seed.values()), ddof=1))
    return None if of_task is None else math.sqrt(2) * of_task.value


def _samples(
    rows: Sequence[Row], preset: Preset, task: Task[Any, Any], metric: str
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Test values by seed of each system whose task reads what ``task`` reads, and of each system of all tasks of its
    kind. If a system has several rows with the metric, the first one is used, which is the one that the table
    compares."""
    same: dict[str, np.ndarray] = {}
    kind: dict[str, np.ndarray] = {}
    for row in rows:
        other = preset.task(row.variant)
        if (row.split, row.metric) == ("test", metric) and other.name == task.name:
            values = np.array(list(row.per_seed.values()))
            kind.setdefault(row.variant, values)
            if other.reads == task.reads:
                same.setdefault(row.variant, values)
    return list(same.values()), list(kind.values())


def _distinct(samples: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Without the samples whose values all are in another one: the same trainings have the same values to the last bit,
    and one table may have more of their seeds."""
    longest_first = sorted(samples, key=len, reverse=True)
    distinct: list[np.ndarray] = []
    for sample in longest_first:
        if not any(np.isin(sample, other).all() for other in distinct):
            distinct.append(sample)
    return distinct
