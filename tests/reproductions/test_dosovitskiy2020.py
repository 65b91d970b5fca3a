"""Dosovitskiy et al. (2020): sizes, settings, claims and figures; one whole run on the embedded images."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mxnet import nd
from PIL import Image

from gluon_attn.training.checkpoint import named_parameters
from preprocessing.images.augmentation import Augmentation
from reproductions.dosovitskiy2020 import CURVES, REPRODUCTION, SIZES, TRAINING_IMAGES
from reproductions.protocol.conclude import conclude
from reproductions.protocol.runs import Outcome
from tests.reproductions.support import by_items, claims_by_id, dead_settings, gluon_attn, outcome, run, run_and_score

SMOKE, CPU, PAPER = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
VARIANT, TASK = SMOKE.variant("patches"), SMOKE.task("patches")
IMAGES = 400


def trained_parameters(settings: Any, classes: int = 10) -> int:
    model = settings.build(SimpleNamespace(classes=classes))
    return sum(int(np.prod(one.shape)) for _, one in named_parameters(model) if one.grad_req != "null")


def size(units: int, layers: int, hidden: int, patch: int, classes: int = 1000) -> int:
    """Equations 1 to 4: projections of attention without biases, all others with."""
    layer = 4 * units * units + 2 * units * hidden + hidden + units + 4 * units
    patches = (224 // patch) ** 2
    embedding = 3 * patch * patch * units + units + units + (patches + 1) * units
    return layers * layer + embedding + 2 * units + (units + 1) * classes


@pytest.mark.parametrize(
    ("name", "arguments", "millions"),
    [("B/16", (768, 12, 3072, 16), 86), ("L/16", (1024, 24, 4096, 16), 307), ("H/14", (1280, 32, 5120, 14), 632)],
)
def test_networks_have_the_parameters_of_table_1(name: str, arguments: tuple[int, ...], millions: int) -> None:
    """With the 1 000 classes of ImageNet; the paper does not say what its numbers count."""
    counted = trained_parameters(SIZES[name], classes=1000)
    assert counted == size(*arguments)
    assert counted / 1e6 == pytest.approx(millions, rel=0.01)


def test_the_paper_preset_has_the_networks_of_the_paper() -> None:
    names = {variant.name: variant.settings for variant in PAPER.variants}
    assert names["patches"] == SIZES["H/14"] and names["class"] == SIZES["B/16"]
    assert names["positions-2-d"].positions == "2-d" and names["mean"].pooling == "mean"
    assert {"hybrid", "resnet", "resnet-20"}.isdisjoint(names)


def test_networks_that_are_compared_have_as_many_parameters() -> None:
    count = {variant.name: trained_parameters(variant.settings) for variant in CPU.variants}
    assert count["resnet"] == pytest.approx(count["hybrid"], rel=0.05)
    assert count["resnet-20"] == pytest.approx(count["class"], rel=0.05)
    assert count["hybrid-short"] == pytest.approx(count["class"], rel=0.05)


def test_systems_of_a_claim_differ_in_one_thing() -> None:
    base = CPU.variant("class")
    for name, changed in (
        ("mean", {"pooling": "mean"}),
        ("positions-none", {"positions": "none"}),
        ("positions-2-d", {"positions": "2-d"}),
        ("positions-relative", {"positions": "relative"}),
        ("vit-1000", {"images": 1000, "passes": 12}),
    ):
        other = CPU.variant(name)
        assert other.settings.as_json() == base.settings.as_json() | changed and other.recipe == base.recipe
    for few, all_images in (("vit-10000", "class"), ("resnet-10000", "resnet-20")):
        assert CPU.variant(few).recipe == CPU.variant(all_images).recipe
    assert CURVES["ViT"][TRAINING_IMAGES] == "class" and set(CURVES["ResNet-20"]) == set(CURVES["ViT"])


@pytest.mark.parametrize("name", ["class", "hybrid", "vit-1000", "resnet-20"])
def test_no_setting_is_dead(name: str) -> None:
    other: dict[str, Any] = {
        "images": {None: 100, 100: 50},
        "stem": {(): (8,), (8, 8, 8): (8, 8)},
        "positions": {"1-d": "2-d"},
        "pooling": {"class": "mean", "mean": "class"},
        "padding": {4: 0},
    }
    present = SMOKE.variant(name).settings.as_json()
    chosen = {key: value for key, value in other.items() if key in present}
    assert dead_settings(SMOKE.variant(name), SMOKE.task(name), chosen) == []


def made_up(folder: Path, right: dict[str, float], validation: dict[str, float] | None = None) -> dict[str, Any]:
    """Outcomes of three seeds by variant, right about that share of the images."""
    groups: dict[str, Any] = {}
    for name, share in right.items():
        groups[name] = []
        for seed in (1, 2, 3):
            correct = np.random.RandomState(seed).permutation(IMAGES) < round(share * IMAGES)
            history = [{"epoch": 1, "train_loss": 1.0, "validation_loss": 1.0}]
            history[0]["validation_accuracy"] = (validation or {}).get(name, 100 * share)
            arrays = {"right": correct, "label": np.zeros(IMAGES, np.uint8), "predicted": np.zeros(IMAGES, np.uint8)}
            examples = {"archive": "JPEG-recompressed images"}
            record: dict[str, Any] = {"corpus": "cifar10", "history": history}
            groups[name].append(outcome(folder, name, seed, arrays, examples=examples, **record))
    return groups


AS_CLAIMED = {
    "resnet-1000": 0.5, "vit-1000": 0.3, "resnet-20": 0.9, "class": 0.85, "class-fast": 0.6, "mean": 0.6,
    "mean-fast": 0.85, "positions-none": 0.5, "positions-2-d": 0.85, "positions-relative": 0.85, "hybrid-short": 0.9,
}  # fmt: skip
OTHERWISE = {
    "resnet-1000": 0.4, "vit-1000": 0.5, "resnet-20": 0.9, "class": 0.7, "class-fast": 0.6, "mean": 0.6,
    "mean-fast": 0.55, "positions-none": 0.85, "positions-2-d": 0.8, "positions-relative": 0.6, "hybrid-short": 0.5,
}  # fmt: skip


@pytest.mark.parametrize(("right", "verdict"), [(AS_CLAIMED, "supported"), (OTHERWISE, "contradicted")])
def test_claims_are_judged_both_ways(right: dict[str, float], verdict: str, tmp_path: Path) -> None:
    outcomes = [each for group in made_up(tmp_path, right).values() for each in group]
    _, judged = conclude(REPRODUCTION, CPU, outcomes)
    claims = claims_by_id(judged)
    assert set(claims) == {"little-data", "gap", "positions", "kind", "hybrid", "pooling"}
    assert {by_items(claim) for claim in claims.values()} == {verdict}


def test_the_rate_is_chosen_on_validation(tmp_path: Path) -> None:
    names = ("class", "class-fast", "mean", "mean-fast")
    right, validation = dict.fromkeys(names, 0.5) | {"mean": 0.9}, dict.fromkeys(names, 50.0) | {"mean-fast": 60.0}
    groups = made_up(tmp_path, right, validation)
    (claim,) = (claim for claim in REPRODUCTION.claims if claim.id == "pooling")
    assert claim.effect(*(groups[name] for name in names)).estimate.mean == pytest.approx(1.0)  # type: ignore[union-attr]


def test_rows_name_the_archive(tmp_path: Path) -> None:
    groups = made_up(tmp_path, {"hybrid": 0.8})
    test, validation = CPU.task("hybrid").rows(groups["hybrid"], CPU.variant("hybrid"))
    assert test.signature == f"{IMAGES} test images, JPEG-recompressed images" and test.mean == pytest.approx(80)
    assert (validation.split, validation.signature) == ("validation", "best epoch")
    assert test.reported is not None and test.reported["value"] == 89.17


def width(path: Path) -> int:
    with Image.open(path) as image:
        return image.width


def trained(runs: Path, variant: str) -> Outcome:
    """The outcome of a training on the embedded sample."""
    done = run_and_score("dosovitskiy2020", "--preset", "smoke", "--variant", variant, "--runs", runs)
    assert done.code == 0, done.err
    return Outcome.of(run(runs, variant, paper="dosovitskiy2020"))


@pytest.mark.parametrize("variant", [pytest.param("patches", marks=pytest.mark.slow), "hybrid"])
def test_a_run_on_the_sample_measures_and_draws_what_the_network_attends_to(variant: str, tmp_path: Path) -> None:
    finished = trained(tmp_path, variant)
    examples = finished.examples
    grid = 4
    assert np.array(examples["distance"]).shape == (2, 2) and 0 < np.max(examples["distance"]) < 32 * 1.5
    shares = np.array([example["shares"] for example in examples["rollout"]])
    assert shares.shape[0] <= 12 and np.allclose(shares.sum(axis=(1, 2)), 1, atol=1e-3)
    assert ("filters" in examples) == (variant != "hybrid") and "similarity" in examples
    assert len(examples["similarity"]) == shares.shape[1] ** 2 >= grid
    drawn: dict[str, Path] = {}
    for draw in REPRODUCTION.figures:
        drawn |= draw({variant: [finished]}, tmp_path)
    assert any("Figure 11" in title for title in drawn)
    assert min(width(path) for path in drawn.values()) > 200


def test_classify_answers_with_the_likeliest_classes(tmp_path: Path) -> None:
    trained(tmp_path / "runs", "class")
    path = tmp_path / "사진 1.png"
    Image.fromarray(np.random.RandomState(0).randint(0, 256, (50, 70, 3)).astype(np.uint8)).save(path)
    where = ["dosovitskiy2020", "--preset", "smoke", "--variant", "class", "--runs", tmp_path / "runs"]
    answer = gluon_attn("classify", path, path, "--paper", *where, "--best", 2, "--attention", tmp_path / "out.png")
    assert answer.code == 0, answer.err
    first, second = answer.out.splitlines()[:2]
    name, label, probability, _, other = first.split("\t")
    assert first == second and name == str(path) and label != "" and float(probability) >= float(other)
    assert width(tmp_path / "out.png") > 100
    answer = gluon_attn("classify", path, "--json", "--paper", *where)
    record = json.loads(answer.out)
    assert record["image"] == str(path) and "사진" in answer.out
    assert sum(record["probabilities"].values()) == pytest.approx(1, abs=1e-4)
    (tmp_path / "text.png").write_bytes(b"no image")
    for name, reason in (("text.png", "cannot be decoded"), ("absent.png", "No such file")):
        answer = gluon_attn("classify", tmp_path / name, "--paper", *where)
        assert answer.code == 2 and f"{name}: {reason}" in answer.err.splitlines()[-1]


def test_the_loss_of_training_is_smoothed_by_the_mean_over_classes() -> None:
    data = TASK.prepare(VARIANT.settings, sample=True)
    logits, target = np.random.RandomState(1).normal(size=(3, 10)), np.array([0, 4, 9])
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    for smoothing in (0.0, 0.1):
        objective = TASK.objective(replace(VARIANT.settings, smoothing=smoothing), VARIANT.recipe, data)
        expected = -(1 - smoothing) * log_p[np.arange(3), target] - smoothing * log_p.mean(axis=1)
        np.testing.assert_allclose(objective.loss(nd.array(logits), nd.array(target)).asnumpy(), expected, rtol=1e-5)


def test_few_images_of_training_are_as_many_of_each_class_and_part_of_more() -> None:
    """The images of the sample are in the order of their classes."""
    data = TASK.prepare(VARIANT.settings, sample=True)
    seen: list[set[bytes]] = []
    for images in (50, 100):
        settings = replace(VARIANT.settings, padding=0, flip=False, images=images, passes=1)
        objective = TASK.objective(settings, replace(VARIANT.recipe, batch_size=10), data)
        batches = list(objective.batches(np.random.RandomState(images)))
        labels = np.concatenate([batch.target for batch in batches]).astype(int)
        assert np.bincount(labels).tolist() == [images // 10] * 10
        seen.append({image.tobytes() for batch in batches for image in batch.inputs[0]})
    assert len(seen[0]) == 50 and seen[0] < seen[1]


def test_images_of_training_are_augmented_and_those_of_validation_are_not() -> None:
    data = TASK.prepare(VARIANT.settings, sample=True)
    settings = replace(VARIANT.settings, padding=2, flip=True, cutout=4, images=None, passes=1)
    objective, train = TASK.objective(settings, VARIANT.recipe, data), data.prepared.splits["train"]
    generator, (first, *_) = np.random.RandomState(3), list(objective.batches(np.random.RandomState(3)))
    chosen = generator.permutation(len(train))[: len(first.target)]
    changed = Augmentation(2, True, 4)(train.decoded[chosen], generator)
    np.testing.assert_array_equal(first.inputs[0], data.prepared.inputs(changed))
    np.testing.assert_array_equal(first.target, train.label[chosen])
    read: list[np.ndarray] = []

    def model(inputs: nd.NDArray) -> nd.NDArray:
        read.append(inputs.asnumpy())
        return nd.zeros((len(inputs), 10))

    objective.evaluate(model)  # type: ignore[arg-type]
    unchanged = data.prepared.inputs(data.prepared.splits["validation"].decoded)
    np.testing.assert_array_equal(np.concatenate(read), unchanged)
