"""The folder of one training run."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.files import write_text
from gluon_attn.training import checkpoint


class RunDirectory:
    """A folder that belongs to one run: ``config.json``, ``checkpoint.npz``, ``metrics.jsonl`` and ``metrics.csv``, and
    files added by its script. The arguments decide what happens to an earlier run in the folder.

    Args:
        config: what identifies the run; a run that is resumed must have the same.
        resume: continue an earlier run.
        overwrite: delete an earlier run.
        markers: names of files by which an earlier run is recognised, besides its configuration and checkpoint.

    Raises:
        UsageError: if the folder has a run and neither ``resume`` nor ``overwrite`` is set, or if the run to resume has
            another configuration, or its configuration is missing or damaged.
    """

    def __init__(
        self,
        path: Path,
        config: Mapping[str, Any],
        *,
        resume: bool = False,
        overwrite: bool = False,
        markers: Sequence[str] = (),
    ) -> None:
        self.path, self.checkpoint = path, path / "checkpoint.npz"
        config_path = path / "config.json"
        config = json.loads(json.dumps(config))
        if any((path / name).exists() for name in (config_path.name, self.checkpoint.name, *markers)):
            if overwrite:
                _remove(path)
            elif not resume:
                raise UsageError(f"{path}: has a run already; continue it (--resume) or replace it (--overwrite)")
            elif config_path.exists():
                _check_same(config, config_path)
            elif self.checkpoint.exists():
                raise UsageError(f"{config_path}: missing, and a checkpoint is here; replace the run (--overwrite)")
        if path.is_symlink():
            path.resolve().mkdir(parents=True, exist_ok=True)  # the folder was removed, the link stays
        for part in path.glob(".*.part"):  # a killed process was writing them
            part.unlink()
        shutil.rmtree(_replaced(path), ignore_errors=True)  # or deleting this
        write_text(config_path, json.dumps(config, ensure_ascii=False, indent=2) + "\n")

    def save(self, groups: Mapping[str, Mapping[str, np.ndarray]], state: Mapping[str, Any]) -> None:
        """Replace the checkpoint, completely or not at all.

        Raises:
            UsageError: if it cannot be written.
        """
        checkpoint.save(self.checkpoint, groups, state)

    def write_metrics(self, history: list[dict[str, float]]) -> None:
        """Write the whole history, so that a resumed run has no duplicate rows of epochs that it repeats."""
        write_text(self.path / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in history))
        table = io.StringIO()
        columns = list(dict.fromkeys(name for row in history for name in row))  # of older epochs some may be missing
        writer = csv.DictWriter(table, fieldnames=columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(history)
        write_text(self.path / "metrics.csv", table.getvalue())


class ReadOnlyRunDirectory(RunDirectory):
    """The folder of a run that another worker writes."""

    def __init__(self, path: Path) -> None:
        self.path, self.checkpoint = path, path / "checkpoint.npz"

    def save(self, groups: Mapping[str, Mapping[str, np.ndarray]], state: Mapping[str, Any]) -> None:
        """Do nothing: the first worker saves the same checkpoint."""

    def write_metrics(self, history: list[dict[str, float]]) -> None:
        """Do nothing: the first worker writes the same metrics."""


def _remove(path: Path) -> None:
    replaced = _replaced(path)
    shutil.rmtree(replaced, ignore_errors=True)
    path.resolve().rename(replaced)  # atomically, so that no file of the old run is mistaken for one of the new run
    shutil.rmtree(replaced)


def _replaced(path: Path) -> Path:
    """Where the folder of a run, or that which a link leads to, is moved to be deleted."""
    directory = path.resolve()
    return directory.with_name(f".{directory.name}.replaced")


def _check_same(config: Mapping[str, Any], path: Path) -> None:
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(saved, dict):
            raise ValueError("not an object")
    except ValueError as error:
        raise UsageError(f"{path}: damaged ({error}); replace the run (--overwrite)") from None
    if saved != config:
        keys = sorted(key for key in saved.keys() | config.keys() if saved.get(key) != config.get(key))
        raise UsageError(
            f"{path.parent}: the run here differs in {', '.join(keys)}; choose another --runs or --overwrite"
        )
