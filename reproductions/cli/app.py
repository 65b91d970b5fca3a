"""The command line: ``gluon-attn COMMAND``, or ``python -m reproductions COMMAND``."""

from __future__ import annotations

import inspect
import io
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gluon_attn import __version__
from gluon_attn.errors import UsageError
from preprocessing.errors import InputError
from reproductions.cli import answers, explore, images, one_run, results, training
from reproductions.cli.preprocess import app as preprocess
from reproductions.cli.preprocess.output import Replace
from reproductions.protocol.processes import print_refusal

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Reproductions of attention papers: train, compare with reported numbers, reuse the preprocessing.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"gluon-attn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the program itself."""


_REPRODUCE, _RESULTS, _ANSWERS, _OTHER = "Reproduce", "Results", "Use a trained network", "Data and environment"

app.command("list", rich_help_panel=_REPRODUCE)(results.list_papers)
app.command(rich_help_panel=_REPRODUCE)(training.reproduce)
app.command(rich_help_panel=_REPRODUCE)(training.run)
app.command(rich_help_panel=_REPRODUCE)(training.score)
app.command(rich_help_panel=_REPRODUCE)(training.verify)
app.command("train-run", hidden=True)(one_run.train_run)
app.command("score-run", hidden=True)(one_run.score_run)
app.command("serve-gradients", hidden=True)(one_run.serve_gradients)

app.command(rich_help_panel=_RESULTS)(results.compare)
app.command(rich_help_panel=_RESULTS)(results.power)
app.command(rich_help_panel=_RESULTS)(results.publish)
app.command(rich_help_panel=_RESULTS)(results.report)

app.command(rich_help_panel=_ANSWERS)(answers.predict)
app.command(rich_help_panel=_ANSWERS)(answers.neighbours)
app.command(rich_help_panel=_ANSWERS)(answers.perplexity)
app.command(rich_help_panel=_ANSWERS)(answers.translate)
app.command(rich_help_panel=_ANSWERS)(images.caption)
app.command(rich_help_panel=_ANSWERS)(images.classify)
app.command(rich_help_panel=_ANSWERS)(answers.export)
app.command(rich_help_panel=_ANSWERS)(explore.explore)

app.add_typer(preprocess.app, name="preprocess", rich_help_panel=_OTHER)


@app.command(rich_help_panel=_OTHER)
def rebuild(
    corpus: Annotated[str, typer.Argument(help="Corpus to rebuild: naver.")],
    raw: Annotated[Path, typer.Option(help="raw.tar.xz, or the folder of a clone of e9t/nsmc.")],
    out: Annotated[Path, typer.Option(help="Folder to write.")],
    overwrite: Replace = False,
) -> None:
    """Rebuild the official NSMC files from the raw crawl, bit for bit, and write the repaired variant next to them."""
    from preprocessing import naver_rebuild

    if corpus != "naver":
        raise UsageError(f"corpus {corpus!r} cannot be rebuilt; choose naver")
    rebuilt = naver_rebuild.rebuild(raw, out, overwrite=overwrite)
    for file in rebuilt.files:
        print(f"{file.verdict:9} {file.name:30} {file.rows:7} rows  {file.sha256}")
    if not rebuilt.is_official:
        reason = f"a complete crawl, but not that of NSMC 1.0, so the files in {out} are not the official ones"
        raise UsageError(f"{raw}: {reason}; clone https://github.com/e9t/nsmc and give its folder as --raw")


@app.command(rich_help_panel=_OTHER)
def doctor() -> None:
    """Check the environment and suggest fixes."""
    from reproductions.cli import doctor as checks

    findings = checks.diagnose()
    checks.render(findings)
    if any(finding.status == "problem" for finding in findings):
        raise typer.Exit(1)


def _unwrap_help(*apps: typer.Typer) -> None:
    """Take the help of each command from its docstring, without the line ends inside paragraphs, which Typer keeps."""
    for command in (command for each in apps for command in each.registered_commands):
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


_unwrap_help(app, preprocess.app)

_INTERRUPTED = 130
_AFTER_INTERRUPT = {
    "run": "; continue with --resume",
    "reproduce": "; the same command continues",
    "score": "; the same command continues",
}


_WrongCall: Any = typer.BadParameter.__bases__[0]  # click's UsageError, which Typer does not export


def _refuse_call(error: Any) -> None:
    """Print in one line what is wrong with an option or argument, in place of Typer's box of several."""
    if type(error).__name__ == "NoArgsIsHelpError":  # as Typer tells it apart; its message is the help
        error.show()
        return
    what = " ".join(error.format_message().split()).rstrip(".")
    remedy = f"; see {error.ctx.command_path} --help" if error.ctx else ""
    print_refusal(f"{what[0].lower()}{what[1:]}{remedy}")


def _interrupted() -> str:
    """What to say after Ctrl-C."""
    command, *options = [*sys.argv[1:], ""]
    remedy = _AFTER_INTERRUPT.get(command, "")
    if "--overwrite" in options:  # again, it would remove what is trained
        remedy = remedy.replace("the same command", "the same command without --overwrite")
    return f"interrupted{remedy}"


def main() -> None:
    """Run the command line. An error that the user can fix is printed in one line, with exit status 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without UTF-8 cannot show all characters of the corpora.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = app(prog_name="gluon-attn", standalone_mode=False)
    except (InputError, UsageError) as error:
        print_refusal(error)
        status = 2
    except _WrongCall as error:
        _refuse_call(error)
        status = 2
    except OSError as error:
        what = error.strerror or " ".join(str(error).split()) or type(error).__name__
        print_refusal(f"{error.filename or 'input/output'}: {what}")
        status = 2
    if status == _INTERRUPTED:  # typer ends with this status at Ctrl-C and prints nothing
        print_refusal(_interrupted())
    sys.exit(status)
