"""The folder of one training run."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError


class RunDirectory:
    """A folder that belongs to one run: ``config.json``, ``checkpoint.npz``, ``metrics.jsonl`` and ``metrics.csv``.

    Opening it settles what may happen to what is there already.

    Raises:
        UsageError: the folder holds a run and neither ``resume`` nor ``overwrite`` was asked for, or the run to resume
            was made with another configuration.
    """

    def __init__(self, path: Path, config: Mapping[str, Any], *, resume: bool = False, overwrite: bool = False) -> None:
        self.path, self.checkpoint = path, path / "checkpoint.npz"
        config_path = path / "config.json"
        wanted = json.loads(json.dumps(config))
        if config_path.exists() and overwrite:
            replaced = path.with_name(f".{path.name}.replaced")
            shutil.rmtree(replaced, ignore_errors=True)
            path.rename(replaced)  # at once: nothing of the old run is ever taken for the new one
            shutil.rmtree(replaced)
        if config_path.exists():
            if not resume:
                raise UsageError(f"{path}: a run is here already; go on with it (--resume) or replace it (--overwrite)")
            try:
                found = json.loads(config_path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise UsageError(f"{config_path}: damaged ({error}); replace the run (--overwrite)") from None
            if found != wanted:
                keys = sorted(key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key))
                raise UsageError(
                    f"{path}: the run here differs in {', '.join(keys)}; choose another --runs or --overwrite"
                )
        self._write("config.json", json.dumps(wanted, ensure_ascii=False, indent=2) + "\n")

    def write_metrics(self, history: list[dict[str, float]]) -> None:
        """Write the whole history; a resumed run leaves no row of an epoch that it repeats."""
        self._write("metrics.jsonl", "".join(json.dumps(row) + "\n" for row in history))
        table = io.StringIO()
        writer = csv.DictWriter(table, fieldnames=list(history[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(history)
        self._write("metrics.csv", table.getvalue())

    def _write(self, name: str, text: str) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        beside = self.path / f".{name}.part"
        with beside.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(self.path / name)
