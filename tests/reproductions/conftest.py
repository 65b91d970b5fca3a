"""The toy paper as a user's own script: a copy in a folder of the test, given by its path."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def toy(tmp_path: Path) -> str:
    """Path of a copy of the toy paper; its results go next to it, below ``tmp_path / "paper"``."""
    (tmp_path / "paper").mkdir()
    return str(shutil.copy(Path(__file__).with_name("toy.py"), tmp_path / "paper" / "toy.py"))
