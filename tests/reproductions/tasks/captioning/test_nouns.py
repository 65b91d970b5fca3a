"""The classes of ImageNet that nouns name are what their numbers say."""

from __future__ import annotations

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
