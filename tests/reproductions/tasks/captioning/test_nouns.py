"""The classes of ImageNet that nouns name are what their numbers say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reproductions.tasks.captioning import image_features, nouns
from reproductions.tasks.captioning.decoding import Caption
from reproductions.tasks.captioning.nouns import CLASSES_OF

# As the list of Keras's models has them, which is that of ILSVRC 2012 (pytorch/hub, imagenet_classes.txt). Of ranges of
# animals the first and the last.
NAMES = {
    "bird": "7 cock, 24 great_grey_owl, 80 black_grouse, 100 black_swan, 127 white_stork, 146 albatross",
    "dog": "151 Chihuahua, 268 Mexican_hairless",
    "cat": "281 tabby, 285 Egyptian_cat",
    "horse": "339 sorrel",
    "bike": "444 bicycle-built-for-two, 671 mountain_bike",
    "motorcycle": "665 moped, 670 motor_scooter",
    "car": "436 beach_wagon, 468 cab, 511 convertible, 609 jeep, 627 limousine, 656 minivan, 661 Model_T, 751 racer, "
    "817 sports_car",
    "truck": "555 fire_engine, 569 garbage_truck, 675 moving_van, 717 pickup, 864 tow_truck, 867 trailer_truck",
    "bus": "654 minibus, 779 school_bus, 874 trolleybus",
    "train": "466 bullet_train, 547 electric_locomotive, 705 passenger_car, 820 steam_locomotive, 829 streetcar",
    "boat": "472 canoe, 554 fireboat, 576 gondola, 625 lifeboat, 814 speedboat, 871 trimaran, 914 yawl",
    "ball": "429 baseball, 430 basketball, 522 croquet_ball, 574 golf_ball, 722 ping-pong_ball, 768 rugby_ball, "
    "805 soccer_ball, 852 tennis_ball, 890 volleyball",
    "football": "560 football_helmet",
    "tennis": "752 racket, 852 tennis_ball",
    "baseball": "429 baseball, 981 ballplayer",
    "snow": "537 dogsled, 795 ski, 802 snowmobile, 970 alp",
    "mountain": "970 alp, 972 cliff",
    "beach": "977 sandbar, 978 seashore",
    "lake": "975 lakeside",
    "fence": "489 chainlink_fence, 716 picket_fence, 912 worm_fence",
    "bench": "703 park_bench",
    "swing": "843 swing",
    "fountain": "562 fountain",
    "hat": "515 cowboy_hat, 808 sombrero",
    "helmet": "518 crash_helmet, 560 football_helmet",
    "sunglasses": "836 sunglass, 837 sunglasses",
    "bikini": "445 bikini",
    "camera": "732 Polaroid_camera, 759 reflex_camera",
    "tent": "672 mountain_tent",
    "umbrella": "879 umbrella",
    "guitar": "402 acoustic_guitar, 546 electric_guitar",
    "bridge": "821 steel_arch_bridge, 839 suspension_bridge",
    "flag": "557 flagpole",
    "bubbles": "971 bubble",
}
SAME_AS = {"dogs": "dog", "birds": "bird", "bicycle": "bike", "ocean": "beach"}
PART_OF = {"canoe": "boat", "kayak": "boat", "basketball": "ball", "soccer": "ball", "volleyball": "ball"}
PART_OF |= {"cliff": "mountain"}
RANGES = {"bird", "dog", "cat"}


def test_numbers_are_those_of_the_named_classes() -> None:
    assert CLASSES_OF.keys() == NAMES.keys() | SAME_AS.keys() | PART_OF.keys()
    for noun, names in NAMES.items():
        numbers = tuple(int(name.split()[0]) for name in names.split(", "))
        if noun in RANGES:
            pairs = zip(numbers[::2], numbers[1::2], strict=True)
            numbers = tuple(number for first, last in pairs for number in range(first, last + 1))
        assert CLASSES_OF[noun] == numbers, noun
    for noun, other in SAME_AS.items():
        assert CLASSES_OF[noun] == CLASSES_OF[other]
    for noun, other in PART_OF.items():
        assert set(CLASSES_OF[noun]) < set(CLASSES_OF[other])


def test_a_noun_is_compared_with_the_weights_of_nouns_in_other_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """A classifier whose probability of a dog is the weight on cell 0 of 7 x 7, and that of a cat the weight on cell 1.
    The weights are over 14 x 14: four fine cells are one of the last grid."""
    dog, cat, fine = 151, 281, np.zeros((3, 14, 14), np.float32)
    fine[0, :2, :2] = 0.25  # all on cell 0
    fine[1, :2, 2:4] = 0.25  # all on cell 1
    fine[2, :2, :2], fine[2, 12:, 12:] = 0.125, 0.125  # half on cell 0

    def classify(pooled: np.ndarray) -> np.ndarray:
        p = np.zeros((len(pooled), 1000))
        p[:, dog], p[:, cat] = pooled[:, 0], pooled[:, 1]
        return p

    monkeypatch.setattr(image_features, "network", lambda: SimpleNamespace(classify=classify))
    last: Any = SimpleNamespace(rows=lambda images: np.tile(np.eye(49), (len(images), 1, 1)))
    flat = fine.reshape(3, -1)
    captions = [
        Caption(["dog", "a", "cat"], 0.0, np.stack([flat[0], flat[2], flat[1]])),
        Caption(["dog"], 0.0, flat[2:]),
        Caption(["a"], 0.0, flat[:1]),
    ]
    # Nouns: 0 a dog and 1 a cat in the first image, 2 a dog in the second. Of ten shifts of three nouns, those by 1, 4,
    # 7 and 10 give noun 2 the weights of noun 1, and those by 2, 5 and 8 the weights of noun 0.
    measured = nouns.attended_classes(captions, last, "stride-16")
    np.testing.assert_allclose(measured, [[2.0, 0.5, 2 / 49, 2], [0.5, 3 / 7, 1 / 49, 1], [0, 0, 0, 0]], rtol=1e-6)
