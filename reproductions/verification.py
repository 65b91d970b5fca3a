"""Training again and comparing the bits: the answer to "does it repeat?"."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from gluon_attn.errors import UsageError
from reproductions import runner
from reproductions.experiment import Result, preset
from reproductions.report import results_path


def verify(
    paper: str,
    preset_name: str,
    variants: Sequence[str] | None,
    seeds: Sequence[int] | None,
    profile: str,
    threads: int | None,
    jobs: int | None,
) -> tuple[list[str], bool]:
    """Train in a new folder and compare the parameters' SHA-256.

    In the ``portable`` profile with the committed results; in ``fast``, whose bits belong to one machine and thread
    count, with those of a second training.

    Returns:
        A line for each unit, and whether all of them are the same.

    Raises:
        UsageError: there is nothing to compare with, or the corpus of the committed results is not here.
    """
    chosen = preset(paper, preset_name)
    names = variants or [variant.name for variant in chosen.variants]

    def train(folder: str) -> list[runner.Outcome]:
        runs, which = Path(folder), seeds or chosen.seeds
        units = runner.units_of(paper, chosen, variants=names, seeds=which, profile=profile, threads=threads, runs=runs)
        return runner.train_all(units, jobs=jobs or runner.default_jobs(profile), resume=False, overwrite=False)

    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        if profile == "portable":
            against, expected = _committed(paper, preset_name)
        else:
            against, expected = "a second training", _hashes(train(second))
        found = _hashes(train(first))

    missing = sorted(found.keys() - expected.keys())
    if missing:
        raise UsageError(f"{against} holds no parameters of {', '.join(missing)}; run them with --publish")
    lines = [f"{'same   ' if found[name] == expected[name] else 'DIFFERS'} {name} {found[name]}" for name in found]
    same = all(found[name] == expected[name] for name in found)
    verdict = "same bits as" if same else "NOT the same bits as"
    return [*lines, f"{paper}, preset {preset_name}, profile {profile}: {verdict} {against}"], same


def _hashes(outcomes: Sequence[runner.Outcome]) -> dict[str, str]:
    return {f"{outcome.unit.variant}/{outcome.unit.seed}": outcome.facts["parameters_sha256"] for outcome in outcomes}


def _committed(paper: str, preset_name: str) -> tuple[str, dict[str, str]]:
    path = results_path(paper, preset_name)
    manifest = Result.read(path).manifest
    if manifest["profile"] != "portable":
        raise UsageError(f"{path}: made in the {manifest['profile']} profile, whose bits belong to one machine")
    return path.name, manifest["parameters_sha256"]
