"""Tables: every number in them comes from a results file, and none is lost on the way to the README."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from gluon_attn.errors import UsageError
from reproductions.protocol import report
from reproductions.protocol.papers import PAPERS, preset, script
from reproductions.protocol.report import (
    claims_table,
    loud_if_sample,
    markdown,
    results_path,
    table_lines,
    terminal_tables,
    update_readme,
)
from reproductions.protocol.results import RESULTS, Claim, Result, Row
from tests.reproductions.support import PAPER, Answer, gluon_attn

REPORTED = {
    "system": "a peer",
    "value": 86.37,
    "corpus": "nsmc",
    "metric": "accuracy",
    "source": "its/repository",
    "checked": "text",
    "details": "",
}


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


def result(*rows: Row, claims: tuple[Claim, ...] = ()) -> Result:
    manifest = {
        "seeds": [1, 2],
        "profile": "portable",
        "threads": 1,
        "hardware": "a processor",
        "commit": "0123456789abcdef",
    }
    return Result(PAPER, "cpu", list(rows), list(claims), manifest)


def three(variant: str, **changes: Any) -> tuple[Row, Row, Row]:
    """What ``conclude`` gives for a variant: all of test, without leaked texts, validation."""
    changes = {"signature": "empty ones left out"} | changes
    leaked = row(variant, mean=85.5, signature="does not stand in train")
    return row(variant, **changes), leaked, row(variant, "validation", 87.0)


def drawn(table: RenderableType, width: int) -> str:
    page = StringIO()
    Console(file=page, width=width, color_system=None).print(table)
    return page.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_table_has_ours_reported_and_differs_at_any_width(width: int) -> None:
    table = drawn(terminal_tables(result(*three("mean", reported=REPORTED, differs="no GRU"), *three("last"))), width)
    assert max(map(len, table.splitlines())) <= width
    mean, last = (next(line for line in table.splitlines() if f"│ {name} " in line) for name in ("mean", "last"))
    assert [cell.strip() for cell in mean.split("│")[1:5]] == ["mean", "86.12 ± 0.25", "85.50 ± 0.25", "86.37"]
    assert "none" in last
    assert "no GRU" in table
    assert "(nsmc, preset cpu)" in " ".join(table.split())


@pytest.mark.parametrize("width", [80, 120])
def test_the_claims_table_has_effect_interval_and_verdict(width: int) -> None:
    claim = Claim("a", "A is better than B", "paper", 0.5, (0.25, 0.75), "supported", "points")
    table = drawn(claims_table(result(*three("mean"), claims=(claim,))), width)
    assert max(map(len, table.splitlines())) <= width
    for shown in ("+0.500", "[+0.250,", "+0.750]", "supported", "points", "nsmc, preset cpu"):
        assert shown in table


def test_only_what_ran_on_the_sample_is_loud() -> None:
    assert loud_if_sample(result(*three("mean"))) == ""
    assert "MEAN NOTHING" in loud_if_sample(result(*three("mean"), *three("last", corpus="sample")))


def test_markdown_shows_every_number_of_a_row() -> None:
    page = markdown(result(*three("mean", reported=REPORTED, differs="no GRU")))
    [line] = [line for line in page.splitlines() if line.startswith("| `mean`")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == [
        "`mean`",
        preset(PAPER, "cpu").variant("mean").title,
        "86.12 ± 0.25 [85.50, 86.75]",
        "85.50 ± 0.25",
        "1 234 567",
        "86.37",
        "a peer (its/repository)",
        "no GRU",
    ]
    for shown in ("seeds 1, 2", "`portable`", "a processor", "`0123456789ab`"):
        assert shown in page


def test_markdown_marks_what_was_not_checked_against_the_text() -> None:
    from_memory, secondary = (
        markdown(result(*three("mean", reported=REPORTED | {"checked": checked})))
        for checked in ("memory", "secondary")
    )
    assert "86.37 †" in from_memory
    assert "86.37 (secondary source)" in secondary


def test_markdown_tables_are_whole_and_list_all_peers() -> None:
    claim = Claim("a", "A is better than B", "paper", -0.5, (-0.75, -0.25), "not supported", "points")
    page = markdown(result(*three("mean"), *three("last"), claims=(claim,)))
    for table in re.findall(r"(?:^\|.*\n?)+", page, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
    assert "| A is better than B | -0.500 | [-0.750, -0.250] | **not supported** | points |" in page
    for peer in script(PAPER).REPORTED:
        details = f" ({peer.details})" if peer.details else ""
        assert f"| {peer.system}{details} | {peer.corpus} | {peer.metric} | {peer.value:.2f} | {peer.source} |" in page


def test_one_seed_has_no_standard_deviation() -> None:
    rows = [replace(one, per_seed={"1": 86.125}) for one in three("mean")]
    [line] = [line for line in markdown(result(*rows)).splitlines() if line.startswith("| `mean`")]
    assert "±" not in line


def test_the_seeds_of_rows_that_have_others_are_named() -> None:
    """Of an ensemble none are: it is one network."""
    two = three("mean")
    assert "over seeds 1, 2;" in markdown(result(*two, *three("last")))
    one = [replace(each, per_seed={"1": 86.0}) for each in three("last")]
    assert "over seeds 1, 2 (rows without ± have one);" in markdown(result(*two, *one))
    more = [replace(each, per_seed={"1": 86.0, "2": 86.0, "3": 86.0}) for each in three("best")]
    both = [replace(each, per_seed={"1+2+3": 86.0}) for each in three("best-averaged")]
    whole = result(*more, *both, *two, *three("last"))
    whole.manifest["seeds"] = [1, 2, 3]
    assert "over seeds 1, 2 (`best`: 1, 2, 3);" in markdown(whole)


def test_a_variant_without_a_number_in_the_first_column_has_a_line_all_the_same() -> None:
    """Of a script that models language and classifies: each number stands in its column, with its interval."""
    language = [row("lstm", corpus="ptb", metric="perplexity", mean=120.0, ci95=(119.0, 121.0), reported=REPORTED)]
    sentiment = three("sst2-lstm", corpus="sst-2")
    mixed = Result("cheng2016", "cpu", [*language, *sentiment], [], result().manifest)
    cells = {
        line.split(" | ")[0]: [cell.strip() for cell in line.split(" | ")[2:4]]
        for line in markdown(mixed).splitlines()
        if line.startswith("| `")
    }
    assert cells["| `lstm`"] == ["120.00 ± 0.25 [119.00, 121.00]", ""]
    assert cells["| `sst2-lstm`"] == ["", "86.12 ± 0.25 [85.50, 86.75]"]
    assert "| `joulin2016 sst2-bigrams`" in cells or "| `joulin2016 sst2-words`" in cells
    assert "sst2-lstm" in drawn(terminal_tables(mixed), 140)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_no_variant_is_lost_on_the_way_to_the_tables(path: Path) -> None:
    found = Result.read(path)
    shown = [line.name for line in table_lines(found) if line.name == line.row.variant]
    assert shown == list(dict.fromkeys(each.variant for each in found.rows))


def test_the_readme_shows_the_committed_results() -> None:
    """Drift: every table of the README is the one that its results file gives; without results there is no table.

    It fails from the publishing of results until `gluon-attn report` has been run.
    """
    assert update_readme(check=True) is False, "run `gluon-attn report`"
    readme = report.README.read_text(encoding="utf-8")
    for paper in PAPERS:
        begin, end = f"<!-- results {paper} -->\n", f"<!-- /results {paper} -->"
        assert (readme.count(begin), readme.count(end)) == (1, 1)
        between = readme[readme.index(begin) + len(begin) : readme.index(end)].strip()
        path = results_path(paper, "cpu")
        assert between == (markdown(Result.read(path)) if path.exists() else "")


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A README with results of its own: those of the smoke preset in the place of the published ones."""
    benchmarks = tmp_path / "benchmarks"
    benchmarks.mkdir()
    line = {"measure": "cold preprocessing", "measured": "13.0 x", "target": "12 x", "met": True}
    missed = line | {"measure": "from the cache", "met": False}
    (benchmarks / "preprocessing.json").write_text(json.dumps({"table": [line, missed]}), encoding="utf-8")
    monkeypatch.setattr(report, "BENCHMARKS", benchmarks)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "README", tmp_path / "README.md")
    shutil.copy(RESULTS / f"{PAPER}.smoke.json", results_path(PAPER, "cpu"))
    markers = "".join(f"<!-- {name} -->\n<!-- /{name} -->\n\n" for name in (f"results {PAPER}", "speed"))
    report.README.write_text(f"# Title\n\n{markers}End\n", encoding="utf-8")
    return report.README


def test_results_of_other_presets_do_not_reach_the_readme(own: Path) -> None:
    for name in ("smoke", "paper"):
        results_path(PAPER, "cpu").replace(results_path(PAPER, name))
        update_readme(check=False)
        assert "| `mean` |" not in own.read_text(encoding="utf-8")
        results_path(PAPER, name).replace(results_path(PAPER, "cpu"))
    update_readme(check=False)
    assert own.read_text(encoding="utf-8").count("| `mean` |") == 1


def test_a_readme_without_a_place_for_the_table_is_refused_and_left_alone(own: Path) -> None:
    own.write_text("nothing\n", encoding="utf-8")
    with pytest.raises(UsageError, match=f"marker '<!-- results {PAPER} -->' is missing"):
        update_readme(check=False)
    assert own.read_text(encoding="utf-8") == "nothing\n"


def test_the_speed_table_says_which_targets_are_missed(own: Path) -> None:
    update_readme(check=False)
    lines = own.read_text(encoding="utf-8").splitlines()
    assert "| cold preprocessing | 13.0 x | 12 x | yes |" in lines
    assert "| from the cache | 13.0 x | 12 x | **no** |" in lines


def test_report_check_sees_a_table_that_was_edited_by_hand(own: Path) -> None:
    assert gluon_attn("report", "--check") == Answer(1, "README is out of date\n", "")
    assert "| `mean` |" not in own.read_text(encoding="utf-8")
    assert gluon_attn("report").out == "README written\n"
    written = own.read_text(encoding="utf-8")
    assert "| `mean` |" in written and written.startswith("# Title\n") and written.endswith("\n\nEnd\n")
    assert gluon_attn("report", "--check") == Answer(0, "README is up to date\n", "")

    own.write_text(written.replace("| `mean` |", "| `median` |"), encoding="utf-8")
    assert gluon_attn("report", "--check").code == 1
    assert gluon_attn("report").code == 0
    assert own.read_text(encoding="utf-8") == written


# --- the floor ---


def floor_results(folder: Path, *rows: Row) -> None:
    whole = Result("joulin2016", "cpu", list(rows), [], result(*three("mean")).manifest)
    whole.write(folder / "joulin2016.json")


def test_the_best_system_without_attention_stands_below_those_of_its_corpus(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of two that read the corpus the better one; of another corpus none; its own table has each system once."""
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    mine = result(*three("mean"))
    assert "joulin2016" not in markdown(mine)
    others = [replace(each, mean=85.25) for each in three("nsmc-bigrams")]
    elsewhere = [replace(each, corpus="imdb") for each in three("imdb-words")]
    floor_results(tmp_path, *[replace(each, mean=84.0) for each in three("nsmc-words")], *others, *elsewhere)
    below = [line for line in markdown(mine).splitlines() if "joulin2016" in line]
    assert len(below) == 1 and below[0].startswith("| `joulin2016 nsmc-bigrams` | NSMC: words and bigrams | 85.25")
    assert "joulin2016" in drawn(terminal_tables(mine), 140) and "imdb" not in drawn(terminal_tables(mine), 140)
    own_table = markdown(Result.read(tmp_path / "joulin2016.json"))
    assert own_table.count("`nsmc-bigrams`") == 1 and "`joulin2016" not in own_table
