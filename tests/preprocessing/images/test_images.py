"""Images through the same engine as text: card, cache, digest; decoding, resizing and normalization by example."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from preprocessing.corpora import CorpusFiles
from preprocessing.errors import InputError
from preprocessing.images import steps
from preprocessing.images.data import ImageData, ImageSplit
from preprocessing.images.pipeline import ImageResult
from preprocessing.images.steps import Decode, Normalize, Resize
from preprocessing.pipeline.card_page import card_page
from preprocessing.pipeline.step import Context
from tests.preprocessing.images_on_disk import drawn, pipeline, write_images

ROOT = Path(steps.__file__).parents[2]

# Pinned: when this changes, raise the version of the step that changed.
DIGEST = "a7d3324b9c879c7103a012bfc9582a3dd3e25915916a4f7ccd8fd003e9c8ece6"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> CorpusFiles:
    return write_images(tmp_path_factory.mktemp("images") / "own")


@pytest.fixture(scope="module")
def result(files: CorpusFiles) -> ImageResult:
    return pipeline().run(files, cache=False)


def png(image: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "png")
    return stream.getvalue()


def split(*images: np.ndarray) -> ImageData:
    return ImageData(
        {"train": ImageSplit.of([png(image) for image in images], row_id=[str(row) for row in range(len(images))])}
    )


def test_the_card_counts_rows_labels_and_sizes(result: ImageResult) -> None:
    card = result.card
    assert [step["name"] for step in card["steps"]] == ["read-images", "decode", "resize", "normalize"]
    assert card["steps"][0]["rows"]["train"] == {"in": 0, "out": 5}
    assert "tokens" not in card["steps"][0]
    assert card["splits"]["train"] == {"rows": 5, "labels": {"0": 2, "1": 2, "2": 1}}
    assert (card["facts"]["heights"]["train"]["min"], card["facts"]["heights"]["train"]["max"]) == (6, 10)
    assert card["facts"]["widths"]["test"]["max"] == 9
    assert result.corpora.keys() == {"train", "validation", "test"}
    assert list(result.splits) == ["train", "validation", "test"]
    assert repr(result).startswith("<ImageResult of own images by images: train 5, validation 2, test 3; digest a7d3")


def test_the_card_makes_a_page(result: ImageResult, tmp_path: Path) -> None:
    card_page.write(result.card, tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert result.digest in page and "bilinear" in page and "0: 2 (40.00 %)" in page
    assert "heights" in page and "token" not in page


def test_the_digest_is_pinned_whatever_the_hash_seed(result: ImageResult, tmp_path: Path) -> None:
    assert result.digest == DIGEST
    program = (
        "import sys; from pathlib import Path; from tests.preprocessing.images_on_disk import pipeline, write_images;"
        "r = pipeline().run(write_images(Path(sys.argv[1])), cache=False); print(r.digest);"
        "print([n for n in ('mxnet', 'gluon_attn', 'preprocessing.text') if n in sys.modules])"
    )
    for seed in ("1", "2"):
        variables = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", program, str(tmp_path / seed)]
        done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout.split("\n")[:2] == [DIGEST, "[]"], done.stderr


@pytest.mark.parametrize("resized", [True, False])
def test_the_second_run_reads_the_cache(
    files: CorpusFiles, resized: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GLUON_ATTN_CACHE", str(tmp_path))
    chosen = pipeline() if resized else pipeline(Normalize())
    first = chosen.run(files)
    monkeypatch.setattr(Decode, "apply", None)
    second = chosen.run(files)
    assert (second.digest, second.card) == (first.digest, first.card)
    for name, ours in first.splits.items():
        theirs = second.splits[name]
        assert (ours.row_id == theirs.row_id).all() and (ours.label == theirs.label).all()
        assert ours.pixels is not None and theirs.pixels is not None and ours.pixels.dtype == theirs.pixels.dtype
        assert all((one == other).all() for one, other in zip(ours.pixels, theirs.pixels, strict=True))
    ours, theirs = first.splits["test"], second.splits["test"]
    if resized:
        assert (first.inputs(ours.decoded) == second.inputs(theirs.decoded)).all()


def test_decoding_restores_the_pixels_and_converts_grey_and_transparent_images_to_rgb() -> None:
    image, grey = drawn(3, 4, 5), drawn(1, 2, 2)[..., 0]
    transparent = np.dstack([image, np.full((4, 5), 7, np.uint8)])
    data, _ = Decode().apply(split(image, grey, transparent), Context())
    pixels = data.splits["train"].decoded
    assert pixels.dtype == object
    assert (pixels[0] == image).all() and (pixels[2] == image).all()
    assert (pixels[1] == grey[..., None]).all() and pixels[1].shape == (2, 2, 3)


def test_a_damaged_file_is_named() -> None:
    whole = png(drawn(1, 30, 30))
    for damaged in (b"", b"no image", whole[: len(whole) // 2]):
        data = ImageData({"train": ImageSplit.of([whole, damaged], row_id=["good", "bad"])})
        with pytest.raises(InputError, match="image bad: cannot be decoded"):
            Decode().apply(data, Context())


def test_resizing_averages_and_does_not_change_images_of_that_size() -> None:
    image = np.zeros((2, 4, 3), np.uint8)
    image[:, 2:] = 200
    data, _ = Decode().apply(split(image, drawn(1, 1, 2)), Context())
    nearest, _ = Resize(1, 2, "nearest").apply(data, Context())
    pixels = nearest.splits["train"].decoded
    assert pixels.shape == (2, 1, 2, 3) and pixels.dtype == np.uint8
    assert pixels[0, 0].tolist() == [[0] * 3, [200] * 3]
    assert (pixels[1] == drawn(1, 1, 2)).all()
    halves, _ = Resize(1, 1).apply(data, Context())
    assert halves.splits["train"].decoded[0].tolist() == [[[100] * 3]]


def test_a_pipeline_that_does_not_normalize_has_no_inputs(files: CorpusFiles) -> None:
    plain = pipeline(Resize(4, 4)).run(files, cache=False)
    with pytest.raises(ValueError, match="pipeline images does not normalize"):
        plain.inputs(plain.splits["train"].decoded)


def test_normalized_train_has_mean_0_and_deviation_1(result: ImageResult) -> None:
    train = result.splits["train"]
    inputs = result.inputs(train.decoded)
    assert inputs.shape == (5, 3, 4, 4) and inputs.dtype == np.float32
    np.testing.assert_allclose(inputs.mean(axis=(0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(inputs.std(axis=(0, 2, 3)), 1, atol=1e-5)
    channels = result.card["facts"]["channels"]
    np.testing.assert_allclose(channels["mean"], (train.decoded / 255).mean(axis=(0, 1, 2)), atol=1e-12)
    np.testing.assert_allclose(channels["std"], (train.decoded / 255).std(axis=(0, 1, 2)), atol=1e-12)


def test_given_statistics_map_to_the_range_from_minus_1_to_1_and_a_constant_channel_to_0() -> None:
    image = np.zeros((1, 2, 3), np.uint8)
    image[0, 1] = 255, 0, 255
    data, _ = Decode().apply(split(image), Context())
    half = (0.5, 0.5, 0.5)
    given, notes = Normalize(half, half).apply(data, Context())
    assert given.normalization is not None and notes.facts["channels"]["mean"] == [0.5] * 3
    pixels = given.splits["train"].decoded
    assert given.normalization(pixels)[0].tolist() == [[[-1, 1]], [[-1, -1]], [[-1, 1]]]
    learned, _ = Normalize().apply(data, Context())
    assert learned.normalization is not None and (learned.normalization(pixels)[0, 1] == 0).all()


def test_new_images_are_encoded_like_the_splits(files: CorpusFiles, result: ImageResult) -> None:
    paths = sorted(files.paths["test"].iterdir())
    encoded = result.encode([path.read_bytes() for path in paths])
    assert (encoded.decoded == result.splits["test"].decoded).all()
    assert (encoded.label == -1).all()


def test_steps_out_of_order_and_wrong_parameters_are_refused(files: CorpusFiles) -> None:
    with pytest.raises(InputError, match="no corpus files are given"):
        pipeline().steps[0].apply(ImageData(), Context())
    with pytest.raises(InputError, match="put a decode step before it"):
        Resize(2, 2).apply(split(drawn(1, 3, 3)), Context())
    with pytest.raises(InputError, match="height 0: must be at least 1"):
        Resize(0, 2)
    with pytest.raises(InputError, match="choose nearest, bilinear"):
        Resize(2, 2, "cubic")
    with pytest.raises(InputError, match="only one of mean and std"):
        Normalize(mean=(0.5, 0.5, 0.5))
    empty = ImageData({"train": ImageSplit.of([], row_id=[])})
    with pytest.raises(InputError, match="has no images"):
        Normalize().apply(Decode().apply(empty, Context())[0], Context())
