"""Tables: every number comes from a results file, and none is lost on the way to the README."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from gluon_attn.errors import UsageError
from reproductions.protocol import index, papers, report
from reproductions.protocol.claims import Better
from reproductions.protocol.readings import Reading
from reproductions.protocol.report import papers_markdown, write_reports
from reproductions.protocol.reproduction import Reproduction
from reproductions.protocol.results import JudgedClaim, Result, Row
from reproductions.protocol.results_page import results_readme, results_readme_path
from reproductions.protocol.tables import (
    claim_details,
    claims_table,
    row_of,
    sample_warning,
    table_lines,
    terminal_tables,
)
from reproductions.protocol.task import Column
from tests.reproductions.support import ROOT, Answer, gluon_attn, judged
from tests.reproductions.toy import PEER, REPRODUCTION

CPU = REPRODUCTION.preset("cpu")
REPORTED = {
    "system": "a peer",
    "value": 86.37,
    "corpus": "nsmc",
    "metric": "accuracy",
    "source": "its/repository",
    "checked": "text",
    "details": "",
}
CLAIM = judged()


def row(variant: str, split: str = "test", mean: float = 86.125, **changes: Any) -> Row:
    given: dict[str, Any] = {
        "variant": variant,
        "corpus": "nsmc",
        "split": split,
        "metric": "accuracy",
        "signature": "all",
        "mean": mean,
        "std": 0.25,
        "per_seed": {"1": mean - 0.25, "2": mean + 0.25},
        "ci95": (85.5, 86.75),
        "parameters": 1_234_567,
        "train_seconds": 90.0,
        "reported": None,
        "comparable": False,
        "differs": "",
    }
    return Row(**(given | changes))


def three(variant: str, **changes: Any) -> tuple[Row, Row, Row]:
    """The rows of a variant of the toy: all points, the first half, validation."""
    half = row(variant, mean=85.5, signature="first half")
    return row(variant, **{"signature": "all points"} | changes), half, row(variant, "validation", 87.0)


def result(*rows: Row, claims: tuple[JudgedClaim, ...] = (), **manifest: Any) -> Result:
    given = {
        "seeds": [1, 2],
        "profile": "portable",
        "threads": 1,
        "hardware": "a processor",
        "commit": "0123456789abcdef, fedcba9876543210",
        "parameters_sha256": {"curved/1": "a" * 64, "curved/2": "b" * 64},
    }
    return Result("toy", "cpu", list(rows), list(claims), given | manifest)


def printed(table: RenderableType, width: int) -> str:
    page = StringIO()
    Console(file=page, width=width, color_system=None).print(table)
    return page.getvalue()


def markdown(
    of: Result,
    paper: Reproduction = REPRODUCTION,
    figures: tuple[str, ...] = (),
    readings: tuple[Reading, ...] = (),
) -> str:
    return results_readme(paper, paper.preset("cpu"), of, readings, figures)


def cells(page: str, variant: str) -> list[str]:
    """The cells of a variant's line in the table of a results README."""
    (line,) = [line for line in page.splitlines() if line.startswith(f"| `{variant}` |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


# --- the terminal ---


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_table_has_ours_reported_and_differs_at_any_width(width: int) -> None:
    of = result(*three("curved", reported=REPORTED, comparable=True, differs="no GRU"), *three("straight"))
    table = printed(terminal_tables(REPRODUCTION, CPU, of), width)
    assert max(map(len, table.splitlines())) <= width
    lines = {name: next(line for line in table.splitlines() if f"│ {name} " in line) for name in ("curved", "straight")}
    shown = [cell.strip() for cell in lines["curved"].split("│")[1:5]]
    assert shown == ["curved", "86.12 (85.88, 86.38)", "85.50 (85.25, 85.75)", "86.37"]
    assert "none" in lines["straight"]
    assert "no GRU" in table
    assert "(nsmc, preset cpu)" in " ".join(table.split())


def test_in_80_columns_no_terminal_table_loses_a_digit() -> None:
    for name in index.names():
        if index.is_published(name):
            paper, path = papers.load(name), papers.results_path(name, "cpu")
            of = Result.read(path)
            table = printed(terminal_tables(paper, paper.preset("cpu"), of), 80)
            assert max(map(len, table.splitlines())) <= 80, name
            assert "…" not in table, name
            for line in table_lines(paper, paper.preset("cpu"), of):
                assert {word for number in line.numbers for word in number.split()} <= set(table.split()), name


@pytest.mark.parametrize(("checked", "mark"), [("text", ""), ("memory", " †"), ("secondary", " (secondary source)")])
def test_the_terminal_table_marks_numbers_not_checked_against_the_publication(checked: str, mark: str) -> None:
    of = result(*three("curved", reported=REPORTED | {"checked": checked}, comparable=True))
    table = printed(terminal_tables(REPRODUCTION, CPU, of), 200)
    assert f" 86.37{mark} │" in table
    assert ("† from memory" in table) == (checked == "memory")


@pytest.mark.parametrize("width", [80, 120])
def test_the_claims_table_has_effect_interval_and_verdict(width: int) -> None:
    table = printed(claims_table(result(*three("curved"), claims=(CLAIM,))), width)
    assert max(map(len, table.splitlines())) <= width
    for shown in ("-0.500", "[-0.750,", "-0.250]", "contradicted", "points", "nsmc, preset cpu"):
        assert shown in table


def test_trainings_with_other_options_are_named_below_the_table() -> None:
    assert "1 thread; trained at" in markdown(result(*three("curved")))
    divided = result(*three("curved"), options={"curved/1": ["--local-workers", "2"]})
    assert "1 thread; `curved/1` with `--local-workers 2`; trained at" in markdown(divided)


def test_only_results_on_the_sample_have_a_warning() -> None:
    assert sample_warning(result(*three("curved")).on_sample) == ""
    assert "MEAN NOTHING" in sample_warning(result(*three("curved"), *three("straight", corpus="sample")).on_sample)


# --- lines and columns ---


def test_a_column_has_the_test_row_of_its_metric_and_signature() -> None:
    of = result(*three("curved"))
    assert row_of(of, "curved", Column("", "accuracy")) == of.rows[0]
    assert row_of(of, "curved", Column("", "accuracy", "half")) == of.rows[1]
    assert row_of(of, "curved", Column("", "accuracy", "best epoch")) is None
    assert row_of(of, "curved", Column("", "loss")) is None
    assert row_of(of, "straight", Column("", "accuracy")) is None


def test_a_variant_without_a_number_in_the_first_column_has_a_line_too() -> None:
    """Of a paper with two tasks: each number is in its column, with its interval."""
    columns = (Column("perplexity", "perplexity"), *REPRODUCTION.table_columns)
    paper = replace(REPRODUCTION, columns=columns)
    language = row("straight", corpus="ptb", metric="perplexity", mean=120.0, ci95=(119.0, 121.0), reported=REPORTED)
    mixed = result(language, *three("curved"))
    page = markdown(mixed, paper)
    assert cells(page, "straight")[2:5] == ["120.00 (119.75, 120.25) [119.00, 121.00]", "", ""]
    assert cells(page, "curved")[2:5] == ["", "86.12 (85.88, 86.38) [85.50, 86.75]", "85.50 (85.25, 85.75)"]
    assert [line.column for line in table_lines(paper, paper.preset("cpu"), mixed)] == [0, 1]
    assert "│ curved" in printed(terminal_tables(paper, paper.preset("cpu"), mixed), 140)


def test_a_column_may_have_the_number_of_the_pretrained_network() -> None:
    """Of a variant that is initialised from a network of the same table, and has no such number itself:
    ``pretrained`` starts from ``toy/curved``."""

    def shown(*more: Row, of_pretraining: bool = True, paper: str = "toy") -> list[str]:
        columns = (REPRODUCTION.table_columns[0], Column("", "perplexity", of_pretraining=of_pretraining))
        language = row("curved", metric="perplexity", mean=9.5, per_seed={"1": 9.5})
        of = replace(result(*three("curved"), language, *three("straight"), *three("pretrained"), *more), paper=paper)
        lines = table_lines(replace(REPRODUCTION, columns=columns), CPU, of)
        return [line.numbers[1] for line in lines]

    assert shown() == ["9.50", "", "9.50"]
    assert shown(row("pretrained", metric="perplexity", mean=7.0, per_seed={"1": 7.0})) == ["9.50", "", "7.00"]
    assert shown(of_pretraining=False) == shown(paper="other") == ["9.50", "", ""]


def test_an_ensemble_has_a_line_with_its_title() -> None:
    page = markdown(result(*three("curved"), row("committee", per_seed={"1+2": 86.125})))
    assert cells(page, "committee")[1:3] == ["networks of all seeds", "86.12 [85.50, 86.75]"]


# --- the results README ---


def test_the_readme_of_a_paper_shows_every_number_of_a_row() -> None:
    page = markdown(result(*three("curved", reported=REPORTED, comparable=True, differs="no GRU")))
    assert cells(page, "curved") == [
        "`curved`",
        "with a hidden layer",
        "86.12 (85.88, 86.38) [85.50, 86.75]",
        "85.50 (85.25, 85.75)",
        "1 234 567",
        "86.37",
        "a peer (its/repository)",
        "no GRU",
    ]
    for shown in ("seeds 1, 2;", "`portable`, 1 thread", "a processor", "`0123456789ab`, `fedcba987654`"):
        assert shown in page
    assert page.startswith("# Quadrants: the hidden layer\n\nSomeone (1969). Script: [`toy.py`](../../toy.py).")


def test_the_readme_of_a_paper_marks_numbers_not_checked_against_the_publication() -> None:
    for checked, mark in (("text", ""), ("memory", " †"), ("secondary", " (secondary source)")):
        page = markdown(result(*three("curved", reported=REPORTED | {"checked": checked}, comparable=True)))
        assert cells(page, "curved")[5] == f"86.37{mark}"


def test_the_tables_of_a_readme_are_complete_and_list_all_peers() -> None:
    page = markdown(result(*three("curved"), *three("straight"), claims=(CLAIM,)))
    for table in re.findall(r"(?:^\|.*\n?)+", page, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
    line = "| A is better than B | sec. 1 |  | -0.500 | -0.40, -0.60 | [-0.750, -0.250] | contradicted (2 seeds) |"
    assert line in page
    assert "| a perceptron | nsmc | accuracy | 96.50 † | Someone (1969), Table 1 |" in page
    assert "| a committee (three members) | nsmc | accuracy | 99.00 † | Someone (1969), Table 1 |" in page
    assert "| a re-implementation | nsmc | accuracy | 97.00 (secondary source) | its/repository |" in page
    assert page.count("† from memory") == 1
    checked = replace(REPRODUCTION, reported=(replace(REPRODUCTION.reported[0], checked="text"),), variants=(
        replace(CPU.variant("curved"), beside=None),), claims=(), headline=("curved",), ensembles=())  # fmt: skip
    assert "†" not in markdown(result(*three("curved")), checked)


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    paper = replace(REPRODUCTION, reported=(replace(PEER, system="p(a|b)"),))
    rows = three("curved", reported=REPORTED, comparable=True, differs="a|b, not b|a")
    page = markdown(result(*rows, claims=(replace(CLAIM, statement="P(a|b) is higher"),)), paper)
    for cell in (r" a\|b, not b\|a |", r"| P(a\|b) is higher |", r"| p(a\|b) |"):
        assert cell in page


def test_the_number_of_test_readings_is_below_the_table() -> None:
    of = result(*three("curved"), parameters_sha256={"curved/1": "a" * 64})
    readings = (
        Reading("curved", 1, "a" * 64, "c" * 40, "2026"),
        Reading("curved", 1, "b" * 64, "d" * 40, "2026", note="A footnote."),
    )
    page = markdown(of, readings=readings)
    assert "read 2 times for the 1 training of this table, 1 of them by trainings that were replaced (`curved`)" in page
    assert page.index("read 2 times") < page.index("\nA footnote.\n") < page.index("## Claims")
    assert "The test split was read" not in markdown(of)


def test_notes_and_figures_are_in_the_readme() -> None:
    page = markdown(
        result(*three("curved")), replace(REPRODUCTION, notes=("One.", "Two.")), ("the_curves.png", "b.png")
    )
    assert "\n\nOne.\n\nTwo.\n\n## Claims" in page
    assert page.endswith("## Figures\n\n![the curves](the_curves.png)\n\n![b](b.png)\n")
    assert "## Figures" not in markdown(result(*three("curved")))


def test_three_seeds_have_a_standard_deviation() -> None:
    rows = [replace(each, per_seed={"1": 86.0, "2": 86.125, "3": 86.25}, std=0.125) for each in three("curved")]
    assert cells(markdown(result(*rows)), "curved")[2] == "86.12 ± 0.12 [85.50, 86.75]"


def test_a_reported_number_that_is_not_comparable_is_not_next_to_ours() -> None:
    page = markdown(result(*three("curved", reported=REPORTED, comparable=False)))
    assert cells(page, "curved")[5:7] == ["", ""]


def test_the_effect_in_the_paper_is_next_to_ours() -> None:
    page = markdown(result(*three("curved"), claims=(judged(reported=1.6),)))
    assert "| A is better than B | sec. 1 | +1.60 | -0.500 |" in page


def test_an_effect_in_the_paper_has_the_mark_of_the_number_that_was_checked_the_least() -> None:
    first, second, third = (replace(PEER, value=value, checked=checked) for value, checked in
                            ((97.0, "memory"), (96.0, "text"), (95.0, "secondary")))  # fmt: skip
    straight, checked = (replace(CPU.variant("straight"), beside=one) for one in (first, second))
    claims, shown = (Better("a", "It is so", "curved", "straight"),), "sec. 1 | +1.60"
    of = result(*three("curved"), claims=(judged(reported=1.6),))
    for beside, other, mark in (
        (third, straight, " †"),
        (third, checked, " (secondary source)"),
        (second, checked, ""),
        (None, straight, " †"),
    ):
        variants = (replace(CPU.variant("curved"), beside=beside), other)
        paper = replace(REPRODUCTION, variants=variants, claims=claims, ensembles=())
        assert f"| {shown}{mark} | -0.500 |" in markdown(of, paper)
        declared = replace(paper, claims=(replace(claims[0], reported=1.6),))
        assert f"| {shown}{mark} | -0.500 |" in markdown(of, declared), "also of an effect that the claim declares"


def test_below_the_claims_stands_what_a_correction_would_change() -> None:
    several = (judged(id="clear", p=0.001), judged(id="weak", p=0.03), judged(id="none", verdict="not judged", p=None))
    page = markdown(result(*three("curved"), claims=several))
    assert "3 claims, 2 judged," in page and "with several seeds changes no verdict." in page
    page = markdown(result(*three("curved"), claims=(*several, judged(id="other", verdict="inconclusive", p=0.5))))
    assert "with several seeds makes these inconclusive: `weak`." in page
    assert "Holm" not in markdown(result(*three("curved"), claims=(judged(p=None),)))


def test_below_the_claims_stands_what_verdicts_from_one_seed_rest_on() -> None:
    single = judged(p=None, basis="one seed; exceeds 3 √2 times the deviation over seeds of such tasks, 0.59")
    for claim, is_said in ((single, True), (replace(single, verdict="not judged"), False), (judged(), False)):
        page = markdown(result(*three("curved"), claims=(claim,)))
        assert ("from one seed rest on a fixed threshold" in page) is is_said


def test_a_claim_that_waits_for_an_ensemble_is_named() -> None:
    waiting = Better("committee", "A committee is better", "committee", "straight")
    paper = replace(REPRODUCTION, claims=(waiting,))
    preset = paper.preset("cpu")
    rows = [one for variant in preset.variants for one in three(variant.name)]
    trained = [replace(one, per_seed={str(seed): one.mean for seed in preset.seeds_of(one.variant)}) for one in rows]
    assert "Without a verdict until their ensembles are scored: `committee`.\n" in markdown(result(*trained), paper)
    assert "ensembles are scored" not in markdown(result(*trained, *three("committee")), paper)


def test_two_values_in_parentheses_are_explained_for_rows_of_other_papers_too(own: Path) -> None:
    alone = [replace(one, per_seed={"1": one.mean}) for one in three("curved")]
    paper = replace(REPRODUCTION, baselines=("floor",))
    assert "both values in parentheses" not in markdown(result(*alone), paper)
    publish(replace(result(*three("high")), paper="floor"))
    assert "both values in parentheses" in markdown(result(*alone), paper)


def test_claims_that_cannot_be_measured_are_named() -> None:
    systems = (*three("curved"), *three("straight"))
    measured = tuple(judged(id=claim.id) for claim in REPRODUCTION.claims)
    assert "not measurable" not in markdown(result(*systems, claims=measured))
    page = markdown(result(*systems, claims=measured[1:]))
    first = REPRODUCTION.claims[0]
    assert f"Declared, but not measurable on these outcomes: {first.statement} (`{first.id}`).\n" in page
    assert "not measurable" not in markdown(result(*three("curved"), claims=measured[1:])), "it waits for a system"


def test_one_claim_shows_its_seeds_and_its_intervals() -> None:
    table = printed(claim_details(judged(reported=0.25)), 100)
    for shown in ("seed 1", "-0.400", "[-0.600, -0.400]", "[-0.700, -0.300]", "[-0.750, -0.250]", "+0.250", "2 seeds"):
        assert shown in table
    assert "one seed" in printed(claim_details(judged(ci95_seeds=None, per_seed={"1": -0.5})), 100)


def test_one_seed_has_no_standard_deviation() -> None:
    rows = [replace(each, per_seed={"1": 86.125}) for each in three("curved")]
    assert "±" not in "".join(cells(markdown(result(*rows)), "curved"))


def test_rows_with_other_seeds_name_them() -> None:
    """An ensemble has none: it is one system."""
    two = three("curved")
    assert "over seeds 1, 2;" in markdown(result(*two, *three("straight")))
    one = [replace(each, per_seed={"1": 86.0}) for each in three("straight")]
    assert "over seeds 1, 2 (rows with one value have one);" in markdown(result(*two, *one))
    more = [replace(each, per_seed={"1": 86.0, "2": 86.0, "3": 86.0}) for each in three("pretrained")]
    both = [replace(each, per_seed={"1+2+3": 86.0}) for each in three("committee")]
    page = markdown(result(*more, *both, *two, *three("straight"), seeds=[1, 2, 3]))
    assert "over seeds 1, 2 (`pretrained`: 1, 2, 3);" in page
    assert "over seeds 1;" in markdown(result(*one, seeds=[1]))


# --- baselines ---


FLOOR = replace(
    REPRODUCTION,
    title="A floor",
    variants=tuple(
        replace(CPU.variant("straight"), name=name, title=f"title of {name}") for name in ("low", "high", "far")
    ),
    claims=(),
    headline=("low",),
    main="",
    ensembles=(),
)


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A project with the toy paper, which has a baseline, and the paper of the baseline; a README, and benchmarks."""
    declared = {"toy": replace(REPRODUCTION, baselines=("floor",)), "floor": FLOOR}
    monkeypatch.setattr(papers, "names", lambda: tuple(declared))
    monkeypatch.setattr(papers, "load", declared.__getitem__)
    monkeypatch.setattr(papers, "results_folder", lambda paper: tmp_path / "results")
    benchmarks = tmp_path / "benchmarks"
    (benchmarks / "results").mkdir(parents=True)
    met = {"measure": "cold preprocessing", "measured": "13.0 x", "target": "12 x", "met": True}
    missed = met | {"measure": "from the cache", "met": False}
    (benchmarks / "results" / "preprocessing.json").write_text(json.dumps({"table": [met, missed]}), encoding="utf-8")
    (benchmarks / "README.md").write_text("# Speed\n\n<!-- speed -->\n<!-- /speed -->\n\nEnd\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("# Title\n\n<!-- papers -->\n<!-- /papers -->\n\nEnd\n", encoding="utf-8")
    monkeypatch.setattr(report, "BENCHMARKS", benchmarks)
    monkeypatch.setattr(report, "README", tmp_path / "README.md")
    publish(result(*three("curved", reported=REPORTED, comparable=True), *three("straight"), claims=(CLAIM, CLAIM)))
    return tmp_path


def publish(of: Result, preset: str = "cpu") -> None:
    path = papers.results_path(of.paper, preset)
    of.write(path)
    results_readme_path(of.paper).parent.mkdir(exist_ok=True)


def test_the_best_system_of_a_baseline_on_the_same_corpus_is_below_ours(own: Path) -> None:
    """Of two the better one, and none on another corpus; in the baseline's own table each occurs once."""
    paper, mine = papers.load("toy"), Result.read(papers.results_path("toy", "cpu"))
    assert "floor" not in markdown(mine, paper)
    far = [replace(each, corpus="imdb", mean=99.0) for each in three("far")]
    low, high = ([replace(each, mean=mean) for each in three(name)] for name, mean in (("low", 84.0), ("high", 85.25)))
    publish(replace(result(*low, *high, *far), paper="floor"))
    both = "The same trainings as in other tables, so no independent evidence: `curved` as `floor/curved` (seeds 1, 2)."
    assert both in markdown(mine, paper).splitlines(), "the results of these two have the same parameters"
    lines = [line for line in markdown(mine, paper).splitlines() if line.startswith("| `floor")]
    assert len(lines) == 1 and lines[0].startswith(
        "| `floor high` | title of high | 85.25 (85.88, 86.38) [85.50, 86.75] |"
    )
    shown = printed(terminal_tables(paper, paper.preset("cpu"), mine), 140)
    assert "high ‡" in shown and "low ‡" not in shown and "imdb" not in shown
    for metric in ("perplexity", "error"):
        publish(replace(result(*(replace(each, metric=metric) for each in (*low, *high))), paper="floor"))
        ours = result(*(replace(each, metric=metric) for each in mine.rows))
        columns = (Column(metric, metric),)
        (line,) = (
            line for line in markdown(ours, replace(paper, columns=columns)).splitlines() if line.startswith("| `floor")
        )
        assert line.startswith("| `floor low` "), f"the lower {metric} is the better one"
    publish(replace(result(*low, *high, *far), paper="floor"))
    of_floor = markdown(Result.read(papers.results_path("floor", "cpu")), FLOOR)
    assert [of_floor.count(f"`{name}`") for name in ("low", "high", "far", "floor high")] == [1, 1, 1, 0]


def test_a_baseline_may_name_one_system_of_its_paper(own: Path) -> None:
    mine, imdb = Result.read(papers.results_path("toy", "cpu")), [replace(each, corpus="imdb") for each in three("far")]
    low, high = ([replace(each, mean=mean) for each in three(name)] for name, mean in (("low", 84.0), ("high", 85.25)))
    publish(replace(result(*low, *high, *imdb), paper="floor"))

    def named(*baselines: str) -> list[str]:
        text = markdown(mine, replace(papers.load("toy"), baselines=baselines))
        return [line.split("`")[1] for line in text.splitlines() if line.startswith("| `floor ")]

    assert named("floor/low") == ["floor low"], "this one, though another is better"
    assert named("floor/high", "floor/low") == ["floor high", "floor low"], "in the order of the declaration"
    assert named("floor/far") == [], "on another corpus"


# --- the README of the project ---


def test_the_readme_has_a_line_for_each_published_paper_with_its_main_result(own: Path) -> None:
    """A reported number is next to ours only where the two are comparable."""
    _, _, line, *_ = papers_markdown().splitlines()
    link = "[Quadrants: the hidden layer](reproductions/results/toy/README.md) (Someone (1969))"
    main = "with a hidden layer: nsmc, accuracy"
    assert line == f"| {link} | {main} | 86.12 (85.88, 86.38) | 86.37 | 2 contradicted |"
    supported = replace(CLAIM, verdict="supported")
    publish(result(*three("curved", reported=REPORTED), claims=(CLAIM, supported, CLAIM)))
    verdicts = "2 contradicted, 1 supported, 2 waiting for training"
    assert papers_markdown().splitlines()[2].endswith(f"| 86.12 (85.88, 86.38) |  | {verdicts} |")
    publish(replace(result(*three("low")), paper="floor"))
    assert "| title of low: nsmc, accuracy | 86.12 (85.88, 86.38) |" in papers_markdown().splitlines()[3]


def test_below_the_table_stands_what_several_tests_at_once_would_change(own: Path) -> None:
    one_seed = judged(id="single", p=None, verdict="contradicted", basis="one seed; exceeds")
    several = (judged(id="clear", p=0.001), judged(id="weak", p=0.03), judged(id="none", verdict="not judged", p=None))
    publish(result(*three("curved"), claims=(*several, one_seed, judged(id="other", verdict="inconclusive", p=0.5))))
    text = "Of the 3 claims that are supported or contradicted, 1 would be inconclusive with Holm's correction within "
    assert f"{text}each paper, and 1 have one seed; each page names them." in papers_markdown().splitlines()[-1]


def test_a_claim_that_waits_for_an_ensemble_is_not_said_to_wait_for_training(own: Path) -> None:
    preset = REPRODUCTION.preset("cpu")
    rows = [one for variant in preset.variants for one in three(variant.name)]
    publish(
        result(*(replace(one, per_seed=dict.fromkeys(map(str, preset.seeds_of(one.variant)), 1.0)) for one in rows))
    )
    line = papers_markdown().splitlines()[2]
    assert "waiting for training" not in line, line


def test_as_long_as_the_main_system_is_not_trained_the_readme_shows_the_first_of_the_table(own: Path) -> None:
    publish(result(*three("straight")))
    assert papers_markdown().splitlines()[2].endswith("| 86.12 (85.88, 86.38) |  | 1 waiting for training |")
    assert f"| {papers.load('toy').preset('cpu').variant('straight').title}: nsmc, accuracy |" in papers_markdown()


def test_results_of_other_presets_are_not_in_the_readme(own: Path) -> None:
    papers.results_path("toy", "cpu").rename(papers.results_path("toy", "smoke"))
    write_reports(check=False)
    assert "Quadrants" not in (own / "README.md").read_text(encoding="utf-8")
    assert not results_readme_path("toy").exists()


def test_reports_are_written_only_if_they_differ(own: Path) -> None:
    paths = [results_readme_path("toy"), own / "README.md", own / "benchmarks" / "README.md"]
    assert gluon_attn("report", "--check") == Answer(1, "".join(f"out of date: {path}\n" for path in paths), "")
    assert not paths[0].exists() and "Quadrants" not in paths[1].read_text(encoding="utf-8")
    assert gluon_attn("report").out == "".join(f"written: {path}\n" for path in paths)
    written = [path.read_text(encoding="utf-8") for path in paths]
    assert "| `curved` |" in written[0]
    assert written[1].startswith("# Title\n") and written[1].endswith("\n\nEnd\n") and "Quadrants" in written[1]
    assert "| cold preprocessing | 13.0 x | 12 x | yes |" in written[2]
    assert "| from the cache | 13.0 x | 12 x | **no** |" in written[2]
    assert gluon_attn("report", "--check") == Answer(0, "all reports are up to date\n", "")
    for path, text in zip(paths[1:], written[1:], strict=True):
        path.write_text(text.replace("| ", "|  ", 1), encoding="utf-8")
    assert gluon_attn("report", "--check").out == "".join(f"out of date: {path}\n" for path in paths[1:])
    assert gluon_attn("report").out == "".join(f"written: {path}\n" for path in paths[1:])
    assert [path.read_text(encoding="utf-8") for path in paths] == written


def test_a_readme_without_the_markers_of_its_table_is_refused_and_not_changed(own: Path) -> None:
    (own / "README.md").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(UsageError, match="the marker '<!-- papers -->' is missing; put it where the table belongs"):
        write_reports(check=False)
    assert (own / "README.md").read_text(encoding="utf-8") == "nothing\n"
    assert not results_readme_path("toy").exists()


# --- the published results ---


def test_the_readmes_show_the_published_results() -> None:
    """It fails after new results are published until `gluon-attn report` has been run."""
    stale = [str(path.relative_to(ROOT)) for path in write_reports(check=True)]
    assert stale == [], "run `gluon-attn report`"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "reproductions" / "results").glob("*.json")), ids=lambda path: path.stem
)
def test_no_variant_is_lost_on_the_way_to_the_tables(path: Path) -> None:
    published = Result.read(path)
    paper = papers.load(published.paper)
    lines = table_lines(paper, paper.preset(published.preset), published)
    shown = [line.name for line in lines if line.name == line.row.variant]
    assert shown == list(dict.fromkeys(each.variant for each in published.rows))
