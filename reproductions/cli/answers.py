"""Commands that answer lines of text with a trained network: predict, neighbours, perplexity and translate.

What loads MXNet is imported inside the commands: a runtime profile must be set before.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.cli.options import Paper, PresetName, Profile, Runs, Threads

if TYPE_CHECKING:
    from reproductions.protocol.task import Task

AnyVariant = Annotated[
    str | None,
    typer.Option(help="Which variant. Default: the first of the headline that is trained, else one that is included."),
]
OneSeed = Annotated[int, typer.Option(help="Which trained seed.")]
Model = Annotated[Path | None, typer.Option(help="Folder of a trained network: a run directory, a copy or an export.")]


def predict(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    model: Model = None,
    weights: Annotated[bool, typer.Option("--weights", help="Print each token with its attention weight.")] = False,
) -> None:
    """Classify texts on standard input, one per line: label and its probability."""
    _answer("predict", paper, variant, preset, seed, profile, threads, runs, model, {"weights": weights})


def neighbours(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    model: Model = None,
    cosines: Annotated[bool, typer.Option("--cosines", help="Print each neighbour with its cosine.")] = False,
) -> None:
    """The nearest words of the words on standard input, one per line."""
    _answer("neighbours", paper, variant, preset, seed, profile, threads, runs, model, {"weights": cosines})


def perplexity(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    model: Model = None,
    weights: Annotated[bool, typer.Option("--weights", help="Print what each word attends to most.")] = False,
) -> None:
    """The perplexity of sentences on standard input, one per line, with their words and how many are unknown."""
    _answer("perplexity", paper, variant, preset, seed, profile, threads, runs, model, {"weights": weights})


def translate(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    model: Model = None,
    alignments: Annotated[
        Path | None, typer.Option(help="A new folder for the attention weights of each line, as JSON and heatmap.")
    ] = None,
) -> None:
    """Translate sentences on standard input, one per line."""
    if alignments is not None and alignments.exists():
        raise UsageError(f"{alignments}: exists already; name a new folder for the alignments")
    options = {"alignments": alignments, "interactive": sys.stdin.isatty()}
    _answer("translate", paper, variant, preset, seed, profile, threads, runs, model, options)


def _answer(
    command: str,
    paper: str,
    variant: str | None,
    preset: str,
    seed: int,
    profile: str,
    threads: int | None,
    runs: Path,
    model: Path | None,
    options: dict[str, Any],
) -> None:
    """Answer the lines of standard input with a trained network."""
    runtime.configure(profile, threads)
    from reproductions.protocol import models, papers
    from reproductions.protocol.loading import load_directory
    from reproductions.protocol.runs import SAMPLE, Run
    from reproductions.protocol.task import AnswerOptions

    if model is not None and variant is not None:
        raise UsageError("--model names a network, and so its variant; leave out --variant")
    declared = papers.load(paper).preset(preset)
    if model is None:
        name = variant or declared.headline[0]
        _check_command(command, paper, name, declared.task(name))
    run = Run(paper, preset, declared.headline[0], seed, profile, threads, runs)
    trained = load_directory(paper, model or models.find(run, variant))
    _check_command(command, paper, trained.variant.name, trained.task)
    if trained.data.corpus == SAMPLE:
        print("*** TRAINED ON THE EMBEDDED SAMPLE: ITS ANSWERS MEAN NOTHING ***", file=sys.stderr)
    for line in trained.task.answer(trained, sys.stdin.buffer, AnswerOptions(**options)):
        print(line, flush=True)


def _check_command(command: str, paper: str, variant: str, task: Task[Any, Any]) -> None:
    if task.command != command:
        raise UsageError(f"{paper} {variant}: its task is {task.name}; use gluon-attn {task.command} {paper}")


def export(
    paper: Paper,
    out: Annotated[Path, typer.Option(help="A new folder.")],
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    runs: Runs = Path("runs"),
) -> None:
    """Copy a trained network to a folder, for `--model` here or on another machine.

    It holds the parameters of the best epoch, the settings and what the preprocessing learned; no corpus, no state of
    the training.
    """
    runtime.configure(profile)
    from reproductions.protocol import models, papers
    from reproductions.protocol.runs import Run

    declared = papers.load(paper).preset(preset)
    run = Run(paper, preset, declared.headline[0], seed, profile, None, runs)
    models.export(models.find(run, variant), out)
    print(f"exported: {out}")
