"""Training again and comparing the bits."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from gluon_attn.errors import UsageError
from preprocessing import corpora
from reproductions.protocol import papers, runner
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Run


def verify(
    paper: str,
    preset_name: str,
    variants: Sequence[str],
    seeds: Sequence[int],
    profile: str,
    threads: int | None,
    jobs: int | None,
) -> tuple[list[str], bool]:
    """Train in a new folder and compare the parameters' SHA-256. What could not be compared is not trained.

    In the ``portable`` profile with the committed results; in ``fast``, whose bits belong to one machine and thread
    count, with those of a second training.

    Returns:
        A line for each run, and whether all of them are the same.

    Raises:
        UsageError: there is nothing to compare with.
        InputError: a corpus is missing; the embedded sample is no substitute.
    """
    preset = papers.load(paper).preset(preset_name)

    def runs_below(folder: str) -> list[Run]:
        return runner.runs_of(
            paper, preset, variants=variants, seeds=seeds, profile=profile, threads=threads, runs=Path(folder)
        )

    def train(folder: str) -> dict[str, str]:
        count = jobs or runner.default_jobs(profile)
        outcomes = runner.train_all(runs_below(folder), jobs=count, resume=False, overwrite=False)
        return {outcome.label: outcome.record["parameters_sha256"] for outcome in outcomes}

    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        wanted = runs_below(first)
        if not preset.on_sample:
            for corpus in dict.fromkeys(preset.task(run.variant).corpus for run in wanted):
                corpora.find(corpus)
        if profile == "portable":
            against, expected = _committed(paper, preset, wanted)
        else:
            against, expected = "a second training", train(second)
        trained = train(first)

    lines = [
        f"{'same   ' if trained[name] == expected[name] else 'DIFFERS'} {name} {trained[name]}" for name in trained
    ]
    same = all(trained[name] == expected[name] for name in trained)
    verdict = "same bits as" if same else "NOT the same bits as"
    name = Path(paper).stem
    return [*lines, f"{name}, preset {preset_name}, profile {profile}: {verdict} {against}"], same


def _committed(paper: str, preset: Preset, wanted: Sequence[Run]) -> tuple[str, dict[str, str]]:
    path = papers.results_path(paper, preset.name)
    manifest = Result.read(path).manifest
    if manifest["profile"] != "portable":
        raise UsageError(f"{path}: made in the {manifest['profile']} profile, whose bits belong to one machine")
    expected: dict[str, str] = manifest["parameters_sha256"]
    if missing := [run.label for run in wanted if run.label not in expected]:
        raise UsageError(f"{path}: holds no parameters of {', '.join(missing)}; run them with --publish")
    for name in dict.fromkeys(run.variant for run in wanted):
        data = preset.task(name).prepare(preset.variant(name).settings, sample=preset.on_sample)
        if manifest["pipeline"][name] != data.digest:
            raise UsageError(f"{path}: {name} was trained on other data than the {data.corpus} corpus gives here")
    return path.name, expected
