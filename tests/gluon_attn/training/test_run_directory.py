"""Opening a run directory that has an earlier run in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gluon_attn.errors import UsageError
from gluon_attn.training.run_directory import RunDirectory

CONFIG = {"seed": 1}


def refusal(path: Path, **how: Any) -> str:
    before = sorted(os.listdir(path))
    with pytest.raises(UsageError) as refused:
        RunDirectory(path, CONFIG, **how)
    assert sorted(os.listdir(path)) == before and "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("name", ["config.json", "checkpoint.npz", "outcome.json"])
def test_any_part_of_an_earlier_run_is_refused_without_resume(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}", encoding="utf-8")
    assert "has a run already" in refusal(tmp_path, markers=["outcome.json"])


@pytest.mark.parametrize("name", ["config.json", "checkpoint.npz", "outcome.json"])
def test_overwriting_removes_all_of_an_earlier_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("{}", encoding="utf-8")
    RunDirectory(tmp_path / "run", CONFIG, overwrite=True, markers=["outcome.json"])
    assert os.listdir(tmp_path) == ["run"] and os.listdir(tmp_path / "run") == ["config.json"]


def test_overwriting_a_link_removes_the_run_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "outcome.json").write_text("{}", encoding="utf-8")
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    RunDirectory(tmp_path / "run", CONFIG, overwrite=True, markers=["outcome.json"])
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "run"]
    assert os.listdir(tmp_path / "run") == os.listdir(tmp_path / "elsewhere") == ["config.json"]


@pytest.mark.parametrize("linked", [False, True])
def test_overwriting_may_be_killed_before_the_earlier_run_is_deleted(
    linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("elsewhere" if linked else "run")
    folder.mkdir()
    (folder / "outcome.json").write_text("{}", encoding="utf-8")
    if linked:
        (tmp_path / "run").symlink_to(folder)
    before = sorted(os.listdir(tmp_path))

    def killed(path: Path, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr("gluon_attn.training.run_directory.shutil.rmtree", killed)
        RunDirectory(tmp_path / "run", CONFIG, overwrite=True, markers=["outcome.json"])
    assert os.listdir(tmp_path / f".{folder.name}.replaced") == ["outcome.json"]
    RunDirectory(tmp_path / "run", CONFIG, markers=["outcome.json"])
    assert sorted(os.listdir(tmp_path)) == before and os.listdir(tmp_path / "run") == ["config.json"]


def test_a_checkpoint_without_its_configuration_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.npz").write_bytes(b"")
    assert refusal(tmp_path, resume=True).startswith(f"{tmp_path / 'config.json'}: missing")


@pytest.mark.parametrize("text", ["", "[]", "{", "3", '"text"'])
def test_a_damaged_configuration_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    assert refusal(tmp_path, resume=True).startswith(f"{tmp_path / 'config.json'}: damaged (")


def test_files_that_a_killed_process_left_incomplete_are_removed(tmp_path: Path) -> None:
    RunDirectory(tmp_path, CONFIG)
    (tmp_path / ".checkpoint.npz.123.part").write_bytes(b"half")
    RunDirectory(tmp_path, CONFIG, resume=True)
    assert os.listdir(tmp_path) == ["config.json"]
