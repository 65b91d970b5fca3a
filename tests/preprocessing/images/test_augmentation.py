"""Random changes of training images: by example, and the same for the same generator."""

from __future__ import annotations

import numpy as np
import pytest

from preprocessing.errors import ParameterError
from preprocessing.images.augmentation import Augmentation

PIXELS = np.random.RandomState(0).randint(0, 256, (64, 8, 8, 3)).astype(np.uint8)


def augmented(seed: int = 1, **options: int | bool) -> np.ndarray:
    return Augmentation(**options)(PIXELS, np.random.RandomState(seed))  # type: ignore[arg-type]


def test_every_image_is_a_crop_of_the_padded_image_or_its_reflection() -> None:
    before = PIXELS.copy()
    padded = np.pad(PIXELS, ((0, 0), (2, 2), (2, 2), (0, 0)), mode="reflect")
    seen = set()
    for image, changed in zip(padded, augmented(padding=2), strict=True):
        crops = {
            (y, x, flip): image[y : y + 8, x : x + 8][:, ::step]
            for y in range(5)
            for x in range(5)
            for flip, step in ((False, 1), (True, -1))
        }
        (which,) = [where for where, crop in crops.items() if (crop == changed).all()]
        seen.add(which)
    assert {flip for _, _, flip in seen} == {False, True}
    assert {y for y, _, _ in seen} == {x for _, x, _ in seen} == {0, 1, 2, 3, 4}
    assert np.array_equal(PIXELS, before), "the given pixels are changed"


def test_the_same_generator_gives_the_same_images_and_another_gives_others() -> None:
    assert (augmented(1, cutout=3) == augmented(1, cutout=3)).all()
    assert (augmented(1) != augmented(2)).any()


def test_nothing_is_changed_where_everything_is_off() -> None:
    assert (augmented(padding=0, flip=False) == PIXELS).all()
    assert Augmentation(0, False).rule == "unchanged"
    assert Augmentation(4, True, 8).rule == (
        "padded by 4 and cropped at random, reflected at random, a square of 8 pixels cut out"
    )


def test_flips_alone_reflect_about_half() -> None:
    changed = augmented(padding=0)
    flipped = (changed == PIXELS[:, :, ::-1]).all(axis=(1, 2, 3))
    assert ((changed == PIXELS).all(axis=(1, 2, 3)) ^ flipped).all() and 16 < flipped.sum() < 48


def test_a_square_within_the_image_is_cut_out() -> None:
    changed = augmented(padding=0, flip=False, cutout=4)
    cut = (changed != PIXELS).any(axis=-1) | (PIXELS == 127).all(axis=-1)
    sizes = {(int(one.any(axis=1).sum()), int(one.any(axis=0).sum())) for one in cut}
    assert max(sizes) == (4, 4) and min(min(sizes)) >= 2
    assert (changed[cut] == 127).all()


def test_negative_parameters_are_refused() -> None:
    for name in ("padding", "cutout"):
        with pytest.raises(ParameterError, match=f"{name} -1: is negative; choose 0, which switches it off, or more"):
            Augmentation(**{name: -1})  # type: ignore[arg-type]
