"""Results tables: which lines they have, and their display in a terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from reproductions.protocol import index, papers
from reproductions.protocol.results import JudgedClaim, Result, Row
from reproductions.protocol.tables import (
    claim_details,
    claims_table,
    markdown_tables,
    row_of,
    sample_warning,
    table_lines,
    terminal_tables,
)
from reproductions.protocol.task import Column
from tests.reproductions.protocol.tabulated import (
    CLAIM,
    CPU,
    FLOOR,
    REPORTED,
    cells,
    markdown,
    printed,
    publish,
    result,
    row,
    three,
)
from tests.reproductions.support import ROOT, judged
from tests.reproductions.toy import REPRODUCTION


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_table_has_ours_reported_and_differs_at_any_width(width: int) -> None:
    of = result(*three("curved", reported=REPORTED, comparable=True, differs="no GRU"), *three("straight"))
    table = printed(terminal_tables(REPRODUCTION, CPU, of), width)
    assert max(map(len, table.splitlines())) <= width
    lines = {name: next(line for line in table.splitlines() if f" {name} " in line) for name in ("curved", "straight")}
    shown = re.split(" {2,}", lines["curved"].strip())
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
def test_tables_mark_numbers_not_checked_against_the_publication(checked: str, mark: str) -> None:
    of = result(*three("curved", reported=REPORTED | {"checked": checked}, comparable=True))
    table = printed(terminal_tables(REPRODUCTION, CPU, of), 200)
    assert f" 86.37{mark} " in table
    in_markdown = markdown_tables(REPRODUCTION, CPU, of)
    assert f" 86.37{mark} |" in in_markdown
    for text in (table, in_markdown):
        assert ("† from memory" in text) == (checked == "memory")


@pytest.mark.parametrize("width", [80, 120])
def test_the_claims_table_has_effect_interval_and_verdict(width: int) -> None:
    table = printed(claims_table(result(*three("curved"), claims=(CLAIM,))), width)
    assert max(map(len, table.splitlines())) <= width
    for shown in ("-0.500", "[-0.750,", "-0.250]", "contradicted", "points", "nsmc, preset cpu"):
        assert shown in table


def test_only_results_on_the_sample_have_a_warning() -> None:
    assert sample_warning(result(*three("curved")).on_sample) == ""
    assert "MEAN NOTHING" in sample_warning(result(*three("curved"), *three("straight", corpus="sample")).on_sample)


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
    assert cells(page, "straight")[2:6] == ["ptb", "120.00 (119.75, 120.25) [119.00, 121.00]", "", ""]
    assert cells(page, "curved")[2:6] == ["nsmc", "", "86.12 (85.88, 86.38) [85.50, 86.75]", "85.50 (85.25, 85.75)"]
    assert [line.column for line in table_lines(paper, paper.preset("cpu"), mixed)] == [0, 1]
    assert "\n curved " in printed(terminal_tables(paper, paper.preset("cpu"), mixed), 140)
    first, second = REPRODUCTION.table_columns
    paper = replace(REPRODUCTION, columns=(first, replace(second, interval=True)))
    both = cells(markdown(result(*three("curved")), paper), "curved")[2:4]
    assert [cell.count("[") for cell in both] == [1, 1], "the second column too, if it is declared so"


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


def test_one_claim_shows_its_seeds_and_its_intervals() -> None:
    def details(claim: JudgedClaim) -> str:
        return printed(claim_details(replace(result(), claims=[claim]), claim), 100)

    table = details(judged(reported=0.25))
    for shown in ("seed 1", "-0.400", "[-0.600, -0.400]", "[-0.700, -0.300]", "[-0.750, -0.250]", "+0.250", "2 seeds"):
        assert shown in table
    assert "not known" in details(judged(ci95_seeds=None, per_seed={"1": -0.5}))
    lost = "contradicted (2 seeds; not after Holm's correction)"
    assert lost in details(judged(verdict="contradicted", p=0.06)) and lost not in table


def test_the_best_system_of_a_baseline_on_the_same_corpus_is_below_ours(own: Path) -> None:
    """Of two the one that is better on validation, whatever its test result, and none on another corpus; in the
    baseline's own table each occurs once."""
    paper, mine = papers.load("toy"), Result.read(papers.results_path("toy", "cpu"))
    assert "floor" not in markdown(mine, paper)
    far = [replace(each, corpus="imdb", mean=99.0) for each in three("far")]
    high = [replace(each, mean=85.25) for each in three("high")]
    low = [replace(each, mean=84.0 if each.split == "validation" else 85.75) for each in three("low")]
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
    publish(replace(result(*high, *(each for each in three("far", mean=99.0) if each.split == "test")), paper="floor"))
    assert [line.name for line in table_lines(paper, paper.preset("cpu"), mine) if line.elsewhere] == ["floor high"], (
        "the other has no validation result, like an ensemble"
    )
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


def test_a_table_with_a_variant_that_its_paper_no_longer_has_is_named(own: Path) -> None:
    mine = Result.read(papers.results_path("toy", "cpu"))
    publish(replace(result(*three("low"), *three("gone")), paper="floor"))
    with pytest.raises(UsageError, match=r"floor\.json: has gone, which preset cpu .*: gluon-attn publish floor"):
        markdown(mine, papers.load("toy"))


def test_on_the_sample_a_baseline_is_on_the_corpus_that_the_sample_stands_for() -> None:
    """All corpora of the sample have one name; the table of NSMC has no network for IMDb below it."""
    paper = papers.load("naver_self_attention")
    mine = Result.read(papers.results_path("naver_self_attention", "smoke"))
    lines = [line for line in table_lines(paper, paper.preset("smoke"), mine) if line.elsewhere]
    assert lines and all("nsmc" in line.name for line in lines if line.name.startswith("joulin2016"))
    without_corpus = replace(paper.preset("cpu"), on_sample=True)
    assert not any(line.elsewhere for line in table_lines(paper, without_corpus, mine)), "they were measured on NSMC"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "reproductions" / "results").glob("*.json")), ids=lambda path: path.stem
)
def test_no_variant_is_lost_on_the_way_to_the_tables(path: Path) -> None:
    published = Result.read(path)
    paper = papers.load(published.paper)
    lines = table_lines(paper, paper.preset(published.preset), published)
    shown = [line.name for line in lines if line.name == line.row.variant]
    assert shown == list(dict.fromkeys(each.variant for each in published.rows))


def test_a_column_never_has_a_validation_result() -> None:
    of = result(row("curved", "validation", 99.0), *three("curved"), row("straight", "validation", 99.0))
    assert row_of(of, "curved", Column("", "accuracy")) == of.rows[1]
    assert row_of(of, "straight", Column("", "accuracy")) is None


def test_a_reported_number_that_is_not_comparable_is_not_next_to_ours() -> None:
    of = result(
        *three("curved", reported=REPORTED, comparable=False), *three("straight", reported=REPORTED, comparable=True)
    )
    assert [line.reported is not None for line in table_lines(REPRODUCTION, CPU, of)] == [False, True]


def test_three_seeds_have_their_deviation_and_two_both_values() -> None:
    of = result(
        row("curved", std=1.5, per_seed={"1": 84.0, "2": 86.0, "3": 88.0}, ci95=(80.0, 90.0), signature="all points"),
        row("straight", std=1.5, per_seed={"1": 85.0, "2": 87.25}, signature="all points"),
        row("pretrained", std=0.0, per_seed={"1": 86.125}, signature="all points"),
    )
    numbers = [line.numbers[0] for line in table_lines(REPRODUCTION, CPU, of)]
    assert numbers == ["86.12 ± 1.50", "86.12 (85.00, 87.25)", "86.12"]


def test_results_without_a_row_of_the_table_are_refused() -> None:
    with pytest.raises(UsageError, match="no row of this table; score the reproduction again"):
        terminal_tables(REPRODUCTION, CPU, result())
