"""Commands that answer lines of text with a trained network: predict, neighbours, perplexity and translate.

Each command answers a line with a line: line n of the output belongs to line n of the input, even if that is blank.
Modules that load MXNet are imported inside the commands, because the runtime profile must be set before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.cli.network import AnyVariant, Model, NetworkOptions, OneSeed, check_alone, load_network, tell_which
from reproductions.cli.options import Paper, PresetName, Profile, Runs, Threads, checked_output

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
Json = Annotated[bool, typer.Option("--json", help="Print a JSON object for each line or image.")]


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
    weights: Annotated[
        bool,
        typer.Option(
            "--weights",
            help="Print each token with its attention weight, the mean over the queries or hops. Weights may sum to "
            "less than 1: the rest is on padding.",
        ),
    ] = False,
) -> None:
    """Classify texts, one per line: the label and its probability, separated by tabs.

    The answer to a blank line is a blank line (with --json: label null). Networks that steer a car read the paths of
    frames in temporal order and answer with the steering in degrees; a blank line begins another drive.
    """
    options = {"weights": weights, "batch_size": batch_size, "json": json}
    network = NetworkOptions(paper, variant, preset, seed, profile, threads, runs, model)
    _answer("predict", network, input, output, options)


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
    network = NetworkOptions(paper, variant, preset, seed, profile, threads, runs, model)
    _answer("neighbours", network, input, output, options)


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

    For BERT it is the pseudo-perplexity: each piece is masked alone, so it is lower than with 15 % masked. The answer
    to a blank line is a blank line.
    """
    options = {"weights": weights}
    network = NetworkOptions(paper, variant, preset, seed, profile, threads, runs, model)
    _answer("perplexity", network, input, output, options)


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
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width. Default: the variant's.")] = None,
    n_best: Annotated[
        int, typer.Option(min=1, help="Number of translations of each line, tab-separated, the best first.")
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
    network = NetworkOptions(paper, variant, preset, seed, profile, threads, runs, model)
    _answer("translate", network, input, output, options)


def _answer(
    command: str, network: NetworkOptions, input: Path | None, output: Path | None, options: dict[str, Any]
) -> None:
    """Answer lines of text with a trained network."""
    runtime.configure(network.profile, network.threads)
    from reproductions.protocol.task import AnswerOptions

    if input is not None and output is not None and input.exists() and output.exists() and output.samefile(input):
        raise UsageError(f"{output}: is also the input; name another file for the answers")
    output = checked_output(output, "a file for the answers")
    with _lines(input) as stream:
        trained = load_network(command, network)
        interactive = input is None and sys.stdin.isatty()
        source = "standard input" if input is None else str(input)
        answers = trained.task.answer(trained, stream, AnswerOptions(interactive=interactive, source=source, **options))
        if not _write(answers, output):
            print(f"{source}: no line to answer; each line gets one answer", file=sys.stderr)
        tell_which(network, trained)


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


def _write(answers: Iterable[str], path: Path | None) -> int:
    """Print the answers, or write them to a file that appears only when it is complete; return their number."""
    count = 0
    if path is None:
        if sys.stdout is None:
            raise UsageError("standard output is closed; name a file with --output")
        for line in answers:
            print(line, flush=True)
            count += 1
        return count
    from gluon_attn.files import atomic_file

    with atomic_file(path) as stream:
        for line in answers:
            stream.write(f"{line}\n".encode())
            count += 1
    print(f"written: {path}")
    return count


def export(
    paper: Paper,
    out: Annotated[Path, typer.Option(help="A new folder.")],
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    runs: Runs = Path("runs"),
    model: Model = None,
) -> None:
    """Copy a trained network to a folder, for `--model` here or on another machine.

    A network trained on your own data is named by its run directory, with `--model`.

    The folder contains the parameters of the best epoch, the settings and what the preprocessing learned, but neither
    the corpus nor the state of the training.
    """
    runtime.configure(profile)
    from reproductions.protocol import loading, models, papers
    from reproductions.protocol.runs import Run

    if model is None:
        run = Run(paper, preset, papers.load(paper).preset(preset).headline[0], seed, profile, None, runs)
        model = models.find(run, variant)
    else:
        check_alone(variant, seed, runs, preset, profile)
        loading.declared(paper, model)  # refuses the network of another paper
    models.export(model, out)
    print(f"exported: {out}")
