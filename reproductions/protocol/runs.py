"""Runs: a run is one training, with its files and its outcome."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from gluon_attn.files import read_arrays, write_arrays
from preprocessing.files import write_json
from reproductions.protocol.own_data import OwnData

CONFIG, TRAINING, CHECKPOINT, PREPROCESSING = "config.json", "training.json", "checkpoint.npz", "preprocessing.npz"
"""Files of a completed run."""

OUTCOME = "outcome.json"
"""The file that a scored run has too; it is written last."""

PROCESSES = "processes.json"
"""The file of the commits, the environment and the divisions of the work of the processes that train a run."""

CHOSEN = "chosen"
"""The entry of a training's record with what was chosen on validation after it, if anything was."""

SAMPLE = "sample"
"""Name of the embedded corpus, on which results are meaningless."""

REPLACE = "replace the run (--overwrite), or copy the network again"
"""What to do if the configuration of a run is damaged: a run cannot be resumed without it."""

RESTORE = "restore it from the repository"
"""What to do if a published file is damaged."""

_COMMON = {"history", "train_seconds", "parameters", "parameters_sha256"}
_COMMON |= {"corpus", "corpora", "pipeline", "commit", "environment"}
_RECORD, _TRAINING = {"metrics", *_COMMON}, {"best_epoch", "selected_by", *_COMMON}
_AGAIN = "delete it and run again with --resume"
_SCORE_AGAIN = "score it again (gluon-attn score)"
_KEPT = (CONFIG, OUTCOME, "predictions.npz", "examples.json")


@dataclass(frozen=True)
class Run:
    """One training: a variant with a seed, in a profile.

    Attributes:
        paper: name of a script of this project, or the path of another script.
        preset, variant: names of the preset and of the variant.
        seed: seed of the training; for an ensemble, its seeds, such as ``1+2``.
        profile, threads: profile and number of threads of the runtime.
        runs: folder of all run directories.
        on_sample: whether the embedded sample is read because the corpus was missing when the run started.
        own: the user's own data, which are read instead of the corpus.
    """

    paper: str
    preset: str
    variant: str
    seed: int | str
    profile: str
    threads: int | None
    runs: Path
    on_sample: bool = False
    own: OwnData | None = None

    @property
    def paper_name(self) -> str:
        """Name of the paper, even if its script is given by a path."""
        return Path(self.paper).stem

    @property
    def root(self) -> Path:
        """The folder of all runs of the same paper, preset, profile and corpus. Its name contains the digest of the
        user's own data."""
        corpus = f"-own-{self.own.digest[:8]}" if self.own else "-sample" if self.on_sample else ""
        return self.runs / self.paper_name / f"{self.preset}-{self.profile}{corpus}"

    @property
    def directory(self) -> Path:
        """The directory of this run."""
        return self.root / self.variant / f"seed-{self.seed}"

    @property
    def label(self) -> str:
        """Its name in a manifest."""
        return f"{self.variant}/{self.seed}"

    @property
    def is_trained(self) -> bool:
        """Whether the training was completed."""
        return (self.directory / TRAINING).exists()

    @property
    def is_scored(self) -> bool:
        """Whether the test split was scored."""
        return (self.directory / OUTCOME).exists()

    def arguments(self) -> list[str]:
        """Arguments of the inner commands that train or score this run."""
        flags = ["--preset", self.preset, "--variant", self.variant, "--seed", str(self.seed)]
        flags += ["--profile", self.profile, "--runs", str(self.runs), *(["--on-sample"] if self.on_sample else [])]
        flags += self.own.options.words if self.own else []
        return [self.paper, *flags, *(["--threads", str(self.threads)] if self.threads else [])]

    @property
    def options(self) -> str:
        """Those of its options that are not the defaults, besides preset, variant and seed, quoted for a shell."""
        profile = "" if self.profile == "portable" else f" --profile {self.profile}"
        threads = f" --threads {self.threads}" if self.threads else ""
        runs = "" if self.runs == Path("runs") else f" --runs {shlex.quote(str(self.runs))}"
        return f"{profile}{threads}{runs}{self.own.command_line if self.own else ''}"

    @property
    def command_line(self) -> str:
        """Its paper and options, as messages suggest them for a command, quoted for a shell."""
        of = f"{shlex.quote(self.paper)} --preset {self.preset} --variant {self.variant} --seed {self.seed}"
        return f"{of}{self.options}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a finished run.

    Attributes:
        directory: run directory, or folder of a published outcome.
        variant, seed: variant and seed of the run.
        record: content of ``outcome.json``: metrics, history, number of parameters and their SHA-256, corpus, commit,
            environment.
        is_published: whether it is one of the repository, which no run replaces.
    """

    directory: Path
    variant: str
    seed: int | str
    record: dict[str, Any]
    is_published: bool = False

    @classmethod
    def read(cls, directory: Path, variant: str, seed: int | str, *, is_published: bool = False) -> Outcome:
        """Read the outcome of a finished run from a folder.

        Raises:
            UsageError: if the file is missing or damaged.
        """
        path, remedy = directory / OUTCOME, RESTORE if is_published else f"delete it and {_SCORE_AGAIN}"
        record = read_json(path, remedy)
        if not isinstance(record, dict) or not record.keys() >= _RECORD:
            raise UsageError(f"{path}: damaged (no outcome of a run); {remedy}")
        return cls(directory, variant, seed, record, is_published)

    @classmethod
    def of(cls, run: Run) -> Outcome:
        """Read the outcome of a run.

        Raises:
            UsageError: if the run is not trained or not scored, or if its files are damaged.
        """
        if not run.is_scored:
            if not run.is_trained:
                raise not_trained(run)
            raise UsageError(
                f"{run.directory}: {run.variant} with seed {run.seed} has not been scored yet. Score it with: "
                f"gluon-attn score {run.command_line}"
            )
        return cls.read(run.directory, run.variant, run.seed)

    @property
    def label(self) -> str:
        """Its name in a manifest."""
        return f"{self.variant}/{self.seed}"

    @property
    def on_own_data(self) -> bool:
        """Whether it was trained on the user's own data."""
        return "data" in self.record

    @property
    def is_ensemble(self) -> bool:
        """Whether it was combined from the networks of several seeds."""
        return isinstance(self.seed, str)

    @property
    def on_sample(self) -> bool:
        """Whether the embedded sample was read, so that the numbers mean nothing."""
        return bool(self.record["corpus"] == SAMPLE)

    @cached_property
    def predictions(self) -> dict[str, np.ndarray]:
        """Arrays over the items of the test split, in the order of the corpus."""
        return read_arrays(self.directory / "predictions.npz", remedy=self._remedy)

    @cached_property
    def examples(self) -> dict[str, Any]:
        """Examples that figures show, by name; empty if a task keeps none."""
        path = self.directory / "examples.json"
        examples: dict[str, Any] = read_json(path, self._remedy) if path.exists() else {}
        return examples

    @cached_property
    def texts(self) -> dict[str, np.ndarray]:
        """Arrays over all test items that pages show; empty for a published outcome."""
        path = self.directory / "texts.npz"
        return read_arrays(path, remedy=self._remedy) if path.exists() else {}

    @property
    def _remedy(self) -> str:
        return RESTORE if self.is_published else f"delete it and the {OUTCOME} next to it, and {_SCORE_AGAIN}"

    def publish(self, root: Path) -> None:
        """Copy the files that may be published below a folder of outcomes: no parameters and no corpus texts."""
        target = root / self.variant / f"seed-{self.seed}"
        target.mkdir(parents=True, exist_ok=True)
        for name in _KEPT:
            if (self.directory / name).exists():
                shutil.copyfile(self.directory / name, target / name)


def paired(first: Sequence[Outcome], second: Sequence[Outcome]) -> list[tuple[Outcome, Outcome]]:
    """The outcomes of two variants in pairs, for the seeds that both have."""
    of_second = {outcome.seed: outcome for outcome in second}
    return [(outcome, of_second[outcome.seed]) for outcome in first if outcome.seed in of_second]


def not_trained(run: Run, *others: Run) -> UsageError:
    """The error of runs that are not trained, which says how to train the first and names the others."""
    more = f" (nor {', '.join(f'{other.variant}/{other.seed}' for other in others)})" if others else ""
    of_corpus = "; a network trained on the corpus needs the corpus here" if run.on_sample else ""
    where = " on the embedded sample" if run.on_sample else ""
    return UsageError(
        f"{run.directory}: {run.variant} with seed {run.seed} has not been trained yet{where}{more}. Train it with: "
        f"gluon-attn run {run.command_line}{of_corpus}"
    )


def training_of(run: Run) -> dict[str, Any]:
    """Read the record of a training, ``training.json``: history, best epoch, number of parameters and their SHA-256,
    corpus, commit, environment.

    Raises:
        UsageError: if the run is not trained, or if the file is damaged.
    """
    if not run.is_trained:
        raise not_trained(run)
    return training_in(run.directory)


def training_in(directory: Path) -> dict[str, Any]:
    """Read the record of a training from a run directory or a copy of it.

    Raises:
        UsageError: if the file is missing or damaged.
    """
    path = directory / TRAINING
    record = read_json(path)
    if not isinstance(record, dict) or not record.keys() >= _TRAINING:
        raise UsageError(f"{path}: damaged (no record of a training); {_AGAIN}")
    return record


def write_outcome(
    directory: Path,
    record: dict[str, Any],
    predictions: dict[str, np.ndarray],
    examples: dict[str, Any],
    texts: dict[str, np.ndarray],
) -> None:
    """Write the files of an outcome in place of earlier ones; ``outcome.json`` comes last, so that it exists only if
    all others do."""
    for name in (OUTCOME, "examples.json", "texts.npz"):
        (directory / name).unlink(missing_ok=True)
    write_arrays(directory / "predictions.npz", predictions, compressed=True)
    if texts:
        write_arrays(directory / "texts.npz", texts, compressed=True)
    if examples:
        write_json(directory / "examples.json", examples)
    write_json(directory / OUTCOME, record)


_SEEDS = re.compile(r"seed-(\d+(?:\+\d+)*)")


def published_outcomes(root: Path, names: Sequence[str]) -> list[Outcome]:
    """Read the outcomes of these variants and ensembles below a folder, in the order of :func:`in_order`.

    Raises:
        UsageError: if one of the files is damaged.
    """
    outcomes = []
    for name in names:
        for path in sorted((root / name).glob("seed-*")):
            if match := _SEEDS.fullmatch(path.name):
                seed = match[1]
                outcomes.append(Outcome.read(path, name, int(seed) if seed.isdigit() else seed, is_published=True))
    return in_order(outcomes, names)


def in_order(outcomes: Iterable[Outcome], names: Sequence[str]) -> list[Outcome]:
    """Sort outcomes as in a table, in whatever order they were run: by these names, then by seed, with ensembles
    last."""

    def position(outcome: Outcome) -> tuple[int, bool, list[int]]:
        return names.index(outcome.variant), outcome.is_ensemble, [int(seed) for seed in str(outcome.seed).split("+")]

    return sorted(outcomes, key=position)


def by_variant(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes grouped by variant, in the order of ``outcomes``."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.variant, []).append(outcome)
    return groups


def read_json(path: Path, remedy: str = "") -> Any:
    """Read a JSON file of a run.

    Raises:
        UsageError: if it is missing or damaged; the message ends with ``remedy``, by default how to run again.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: is missing; {remedy or 'run again with --resume'}") from None
    except ValueError as error:
        raise UsageError(f"{path}: damaged ({error}); {remedy or _AGAIN}") from None
