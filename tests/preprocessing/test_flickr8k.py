"""Captions of images: both layouts, each fault in one line, the sample's digest, the real corpus's counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from preprocessing import flickr8k
from preprocessing.corpora import CorpusFiles, given
from preprocessing.errors import InputError
from preprocessing.text.vocabulary import SEQUENCE_SPECIALS

# Pinned: when this changes, raise the version of the step that changed.
DIGEST = "d99e5dd53672"
SPLITS = {"train": ["b.png", "a.png"], "validation": ["c.png"], "test": ["d.png"]}
CAPTIONS = ["A dog 's T-shirt .", "Two dogs run !"]


def official(root: Path, **changed: str) -> CorpusFiles:
    """A corpus of four images in the official layout; ``changed`` gives the text of other files."""
    (root / "images").mkdir(parents=True)
    names = [name for part in SPLITS.values() for name in part]
    for name in (*names, "unused.png"):
        Image.new("RGB", (5, 3)).save(root / "images" / name)
    lines = [f"{name}#{number}\t{text}\n" for name in (*names, "unused.png") for number, text in enumerate(CAPTIONS)]
    texts = {part: "".join(f"{name}\n" for name in of) for part, of in SPLITS.items()} | {"captions": "".join(lines)}
    for part, text in (texts | changed).items():
        (root / f"{part}.txt").write_text(text, encoding="utf-8")
    paths = {part: root / f"{part}.txt" for part in texts} | {"images": root / "images"}
    return given("flickr8k", paths, folders=True)


def run(files: CorpusFiles) -> flickr8k.CaptionResult:
    return flickr8k.pipeline(min_freq=1).run(files, cache=False)


def test_rows_are_captions_in_the_order_of_the_split_as_lower_case_words_without_punctuation(tmp_path: Path) -> None:
    result = run(official(tmp_path))
    assert result.train.row_id.tolist() == ["b.png#0", "b.png#1", "a.png#0", "a.png#1"]
    assert result.train.words(0) == ["a", "dog", "s", "tshirt"] and result.train.words(1) == ["two", "dogs", "run"]
    assert result.vocabulary.idx_to_token[:4] == list(SEQUENCE_SPECIALS)
    images = result.images("train")
    assert images.names == ("b.png", "a.png") and [rows.tolist() for rows in images.rows] == [[0, 1], [2, 3]]
    assert result.references("test") == [[["a", "dog", "s", "tshirt"], ["two", "dogs", "run"]]]
    assert result.card["facts"]["captions_of_images_in_no_split"] == 2
    assert result.card["facts"]["widths"]["train"]["max"] == 5 and result.card["facts"]["images_that_are_resized"] == 4


def test_pixels_are_those_of_the_rule(tmp_path: Path) -> None:
    result = run(official(tmp_path))
    pixels = result.read(["a.png", "b.png"])
    assert pixels.shape == (2, 224, 224, 3) and pixels.dtype == np.uint8
    inputs = result.reader.inputs(np.array([[[[127, 255, 0]]]], np.uint8))
    np.testing.assert_allclose(inputs.ravel(), [0, 1, -127 / 128], atol=1e-6)


def karpathy(root: Path, images: list[dict[str, Any]]) -> CorpusFiles:
    """The images of :func:`official` with captions in Karpathy's layout."""
    path = root / "dataset_flickr30k.json"
    path.write_text(json.dumps({"images": images}), encoding="utf-8")
    return given("flickr30k", {"captions": path, "images": official(root).paths["images"]}, folders=True)


def in_karpathys_layout() -> list[dict[str, Any]]:
    names = {"train": "train", "validation": "val", "test": "test"}
    return [
        {
            "filename": name,
            "split": "restval" if name == "a.png" else names[part],
            "sentences": [{"raw": text} for text in CAPTIONS],
        }
        for part, of in SPLITS.items()
        for name in of
    ]


def test_karpathys_layout_gives_the_same_rows(tmp_path: Path) -> None:
    other = karpathy(tmp_path, in_karpathys_layout())
    assert run(other).digest == run(official(tmp_path / "one")).digest


def test_an_image_in_two_of_karpathys_splits_is_refused(tmp_path: Path) -> None:
    first, *rest = in_karpathys_layout()
    with pytest.raises(InputError, match=f"{first['filename']} is in train already"):
        run(karpathy(tmp_path, [first, *rest, {**first, "split": "test"}]))


@pytest.mark.parametrize("sentences", [[], [{"raw": "A dog ."}, {"raw": " "}]])
def test_an_image_of_karpathys_without_a_caption_is_refused(sentences: list[dict[str, str]], tmp_path: Path) -> None:
    first, *rest = in_karpathys_layout()
    with pytest.raises(InputError, match=f"{first['filename']} has an empty caption"):
        run(karpathy(tmp_path, [{**first, "sentences": sentences}, *rest]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"captions": "b.png#0 no tab\n"}, r"captions.txt, line 1: not <image>#<number>, a tab and a caption"),
        ({"captions": "b.png#0\tA .\nb.png#0\tB .\n"}, r"captions.txt, line 2: b.png#0 occurs twice"),
        ({"test": "b.png\n"}, r"test.txt, line 1: b.png is in train already"),
        ({"test": "e.png\n"}, r"test.txt, line 1: e.png has no caption"),
    ],
)
def test_a_fault_is_one_line(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(official(tmp_path, **changed))


def test_a_missing_or_damaged_image_is_named(tmp_path: Path) -> None:
    files = official(tmp_path)
    (tmp_path / "images" / "d.png").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"d.png: not an image"):
        run(files)
    (tmp_path / "images" / "c.png").unlink()
    with pytest.raises(InputError, match=r"1 of the 1 images of validation are missing, the first is c.png"):
        run(files)


def test_no_name_leads_out_of_the_folder_of_images(tmp_path: Path) -> None:
    captions = "".join(f"{name}#0\tA .\n" for name in ("../train.txt", "b.png", "c.png", "d.png"))
    files = official(tmp_path, captions=captions, train="../train.txt\nb.png\n")
    with pytest.raises(InputError, match=r"1 of the 2 images of train are missing, the first is ../train.txt"):
        run(files)


def test_the_digest_of_the_sample_is_pinned_and_the_cache_gives_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GLUON_ATTN_CACHE", str(tmp_path))
    first, second = (flickr8k.prepare("sample") for _ in range(2))
    assert first.digest[:12] == second.digest[:12] == DIGEST
    assert second.read(second.images("test").names[:1]).shape == (1, 224, 224, 3)


def test_what_was_learned_is_restored_without_the_corpus(tmp_path: Path) -> None:
    result = flickr8k.prepare("sample", cache=False)
    result.save(tmp_path / "saved.npz")
    loaded = result.pipeline.load(tmp_path / "saved.npz")
    assert isinstance(loaded, flickr8k.CaptionResult) and loaded.vocabulary == result.vocabulary
    with pytest.raises(InputError, match=r"its images cannot be read: this result was loaded without"):
        loaded.read(["a.png"])


@pytest.mark.corpus("flickr8k")
def test_the_real_corpus_has_its_published_counts() -> None:
    result = flickr8k.prepare("flickr8k")
    counts = {part: fact["images"] for part, fact in result.card["facts"]["images"].items()}
    assert counts == {"train": 6000, "validation": 1000, "test": 1000}
    assert result.data.rows() == {"train": 30_000, "validation": 5_000, "test": 5_000}
    assert len(result.vocabulary) == 2541


def test_captions_of_an_image_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    lines = [f"{name}.png#{number}\tcaption {number}\n" for number in (1, 0) for name in "abcd"]
    result = run(official(tmp_path, captions="".join(lines)))
    assert result.train.row_id.tolist() == ["b.png#0", "b.png#1", "a.png#0", "a.png#1"]
    assert result.train.text.tolist() == ["caption 0", "caption 1"] * 2
