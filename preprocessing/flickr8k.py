"""Photographs with captions: Flickr8k in its official layout, Flickr30k and COCO in Karpathy's.

    from preprocessing import flickr8k
    result = flickr8k.prepare("flickr8k")
    result.train.ids, result.train.offsets      # a row for each caption, without begin and end
    result.images("train")                      # the images of these rows: their names, and the rows of each
    result.read(["1000268201_693b08cb0e.jpg"])  # their pixels, (rows, 224, 224, 3) uint8

The steps, in order: read-captions, picture-sizes, tokenize, vocabulary, encode. Rows are captions. Pixels are decoded
on demand, by the rule that the card states.
"""

from __future__ import annotations

import json
import re
import string
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from preprocessing.corpora import CorpusFiles
from preprocessing.corpora.archives import leads_out
from preprocessing.corpora.reading import FETCH_AGAIN, check_count, has_half_pair, read_bytes, read_lines
from preprocessing.errors import InputError, check_positive
from preprocessing.images.reader import ImageReader
from preprocessing.pipeline import card
from preprocessing.pipeline.step import SPLITS, Context, Notes, Step
from preprocessing.text.data import Data, Split
from preprocessing.text.pipeline import Result, TextPipeline
from preprocessing.text.steps import Encode, LearnVocabulary, Tokenize
from preprocessing.text.tokenizers.tokenizer import Tokenizer
from preprocessing.text.vocabulary import SEQUENCE_SPECIALS
from preprocessing.text.writing import write as write

CORPORA = ("flickr8k", "flickr30k", "coco")
READER = ImageReader(224, "bicubic", (127 / 255,) * 3, (128 / 255,) * 3)
"""What EfficientNet-Lite0 was trained with: 224 x 224 pixels as (pixel - 127) / 128. The mean and deviation of
ImageNet's channels, which most networks want, are wrong for it."""


def pipeline(*, min_freq: int = 5, max_size: int | None = None, reader: ImageReader = READER) -> CaptionPipeline:
    """The pipeline for captions.

    ``min_freq`` and ``max_size``: limits of the vocabulary, which is learned on the training split. ``reader``: how
    pixels become inputs. Raises ParameterError for an invalid value.
    """
    check_positive(min_freq=min_freq, max_size=max_size)
    words = CaptionWords()
    steps = (
        ReadCaptions(),
        PictureSizes(reader),
        Tokenize(words),
        LearnCaptionVocabulary(min_freq, max_size),
        Encode(),
    )
    return CaptionPipeline("captions", steps, words, SEQUENCE_SPECIALS, "sample captions", reader)


def prepare(
    corpus: str | CorpusFiles = "flickr8k", *, processes: int | None = None, cache: bool = True, **options: Any
) -> CaptionResult:
    """Run :func:`pipeline` with ``options`` on ``flickr8k``, ``flickr30k``, ``coco``, ``sample`` or files in one of
    their layouts."""
    return pipeline(**options).run(corpus, processes=processes, cache=cache)


@dataclass(frozen=True)
class CaptionedImages:
    """The images of a split.

    Attributes:
        names: names of the images, in the order of the corpus.
        rows: for each image, the rows of the split that are its captions.
    """

    names: tuple[str, ...]
    rows: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False, repr=False)
class CaptionResult(Result):
    """Captions and the location of their images. ``folder``: folder of the images; None for a result that was loaded
    without its corpus. ``reader``: how an image becomes an input."""

    folder: Path | None = None
    reader: ImageReader = READER

    def images(self, split: str) -> CaptionedImages:
        """The images of a split, each with its captions."""
        rows: dict[str, list[int]] = {}
        for row, identifier in enumerate(self.splits[split].row_id.tolist()):
            rows.setdefault(image_of(identifier), []).append(row)
        return CaptionedImages(tuple(rows), tuple(np.array(each) for each in rows.values()))

    def references(self, split: str) -> list[list[list[str]]]:
        """The captions of each image of a split as words, unknown ones included."""
        captions = self.splits[split]
        return [[captions.words(row) for row in rows] for rows in self.images(split).rows]

    def read(self, names: Sequence[str]) -> np.ndarray:
        """The pixels of images of the corpus, (rows, size, size, 3) uint8.

        Raises:
            InputError: the corpus is not available, or a file is damaged.
        """
        if self.folder is None:
            reason = "its images cannot be read: this result was loaded without its corpus"
            raise InputError(self.card["corpus"]["name"], reason, remedy="run the pipeline on the corpus")
        return self.reader.read([self.folder / name for name in names])


@dataclass(frozen=True)
class CaptionPipeline(TextPipeline):
    """A pipeline for captions. ``reader``: how an image becomes an input."""

    reader: ImageReader = READER

    def result(self, data: Data, card: dict[str, Any], digest: str) -> CaptionResult:
        return CaptionResult(self, data, card, digest, None, self.reader)

    def run(self, corpus: str | CorpusFiles, *, processes: int | None = None, cache: bool = True) -> CaptionResult:
        files = self.files(corpus)
        made = super().run(files, processes=processes, cache=cache)
        return CaptionResult(self, made.data, made.card, made.digest, files.path("images"), self.reader)

    def load(self, path: Path | str) -> CaptionResult:
        loaded = super().load(path)
        return CaptionResult(self, loaded.data, loaded.card, loaded.digest, None, self.reader)


def image_of(row_id: str) -> str:
    """The name of the image in the row id of a caption, ``<image>#<number>``."""
    return row_id.rpartition("#")[0]


class CaptionWords(Tokenizer):
    """Tokenizer that divides a caption into words like Karpathy and most later work."""

    name = "caption-words"
    rule = (
        "The caption is lower-cased (Unicode), the ASCII punctuation !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ is deleted "
        "(t-shirt becomes tshirt, man 's becomes man s), and tokens are the pieces between white space. So did "
        "Karpathy's neuraltalk2 and most work after it; no full stop is ever predicted or scored."
    )
    _punctuation: ClassVar[re.Pattern[str]] = re.compile(f"[{re.escape(string.punctuation)}]")

    def tokenize(self, text: str) -> list[str]:
        return self._punctuation.sub("", text.lower()).split()


@dataclass(frozen=True)
class ReadCaptions(Step[Data]):
    """Read captions and splits, strictly."""

    name: ClassVar[str] = "read-captions"

    @property
    def rule(self) -> str:
        return (
            "Official layout: lines <image>#<number>, a tab, the caption, in Flickr8k.token.txt; a file for each split "
            "names its images, one to a line. Karpathy's layout: a JSON object with images, each with filename, split "
            "(restval is train) and sentences. Rows are the captions of the images of a split, in the order of the "
            "split, then of the captions. Captions of images that are in no split are ignored and counted. White "
            "space around a caption is removed, the text is otherwise as it is."
        )

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        files = context.corpus(self.name)
        read_captions = _read_karpathy if files.path("captions").suffix == ".json" else _read_official
        splits, ignored = read_captions(files)
        for part, images in splits.items():
            _check_files(files.path("images"), list(images), part)
        counts = {
            part: {
                "images": len(images),
                "captions": sum(map(len, images.values())),
                "captions_per_image": sorted({len(captions) for captions in images.values()}),
            }
            for part, images in splits.items()
        }
        facts = {"images": counts, "captions_of_images_in_no_split": ignored}
        return data.with_splits({part: _rows(images) for part, images in splits.items()}), Notes(facts=facts)


_Images = dict[str, list[str]]


def _rows(images: Mapping[str, Sequence[str]]) -> Split:
    texts = [caption for captions in images.values() for caption in captions]
    ids = [f"{name}#{number}" for name, captions in images.items() for number in range(len(captions))]
    return Split.of(texts, row_id=ids)


def _read_official(files: CorpusFiles) -> tuple[dict[str, _Images], int]:
    path = files.path("captions")
    captions: dict[str, dict[int, str]] = {}
    for line, text in enumerate(read_lines(path), start=1):
        identifier, tab, caption = text.partition("\t")
        name, _, number = identifier.rpartition("#")
        if not tab or not name or not number.isdecimal() or not caption.strip():
            raise InputError(path, "not <image>#<number>, a tab and a caption", line=line, remedy=FETCH_AGAIN)
        if int(number) in captions.setdefault(name, {}):
            raise InputError(path, f"{identifier} occurs twice", line=line, remedy="remove one of the two")
        captions[name][int(number)] = caption.strip()
    splits: dict[str, _Images] = {}
    used: dict[str, str] = {}
    for part in SPLITS:
        names = read_lines(files.path(part))
        check_count(files.path(part), len(names), files.rows.get(part), "images")
        for line, name in enumerate(names, start=1):
            if name in used:
                reason = f"{name} is in {used[name]} already"
                raise InputError(files.path(part), reason, line=line, remedy="an image belongs to one split, once")
            if name not in captions:
                raise InputError(
                    files.path(part), f"{name} has no caption in {path.name}", line=line, remedy=FETCH_AGAIN
                )
            used[name] = part
        splits[part] = {name: [captions[name][number] for number in sorted(captions[name])] for name in names}
    return splits, sum(len(each) for name, each in captions.items() if name not in used)


def _read_karpathy(files: CorpusFiles) -> tuple[dict[str, _Images], int]:
    path = files.path("captions")
    parts = {"train": "train", "restval": "train", "val": "validation", "test": "test"}
    splits: dict[str, _Images] = {part: {} for part in SPLITS}
    used: dict[str, str] = {}
    ignored = 0
    try:
        for image in json.loads(read_bytes(path))["images"]:
            name = "/".join(filter(None, (image.get("filepath"), image["filename"])))
            captions = [" ".join(sentence["raw"].split()) for sentence in image["sentences"]]
            if (part := parts.get(image["split"])) is None:
                ignored += len(captions)
            elif name in used:
                raise ValueError(f"{name} is in {used[name]} already")
            elif not captions or not all(captions):
                raise ValueError(f"{name} has an empty caption")
            elif any(map(has_half_pair, (name, *captions))):
                raise ValueError(f"{name!r} has a name or caption with half a surrogate pair, which is not a character")
            else:
                splits[part][name], used[name] = captions, part
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"not a file of Karpathy's captions ({' '.join(str(error).split())})"
        raise InputError(path, reason, remedy=FETCH_AGAIN) from None
    if empty := [part for part, images in splits.items() if not images]:
        raise InputError(path, f"has no images of {empty[0]}", remedy=FETCH_AGAIN)
    return splits, ignored


def _check_files(folder: Path, names: Sequence[str], part: str) -> None:
    """Raise InputError unless every image is a file below the folder; a name that leads out of it counts as missing."""
    missing = sorted(name for name in {*names} if leads_out(name) or not (folder / name).is_file())
    if missing:
        reason = f"{len(missing)} of the {len(names)} images of {part} are missing, the first is {missing[0]}"
        raise InputError(folder, reason, remedy=FETCH_AGAIN)


@dataclass(frozen=True)
class PictureSizes(Step[Data]):
    """State how images become inputs, and count their sizes."""

    name: ClassVar[str] = "picture-sizes"
    reader: ImageReader = field(default=READER)

    @property
    def rule(self) -> str:
        return (
            "Nothing is changed here: the sizes of all images are counted, from the headers of their files. When an "
            f"image becomes an input: {self.reader.rule}"
        )

    def parameters(self) -> dict[str, Any]:
        return self.reader.parameters()

    def apply(self, data: Data, context: Context) -> tuple[Data, Notes]:
        folder = context.corpus(self.name).path("images")
        facts: dict[str, Any] = {"heights": {}, "widths": {}, "formats": {}}
        resized = 0
        for part, split in data.splits.items():
            names = dict.fromkeys(image_of(identifier) for identifier in split.row_id.tolist())
            sizes, formats = zip(*(_header(folder / name) for name in names), strict=True)
            for axis, side in enumerate(("widths", "heights")):
                facts[side][part] = card.profile(np.array([size[axis] for size in sizes], np.int64), width=16)
            facts["formats"][part] = {form: formats.count(form) for form in sorted(set(formats))}
            resized += sum(size != (self.reader.size,) * 2 for size in sizes)
        facts["images_that_are_resized"] = resized
        if context.corpus(self.name).name == "flickr8k" and not resized:
            note = (
                f"all images have {self.reader.size} x {self.reader.size} pixels: these are resized copies, encoded "
                "again; the official photographs are larger"
            )
            return data, Notes(facts=facts, warnings=[note])
        return data, Notes(facts=facts)


def _header(path: Path) -> tuple[tuple[int, int], str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path) as image:
                return image.size, str(image.format)
    except Exception as error:  # for a damaged file, Pillow's readers may raise any type of exception
        raise InputError(path, f"not an image ({type(error).__name__})", remedy=FETCH_AGAIN) from None


@dataclass(frozen=True)
class LearnCaptionVocabulary(LearnVocabulary):
    """Learn a vocabulary for generated text."""

    specials: ClassVar[tuple[str, ...]] = SEQUENCE_SPECIALS
