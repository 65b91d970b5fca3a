"""The commands by name, and the messages for errors in their options."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from gluon_attn.errors import UsageError
from preprocessing.errors import InputError, ParameterError
from reproductions.cli.preprocess import images, texts


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


app = typer.Typer(
    cls=Pipelines, no_args_is_help=True, help="Write a corpus as arrays, TSV, vocabulary and card, for any framework."
)

app.command("naver")(texts.naver_reviews)
app.command("naver-crawl")(texts.naver_crawl_reviews)
app.command("naver-pretraining")(texts.naver_pretraining_text)
app.command("documents")(texts.labelled_documents)
app.command("sentences")(texts.labelled_sentences)
app.command("ptb")(texts.language_modelling)
app.command("flickr8k")(images.captioned_images)
app.command("translation")(texts.parallel_text)
app.command("driving")(images.drives)
app.command("cifar10")(images.cifar10_images)
