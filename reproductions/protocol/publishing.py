"""Publish results, figures and outcomes next to the script, add to published ones, and regenerate them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from gluon_attn.errors import UsageError
from preprocessing.files import write_json, write_text
from reproductions.protocol import papers
from reproductions.protocol.conclude import conclude, draw_again
from reproductions.protocol.manifest import of_outcomes
from reproductions.protocol.report import readme_of, results_readme_path
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.results import Result
from reproductions.protocol.runner import trained_as_declared
from reproductions.protocol.runs import Outcome, Run, in_order, published_outcomes


def publish(paper: str, preset: Preset, outcomes: Sequence[Outcome], result: Result) -> None:
    """Write the results of a preset next to the script; for preset ``cpu``, also outcomes, figures and their README.

    Raises:
        UsageError: if something was trained on the user's own data.
    """
    if any(outcome.on_own_data for outcome in outcomes):
        raise UsageError("results on data of your own are not published; leave out --publish")
    result.write(papers.results_path(paper, preset.name))
    if preset.name == "cpu":
        folder = papers.results_folder(paper) / result.paper
        _publish_outcomes(outcomes, folder / "outcomes")
        draw_again(papers.load(paper), preset, outcomes, folder)
        write_text(results_readme_path(paper), readme_of(paper))


def with_published(paper: str, preset: Preset, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """These outcomes and those of all other published trainings, in the order of the table.

    Raises:
        UsageError: as for :func:`check_addition`.
    """
    before = _published_besides(paper, preset, [(outcome.variant, str(outcome.seed)) for outcome in outcomes])
    return in_order([*outcomes, *before], preset.names)


def check_addition(paper: str, preset: Preset, runs: Sequence[Run]) -> None:
    """Check that runs can be added to the published table, before they read the test split.

    Raises:
        UsageError: if the settings of a published training differ from the current ones of its variant, or if an
            ensemble has members that are not among these runs.
    """
    new = [(run.variant, str(run.seed)) for run in runs]
    for ensemble in preset.ensembles:
        seeds = [str(run.seed) for run in runs if ensemble.has(run.variant, int(run.seed))]
        new += [(ensemble.name, "+".join(seeds))] if len(seeds) > 1 else []
    _published_besides(paper, preset, new)


def _published_besides(paper: str, preset: Preset, new: Sequence[tuple[str, str]]) -> list[Outcome]:
    """The published outcomes of all variants and seeds except these."""
    before = published_outcomes(papers.results_folder(paper) / Path(paper).stem / "outcomes", preset.names)
    before = [outcome for outcome in before if (outcome.variant, str(outcome.seed)) not in new]
    for outcome in before:
        if not outcome.is_ensemble and not trained_as_declared(preset.variant(outcome.variant), outcome.directory):
            raise UsageError(
                f"{outcome.directory}: published with other settings than {outcome.variant} has now; train that again, "
                "and score it with these"
            )
    together = [*new, *((outcome.variant, str(outcome.seed)) for outcome in before)]
    for ensemble in preset.ensembles:
        alone = [(variant, int(seed)) for variant, seed in together if "+" not in seed]
        seeds = [str(seed) for variant, seed in sorted(alone) if ensemble.has(variant, seed)]
        wanted = ["+".join(seeds)] if len(seeds) > 1 else []
        if [seed for variant, seed in together if variant == ensemble.name] != wanted:
            raise UsageError(
                f"ensemble {ensemble.name} is of seeds {', '.join(seeds)} of {ensemble.members}; score these together"
            )
    return before


def _publish_outcomes(outcomes: Sequence[Outcome], folder: Path) -> None:
    """Make a folder contain exactly these outcomes; those that are already in it are kept."""
    kept = [outcome.directory for outcome in outcomes]
    for old in sorted(folder.glob("*/seed-*")):
        if old not in kept:
            shutil.rmtree(old)
    for outcome in outcomes:
        if folder not in outcome.directory.parents:
            outcome.publish(folder)
    for variant in sorted(folder.glob("*")):
        if not any(variant.iterdir()):
            variant.rmdir()


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
        write_json(made / "results.json", asdict(after))
        draw_again(reproduction, preset, outcomes, made / "figures")
        figures = sorted((made / "figures").glob("*.png"))
        pairs = [(made / "results.json", path), *((figure, folder / figure.name) for figure in figures)]
        changed = [new for new in pairs if not new[1].exists() or new[0].read_bytes() != new[1].read_bytes()]
        gone = [old for old in sorted(folder.glob("*.png")) if old.name not in {figure.name for figure in figures}]
        if not check:
            for new, old in changed:
                shutil.copyfile(new, old)
            for old in gone:
                old.unlink()
    readme = results_readme_path(paper)
    stale = [old for _, old in changed] + gone
    text = readme_of(paper)
    if not readme.exists() or readme.read_text(encoding="utf-8") != text:
        stale.append(readme)
        if not check:
            write_text(readme, text)
    return stale
