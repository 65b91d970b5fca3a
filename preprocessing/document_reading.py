"""Labelled documents, one to a file, in the folders of IMDB: ``{train,test}/{neg,pos}/<number>_<rating>.txt``.

Read from the folder or from a tar archive of any packing; the order is that of the names, never that of the archive.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from preprocessing.corpora import CorpusFiles, given
from preprocessing.corpora.reading import BROKEN, FETCH_AGAIN, decoded, unpacked
from preprocessing.errors import InputError
from preprocessing.files import sha256_of_named
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.steps import labels_of_copies, leaks, survey

SPLITS = ("train", "test")
LABELS = ("neg", "pos")
"""Names of the folders; the place is the label."""

PART = "documents"
_UNLABELLED = "unsup"
_BLOCK = 1 << 20
_BROKEN: tuple[type[Exception], ...] = (tarfile.TarError, *BROKEN)
_NAME = re.compile(r"(\d+)_\d+\.txt", re.ASCII)
_LAYOUT = "the layout is {train,test}/{neg,pos}/<number>_<rating>.txt"


@dataclass(frozen=True, order=True)
class Place:
    """Where a document stands; places in their order are documents in theirs."""

    split: int
    label: int
    number: int
    name: str

    @property
    def row_id(self) -> str:
        """``train/pos/0_9``: split, label, number and rating."""
        return f"{SPLITS[self.split]}/{LABELS[self.label]}/{self.name.removesuffix('.txt')}"


def own_documents(path: Path, licence: str = "not stated") -> CorpusFiles:
    """A folder or tar archive of one's own, in the layout of IMDB, as a corpus."""
    return given("own documents", {PART: path}, licence, folders=True)


@dataclass(frozen=True)
class ReadDocuments(Step[Data]):
    """Read the folder or the archive, strictly."""

    name = "read-documents"

    @property
    def rule(self) -> str:
        return (
            "Documents are the files {train,test}/{neg,pos}/<number>_<rating>.txt, in UTF-8, in the order train, test; "
            "neg, pos; number; whatever order the archive or the file system has them in. neg is label 0, pos label 1; "
            "the rating is not used. A name that is different, another folder of texts beside neg and pos, a number "
            f"that occurs twice, invalid UTF-8 or an empty folder are errors; the folder {_UNLABELLED}, hidden files "
            "and files outside these folders are not read. (Among these are IMDB's urls_*.txt, the film of each "
            "document: train and test share a single film, but documents split off train share theirs with train.)"
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        files = context.corpus(self.name)
        path = files.paths[PART]
        documents = read_documents(path)
        _check_official(path, documents, files)
        splits = {name: _split(path, documents, index) for index, name in enumerate(SPLITS)}
        facts = {
            "content": content_sha256(documents),
            "survey": {name: survey(split, width=100) for name, split in splits.items()},
            "leaks_as_read": leaks(labels_of_copies([splits["train"]], splits["test"]), splits["test"]),
        }
        return data.with_splits(splits), Notes(facts=facts)


def read_documents(path: Path) -> dict[Place, bytes]:
    """The bytes of all documents of a folder or archive, in order.

    Raises InputError with file, reason and remedy for an archive that cannot be unpacked, and for anything that
    :class:`ReadDocuments` calls an error, except the encoding.
    """
    found: dict[Place, bytes] = {}
    named: dict[tuple[int, int, int], str] = {}
    for name, raw in _folder(path) if path.is_dir() else _archive(path):
        place = _place(path, name)
        assert place is not None, "only documents are unpacked"
        key = (place.split, place.label, place.number)
        if key in named:
            reason = f"document {place.number} occurs twice: {named[key]} and {name}"
            raise InputError(path, reason, remedy="give each document of a folder a number of its own")
        named[key] = name
        found[place] = raw
    for index, split in enumerate(SPLITS):
        for label, folder in enumerate(LABELS):
            if not any((place.split, place.label) == (index, label) for place in found):
                raise InputError(path, f"no documents in {split}/{folder}", remedy=_LAYOUT)
    return {place: found[place] for place in sorted(found)}


def content_sha256(documents: Mapping[Place, bytes]) -> str:
    """SHA-256 over id, size and bytes of the documents in their order: the same however they are packed."""
    return sha256_of_named((place.row_id, raw) for place, raw in documents.items())


def _place(path: Path, name: str) -> Place | None:
    """The place of a file by its name; None for a file that is none of the documents.

    Raises InputError for a text in a folder with an unknown name, and for an unknown name in a folder of texts.
    """
    *_, split, label, file = ("", "", *PurePosixPath(name).parts)
    if file.startswith(".") or (split not in SPLITS and label not in LABELS):
        return None
    if label not in LABELS:
        if label == _UNLABELLED or not file.endswith(".txt"):
            return None
        raise InputError(f"{path}: {name}", f"folder {label!r} is no label", remedy=f"use {' or '.join(LABELS)}")
    if split not in SPLITS:
        reason = f"folder {split!r} is no split" if split else "does not stand in the folder of a split"
        raise InputError(f"{path}: {name}", reason, remedy=f"use {' or '.join(SPLITS)}; {_LAYOUT}")
    if (matched := _NAME.fullmatch(file)) is None:
        raise InputError(f"{path}: {name}", "is not named <number>_<rating>.txt", remedy=f"rename it; {_LAYOUT}")
    return Place(SPLITS.index(split), LABELS.index(label), int(matched[1]), file)


def _folder(path: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        if file.is_file() and _place(path, name) is not None:
            yield name, file.read_bytes()


def _archive(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        # As a stream: in a packed archive every step back would unpack it from the beginning.
        with unpacked(path) as stream, tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK) as archive:
            for member in archive:
                if member.isfile() and _place(path, member.name) is not None:
                    content = archive.extractfile(member)
                    assert content is not None, "a regular file has content"
                    yield member.name, content.read()
            # What stands behind the archive's end holds the checksum of the packing.
            while stream.read(_BLOCK):
                pass
    except _BROKEN as error:
        reason = f"is no tar archive that can be unpacked to its end ({str(error) or type(error).__name__})"
        raise InputError(path, reason, remedy=f"give a folder, .tar, .tar.gz or .tar.xz, or {FETCH_AGAIN}") from error


def _check_official(path: Path, documents: Mapping[Place, bytes], files: CorpusFiles) -> None:
    rows, content = files.rows.get(PART), files.contents.get(PART)
    if rows is not None and len(documents) != rows:
        raise InputError(path, f"{len(documents)} documents, the official corpus has {rows}", remedy=FETCH_AGAIN)
    if content is not None and (found := content_sha256(documents)) != content:
        reason = f"the documents have SHA-256 {found} together, the official ones {content}"
        raise InputError(path, reason, remedy=f"some are altered: {FETCH_AGAIN}")


def _split(path: Path, documents: Mapping[Place, bytes], index: int) -> Split:
    own = {place: raw for place, raw in documents.items() if place.split == index}
    return Split.of(
        [decoded(f"{path}: {place.row_id}.txt", raw) for place, raw in own.items()],
        row_id=[place.row_id for place in own],
        label=np.array([place.label for place in own], np.int8),
    )
