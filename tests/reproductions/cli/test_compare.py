"""Tables, claims and the power of their tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reproductions.protocol import papers
from reproductions.protocol.results import Result
from tests.reproductions.cli.project import WARNING, Project
from tests.reproductions.protocol.tabulated import row as row_of
from tests.reproductions.support import Answer, gluon_attn, judged


@pytest.mark.parametrize("paper", [name for name in papers.names() if papers.results_path(name, "smoke").exists()])
def test_compare_shows_the_published_table_and_the_claims(paper: str) -> None:
    answer = gluon_attn("compare", paper, "--preset", "smoke")
    assert answer.code == 0
    result = Result.read(papers.results_path(paper, "smoke"))
    for row in result.rows:
        assert f"\n {row.variant} " in answer.out
    resampled = sum("bootstrap" in claim.measure for claim in result.claims)
    assert "verdict" in answer.out and answer.out.count("bootstrap") >= resampled > 0
    assert answer.out.rstrip().endswith(WARNING)


def test_compare_shows_the_results_of_a_run(trained: tuple[Project, Answer]) -> None:
    project, _ = trained
    path = project.run("curved").root / "results.json"
    answer = gluon_attn("compare", project.script, "--preset", "smoke", "--results", path)
    assert answer.code == 0, answer.err
    assert "\n curved " in answer.out and "\n bend " in answer.out and "verdict" in answer.out


def test_compare_prints_json_markdown_and_wide_tables() -> None:
    published = papers.results_path("joulin2016", "cpu")
    text = gluon_attn("compare", "joulin2016", "--json").out
    assert text == published.read_text(encoding="utf-8")
    lines = gluon_attn("compare", "joulin2016", "--markdown").out.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert any(line.startswith("| nsmc-bigrams |") for line in table) and "…" not in "".join(lines)
    wide = gluon_attn("compare", "joulin2016", "--wide").out
    statements = [claim.statement for claim in Result.read(published).claims]
    assert all(statement in wide for statement in statements)
    assert "exclude each other" in gluon_attn("compare", "joulin2016", "--wide", "--json").refusal


def test_compare_marks_rows_of_other_papers() -> None:
    out = gluon_attn("compare", "naver_self_attention", "--wide").out
    assert "\n nsmc-bigrams ‡ " in out and "‡ a published result of another paper here" in out


def test_text_in_brackets_is_printed_as_it_is(tmp_path: Path) -> None:
    results = json.loads(papers.results_path("joulin2016", "cpu").read_text(encoding="utf-8"))
    results["claims"][0]["statement"] = "[/red] better"
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    answer = gluon_attn("compare", "joulin2016", "--wide", "--results", tmp_path / "results.json")
    assert answer.code == 0 and "[/red] better" in answer.out


def test_compare_shows_one_claim_with_its_intervals(trained: tuple[Project, Answer]) -> None:
    project, _ = trained
    path = project.run("curved").root / "results.json"
    options = (project.script, "--preset", "smoke", "--results", path)
    (claim, *_) = Result.read(path).claims
    answer = gluon_attn("compare", *options, "--claim", claim.id)
    assert claim.statement.split()[0] in answer.out and "interval over items" in answer.out
    assert claim.verdict in " ".join(answer.out.split())
    assert (
        "claim 'nothing' is not among the results of toy"
        in gluon_attn("compare", *options, "--claim", "nothing").refusal
    )


def test_a_claim_that_waits_or_cannot_be_measured_says_so(tmp_path: Path, project: Project) -> None:
    path = tmp_path / "results.json"
    options = (project.script, "--preset", "smoke", "--results", path, "--claim", "bend")
    Result("toy", "smoke", [row_of("curved")], [], {}).write(path)
    waits = "claim 'bend' has no verdict yet: train and score straight first"
    assert waits in gluon_attn("compare", *options).refusal
    assert waits in gluon_attn("power", *options, "--effect", 1).refusal
    Result("toy", "smoke", [row_of("curved"), row_of("straight")], [], {}).write(path)
    assert "claim 'bend' cannot be measured from the outcomes of toy" in gluon_attn("compare", *options).refusal


def test_power_prints_how_many_seeds_a_claim_needs(tmp_path: Path, project: Project) -> None:
    claims = [judged(id="known"), judged(id="small", ci95_items=(-50.0, 50.0)), judged(id="one", seed_deviation=None)]
    Result("toy", "smoke", [], claims, {}).write(tmp_path / "results.json")
    options = (project.script, "--preset", "smoke", "--results", tmp_path / "results.json", "--effect", 0.5)
    enough = "seeds per variant, an effect of 0.5 is shown with a probability of 0.8"
    assert enough in gluon_attn("power", *options, "--claim", "known").out
    few = "small: 100 seeds per variant are too few to show 0.5; more test items may be needed\n"
    assert gluon_attn("power", *options, "--claim", "small").out == few
    for effect in (0, "nan", "inf"):
        answer = gluon_attn("power", *options[:-1], effect, "--claim", "known")
        assert "there is nothing to show; give an effect" in answer.refusal
    assert "deviation over seeds is not known" in gluon_attn("power", *options, "--claim", "one").refusal


def test_power_is_that_of_an_effect_beyond_the_margin_of_the_claim() -> None:
    """The claim says one point better: 1.2 points are 0.2 more, for which the test split is too small."""
    options = ("power", "devlin2018", "--claim", "pretraining", "--effect")
    assert "100 seeds per variant are too few to show 1.2" in gluon_attn(*options, 1.2).out
    assert "there is nothing to show; give an effect above or below 1" in gluon_attn(*options, 1).refusal


def test_the_results_of_another_paper_are_refused(trained: tuple[Project, Answer]) -> None:
    path = trained[0].run("curved").root / "results.json"
    assert f"{path}: results of toy, not of cho2014" in gluon_attn("compare", "cho2014", "--results", path).refusal


def test_the_results_of_another_preset_are_refused(trained: tuple[Project, Answer]) -> None:
    project, _ = trained
    path = project.run("curved").root / "results.json"
    answer = gluon_attn("compare", project.script, "--results", path)
    assert f"{path}: results of preset smoke, not cpu; add --preset smoke" in answer.refusal


@pytest.mark.parametrize(
    "content",
    ["", "{", "null", "[]", '"rows"', '{"rows": []}', '{"rows": [{"variant": "x"}], "claims": []}', "\ufeff{}"],
)
def test_a_damaged_results_file_is_refused(content: str, project: Project) -> None:
    path = project.runs.with_name("results.json")
    path.write_text(content, encoding="utf-8")
    assert str(path) in gluon_attn("compare", project.script, "--results", path).refusal


def test_missing_results_are_refused(project: Project) -> None:
    assert "no results here" in gluon_attn("compare", project.script).refusal
    assert "no results here" in gluon_attn("compare", "cho2014", "--results", project.runs / "results.json").refusal
