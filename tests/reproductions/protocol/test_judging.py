"""Verdicts on claims, from seeds and items."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import bootstrap
from reproductions.protocol import papers
from reproductions.protocol.claims import Better, Effect, Measured
from reproductions.protocol.conclude import conclude
from reproductions.protocol.judging import after_holm, judge, known_deviation, power, reported_difference
from reproductions.protocol.own_data import OwnData
from reproductions.protocol.reported import Reported, Table
from reproductions.protocol.reproduction import Preset, Reproduction
from reproductions.protocol.results import JudgedClaim, Result, Row
from reproductions.protocol.runs import Outcome
from tests.reproductions.protocol.tabulated import CPU as TABULATED, row
from tests.reproductions.support import judged, outcome
from tests.reproductions.toy import REPRODUCTION

CPU = REPRODUCTION.preset("cpu")
BETTER = Better("bend", "A hidden layer is better than none", "curved", "straight", source="sec. 1")
ITEMS = 400


@pytest.fixture(autouse=True)
def no_other_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers, "names", tuple)


def publish(paper: Reproduction, rows: list[Row], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this the only published table."""
    Result("published", "cpu", rows, [], {}).write(folder / "published.json")
    monkeypatch.setattr(papers, "names", lambda: ("published",))
    monkeypatch.setattr(papers, "load", lambda name: paper)
    monkeypatch.setattr(papers, "results_path", lambda name, preset: folder / "published.json")


def finished(folder: Path, variant: str, seed: int | str, right: float, **record: Any) -> Outcome:
    """A made-up outcome of points of which this share is right, the same for every seed and variant."""
    return outcome(folder, variant, seed, {"right": np.arange(ITEMS) < ITEMS * right}, **record)


def verdict(folder: Path, *, curved: tuple[float, ...], straight: tuple[float, ...], **changes: Any) -> JudgedClaim:
    """The verdict on the claim that ``curved`` is better, from the accuracy of each seed of both."""
    paper = replace(REPRODUCTION, claims=(replace(BETTER, **changes),))
    outcomes = [
        finished(folder, name, seed, right)
        for name, accuracies in (("curved", curved), ("straight", straight))
        for seed, right in enumerate(accuracies, start=1)
    ]
    (claim,) = conclude(paper, CPU, outcomes)[1]
    return claim


def test_a_clear_effect_over_three_seeds_is_supported(tmp_path: Path) -> None:
    claim = verdict(tmp_path, curved=(0.90, 0.91, 0.92), straight=(0.70, 0.72, 0.71))
    assert claim.verdict == "supported" and claim.basis == "3 seeds"
    assert list(claim.per_seed) == ["1", "2", "3"]
    assert list(claim.per_seed.values()) == pytest.approx([20, 19, 21])
    assert claim.effect == pytest.approx(20)
    assert claim.seed_deviation == pytest.approx(1.0) and claim.p is not None and claim.p < 0.01


def test_the_interval_over_both_is_the_wider_one(tmp_path: Path) -> None:
    claim = verdict(tmp_path, curved=(0.90, 0.91, 0.92), straight=(0.70, 0.72, 0.71))
    assert claim.ci95_seeds is not None
    half, of_items, of_seeds = ((high - low) / 2 for low, high in (claim.ci95, claim.ci95_items, claim.ci95_seeds))
    assert half == pytest.approx(np.hypot(of_items, of_seeds), rel=0.01)


def test_clear_over_items_but_varying_over_seeds_is_inconclusive(tmp_path: Path) -> None:
    claim = verdict(tmp_path, curved=(0.90, 0.74), straight=(0.74, 0.75))
    assert claim.ci95_items[0] > 0 and claim.verdict == "inconclusive"


def test_a_negative_effect_is_contradicted(tmp_path: Path) -> None:
    claim = verdict(tmp_path, curved=(0.70, 0.72, 0.71), straight=(0.90, 0.91, 0.92))
    assert claim.verdict == "contradicted" and claim.effect < 0


@pytest.mark.parametrize(("margin", "expected"), [(5.0, "supported"), (19.0, "inconclusive"), (35.0, "contradicted")])
def test_a_margin_is_what_the_effect_must_exceed(margin: float, expected: str, tmp_path: Path) -> None:
    """The effect itself and its interval stay those of the difference."""
    accuracies: Any = {"curved": (0.90, 0.91, 0.92), "straight": (0.70, 0.72, 0.71)}
    plain, claim = verdict(tmp_path, **accuracies), verdict(tmp_path, **accuracies, margin=margin)
    assert claim.verdict == expected
    assert claim.effect == plain.effect and claim.per_seed == plain.per_seed
    assert claim.ci95 == pytest.approx(plain.ci95) and claim.ci95_seeds == pytest.approx(plain.ci95_seeds)
    assert claim.p is not None and (claim.p < 0.05) == (expected != "inconclusive")


def test_one_seed_must_exceed_the_margin_too(tmp_path: Path) -> None:
    """By 4.2 times the deviation of 2 points, which ``pretrained`` has; an effect of 20 points is 5 over this one."""
    outcomes = [finished(tmp_path, name, 1, right) for name, right in (("curved", 0.9), ("straight", 0.7))]
    outcomes += [finished(tmp_path, "pretrained", seed, right) for seed, right in ((1, 0.48), (2, 0.50), (3, 0.52))]
    paper = replace(REPRODUCTION, claims=(BETTER, replace(BETTER, id="much", margin=15.0)))
    assert [claim.verdict for claim in conclude(paper, CPU, outcomes)[1]] == ["supported", "not judged"]


def test_one_seed_per_variant_is_not_judged(tmp_path: Path) -> None:
    claim = verdict(tmp_path, curved=(0.90,), straight=(0.70,))
    assert claim.verdict == "not judged" and claim.basis == "one seed"
    assert claim.ci95 == claim.ci95_items and claim.ci95_seeds is None and claim.p is None


def test_seeds_of_one_side_only_are_not_paired(tmp_path: Path) -> None:
    claim = verdict(tmp_path, curved=(0.90, 0.91), straight=(0.70,))
    assert list(claim.per_seed) == ["1"] and claim.basis.startswith("one shared seed; exceeds")


def test_sides_without_a_seed_in_common_say_so(tmp_path: Path) -> None:
    outcomes = [finished(tmp_path, "curved", seed, 0.9) for seed in (1, 2)]
    outcomes += [finished(tmp_path, "straight", seed, 0.7) for seed in (3, 4)]
    (claim,) = conclude(replace(REPRODUCTION, claims=(BETTER,)), CPU, outcomes)[1]
    assert claim.per_seed == {} and claim.basis.startswith("no shared seed")


def test_an_effect_may_state_its_seeds_itself(tmp_path: Path) -> None:
    """Instead of being measured from the outcomes of each seed."""

    def effect(outcomes: Any) -> Effect:
        return Effect(bootstrap(np.full(ITEMS, 2.0), seed=0), "points", "points", by_seed={1: 3.0, 2: 1.0})

    paper = replace(REPRODUCTION, claims=(Measured("own", "Its own seeds", "ours", ("curved",), effect),))
    outcomes = [finished(tmp_path, "curved", seed, 0.9) for seed in (1, 2, 3)]
    (claim,) = conclude(paper, CPU, outcomes)[1]
    assert claim.per_seed == {"1": 3.0, "2": 1.0} and claim.basis == "2 seeds"


def test_the_interval_of_one_seed_has_the_deviation_of_the_task_and_its_degrees(tmp_path: Path) -> None:
    """Of a difference of two systems, with the t quantile of the degrees of freedom from which it is known."""
    outcomes = [finished(tmp_path, name, 1, right) for name, right in (("curved", 0.9), ("straight", 0.7))]
    outcomes += [finished(tmp_path, "pretrained", seed, right) for seed, right in ((1, 0.40), (2, 0.42), (3, 0.44))]
    (claim,) = conclude(replace(REPRODUCTION, claims=(BETTER,)), CPU, outcomes)[1]
    assert claim.ci95_seeds is not None and claim.p is not None and claim.p < 0.05
    of_seeds = 4.302653 * np.sqrt(2) * 2.0  # t of two degrees, and a deviation of 2 points
    of_items = (claim.ci95_items[1] - claim.ci95_items[0]) / 2
    assert claim.ci95_seeds == pytest.approx((20 - of_seeds, 20 + of_seeds))
    assert claim.ci95[1] - claim.ci95[0] == pytest.approx(2 * np.hypot(of_seeds, of_items), rel=1e-3)


def test_the_effect_is_of_all_seeds_and_its_interval_of_those_that_both_sides_have(tmp_path: Path) -> None:
    claim = verdict(tmp_path, curved=(0.90, 0.91, 0.92), straight=(0.70, 0.72))
    assert claim.effect == pytest.approx(20) == sum(claim.ci95) / 2
    assert list(claim.per_seed.values()) == pytest.approx([20, 19]) and claim.basis == "2 seeds"


@pytest.mark.parametrize(("points", "expected"), [(6, "inconclusive"), (7, "not judged")])
def test_one_seed_is_judged_from_three_deviations_of_a_difference_on(
    points: int, expected: str, tmp_path: Path
) -> None:
    """Two seeds that differ by d have a deviation of d / sqrt(2), so that the effect of 20 must exceed 3 d. With one
    degree of freedom its interval is still wide."""
    outcomes = [finished(tmp_path, name, 1, right) for name, right in (("curved", 0.9), ("straight", 0.7))]
    outcomes += [finished(tmp_path, "pretrained", 1, 0.4), finished(tmp_path, "pretrained", 2, 0.4 + points / 100)]
    (claim,) = conclude(replace(REPRODUCTION, claims=(BETTER,)), CPU, outcomes)[1]
    assert claim.verdict == expected


@pytest.mark.parametrize(("deviation", "expected"), [(0.5, "supported"), (8.0, "not judged")])
def test_one_seed_is_judged_when_the_effect_dwarfs_the_deviation_of_the_task(
    deviation: float, expected: str, tmp_path: Path
) -> None:
    """``pretrained`` has two seeds, from which the deviation is known: the effect of 20 must exceed it 4.2 times."""
    spread = deviation / 100 / np.sqrt(2)
    paper = replace(REPRODUCTION, claims=(BETTER,))
    outcomes = [finished(tmp_path, name, 1, right) for name, right in (("curved", 0.9), ("straight", 0.7))]
    outcomes += [finished(tmp_path, "pretrained", seed, 0.5 + sign * spread) for seed, sign in ((1, 1), (2, -1))]
    (claim,) = conclude(paper, CPU, outcomes)[1]
    assert claim.verdict == expected
    assert ("deviation over seeds of such systems" in claim.basis) == (expected == "supported")
    assert claim.seed_deviation == pytest.approx(np.sqrt(2) * deviation, rel=0.1)


@pytest.mark.parametrize(("pairs", "expected"), [(1, "not judged"), (3, "supported")])
def test_with_few_seeds_the_deviation_is_that_of_all_tasks_of_the_same_kind(
    pairs: int, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task itself has a deviation of 0.5 points from ``pairs`` pairs of seeds, another task one of 40."""
    other = replace(REPRODUCTION, task=replace(REPRODUCTION.task, corpus="imdb"))
    outcomes = [finished(tmp_path / "other", "pretrained", seed, right) for seed, right in ((1, 0.2), (2, 0.8))]
    rows, _ = conclude(other, CPU, outcomes)
    publish(other, rows, tmp_path, monkeypatch)
    outcomes = [finished(tmp_path, name, 1, right) for name, right in (("curved", 0.9), ("straight", 0.7))]
    spread = [0.5 + sign * 0.005 / np.sqrt(2) for sign in (1, -1)] * pairs
    extra = replace(CPU.variant("pretrained"), seeds=tuple(range(1, 2 * pairs + 1)))
    outcomes += [finished(tmp_path, extra.name, seed, right) for seed, right in enumerate(spread, start=1)]
    (claim,) = conclude(replace(REPRODUCTION, claims=(BETTER,)), CPU, outcomes)[1]
    assert claim.verdict == expected


def test_the_deviation_of_other_published_tables_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(REPRODUCTION, title="another")
    outcomes = [finished(tmp_path, "pretrained", seed, right) for seed, right in ((1, 0.50), (2, 0.51))]
    rows, _ = conclude(other, CPU, outcomes)
    alone = verdict(tmp_path / "alone", curved=(0.9,), straight=(0.7,))
    publish(other, rows, tmp_path, monkeypatch)
    together = verdict(tmp_path / "together", curved=(0.9,), straight=(0.7,))
    assert (alone.verdict, together.verdict) == ("not judged", "supported")


@pytest.mark.parametrize(("most", "expected"), [(0.52, "supported"), (0.70, "not judged")])
def test_the_system_that_varies_most_decides(
    most: float, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little the others vary: here many seeds of another system have a deviation of half a point."""
    other = replace(REPRODUCTION, title="another")
    outcomes = [finished(tmp_path / "other", "pretrained", seed, right) for seed, right in ((1, 0.50), (2, most))]
    rows, _ = conclude(other, CPU, outcomes)
    publish(other, rows, tmp_path, monkeypatch)
    outcomes = [finished(tmp_path, name, 1, right) for name, right in (("curved", 0.9), ("straight", 0.7))]
    outcomes += [finished(tmp_path, "pretrained", seed, 0.5 + seed % 2 / 100) for seed in range(1, 13)]
    (claim,) = conclude(replace(REPRODUCTION, claims=(BETTER,)), CPU, outcomes)[1]
    assert claim.verdict == expected


def without_random_part(*names: str) -> Preset:
    variants = (replace(variant, deterministic=variant.name in names) for variant in CPU.variants)
    return replace(CPU, variants=tuple(variants))


def test_a_deterministic_variant_is_compared_with_every_seed_of_another(tmp_path: Path) -> None:
    paper = replace(REPRODUCTION, claims=(BETTER,))
    outcomes = [finished(tmp_path, "curved", seed, right) for seed, right in ((1, 0.90), (2, 0.91), (3, 0.92))]
    outcomes.append(finished(tmp_path, "straight", 1, 0.70))
    (claim,) = conclude(paper, without_random_part("straight"), outcomes)[1]
    assert list(claim.per_seed.values()) == pytest.approx([20, 21, 22])
    assert (claim.verdict, claim.basis) == ("supported", "3 seeds")
    (unmarked,) = conclude(paper, CPU, outcomes)[1]
    assert list(unmarked.per_seed) == ["1"]


def test_two_deterministic_variants_are_judged_by_items(tmp_path: Path) -> None:
    paper = replace(REPRODUCTION, claims=(BETTER,))
    outcomes = [finished(tmp_path, "curved", 1, 0.8), finished(tmp_path, "straight", 1, 0.7)]
    (claim,) = conclude(paper, without_random_part("straight", "curved"), outcomes)[1]
    assert (claim.verdict, claim.ci95) == ("supported", claim.ci95_items)
    assert claim.basis == "no random part; interval over items" and claim.seed_deviation == 0
    # Of the normal distribution, so that Holm's correction includes the claim.
    error = (claim.ci95_items[1] - claim.ci95_items[0]) / (2 * 1.959964)
    assert claim.p == pytest.approx(math.erfc(claim.effect / error / math.sqrt(2)), rel=1e-6)
    (one_side,) = conclude(paper, without_random_part("straight"), outcomes)[1]
    assert one_side.verdict == "not judged"
    beyond = replace(REPRODUCTION, claims=(replace(BETTER, margin=9.0),))
    (by_margin,) = conclude(beyond, without_random_part("straight", "curved"), outcomes)[1]
    assert (by_margin.verdict, by_margin.ci95) == ("inconclusive", claim.ci95_items)
    assert by_margin.p == pytest.approx(math.erfc((claim.effect - 9.0) / error / math.sqrt(2)), rel=1e-6)


def test_an_effect_on_a_single_item_is_not_judged(tmp_path: Path) -> None:
    """It would have no interval over items, and be supported by any two seeds that agree."""
    for items, claims in ((1, 0), (2, 1)):

        def effect(side: list[Outcome], items: int = items) -> Effect:
            values = np.mean([one.seed + np.arange(items) for one in side], axis=0)
            return Effect(bootstrap(values, seed=0), "value", "points")

        paper = replace(REPRODUCTION, claims=(Measured("own", "Above 0", "ours", ("curved",), effect),))
        outcomes = [finished(tmp_path, "curved", seed, 0.5) for seed in (1, 2, 3)]
        assert len(conclude(paper, CPU, outcomes)[1]) == claims


def test_a_custom_effect_has_a_value_for_each_seed(tmp_path: Path) -> None:
    def effect(side: list[Outcome]) -> Effect:
        values = np.mean([one.predictions["right"] for one in side], axis=0) - 0.5
        return Effect(bootstrap(values, seed=0), "part that is right, minus a half", "points")

    paper = replace(REPRODUCTION, claims=(Measured("own", "More than half", "ours", ("curved",), effect),))
    outcomes = [finished(tmp_path, "curved", seed, right) for seed, right in ((1, 0.8), (2, 0.9), (3, 0.85))]
    (claim,) = conclude(paper, CPU, outcomes)[1]
    assert list(claim.per_seed.values()) == pytest.approx([0.3, 0.4, 0.35]) and claim.verdict == "supported"
    assert claim.measure == "test, part that is right, minus a half, bootstrap over points"
    alone = replace(paper.claims[0], effect=lambda side: replace(effect(side), items=""))
    (claim,) = conclude(replace(paper, claims=(alone,)), CPU, outcomes)[1]
    assert claim.measure == "test, part that is right, minus a half"


@pytest.mark.parametrize(
    ("sources", "basis"),
    [
        ({"curved": "toy/first", "straight": None}, "2 seeds, one pretraining"),
        ({"curved": "toy/first", "straight": "toy/first"}, "2 seeds"),
    ],
)
def test_a_verdict_says_that_sides_start_from_one_pretraining_each(
    tmp_path: Path, sources: dict[str, str | None], basis: str
) -> None:
    variants = tuple(replace(CPU.variant(name), pretrained=source) for name, source in sources.items())
    outcomes = [finished(tmp_path, name, seed, 0.8 + seed / 100) for name in sources for seed in (1, 2)]
    groups = {name: [one for one in outcomes if one.variant == name] for name in sources}
    claim = judge(REPRODUCTION, BETTER, replace(CPU, variants=variants), groups, [])
    assert claim is not None and claim.basis == basis


@pytest.mark.parametrize(
    ("teachers", "basis"),
    [((), "2 seeds"), (("toy/first/1",), "2 seeds, one set of teachers")],
    ids=["none", "one side"],
)
def test_a_verdict_says_that_sides_have_other_teachers(tmp_path: Path, teachers: tuple[str, ...], basis: str) -> None:
    variants = replace(CPU.variant("curved"), teachers=teachers), CPU.variant("straight")
    outcomes = [finished(tmp_path, one.name, seed, 0.8 + seed / 100) for one in variants for seed in (1, 2)]
    groups = {one.name: [each for each in outcomes if each.variant == one.name] for one in variants}
    claim = judge(REPRODUCTION, BETTER, replace(CPU, variants=variants), groups, [])
    assert claim is not None and claim.basis == basis


def test_the_same_outcomes_give_the_same_verdict(tmp_path: Path) -> None:
    numbers = {"curved": (0.90, 0.91), "straight": (0.88, 0.87)}
    assert verdict(tmp_path / "a", **numbers) == verdict(tmp_path / "b", **numbers)


def test_the_difference_in_the_paper_is_that_of_the_reported_systems(tmp_path: Path) -> None:
    table = Table("Someone (1969), Table 2", corpus="figures", metric="accuracy")
    curved, straight = table.entry("a network", 96.0), table.entry("a perceptron", 75.5)

    def reported(first: Reported | None, second: Reported | None, paper: Reproduction = REPRODUCTION) -> float | None:
        sides = {"curved": first, "straight": second}
        variants = tuple(replace(CPU.variant(name), beside=beside) for name, beside in sides.items())
        return reported_difference(paper, BETTER, replace(CPU, variants=variants))

    assert reported(curved, straight) == pytest.approx(20.5)
    assert reported(curved, None) is None and reported(None, straight) is None
    assert reported(curved, curved) is None  # One peer next to both says nothing of their difference.
    assert reported(curved, replace(straight, corpus="another")) is None
    assert reported(curved, replace(straight, source="Someone else (1970), Table 1")) is None
    assert reported(curved, replace(straight, source="Someone (1969), Table 3")) == pytest.approx(20.5)
    assert reported(*(replace(one, source="Else (1970), Table 2") for one in (curved, straight))) is None
    assert reported(*(replace(one, metric="perplexity") for one in (curved, straight))) is None
    repositories = (replace(curved, source="one/repository"), replace(straight, source="another/repository"))
    assert reported(*repositories, replace(REPRODUCTION, source="of our own")) is None  # not one paper, but none


@pytest.mark.parametrize(
    ("metric", "sign"), [("accuracy", 1), ("bleu", 1), ("error", -1), ("loss", -1), ("perplexity", -1)]
)
def test_the_difference_in_the_paper_is_positive_if_the_better_system_is_better(metric: str, sign: int) -> None:
    table = Table("Someone (1969), Table 2", corpus="figures", metric=metric)
    values = {"curved": 96.0, "straight": 75.5}
    variants = tuple(replace(CPU.variant(name), beside=table.entry(name, value)) for name, value in values.items())
    claim = replace(BETTER, metric=metric)
    assert reported_difference(REPRODUCTION, claim, replace(CPU, variants=variants)) == pytest.approx(sign * 20.5)


def test_a_claim_may_say_what_its_paper_reports() -> None:
    preset = replace(CPU, variants=tuple(replace(variant, beside=None) for variant in CPU.variants))
    own = Measured("own", "More than half", "ours", ("curved",), lambda side: None, reported=0.4)
    for claim, wanted in ((replace(BETTER, reported=-1.5), -1.5), (own, 0.4), (BETTER, None)):
        assert reported_difference(REPRODUCTION, claim, preset) == wanted
    assert reported_difference(REPRODUCTION, replace(own, reported=None), preset) is None


def test_power_needs_more_seeds_for_smaller_effects() -> None:
    claim = judged(ci95_items=(-0.52, -0.48), seed_deviation=0.2)
    large, small = power(claim, 1.0), power(claim, 0.2)
    assert large is not None and small is not None and 2 <= large < small
    assert power(judged(ci95_items=(-5.0, 5.0)), 0.1) is None
    with pytest.raises(UsageError, match="claim a: its deviation over seeds is not known; train two seeds or more"):
        power(judged(seed_deviation=None), 0.3)


def test_more_seeds_of_what_is_not_random_show_nothing() -> None:
    with pytest.raises(UsageError, match="claim a: its systems have no random part, so seeds do not matter"):
        power(judged(seed_deviation=0.0, per_seed={"1": 0.5}), 0.3)


def test_holm_names_the_verdicts_that_a_correction_would_change() -> None:
    clear, weak, open_ = (
        judged(id="clear", p=0.001),
        judged(id="weak", p=0.03),
        judged(id="open", verdict="inconclusive"),
    )
    assert after_holm([clear, weak]) == []
    assert after_holm([clear, weak, replace(open_, p=0.4)]) == [weak]
    good = replace(weak, id="good", verdict="supported")
    assert after_holm([clear, good, replace(open_, p=0.4)]) == [good]
    assert after_holm([judged(p=None, verdict="supported")]) == []


def test_the_deviation_is_that_of_test_results_whatever_the_order_of_rows() -> None:
    of_validation = row("pretrained", "validation", per_seed={"1": 10.0, "2": 90.0})
    of_test = row("pretrained", per_seed={"1": 50.0, "2": 52.0})
    for rows in ([of_validation, of_test], [of_test, of_validation]):
        deviation = known_deviation(REPRODUCTION, BETTER, TABULATED, rows)
        assert deviation is not None and deviation == (pytest.approx(np.sqrt(2)), 1)


def test_seeds_of_the_own_published_table_do_not_count_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a table is published again, its seeds are in the rows and in the old results: the deviation would be the
    same, and its degrees of freedom twice as many."""
    rows = [row("pretrained", per_seed={"1": 50.0, "2": 52.0})]
    publish(REPRODUCTION, rows, tmp_path, monkeypatch)
    deviation = known_deviation(REPRODUCTION, BETTER, TABULATED, rows)
    assert deviation is not None and deviation.degrees == 1


@pytest.mark.parametrize("further", [{}, {"3": 51.0}])
def test_trainings_that_two_tables_share_count_once(
    further: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if one of the tables has a further seed."""
    other = replace(REPRODUCTION, title="another paper with the same network")
    shared, own = row("pretrained", per_seed={"1": 50.0, "2": 52.0}), row("curved", per_seed={"1": 60.0, "2": 66.0})
    publish(other, [replace(shared, per_seed=shared.per_seed | further), own], tmp_path, monkeypatch)
    monkeypatch.setattr(type(other), "preset", lambda self, name: TABULATED)
    deviation = known_deviation(REPRODUCTION, BETTER, TABULATED, [shared])
    assert deviation == (pytest.approx(np.sqrt(18.0)), 2 + len(further))


@pytest.mark.parametrize(
    "read",
    [{"on_sample": True}, {"own": OwnData.from_json({"name": "own texts", "languages": [], "sha256": {}})}],
    ids=["sample", "own data"],
)
def test_deviations_of_published_tables_do_not_count_on_the_sample_and_on_data_of_ones_own(
    read: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(
        replace(REPRODUCTION, title="another"), [row("curved", per_seed={"1": 60.0, "2": 66.0})], tmp_path, monkeypatch
    )
    rows = [row("pretrained", per_seed={"1": 50.0, "2": 52.0})]
    for preset, value in ((TABULATED, np.sqrt(18.0)), (replace(TABULATED, **read), np.sqrt(2.0))):
        deviation = known_deviation(REPRODUCTION, BETTER, preset, rows)
        assert deviation is not None and deviation.value == pytest.approx(value)
