"""Claims: qualitative statements of a paper, checked by measuring an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gluon_attn.evaluation.statistics import Estimate


@dataclass(frozen=True)
class Effect:
    """A measured effect; positive if it has the direction that the claim states.

    Attributes:
        estimate: the effect and its interval.
        what: what was measured, with its unit.
        items: the items that the bootstrap resamples; empty if the effect is not a mean over items.
        split: the split on which it was measured.
        by_seed: the effect of each seed, if measuring it from the outcomes of that seed alone would measure something
            else, such as another of several differences; None if not.
    """

    estimate: Estimate
    what: str
    items: str
    split: str = "test"
    by_seed: Mapping[int | str, float] | None = None


@dataclass(frozen=True)
class Better:
    """The claim that one variant is better than another of the same task.

    Attributes:
        id: name of the claim on the command line and in results.
        statement: the claim in one sentence.
        better, worse: names of the two variants. The second one may be a published system of another paper, named
            ``paper/variant``, which is then one of the baselines.
        source: where the paper states it.
        metric: metric of the task; its main metric if empty.
        reported: the effect in the paper, if it is not the difference of the numbers ``beside`` the two variants.
        margin: by how much it is better at least, in the unit of the effect; the statement says it. If it is negative,
            the first variant may be worse by as much.
    """

    id: str
    statement: str
    better: str
    worse: str
    source: str = "ours"
    metric: str = ""
    reported: float | None = None
    margin: float = 0.0

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that the claim needs."""
        return (self.better, self.worse)


@dataclass(frozen=True)
class Measured:
    """A claim that measures its effect with its own function.

    Attributes:
        id, statement, source: as in :class:`Better`.
        variants: names of the variants that it needs.
        effect: function of the outcomes of each variant; it returns None if they do not suffice to measure the effect.
        reported: the effect in the paper, measured in the same way.
        margin: what the effect must exceed, in its unit.
    """

    id: str
    statement: str
    source: str
    variants: tuple[str, ...]
    effect: Callable[..., Effect | None]
    reported: float | None = None
    margin: float = 0.0


Claim = Better | Measured
