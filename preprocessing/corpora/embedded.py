"""The embedded sample, written for this project, so that everything runs without network access."""

from __future__ import annotations

from collections.abc import Mapping

from preprocessing.corpora.corpus import CorpusFile, RegisteredCorpus

_SPLITS = ("train", "validation", "test")


def _sample(title: str, files: Mapping[str, str]) -> RegisteredCorpus:
    """One part of the sample. All parts are called ``sample``, the name that results state."""
    return RegisteredCorpus(
        name="sample",
        title=f"{title}, written for this project",
        licence="Apache-2.0",
        homepage="",
        how_to_get="it is part of the package: reinstall the package",
        embedded=True,
        files={part: CorpusFile((path,)) for part, path in files.items()},
    )


EMBEDDED: dict[str, RegisteredCorpus] = {
    "sample": _sample(
        "Short Korean film reviews",
        {"train": "reviews/ratings_train.txt", "test": "reviews/ratings_test.txt"},
    ),
    "sample sentences": _sample(
        "Short everyday sentences in Korean, English and French",
        {split: f"sentences/{split}.tsv" for split in _SPLITS},
    ),
    "sample naver-crawl": _sample(
        "Short Korean film reviews with ratings",
        {"raw": "crawl", "train": "reviews/ratings_train.txt", "test": "reviews/ratings_test.txt"},
    ),
    "sample documents": _sample("English film reviews of several sentences", {"documents": "documents"}),
    "sample sst-2": _sample(
        "English sentences on films, positive and negative",
        {split: f"sentiment/binary.{split}" for split in _SPLITS},
    ),
    "sample sst-5": _sample(
        "English sentences on films in five grades",
        {split: f"sentiment/fine.{split}" for split in _SPLITS},
    ),
    "sample cifar10": _sample("Drawn images of 32 x 32 pixels in ten classes", {"images": "images/cifar10.tar.xz"}),
    "sample captions": _sample(
        "Drawings of shapes, five captions each",
        {
            "captions": "captions/Flickr8k_text/Flickr8k.token.txt",
            "train": "captions/Flickr8k_text/Flickr_8k.trainImages.txt",
            "validation": "captions/Flickr8k_text/Flickr_8k.devImages.txt",
            "test": "captions/Flickr8k_text/Flickr_8k.testImages.txt",
            "images": "captions/Flicker8k_Dataset",
        },
    ),
    "sample ptb": _sample("Plain English news", {split: f"news/{split}.txt" for split in _SPLITS}),
    "sample driving": _sample("A drawn road", {"frames": "driving/center.tar.xz", "log": "driving/driving_log.csv"}),
}
