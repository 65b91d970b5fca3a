"""CIFAR-10 from both layouts to pixels: rows by hand, faults of files, subsets, digests."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from preprocessing import cifar10
from preprocessing.errors import InputError, ParameterError
from preprocessing.images.data import ImageSplit
from preprocessing.images.pipeline import ImageResult

# Pinned: when these change, raise the version of the step that changed.
SAMPLE_DIGEST = "5a5376b1f63d"
CORPUS_DIGEST = "ba607a17fb02d8d1b892eed73ac07e67f417ee85e9ebc210f2d4eb256e6131ec"


@pytest.fixture(scope="module")
def sample() -> ImageResult:
    return cifar10.prepare("sample", cache=False)


def drawn(seed: int, size: int = 32) -> np.ndarray:
    return np.random.RandomState(seed).randint(0, 256, (size, size, 3)).astype(np.uint8)


def encoded(image: np.ndarray, kind: str = "png") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, kind)
    return stream.getvalue()


def files(images: int = 6, kind: str = "png") -> dict[str, bytes]:
    """A corpus in folders: two classes."""
    names = [(split, label, row) for split in ("train", "test") for label in ("cat", "ship") for row in range(images)]
    return {
        f"{split}/{label}/{row}.{kind}": encoded(drawn(number), kind.replace("jpg", "jpeg"))
        for number, (split, label, row) in enumerate(names)
    }


def batches(records: int = 12) -> dict[str, bytes]:
    """A corpus of official binaries: two batches and the test batch."""
    content = {}
    for number, name in enumerate(("data_batch_2", "data_batch_1", "test_batch")):
        rows = [bytes([row % 10]) + drawn(100 * number + row).transpose(2, 0, 1).tobytes() for row in range(records)]
        content[f"cifar-10-batches-bin/{name}.bin"] = b"".join(rows)
    return content | {"cifar-10-batches-bin/readme.html": b"not read"}


def archive(path: Path, members: Mapping[str, bytes]) -> Path:
    with tarfile.open(path, "w:xz") as tar:
        for name, raw in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            tar.addfile(info, io.BytesIO(raw))
    return path


def run(path: Path) -> ImageResult:
    return cifar10.prepare(cifar10.own_images(path), cache=False)


def together(result: ImageResult) -> dict[str, tuple[int, bytes]]:
    """Label and pixels of every training image, validation included, by row id."""
    splits = (result.splits["train"], result.splits["validation"])
    return {
        str(row_id): (int(label), image.tobytes())
        for split in splits
        for row_id, label, image in zip(split.row_id, split.label, split.decoded, strict=True)
    }


def test_official_binaries_have_the_pixels_of_their_records(tmp_path: Path) -> None:
    result = run(archive(tmp_path / "a.tar.xz", batches()))
    assert result.card["facts"]["archive"] == "official binaries"
    test = result.splits["test"]
    assert test.row_id[:2].tolist() == ["test_batch/0000", "test_batch/0001"]
    assert test.label.tolist() == [row % 10 for row in range(12)]
    assert (test.decoded[3] == drawn(203)).all()
    train = together(result)
    assert len(train) == 24 and train["data_batch_2/0011"] == (1, drawn(11).tobytes())


def test_files_are_in_the_order_of_class_and_name_whatever_the_order_in_the_archive(tmp_path: Path) -> None:
    content = files()
    result = run(archive(tmp_path / "a.tar.xz", content))
    assert result.card["facts"]["archive"] == "one file per image"
    assert result.splits["test"].row_id[5:7].tolist() == ["test/cat/5", "test/ship/0"]
    assert result.splits["test"].label.tolist() == [3] * 6 + [8] * 6
    assert (result.splits["test"].decoded[0] == drawn(12)).all()
    backwards = run(archive(tmp_path / "b.tar.xz", dict(reversed(content.items()))))
    assert backwards.digest == result.digest
    for name, raw in content.items():
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    assert run(tmp_path / "folder").digest == result.digest


def test_the_card_says_that_jpeg_files_were_recompressed(tmp_path: Path) -> None:
    result = run(archive(tmp_path / "a.tar.xz", files(20, "jpg")))
    assert result.card["facts"]["archive"] == cifar10.archive_of(result) == cifar10.RECOMPRESSED


def test_validation_is_a_tenth_by_the_pixels_and_copies_are_counted(tmp_path: Path, sample: ImageResult) -> None:
    train, validation = sample.splits["train"], sample.splits["validation"]
    assert (len(train), len(validation), len(sample.splits["test"])) == (179, 21, 40)
    content = files()
    content["test/ship/7.png"] = content["train/cat/0.png"]
    content["train/ship/7.png"] = content["train/cat/0.png"]
    result = run(archive(tmp_path / "a.tar.xz", content))
    assert result.card["facts"]["copies"] == {"train": 1, "test in train": 1}
    sides = [
        name
        for name in ("train", "validation")
        for row in result.splits[name].row_id
        if row.endswith(("cat/0", "ship/7"))
    ]
    assert len(sides) == 2 and len(set(sides)) == 1, "copies of an image are on the same side"


def truncated(content: dict[str, bytes], name: str) -> dict[str, bytes]:
    return content | {name: content[name][:-5]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (files() | {"train/zebra/1.png": b"x"}, "train/zebra/1.png: folder 'zebra' is not a class"),
        (files() | {"../train/cat/9.png": b"x"}, r"\.\./train/cat/9.png: leads out of the archive"),
        (files() | {"/train/cat/9.png": b"x"}, "/train/cat/9.png: leads out of the archive"),
        (files() | {"train/cat/0.jpg": b"x"}, "image train/cat/0 occurs twice"),
        (files() | {"data_batch_1.bin": b"x"}, "an image next to official batches"),
        ({name: raw for name, raw in files().items() if "test" not in name}, "no images in test"),
        ({"notes.txt": b"x"}, "no images in train"),
        (files() | {"train/cat/0.png": b""}, "image train/cat/0.* cannot be decoded"),
        (files() | {"train/cat/0.png": encoded(drawn(1))[:900]}, "image train/cat/0"),
        (
            files() | {"train/cat/0.png": encoded(drawn(1, 31))},
            "image train/cat/0: has 31 x 31 pixels, expected 32 x 32",
        ),
        (
            batches() | {"copy/data_batch_1.bin": bytes(3073)},
            "copy/data_batch_1.bin: batch data_batch_1 occurs twice, also as cifar-10-batches-bin/data_batch_1.bin; ",
        ),
        (truncated(batches(), "cifar-10-batches-bin/test_batch.bin"), "are not whole records of 3073"),
        (
            batches() | {"cifar-10-batches-bin/data_batch_3.bin": b"\x0a" * 3073},
            "record 0 has label 10, expected 0 to 9",
        ),
    ],
)
def test_faults_are_named_in_one_line(content: dict[str, bytes], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        run(archive(tmp_path / "a.tar.xz", content))
    assert "\n" not in str(caught.value)


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.xz", files())
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match=r"a\.tar\.xz: is not a tar archive, or cannot be decompressed to its end"):
        run(path)
    with pytest.raises(InputError, match="no such file"):
        cifar10.own_images(tmp_path / "missing")


def test_an_altered_official_archive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    (tmp_path / "cifar10").mkdir()
    archive(tmp_path / "cifar10" / "cifar-10-binary.tar.gz", batches()).rename(tmp_path / "cifar10/cifar10-jpeg.tar.xz")
    with pytest.raises(InputError, match="36 images, the official corpus has 60000"):
        cifar10.prepare(cache=False)


def test_subsets_are_nested_and_have_as_many_of_each_class() -> None:
    labels = np.arange(60) % 10
    split = ImageSplit(np.arange(60).astype(str), labels, pixels=np.stack([drawn(row) for row in range(60)]))
    parts = [set(cifar10.subset(split, images).tolist()) for images in (10, 20, 50, 60)]
    assert [len(part) for part in parts] == [10, 20, 50, 60]
    assert parts[0] < parts[1] < parts[2] < parts[3]
    assert np.bincount(labels[sorted(parts[1])]).tolist() == [2] * 10
    shuffled = ImageSplit(split.row_id[::-1], labels[::-1], pixels=split.decoded[::-1])
    assert {59 - row for row in cifar10.subset(shuffled, 20).tolist()} == parts[1]
    for images in (15, 70, 0):
        with pytest.raises(ParameterError, match="is no multiple of 10 up to 60"):
            cifar10.subset(split, images)


def test_new_images_of_any_size_are_resized(sample: ImageResult) -> None:
    test = sample.splits["test"]
    new = cifar10.encode(sample, [encoded(test.decoded[0]), encoded(drawn(1, 50))])
    assert new.shape == (2, 32, 32, 3) and (new[0] == test.decoded[0]).all()
    larger = cifar10.prepare("sample", size=48, cache=False)
    assert larger.splits["train"].decoded.shape == (179, 48, 48, 3)
    assert cifar10.encode(larger, [encoded(drawn(1))]).shape == (1, 48, 48, 3)
    assert sample.inputs(cifar10.encode(sample, [])).shape == (0, 3, 32, 32)


def test_results_are_written_and_restored(sample: ImageResult, tmp_path: Path) -> None:
    cifar10.write(sample, tmp_path / "out", page=True)
    assert (tmp_path / "out" / "card.html").exists() and (tmp_path / "out" / "card.json").exists()
    with np.load(tmp_path / "out" / "train.npz") as arrays:
        assert arrays["pixels"].shape == (179, 32, 32, 3) and (arrays["label"] == sample.splits["train"].label).all()
    sample.save(tmp_path / "saved.npz")
    restored = cifar10.pipeline().load(tmp_path / "saved.npz")
    pixels = sample.splits["test"].decoded
    assert (restored.inputs(pixels) == sample.inputs(pixels)).all()


def test_the_digest_of_the_sample_is_pinned_also_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLUON_ATTN_CACHE", str(tmp_path))
    first = cifar10.prepare("sample")
    monkeypatch.setattr(cifar10.ReadCifar, "apply", None)
    second = cifar10.pipeline().run("sample")
    assert first.digest == second.digest and first.digest.startswith(SAMPLE_DIGEST)
    assert first.card == second.card and first.card["sample"]


@pytest.mark.slow
@pytest.mark.corpus("cifar10")
def test_the_corpus_at_hand() -> None:
    result = cifar10.prepare()
    assert {name: len(split) for name, split in result.splits.items()} == {
        "train": 45133,
        "validation": 4867,
        "test": 10000,
    }
    assert np.bincount(result.splits["test"].label).tolist() == [1000] * 10
    if cifar10.archive_of(result) == cifar10.RECOMPRESSED:
        assert result.digest == CORPUS_DIGEST
