"""Drives in every layout, the steps on a few frames by hand, each fault with its row, and the digests."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import h5py
import numpy as np
import pytest

from preprocessing import driving
from preprocessing.errors import InputError
from preprocessing.images import drive_steps
from preprocessing.images.drive_data import DriveData, DriveSplit
from preprocessing.images.drive_steps import WHOLE, Blocks, MeasureLeak, SmoothSteering, to_hsv, to_rgb
from preprocessing.pipeline.step import Context
from tests.preprocessing.drives import curvature, drawn_road, frames, log_lines, png, write_archive, write_drive

SMALL = {"height": 16, "width": 32, "block_seconds": 1.0, "gap_seconds": 0.2}
SAMPLE = {"block_seconds": driving.SAMPLE_BLOCKS, "gap_seconds": 0.2}
DIGEST = "d54cc784fd0233a191e10d7345f86f56800911bd3fbcfd0cd1762be1c4bfd248"
LAKE = "241961aff1b9"


def drive_of(folder: Path, log: str = "driving_log.csv", archive: str = "center.tar", **options: object):  # type: ignore[no-untyped-def]
    files = driving.own_drive(folder / archive, folder / log)
    return driving.prepare(files, cache=False, **{**SMALL, **options})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_drive(tmp_path, frames(50, 16, 32), log_lines(50))
    return tmp_path


def split_of(seconds: np.ndarray, steering: np.ndarray | None = None, pixels: np.ndarray | None = None) -> DriveData:
    rows = len(seconds)
    steering = np.zeros(rows) if steering is None else steering
    pixels = np.zeros((rows, 10, 20, 3), np.uint8) if pixels is None else pixels
    stretch = np.concatenate([[0], np.cumsum(np.diff(seconds) > 1)])
    names = np.array([f"{row}" for row in range(rows)])
    label = np.full(rows, -1)
    return DriveData({WHOLE: DriveSplit(names, label, (), pixels, seconds, steering, steering, stretch)})


# --- steps by hand ---


def test_the_target_follows_the_steering() -> None:
    data = split_of(np.array([0.0, 0.1, 0.2, 5.0]), np.array([10.0, 0.0, 5.0, -4.0]))
    smoothed, _ = SmoothSteering(0.2).apply(data, Context())
    # 0.2 * 0 + 0.8 * 10 = 8; 0.2 * 5 + 0.8 * 8 = 7.4; after the gap the target starts again.
    assert smoothed.splits[WHOLE].target.tolist() == pytest.approx([10.0, 8.0, 7.4, -4.0])
    assert SmoothSteering(1.0).apply(data, Context())[0].splits[WHOLE].target.tolist() == [10.0, 0.0, 5.0, -4.0]


def test_blocks_leave_a_gap_where_the_split_changes() -> None:
    data = split_of(np.arange(24) / 4)
    steps = Blocks(seconds=2.0, gap=0.5, cycle=("train", "train", "test"))
    divided, notes = steps.apply(data, Context())
    train, test = divided.splits["train"], divided.splits["test"]
    assert train.row_id.tolist() == [str(row) for row in range(16)]  # no gap between two blocks of train
    assert test.row_id.tolist() == [str(row) for row in range(18, 24)]
    assert [len(rows) for rows in train.stretches] == [16]
    assert [(drop.split, drop.rows, drop.examples) for drop in notes.dropped] == [("test", 2, ["16", "17"])]


def test_no_stretch_crosses_a_gap_in_time_or_between_splits() -> None:
    seconds = np.concatenate([np.arange(10) / 10, 3 + np.arange(30) / 10])
    divided, _ = Blocks(seconds=2.0, gap=0.3, cycle=("train", "test")).apply(split_of(seconds), Context())
    for split in divided.splits.values():
        for rows in split.stretches:
            assert np.diff(split.seconds[rows]).max(initial=0) < 0.2
    train, test = (divided.splits[name].seconds for name in ("train", "test"))
    assert np.abs(train[:, None] - test).min() > 0.3


def test_nothing_left_for_a_split_is_refused() -> None:
    with pytest.raises(InputError, match=r"nothing is left for validation; drive longer; .*shorter blocks"):
        Blocks().apply(split_of(np.arange(10) / 10), Context())


def test_the_leak_is_the_error_of_the_nearest_frame() -> None:
    """Brightness and steering rise with time: the nearest training frame of another time is far off."""
    value = np.arange(40, dtype=np.uint8)
    pixels = np.zeros((40, 10, 20, 3), np.uint8)
    pixels[..., 2] = value[:, None, None]
    data = split_of(np.arange(40) / 10, value.astype(float), pixels)
    divided, _ = Blocks(seconds=2.0, gap=0.0, cycle=("train", "test")).apply(data, Context())
    _, notes = MeasureLeak().apply(divided, Context())
    leak = notes.facts["leak"]
    assert leak["by_block"] == {"nearest_frame": 10.5, "always_0": 29.5}  # all are nearest to frame 19
    assert leak["by_frame"]["nearest_frame"] < 2.5


def test_hsv_there_and_back() -> None:
    image = drawn_road(3, 16, 32)[None]
    hsv = to_hsv(image)
    assert hsv.shape == image.shape
    assert hsv[0, 0, 0].tolist() == [150, 121, 230]  # 213 degrees, value 230
    assert np.abs(to_rgb(hsv).astype(int) - image).max() <= 4


# --- layouts ---


def test_frames_are_read_in_the_order_of_the_log_whatever_the_archive(folder: Path) -> None:
    plain = drive_of(folder)
    shuffled = dict(reversed(frames(50, 16, 32).items()))
    write_archive(folder / "other.tar.gz", shuffled)
    unpacked = folder / "center"
    unpacked.mkdir()
    for name, content in shuffled.items():
        (folder / name).write_bytes(content)
    others = [drive_of(folder, archive=archive) for archive in ("other.tar.gz", "center")]
    assert {plain.digest} == {other.digest for other in others}
    train = plain.splits["train"]
    assert train.row_id[0] == "center/0000.png"
    assert train.steering[3] == pytest.approx(12.5 * curvature(3), abs=1e-2)
    assert np.array_equal(train.decoded[3], to_hsv(drawn_road(3, 16, 32)[None])[0])


def test_the_layout_of_the_challenge(tmp_path: Path) -> None:
    lines = ["index,timestamp,width,height,frame_id,filename,angle,torque,speed"]
    files = {}
    for frame in range(50):
        stamp = 1479424215_000000000 + frame * 50_000_000
        for camera in ("left", "center", "right"):
            name = f"{camera}/{stamp}.png"
            files[name] = png(drawn_road(frame, 32, 64))
            lines.append(f"x,{stamp},64,32,{camera}_camera,{name},{0.1 * curvature(frame):.6f},0,9")
    write_archive(tmp_path / "center.tar", files)
    (tmp_path / "interpolated.csv").write_text("\n".join(lines) + "\n")
    result = drive_of(tmp_path, "interpolated.csv", block_seconds=0.5, gap_seconds=0.1)
    train = result.splits["train"]
    assert train.steering[5] == pytest.approx(np.degrees(0.1 * curvature(5)), abs=1e-3)
    assert train.decoded.shape[1:] == (16, 32, 3)
    assert train.seconds[5] == pytest.approx(0.25)
    assert result.card["facts"]["drive"]["frames_without_a_row"] == 100


def comma(folder: Path, **changes: np.ndarray) -> None:
    rows = 250
    columns = {
        "cam1_ptr": np.arange(rows) // 5,
        "times": np.arange(rows) / 100,
        "steering_angle": np.repeat([20 * curvature(frame) for frame in range(50)], 5),
    }
    with h5py.File(folder / "log.h5", "w") as log, h5py.File(folder / "camera.h5", "w") as camera:
        for name, values in (columns | changes).items():
            if name in columns:
                log[name] = values
        frames = np.stack([drawn_road(frame, 32, 64).transpose(2, 0, 1) for frame in range(50)])
        camera["X"] = changes.get("X", frames)


def test_the_layout_of_comma(tmp_path: Path) -> None:
    comma(tmp_path)
    train = drive_of(tmp_path, "log.h5", "camera.h5", block_seconds=0.5, gap_seconds=0.1).splits["train"]
    assert train.row_id[:3].tolist() == ["0", "1", "2"]
    assert train.steering[4] == pytest.approx(20 * curvature(4))
    assert train.seconds[4] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"times": np.append(np.arange(249) / 100, np.nan)}, "log.h5, line 250: times is nan"),
        ({"cam1_ptr": np.arange(250)}, "log.h5, line 51: frame 50 is missing in camera.h5, which has 50"),
        ({"X": np.zeros((50, 32, 64), np.uint8)}, "camera.h5: X is uint8"),
        ({"steering_angle": np.array([b"left"] * 250)}, "log.h5: steering_angle is |S4, not numbers"),
        ({"times": np.arange(3.0)}, "log.h5: cam1_ptr, times and steering_angle have shapes"),
    ],
)
def test_faults_of_comma(tmp_path: Path, changes: dict[str, np.ndarray], message: str) -> None:
    comma(tmp_path, **changes)
    with pytest.raises(InputError) as error:
        drive_of(tmp_path, "log.h5", "camera.h5")
    assert message in str(error.value)


def test_the_inverse_radius_is_that_of_the_car_at_its_speed(tmp_path: Path) -> None:
    """An angle of 15.3 degrees of the steering wheel is one degree of the wheels: at rest a radius of 2.67 m / 0.01745,
    153 m, and at 20 m/s one that is larger by 1 + 0.0014 * 400."""
    comma(tmp_path, steering_angle=np.full(250, 15.3))
    with h5py.File(tmp_path / "log.h5", "a") as log:
        log["speed"] = np.where(np.arange(250) < 125, 0.0, 20.0)
    options = {"block_seconds": 0.5, "gap_seconds": 0.1, "target": "inverse radius"}
    result = drive_of(tmp_path, "log.h5", "camera.h5", **options)
    at_rest = 1000 * np.radians(1) / 2.67
    assert result.splits["train"].steering[0] == pytest.approx(at_rest) == pytest.approx(1000 / 153, rel=1e-3)
    assert result.splits["test"].steering[-1] == pytest.approx(at_rest / 1.56)
    assert result.card["facts"]["unit"] == "1/km"
    assert "speed^2)), speed in metres a second, in 1/km" in result.card["steps"][0]["rule"]
    other = drive_of(tmp_path, "log.h5", "camera.h5", **options, car={"steering_ratio": 30.6, "slip": 0.0})
    assert other.splits["test"].steering[-1] == pytest.approx(at_rest / 2)


def test_the_inverse_radius_needs_the_speed_in_a_known_unit(folder: Path, tmp_path: Path) -> None:
    comma(tmp_path)
    for where, log, frames_of in ((folder, "driving_log.csv", "center.tar"), (tmp_path, "log.h5", "camera.h5")):
        with pytest.raises(InputError, match=r"states no speed in metres a second.*; choose the target degrees"):
            drive_of(where, log, frames_of, target="inverse radius")
    with pytest.raises(InputError, match="choose degrees or inverse radius"):
        drive_of(folder, target="radius")
    with pytest.raises(InputError, match="does not use wheel base, steering ratio and slip"):
        drive_of(folder, car={"slip": 0.0})


def test_a_truncated_hdf5_file_is_one_line(tmp_path: Path) -> None:
    comma(tmp_path)
    content = (tmp_path / "camera.h5").read_bytes()
    (tmp_path / "camera.h5").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"camera\.h5: is not HDF5, or damaged"):
        drive_of(tmp_path, "log.h5", "camera.h5")


# --- faults ---


def change(lines: list[str], row: int, column: int, value: str) -> list[str]:
    cells = lines[row].split(",")
    cells[column] = value
    return [*lines[:row], ",".join(cells), *lines[row + 1 :]]


FAULTS: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "not a number": (lambda log: change(log, 7, 2, "left"), "line 8: steering 'left' is not a number"),
    "NaN": (lambda log: change(log, 7, 2, "nan"), "line 8: steering is nan"),
    "digits in groups": (lambda log: change(log, 7, 2, "0_5"), "line 8: steering '0_5' is not a number"),
    "no rows": (lambda log: log[:1], "line 1: has a header, but no rows"),
    "no rows of the simulator": (
        lambda log: ["center,left,right,steering,throttle,brake,speed"],
        "line 1: has a header, but no rows",
    ),
    "infinite time": (lambda log: change(log, 7, 1, "inf"), "line 8: milliseconds is inf"),
    "beyond the lock": (lambda log: change(log, 7, 2, "1.5"), "line 8: steering 1.5 is more than 25 degrees"),
    "columns": (lambda log: [*log[:9], log[9] + ",1", *log[10:]], "line 10: 7 columns, the header has 6"),
    "empty": (lambda log: [""], "line 1: has an empty first line"),
    "header": (lambda log: ["a,b", *log[1:]], "line 1: columns a,b are of no known layout"),
    "back in time": (lambda log: [*log[:9], log[10], log[9], *log[11:]], "line 11: is 0.100 s before the row above"),
    "frame twice": (lambda log: change(log, 9, 0, "center/0007.png"), "line 10: frame center/0007.png comes after"),
    "reordered": (lambda log: change(log, 9, 0, "center/0003.png"), "frames are not in order"),
    "gap": (lambda log: [*log[:9], *log[29:]], "line 10: a gap of 2.10 s before this row"),
    "missing": (lambda log: change(log, 50, 0, "center/0070.png"), "line 51: frame center/0070.png is missing"),
    "quotation mark": (
        lambda log: change(log, 7, 0, '"center/0006.png'),
        "line 8: is not a line of CSV (unexpected end of data)",
    ),
    "rows between quotation marks": (
        lambda log: change(change(log, 7, 5, '"30'), 9, 5, '30"'),
        "line 8: is not a line of CSV (unexpected end of data)",
    ),
    "endless": (lambda log: change(log, 7, 0, "x" * 140_000), "line 8: is not a line of CSV (field larger than"),
    "outside": (lambda log: change(log, 9, 0, "../0008.png"), "line 10: frame '../0008.png' is not a path below"),
}


def test_a_log_may_have_windows_line_endings(folder: Path) -> None:
    before = drive_of(folder)
    log = folder / "driving_log.csv"
    log.write_bytes(log.read_bytes().replace(b"\n", b"\r\n"))
    assert drive_of(folder).digest == before.digest


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_a_log_name_its_line(folder: Path, fault: str) -> None:
    damage, message = FAULTS[fault]
    (folder / "driving_log.csv").write_text("\n".join(damage(log_lines(50))) + "\n")
    with pytest.raises(InputError) as error:
        drive_of(folder)
    assert message in str(error.value)
    assert str(folder / "driving_log.csv") in str(error.value)


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("path", ["IMG/", "/home/user/run 1/IMG/", "C:\\Users\\user\\IMG\\"])
def test_the_own_log_of_the_simulator(header: bool, path: str, tmp_path: Path) -> None:
    """Its header is not always there, and paths are those of the machine that recorded."""
    write_drive(tmp_path, frames(50, 16, 32), log_lines(50))
    expected = drive_of(tmp_path)
    (tmp_path / "IMG").mkdir()
    lines = ["center,left,right,steering,throttle,brake,speed"] if header else []
    for row, line in enumerate(log_lines(50)[1:]):
        _, milliseconds, steering, *others = line.split(",")
        recorded = datetime(2016, 12, 1, 13, 59, 57) + timedelta(milliseconds=int(milliseconds))
        time = recorded.strftime("%Y_%m_%d_%H_%M_%S_%f")[:-3]
        (tmp_path / "IMG" / f"center_{time}.jpg").write_bytes(frames(50, 16, 32)[f"center/{row:04d}.png"])
        names = (f"{path}{side}_{time}.jpg" for side in ("center", "left", "right"))
        lines.append(", ".join([*names, steering, *others]))
    (tmp_path / "recorded.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = drive_of(tmp_path, "recorded.csv", "IMG")
    for name, split in expected.splits.items():
        assert np.array_equal(result.splits[name].target, split.target) and len(split)
        assert np.array_equal(result.splits[name].decoded, split.decoded)


def test_a_frame_of_the_simulator_without_a_time_in_its_name_is_refused(folder: Path) -> None:
    row = "IMG/center_2016_12_01_13_30_48_287.jpg,,,0,0,0,0"
    (folder / "driving_log.csv").write_text(f"{row}\n{row.replace('_12_', '_13_')}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"driving_log\.csv, line 2: frame '.*' has no time in its name; name it as"):
        drive_of(folder)


def test_the_nearest_frame_is_found_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.RandomState(0)
    features, target = random.randint(0, 1000, (40, 6)).astype(np.float64), random.rand(40)
    train, test = np.arange(25), np.arange(25, 40)
    distances = ((features[test, None] - features[None, train]) ** 2).sum(axis=2)
    expected = np.abs(target[train][distances.argmin(axis=1)] - target[test]).mean()
    for rows in (1, 4, 100):
        monkeypatch.setattr(drive_steps, "_ROWS", rows)
        errors = drive_steps._nearest_error(features, target, train, test)
        assert errors["nearest_frame"] == round(float(expected), 3)


def test_a_small_car_may_have_a_short_wheel_base(folder: Path) -> None:
    driving.pipeline(target=driving.INVERSE_RADIUS, car={"wheel_base": 0.3, "steering_ratio": 0.5})
    with pytest.raises(InputError, match="wheel_base 0: must be above 0"):
        driving.pipeline(target=driving.INVERSE_RADIUS, car={"wheel_base": 0})
    for slip in (-0.1, float("inf"), float("nan")):
        with pytest.raises(InputError, match=f"slip {slip}: must be 0 or above; choose 0 for a car that does not slip"):
            driving.pipeline(target=driving.INVERSE_RADIUS, car={"slip": slip})


def test_a_gap_can_divide_a_drive(folder: Path) -> None:
    lines = log_lines(50)
    (folder / "driving_log.csv").write_text("\n".join([*lines[:9], *lines[29:]]) + "\n")
    result = drive_of(folder, gaps="divide", cycle=driving.TEST_ONLY)
    assert [len(rows) for rows in result.splits["test"].stretches] == [8, 22]
    assert result.warnings == ["20 frames have no row in driving_log.csv and are not used"]


def test_a_damaged_frame_and_one_of_another_size_name_their_row(folder: Path) -> None:
    for content, message in (
        (frames(50, 16, 32)["center/0020.png"][:600], "line 22: frame center/0020.png of center.tar cannot be decoded"),
        (b"not an image", "line 22: frame center/0020.png of center.tar cannot be decoded (no known image format)"),
        (png(drawn_road(20, 16, 30)), "line 22: frame center/0020.png has 30 x 16 pixels, those before it 32 x 16"),
    ):
        write_archive(folder / "center.tar", frames(50, 16, 32) | {"center/0020.png": content})
        with pytest.raises(InputError) as error:
            drive_of(folder)
        assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [("../evil.png", "member '../evil.png' is outside"), ("/etc/x.png", "member '/etc/x.png' is outside")],
)
def test_an_archive_with_members_outside_it_is_refused(folder: Path, name: str, message: str) -> None:
    write_archive(folder / "center.tar", frames(50, 16, 32) | {name: b""})
    with pytest.raises(InputError) as error:
        drive_of(folder)
    assert message in str(error.value)


def test_an_archive_with_a_frame_twice_is_refused(folder: Path) -> None:
    """The second would take the place of the first."""
    with tarfile.open(folder / "center.tar", "a") as archive:
        archive.addfile(archive.getmember("center/0020.png"), io.BytesIO(frames(50, 16, 32)["center/0020.png"]))
    with pytest.raises(InputError, match=r"center\.tar: frame center/0020\.png occurs twice; remove one of them"):
        drive_of(folder)


def test_an_archive_with_links_or_cut_off_is_refused(folder: Path) -> None:
    write_archive(folder / "center.tar", frames(50, 16, 32), links=["center/0099.png"])
    with pytest.raises(InputError, match=r"member 'center/0099\.png' is not a file"):
        drive_of(folder)
    write_archive(folder / "center.tar.xz", frames(50, 16, 32))
    content = (folder / "center.tar.xz").read_bytes()
    (folder / "center.tar.xz").write_bytes(content[:-40])
    with pytest.raises(InputError, match="is not a tar archive, or cannot be decompressed to its end"):
        drive_of(folder, archive="center.tar.xz")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smoothing": 0.0}, "smoothing factor 0.0: must be above 0 and at most 1"),
        ({"block_seconds": 1.0, "gap_seconds": 1.0}, "blocks of 1 s with a gap of 1 s: impossible lengths"),
        ({"block_seconds": float("inf")}, "blocks of inf s with a gap of 2 s: impossible lengths"),
        ({"gaps": "x"}, "gaps 'x': no such choice; choose refuse or divide"),
        ({"cycle": ("x",)}, "names no known splits; choose from train, validation, test"),
        ({"height": 0}, "height 0: must be at least 1"),
    ],
)
def test_invalid_parameters_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        driving.pipeline(**options)  # type: ignore[arg-type]


# --- results ---


def test_the_sample_has_its_digest_twice_and_new_frames_are_encoded_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = driving.prepare("sample", **SAMPLE)
    again = driving.prepare("sample", **SAMPLE)
    assert first.digest == again.digest == DIGEST
    assert {name: len(split) for name, split in again.splits.items()} == {"train": 76, "validation": 18, "test": 18}
    assert np.array_equal(first.splits["test"].target, again.splits["test"].target)
    encoded = first.encode([png(drawn_road(3))])
    assert np.array_equal(encoded.decoded[0], first.splits["train"].decoded[3])
    inputs = first.inputs(encoded.decoded)
    assert inputs.shape == (1, 3, 80, 160)
    assert -2 <= inputs.min() < -1 < 1 < inputs.max() <= 2
    driving.write(first, tmp_path / "out")
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert card["sample"]
    with np.load(tmp_path / "out" / "test.npz") as arrays:
        assert arrays["pixels"].shape == (18, 80, 160, 3)


@pytest.mark.slow
@pytest.mark.corpus("udacity_lake")
def test_the_lake() -> None:
    result = driving.prepare("udacity lake")
    assert {name: len(split) for name, split in result.splits.items()} == {
        "train": 2480,
        "validation": 704,
        "test": 705,
    }
    assert result.digest.startswith(LAKE)
    facts = result.card["facts"]
    assert facts["drive"]["frame_before_error"] == pytest.approx(0.703)
    assert facts["leak"]["by_frame"]["nearest_frame"] < 0.5 * facts["leak"]["by_block"]["nearest_frame"]
