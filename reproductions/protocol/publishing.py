"""Publish results, figures and outcomes next to the script, add to published ones, and regenerate them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gluon_attn.errors import UsageError
from preprocessing.files import atomic_directory, write_json, write_text
from reproductions.protocol import papers
from reproductions.protocol.conclude import conclude, draw_figures
from reproductions.protocol.loading import preset_of
from reproductions.protocol.manifest import Training, environment, inputs, of_outcomes, pipelines
from reproductions.protocol.models import trained_directory
from reproductions.protocol.preparing import prerequisites
from reproductions.protocol.readings import read_readings
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.results import Result
from reproductions.protocol.results_page import FIGURES, results_readme, results_readme_path
from reproductions.protocol.runner import trained_as_declared
from reproductions.protocol.runs import RESTORE, Outcome, Run, in_order, published_outcomes, training_in, training_of


def publish(paper: str, preset: Preset, outcomes: Sequence[Outcome], result: Result) -> None:
    """Write the results of a preset next to the script; for preset ``cpu``, also outcomes, figures and their README.
    The results file comes last, so that no table is without its outcomes.

    Raises:
        UsageError: if something was trained on the user's own data, or cannot be repeated.
    """
    if any(outcome.on_own_data for outcome in outcomes):
        raise UsageError("results on data of your own are not published; leave out --publish")
    _check_repeatable(outcomes)
    if preset.name == "cpu":
        with atomic_directory(results_readme_path(paper).parent) as part:
            _write_folder(paper, preset, outcomes, result, part)
    result.write(papers.results_path(paper, preset.name))


def with_published(paper: str, preset: Preset, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """These outcomes and those of all other published trainings, in the order of the table.

    Raises:
        UsageError: as for :func:`check_addition`.
    """
    before = _published_besides(paper, preset, [(outcome.variant, str(outcome.seed)) for outcome in outcomes])
    return in_order([*outcomes, *before], preset.names)


def check_publication(paper: str, preset: Preset, runs: Sequence[Run], *, whole: bool) -> None:
    """Check that runs can be published, as the whole table or added to the published one, before they read the test
    split.

    Raises:
        UsageError: if one cannot be repeated, and as for :func:`check_together` and :func:`check_addition`.
    """
    _check_repeatable([_of(run) for run in runs])
    check_together(runs)
    if not whole:
        check_addition(paper, preset, runs)


def check_addition(paper: str, preset: Preset, runs: Sequence[Run]) -> None:
    """Check that runs can be added to the published table, before they read the test split.

    Raises:
        UsageError: if the settings of a published training differ from the current ones of its variant, if an ensemble
            has members that are not among these runs, or as for :func:`check_together`.
    """
    new = [(run.variant, str(run.seed)) for run in runs]
    for ensemble in preset.ensembles:
        seeds = ensemble.among((run.variant, int(run.seed)) for run in runs)
        new += [(ensemble.name, "+".join(map(str, seeds)))] if seeds else []
    before = _published_besides(paper, preset, new)
    check_together(runs, [outcome for outcome in before if not outcome.is_ensemble])


def check_together(runs: Sequence[Run], others: Sequence[Training] = ()) -> None:
    """Check that trained runs can be in one table with other trainings, before they read the test split.

    Raises:
        UsageError: if one was trained with other settings than its variant has now, or with another pretrained network
            or teacher than the one that is here; if they were trained in several environments; or if those of one
            variant were trained on different files, with different such networks or on differently prepared data.
    """
    for run in runs:
        if not trained_as_declared(preset_of(run), run.variant, run.directory):
            reason = f"trained with other settings or another recipe than {run.variant} has now"
            raise UsageError(f"{run.directory}: {reason}; train it again (--overwrite)")
        for role, source in prerequisites(run).items():
            network = trained_directory(source)
            if network and training_in(network)["parameters_sha256"] != training_of(run)["corpora"][role]:
                reason = f"its network `{role}` is not the one that {network} holds now"
                raise UsageError(f"{run.directory}: {reason}; train it again (--overwrite)")
    trained = [*map(_of, runs), *others]
    environment(trained)
    inputs(trained)
    pipelines(trained)


@dataclass(frozen=True)
class _Trained:
    """A trained run, for the checks of the manifest."""

    variant: str
    seed: int | str
    directory: Path
    record: Mapping[str, Any]


def _of(run: Run) -> _Trained:
    return _Trained(run.variant, run.seed, run.directory, training_of(run))


def _check_repeatable(trained: Sequence[Training]) -> None:
    """Refuse trainings by workers that do not wait for each other, and those that were continued with other workers,
    micro-batches or device."""
    for training in trained:
        if training.record.get("asynchronous"):
            reason = "was trained with --asynchronous, so its result cannot be repeated"
            raise UsageError(f"{training.directory}: {reason}; train it again without that option")
        if "divisions" in training.record:
            reason = "was continued with other workers, micro-batches or device, so its result cannot be repeated"
            raise UsageError(f"{training.directory}: {reason}; train it again (--overwrite)")
        if "scored_environment" in training.record:
            reason = "was scored in another environment than it was trained in"
            remedy = "score it again where it was trained, or train it again (--overwrite)"
            raise UsageError(f"{training.directory}: {reason}; {remedy}")


def _published_besides(paper: str, preset: Preset, new: Sequence[tuple[str, str]]) -> list[Outcome]:
    """The published outcomes of all variants and seeds except these.

    Raises:
        UsageError: if they cannot be in one table with these.
    """
    before = published_outcomes(papers.outcomes_folder(paper), preset.names)
    before = [outcome for outcome in before if (outcome.variant, str(outcome.seed)) not in new]
    _check_settings(preset, before)
    _check_ensembles(preset, [*new, *((outcome.variant, str(outcome.seed)) for outcome in before)])
    return before


def _check_settings(preset: Preset, published: Sequence[Outcome]) -> None:
    """Refuse published outcomes of trainings whose settings differ from the current ones."""
    for outcome in published:
        if outcome.is_ensemble:
            continue
        if not trained_as_declared(preset, outcome.variant, outcome.directory, RESTORE):
            raise UsageError(
                f"{outcome.directory}: published with other settings than {outcome.variant} has now; train "
                f"{outcome.variant} again, and score it together with these variants"
            )


def _check_ensembles(preset: Preset, together: Sequence[tuple[str, str]]) -> None:
    """Refuse a table in which an ensemble is not of all seeds of its variant."""
    alone = [(variant, int(seed)) for variant, seed in together if "+" not in seed]
    for ensemble in preset.ensembles:
        seeds = list(map(str, ensemble.among(alone)))
        wanted = ["+".join(seeds)] if seeds else []
        if [seed for variant, seed in together if variant == ensemble.name] != wanted:
            of = (
                f"seeds {', '.join(seeds)} of {ensemble.members}"
                if seeds
                else f"two seeds of {ensemble.members} or more"
            )
            raise UsageError(f"ensemble {ensemble.name} is of {of}; score these together")


def _write_folder(paper: str, preset: Preset, outcomes: Sequence[Outcome], result: Result, directory: Path) -> None:
    """Write what is published of a table besides the results file: outcomes, figures with their titles, and the README.
    Other files of the published folder, such as the record of test readings, are copied."""
    reproduction = papers.load(paper)
    for outcome in outcomes:
        outcome.publish(directory / "outcomes")
    figures = {path.name: title for title, path in draw_figures(reproduction, preset, outcomes, directory).items()}
    write_json(directory / FIGURES, figures)
    readme = results_readme(reproduction, preset, result, read_readings(paper), figures)
    write_text(directory / "README.md", readme)
    for path in results_readme_path(paper).parent.glob("*"):
        if path.is_dir() and path.name != "outcomes":
            shutil.copytree(path, directory / path.name)
        elif path.is_file() and path.suffix != ".png" and path.name not in ("README.md", FIGURES):
            shutil.copyfile(path, directory / path.name)


def publish_again(paper: str, preset_name: str, *, check: bool) -> list[Path]:
    """Regenerate the published table of a paper from its published outcomes. Command, hardware and start time of the
    manifest are kept.

    Args:
        paper, preset_name: the published table.
        check: only compare, write nothing.

    Returns:
        The files that differed.

    Raises:
        UsageError: if nothing was published, or if the outcomes are missing.
    """
    papers.load(paper).preset(preset_name)
    Result.read(papers.results_path(paper, preset_name))  # refused before a lock is left where nothing is published
    with nullcontext() if check else papers.locked_results(paper):
        return _publish_again(paper, preset_name, check=check)


def _publish_again(paper: str, preset_name: str, *, check: bool) -> list[Path]:
    reproduction = papers.load(paper)
    preset = reproduction.preset(preset_name)
    path = papers.results_path(paper, preset_name)
    before = Result.read(path)
    folder = papers.results_folder(paper) / before.paper
    outcomes = published_outcomes(folder / "outcomes", preset.names) if preset_name == "cpu" else []
    if not outcomes:
        raise UsageError(f"{folder / 'outcomes'}: no outcomes of preset {preset_name} here; use a clone of the project")
    rows, claims = conclude(reproduction, preset, outcomes)
    after = Result(before.paper, preset_name, rows, claims, {**before.manifest, **of_outcomes(outcomes)})
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary)
        _write_folder(paper, preset, outcomes, after, made)
        changed = [path] if path.read_text(encoding="utf-8") != after.text() else []
        changed += _different_files(folder, made)
        if changed and not check:
            with atomic_directory(folder) as part:
                shutil.copytree(made, part, dirs_exist_ok=True)
            after.write(path)
    return changed


def _different_files(folder: Path, made: Path) -> list[Path]:
    """The files of a folder that are missing in it, or not the same as in the folder that was made."""
    names = {path.relative_to(root) for root in (folder, made) for path in root.rglob("*") if path.is_file()}
    return [folder / name for name in sorted(names) if _bytes(folder / name) != _bytes(made / name)]


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
