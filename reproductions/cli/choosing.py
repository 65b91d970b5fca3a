"""Choose runs by the options of a command, and find the user's own data that the options name."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gluon_attn import runtime
from reproductions.protocol.own_data import DataOptions, check_sizes

if TYPE_CHECKING:
    from reproductions.protocol.own_data import OwnData
    from reproductions.protocol.reproduction import Preset
    from reproductions.protocol.runs import Run


@dataclass(frozen=True)
class Chosen:
    """The runs that a command applies to, and their preset."""

    paper: str
    preset: Preset
    runs: list[Run]
    variants: tuple[str, ...]
    seeds: tuple[int, ...]

    def command(self, name: str) -> str:
        """The command line of another command for the same runs, quoted for a shell."""
        chosen = [f" --variant {variant}" for variant in self.variants] + [f" --seed {seed}" for seed in self.seeds]
        of = f"{shlex.quote(self.paper)} --preset {self.preset.name}"
        return f"gluon-attn {name} {of}{''.join(chosen)}{self.runs[0].options}"


def choose(
    paper: str,
    preset_name: str,
    variants: list[str] | tuple[str, ...] | None,
    seeds: list[int] | None,
    profile: str,
    threads: int | None,
    folder: Path,
    own: DataOptions,
) -> Chosen:
    """Choose the runs that the options name; if a corpus is missing, with a warning, on the embedded sample."""
    runtime.configure(profile, threads)
    from reproductions.protocol import papers, runner

    preset = papers.load(paper).preset(preset_name)
    preset = on_own_data(preset, own, variants) if own.given else runner.corpus_or_sample(preset, variants or ())
    names, numbers = tuple(variants or ()), tuple(seeds or ())
    runs = runner.runs_of(paper, preset, variants=names, seeds=numbers, profile=profile, threads=threads, runs=folder)
    if own.given:
        check_own_data(runs)
    return Chosen(paper, preset, runs, names, numbers)


def on_own_data(preset: Preset, options: DataOptions, variants: Sequence[str] | None) -> Preset:
    """A preset on the user's own data."""
    first = variants[0] if variants else preset.headline[0]
    return preset.on(preset.task(first).own_data(options))


def check_own_data(runs: Sequence[Run]) -> None:
    """Prepare the user's own data once for each variant, so that errors and warnings appear before anything is trained,
    and only once. A variant is not checked if the network that it starts from has yet to be trained."""
    from reproductions.protocol.preparing import networks_to_train_first, prepare

    warnings = dict[str, None]()
    for run in {run.variant: run for run in runs}.values():
        if not networks_to_train_first([run]):
            data = prepare(run)
            check_sizes(data.rows)
            warnings |= dict.fromkeys(data.warnings)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def own_data(paper: str, preset: str, variant: str, options: DataOptions) -> OwnData | None:
    """The user's own data that the options of an inner command name; None if they name none."""
    from reproductions.protocol import papers

    return papers.load(paper).preset(preset).task(variant).own_data(options) if options.given else None
