"""The script of Kim and Canny: its networks, and claims and figures on made-up outcomes; the smoke preset."""

from __future__ import annotations

import base64
import io
import json
import re
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from mxnet import nd
from PIL import Image

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.causal_filtering import causal_regions
from gluon_attn.evaluation.road import distances_to_edges
from gluon_attn.evaluation.statistics import bootstrap_metric
from gluon_attn.training.checkpoint import parameter_count
from gluon_attn.training.drives import Frames, Predictions, predict, stretches
from preprocessing import driving
from preprocessing.errors import InputError
from reproductions.attention_viewer.drive import DriveFrames, write_drive_page
from reproductions.kim2017 import REPRODUCTION
from reproductions.protocol.conclude import conclude
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import AnswerOptions
from reproductions.tasks.driving import filtering
from reproductions.tasks.driving.results import (
    ALL,
    OTHER_ALL,
    OTHER_TURNS,
    TURNS,
    at_most,
    block_ends,
    in_pieces,
    mean_error,
    totals,
)
from reproductions.tasks.driving.task import items
from tests.gluon_attn.evaluation.test_causal_filtering import road
from tests.gluon_attn.training.test_drives import STEPS, UNITS, drive as recorded_drive, network as driver
from tests.preprocessing.drives import frames, log_lines, write_drive
from tests.reproductions.support import claims_by_id, dead_settings, gluon_attn, outcome, run_and_score

SMOKE, CPU, PAPERS_OWN = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
SPAN = 5 * 60  # frames of made-up outcomes


def arrays(error: float, *, other: float | None = None, attention: bool = True, **regions: Any) -> dict[str, Any]:
    """Targets of +-2 degrees, a prediction that is always off by ``error``."""
    target = np.where(np.arange(SPAN) % 7 < 3, 2.0, -2.0)
    item = items([np.arange(SPAN)])
    made = {"degrees": target + error, "target": target, "item": item}
    made |= {"other_degrees": target + (error if other is None else other), "other_target": target, "other_item": item}
    if attention:
        count = 60
        made |= {
            "region_item": np.arange(count) % 15,
            "region_weight": np.full(count, 0.2),
            "region_effect": regions.get("effect", np.where(np.arange(count) % 3, 0.0, 1.0)),
            "region_distance": regions.get("distance", np.where(np.arange(count) % 3, 9.0, 4.0)),
            "least_effect": np.array([0.1]),
        }
    return made


HISTORY = [{"epoch": 1, "train_loss": 1.0, "validation_error": 1.0, "validation_loss": 1.0}]


def judged(folder: Path, **systems: dict[str, Any]) -> dict[str, Any]:
    """The claims by id, two seeds of each system."""
    outcomes: list[Outcome] = []
    for name, made in systems.items():
        name = name.replace("_", "-")
        for seed in (1, 2):
            made = made | {"degrees": made["degrees"] + 0.001 * seed}
            outcomes.append(outcome(folder, name, seed, made, preset="cpu", history=HISTORY, corpus="udacity lake"))
    _, claims = conclude(REPRODUCTION, CPU, outcomes)
    return claims_by_id(claims)


def test_attention_that_costs_more_than_the_margin_is_seen(tmp_path: Path) -> None:
    lstm = arrays(1.0, attention=False)
    claims = judged(tmp_path, attention_0=arrays(1.0), attention_20=arrays(1.3), cnn_lstm=lstm)
    assert claims["no-cost-0"].verdict == "supported"
    assert claims["no-cost-0"].effect == pytest.approx(0.05 * 2)  # of always 0's error of 2 degrees
    assert claims["no-cost-20"].verdict == "contradicted"
    assert claims["no-cost-20"].effect == pytest.approx(0.1 - 0.3)


def test_a_straight_drive_has_no_row_of_turns_and_no_claim_against_always_0(tmp_path: Path) -> None:
    straight = {"target": np.zeros(SPAN), "degrees": np.full(SPAN, 5.0)}
    of_roads = ((False, TURNS), (True, OTHER_TURNS))
    for made, signatures in (
        (arrays(1.0), [ALL, TURNS, OTHER_ALL, OTHER_TURNS]),
        (arrays(1.0) | {f"other_{name}": value for name, value in straight.items()}, [ALL, TURNS, OTHER_ALL]),
        (arrays(1.0) | straight | {f"other_{name}": value for name, value in straight.items()}, [ALL, OTHER_ALL]),
    ):
        one = outcome(tmp_path, "attention-10", 1, made, preset="cpu", corpus="udacity lake", history=HISTORY)
        made_rows = CPU.task("attention-10").rows([one], CPU.variant("attention-10"))
        assert [row.signature for row in made_rows if row.split == "test"] == signatures
        assert all((at_most(0.6, other=other)([one]) is None) == (name not in signatures) for other, name in of_roads)


def test_errors_are_measured_against_always_0(tmp_path: Path) -> None:
    claims = judged(tmp_path / "a", attention_10=arrays(1.0, other=2.5))
    assert claims["always-0"].effect == pytest.approx(0.6 - 0.5, abs=0.01)
    assert claims["always-0"].verdict == "supported"
    assert claims["other-road"].effect == pytest.approx(1 - 1.25)
    assert claims["other-road"].verdict == "contradicted"
    assert judged(tmp_path / "b", attention_10=arrays(1.4))["always-0"].verdict == "contradicted"


def test_regions_without_effect_are_counted_and_the_others_are_nearer_to_edges(tmp_path: Path) -> None:
    claims = judged(tmp_path / "a", attention_10=arrays(1.0))
    assert claims["removed"].effect == pytest.approx(100 * 2 / 3)
    assert claims["edges"].effect == pytest.approx(5.0)
    assert claims["edges"].verdict == "supported"
    nothing = judged(tmp_path / "b", attention_10=arrays(1.0, effect=np.ones(60)))
    assert nothing["removed"].effect == 0 and nothing["removed"].verdict == "contradicted"
    assert "edges" not in nothing  # there is nothing to compare with


def test_rows_of_both_roads_and_of_turns(tmp_path: Path) -> None:
    made = arrays(1.0, other=3.0)
    made["target"] = np.where(np.arange(SPAN) < 100, 0.5, made["target"]).astype(np.float32)
    made["degrees"] = made["target"] + np.where(np.arange(SPAN) < 100, 4.0, 1.0)
    history = [{"epoch": 1, "train_loss": 1.0, "validation_error": 1.5, "validation_loss": 1.5}]
    scored = outcome(tmp_path, "attention-10", 1, made, preset="cpu", history=history, corpus="udacity lake")
    rows = CPU.task("attention-10").rows([scored], CPU.variant("attention-10"))
    means = [(row.corpus, row.split, round(row.mean, 3), row.reported is not None) for row in rows]
    assert means == [
        ("udacity lake", "test", 2.0, True),
        ("udacity lake", "test", 1.0, False),
        ("udacity track", "test", 3.0, False),
        ("udacity track", "test", 3.0, False),
        ("udacity lake", "validation", 1.5, False),
    ]
    assert not rows[0].comparable


def test_items_are_pieces_of_stretches() -> None:
    assert items([np.arange(45), np.arange(45, 50)]).tolist() == [0] * 20 + [1] * 20 + [2] * 5 + [3] * 5


def test_figures_show_frames_and_steering(tmp_path: Path) -> None:
    stream = io.BytesIO()
    Image.new("RGB", (32, 16), (90, 90, 90)).save(stream, "JPEG")
    weights = (np.arange(8) / 28).tolist()
    frame = {"jpeg": base64.b64encode(stream.getvalue()).decode(), "target": 2.0, "degrees": -1.0, "frame": "a"}
    examples = {"grid": [2, 4], "frames": [frame | {"weights": weights, "kept": [0.0] * 8}] * 2}
    shown = outcome(tmp_path, "attention-10", 1, arrays(1.0), preset="cpu", examples=examples)
    plain = outcome(tmp_path, "cnn-lstm", 1, arrays(1.5, attention=False), preset="cpu")
    groups = {"attention-10": [shown], "cnn-lstm": [plain]}
    drawn: dict[str, Path] = {}
    for draw in REPRODUCTION.figures:
        drawn |= draw(groups, tmp_path)
    assert list(drawn) == ["attention of attention-10 and what causal filtering keeps", "steering over time"]
    for path in drawn.values():
        with Image.open(path) as picture:
            assert picture.width > 400
    assert not any(draw({"cnn": [plain]}, tmp_path) for draw in REPRODUCTION.figures)
    assert not any(write(groups, tmp_path) for write in REPRODUCTION.pages)  # published outcomes have no frames


def drive(count: int = 5, size: int = 100) -> DriveFrames:
    weights = np.arange(count * 8, dtype=np.uint8).reshape(count, 8)
    numbers = np.arange(count, dtype=float)
    return DriveFrames(
        [bytes([65 + n % 26]) * size for n in range(count)], weights, weights // 2, (2, 4), *[numbers] * 3
    )


def test_the_page_has_every_frame_and_escapes_its_note(tmp_path: Path) -> None:
    write_drive_page(tmp_path / "a.html", "A <drive>", drive(), {"network": "</script><b>"}, sample=True)
    page = (tmp_path / "a.html").read_text()
    assert "A &lt;drive&gt;" in page and "<b>" not in page and "Sample: these numbers mean nothing" in page
    data = json.loads(page.split('type="application/json">')[1].split("</script>")[0])
    assert [base64.b64decode(image)[:1] for image in data["images"]] == [b"A", b"B", b"C", b"D", b"E"]
    assert base64.b64decode(data["weights"][1]) == bytes(range(8, 16))
    assert data["grid"] == [2, 4] and data["degrees"] == [0, 1, 2, 3, 4]
    assert "http" not in page.replace("http-equiv", "")


def test_a_long_drive_is_thinned_out_to_the_limit(tmp_path: Path) -> None:
    write_drive_page(tmp_path / "a.html", "A", drive(30, 400_000), {}, sample=False)
    assert 3_000_000 < (tmp_path / "a.html").stat().st_size < 6_100_000
    with pytest.raises(ValueError, match="0 images"):
        write_drive_page(tmp_path / "b.html", "B", drive(0), {}, sample=False)


def test_systems_differ_in_one_setting_and_share_their_recipe() -> None:
    for preset in (SMOKE, CPU):
        first, *others = (preset.variant(name) for name in ("attention-10", "attention-0", "attention-20", "cnn-lstm"))
        for other in others:
            differing = {
                field.name
                for field in fields(first.settings)
                if getattr(first.settings, field.name) != getattr(other.settings, field.name)
            }
            assert differing <= {"penalty", "attention_units"} and differing
            assert other.recipe == first.recipe
    lstm = SMOKE.variant("cnn-lstm").settings
    assert (lstm.attention_units, lstm.penalty) == (0, 0.0)


def test_the_paper_preset_has_the_sizes_of_the_equations() -> None:
    """131 348 of the convolutions; of the LSTM, its first state, attention and output as their equations have them."""
    counts = {}
    for name in ("attention-0", "cnn-lstm", "cnn"):
        model = PAPERS_OWN.variant(name).settings.build(None)
        model.initialize()
        counts[name] = parameter_count(model)
    read, units = 200 * 64, 1024
    lstm = 4 * units * (read + units + 1) + 2 * units * (64 + 1) + units + 1
    attention = 64 * (units + 1) + 64 * 64 + 64
    assert counts["cnn-lstm"] == 131_348 + lstm
    assert counts["attention-0"] == counts["cnn-lstm"] + attention
    assert counts["cnn"] == 131_348 + units * (read + 1) + units + 1


def test_numbers_of_the_paper_are_marked_as_from_memory() -> None:
    assert {one.checked for one in REPRODUCTION.reported} == {"memory"}
    assert all(variant.differs for variant in CPU.variants if variant.beside)


@pytest.mark.slow
def test_smoke_end_to_end(tmp_path: Path) -> None:
    chosen = [word for name in ("attention-10", "cnn", "always-0") for word in ("--variant", name)]
    options = ["kim2017", "--preset", "smoke", *chosen, "--runs", tmp_path]
    answer = run_and_score(*options)
    assert answer.code == 0, answer
    root = tmp_path / "kim2017" / "smoke-portable"
    results = json.loads((root / "results.json").read_text())
    assert {row["corpus"] for row in results["rows"]} == {"sample"}
    straight = Outcome.read(root / "always-0" / "seed-1", "always-0", 1)
    assert np.abs(straight.predictions["target"]).mean() == pytest.approx(straight.record["metrics"]["error"], abs=1e-5)
    attended = Outcome.read(root / "attention-10" / "seed-1", "attention-10", 1).predictions
    assert len(attended["region_item"]) == attended["regions_by_frame"].sum()
    assert (root / "drive.html").exists()
    frame = tmp_path / "frame.png"
    Image.new("RGB", (320, 160), (90, 120, 60)).save(frame)
    said = gluon_attn(
        "predict", *options[:3], "--variant", "attention-10", "--runs", tmp_path, stdin=f"{frame}\n\n{frame}\n".encode()
    )
    first, blank, again = said.out.split("\n")[:3]
    assert said.code == 0 and blank == "" and first == again and abs(float(first)) < 100
    refused = gluon_attn("predict", *options[:3], "--variant", "cnn", "--runs", tmp_path, "--batch-size", 2, stdin=b"")
    assert refused.code == 2 and "leave out --batch-size" in refused.err
    missing = gluon_attn("predict", *options[:3], "--variant", "cnn", "--runs", tmp_path, stdin=b"none.png\n")
    assert missing.code == 2 and "line 1: frame 'none.png' cannot be read" in missing.err


def test_a_damaged_frame_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "damaged.png"
    path.write_bytes(b"no image")
    data = SimpleNamespace(prepared=driving.prepare("sample", block_seconds=2.0, gap_seconds=0.2, cache=False))
    trained: Any = SimpleNamespace(model=SimpleNamespace(state_units=0), variant=SMOKE.variant("cnn"), data=data)
    answers = CPU.task("cnn").answer(trained, io.BytesIO(f"\n{path}\n".encode()), AnswerOptions(source="frames.txt"))
    assert next(answers) == ""
    with pytest.raises(InputError, match=f"frames.txt, line 2: frame {re.escape(str(path))}: cannot be decoded"):
        next(answers)


def test_a_drive_of_ones_own_is_trained_on_and_has_no_other_road(tmp_path: Path) -> None:
    folder = tmp_path / "drive"
    write_drive(folder, frames(130), log_lines(130, 900.0))
    own = ("kim2017", "--preset", "smoke", "--runs", tmp_path / "runs", "--folder", folder, "--variant", "always-0")
    answer = run_and_score(*own)
    assert answer.code == 0, answer.err
    (path,) = tmp_path.rglob("results.json")
    rows = json.loads(path.read_text())["rows"]
    assert {(row["corpus"], row["split"]) for row in rows} == {("own drive", "test"), ("own drive", "validation")}
    assert not any(row["reported"] for row in rows)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (("center.tar",), "has no log; put one of driving_log.csv, interpolated.csv, log.h5 there"),
        (
            ("driving_log.csv",),
            "has no folder or archive of frames; put one of center, frames, IMG, center.tar*, frames.tar*, IMG.tar* "
            "there",
        ),
        (
            ("driving_log.csv", "interpolated.csv", "center.tar"),
            "has several logs; keep one of driving_log.csv, interpolated.csv",
        ),
        (("log.h5", "center.tar"), "has no folder or archive of frames; put one of camera.h5 there"),
    ],
)
def test_a_folder_without_a_drive_is_one_line(tmp_path: Path, files: tuple[str, ...], reason: str) -> None:
    for name in files:
        (tmp_path / name).write_bytes(b"")
    assert reason in gluon_attn("run", "kim2017", "--preset", "smoke", "--folder", tmp_path).refusal


def test_files_of_text_are_no_drive(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"")
    files = ("--train", tmp_path / "a.tsv", "--test", tmp_path / "a.tsv")
    refusal = gluon_attn("run", "kim2017", "--preset", "smoke", *files).refusal
    assert "driving on data of your own needs --folder" in refusal


@pytest.mark.parametrize("name", ["attention-10", "cnn-lstm", "cnn"])
def test_no_setting_is_dead(name: str) -> None:
    """Except those of causal filtering, which only evaluation reads. Without attention a penalty is refused."""
    other: dict[str, Any] = {"channels": {(2, 3, 3, 4, 4): (3, 3, 3, 4, 4)}, "height": {80: 72}, "width": {160: 152}}
    other["penalty"] = {0.0: 0.0, 10.0: 20.0}
    dead = dead_settings(SMOKE.variant(name), SMOKE.task(name), other)
    assert dead == [*(["penalty"] if name != "attention-10" else []), "density", "least_effect"]


def test_frames_that_the_grid_does_not_fill_are_refused() -> None:
    settings = replace(SMOKE.variant("cnn").settings, height=81)
    with pytest.raises(UsageError, match="frames of 160 x 81 pixels: choose multiples of 8"):
        settings.build(cast(Any, None))


@pytest.mark.parametrize(("name", "factor"), [("always-0", 0.0), ("frame-before", 1.0)])
def test_what_is_not_trained_knows_the_frame_before_at_most(name: str, factor: float) -> None:
    frames, task, settings = recorded_drive(), CPU.task(name), CPU.variant(name).settings
    model = settings.build(cast(Any, None))
    model.initialize()
    degrees = task.steer(model, settings, frames).degrees
    for rows in frames.stretches:
        assert degrees[rows[0]] == 0.0
        np.testing.assert_allclose(degrees[rows[1:]], factor * frames.target[rows[:-1]])


def test_the_other_road_is_a_whole_drive_that_is_only_tested_on() -> None:
    """The sample stands for both roads; cut into blocks, its frames are in three splits."""
    data = SMOKE.task("always-0").prepare(SMOKE.variant("always-0").settings, sample=True)
    assert data.other is not None and list(data.other.splits) == ["test"]
    own, other = data.frames("test"), data.frames("other")
    assert len(own.target) == len(own.pixels) < 60
    assert len(other.target) == len(other.pixels) == 120 and [len(rows) for rows in other.stretches] == [120]


def test_a_region_with_exactly_the_least_effect_is_not_removed(tmp_path: Path) -> None:
    assert judged(tmp_path, attention_10=arrays(1.0, effect=np.full(60, 0.1)))["removed"].effect == 0


DENSITY = 0.05


def filtered(model: Any, frames: Frames, predictions: Predictions, least_effect: float) -> filtering.FilteredFrames:
    """Causal filtering of frames that all show the same road."""
    images = np.tile(road(), (len(frames.target), 1, 1, 1))
    numbers = np.arange(len(frames.target))
    split: Any = SimpleNamespace(decoded=images, target=frames.target, row_id=numbers.astype(str), seconds=numbers / 10)
    item = (numbers // 20).astype(np.int32)
    return filtering.filtered(
        model, frames, split, predictions, item, steps=STEPS, density=DENSITY, least_effect=least_effect
    )


def test_regions_with_less_than_the_least_effect_are_not_shown() -> None:
    frames, model = recorded_drive(), driver()
    predictions = predict(model, frames, steps=STEPS, state_units=UNITS)
    every = filtered(model, frames, predictions, 0.0).arrays
    effects = np.split(every["region_effect"], np.cumsum(every["regions_by_frame"])[:-1])
    least = float(every["region_effect"].mean())
    found = filtered(model, frames, predictions, least)
    shown = found.texts["kept"].any(axis=1)
    assert shown.tolist() == [bool((own >= least).any()) for own in effects] and 0 < shown.sum() < len(shown)
    assert found.arrays["least_effect"].tolist() == [np.float32(least)]


def test_masked_frames_are_steered_from_their_own_state_and_regions_have_their_weighted_distance() -> None:
    frames, model = recorded_drive(), driver()
    predictions = predict(model, frames, steps=STEPS, state_units=UNITS)
    found = filtered(model, frames, predictions, 0.0).arrays
    assert predictions.weights is not None
    distances, expected, effects = distances_to_edges(road(), model.grid), [], []
    for stretch in stretches(model, frames, steps=STEPS, state_units=UNITS):
        rows = np.arange(0, len(stretch.rows), filtering.EVERY)

        states = stretch.features[rows], stretch.h[rows], stretch.c[rows]

        def steer(chosen: np.ndarray, weights: np.ndarray, states: Any = states) -> np.ndarray:
            values = [state[chosen] for state in states]
            return model.steer(*(nd.array(value) for value in (weights, *values))).asnumpy()

        for regions, row in zip(
            causal_regions(stretch.weights[rows], model.grid, steer, DENSITY), stretch.rows[rows], strict=True
        ):
            weights = [predictions.weights[row][region.cells] for region in regions]
            expected += [
                np.average(distances[region.cells], weights=own) for region, own in zip(regions, weights, strict=True)
            ]
            effects += [region.effect for region in regions]
    assert len(expected) > 5 and np.ptp(expected) > 0
    np.testing.assert_allclose(found["region_distance"], expected, rtol=1e-4)
    np.testing.assert_allclose(found["region_effect"], effects, rtol=1e-3, atol=1e-6)


def test_pieces_do_not_cross_the_ends_of_blocks() -> None:
    sizes = [*[20] * 8, 16] * 2 + [*[20] * 5, 3]
    item = np.repeat(np.arange(len(sizes)), sizes)
    ends = block_ends({"item": item})
    assert ends.tolist() == [9, 18, 24]
    ones = np.ones((len(sizes), 1))
    assert in_pieces([ones, 2 * ones], ends)[:, :, 0].tolist() == [[3.0] * 6 + [2.0] * 3, [6.0] * 6 + [4.0] * 3]
    assert in_pieces([ones], ends, fewest=1)[0, :, 0].tolist() == [5.0, 4.0, 5.0, 4.0, 3.0, 3.0]
    assert in_pieces([ones], ends, fewest=99)[0, :, 0].tolist() == [1.0] * 24


def test_blocks_may_end_with_a_whole_item() -> None:
    task, settings = CPU.task("always-0"), CPU.variant("always-0").settings
    blocks = np.split(np.arange(93), [40, 60])
    many = replace(recorded_drive(), pixels=np.zeros((93, 1)), target=np.zeros(93), stretches=blocks)
    model = settings.build(cast(Any, None))
    data: Any = SimpleNamespace(frames=lambda _: many, other=object())
    made, _ = task.measured(model, settings, data)
    assert made["block"].tolist() == made["other_block"].tolist() == [0] * 40 + [1] * 20 + [2] * 33
    assert block_ends(made).tolist() == block_ends(made, "other_").tolist() == [2, 3, 5]


def test_intervals_draw_pieces_of_eighty_frames(tmp_path: Path) -> None:
    made = arrays(1.0)
    made |= {name: np.tile(made[name], 4) for name in ("degrees", "target")}
    made |= {"item": np.arange(len(made["degrees"])) // 20}
    made["degrees"] = made["target"] + np.repeat(np.random.RandomState(1).uniform(0, 3, 60), 20)
    history = [{"epoch": 1, "train_loss": 1.0, "validation_error": 1.5, "validation_loss": 1.5}]
    scored = outcome(tmp_path, "attention-10", 1, made, preset="cpu", history=history, corpus="udacity lake")
    first, *_ = CPU.task("attention-10").rows([scored], CPU.variant("attention-10"))
    pieces = np.stack([totals(scored).reshape(15, 4, 3).sum(axis=1)])
    interval = bootstrap_metric(pieces, mean_error, seed=0)
    assert first.ci95 == pytest.approx((interval.low, interval.high))
