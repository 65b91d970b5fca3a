"""Arguments and options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gluon_attn.errors import UsageError

OWN = "Data of your own"
WIDE = 400
"""Width in columns that no table exceeds."""


def checked_output(path: Path | None, what: str) -> Path | None:
    """Return the file to write, for a link the one that it points to. One that exists but is not a regular file is
    refused: to replace it would, for root, replace a device. So are links to open files, such as ``/dev/stdout``.

    Raises:
        UsageError: if it is a folder, a device, a pipe, or a link below ``/dev`` or ``/proc``.
    """
    if path is None:
        return None
    is_open_file = path.is_symlink() and path.absolute().parts[1] in ("dev", "proc")
    if is_open_file or (path.exists() and not path.is_file()):
        kind = "is a directory" if path.is_dir() else "is not a regular file"
        raise UsageError(f"{path}: {kind}; name {what}")
    return path.resolve() if path.is_symlink() else path


def _folder(text: str) -> Path:
    """The folder that was typed. An empty name is refused: it would mean the current folder, which nobody intends."""
    if not text:
        raise typer.BadParameter("the name of the folder is empty; leave the option out for ./runs")
    return Path(text)


Paper = Annotated[str, typer.Argument(help="A paper of `gluon-attn list`, or the path of a script of your own.")]
PresetName = Annotated[
    str,
    typer.Option(
        "--preset", help="smoke (tiny networks on the embedded sample), cpu (our tables) or paper (sizes of the paper)."
    ),
]
Seeds = Annotated[
    list[int] | None,
    typer.Option("--seed", min=0, help="Repeat for several. Default: the variant's, else the preset's."),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        help="Repeat for several. Default: all (verify: those that are published); on your own data, those that read "
        "what the first headline variant reads.",
    ),
]
Profile = Annotated[
    str,
    typer.Option(
        help="portable: one thread, same bits on x86-64 with AVX2 (the README names an exception). fast: all cores; "
        "reproducible on this machine only."
    ),
]
Threads = Annotated[int | None, typer.Option(help="Threads of the fast profile.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of trainings at a time. Default: one per core, or per --local-workers cores; one in the fast "
        "profile, with --workers and with --port.",
    ),
]
LocalWorkers = Annotated[
    int | None, typer.Option("--local-workers", min=1, help="Divide each training among processes on this machine.")
]
Hosts = Annotated[
    Path | None,
    typer.Option("--workers", help="Divide each training among machines: a file of hosts for ssh, one on each line."),
]
Port = Annotated[int | None, typer.Option("--port", min=1, max=65535, help="Port of the workers' scheduler.")]
MicroBatches = Annotated[
    int,
    typer.Option(
        "--micro-batches", min=1, help="Gradient accumulation: compute each batch in this many parts, to save memory."
    ),
]
Device = Annotated[
    str, typer.Option("--device", help="cpu or gpu:0; the workers of one machine take gpu:0, gpu:1 and so on.")
]
Compression = Annotated[
    float | None,
    typer.Option(
        "--compression",
        min=1e-30,
        help="Threshold of 2-bit gradient compression: workers send plus or minus this, or nothing.",
    ),
]
Asynchronous = Annotated[
    bool, typer.Option("--asynchronous", help="Workers do not wait for each other: no two trainings are the same.")
]
Runs = Annotated[Path, typer.Option(parser=_folder, metavar="PATH", help="Folder of the run directories.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue interrupted runs.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing runs.")]
ResultsFile = Annotated[Path | None, typer.Option(help="A results file. Default: the published one.")]

Train = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=OWN,
        help="Training file: tab-separated id, document, label, as in NSMC; for language models one sentence per line.",
    ),
]
Validation = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=OWN,
        help="Validation file. Without one a tenth of train is held out: texts by hash, the last lines for language "
        "models.",
    ),
]
Test = Annotated[Path | None, typer.Option(rich_help_panel=OWN, help="Test file.")]
Folder = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=OWN,
        help="Instead of files: to translate, train and test, each .SOURCE and .TARGET; to classify, train.tsv and "
        "test.tsv, or documents in the folders of IMDb; to drive, a log and its frames. validation is optional.",
    ),
]
Source = Annotated[
    str | None,
    typer.Option(rich_help_panel=OWN, help="Source language, also the extension of the files, such as en."),
]
Target = Annotated[
    str | None,
    typer.Option(rich_help_panel=OWN, help="Target language, also the extension of the files, such as de."),
]
