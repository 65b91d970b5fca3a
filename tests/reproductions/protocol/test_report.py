"""The tables of the project's README and of the benchmarks are generated from results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from reproductions.protocol import papers
from reproductions.protocol.report import papers_markdown, write_reports
from reproductions.protocol.results_page import FIGURES, readme_of, results_readme_path
from tests.reproductions.protocol.tabulated import CLAIM, REPORTED, publish, result, three
from tests.reproductions.support import ROOT, Answer, gluon_attn, judged
from tests.reproductions.toy import REPRODUCTION


def test_the_readme_has_a_line_for_each_published_paper_with_its_main_result(own: Path) -> None:
    """A reported number is next to ours only where the two are comparable."""
    _, _, line, *_ = papers_markdown().splitlines()
    link = "[Quadrants: the hidden layer](reproductions/results/toy/README.md) (Someone (1969))"
    main = "with a hidden layer: nsmc, accuracy"
    reported = "86.37 | a peer (its/repository)"
    assert line == f"| {link} | {main} | 86.12 (85.88, 86.38) | {reported} | 2 contradicted, 2 not measurable |"
    supported = replace(CLAIM, verdict="supported")
    publish(result(*three("curved", reported=REPORTED), claims=(CLAIM, supported, CLAIM)))
    verdicts = "2 contradicted, 1 supported, 2 waiting for training"
    assert papers_markdown().splitlines()[2].endswith(f"| 86.12 (85.88, 86.38) |  |  | {verdicts} |")
    publish(replace(result(*three("low")), paper="floor"))
    assert "| title of low: nsmc, accuracy | 86.12 (85.88, 86.38) |" in papers_markdown().splitlines()[3]


def test_below_the_table_stands_what_several_tests_at_once_would_change(own: Path) -> None:
    one_seed = judged(id="single", p=None, verdict="contradicted", per_seed={"1": -0.5})
    several = (judged(id="clear", p=0.001), judged(id="weak", p=0.03), judged(id="none", verdict="not judged", p=None))
    publish(result(*three("curved"), claims=(*several, one_seed, judged(id="other", verdict="inconclusive", p=0.5))))
    text = "Of the 3 claims that are supported or contradicted, 1 would be inconclusive with Holm's correction within "
    assert f"{text}each paper, and 1 has one seed; each page names them." in papers_markdown().splitlines()[-1]


def test_a_claim_that_waits_for_an_ensemble_is_not_said_to_wait_for_training(own: Path) -> None:
    preset = REPRODUCTION.preset("cpu")
    rows = [one for variant in preset.variants for one in three(variant.name)]
    publish(
        result(*(replace(one, per_seed=dict.fromkeys(map(str, preset.seeds_of(one.variant)), 1.0)) for one in rows))
    )
    line = papers_markdown().splitlines()[2]
    assert "waiting for training" not in line, line


def test_claims_that_cannot_be_measured_are_counted(own: Path) -> None:
    preset = REPRODUCTION.preset("cpu")
    rows = [one for variant in preset.variants for one in three(variant.name)]
    publish(result(*rows, claims=tuple(judged(id=claim.id) for claim in REPRODUCTION.claims[1:])))
    assert ", 1 not measurable" in papers_markdown().splitlines()[2]


def test_as_long_as_the_main_system_is_not_trained_the_readme_shows_the_first_of_the_table(own: Path) -> None:
    publish(result(*three("straight")))
    shown = "| 86.12 (85.88, 86.38) |  | "
    assert papers_markdown().splitlines()[2].endswith(f"{shown} | 1 not measurable, 1 waiting for training |")
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
    assert "| cold preprocessing | 13.0 x | 12 x | yes | AMD EPYC | 0.2 |" in written[2]
    assert "| from the cache | 13.0 x | 12 x | **no** | AMD EPYC, AVX2 | 0.2 |" in written[2]
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


def test_the_readmes_show_the_published_results() -> None:
    """It fails after new results are published until `gluon-attn report` has been run."""
    stale = [str(path.relative_to(ROOT)) for path in write_reports(check=True)]
    assert stale == [], "run `gluon-attn report`"


def test_missing_titles_of_figures_are_one_line(own: Path) -> None:
    publish(result(*three("curved")))
    titles = results_readme_path("toy").with_name(FIGURES)
    for content in (None, "{"):
        titles.unlink() if content is None else titles.write_text(content, encoding="utf-8")
        with pytest.raises(UsageError, match=r"figures\.json: cannot be read \(.*\); write it with gluon-attn publish"):
            readme_of("toy")
