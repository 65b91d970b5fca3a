"""A user's own script with its runs, for the tests of the command line."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from reproductions.protocol.runs import Run
from tests.reproductions.support import Answer, gluon_attn, run

WARNING = "MEAN NOTHING ***"


def files(folder: Path) -> dict[str, tuple[str, int]]:
    """Hash and modification time of every file below a folder; locks are empty."""
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def hashes(folder: Path) -> dict[str, str]:
    return {name: sha256 for name, (sha256, _) in files(folder).items()}


class Project:
    """A user's own script and the folder of its runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.script = str(shutil.copy(Path(__file__).parents[1] / "toy.py", folder / "toy.py"))
        self.runs = folder / "runs"

    def command(self, name: str, *more: object, stdin: bytes = b"") -> Answer:
        """A command on the smoke preset."""
        return gluon_attn(name, self.script, "--preset", "smoke", "--runs", self.runs, *more, stdin=stdin)

    def run(self, variant: str, **parts: object) -> Run:
        return run(self.runs, variant, paper=self.script, **parts)  # type: ignore[arg-type]
