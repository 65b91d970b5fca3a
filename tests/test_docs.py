"""The documents agree with the project: links resolve, the example of a paper trains, metadata are the same."""

from __future__ import annotations

import ast
import json
import math
import re
import shlex
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from preprocessing import corpora
from preprocessing.text.table import read_table
from preprocessing.text.vocabulary import SPECIALS
from reproductions.cli.app import app
from reproductions.protocol.task import Task
from tests.imports import ROOT
from tests.reproductions.support import gluon_attn, run_and_score

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PLACEHOLDERS = ("CORPUS", "ag-news")  # the latter is the corpus that a guide adds
COMMAND = re.compile(r"(?:^|`|\| )(?:\.venv/bin/)?gluon-attn ([a-z][^`\n|#<>]*)", re.MULTILINE)
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_resolve(document: Path) -> None:
    links = [link for link in LINK.findall(document.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_and_their_options_exist(document: Path) -> None:
    for line in COMMAND.findall(document.read_text(encoding="utf-8")):
        words, command = shlex.split(line.rstrip(" \\")), typer.main.get_command(app)
        while hasattr(command, "commands") and words and words[0] not in PLACEHOLDERS:
            assert words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        if hasattr(command, "commands"):
            continue
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        assert set(options) <= known | {"--help"}, line


def test_the_korean_documents_have_the_published_numbers() -> None:
    published = (ROOT / "reproductions" / "results" / "naver_self_attention" / "README.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (`[\w-]+`) \|.*?\| (\d.*? ± \S+)", published, re.MULTILINE))
    for name in ("README.ko.md", "docs/naver.ko.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        numbers = re.findall(r"\d\d\.\d\d ± \d\.\d\d", text)
        assert numbers and [number for number in numbers if number not in published] == []
    rows = re.findall(r"^\| (`[\w-]+`) \|.*\| (\d\d\.\d\d ± \S+) \| \S+ ± \S+ \|$", text, re.MULTILINE)
    assert len(rows) == 10 and [name for name, number in rows if table[name] != number] == []


def korean_document() -> str:
    return " ".join((ROOT / "docs" / "naver.ko.md").read_text(encoding="utf-8").split())


def test_the_korean_document_says_which_accuracy_of_best_was_published_first() -> None:
    published = (ROOT / "reproductions" / "results" / "naver_self_attention" / "README.md").read_text(encoding="utf-8")
    (first,) = re.findall(r"`best` was tuned again, .* a first test accuracy of (\d\d\.\d\d) had", published)
    assert f"첫 테스트 정확도 {first} %를 공개한 뒤에" in korean_document()


def test_the_korean_document_has_the_size_of_the_vocabulary() -> None:
    """From the committed parameters of `masked`: all but the embeddings of 128 units are two directions of a GRU of 32,
    additive attention of 30 units and two classes."""
    outcome = ROOT / "reproductions" / "results" / "naver_self_attention" / "outcomes" / "masked" / "seed-1"
    parameters = json.loads((outcome / "outcome.json").read_text(encoding="utf-8"))["parameters"]
    others = 2 * 3 * 32 * (128 + 32 + 2) + 30 * (64 + 1) + 30 * 64 + 30 + 2 * (64 + 1)
    embedded, rest = divmod(parameters - others, 128)
    specials = len(SPECIALS)
    assert rest == 0 and specials == 2
    assert f"{embedded - specials:,}개 (특수 토큰 두 개를 더하면 {embedded:,}개)" in korean_document()


@pytest.mark.corpus("nsmc")
def test_the_korean_document_counts_the_texts_with_both_labels() -> None:
    labels = defaultdict(set)
    lines = corpora.find("nsmc").paths["train"].read_text(encoding="utf-8").split("\n")[1:-1]
    for _, text, label in (line.split("\t") for line in lines):
        labels[text].add(label)
    both = [text for text, given in labels.items() if len(given) == 2]
    assert "" in both
    assert f"{len(both) - 1}가지입니다(빈 본문은 빼고)" in korean_document()


def test_the_korean_readme_has_the_perplexities_of_its_example() -> None:
    text = (ROOT / "README.ko.md").read_text(encoding="utf-8")
    answer = gluon_attn("perplexity", "devlin2018", stdin="정말 재미있는 영화\n재미있는 정말 영화\n".encode())
    assert answer.code == 0, answer.err
    in_order, in_disorder = map(float, answer.out.split())
    assert f"“정말 재미있는 영화”의 값은 {in_order:.1f}이고" in text
    assert f"“재미있는 정말 영화”의 값은 {in_disorder:.0f}입니다" in text


def test_the_longest_training_takes_as_long_as_the_readme_says() -> None:
    """Of single trainings; an ensemble's time is the sum of its trainings."""
    outcomes = (ROOT / "reproductions" / "results").glob("*/outcomes/*/seed-*/outcome.json")
    hours = [
        json.loads(path.read_text(encoding="utf-8")).get("train_seconds", 0) / 3_600
        for path in outcomes
        if "+" not in path.parent.name
    ]
    longest = math.ceil(10 * max(hours)) / 10
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"The longest training took {longest} hours" in readme


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
    assert (ids.dtype.name, labels.dtype.name) == ("int32", "int64") and ids.shape == (len(labels), 30)
    assert ids.flags.c_contiguous and labels.flags.c_contiguous and ids.flags.writeable


def test_the_readme_makes_a_dataset_for_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: `make bench` installs it")
    names = run_on_sample(*torch_example(), patch=monkeypatch)
    ids, labels = next(iter(names["batches"]))
    assert tuple(ids.shape) == (64, 30) and tuple(labels.shape) == (64,)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # all corpora are prepared
@pytest.mark.corpus("nsmc", "multi30k", "imdb", "sentence_classification", "ptb", "flickr8k", "cifar10")
def test_the_examples_of_preprocessing_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = gluon_attn("preprocess", "naver", "--out", "DIR")
    assert answer.code == 0, answer.err
    examples = CODE.findall((ROOT / "docs" / "preprocessing.md").read_text(encoding="utf-8"))
    assert len(examples) == 7
    (tmp_path / "reviews").mkdir()
    for part in ("train", "test"):
        rows = "".join(f"{row}\t{part}의 {row}번째 글\t{('긍정', '부정')[row % 2]}\n" for row in range(60))
        (tmp_path / "reviews" / f"{part}.tsv").write_text(f"id\tdocument\tlabel\n{rows}", encoding="utf-8")
    for example in examples:
        exec(example, {})


def test_the_example_for_tables_from_spreadsheets_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = '번호,리뷰,감성\r\n7,"""정말"" 좋은\r\n\t영화, 최고",긍정\r\n8,별로,부정\r\n'
    Path("reviews.csv").write_bytes(rows.encode("cp949"))
    example, _ = CODE.findall((ROOT / "docs" / "own_data.md").read_text(encoding="utf-8"))
    exec(example, {})
    table = read_table(Path("train.tsv"))
    assert table.texts == ['"정말" 좋은 영화, 최고', "별로"] and table.labels == ["긍정", "부정"]


def test_the_example_of_a_network_in_python_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    _, example = CODE.findall((ROOT / "docs" / "own_data.md").read_text(encoding="utf-8"))
    exec(example, {})
    assert json.loads(capsys.readouterr().out)["label"] == "positive"


def test_the_readme_is_short() -> None:
    """Without its generated table, which grows by a line with each paper."""
    written, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("<!-- papers -->")
    _, _, rest = rest.partition("<!-- /papers -->")
    assert 50 < len((written + rest).splitlines()) <= 130


def test_the_guide_names_all_that_a_new_task_must_define() -> None:
    guide = (ROOT / "docs" / "adding_a_paper.md").read_text(encoding="utf-8")
    _, _, section = guide.partition("## A paper of a new task")
    attributes = [name for name in Task.__annotations__ if not hasattr(Task, name)]
    assert [name for name in [*sorted(Task.__abstractmethods__), *attributes] if f"`{name}`" not in section] == []


def test_contributing_links_both_guides() -> None:
    links = LINK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert {"docs/adding_a_paper.md", "docs/adding_a_corpus.md"} <= set(links)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md"), key=str), ids=lambda page: page.name)
def test_what_an_example_imports_exists(page: Path) -> None:
    for example in CODE.findall(page.read_text(encoding="utf-8")):
        for node in ast.walk(ast.parse(example)):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                for name in node.names:
                    imported: dict[str, object] = {}
                    exec(f"from {node.module} import {name.name}", imported)
                    assert name.name in imported


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
