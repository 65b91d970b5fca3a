"""Data of one's own, which a task is given instead of its registered corpus."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError
from preprocessing.corpora import CorpusFiles


@dataclass(frozen=True)
class DataOptions:
    """The options of the command line that name data of one's own.

    Attributes:
        train, validation, test: files.
        folder: of files with the names that a task expects.
        source, target: languages of parallel text.
    """

    train: Path | None = None
    validation: Path | None = None
    test: Path | None = None
    folder: Path | None = None
    source: str | None = None
    target: str | None = None

    @property
    def given(self) -> list[str]:
        """Names of the options that are given."""
        return [each.name for each in fields(self) if getattr(self, each.name) is not None]

    @property
    def words(self) -> list[str]:
        """The options as they are typed."""
        return [word for name in self.given for word in (f"--{name}", str(getattr(self, name)))]

    def require(self, task: str, *choices: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
        """Check that the options are those of one of these choices, and at most the optional ones besides.

        Raises:
            UsageError: they are others; the message names the choices.
        """
        given = set(self.given)
        if any(set(choice) <= given <= {*choice, *optional} for choice in choices):
            return
        ways = " or ".join(" ".join(f"--{name}" for name in choice) for choice in choices)
        typed = " ".join(f"--{name}" for name in self.given)
        raise UsageError(f"{typed}: {task} on data of your own needs {ways}")


FEWEST = 10
"""Rows of train and of test without which nothing can be trained or compared."""


def check_sizes(rows: Mapping[str, int]) -> None:
    """Check the number of rows of each split after preprocessing.

    Raises:
        UsageError: train or test has too few.
    """
    for split in ("train", "test"):
        if rows[split] < FEWEST:
            reason = f"{rows[split]} rows after preprocessing, at least {FEWEST} are needed to train and to compare"
            raise UsageError(f"{split}: {reason}; give more")


@dataclass(frozen=True)
class OwnData:
    """Data of one's own.

    Attributes:
        files: with their hashes.
        options: that name them.
    """

    files: CorpusFiles
    options: DataOptions = DataOptions()

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def digest(self) -> str:
        """SHA-256 of what they are: names of the corpus and of its parts, languages and hashes, wherever the files
        are."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """What they are, as ``config.json`` holds it."""
        languages = [language for language in (self.options.source, self.options.target) if language]
        return {"name": self.files.name, "languages": languages, "sha256": dict(sorted(self.files.sha256.items()))}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> OwnData:
        """Data as :meth:`as_json` describes them, whose files are not here.

        Raises:
            KeyError, TypeError, ValueError: the description is damaged.
        """
        hashes = {str(part): str(sha256) for part, sha256 in value["sha256"].items()}
        source, target = value["languages"] or (None, None)
        files = CorpusFiles(str(value["name"]), {}, hashes, "not stated", urls={}, origin="given")
        return cls(files, DataOptions(source=source, target=target))

    @property
    def file_names(self) -> dict[str, dict[str, str]]:
        """The name of each file, without its folder, and its SHA-256."""
        return {part: {"file": path.name, "sha256": self.files.sha256[part]} for part, path in self.files.paths.items()}

    @property
    def command_line(self) -> str:
        """The options as a shell reads them, after a space."""
        return f" {shlex.join(self.options.words)}"
