"""Commands that caption or classify image files with a trained network.

Modules that load MXNet are imported inside the commands, because the runtime profile must be set before.
"""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from preprocessing.errors import InputError
from preprocessing.files import printable
from reproductions.cli.answers import Json
from reproductions.cli.network import AnyVariant, Model, NetworkOptions, OneSeed, load_network, tell_which
from reproductions.cli.options import PresetName, Profile, Runs, Threads, checked_output
from reproductions.protocol.processes import print_refusal

Images = Annotated[list[Path], typer.Argument(help="Image files: JPEG, PNG or another format of Pillow.")]
Paper = Annotated[
    str | None,
    typer.Option(help="Paper of the network. Default: that of --model, else the only one with such networks."),
]


def caption(
    images: Images,
    paper: Paper = None,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    model: Model = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for a figure of each image: where the network attends, word by word.")
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width. Default: the variant's.")] = None,
    json: Json = False,
) -> None:
    """Caption images: one line per image, with its path and its caption, separated by a tab.

    If an image cannot be read, a message is printed on standard error, the others are captioned, and the exit status is
    2.
    """
    runtime.configure(profile, threads)
    from gluon_attn.plots import image_attention
    from reproductions.tasks.captioning.results import word_panels
    from reproductions.tasks.captioning.task import caption_files

    _refuse_line_feeds(images)
    figures = {number: _figure(out, number, path) for number, path in enumerate(images, start=1)} if out else {}
    network = NetworkOptions(paper, variant, preset, seed, profile, threads, runs, model)
    trained = load_network("caption", network)
    failed = drawn = 0
    for number, path in enumerate(images, start=1):
        try:
            answer = caption_files(trained, [path], beam=beam)[0]
        except InputError as error:
            print_refusal(error)
            failed += 1
            continue
        record = {"image": printable(path), "caption": answer.text, "log_p": round(answer.log_p, 4)}
        print(json_text.dumps(record, ensure_ascii=False) if json else f"{printable(path)}\t{answer.text}", flush=True)
        if out is not None and answer.weights is not None:
            pixels = trained.data.prepared.reader.read([path])[0]
            panels = word_panels(pixels, answer.words, answer.weights)
            image_attention.draw(panels, figures[number], answer.text)
            drawn += 1
    if out is not None and not drawn and failed < len(images):
        print(f"variant {trained.variant.name} has no attention: there is nothing to draw", file=sys.stderr)
    if failed < len(images):
        tell_which(network, trained)
    if failed:
        raise typer.Exit(2)


def classify(
    images: Images,
    paper: Paper = None,
    variant: AnyVariant = None,
    preset: PresetName = "cpu",
    seed: OneSeed = 1,
    profile: Profile = "portable",
    threads: Threads = None,
    runs: Runs = Path("runs"),
    model: Model = None,
    best: Annotated[
        int, typer.Option(min=1, help="Number of classes to print for each image, the likeliest first.")
    ] = 1,
    json: Json = False,
    attention: Annotated[
        Path | None, typer.Option(help="Also draw what the network attends to in each image: the PNG to write.")
    ] = None,
) -> None:
    """Classify images: one line per image, with its path, its class and the probability of that class.

    Each image is resized to the size that the network reads, regardless of its aspect ratio. If an image cannot be
    read, a message is printed on standard error, the others are classified, and the exit status is 2.
    """
    runtime.configure(profile, threads)
    from reproductions.protocol.task import AnswerOptions
    from reproductions.tasks.image_classification.answers import answer_image, draw_attention, require_attention

    attention = checked_output(attention, "a PNG file")
    if attention is not None and attention.suffix.lower() != ".png":
        raise UsageError(f"{attention}: the picture is a PNG; name a file that ends in .png")
    if attention is not None and attention.resolve() in [path.resolve() for path in images]:
        raise UsageError(f"{attention}: is one of the images; name another file for the picture")
    if json and best > 1:
        raise UsageError("--json prints the probabilities of all classes; leave out --best")
    _refuse_line_feeds(images)
    network = NetworkOptions(paper, variant, preset, seed, profile, threads, runs, model)
    trained = load_network("classify", network)
    if attention is not None:
        require_attention(trained)
    classified: list[Path] = []
    for number, path in enumerate(images, start=1):
        try:
            line = answer_image(trained, path, number, AnswerOptions(n_best=best, json=json))
        except InputError as error:
            print_refusal(error)
            continue
        print(line if json else f"{printable(path)}\t{line}", flush=True)
        classified.append(path)
    if attention is not None and classified:
        draw_attention(trained, classified, attention)
        print(f"written: {attention}", file=sys.stderr)
    if classified:
        tell_which(network, trained)
    if len(classified) < len(images):
        raise typer.Exit(2)


def _figure(folder: Path, number: int, image: Path) -> Path:
    """The figure of an image.

    Raises:
        UsageError: if the folder is a file, or has a file of that name, which may be an image to caption.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; name a folder for the figures")
    path = folder / f"{number}-{image.stem}.png"
    if path.exists():
        raise UsageError(f"{path}: exists already; name another folder for the figures")
    return path


def _refuse_line_feeds(images: Sequence[Path]) -> None:
    """Refuse names that would take several lines of the output."""
    for path in images:
        if "\n" in str(path):
            raise UsageError(f"{str(path)!r}: has a line feed in its name; rename the file")
