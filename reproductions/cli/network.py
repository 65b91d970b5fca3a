"""The trained network that a command answers with."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gluon_attn.errors import UsageError

if TYPE_CHECKING:
    from reproductions.protocol.task import Task, TrainedModel

OF_IMAGES = ("caption", "classify")
"""Commands whose arguments are image files; the paper is an option."""

AnyVariant = Annotated[
    str | None,
    typer.Option(
        help="Which variant. Default: the first of the headline that is trained, else an included one, else any."
    ),
]
OneSeed = Annotated[int, typer.Option(min=0, help="Which trained seed.")]
Model = Annotated[Path | None, typer.Option(help="Folder of a trained network: a run directory, a copy or an export.")]


@dataclass(frozen=True)
class NetworkOptions:
    """The options that name a network.

    Attributes:
        paper: its paper; None for that of ``model``, or for the only paper whose networks answer the command.
        variant: None for the first one that is trained and answers the command.
        preset, seed, profile, threads, runs: the run that trained it.
        model: its folder, instead of a run.
    """

    paper: str | None
    variant: str | None
    preset: str
    seed: int
    profile: str
    threads: int | None
    runs: Path
    model: Path | None


def load_network(command: str, options: NetworkOptions) -> TrainedModel[Any, Any]:
    """Load the network for a command; a network of the embedded sample is loaded with a warning.

    Raises:
        UsageError: if there is no such network, or if its task is answered by another command.
    """
    from reproductions.protocol import models, papers
    from reproductions.protocol.loading import load_directory
    from reproductions.protocol.runs import SAMPLE, Run

    variant, model = options.variant, options.model
    if model is not None:
        check_alone(variant, options.seed, options.runs, options.preset)
    paper = options.paper or (models.paper_of(model) if model else _only_paper(command))
    if model is None:
        declared = papers.load(paper).preset(options.preset)
        names = (*declared.headline, *declared.names)
        answering = [name for name in names if declared.task(name).command == command]
        included = [name for name in models.included_models(paper) if name in declared.names]
        name = variant or (answering or [*included, *names])[0]  # the hint at another command names what can answer
        _check_command(command, paper, name, declared.task(name))
        run = Run(paper, options.preset, name, options.seed, options.profile, options.threads, options.runs)
        model = models.find(run, variant)
    trained = load_directory(paper, model)
    _check_command(command, paper, trained.variant.name, trained.task)
    if trained.data.corpus == SAMPLE:
        print("*** TRAINED ON THE EMBEDDED SAMPLE: ITS ANSWERS MEAN NOTHING ***", file=sys.stderr)
    return trained


def check_alone(variant: str | None, seed: int, runs: Path, preset: str, profile: str = "portable") -> None:
    """Refuse options that name a run beside ``--model``, where they would be ignored."""
    given = {"--variant": variant is not None, "--seed": seed != 1, "--runs": runs != Path("runs")}
    given |= {"--preset": preset != "cpu", "--profile": profile != "portable"}
    ignored = " and ".join(option for option, is_given in given.items() if is_given)
    if ignored:
        raise UsageError(f"--model names a network, and so its variant and seed; leave out {ignored}")


def tell_which(options: NetworkOptions, trained: TrainedModel[Any, Any]) -> None:
    """Print which network answered, with its published test result, if the user did not name one: a network that comes
    with the repository is not always the best of its paper."""
    from reproductions.protocol import papers
    from reproductions.protocol.results import Result

    if options.model is not None or options.variant is not None:
        return
    variant, metric = trained.variant, trained.task.metrics[0]
    paper = options.paper or _only_paper(str(trained.task.command))
    path = papers.results_path(paper, options.preset)
    result = Result.read(path) if path.exists() else None
    columns = papers.load(paper).table_columns
    name = next((column.title.removesuffix(", %") for column in columns if column.metric == metric), metric)
    # Pretraining masks 15 % of the pieces at once, perplexity one by one.
    is_other = any(column.of_pretraining for column in columns if column.metric == metric)
    seed = result.seed_of(trained.parameters_sha256) if result else None
    published = [
        f"; published test {name} {row.per_seed[seed]:.2f}{', not comparable' * is_other}"
        for row in (result.rows if result else ())
        if seed
        and (row.variant, row.split, row.metric, row.corpus) == (variant.name, "test", metric, trained.data.corpus)
    ]
    print(f"answered by {variant.name} ({variant.title}){''.join(published[:1])}", file=sys.stderr)


def _only_paper(command: str) -> str:
    from reproductions.protocol import papers

    known = papers.answering(command)
    if len(known) > 1:
        raise UsageError(f"networks of {', '.join(known)} {command} images; choose one with --paper")
    return known[0]


def _check_command(command: str, paper: str, variant: str, task: Task[Any, Any]) -> None:
    if task.command != command:
        of_paper = f"IMAGE --paper {paper}" if task.command in OF_IMAGES else paper
        raise UsageError(f"{paper} {variant}: its task is {task.name}; use gluon-attn {task.command} {of_paper}")
