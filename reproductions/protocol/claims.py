"""Claims: qualitative statements of a paper as checks that measure an effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gluon_attn.evaluation.statistics import Estimate


@dataclass(frozen=True)
class Effect:
    """A measured effect; positive when it is as the claim states.

    Attributes:
        estimate: the effect and its interval.
        what: what was measured, with its unit.
        items: what the bootstrap resamples.
        split: on which it was measured.
    """

    estimate: Estimate
    what: str
    items: str
    split: str = "test"


@dataclass(frozen=True)
class Better:
    """The claim that one variant is better than another of the same task.

    Attributes:
        id: names the claim on the command line and in results.
        statement: one sentence.
        better, worse: names of variants.
        source: where the paper states it.
        metric: of the task; its main metric if empty.
        reported: the effect in the paper, where it is not the difference of what is ``beside`` the two variants.
    """

    id: str
    statement: str
    better: str
    worse: str
    source: str = "ours"
    metric: str = ""
    reported: float | None = None

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that the claim needs."""
        return (self.better, self.worse)


@dataclass(frozen=True)
class Measured:
    """A claim with an effect of its own.

    Attributes:
        id, statement, source: as of :class:`Better`.
        variants: names of the variants that it needs.
        effect: called with the outcomes of each of them; None where they do not allow to measure it.
        reported: the effect in the paper, measured in the same way there.
    """

    id: str
    statement: str
    source: str
    variants: tuple[str, ...]
    effect: Callable[..., Effect | None]
    reported: float | None = None


Claim = Better | Measured
