"""The record of every reading of the test split for a published table."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gluon_attn.errors import UsageError
from preprocessing.errors import InputError
from preprocessing.files import write_json
from reproductions.protocol import papers
from reproductions.protocol.manifest import commit
from reproductions.protocol.runs import Run, training_of


@dataclass(frozen=True)
class Reading:
    """One reading of the test split.

    Attributes:
        variant, seed: variant and seed of the network that was scored.
        parameters_sha256: SHA-256 of its parameters.
        commit: commit that scored it; for readings before this record existed, the commit that first published the
            result.
        when: time in UTC of the scoring or of that commit.
        note: what was changed after the test split was read, if anything.
    """

    variant: str
    seed: int | str
    parameters_sha256: str
    commit: str
    when: str
    note: str = ""


def record_path(paper: str) -> Path:
    """The file of a paper's record."""
    return papers.results_folder(paper) / Path(paper).stem / "test_readings.json"


def read_readings(paper: str) -> list[Reading]:
    """All readings of a paper, in order.

    Raises:
        UsageError: if the record is damaged.
    """
    path = record_path(paper)
    if not path.exists():
        return []
    try:
        return [Reading(**reading) for reading in json.loads(path.read_text(encoding="utf-8"))]
    except (TypeError, ValueError) as error:
        raise UsageError(f"{path}: damaged ({error}); restore it from the repository") from None


def append(paper: str, runs: Sequence[Run], note: str = "") -> Path:
    """Record a reading by each of these trained runs, before they read the test split. Returns the file of the
    record. No other process adds to it at the same time.

    Raises:
        UsageError: if the record cannot be written, as in some installations without a clone.
    """
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    at = commit()
    new = [Reading(run.variant, run.seed, training_of(run)["parameters_sha256"], at, now, note) for run in runs]
    path = record_path(paper)
    try:
        with papers.locked_results(paper):
            write_json(path, [asdict(reading) for reading in [*read_readings(paper), *new]])
    except (OSError, InputError) as error:
        reason = f"this reading of the test split cannot be recorded ({error})"
        raise UsageError(f"{path}: {reason}; score in a clone of the repository that can be written") from None
    return path


def record(paper: str, runs: Sequence[Run]) -> Path:
    """Record a reading by each of these trained runs; a note says that some have read the test split before. Arguments
    and errors as for :func:`append`."""
    first = unrecorded(paper, runs)
    if again := [run for run in runs if run not in first]:
        append(paper, again, "Some trainings were scored again.")
    return append(paper, first) if first else record_path(paper)


def summary(readings: Sequence[Reading], trained: Mapping[str, str]) -> list[str]:
    """State how often the test split was read for a table, in one sentence, followed by the notes of the readings.

    Args:
        readings: the readings of the paper; without any, the summary is empty.
        trained: SHA-256 of the parameters of each training in the table, by ``variant/seed``.
    """
    if not readings:
        return []
    others = [reading for reading in readings if reading.parameters_sha256 not in trained.values()]
    replaced = [reading for reading in others if f"{reading.variant}/{reading.seed}" in trained]
    missing = [reading for reading in others if reading not in replaced]
    times = f"{len(readings)} time{'s' if len(readings) > 1 else ''}"
    trainings = f"{len(trained)} training{'s' if len(trained) > 1 else ''}"
    sentence = f"The test split was read {times} for the {trainings} of this table"
    for some, which in ((replaced, "were replaced"), (missing, "are not in it")):
        if some:
            variants = ", ".join(f"`{name}`" for name in dict.fromkeys(reading.variant for reading in some))
            sentence += f", {len(some)} of them by trainings that {which} ({variants})"
    return [f"{sentence}.", *dict.fromkeys(reading.note for reading in readings if reading.note)]


def unrecorded(paper: str, runs: Sequence[Run]) -> list[Run]:
    """The trained runs among these of which no reading is recorded."""
    recorded = {(one.variant, str(one.seed), one.parameters_sha256) for one in read_readings(paper)}
    return [run for run in runs if (run.variant, str(run.seed), training_of(run)["parameters_sha256"]) not in recorded]
