"""Where papers are: scripts of this project by name, a user's own script by its path."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from reproductions.protocol import papers
from tests.reproductions.support import ROOT


def test_the_papers_are_the_scripts_of_the_folder() -> None:
    assert papers.names() == tuple(sorted(papers.names()))
    assert {"bahdanau2014", "naver_self_attention"} <= set(papers.names())
    assert not {"__init__", "__main__", "protocol", "tasks"} & set(papers.names())


def test_a_paper_of_this_project_is_loaded_by_its_name() -> None:
    assert papers.load("cho2014").source == "Cho et al. (2014), arXiv:1406.1078"
    assert papers.results_path("cho2014", "cpu") == ROOT / "reproductions" / "results" / "cho2014.json"
    assert papers.results_path("cho2014", "smoke") == ROOT / "reproductions" / "results" / "cho2014.smoke.json"


def test_a_user_s_script_is_loaded_by_its_path_and_its_results_are_next_to_it(toy: str) -> None:
    assert papers.load(toy).title == "Quadrants: the hidden layer"
    assert papers.load(toy) is papers.load(toy)
    assert papers.results_folder(toy) == Path(toy).parent / "results"
    assert papers.results_path(toy, "cpu") == Path(toy).parent / "results" / "toy.json"


def test_a_script_with_the_name_of_another_module_does_not_replace_it(toy: str) -> None:
    script = Path(toy).rename(Path(toy).with_name("random.py"))
    before = sys.modules["random"]
    assert papers.load(str(script)).headline == ("curved", "straight")
    assert sys.modules["random"] is before


@pytest.mark.parametrize("name", ["x", "protocol", "__init__", "", "toy.txt"])
def test_an_unknown_paper_is_refused_with_the_known_ones(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toy.txt").touch()
    with pytest.raises(UsageError, match=f"paper '{name}' is unknown; choose from bahdanau2014, .* or give the path"):
        papers.load(name)


@pytest.mark.parametrize("text", ["", "REPRODUCTION = None\n"])
def test_a_script_without_a_paper_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"mine\.py: declares no REPRODUCTION"):
        papers.load(str(tmp_path / "mine.py"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "import os\n\nimport no_such_package\n",
            "mine.py, line 3: ModuleNotFoundError: No module named 'no_such_package'",
        ),
        ("numbers = (\n", "mine.py: SyntaxError: '(' was never closed (mine.py, line 1)"),
        ("import json\njson.loads('')\n", "mine.py, line 2: JSONDecodeError: "),
    ],
)
def test_a_script_that_fails_is_refused_with_its_line(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=rf"{re.escape(reason)}.*; correct the script"):
        papers.load(str(tmp_path / "mine.py"))


def test_a_script_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match=r"^absent\.py: no such script"):
        papers.load("absent.py")


def test_a_script_with_the_name_of_a_paper_is_refused(toy: str) -> None:
    """Their runs would go into the same folder."""
    script = Path(toy).rename(Path(toy).with_name("cho2014.py"))
    with pytest.raises(UsageError, match=r"cho2014\.py: cho2014 is a paper of this project; give that name, or rename"):
        papers.load(str(script))


@pytest.mark.parametrize("name", papers.names())
def test_at_the_paper_s_scale_no_title_is_that_of_a_smaller_network(name: str) -> None:
    preset = papers.load(name).preset("paper")
    assert [variant.title for variant in preset.variants if "smaller" in variant.title] == []


def test_scripts_agree_on_the_numbers_that_others_report() -> None:
    values: dict[tuple[str, str, str, str], set[float]] = {}
    for name in papers.names():
        for number in papers.load(name).reported:
            key = number.system, number.corpus, number.metric, number.source
            values.setdefault(key, set()).add(number.value)
    assert {key: found for key, found in values.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", papers.names())
def test_a_script_has_at_most_250_lines(name: str) -> None:
    """What is longer belongs to its task: a script declares."""
    script = ROOT / "reproductions" / f"{name}.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 250
