"""A figure of the effect of each choice: systems that differ from a base system in one choice or in several."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gluon_attn.evaluation.inference import Deviation, Inference, over_seeds, pooled_deviation
from gluon_attn.evaluation.statistics import Estimate
from gluon_attn.plots.forest import Group, forest
from reproductions.protocol.claims import Effect
from reproductions.protocol.reproduction import Draw, Groups
from reproductions.protocol.runs import Outcome, paired


@dataclass(frozen=True)
class Scale:
    """The score by which choices are compared.

    Attributes:
        difference: (outcomes, base outcomes) -> gain over the base, with its interval over test items.
        values: outcomes -> score of each seed.
        unit: unit of both.
    """

    difference: Callable[[Sequence[Outcome], Sequence[Outcome]], Effect]
    values: Callable[[Sequence[Outcome]], list[float]]
    unit: str

    def worth(
        self, outcomes: Sequence[Outcome], base: Sequence[Outcome], deviation: Deviation | None = None
    ) -> Estimate:
        """The gain over the base, with its interval over seeds and items: as in verdicts over the seeds that they
        share, or, if these are fewer than two, over all outcomes of both.

        Args:
            outcomes, base: outcomes of the choice and of the base.
            deviation: standard deviation over seeds of such systems, used with fewer than two shared seeds; without
                it, the interval is over items only.
        """
        pairs = paired(outcomes, base)
        if len(pairs) < 2:
            gain = self.difference(outcomes, base).estimate
            if deviation is None:
                return gain
            seed_error = deviation.value * math.sqrt(1 / len(outcomes) + 1 / len(base))
            inference = Inference(gain.mean, seed_error, deviation.degrees, gain.error, gain.degrees)
        else:
            gain = self.difference(*([pair[side] for pair in pairs] for side in (0, 1))).estimate
            of_seeds = [self.difference([own], [other]).estimate.mean for own, other in pairs]
            inference = replace(over_seeds(np.array(of_seeds), gain.error, gain.degrees), effect=gain.mean)
        return Estimate(gain.mean, *inference.interval())


def worth_of_choices(
    base: str, aspects: Mapping[str, Mapping[str, str]], name: str, scale: Scale, linear: float | None = None
) -> Draw:
    """A figure of the effect of each choice.

    Args:
        base: name of the base variant.
        aspects: for each aspect, the titles of its variants by name.
        name: file name of the figure.
        scale: the score.
        linear: as in :func:`~gluon_attn.plots.forest.forest`.
    """

    def draw(groups: Groups, directory: Path) -> dict[str, Path]:
        if base not in groups:
            return {}
        trained = {
            aspect: {
                title if len(groups[variant]) > 1 else f"{title} (1 seed)": groups[variant]
                for variant, title in titles.items()
                if variant in groups
            }
            for aspect, titles in aspects.items()
        }
        systems = [groups[base], *(outcomes for choices in trained.values() for outcomes in choices.values())]
        deviation = pooled_deviation([np.array(scale.values(outcomes)) for outcomes in systems])
        drawn = []
        for aspect, choices in trained.items():
            effects = [(title, scale.worth(outcomes, groups[base], deviation)) for title, outcomes in choices.items()]
            if effects:
                drawn.append(Group(aspect, [(title, (one.mean, one.low, one.high)) for title, one in effects]))
        if not drawn:
            return {}
        # Of the difference of two means over as many seeds as the base has.
        band = 2 * deviation.value * math.sqrt(2 / len(groups[base])) if deviation else None
        path = directory / f"{name}.png"
        forest(drawn, path, f"{scale.unit} against {base}", band=band, linear=linear)
        return {f"effect of each choice ({base})": path}

    return draw
