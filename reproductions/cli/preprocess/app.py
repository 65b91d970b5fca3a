"""The commands by name, and the messages for errors in their options."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import typer
from typer.core import TyperGroup

from gluon_attn.errors import UsageError
from preprocessing.errors import InputError, ParameterError
from preprocessing.files import check_result_directory
from reproductions.cli.preprocess import images, texts

OWN_FILES = ("folder", "frames", "log")
"""The options that name files of one's own."""


class Pipelines(TyperGroup):
    """The commands by name; an unknown name is refused with a one-line message."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            *names, last = self.commands
            raise UsageError(f"corpus {cmd_name!r} has no pipeline; choose {', '.join(names)} or {last}")
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command. The message about a refused parameter names the option that was typed."""
        try:
            return super().invoke(ctx)
        except ParameterError as error:
            option = f"--{error.parameter.replace('_', '-')} {error.value!r}"
            raise InputError(option, error.reason, remedy=error.remedy) from None


def checked(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which refuses an output folder before anything is computed, and ``--sample`` or another corpus next
    to own files."""
    corpus = signature(command).parameters.get("corpus")

    @wraps(command)
    def run(**options: Any) -> None:
        check_result_directory(options["out"], overwrite=options["overwrite"])
        own = next((name for name in OWN_FILES if options.get(name) is not None), None)
        if options["sample"] and own:
            raise UsageError(f"--sample and --{own} name two corpora; give one of them")
        # The embedded sample has a part for each corpus of labelled sentences, but one pair, one drive and so on.
        other = own or ("sample" if options["sample"] and command is not texts.labelled_sentences else None)
        if corpus and other and options["corpus"] != corpus.default:
            raise UsageError(f"--corpus and --{other} name two corpora; give one of them")
        command(**options)

    return run


app = typer.Typer(
    cls=Pipelines, no_args_is_help=True, help="Write a corpus as arrays, TSV, vocabulary and card, for any framework."
)

app.command("naver")(checked(texts.naver_reviews))
app.command("naver-crawl")(checked(texts.naver_crawl_reviews))
app.command("naver-pretraining")(checked(texts.naver_pretraining_text))
app.command("documents")(checked(texts.labelled_documents))
app.command("sentences")(checked(texts.labelled_sentences))
app.command("ptb")(checked(texts.language_modelling))
app.command("flickr8k")(checked(images.captioned_images))
app.command("translation")(checked(texts.parallel_text))
app.command("driving")(checked(images.drives))
app.command("cifar10")(checked(images.cifar10_images))
