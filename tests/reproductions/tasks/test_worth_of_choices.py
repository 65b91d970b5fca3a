"""What a choice is worth: over the seeds that both sides have, with the band of a difference of two means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.evaluation.inference import Deviation, over_seeds
from gluon_attn.evaluation.statistics import bootstrap
from reproductions.protocol.claims import Effect
from reproductions.protocol.runs import Outcome
from reproductions.tasks import worth_of_choices as worth
from tests.reproductions.support import outcome


def right(outcomes: Sequence[Outcome]) -> np.ndarray:
    return np.mean([100.0 * one.predictions["right"] for one in outcomes], axis=0)


SCALE = worth.Scale(
    lambda better, worse: Effect(bootstrap(right(better) - right(worse), seed=0), "points", "items"),
    lambda outcomes: [float(right([one]).mean()) for one in outcomes],
    "points",
)


def system(folder: Path, name: str, **shares: float) -> list[Outcome]:
    return [
        outcome(folder, name, int(seed[1:]), {"right": np.arange(200) < 200 * share}) for seed, share in shares.items()
    ]


def test_a_choice_is_worth_what_the_seeds_that_both_have_gain(tmp_path: Path) -> None:
    base = system(tmp_path, "base", s1=0.50, s2=0.52, s4=0.10)
    own = system(tmp_path, "own", s1=0.60, s2=0.66, s3=0.95)
    gain = SCALE.worth(own, base)
    items = bootstrap(right(own[:2]) - right(base[:2]), seed=0)
    half = over_seeds(np.array([10.0, 14.0]), items.error).half()
    assert (gain.mean, gain.low, gain.high) == pytest.approx((12.0, 12.0 - half, 12.0 + half))
    alone = SCALE.worth(own[2:], base)
    assert alone.mean == pytest.approx(95.0 - (50 + 52 + 10) / 3)


def test_a_single_seed_has_the_deviation_of_such_systems(tmp_path: Path) -> None:
    """Its interval is wider than over items alone: of a difference of one training and the mean of two."""
    base, own = system(tmp_path, "base", s1=0.50, s2=0.52), system(tmp_path, "own", s1=0.60)
    items = SCALE.worth(own, base)
    gain = SCALE.worth(own, base, Deviation(1.5, 4))
    t, z = 2.776445, 1.959964  # quantiles of Student's t with 4 degrees of freedom and of the normal distribution
    half = np.hypot(t * 1.5 * np.sqrt(1 + 1 / 2), z * items.error)
    assert (gain.mean, gain.low, gain.high) == pytest.approx((9.0, 9.0 - half, 9.0 + half), rel=1e-5)


def test_the_band_is_that_of_a_difference_of_two_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two standard errors; of the difference of means over as many seeds as the base has."""
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(
        worth, "forest", lambda groups, path, title, band, linear: drawn.update(band=band, groups=groups, linear=linear)
    )
    base, own = system(tmp_path, "base", s1=0.49, s2=0.50, s3=0.51), system(tmp_path, "own", s1=0.60, s2=0.61, s3=0.62)
    draw = worth.worth_of_choices(
        "base", {"an aspect": {"own": "a title", "none": "not trained"}}, "figure", SCALE, linear=3.0
    )
    assert list(draw({"base": base, "own": own}, tmp_path)) == ["effect of each choice (base)"]
    assert drawn["linear"] == 3.0
    assert drawn["band"] == pytest.approx(2 * 1.0 * np.sqrt(2 / 3))
    (group,) = drawn["groups"]
    ((title, (gain, *_)),) = group.effects
    assert (group.title, title, gain) == ("an aspect", "a title", pytest.approx(11.0))
    assert list(draw({"base": base, "own": own[:1]}, tmp_path))
    (((title, (_, low, high)),),) = (group.effects for group in drawn["groups"])
    assert title == "a title (1 seed)"
    alone = SCALE.worth(own[:1], base, Deviation(1.0, 2))
    assert (low, high) == pytest.approx((alone.low, alone.high))
    assert draw({"own": own}, tmp_path) == {} and draw({"base": base}, tmp_path) == {}
