"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Paper = Annotated[str, typer.Argument(help="A paper of `gluon-attn list`, or the path of a script of your own.")]
PresetName = Annotated[str, typer.Option("--preset", help="smoke (seconds), cpu (our tables) or paper.")]
Seeds = Annotated[list[int] | None, typer.Option("--seed", help="Repeat for several. Default: the preset's.")]
Variants = Annotated[list[str] | None, typer.Option("--variant", help="Repeat for several. Default: all.")]
Profile = Annotated[
    str,
    typer.Option(
        help="portable: same bits everywhere, one thread. fast: all cores; reproducible on this machine only."
    ),
]
Threads = Annotated[int | None, typer.Option(help="Threads of the fast profile.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Number of processes at a time. Default: one per core.")]
Runs = Annotated[Path, typer.Option(help="Folder of the run directories.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue interrupted runs.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing runs.")]
ResultsFile = Annotated[Path | None, typer.Option(help="A results file. Default: the published one.")]
