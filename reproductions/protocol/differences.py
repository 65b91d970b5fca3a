"""Rows of the difference between a variant and the variant that it declares itself to be ``against``."""

from __future__ import annotations

from collections.abc import Sequence

from gluon_attn.evaluation.statistics import Estimate
from reproductions.protocol.claims import Better
from reproductions.protocol.judging import judge
from reproductions.protocol.reproduction import Groups, Preset, Reproduction
from reproductions.protocol.results import Row
from reproductions.protocol.rows import row
from reproductions.protocol.runs import paired
from reproductions.protocol.task import Column

COLUMN = Column("difference [95 % interval]", "difference", signed=True)


def difference_rows(reproduction: Reproduction, preset: Preset, groups: Groups, rows: Sequence[Row]) -> list[Row]:
    """A row for each variant that is against another, if both are trained with two seeds or more that they share: the
    difference in the main metric of their task over these seeds, positive if the variant is better, and its interval as
    for a claim."""
    made = []
    for name, group in groups.items():
        variant = preset.variant(name)
        pairs = paired(group, groups.get(variant.against, ()))
        if len(pairs) < 2:
            continue
        claim = Better(name, f"{name} is better than {variant.against}", name, variant.against)
        own, other = ([pair[side] for pair in pairs] for side in (0, 1))
        difference = judge(reproduction, claim, preset, {name: own, variant.against: other}, rows)
        if difference is None:
            continue
        made.append(
            row(
                own,
                variant,
                split="test",
                metric=COLUMN.metric,
                signature=f"against {variant.against}; {difference.measure}",
                values=list(difference.per_seed.values()),
                ci95=Estimate(difference.effect, *difference.ci95),
            )
        )
    return made
