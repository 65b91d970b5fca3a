"""Commands that answer lines of text with a trained network: predict, neighbours, perplexity and translate.

Each command answers a line with a line: line n of the output belongs to line n of the input, even if that is blank.
Modules that load MXNet are imported inside the commands, because the runtime profile must be set before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.cli.options import Paper, PresetName, Profile, Runs, Threads

if TYPE_CHECKING:
    from reproductions.protocol.task import Task

AnyVariant = Annotated[
    str | None,
    typer.Option(
        help="Which variant. Default: the first of the headline that is trained, else an included one, else any."
    ),
]
OneSeed = Annotated[int, typer.Option(help="Which trained seed.")]
Model = Annotated[Path | None, typer.Option(help="Folder of a trained network: a run directory, a copy or an export.")]
Input = Annotated[Path | None, typer.Option(help="UTF-8 text, one per line. Default: standard input.")]
Output = Annotated[
    Path | None,
    typer.Option(
        help="File for the answers, complete or not at all; replaces an earlier one. Default: standard output."
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(min=1, help="Lines that are read at once; 1 answers each line before the next. Default: the task's."),
]
Json = Annotated[bool, typer.Option("--json", help="Print a JSON object for each line.")]


def predict(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    model: Model = None,
    input: Input = None,
    output: Output = None,
    batch_size: BatchSize = None,
    json: Json = False,
    weights: Annotated[bool, typer.Option("--weights", help="Print each token with its attention weight.")] = False,
) -> None:
    """Classify texts, one per line: the label and its probability, separated by tabs.

    The answer to a blank line is a blank line (with --json: label null).
    """
    options = {"weights": weights, "batch_size": batch_size, "json": json}
    _answer("predict", paper, variant, preset, seed, profile, threads, runs, model, input, output, options)


def neighbours(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    model: Model = None,
    input: Input = None,
    output: Output = None,
    cosines: Annotated[bool, typer.Option("--cosines", help="Print each neighbour with its cosine.")] = False,
) -> None:
    """Print the words nearest to those on each line."""
    options = {"weights": cosines}
    _answer("neighbours", paper, variant, preset, seed, profile, threads, runs, model, input, output, options)


def perplexity(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    model: Model = None,
    input: Input = None,
    output: Output = None,
    weights: Annotated[bool, typer.Option("--weights", help="Print what each word attends to most.")] = False,
) -> None:
    """Print the perplexity of sentences, one per line; a model of words adds the number of words and of unknown words.

    The answer to a blank line is a blank line.
    """
    options = {"weights": weights}
    _answer("perplexity", paper, variant, preset, seed, profile, threads, runs, model, input, output, options)


def translate(
    paper: Paper,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    model: Model = None,
    input: Input = None,
    output: Output = None,
    batch_size: BatchSize = None,
    json: Json = False,
    beam: Annotated[int | None, typer.Option(min=1, help="Width of the search. Default: the variant's.")] = None,
    n_best: Annotated[
        int, typer.Option(min=1, help="Number of translations of each line, between tabs, the best first.")
    ] = 1,
    alignments: Annotated[
        Path | None,
        typer.Option(
            help="A new folder for the attention weights of each line, as JSON and heatmap; complete or not at all."
        ),
    ] = None,
) -> None:
    """Translate sentences, one per line.

    The answer to a blank line is a blank line (with --json: no translations).
    """
    if alignments is not None and alignments.exists():
        raise UsageError(f"{alignments}: exists already; name a new folder for the alignments")
    options = {"alignments": alignments, "batch_size": batch_size, "json": json, "beam": beam, "n_best": n_best}
    _answer("translate", paper, variant, preset, seed, profile, threads, runs, model, input, output, options)


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
    input: Path | None,
    output: Path | None,
    options: dict[str, Any],
) -> None:
    """Answer lines of text with a trained network."""
    runtime.configure(profile, threads)
    from reproductions.protocol import models, papers
    from reproductions.protocol.loading import load_directory
    from reproductions.protocol.runs import SAMPLE, Run
    from reproductions.protocol.task import AnswerOptions

    if model is not None and variant is not None:
        raise UsageError("--model names a network, and so its variant; leave out --variant")
    if output is not None and output.is_dir():
        raise UsageError(f"{output}: is a directory; name a file for the answers")
    declared = papers.load(paper).preset(preset)
    names = (*declared.headline, *declared.names)
    answering = [name for name in names if declared.task(name).command == command]
    name = variant or (answering or names)[0]
    if model is None:
        _check_command(command, paper, name, declared.task(name))
    with _lines(input) as stream:
        run = Run(paper, preset, name, seed, profile, threads, runs)
        trained = load_directory(paper, model or models.find(run, variant))
        _check_command(command, paper, trained.variant.name, trained.task)
        if trained.data.corpus == SAMPLE:
            print("*** TRAINED ON THE EMBEDDED SAMPLE: ITS ANSWERS MEAN NOTHING ***", file=sys.stderr)
        interactive = input is None and sys.stdin.isatty()
        source = "standard input" if input is None else str(input)
        _write(
            trained.task.answer(trained, stream, AnswerOptions(interactive=interactive, source=source, **options)),
            output,
        )


@contextmanager
def _lines(path: Path | None) -> Iterator[BinaryIO]:
    """The text to answer: a file, or standard input."""
    if path is None:
        if sys.stdin is None:
            raise UsageError("standard input is closed; name a file with --input")
        yield sys.stdin.buffer
        return
    if not path.is_file():
        raise UsageError(f"{path}: {'is not a regular file' if path.exists() else 'no such file'}; name a text file")
    with path.open("rb") as stream:
        yield stream


def _write(answers: Iterable[str], path: Path | None) -> None:
    """Print the answers, or write them to a file that appears only when it is complete."""
    if path is None:
        for line in answers:
            print(line, flush=True)
        return
    from gluon_attn.files import atomic_file

    with atomic_file(path) as stream:
        for line in answers:
            stream.write(f"{line}\n".encode())
    print(f"written: {path}")


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

    The folder contains the parameters of the best epoch, the settings and what the preprocessing learned, but neither
    the corpus nor the state of the training.
    """
    runtime.configure(profile)
    from reproductions.protocol import models, papers
    from reproductions.protocol.runs import Run

    declared = papers.load(paper).preset(preset)
    run = Run(paper, preset, declared.headline[0], seed, profile, None, runs)
    models.export(models.find(run, variant), out)
    print(f"exported: {out}")
