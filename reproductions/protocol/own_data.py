"""The user's own data, which a task reads instead of its registered corpus."""

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
    """The command line options that name the user's own data.

    Attributes:
        train, validation, test: files of the splits.
        folder: folder of files with the names that a task expects.
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
        """The options as words of a command line."""
        return [word for name in self.given for word in (f"--{name}", str(getattr(self, name)))]

    def require(self, task: str, *choices: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
        """Check that the given options are exactly those of one of these choices, plus any of the optional ones.

        Raises:
            UsageError: if they are not; the message names the choices.
        """
        given = set(self.given)
        if any(set(choice) <= given <= {*choice, *optional} for choice in choices):
            return
        ways = " or ".join(" ".join(f"--{name}" for name in choice) for choice in choices)
        typed = " ".join(f"--{name}" for name in self.given)
        possible = {*optional, *(name for choice in choices for name in choice)}
        without = " ".join(f"--{name}" for name in self.given if name not in possible)
        remedy = f"leave out {without}" if without else "give these and no others"
        raise UsageError(f"{task} on data of your own needs {ways}; given: {typed}; {remedy}")


FEWEST = 10
"""Minimum number of rows in train and in test."""


def check_sizes(rows: Mapping[str, int]) -> None:
    """Check that the train and test splits have enough rows after preprocessing.

    Raises:
        UsageError: if one of them has too few.
    """
    for split in ("train", "test"):
        if rows[split] < FEWEST:
            reason = f"{rows[split]} rows after preprocessing, at least {FEWEST} are needed to train and to compare"
            raise UsageError(f"{split}: {reason}; give more")


@dataclass(frozen=True)
class OwnData:
    """The user's own data.

    Attributes:
        files: the files with their hashes.
        options: the options that name them.
    """

    files: CorpusFiles
    options: DataOptions = DataOptions()

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def digest(self) -> str:
        """SHA-256 of the description of the data: the name of the corpus, its languages, and the name and hash of each
        part. The location of the files does not matter."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The description of the data that ``config.json`` holds."""
        languages = [language for language in (self.options.source, self.options.target) if language]
        return {"name": self.files.name, "languages": languages, "sha256": dict(sorted(self.files.sha256.items()))}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> OwnData:
        """Data without their files, from the description of :meth:`as_json`.

        Raises:
            KeyError, TypeError, ValueError: if the description is damaged.
        """
        hashes = {str(part): str(sha256) for part, sha256 in value["sha256"].items()}
        source, target = value["languages"] or (None, None)
        files = CorpusFiles(str(value["name"]), {}, hashes, "not stated", urls={}, origin="given")
        return cls(files, DataOptions(source=source, target=target))

    @property
    def file_names(self) -> dict[str, dict[str, str]]:
        """The name of each file without its folder, and its SHA-256, by part."""
        return {part: {"file": path.name, "sha256": self.files.sha256[part]} for part, path in self.files.paths.items()}

    @property
    def command_line(self) -> str:
        """The options quoted for a shell, preceded by a space."""
        return f" {shlex.join(self.options.words)}"
