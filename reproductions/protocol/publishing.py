"""Publishing: results, figures and outcomes next to the script, and making them again from the outcomes."""

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
from reproductions.protocol.runs import Outcome, published_outcomes


def publish(paper: str, preset: Preset, outcomes: Sequence[Outcome], result: Result) -> None:
    """Write the results of a preset next to the script; of the tables also outcomes, figures and their README.

    Raises:
        UsageError: some of it was trained on data of one's own.
    """
    if any(outcome.on_own_data for outcome in outcomes):
        raise UsageError("results on data of your own are not published; leave out --publish")
    result.write(papers.results_path(paper, preset.name))
    if preset.name == "cpu":
        folder = papers.results_folder(paper) / result.paper
        shutil.rmtree(folder / "outcomes", ignore_errors=True)
        for outcome in outcomes:
            outcome.publish(folder / "outcomes")
        draw_again(papers.load(paper), preset, outcomes, folder)
        write_text(results_readme_path(paper), readme_of(paper))


def publish_again(paper: str, preset_name: str, *, check: bool) -> list[Path]:
    """Make the published table of a paper again from its published outcomes. Command, hardware and start time
    of the manifest stay.

    Args:
        paper, preset_name: what was published.
        check: only compare, write nothing.

    Returns:
        The files that differed.

    Raises:
        UsageError: nothing was published, or its outcomes are not here.
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
