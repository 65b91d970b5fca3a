"""From outcomes to rows, judged claims, figures and pages, without preparing data or building networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import Estimate
from reproductions.protocol import papers
from reproductions.protocol.claims import Better, Effect, Measured
from reproductions.protocol.conclude import conclude, draw_figures, write_pages
from reproductions.protocol.reproduction import Reproduction
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome
from reproductions.protocol.waiting import is_trained
from tests.reproductions.support import claims_by_id, outcome
from tests.reproductions.toy import REPRODUCTION, Quadrants

CPU = REPRODUCTION.preset("cpu")


@pytest.fixture(autouse=True)
def nothing_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(*_: object, **__: object) -> None:
        pytest.fail("data were prepared")

    monkeypatch.setattr(Quadrants, "prepare", prepare)
    monkeypatch.setattr(papers, "names", tuple)  # Their published tables would be read too.


def finished(folder: Path, variant: str, seed: int | str = 1, right: float = 0.5, **record: Any) -> Outcome:
    """A made-up outcome of 200 points of which this share is right."""
    arrays = {"right": np.arange(200) < 200 * right}
    given = {"examples": {"points": [[0.5, 0.5]]}, "texts": {"points": np.ones((2, 2))}, **record}
    return outcome(folder, variant, seed, arrays, **given)


# --- rows and claims ---


def test_every_variant_has_its_rows_in_the_order_of_the_outcomes(tmp_path: Path) -> None:
    outcomes = [finished(tmp_path, name, seed) for seed in (1, 2) for name in ("straight", "curved")]
    rows, _ = conclude(REPRODUCTION, CPU, [*outcomes, finished(tmp_path, "committee", "1+2")])
    assert [(row.variant, row.split) for row in rows] == [
        *(("straight", split) for split in ("test", "test", "validation")),
        *(("curved", split) for split in ("test", "test", "validation")),
        *(("committee", split) for split in ("test", "test")),
    ]
    assert [list(row.per_seed) for row in rows][::3] == [["1", "2"], ["1", "2"], ["1+2"]]


def test_a_claim_is_judged_when_all_its_variants_were_trained(tmp_path: Path) -> None:
    curved, straight = finished(tmp_path, "curved", right=0.9), finished(tmp_path, "straight", right=0.5)
    assert [claim.id for claim in conclude(REPRODUCTION, CPU, [curved])[1]] == []
    assert [claim.id for claim in conclude(REPRODUCTION, CPU, [straight])[1]] == ["chance"]
    claims = claims_by_id(conclude(REPRODUCTION, CPU, [curved, straight])[1])
    bend, chance = claims["bend"], claims["chance"]
    assert bend.effect == pytest.approx(40) and 0 < bend.ci95[0] < 40 < bend.ci95[1]
    assert (bend.statement, bend.source) == ("A hidden layer is better than none", "sec. 1")
    assert chance.effect == pytest.approx(0) and chance.verdict == "not judged"


def test_a_claim_with_its_sides_swapped_is_contradicted(tmp_path: Path) -> None:
    paper = replace(REPRODUCTION, claims=(Better("back", "None is better", "straight", "curved"),))
    sides = (("curved", 0.9), ("straight", 0.5))
    outcomes = [finished(tmp_path, name, seed, right=right) for seed in (1, 2) for name, right in sides]
    (claim,) = conclude(paper, CPU, outcomes)[1]
    assert claim.effect == pytest.approx(-40) and claim.verdict == "contradicted"


ELSEWHERE = replace(
    REPRODUCTION, baselines=("other/straight",), claims=(Better("a", "Better than theirs", "curved", "other/straight"),)
)


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of outcomes that another paper, with the same variants, has published."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(papers, "load", lambda name: {"other": REPRODUCTION}[name])
    return tmp_path / "results" / "other" / "outcomes"


def test_a_published_system_of_another_paper_is_compared_without_training(tmp_path: Path, other: Path) -> None:
    mine = [finished(tmp_path / "mine", "curved", seed, right=0.9) for seed in (1, 2)]
    assert conclude(ELSEWHERE, CPU, mine)[1] == []
    for seed in (1, 2, 3):
        finished(tmp_path / "theirs", "straight", seed, right=0.5).publish(other)
    rows, (claim,) = conclude(ELSEWHERE, CPU, mine)
    assert claim.effect == pytest.approx(40) and set(claim.per_seed) == {"1", "2"}
    assert (claim.verdict, claim.basis) == ("supported", "2 seeds")
    assert {row.variant for row in rows} == {"curved"}
    assert conclude(ELSEWHERE, REPRODUCTION.preset("smoke"), mine)[1] == []  # nothing is published of the sample


@pytest.fixture
def their_table(tmp_path: Path, other: Path) -> Path:
    """The table of another paper whose outcomes are not there."""
    rows, claims = conclude(REPRODUCTION, CPU, [finished(tmp_path / "theirs", "straight")])
    path = tmp_path / "results" / "other.json"
    Result("other", "cpu", rows, claims, {}).write(path)
    return path


def test_a_paper_whose_outcomes_are_missing_is_named(tmp_path: Path, their_table: Path) -> None:
    """While it is published, its folder is absent for an instant: the claim must not vanish from the table."""
    (their_table.parent / "third" / "outcomes").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"other/outcomes: is missing, or being published; run again after that"):
        conclude(ELSEWHERE, CPU, [finished(tmp_path / "mine", "curved")])


def test_tables_without_any_outcomes_are_those_of_a_wheel(tmp_path: Path, their_table: Path) -> None:
    rows, claims = conclude(ELSEWHERE, CPU, [finished(tmp_path / "mine", "curved")])
    assert {row.variant for row in rows} == {"curved"} and claims == []
    assert is_trained(ELSEWHERE.claims[0], Result("mine", "cpu", rows, claims, {}))
    their_table.unlink()
    assert not is_trained(ELSEWHERE.claims[0], Result("mine", "cpu", rows, claims, {}))


def test_a_system_of_another_corpus_is_not_compared(tmp_path: Path, other: Path) -> None:
    finished(tmp_path / "theirs", "straight", corpus="lines").publish(other)
    with pytest.raises(UsageError, match="claim a: other/straight cannot be compared, because the corpora differ"):
        conclude(ELSEWHERE, CPU, [finished(tmp_path / "mine", "curved")])


def test_networks_of_the_sample_are_not_compared_with_published_ones(tmp_path: Path, other: Path) -> None:
    finished(tmp_path / "theirs", "straight").publish(other)
    rows, claims = conclude(
        ELSEWHERE, replace(CPU, on_sample=True), [finished(tmp_path / "mine", "curved", corpus="sample")]
    )
    assert rows and claims == []


def claiming(effect: Effect | None, variants: tuple[str, ...] = ("curved",)) -> Reproduction:
    return replace(REPRODUCTION, claims=(Measured("own", "It is so", "sec. 2", variants, lambda *sides: effect),))


def test_an_effect_that_cannot_be_measured_has_no_verdict(tmp_path: Path) -> None:
    one = finished(tmp_path, "curved")
    assert conclude(claiming(None), CPU, [one])[1] == []
    assert len(conclude(claiming(Effect(Estimate(1, 0, 2), "words", "points")), CPU, [one])[1]) == 1


def test_a_measurement_gets_the_outcomes_of_each_of_its_variants(tmp_path: Path) -> None:
    given: list[list[str]] = []

    def effect(*sides: Any) -> None:
        given.extend([outcome.label for outcome in side] for side in sides)

    paper = replace(REPRODUCTION, claims=(Measured("own", "It is so", "ours", ("straight", "curved"), effect),))
    conclude(paper, CPU, [finished(tmp_path, name, seed) for seed in (1, 2) for name in ("curved", "straight")])
    assert given == [["straight/1", "straight/2"], ["curved/1", "curved/2"]]


def test_a_metric_that_the_task_does_not_have_is_refused(tmp_path: Path) -> None:
    paper = replace(REPRODUCTION, claims=(Better("a", "A", "curved", "straight", metric="bleu"),))
    with pytest.raises(UsageError, match="metric 'bleu' is unknown in quadrants; choose from accuracy"):
        conclude(paper, CPU, [finished(tmp_path, name) for name in ("curved", "straight")])


def test_on_the_sample_the_claims_say_that_they_mean_nothing(tmp_path: Path) -> None:
    _, claims = conclude(REPRODUCTION, CPU, [finished(tmp_path, "straight", corpus="sample")])
    assert claims[0].measure.endswith("; SAMPLE: means nothing")


# --- figures and pages ---


def test_figures_are_of_the_first_outcome_of_a_variant_and_not_of_ensembles(tmp_path: Path) -> None:
    outcomes = [
        finished(tmp_path, "curved", 2, examples={"points": "of seed 2"}),
        finished(tmp_path, "curved", 1, examples={"points": "of seed 1"}),
        finished(tmp_path, "committee", "1+2"),
    ]
    drawn = draw_figures(REPRODUCTION, CPU, outcomes, tmp_path / "figures")
    assert {title: path.name for title, path in drawn.items()} == {
        "training curves": "training_curves.png",
        "points of curved": "points_curved.png",
        "both": "both.png",
    }
    assert drawn["points of curved"].read_text(encoding="utf-8") == '"of seed 2"'


def test_tasks_with_little_in_common_have_their_own_training_curves(tmp_path: Path) -> None:
    class Grouped(Quadrants):
        @property
        def group(self) -> str:
            return "two-words of it"

    variants = (REPRODUCTION.variants[0], replace(REPRODUCTION.variants[1], task=Grouped()))
    paper = replace(REPRODUCTION, variants=variants, claims=(), figures=())
    outcomes = [finished(tmp_path, name, examples={"points": 1}) for name in ("curved", "straight")]
    drawn = draw_figures(paper, paper.preset("cpu"), outcomes, tmp_path / "figures")
    curves = {title: path for title, path in drawn.items() if title.startswith("training curves")}
    assert {title: path.name for title, path in curves.items()} == {
        "training curves, quadrants": "training_curves_quadrants.png",
        "training curves, two-words of it": "training_curves_twowords_of_it.png",
    }
    assert '"straight"' not in curves["training curves, quadrants"].read_text(encoding="utf-8")
    alone = draw_figures(paper, paper.preset("cpu"), outcomes[:1], tmp_path / "alone")
    assert "training curves, quadrants" in alone  # Its name does not depend on what was trained.


def test_pages_are_written_where_the_texts_are(tmp_path: Path) -> None:
    here, published = finished(tmp_path, "curved"), finished(tmp_path, "straight", texts={})
    pages = write_pages(REPRODUCTION, CPU, [here, published], tmp_path)
    assert {title: path.name for title, path in pages.items()} == {
        "all points of curved": "points_curved.txt",
        "notes": "notes.txt",
    }
    assert all(path.is_file() for path in pages.values())
