"""The wheel contains what runs and nothing else, and works in an empty folder outside the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.imports import ROOT

PACKAGES = ("gluon_attn", "preprocessing", "reproductions")
DATA = {".css", ".j2", ".js"}
PAPER, VARIANT = "naver_self_attention", "mean"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run(*command: str | Path, cwd: Path, status: int = 0, **environment: str) -> str:
    """Standard output of a command that must succeed; with another expected status, its standard error."""
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == status, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stderr if status else done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built offline from a copy of the source files, with outcomes and a figure of a training added."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=_not_source)
    outcomes = source / "reproductions" / "results" / PAPER / "outcomes" / "cpu"
    outcomes.mkdir(parents=True)
    (outcomes / "mean.json").write_text("{}", encoding="utf-8")
    (outcomes.parents[1] / "curves.png").write_bytes(b"")
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    run(*pip, "--wheel-dir", folder, source, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


def _not_source(folder: str, names: list[str]) -> set[str]:
    """Caches, outcomes and the figures of results, which are large."""
    figures = {name for name in names if "results" in Path(folder).parts and name.endswith(".png")}
    return figures | ({"__pycache__", "outcomes"} & set(names))


@pytest.fixture(scope="module")
def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    return {name for name in names if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installed inside a clone of another project, whose commits are not ours."""
    clone = tmp_path_factory.mktemp("clone")
    run("git", "init", "--quiet", cwd=clone)
    author = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    run("git", *author, "commit", "--quiet", "--allow-empty", "--message=other", cwd=clone)
    target = clone / "packages"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target)
    run(*pip, wheel, cwd=clone)
    return target


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """An empty folder to work in."""
    return tmp_path


def gluon_attn(installed: Path, cwd: Path, *arguments: str, status: int = 0) -> str:
    """The command line of the installed wheel.

    ``-S`` disables the editable installation of the repository: packages come from the wheel or are missing.
    """
    path = os.pathsep.join([str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    variables = {"PYTHONPATH": path, "GLUON_ATTN_CACHE": str(cwd / "cache"), "GLUON_ATTN_OFFLINE": "1"}
    variables |= {"XDG_CACHE_HOME": str(cwd / "user-cache"), "COLUMNS": "200"}
    return run(sys.executable, "-S", "-m", "reproductions", *arguments, cwd=cwd, status=status, **variables)


def below(*folders: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_it_contains_every_module_template_sample_and_table(contents: set[str]) -> None:
    wanted = {name for name in below(*PACKAGES) if Path(name).suffix in {".py", *DATA}}
    wanted |= below("preprocessing/corpora/sample")
    wanted |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "reproductions" / "results").glob("*.json")}
    assert len(wanted) > 200
    assert sorted(wanted - contents) == []
    assert sorted(contents - wanted) == []


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 2 * 2**20, "a network or a corpus is in it"


def test_it_has_the_licence_and_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert [name for name in names if name.endswith("/licenses/LICENSE")] != []
        (scripts,) = [name for name in names if name.endswith("entry_points.txt")]
        assert "gluon-attn = reproductions.cli.app:main" in archive.read(scripts).decode()


def test_list_names_the_papers_and_their_results(installed: Path, empty: Path) -> None:
    text = gluon_attn(installed, empty, "list")
    (line,) = (line for line in text.splitlines() if line.startswith(PAPER))
    assert "no results yet" not in line


def test_compare_shows_the_table(installed: Path, empty: Path) -> None:
    assert "accuracy" in gluon_attn(installed, empty, "compare", PAPER)


@pytest.mark.parametrize("command", [("publish", PAPER), ("report",), ("report", "--check")], ids=" ".join)
def test_commands_that_need_a_clone_say_so(installed: Path, empty: Path, command: tuple[str, ...]) -> None:
    refusal = gluon_attn(installed, empty, *command, status=2)
    assert refusal.startswith("gluon-attn: "), refusal
    assert "use a clone of the project" in refusal
    assert refusal.count("\n") == 1


def test_doctor_finds_no_problem(installed: Path, empty: Path) -> None:
    text = gluon_attn(installed, empty, "doctor")
    assert text.rstrip().splitlines()[-1].startswith("0 problems")
    assert "make jvm" not in text, "there is no Makefile"


def test_preprocessing_writes_the_sample(installed: Path, empty: Path) -> None:
    gluon_attn(installed, empty, "preprocess", "naver", "--sample", "--out", "naver")
    assert (empty / "naver" / "card.html").stat().st_size > 0


def test_verify_finds_the_committed_bits(installed: Path, empty: Path) -> None:
    text = gluon_attn(installed, empty, "verify", PAPER, "--preset", "smoke", "--variant", VARIANT, "--jobs", "1")
    assert "same bits" in text


def test_a_paper_trains_on_the_sample(installed: Path, empty: Path) -> None:
    for command in ("run", "score"):
        gluon_attn(installed, empty, command, PAPER, "--preset", "smoke", "--variant", VARIANT, "--jobs", "1")
    (results,) = (empty / "runs").rglob("results.json")
    assert json.loads(results.read_text(encoding="utf-8"))["manifest"]["commit"] == "unknown"
