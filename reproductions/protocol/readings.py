"""The record of how often the test split was read for a published table."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gluon_attn.errors import UsageError
from preprocessing.files import write_json
from reproductions.protocol import papers
from reproductions.protocol.manifest import commit
from reproductions.protocol.runs import Run, read_json, training_of


@dataclass(frozen=True)
class Reading:
    """One reading of the test split.

    Attributes:
        variant, seed: of the network that was scored.
        parameters_sha256: its parameters.
        commit: that scored it; before this record was kept, the one that published the result first.
        when: the time in UTC, of scoring or of that commit.
        note: what was changed after the test split was read, where something was.
    """

    variant: str
    seed: int | str
    parameters_sha256: str
    commit: str
    when: str
    note: str = ""


def record_path(paper: str) -> Path:
    """Where the record of a paper is."""
    return papers.results_folder(paper) / Path(paper).stem / "test_readings.json"


def read_readings(paper: str) -> list[Reading]:
    """All readings of a paper, in their order.

    Raises:
        UsageError: the record is damaged.
    """
    path = record_path(paper)
    if not path.exists():
        return []
    try:
        return [Reading(**reading) for reading in read_json(path)]
    except TypeError as error:
        raise UsageError(f"{path}: damaged ({error}); restore it from the repository") from None


def append(paper: str, runs: Sequence[Run]) -> Path:
    """Add a reading by each of these trained runs, before they read the test split; the file of the record."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    at = commit()
    new = [Reading(run.variant, run.seed, training_of(run)["parameters_sha256"], at, now) for run in runs]
    path = record_path(paper)
    write_json(path, [asdict(reading) for reading in [*read_readings(paper), *new]])
    return path


def summary(readings: Sequence[Reading], trained: Sequence[str]) -> list[str]:
    """How often the test split was read for a table: a sentence, and paragraphs of what was changed after.

    Args:
        readings: of the paper; without any, nothing is said.
        trained: SHA-256 of the parameters of all trainings in the table.
    """
    if not readings:
        return []
    replaced = [reading for reading in readings if reading.parameters_sha256 not in trained]
    times = f"{len(readings)} time{'s' if len(readings) > 1 else ''}"
    trainings = f"{len(trained)} training{'s' if len(trained) > 1 else ''}"
    sentence = f"The test split was read {times} for the {trainings} of this table"
    if replaced:
        variants = ", ".join(f"`{name}`" for name in dict.fromkeys(reading.variant for reading in replaced))
        sentence += f", {len(replaced)} of them by trainings that were replaced ({variants})"
    return [f"{sentence}.", *dict.fromkeys(reading.note for reading in readings if reading.note)]
