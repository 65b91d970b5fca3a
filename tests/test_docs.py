"""The documents agree with the project: links resolve, the example of a paper trains, metadata are the same."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from preprocessing import corpora
from tests.imports import ROOT
from tests.reproductions.support import run_and_score

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_resolve(document: Path) -> None:
    links = [link for link in LINK.findall(document.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_korean_documents_have_the_published_numbers() -> None:
    published = (ROOT / "reproductions" / "results" / "naver_self_attention" / "README.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (`[\w-]+`) \|.*?\| (\d.*? ± \S+)", published, re.MULTILINE))
    for name in ("README.ko.md", "docs/naver.ko.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        numbers = re.findall(r"\d\d\.\d\d ± \d\.\d\d", text)
        assert numbers and [number for number in numbers if number not in published] == []
    rows = re.findall(r"^\| (`[\w-]+`) \|.*\| (\d\d\.\d\d ± \S+) \| \S+ ± \S+ \|$", text, re.MULTILINE)
    assert len(rows) == 9 and [name for name, number in rows if table[name] != number] == []


def torch_example() -> tuple[str, str]:
    """The two parts of the README's example: arrays of a corpus, and batches of them for PyTorch."""
    (example,) = CODE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    arrays, imports, batches = example.partition("import torch")
    return arrays, imports + batches


def run_on_sample(*codes: str, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    sample = corpora.find("sample")
    patch.setattr(corpora, "find", lambda name: sample)
    names: dict[str, Any] = {}
    for code in codes:
        exec(code, names)
    return names


def test_the_arrays_of_the_readme_are_what_pytorch_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_on_sample(torch_example()[0], patch=monkeypatch)
    ids, labels = names["ids"], names["labels"]
    assert (ids.dtype.name, labels.dtype.name) == ("int32", "int8") and ids.shape == (len(labels), 30)
    assert ids.flags.c_contiguous and labels.flags.c_contiguous and ids.flags.writeable


def test_the_readme_makes_a_dataset_for_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: `make bench` installs it")
    names = run_on_sample(*torch_example(), patch=monkeypatch)
    ids, labels = next(iter(names["batches"]))
    assert tuple(ids.shape) == (64, 30) and tuple(labels.shape) == (64,)


def test_the_readme_is_short() -> None:
    """Without its generated table, which grows by a line with each paper."""
    written, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("<!-- papers -->")
    _, _, rest = rest.partition("<!-- /papers -->")
    assert 50 < len((written + rest).splitlines()) <= 130


def test_contributing_links_both_guides() -> None:
    links = LINK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert {"docs/adding_a_paper.md", "docs/adding_a_corpus.md"} <= set(links)


@pytest.mark.slow
def test_the_example_of_a_paper_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = CODE.findall((ROOT / "docs" / "adding_a_paper.md").read_text(encoding="utf-8"))
    script = tmp_path / "author2014.py"
    script.write_text(example, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    answer = run_and_score(script.name, "--preset", "smoke", "--jobs", "1")
    assert answer.code == 0, answer
    (results,) = (tmp_path / "runs").rglob("results.json")
    written = json.loads(results.read_text(encoding="utf-8"))
    assert {row["variant"] for row in written["rows"]} == {"every-step", "first-step"}
    assert [claim["id"] for claim in written["claims"]] == ["everywhere"]


def test_the_citation_is_of_this_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert citation["authors"] == project["authors"]
    assert citation["title"].startswith(project["name"])


def test_the_changelog_has_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] == "Unreleased"
    assert project["version"] in versions
