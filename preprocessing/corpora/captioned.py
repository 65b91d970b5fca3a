"""Registered corpora of images with captions."""

from __future__ import annotations

from preprocessing.corpora.corpus import CorpusFile, RegisteredCorpus

_TEXT = "flickr8k/Flickr8k_text/"
_KARPATHY = "https://cs.stanford.edu/people/karpathy/deepimagesent/caption_datasets.zip"


def _of_karpathy(name: str, title: str, licence: str, homepage: str, images: str) -> RegisteredCorpus:
    """A corpus in the layout of Karpathy and Fei-Fei (2015): one JSON file with captions and splits."""
    return RegisteredCorpus(
        name=name,
        title=title,
        licence=licence,
        homepage=homepage,
        how_to_get=f"put dataset_{name}.json of {_KARPATHY} and the images, as {images}, into the folder {name}/",
        files={
            "captions": CorpusFile((f"{name}/dataset_{name}.json",)),
            "images": CorpusFile((f"{name}/images",)),
        },
    )


CAPTIONED: tuple[RegisteredCorpus, ...] = (
    RegisteredCorpus(
        name="flickr8k",
        title="Flickr8k: photographs with five captions each (Hodosh et al., 2013)",
        licence="photographs of users of Flickr: for research and teaching, cite Hodosh et al. (2013)",
        homepage="https://hockenmaier.cs.illinois.edu/8k-pictures.html",
        how_to_get=(
            "ask for Flickr8k_Dataset.zip and Flickr8k_text.zip at https://forms.illinois.edu/sec/1713398, and unpack "
            "them as flickr8k/Flicker8k_Dataset and flickr8k/Flickr8k_text"
        ),
        # No hashes: copies of the text differ in their last lines, and copies of the images in their encoding.
        files={
            "captions": CorpusFile((f"{_TEXT}Flickr8k.token.txt",)),
            "train": CorpusFile((f"{_TEXT}Flickr_8k.trainImages.txt",), rows=6_000),
            "validation": CorpusFile((f"{_TEXT}Flickr_8k.devImages.txt",), rows=1_000),
            "test": CorpusFile((f"{_TEXT}Flickr_8k.testImages.txt",), rows=1_000),
            "images": CorpusFile(("flickr8k/Flicker8k_Dataset", "flickr8k/Flickr8k_Dataset")),
        },
    ),
    _of_karpathy(
        "flickr30k",
        "Flickr30k: photographs with five captions each (Young et al., 2014), split by Karpathy",
        "photographs of users of Flickr: for research and teaching, cite Young et al. (2014)",
        "https://shannon.cs.illinois.edu/DenotationGraph/",
        "images/<name>.jpg",
    ),
    _of_karpathy(
        "coco",
        "COCO 2014: photographs with five captions each (Lin et al., 2014), split by Karpathy",
        "captions CC BY 4.0; photographs under the terms of Flickr and of their authors",
        "https://cocodataset.org",
        "images/train2014/<name>.jpg and images/val2014/<name>.jpg",
    ),
)
