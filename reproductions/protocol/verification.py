"""Verify results: compare parameters, predictions, metrics and digests of new trainings or of finished runs."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gluon_attn.errors import UsageError
from preprocessing import corpora
from reproductions.protocol import papers, runner
from reproductions.protocol.loading import best_parameters
from reproductions.protocol.own_data import OwnData
from reproductions.protocol.preparing import by_stage, networks_to_train_first
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.results import Result
from reproductions.protocol.runs import RESTORE, Outcome, Run

Compare = Callable[[Outcome], dict[str, bool]]
"""A function that compares an outcome: for each compared item, by name, whether it is the same."""

ENVIRONMENT = "environment"


@dataclass(frozen=True)
class Comparison:
    """A run compared with its published outcome, or with a second training.

    Attributes:
        label: label of the run.
        parameters_sha256: SHA-256 of its parameters.
        checks: for each compared item, by name, whether it is the same. The environment is one of them, but does not
            decide: another release of Python gives another digest, and the same bits.
    """

    label: str
    parameters_sha256: str
    checks: dict[str, bool]

    @property
    def is_same(self) -> bool:
        return all(same for name, same in self.checks.items() if name != ENVIRONMENT)

    def __str__(self) -> str:
        names = ", ".join(name for name, same in self.checks.items() if same == self.is_same)
        other = "; in another environment" if self.is_same and not self.checks.get(ENVIRONMENT, True) else ""
        return f"{'same   ' if self.is_same else 'DIFFERS'} {self.label} {self.parameters_sha256}: {names}{other}"


def verify(
    paper: str,
    preset_name: str,
    variants: Sequence[str],
    seeds: Sequence[int],
    profile: str,
    threads: int | None,
    jobs: int | None,
    finished: Path | None = None,
    own: OwnData | None = None,
) -> tuple[list[str], bool]:
    """Compare parameters, predictions, metrics, and the digest of the data; another environment is named.

    In the ``portable`` profile, runs are compared with the published results. In ``fast``, whose bits depend on the
    machine and the number of threads, and on the user's own data, they are compared with a second training. Nothing is
    trained that could not be compared.

    Args:
        paper, preset_name, variants, seeds, profile, threads, jobs: what is trained, and how; without ``variants`` and
            ``seeds``, the defaults of the preset, as far as they are published.
        finished: folder of finished runs that are compared; if None, the runs are trained.
        own: the user's own data, which are read instead of the corpus.

    Returns:
        The lines of the report, one for each run and a summary, and whether all runs are the same.

    Raises:
        UsageError: if there is nothing to compare with, or if a run of ``finished`` is not scored.
        InputError: if a corpus is missing; the embedded sample is no substitute.
    """
    preset = papers.load(paper).preset(preset_name)
    preset = preset.on(own) if own else preset
    how: dict[str, Any] = {"variants": variants, "seeds": seeds, "profile": profile, "threads": threads}
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        wanted = runner.runs_of(paper, preset, **how, runs=finished or Path(first))
        skipped: list[Run] = []
        if profile == "portable" and own is None and not variants and not seeds:
            wanted, skipped = _published(paper, preset, wanted)
        if finished is None and not preset.on_sample and own is None:
            for corpus in dict.fromkeys(name for run in wanted for name in preset.task(run.variant).corpora):
                corpora.find(corpus)
        done = [_finished(run) for run in wanted] if finished else []  # before a second training, which takes long
        if profile == "portable" and own is None:
            against, options, compare = _with_published(paper, preset, wanted, prepare=finished is None)
        else:
            again = runner.runs_of(paper, preset, **how, runs=Path(second))
            against, options, compare = "a second training", {}, _with_second(_trained(again, {}, jobs))
        outcomes = done if finished else _trained(wanted, options, jobs)
        comparisons = [
            Comparison(outcome.label, outcome.record["parameters_sha256"], compare(outcome)) for outcome in outcomes
        ]

    same = all(comparison.is_same for comparison in comparisons)
    verdict = "same bits as" if same else "NOT the same bits as"
    summary = f"{Path(paper).stem}, preset {preset_name}, profile {profile}: {verdict} {against}"
    if not same and papers.load(paper).bits_of_one_processor:
        summary += "; the bits of this paper's networks belong to one model of processor"
    if skipped:
        summary += f"; not published, so not compared: {', '.join(run.label for run in skipped)}"
    return [*map(str, comparisons), summary], same


def _published(paper: str, preset: Preset, wanted: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The runs that are published, or all if none is, and the others."""
    hashes = Result.read(papers.results_path(paper, preset.name)).manifest["parameters_sha256"]
    published = [run for run in wanted if run.label in hashes] or list(wanted)
    return published, [run for run in wanted if run not in published]


def _trained(runs: Sequence[Run], options: Mapping[str, Sequence[str]], jobs: int | None) -> list[Outcome]:
    """Train and score runs, each with the options that change bits, by label; those with such options one by one. The
    networks that they start from are trained in the same way, but not scored."""
    for stage in by_stage([*networks_to_train_first(runs), *runs]):
        own = {run for run in stage if run.paper == runs[0].paper}  # labels are those of one paper
        how = {run: (tuple(options.get(run.label, ())) if run in own else (), run in runs) for run in stage}
        for words, scored in dict.fromkeys(how.values()):
            alike = [run for run in stage if how[run] == (words, scored)]
            count = 1 if words else jobs or runner.default_jobs(alike[0].profile)
            runner.train_all(alike, jobs=count, resume=False, overwrite=False, then_score=scored, options=words)
    return [Outcome.of(run) for run in runs]


def _with_second(outcomes: Sequence[Outcome]) -> Compare:
    """A function that compares an outcome with that of a second training of the same run."""
    second = {outcome.label: outcome for outcome in outcomes}
    return lambda outcome: _checks(outcome, second[outcome.label])


def _with_published(
    paper: str, preset: Preset, wanted: Sequence[Run], *, prepare: bool
) -> tuple[str, Mapping[str, Sequence[str]], Compare]:
    """The name of the published results, the options of their trainings that change bits, and a function that compares
    an outcome with them."""
    path = papers.results_path(paper, preset.name)
    result = Result.read(path)
    manifest = result.manifest
    if manifest["profile"] != "portable":
        reason = f"made in the {manifest['profile']} profile, whose bits belong to one machine"
        remedy = f"add --profile {manifest['profile']}, to compare two trainings on this machine"
        raise UsageError(f"{path}: {reason}; {remedy}")
    if missing := [run.label for run in wanted if run.label not in manifest["parameters_sha256"]]:
        raise UsageError(f"{path}: has no parameters of {', '.join(missing)}; publish them first")
    for run in wanted if prepare and preset.name == "cpu" else ():  # only this preset has published outcomes
        directory = papers.outcome_folder(paper, run.variant, run.seed)
        if directory.exists() and not runner.trained_as_declared(preset, run.variant, directory, RESTORE):
            reason = f"published with other settings than {run.variant} has now, so a training gives other parameters"
            raise UsageError(f"{directory}: {reason}; name other variants with --variant")
    options: Mapping[str, Sequence[str]] = manifest.get("options", {})
    first = [run for run in networks_to_train_first(wanted) if run.paper == paper] if prepare else []
    if fast := [run.label for run in (*first, *wanted) if "--profile" in options.get(run.label, ())]:
        reason = "made in the fast profile, whose bits belong to one machine; name others with --variant"
        raise UsageError(f"{path}: {', '.join(fast)} {reason}")
    for name in dict.fromkeys(run.variant for run in wanted) if prepare else ():
        data = preset.task(name).prepare(preset.variant(name).settings, sample=preset.on_sample)
        if manifest["pipeline"][name] != data.digest:
            reason = f"{name} was trained on other data than the {data.corpus} corpus gives here"
            raise UsageError(f"{path}: {reason}; `gluon-attn doctor` checks the files of the corpus and the tokenizers")

    def compare(outcome: Outcome) -> dict[str, bool]:
        directory = papers.outcome_folder(paper, outcome.variant, outcome.seed)
        if preset.name == "cpu" and directory.exists():
            return _checks(
                outcome, Outcome.read(directory, outcome.variant, outcome.seed, is_published=True), newer=True
            )
        return _checks_by_table(outcome, preset, result)

    return path.name, options, compare


def _checks(outcome: Outcome, other: Outcome, *, newer: bool = False) -> dict[str, bool]:
    """Compare with another outcome of the same run; a ``newer`` outcome may have measured more."""
    names = ("parameters_sha256", "pipeline", ENVIRONMENT)
    same = {name.removesuffix("_sha256"): outcome.record[name] == other.record[name] for name in names}
    metrics, theirs = outcome.record["metrics"], other.record["metrics"]
    metrics = {name: metrics[name] for name in theirs if name in metrics} if newer else metrics
    same["metrics"] = metrics.keys() == theirs.keys() and all(_alike(metrics[name], theirs[name]) for name in metrics)
    compared = {name: outcome.predictions[name] for name in other.predictions if name in outcome.predictions}
    return {**same, "predictions": _same_arrays(compared if newer else outcome.predictions, other.predictions)}


def _checks_by_table(outcome: Outcome, preset: Preset, result: Result) -> dict[str, bool]:
    """Compare with the results file, for presets without published outcomes."""
    record, manifest = outcome.record, result.manifest
    checks = {
        "parameters": record["parameters_sha256"] == manifest["parameters_sha256"][outcome.label],
        "pipeline": record["pipeline"] == manifest["pipeline"][outcome.variant],
        ENVIRONMENT: record[ENVIRONMENT] == manifest[ENVIRONMENT],
    }
    published = {(row.variant, row.split, row.metric, row.signature): row for row in result.rows}
    for row in preset.task(outcome.variant).rows([outcome], preset.variant(outcome.variant)):
        before = published.get((row.variant, row.split, row.metric, row.signature))
        same = before is not None and _alike(before.per_seed.get(str(outcome.seed)), row.mean)
        name = f"{row.split} {row.metric}"
        checks[name] = checks.get(name, True) and same  # one metric may have several signatures
    return checks


def _alike(first: Any, second: Any) -> bool:
    """Whether two numbers are equal but for the last bits: those of exponentials differ among processors."""
    numbers = isinstance(first, float) and isinstance(second, float)
    return math.isclose(first, second, rel_tol=1e-12) if numbers else bool(first == second)


def _finished(run: Run) -> Outcome:
    """The outcome of a finished run, after checking the parameters of its checkpoint against their recorded hash."""
    outcome = Outcome.of(run)
    best_parameters(run.directory)
    return outcome


def _same_arrays(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    """Whether both contain the same arrays; NaN counts as equal to NaN."""
    return first.keys() == second.keys() and all(
        np.array_equal(first[name], second[name], equal_nan=first[name].dtype.kind == "f") for name in first
    )
