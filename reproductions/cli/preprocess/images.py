"""Commands for images and drives. Each imports only its own pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gluon_attn.errors import UsageError
from preprocessing.errors import check_choice
from reproductions.cli.preprocess.output import MaxSize, MinFreq, NoCache, Out, Replace, Sample, warn, write


def captioned_images(
    out: Out,
    corpus: Annotated[str, typer.Option(help="flickr8k, flickr30k or coco.")] = "flickr8k",
    min_freq: MinFreq = 5,
    max_size: MaxSize = None,
    sample: Sample = False,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """Photographs with captions: Flickr8k, Flickr30k, COCO. Writes the captions, and how to read the images."""
    from preprocessing import flickr8k

    check_choice("corpus", corpus, flickr8k.CORPORA)
    prepared = flickr8k.prepare(
        "sample" if sample else corpus, min_freq=min_freq, max_size=max_size, cache=not no_cache
    )
    write(prepared, out, overwrite, "captions", "words")


def drives(
    out: Out,
    corpus: Annotated[str, typer.Option(help="udacity lake or udacity track.")] = "udacity lake",
    frames: Annotated[
        Path | None, typer.Option(help="Your own frames: a folder, a tar archive, or HDF5 in comma.ai's layout.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(help="Their log: driving_log.csv, interpolated.csv, or HDF5 in comma.ai's layout.")
    ] = None,
    height: Annotated[int, typer.Option(help="Height of the resized frames.")] = 80,
    width: Annotated[int, typer.Option(help="Width of the resized frames.")] = 160,
    smoothing: Annotated[float, typer.Option(help="Factor of the exponential smoothing of targets; 1: none.")] = 0.2,
    target: Annotated[
        str, typer.Option(help="degrees, or inverse radius (1/km), which needs a log with the speed in m/s.")
    ] = "degrees",
    wheel_base: Annotated[
        float | None, typer.Option(help="Wheel base of the car in metres (default: comma.ai's, 2.67).")
    ] = None,
    steering_ratio: Annotated[float | None, typer.Option(help="Steering wheel to wheels (default: 15.3).")] = None,
    slip: Annotated[float | None, typer.Option(help="Factor of the squared speed (default: 0.0014).")] = None,
    block: Annotated[float | None, typer.Option(help="Seconds of a block (default: 20; of the sample 2).")] = None,
    gap: Annotated[float | None, typer.Option(help="Seconds left out between splits (default: a tenth).")] = None,
    test_only: Annotated[
        bool, typer.Option("--test-only", help="All frames are test: a road never trained on.")
    ] = False,
    gaps: Annotated[str, typer.Option(help="Gaps in time of over a second: refuse or divide.")] = "refuse",
    sample: Sample = False,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """Drives: frames of a car's camera and the steering of the car."""
    from preprocessing import driving

    if (frames is None) != (log is None):
        raise UsageError("a drive of your own needs both --frames and --log")
    if corpus not in driving.CORPORA:
        raise UsageError(
            f"--corpus {corpus}: no drive; choose {' or '.join(driving.CORPORA)}, or give --frames and --log"
        )
    for name, seconds_given in {"block": block, "gap": gap}.items():
        if test_only and seconds_given is not None:
            raise UsageError(f"--{name} has no effect with --test-only; leave one of them out")
    given = {"wheel_base": wheel_base, "steering_ratio": steering_ratio, "slip": slip}
    seconds = block if block is not None else driving.SAMPLE_BLOCKS if sample else driving.BLOCKS
    prepared = driving.prepare(
        driving.own_drive(frames, log) if frames and log else "sample" if sample else corpus,
        height=height,
        width=width,
        smoothing=smoothing,
        block_seconds=seconds,
        gap_seconds=gap if gap is not None else seconds / 10,
        gaps=gaps,
        target=target,
        car={name: value for name, value in given.items() if value is not None},
        cycle=driving.TEST_ONLY if test_only else driving.CYCLE,
        cache=not no_cache,
    )
    driving.write(prepared, out, overwrite=overwrite, page=True)
    for name, split in prepared.splits.items():
        print(f"{name}: {len(split)} frames, stretches without a gap: {len(split.stretches)}")
    warn(prepared.warnings)
    print(f"digest {prepared.digest}\nwritten to {out}; see {out / 'card.html'}")


def cifar10_images(
    out: Out,
    size: Annotated[int, typer.Option(help="Height and width to which the 32 x 32 images are resized.")] = 32,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder or tar archive of your own, 32 x 32 pixels, CIFAR-10's classes: {train,test}/CLASS/NAME.jpg, "
            "or the official *_batch*.bin."
        ),
    ] = None,
    sample: Sample = False,
    overwrite: Replace = False,
    no_cache: NoCache = False,
) -> None:
    """Images in ten classes: pixels, labels and their normalization."""
    from preprocessing import cifar10

    corpus = cifar10.own_images(folder) if folder else "sample" if sample else "cifar10"
    prepared = cifar10.prepare(corpus, size=size, cache=not no_cache)
    cifar10.write(prepared, out, overwrite=overwrite, page=True)
    for name, split in prepared.splits.items():
        print(f"{name}: {len(split)} images")
    print(
        f"read from {cifar10.archive_of(prepared)}\ndigest {prepared.digest}\nwritten to {out}; see {out / 'card.html'}"
    )
