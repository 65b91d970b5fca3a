"""Read labelled documents, one per file, in the folders of IMDb: ``{train,test}/{neg,pos}/<number>_<rating>.txt``.

The files are in a folder or in a tar archive, compressed or not. Documents are ordered by name, not by their position
in the archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from preprocessing.corpora import CorpusFiles, given
from preprocessing.corpora.archives import contents
from preprocessing.corpora.reading import FETCH_AGAIN, check_count, check_text, decoded
from preprocessing.errors import InputError
from preprocessing.files import sha256_of_named
from preprocessing.pipeline.step import Context, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.steps import labels_of_copies, leaks, survey

SPLITS = ("train", "test")
LABELS = ("neg", "pos")
"""Names of the folders; the index is the label."""

OWN_DOCUMENTS = "own documents"
"""Corpus name of the user's own documents."""

PART = "documents"
_UNLABELLED = "unsup"
_LONGEST = 1_000_000  # characters of a document of your own
_NAME = re.compile(r"(\d+)_\d+\.txt", re.ASCII)
_LAYOUT = "the layout is {train,test}/{neg,pos}/<number>_<rating>.txt"


@dataclass(frozen=True, order=True)
class DocumentKey:
    """The information in the path of a document; documents are sorted by their keys."""

    split: int
    label: int
    number: int
    name: str

    @property
    def row_id(self) -> str:
        """``train/pos/0_9``: split, label, number and rating."""
        return f"{SPLITS[self.split]}/{LABELS[self.label]}/{self.name.removesuffix('.txt')}"


def own_documents(path: Path | str, licence: str = "not stated") -> CorpusFiles:
    """Your own folder or tar archive in the layout of IMDb, as a corpus."""
    return given(OWN_DOCUMENTS, {PART: path}, licence, folders=True)


@dataclass(frozen=True)
class ReadDocuments(Step[Data]):
    """Read the folder or the archive, strictly."""

    name = "read-documents"

    @property
    def rule(self) -> str:
        return (
            "Documents are the files {train,test}/{neg,pos}/<number>_<rating>.txt, in UTF-8, in the order train, test; "
            "neg, pos; number; regardless of the order in the archive or file system. neg is label 0, pos label 1; "
            "the rating is not used. A different name, another folder of texts next to neg and pos, a number "
            f"that occurs twice, invalid UTF-8 or an empty folder are errors; the folder {_UNLABELLED}, hidden files "
            "and files outside these folders are not read. (Among these are IMDB's urls_*.txt, the film of each "
            "document: train and test share a single film, but documents split off train share theirs with train.)"
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        files = context.corpus(self.name)
        path = files.path(PART)
        documents = read_documents(path)
        _check_official(path, documents, files)
        splits = {name: _split(path, documents, index) for index, name in enumerate(SPLITS)}
        facts = {
            "content": content_sha256(documents),
            "survey": {name: survey(split, width=100) for name, split in splits.items()},
            "leaks_as_read": leaks(labels_of_copies([splits["train"]], splits["test"]), splits["test"]),
        }
        warnings = _odd_documents(path, documents, splits) if files.origin == "given" else []
        return data.with_splits(splits), Notes(facts=facts, warnings=warnings)


def _odd_documents(path: Path, documents: Iterable[DocumentKey], splits: Mapping[str, Split]) -> list[str]:
    """Warnings about the user's own documents. Raises InputError for texts that must be a mistake."""
    for name, split in splits.items():
        for row_id, text in zip(split.row_id, split.text, strict=True):
            check_text(f"{path}: {row_id}.txt", text, longest=_LONGEST)
        if not any(text.strip() for text in split.text):
            raise InputError(f"{path}: {name}", "no document has text", remedy="give texts in UTF-8")
    warnings = []
    keys = list(documents)
    highest = max((key for key in keys if key.label == 0), key=_rating)
    lowest = min((key for key in keys if key.label == 1), key=_rating)
    if _rating(highest) >= _rating(lowest):
        warnings.append(
            f"{highest.row_id}.txt is rated {_rating(highest)} but in neg/, {lowest.row_id}.txt {_rating(lowest)} but "
            "in pos/: are documents in the wrong folder?"
        )
    return warnings


def _rating(key: DocumentKey) -> int:
    return int(key.name.removesuffix(".txt").rpartition("_")[2])


def read_documents(path: Path) -> dict[DocumentKey, bytes]:
    """Read the bytes of all documents of a folder or archive, in order.

    Raises InputError with file, reason and remedy for an archive that cannot be unpacked, and for anything that
    :class:`ReadDocuments` calls an error, except invalid UTF-8.
    """
    documents: dict[DocumentKey, bytes] = {}
    named: dict[tuple[int, int, int], str] = {}
    for name, raw in contents(path, lambda name: _key(path, name) is not None):
        key = _key(path, name)
        assert key is not None, "only documents are unpacked"
        number = (key.split, key.label, key.number)
        if number in named:
            reason = f"document {key.number} occurs twice: {named[number]} and {name}"
            raise InputError(path, reason, remedy="give each document of a folder a different number")
        named[number] = name
        documents[key] = raw
    for index, split in enumerate(SPLITS):
        for label, folder in enumerate(LABELS):
            if not any((key.split, key.label) == (index, label) for key in documents):
                raise InputError(path, f"no documents in {split}/{folder}", remedy=_LAYOUT)
    return {key: documents[key] for key in sorted(documents)}


def content_sha256(documents: Mapping[DocumentKey, bytes]) -> str:
    """SHA-256 over the id, size and bytes of each document, in order; it is the same for any archive."""
    return sha256_of_named((key.row_id, raw) for key, raw in documents.items())


def _key(path: Path, name: str) -> DocumentKey | None:
    """The key of a file, from its name; None for a file that is not a document.

    Raises InputError for a text in a folder with an unknown name, and for a document that is not named
    ``<number>_<rating>.txt``.
    """
    *_, split, label, file = ("", "", *PurePosixPath(name).parts)
    if file.startswith(".") or (split not in SPLITS and label not in LABELS):
        return None
    if label not in LABELS:
        if label == _UNLABELLED or not file.endswith(".txt"):
            return None
        raise InputError(f"{path}: {name}", f"folder {label!r} is not a label", remedy=f"use {' or '.join(LABELS)}")
    if split not in SPLITS:
        reason = f"folder {split!r} is not a split" if split else "is not in the folder of a split"
        raise InputError(f"{path}: {name}", reason, remedy=f"use {' or '.join(SPLITS)}; {_LAYOUT}")
    if (matched := _NAME.fullmatch(file)) is None:
        raise InputError(f"{path}: {name}", "is not named <number>_<rating>.txt", remedy=f"rename it; {_LAYOUT}")
    return DocumentKey(SPLITS.index(split), LABELS.index(label), int(matched[1]), file)


def _check_official(path: Path, documents: Mapping[DocumentKey, bytes], files: CorpusFiles) -> None:
    check_count(path, len(documents), files.rows.get(PART), "documents")
    content = files.contents.get(PART)
    if content is not None and (actual := content_sha256(documents)) != content:
        reason = f"the documents together have SHA-256 {actual}, the official ones {content}"
        raise InputError(path, reason, remedy=f"some are altered: {FETCH_AGAIN}")


def _split(path: Path, documents: Mapping[DocumentKey, bytes], index: int) -> Split:
    own = {key: raw for key, raw in documents.items() if key.split == index}
    return Split.of(
        [decoded(f"{path}: {key.row_id}.txt", raw) for key, raw in own.items()],
        row_id=[key.row_id for key in own],
        label=np.array([key.label for key in own], np.int8),
    )
