"""From outcomes to rows, judged claims, figures and pages. Nothing is prepared or built again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gluon_attn.evaluation.statistics import Estimate
from reproductions.protocol.claims import Better, Claim, Effect
from reproductions.protocol.reproduction import Groups, Preset, Reproduction
from reproductions.protocol.results import JudgedClaim, Row
from reproductions.protocol.rows import SAMPLE_WARNING
from reproductions.protocol.runs import Outcome, by_variant


def conclude(
    reproduction: Reproduction, preset: Preset, outcomes: Sequence[Outcome]
) -> tuple[list[Row], list[JudgedClaim]]:
    """Rows for what was trained, and the claims whose variants are all among it."""
    groups = by_variant(outcomes)
    rows: list[Row] = []
    for name, group in groups.items():
        rows += preset.task(name).rows(group, preset.variant(name))
    judged = []
    for claim in reproduction.claims:
        if all(name in groups for name in claim.variants):
            effect = _effect(claim, preset, groups)
            if effect is not None:
                judged.append(judge(claim, effect, on_sample=outcomes[0].on_sample))
    return rows, judged


def _effect(claim: Claim, preset: Preset, groups: Groups) -> Effect | None:
    if isinstance(claim, Better):
        return preset.task(claim.better).compare(claim.metric, groups[claim.better], groups[claim.worse])
    return claim.effect(*(groups[name] for name in claim.variants))


def judge(claim: Claim, effect: Effect, *, on_sample: bool) -> JudgedClaim:
    """The verdict on a claim: supported when the interval of the effect is above zero."""
    estimate = effect.estimate
    interval = (estimate.low, estimate.high)
    measure = _measure(effect) + (f"; {SAMPLE_WARNING}" if on_sample else "")
    return JudgedClaim(claim.id, claim.statement, claim.source, estimate.mean, interval, verdict(estimate), measure)


def verdict(estimate: Estimate) -> str:
    """The verdict on an effect that a claim wants above zero."""
    if estimate.low > 0:
        return "supported"
    return "not supported" if estimate.high < 0 else "inconclusive"


def _measure(effect: Effect) -> str:
    """How an effect was measured, in words."""
    seeds = [len(side) for side in effect.sides]
    if any(outcome.is_ensemble for side in effect.sides for outcome in side):
        trained = ", " + " against ".join(map(_system, effect.sides))
    elif len(seeds) == 2 and seeds[0] != seeds[1]:
        trained = f", means of {seeds[0]} and {seeds[1]} seeds"
    elif len(seeds) == 2:
        trained = ", one seed per variant" if seeds[0] == 1 else f", mean of {seeds[0]} seeds per variant"
    elif len(seeds) == 1:
        trained = ", one seed" if seeds[0] == 1 else f", mean of {seeds[0]} seeds"
    else:
        trained = ""
    paired = "" if len(seeds) == 1 else "paired "
    return f"{effect.split}, {effect.what}, {paired}bootstrap over {effect.items}{trained}"


def _system(side: Sequence[Outcome]) -> str:
    if side[0].is_ensemble:
        return f"ensemble of seeds {side[0].seed}"
    return "one seed" if len(side) == 1 else f"the mean of {len(side)} seeds"


def draw_figures(
    reproduction: Reproduction, preset: Preset, outcomes: Sequence[Outcome], directory: Path
) -> dict[str, Path]:
    """Draw all figures of a paper: training curves by group of tasks, the figures of each task, and the paper's own. Of
    several seeds the first is drawn. PNGs by title."""
    groups = by_variant(outcomes)
    first = {name: group[0] for name, group in groups.items() if not group[0].is_ensemble}
    curves: dict[str, dict[str, Outcome]] = {}
    for name, outcome in first.items():
        curves.setdefault(preset.task(name).group, {})[name] = outcome
    figures: dict[str, Path] = {}
    several = len({preset.task(variant.name).group for variant in preset.variants}) > 1
    for group, members in curves.items():
        title = f"training curves, {group}" if several else "training curves"
        figures[title] = directory / f"training_curves{'_' + _slug(group) if several else ''}.png"
        preset.task(next(iter(members))).training_curves(members, figures[title])
    for name, outcome in first.items():
        figures |= preset.task(name).figures(outcome, preset.variant(name), directory)
    for draw in reproduction.figures:
        figures |= draw(groups, directory)
    return figures


def _slug(text: str) -> str:
    return "_".join(text.replace("-", "").split())


def write_pages(
    reproduction: Reproduction, preset: Preset, outcomes: Sequence[Outcome], directory: Path
) -> dict[str, Path]:
    """Write all that can be read besides tables and figures; of several seeds the first. Files by title."""
    groups = by_variant(outcomes)
    pages: dict[str, Path] = {}
    for name, group in groups.items():
        pages |= preset.task(name).pages(group[0], preset.variant(name), directory)
    for write in reproduction.pages:
        pages |= write(groups, directory)
    return pages


def draw_again(reproduction: Reproduction, preset: Preset, outcomes: Sequence[Outcome], directory: Path) -> None:
    """Draw the figures of a paper into a folder, and remove those that are no longer drawn."""
    drawn = draw_figures(reproduction, preset, outcomes, directory).values()
    for path in sorted(directory.glob("*.png")):
        if path not in drawn:
            path.unlink()
