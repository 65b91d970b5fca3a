"""Options that the commands share, and functions that write a result and print warnings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from preprocessing.text.pipeline import Result

Out = Annotated[Path, typer.Option(help="Output folder; must be empty or not exist.")]
Processes = Annotated[int | None, typer.Option(help="Worker processes; the output does not depend on it.")]
Replace = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result in the output folder.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache of results.")]
Sample = Annotated[bool, typer.Option("--sample", help="Use the embedded sample instead of the corpus.")]
MinFreq = Annotated[int, typer.Option(help="Minimum frequency in train; rarer tokens are unknown.")]
MaxSize = Annotated[int | None, typer.Option(help="Maximum vocabulary size, without special tokens.")]


def write(prepared: Result, out: Path, overwrite: bool, rows: str, tokens: str) -> None:
    """Write a result with its card as a web page and print its size; ``rows`` and ``tokens`` name what is counted."""
    from preprocessing.text import writing

    writing.write(prepared, out, overwrite=overwrite, page=True)
    for name, split in prepared.splits.items():
        print(f"{name}: {len(split)} {rows}, {len(split.ids)} {tokens}")
    warn(prepared.warnings)
    print(f"digest {prepared.digest}\nwritten to {out}; see {out / 'card.html'}")


def warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
