"""Training again and comparing the bits: the answer to "does it repeat?"."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from gluon_attn.errors import UsageError
from preprocessing.corpora import locate
from reproductions.protocol.experiment import Preset
from reproductions.protocol.papers import preset, script
from reproductions.protocol.report import results_path
from reproductions.protocol.results import Result
from reproductions.protocol.runner import default_jobs, train_all, units_of
from reproductions.protocol.runs import Unit


def verify(
    paper: str,
    preset_name: str,
    variants: Sequence[str] | None,
    seeds: Sequence[int] | None,
    profile: str,
    threads: int | None,
    jobs: int | None,
) -> tuple[list[str], bool]:
    """Train in a new folder and compare the parameters' SHA-256. Nothing is trained that could not be compared.

    In the ``portable`` profile with the committed results; in ``fast``, whose bits belong to one machine and thread
    count, with those of a second training.

    Returns:
        A line for each unit, and whether all of them are the same.

    Raises:
        UsageError: there is nothing to compare with.
        InputError: the corpus is not here; the embedded sample is no substitute.
    """
    chosen = preset(paper, preset_name)
    names = variants or [variant.name for variant in chosen.variants]
    locate.find(chosen.corpus)

    def units(folder: str) -> list[Unit]:
        runs = Path(folder)
        return units_of(paper, chosen, variants=names, seeds=seeds, profile=profile, threads=threads, runs=runs)

    def train(folder: str) -> dict[str, str]:
        count = jobs or default_jobs(profile)
        outcomes = train_all(units(folder), jobs=count, resume=False, overwrite=False)
        return {outcome.unit.label: outcome.facts["parameters_sha256"] for outcome in outcomes}

    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        if profile == "portable":
            against, expected = _committed(paper, chosen, units(first))
        else:
            against, expected = "a second training", train(second)
        found = train(first)

    lines = [f"{'same   ' if found[name] == expected[name] else 'DIFFERS'} {name} {found[name]}" for name in found]
    same = all(found[name] == expected[name] for name in found)
    verdict = "same bits as" if same else "NOT the same bits as"
    return [*lines, f"{paper}, preset {preset_name}, profile {profile}: {verdict} {against}"], same


def _committed(paper: str, chosen: Preset, wanted: Sequence[Unit]) -> tuple[str, dict[str, str]]:
    path = results_path(paper, chosen.name)
    manifest = Result.read(path).manifest
    if manifest["profile"] != "portable":
        raise UsageError(f"{path}: made in the {manifest['profile']} profile, whose bits belong to one machine")
    for name in dict.fromkeys(unit.variant for unit in wanted):
        data = script(paper).prepare(chosen, chosen.variant(name))
        here = {f"{data.corpus}/{part}": sha256 for part, sha256 in data.corpora.items()}
        if not here.items() <= manifest["corpora"].items():
            raise UsageError(f"{path}: made from other files than the {data.corpus} corpus has here; run it again")
    expected: dict[str, str] = manifest["parameters_sha256"]
    if missing := [unit.label for unit in wanted if unit.label not in expected]:
        raise UsageError(f"{path}: holds no parameters of {', '.join(missing)}; run them with --publish")
    return path.name, expected
