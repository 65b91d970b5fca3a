"""Projects of a user: without runs, and with two trained networks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.reproductions.cli.project import Project
from tests.reproductions.support import Answer


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Answer]:
    """Two variants with one seed, trained in parallel and scored: the project, which no test changes, and what scoring
    printed."""
    project = Project(tmp_path_factory.mktemp("project"))
    options = ("--variant", "straight", "--variant", "curved", "--jobs", 2)
    with pytest.MonkeyPatch.context() as patch:  # as the other fixtures do for a single test
        patch.delenv("GLUON_ATTN_DATA", raising=False)
        patch.setenv("GLUON_ATTN_CACHE", str(tmp_path_factory.mktemp("cache")))
        assert project.command("run", *options).code == 0
        return project, project.command("score", *options)


@pytest.fixture
def copy(trained: tuple[Project, Answer], tmp_path: Path) -> Project:
    """A copy of that project."""
    copy = Project(tmp_path / "copy")
    shutil.copytree(trained[0].runs, copy.runs)
    return copy


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project without trained runs."""
    return Project(tmp_path)
