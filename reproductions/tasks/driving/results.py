"""Rows, effects and figures from outcomes of driving."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.evaluation.statistics import bootstrap_difference, bootstrap_metric
from gluon_attn.plots.curves import Score, training_curves as draw_training_curves
from gluon_attn.plots.image_attention import Panel, draw as draw_panels
from gluon_attn.plots.time_series import over_time
from reproductions.html.embedded_images import pixels_of
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.results import Row
from reproductions.protocol.rows import alone, bootstrapped_row, validation_row
from reproductions.protocol.runs import SAMPLE, Outcome
from reproductions.protocol.task import Column, Variant

TURN = 2.0
"""Minimum absolute target, in degrees, of a frame in a turn."""

PIECES = "pieces of about 80 frames"
"""What the bootstrap draws: about four items of 20 frames of one test block, since the errors of neighbouring items are
alike."""

ALL, TURNS = "all frames", f"turns of {TURN:g} degrees or more"
OTHER_ALL, OTHER_TURNS = "the other road, all", f"the other road, turns of {TURN:g} degrees or more"
COLUMNS = (
    Column("error, degrees", "error", ALL),
    Column("in turns", "error", TURNS),
    Column("another road", "error", OTHER_ALL),
)
NOTES = (
    "Errors are mean absolute errors of the smoothed steering in degrees, over all test blocks; turns are frames with "
    f"a target of {TURN:g} degrees or more. Intervals resample pieces of about 80 frames of one block (8 s on the "
    "lake, 6 s on the other road), because neighbouring frames are similar. Those of the lake, which has few pieces, "
    "are widened to intervals of a t distribution, and are still rough: the test split has four blocks. Both rules "
    "were added after the test split was read. The other road is a drive on the simulator's other track, steered by "
    "keyboard, which was not used to train or select any network. Both drives are from a simulator instead of the "
    "paper's roads: errors are not comparable with the paper's, only the direction of differences is.",
)


def error(arrays: Mapping[str, np.ndarray], prefix: str = "") -> float:
    """Mean absolute error in degrees of the arrays of one outcome."""
    return float(np.abs(arrays[f"{prefix}degrees"].astype(np.float64) - arrays[f"{prefix}target"]).mean())


def errors(arrays: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Mean absolute errors of the arrays of one outcome, on its own road and on the other road, if there is one."""
    return {"error": error(arrays)} | ({"other error": error(arrays, "other_")} if "other_degrees" in arrays else {})


def totals(outcome: Outcome, prefix: str = "", *, turns: bool = False) -> np.ndarray:
    """Return for each test item (items, 3) the sum of absolute errors, the number of frames, and the sum of absolute
    targets, which are the errors of "always 0"; with ``turns``, only for frames in turns."""
    degrees, target = (outcome.predictions[f"{prefix}{name}"].astype(np.float64) for name in ("degrees", "target"))
    counted = (np.abs(target) >= TURN).astype(float) if turns else np.ones(len(target))
    item = outcome.predictions[f"{prefix}item"]
    values = (np.abs(degrees - target) * counted, counted, np.abs(target) * counted)
    return np.stack([np.bincount(item, value) for value in values], axis=1)


def _each(outcomes: Sequence[Outcome], prefix: str = "", *, turns: bool = False) -> np.ndarray:
    """Return the totals of each seed and piece, (seeds, pieces, 3)."""
    of_items = [totals(outcome, prefix, turns=turns) for outcome in outcomes]
    return in_pieces(of_items, block_ends(outcomes[0].predictions, prefix))


def block_ends(arrays: Mapping[str, np.ndarray], prefix: str = "") -> np.ndarray:
    """The item after the last one of each test block, from the arrays of one outcome. Outcomes from before there was
    an array ``block`` are of drives where the last item of each block has fewer frames than the others."""
    item = arrays[f"{prefix}item"]
    if f"{prefix}block" in arrays:
        last_frames = np.append(np.flatnonzero(np.diff(arrays[f"{prefix}block"])), len(item) - 1)
        return np.asarray(item[last_frames] + 1)
    sizes = np.bincount(item)
    return np.flatnonzero((sizes != sizes.max()) | (np.arange(len(sizes)) == len(sizes) - 1)) + 1


def in_pieces(of_items: Sequence[np.ndarray], ends: np.ndarray, length: int = 4, fewest: int = 8) -> np.ndarray:
    """Sums over pieces of about ``length`` consecutive items of one test block, which are shorter where there would be
    fewer than ``fewest`` pieces.

    Args:
        of_items: for each seed (items, counts).
        ends: the item after the last one of each block, (blocks,).

    Returns:
        (seeds, pieces, counts).
    """
    blocks = np.split(np.arange(ends[-1]), ends[:-1])
    least = -(-fewest // len(blocks))
    counts = [min(len(block), max(least, round(len(block) / length))) for block in blocks]
    starts = [piece[0] for block, count in zip(blocks, counts, strict=True) for piece in np.array_split(block, count)]
    sums: np.ndarray = np.add.reduceat(np.stack(of_items), starts, axis=1)
    return sums


def mean_error(sums: np.ndarray) -> float:
    """Mean error from sums (3,) of :func:`totals`; 0 without frames, since some resamples have no turns."""
    return float(sums[0] / sums[1]) if sums[1] else 0.0


def ratio(sums: np.ndarray) -> float:
    """The error divided by that of "always 0"."""
    return float(sums[0] / sums[2]) if sums[2] else 0.0


def rows(outcomes: Sequence[Outcome], variant: Variant[Any], other: str) -> list[Row]:
    """Return the errors on test, in all frames and in turns, on both roads, with bootstrap intervals over pieces, and
    the validation error that selected the epoch, with the range over seeds. Without turns in the test blocks, there is
    no row of turns."""
    made: list[Row] = []
    has_turns = bool(_each(outcomes, turns=True)[..., 1].any())
    for prefix, turns, signature in (
        ("", False, ALL),
        ("", True, TURNS),
        ("other_", False, OTHER_ALL),
        ("other_", True, OTHER_TURNS),
    ):
        if f"{prefix}degrees" not in outcomes[0].predictions:
            continue
        each = _each(outcomes, prefix, turns=turns)
        if turns and not (has_turns and each[..., 1].any()):
            continue
        one = bootstrapped_row(outcomes, variant, each, mean_error, metric="error", signature=signature)
        if signature != ALL:
            one = alone(one)
        if prefix and one.corpus != SAMPLE:
            one = replace(one, corpus=other)
        made.append(one)
    return [*made, validation_row(outcomes, variant, "error")]


def compare(better: Sequence[Outcome], worse: Sequence[Outcome]) -> Effect:
    """Reduction of the error in degrees on the first side; paired bootstrap over pieces."""
    estimate = bootstrap_difference(_each(worse), _each(better), mean_error, seed=0)
    return Effect(estimate, "by how many degrees the error is lower", PIECES)


def not_worse(margin: float) -> Callable[..., Effect]:
    """Return the effect of the claim that the error of the first side exceeds that of the second by at most ``margin``
    times the error of "always 0"; positive if it exceeds it by less."""

    def effect(first: Sequence[Outcome], second: Sequence[Outcome]) -> Effect:
        own, others = _each(first), _each(second)
        # Error plus margin of one system as sums, so that all three are resampled together.
        allowed = others.copy()
        allowed[..., 0] += margin * others[..., 2]
        what = f"degrees that remain of a margin of {margin:.0%} of the error of always 0"
        return Effect(bootstrap_difference(allowed, own, mean_error, seed=0), what, PIECES)

    return effect


def at_most(part: float, *, other: bool = False) -> Callable[..., Effect | None]:
    """Return the effect of the claim that the error is at most ``part`` of that of "always 0": the difference of the
    ratios; None without that road, and where it is straight, so that "always 0" has no error."""

    def effect(outcomes: Sequence[Outcome]) -> Effect | None:
        if other and "other_degrees" not in outcomes[0].predictions:
            return None
        each = _each(outcomes, "other_" if other else "")
        if not each[..., 2].any():
            return None
        estimate = bootstrap_metric(each, lambda sums: part - ratio(sums), seed=0)
        where = ", on the other road" if other else ""
        return Effect(estimate, f"{part:.2f} minus error / error of always 0{where}", PIECES)

    return effect


def _regions(outcome: Outcome) -> tuple[np.ndarray, np.ndarray, int]:
    """Return, for an outcome with attention, which regions are kept (regions,), their items, and the number of
    items."""
    arrays = outcome.predictions
    return arrays["region_effect"] >= arrays["least_effect"][0], arrays["region_item"], int(arrays["item"].max()) + 1


def without_effect(outcomes: Sequence[Outcome]) -> Effect | None:
    """Percentage of the regions that causal filtering removes; None if there are no regions."""
    each = []
    for outcome in outcomes:
        kept, item, count = _regions(outcome)
        each.append(np.stack([np.bincount(item, value, count) for value in (~kept, np.ones(len(kept)))], axis=1))
    sums = in_pieces(each, block_ends(outcomes[0].predictions))
    if not sums[:, :, 1].sum(axis=1).all():
        return None
    least = float(outcomes[0].predictions["least_effect"][0])

    def share(total: np.ndarray) -> float:
        return float(100 * total[0] / total[1]) if total[1] else 0.0

    what = f"percentage of regions whose masking changes the steering by less than {least:g} degrees"
    return Effect(bootstrap_metric(sums, share, seed=0), what, PIECES)


def nearer_edges(outcomes: Sequence[Outcome]) -> Effect | None:
    """Number of pixels by which kept regions are nearer to the edges of the road than removed ones; None if all regions
    are kept or all removed."""
    each = []
    for outcome in outcomes:
        kept, item, count = _regions(outcome)
        distance = outcome.predictions["region_distance"].astype(np.float64)
        known = np.isfinite(distance)
        columns = [side * known * value for side in (kept, ~kept) for value in (np.nan_to_num(distance), 1.0)]
        each.append(np.stack([np.bincount(item, column, count) for column in columns], axis=1))
    sums = in_pieces(each, block_ends(outcomes[0].predictions))
    if not (sums[:, :, 1].sum(axis=1).all() and sums[:, :, 3].sum(axis=1).all()):
        return None

    def nearer(total: np.ndarray) -> float:
        return float(total[2] / total[3] - total[0] / total[1]) if total[1] and total[3] else 0.0

    what = "pixels by which kept regions are nearer to an edge of the road than removed ones"
    return Effect(bootstrap_metric(sums, nearer, seed=0), what, PIECES)


def training_curves(outcomes: Mapping[str, Outcome], path: Path) -> None:
    """Draw loss and validation error."""
    curves = {name: outcome.record["history"] for name, outcome in outcomes.items()}
    draw_training_curves(
        curves,
        path,
        score=Score("error", "error", " degrees"),
        loss_label="error",
        loss_unit="degrees",
        loss_per="frame",
        train_label="train, with the penalty",
    )


def steering_over_time(*variants: str) -> Draw:
    """Draw the steering in the test blocks: the driver's, and that of the first seed of these variants."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        shown = {name: groups[name][0].predictions for name in variants if name in groups}
        if not shown:
            return {}
        first = next(iter(shown.values()))
        frames = np.cumsum(np.bincount(first["item"]))[block_ends(first) - 1]
        parts = np.split(np.arange(len(first["item"])), frames[:-1])
        path = directory / "steering_over_time.png"
        systems = {name: arrays["degrees"] for name, arrays in shown.items()}
        names = {"step_name": "frame", "label": "degrees", "truth_name": "driver", "part_name": "test block"}
        over_time(first["target"], systems, parts, path, **names)
        return {"steering over time": path}

    return draw


def attended_frames(variant: str) -> Draw:
    """Draw some test frames: unchanged, with the attention, and with the attention that causal filtering keeps."""

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        examples = groups[variant][0].examples if variant in groups else {}
        frames = examples.get("frames", ())
        if not frames:
            return {}
        shape = tuple(examples["grid"])
        images = [pixels_of(frame["jpeg"]) for frame in frames]
        panels = []
        for what in ("", "weights", "kept"):
            for frame, image in zip(frames, images, strict=True):
                weights = np.array(frame[what]).reshape(shape) if what else None
                titles = {
                    "": f"driver {frame['target']:+.1f}°, network {frame['degrees']:+.1f}°",
                    "weights": "attention",
                    "kept": "kept" if weights is not None and weights.any() else "nothing kept",
                }
                panels.append(Panel(image, weights, titles[what]))
        path = directory / f"attention_{variant}.png"
        draw_panels(panels, path, f"{variant}: turns of the test blocks", columns=len(frames))
        return {f"attention of {variant} and what causal filtering keeps": path}

    return draw
