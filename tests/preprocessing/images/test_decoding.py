"""Odd image files: each gives pixels, or one clear line."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

from preprocessing.errors import InputError
from preprocessing.images.decoding import MAX_PIXELS, decode
from tests.preprocessing.images_on_disk import drawn


def saved(image: Image.Image, form: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


PHOTO = Image.fromarray(drawn(2, 12, 20))


def test_an_image_of_16_bits_has_its_higher_8() -> None:
    values = np.array([[0, 255, 256], [4660, 32768, 65535]], np.uint16)
    assert decode("deep", saved(Image.fromarray(values), "png"))[..., 1].tolist() == [[0, 0, 1], [18, 128, 255]]
    assert decode("deep", saved(Image.fromarray(values), "tiff"))[..., 2].tolist() == [[0, 0, 1], [18, 128, 255]]
    assert decode("deep", saved(Image.fromarray(values), "ppm"))[..., 0].tolist() == [[0, 0, 1], [18, 128, 255]]


def test_cmyk_is_converted() -> None:
    image = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    red, green, blue = decode("print", saved(image, "jpeg", quality=95)).mean(axis=(0, 1))
    assert red > 240 and green < 15 and blue < 15


def test_the_orientation_of_exif_is_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # a camera that was turned clockwise: the first row is the right column
    pixels = decode("phone", saved(PHOTO, "png", exif=exif))
    assert pixels.shape == (20, 12, 3)
    assert (pixels == np.rot90(np.asarray(PHOTO), -1)).all()


def test_of_an_animation_the_first_frame_is_used() -> None:
    frames = [Image.new("RGB", (4, 3), colour) for colour in ("red", "blue")]
    pixels = decode("moving", saved(frames[0], "gif", save_all=True, append_images=frames[1:], duration=100))
    assert pixels.shape == (3, 4, 3) and (pixels == (255, 0, 0)).all()


def test_palettes_one_bit_and_grey_with_transparency_become_rgb() -> None:
    pixels = np.asarray(PHOTO)
    grey = np.asarray(PHOTO.convert("L"))
    clear = np.full((12, 20), 60, np.uint8)
    few = (pixels.astype(int) // 86 * 127).astype(np.uint8)  # 27 colours, which a palette can hold
    black = grey < 100
    for name, image, expected in (
        ("palette", Image.fromarray(few).quantize(256), few),
        ("one bit", Image.fromarray(~black), np.where(black, 0, 255)),
        ("grey", Image.fromarray(grey), grey),
        ("grey, transparent", Image.fromarray(np.dstack([grey, clear])), grey),
        ("transparent", Image.fromarray(np.dstack([pixels, 0 * clear])), pixels),
    ):
        wanted = expected if expected.ndim == 3 else np.repeat(expected[..., None], 3, axis=2)
        np.testing.assert_array_equal(decode(name, saved(image, "png")), wanted, err_msg=name)


@pytest.mark.parametrize("form", ["png", "jpeg", "gif", "tiff", "bmp", "webp"])
def test_a_truncated_file_is_an_error_of_one_line(form: str) -> None:
    whole = saved(Image.fromarray(np.random.RandomState(0).randint(0, 255, (40, 40, 3), np.uint8)), form)
    for kept in (3, 20, len(whole) // 2, len(whole) * 3 // 4):
        with pytest.raises(InputError, match=r"image cut: cannot be decoded \(.*\); replace the file") as caught:
            decode("cut", whole[:kept])
        assert "\n" not in str(caught.value) and "BytesIO" not in str(caught.value)


@pytest.mark.parametrize("width", [8_001, 2**31 - 1])
def test_an_image_that_claims_too_many_pixels_is_refused_unread(width: int) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, 8_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"0")) + chunk(b"IEND", b"")
    with pytest.raises(InputError, match=rf"at most {MAX_PIXELS} are read; make it smaller"):
        decode("bomb", bomb)


def test_values_without_a_range_are_refused() -> None:
    with pytest.raises(InputError, match="floating-point values"):
        decode("measured", saved(Image.fromarray(np.ones((3, 3), np.float32)), "tiff"))
    for value in (200, 70_000):
        with pytest.raises(InputError, match="32-bit integers, whose range is not known; save it with 8 or 16 bits"):
            decode("counted", saved(Image.fromarray(np.full((3, 3), value, np.int32)), "tiff"))
