"""CIFAR-10: 60 000 images of 32 x 32 pixels in ten classes, from the archive to pixels.

    from preprocessing import cifar10
    result = cifar10.prepare()
    result.splits["train"].pixels, result.splits["train"].label, result.inputs(pixels), result.card

The steps, in order: read-cifar, decode, check-size, split-validation, (resize), normalize. The archive is the official
one with binary files, or one with the same images as single files, which may be recompressed; the card states which.
:func:`subset` selects nested subsets of the training split.

Besides the facts of all images, the card has ``archive`` (layout and encoding of the images), ``content`` (SHA-256 of
the images, however they are packed), ``classes`` (their names, by label) and ``copies`` (images of train that occur
twice, and images of test that occur in train).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from preprocessing.arrays import write_arrays
from preprocessing.cifar_reading import (
    CLASSES as CLASSES,
    PART,
    SIZE,
    check_official,
    content_sha256,
    read_images,
)
from preprocessing.corpora import CorpusFiles, given
from preprocessing.errors import InputError, ParameterError, check_positive
from preprocessing.files import result_directory, write_json
from preprocessing.images.data import CHANNELS, ImageData, ImageSplit
from preprocessing.images.pipeline import ImagePipeline, ImageResult
from preprocessing.images.steps import Decode, Normalize, Resize
from preprocessing.pipeline.card_page import card_page
from preprocessing.pipeline.step import Context, Notes, Step

OWN_IMAGES = "own images"
"""Corpus name of the user's own images."""

VALIDATION_SHARE = 10
"""One in this many training images is used for validation."""

JPEG = b"\xff\xd8"
"""The first bytes of a JPEG file."""

RECOMPRESSED = "JPEG-recompressed images"
"""Description, in the card, of an archive with JPEG files, whose pixels differ slightly from the official ones."""


def pipeline(*, size: int = SIZE) -> ImagePipeline:
    """The pipeline for CIFAR-10 and files in its layout; ``size`` is the height and width to which images are resized.
    Raises ParameterError for an invalid size."""
    check_positive(size=size)
    resize = () if size == SIZE else (Resize(size, size),)
    return ImagePipeline("cifar10", (ReadCifar(), Decode(), CheckSize(), SplitValidation(), *resize, Normalize()))


def prepare(
    corpus: str | CorpusFiles = "cifar10", *, size: int = SIZE, processes: int | None = None, cache: bool = True
) -> ImageResult:
    """Run :func:`pipeline` with ``size`` on ``cifar10``, ``sample`` or your own files (:func:`own_images`)."""
    return pipeline(size=size).run(corpus, processes=processes, cache=cache)


def own_images(path: Path, licence: str = "not stated") -> CorpusFiles:
    """Your own folder or tar archive in one of the layouts of :mod:`preprocessing.cifar_reading`, as a corpus."""
    return given(OWN_IMAGES, {PART: path}, licence, folders=True)


def archive_of(result: ImageResult) -> str:
    """A description of what the images of a result were read from, to be stated next to its numbers."""
    archive: str = result.card["facts"].get("archive", "")  # a restored result has no facts
    return archive


def encode(result: ImageResult, files: Sequence[bytes]) -> np.ndarray:
    """Pixels (files, size, size, 3) of new images of any size and format: decoded and resized as a whole, whatever
    their aspect ratio. Raises InputError for a damaged file."""
    resized = next((step for step in result.pipeline.steps if isinstance(step, Resize)), Resize(SIZE, SIZE))
    if not files:
        return np.empty((0, resized.height, resized.width, CHANNELS), np.uint8)
    encoded = result.encode(files)
    data, _ = resized.apply(ImageData({"new": encoded}), Context())
    return data.splits["new"].decoded


def subset(split: ImageSplit, images: int) -> np.ndarray:
    """Rows (images,) of a subset of a split: the same number of images of each class, those whose pixels have the
    smallest SHA-256. A larger subset contains the smaller ones; if ``images`` is the size of the split, all rows are
    returned.

    Raises:
        ParameterError: a class has too few images, or the number is not a multiple of the number of classes.
    """
    if images == len(split):
        return np.arange(images)
    each, rest = divmod(images, len(CLASSES))
    counts = np.bincount(split.label, minlength=len(CLASSES))
    if rest or each < 1 or each > counts.min():
        most = len(CLASSES) * int(counts.min())
        reason = f"is no multiple of {len(CLASSES)} up to {most}, nor the whole split of {len(split)}"
        raise ParameterError("images", images, reason, remedy=f"choose one, such as {most}")
    keys = np.array([_key(image) for image in split.decoded])
    rows = [np.flatnonzero(split.label == label) for label in range(len(CLASSES))]
    return np.sort(np.concatenate([own[np.argsort(keys[own], kind="stable")[:each]] for own in rows]))


def write(result: ImageResult, directory: Path, *, overwrite: bool = False, page: bool = False) -> None:
    """Write a result as files, the whole directory or nothing: ``train.npz``, ``validation.npz`` and ``test.npz`` with
    ``pixels`` (rows, height, width, 3) uint8, ``label`` (rows,) int64 and ``row_id`` (rows,) str;
    ``normalization.npz`` with ``mean`` and ``std`` (3,) float32; ``card.json``; with ``page``, also ``card.html``, the
    card as a web page.

    Raises InputError when the directory is not empty, unless ``overwrite`` is true and it contains an earlier result.
    """
    with result_directory(directory, overwrite=overwrite) as temporary:
        for name, split in result.splits.items():
            arrays = {"pixels": split.decoded, "label": split.label, "row_id": split.row_id}
            write_arrays(temporary / f"{name}.npz", arrays)
        normalization = result.data.normalization
        assert normalization is not None, "the pipeline normalizes"
        write_arrays(temporary / "normalization.npz", {"mean": normalization.mean, "std": normalization.std})
        write_json(temporary / "card.json", result.card)
        if page:
            card_page.write(result.card, temporary / "card.html")


def _key(image: np.ndarray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(image).data).digest()


@dataclass(frozen=True)
class ReadCifar(Step[ImageData]):
    """Read the archive or the folder, strictly."""

    name: ClassVar[str] = "read-cifar"

    @property
    def rule(self) -> str:
        return (
            "Images are the records of cifar-10-batches-bin/{data_batch_1-5,test_batch}.bin (a label byte, then 32 x "
            "32 red, green and blue values, row by row), in their order, or the files {train,test}/<class>/<name>.jpg "
            "or .png, in the order train, test; class; name; regardless of the order in the archive or file system. "
            "The label is the number of the class in the order airplane, automobile, bird, cat, deer, dog, frog, "
            "horse, "
            "ship, truck. Another folder, a truncated record, both layouts at once, a name that occurs twice or leads "
            "out of the archive, and a split without images are errors; other files are not read."
        )

    def apply(self, data: ImageData, context: Context) -> tuple[ImageData, Notes]:
        files = context.corpus(self.name)
        path = files.path(PART)
        stored = read_images(path)
        check_official(path, stored, files)
        splits = {
            split: ImageSplit.of(list(images.values()), row_id=list(images), label=stored.labels[split])
            for split, images in stored.splits.items()
        }
        kinds = {file[: len(JPEG)] == JPEG for images in stored.splits.values() for file in images.values()}
        kind = RECOMPRESSED if True in kinds else stored.layout
        facts = {
            "archive": kind,
            "content": content_sha256(stored),
            "classes": list(CLASSES),
        }
        return replace(data, splits=splits), Notes(facts=facts)


@dataclass(frozen=True)
class CheckSize(Step[ImageData]):
    """Refuse images of another size."""

    name: ClassVar[str] = "check-size"
    size: int = SIZE

    @property
    def rule(self) -> str:
        return f"Each image has {self.size} x {self.size} pixels; another size is an error."

    def apply(self, data: ImageData, context: Context) -> tuple[ImageData, Notes]:
        for split in data.splits.values():
            for row_id, (height, width) in zip(split.row_id, split.sizes.tolist(), strict=True):
                if (height, width) != (self.size, self.size):
                    reason = f"has {width} x {height} pixels, expected {self.size} x {self.size}"
                    raise InputError(f"image {row_id}", reason, remedy="resize or replace it")
        return data, Notes()


@dataclass(frozen=True)
class SplitValidation(Step[ImageData]):
    """Split validation images off train, by the pixels of each image."""

    name: ClassVar[str] = "split-validation"
    one_in: int = VALIDATION_SHARE

    @property
    def rule(self) -> str:
        return (
            "A training image is in validation when the first 8 hexadecimal digits of the SHA-256 of its pixels (32 x "
            f"32 x 3 bytes: row, column, channel), as a number, modulo {self.one_in} are 0: copies of an image are on "
            "the same side. Images of test that occur in train or validation with the same pixels are counted, not "
            "dropped."
        )

    def apply(self, data: ImageData, context: Context) -> tuple[ImageData, Notes]:
        train, test = data.splits["train"], data.splits["test"]
        keys = [_key(image) for image in train.decoded]
        chosen = np.array([int.from_bytes(key[:4], "big") % self.one_in == 0 for key in keys], np.bool_)
        if chosen.all() or not chosen.any():
            reason = f"no image of {len(keys)} would be in {'train' if chosen.all() else 'validation'}"
            raise InputError("split-validation", reason, remedy="give more images")
        splits = {"train": _rows(train, ~chosen), "validation": _rows(train, chosen), "test": test}
        known = set(keys)
        copies = {"train": len(keys) - len(known), "test in train": sum(_key(image) in known for image in test.decoded)}
        return replace(data, splits=splits), Notes(facts={"copies": copies})


def _rows(split: ImageSplit, chosen: np.ndarray) -> ImageSplit:
    files = tuple(file for file, is_chosen in zip(split.files, chosen, strict=True) if is_chosen)
    return ImageSplit(split.row_id[chosen], split.label[chosen], files, split.decoded[chosen])
