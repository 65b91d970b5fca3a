"""Read the images of CIFAR-10, from the official binary archive or from one file per image in folders of splits and
classes.

Both layouts are read from a folder or a tar archive, compressed or not, without pickles. Images are ordered by name,
not by their position in the archive.

    cifar-10-batches-bin/data_batch_<1-5>.bin, test_batch.bin    records of a label byte and 3 x 32 x 32 pixel bytes
    {train,test}/<class>/<name>.jpg (or .png)                    one image
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from preprocessing.corpora import CorpusFiles
from preprocessing.corpora.archives import contents
from preprocessing.corpora.reading import FETCH_AGAIN, check_count
from preprocessing.errors import InputError
from preprocessing.files import sha256_of_named

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
"""Names of the classes; the index is the label."""

SIZE = 32
"""Height and width of an image in pixels."""

PART = "images"
SPLITS = ("train", "test")
BINARY, FILES = "official binaries", "one file per image"
"""Names of the two layouts in the card."""

_RECORD = 1 + 3 * SIZE * SIZE
_BATCH = re.compile(r"(data_batch_[1-5]|test_batch)\.bin", re.ASCII)
_ENDINGS = (".jpg", ".jpeg", ".png")
_LAYOUT = "the layout is {train,test}/<class>/<name>.jpg, or the official *_batch*.bin"


@dataclass(frozen=True)
class StoredImages:
    """The images of one archive or folder.

    Attributes:
        layout: ``BINARY`` or ``FILES``.
        splits: for each split, the encoded images by row id, in order.
        labels: for each split, the labels in the same order.
    """

    layout: str
    splits: Mapping[str, dict[str, bytes]]
    labels: Mapping[str, list[int]]

    def __len__(self) -> int:
        return sum(map(len, self.splits.values()))


def read_images(path: Path) -> StoredImages:
    """Read all images of an archive or folder. A record of the binary files becomes a file in Portable Pixmap format
    with the same pixels.

    Raises:
        InputError: with file, reason and remedy, for an archive that cannot be unpacked or whose members lead out of
            it, both layouts at once, a folder that is not a class, a batch or image that occurs twice, a batch that
            does not consist of whole records, a label above 9, and a split without images.
    """
    files = dict(_unique(path, contents(path, _is_read)))
    batches = sorted(name for name in files if _BATCH.fullmatch(PurePosixPath(name).name))
    if batches and len(batches) < len(files):
        name = next(name for name in sorted(files) if name not in batches)
        raise InputError(f"{path}: {name}", "an image next to official batches", remedy=f"keep one of both; {_LAYOUT}")
    stored = _of_batches(path, files, batches) if batches else _of_files(path, files)
    for split, images in stored.splits.items():
        if not images:
            raise InputError(path, f"no images in {split}", remedy=_LAYOUT)
    return stored


def check_official(path: Path, stored: StoredImages, files: CorpusFiles) -> None:
    """Raise InputError unless the number and the SHA-256 of the images are those of the registry."""
    check_count(path, len(stored), files.rows.get(PART), "images")
    content = files.contents.get(PART)
    if content is not None and (actual := content_sha256(stored)) != content:
        reason = f"the images together have SHA-256 {actual}, the known ones {content}"
        raise InputError(path, reason, remedy=f"some are altered: {FETCH_AGAIN}")


def content_sha256(stored: StoredImages) -> str:
    """SHA-256 over the id, size and bytes of each image, in order; it is the same for any archive."""
    return sha256_of_named(image for images in stored.splits.values() for image in images.items())


def _of_batches(path: Path, files: Mapping[str, bytes], names: Iterable[str]) -> StoredImages:
    splits: dict[str, dict[str, bytes]] = {split: {} for split in SPLITS}
    labels: dict[str, list[int]] = {split: [] for split in SPLITS}
    first: dict[str, str] = {}
    for name in names:
        where, raw, batch = f"{path}: {name}", files[name], PurePosixPath(name).stem
        if batch in first:
            raise InputError(where, f"batch {batch} occurs twice, also as {first[batch]}", remedy="keep one of them")
        first[batch] = name
        if len(raw) % _RECORD:
            reason = f"{len(raw)} bytes are not whole records of {_RECORD}"
            raise InputError(where, reason, remedy=f"the file is truncated: {FETCH_AGAIN}")
        records = np.frombuffer(raw, np.uint8).reshape(-1, _RECORD)
        if len(wrong := np.flatnonzero(records[:, 0] >= len(CLASSES))):
            record = int(wrong[0])
            reason = f"record {record} has label {records[record, 0]}, expected 0 to {len(CLASSES) - 1}"
            raise InputError(where, reason, remedy=FETCH_AGAIN)
        split = "test" if batch == "test_batch" else "train"
        pixels = records[:, 1:].reshape(-1, 3, SIZE, SIZE).transpose(0, 2, 3, 1)
        header = f"P6 {SIZE} {SIZE} 255\n".encode()
        splits[split] |= {f"{batch}/{number:04}": header + image.tobytes() for number, image in enumerate(pixels)}
        labels[split] += records[:, 0].tolist()
    return StoredImages(BINARY, splits, labels)


def _of_files(path: Path, files: Mapping[str, bytes]) -> StoredImages:
    splits: dict[str, dict[str, bytes]] = {split: {} for split in SPLITS}
    labels: dict[str, list[int]] = {split: [] for split in SPLITS}
    for name, row_id, split, label in sorted(_placed(path, files), key=lambda row: (row[2], row[3], row[1])):
        if row_id in splits[split]:
            raise InputError(f"{path}: {name}", f"image {row_id} occurs twice", remedy="keep one of them")
        splits[split][row_id] = files[name]
        labels[split].append(label)
    return StoredImages(FILES, splits, labels)


def _placed(path: Path, files: Iterable[str]) -> Iterator[tuple[str, str, str, int]]:
    """Yield the name, row id, split and label of each file."""
    for name in files:
        *_, split, label, file = PurePosixPath(name).parts
        if label not in CLASSES:
            remedy = f"use {', '.join(CLASSES)}"
            raise InputError(f"{path}: {name}", f"folder {label!r} is not a class", remedy=remedy)
        yield name, f"{split}/{label}/{PurePosixPath(file).stem}", split, CLASSES.index(label)


def _is_read(name: str) -> bool:
    """Whether a file is a batch, or an image in the folder of a split."""
    *_, split, _, file = ("", "", *PurePosixPath(name).parts)
    if file.startswith("."):
        return False
    return bool(_BATCH.fullmatch(file)) or (split in SPLITS and file.lower().endswith(_ENDINGS))


def _unique(path: Path, files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    names = set()
    for name, raw in files:
        if name in names:
            raise InputError(f"{path}: {name}", "occurs twice in the archive", remedy=FETCH_AGAIN)
        names.add(name)
        yield name, raw
