"""Minutes to a validation BLEU: epochs, at the pace of the trainings of the seed with the fewest minutes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reproductions.protocol.runs import Outcome
from reproductions.tasks.translation import minutes
from reproductions.tasks.translation.minutes import bleu_by_minutes, minutes_gained, pace
from tests.reproductions.translating import translated


def trained(folder: Path, variant: str, seed: int, epoch: float, bleu: Sequence[float]) -> Outcome:
    """A made-up outcome with ``epoch`` minutes per epoch and these validation BLEU."""
    history = [{"cpu_seconds": 60 * epoch * number, "validation_bleu": each} for number, each in enumerate(bleu, 1)]
    return translated(folder, variant, 0.9, seed=seed, history=history)


def test_the_pace_is_that_of_the_seed_with_the_fewest_minutes(tmp_path: Path) -> None:
    """Of both sides together, since only one of them may have been disturbed."""
    slow = [trained(tmp_path, "rnnsearch", seed, minute, (1, 2, 3)) for seed, minute in ((1, 9.0), (2, 5.0), (3, 1.0))]
    fast = [trained(tmp_path, "transformer", seed, minute, (1, 2)) for seed, minute in ((1, 2.0), (2, 4.0))]
    assert pace((fast, slow)) == (2, pytest.approx([4.0, 5.0]))
    assert pace((fast[:1], slow[1:])) is None


def test_minutes_are_those_to_the_best_bleu_of_the_other_variant(tmp_path: Path) -> None:
    slow = [trained(tmp_path, "rnnsearch", seed, 10.0 * seed, (20, 30, 29)) for seed in (1, 2)]
    fast = [trained(tmp_path, "transformer", 1, 6.0, (25, 30, 35)), trained(tmp_path, "transformer", 2, 9.0, (30, 31))]
    effect = minutes_gained(fast, slow)
    assert effect is not None and effect.by_seed == {1: pytest.approx(2 * 10 - 2 * 6), 2: pytest.approx(2 * 10 - 6)}
    assert effect.estimate.mean == pytest.approx((8 + 14) / 2) and effect.what.endswith("per epoch of seed 1")
    assert minutes_gained([trained(tmp_path, "transformer", 3, 6.0, (25,))], slow) is None  # no common seed


def test_a_training_that_never_reaches_that_bleu_saves_nothing(tmp_path: Path) -> None:
    slow = [trained(tmp_path, "rnnsearch", seed, 10.0, (20, 30)) for seed in (1, 2)]
    fast = [trained(tmp_path, "transformer", 1, 15.0, (30,)), trained(tmp_path, "transformer", 2, 16.0, (28, 29))]
    effect = minutes_gained(fast, slow)
    assert effect is not None and effect.by_seed == {1: pytest.approx(5.0), 2: pytest.approx(20.0 - 30.0)}
    shorter = minutes_gained([trained(tmp_path, "transformer", seed, 6.0, (25,)) for seed in (1, 2)], slow)
    assert shorter is not None and shorter.estimate.mean == 0.0


def test_the_figure_has_a_line_for_each_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(minutes, "score_by_minutes", lambda curves, *_: drawn.update(curves))
    outcomes = [trained(tmp_path, "forward", seed, minute, (10, 20)) for seed, minute in ((1, 3.0), (2, 1.5))]
    paths = bleu_by_minutes("forward", "not trained")({"forward": outcomes}, tmp_path)
    assert [path.name for path in paths.values()] == ["bleu_by_minutes.png"]
    assert drawn == {"forward": [[(1.5, 10), (3.0, 20)]] * 2}
    assert bleu_by_minutes("not trained")({}, tmp_path) == {}
