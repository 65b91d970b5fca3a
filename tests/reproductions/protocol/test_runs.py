"""Runs and their outcomes: paths, published files, and damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from reproductions.protocol.runs import Outcome, Run, by_variant, in_order, paired, published_outcomes, write_outcome
from tests.reproductions.support import outcome, run

RECORD = {
    "metrics", "history", "train_seconds", "parameters", "parameters_sha256", "corpus", "corpora", "pipeline", "commit",
    "environment",
}  # fmt: skip


# --- where a run is ---


def test_the_directory_of_a_run_is_named_by_its_parts(tmp_path: Path) -> None:
    one = Run("cho2014", "cpu", "encdec", 7, "fast", 2, tmp_path)
    assert one.directory == tmp_path / "cho2014" / "cpu-fast" / "encdec" / "seed-7"
    assert one.label == "encdec/7"
    assert replace(one, on_sample=True).root == tmp_path / "cho2014" / "cpu-fast-sample"
    assert replace(one, seed="1+2").directory.name == "seed-1+2"


def test_the_runs_of_a_script_given_by_its_path_are_below_its_name(tmp_path: Path) -> None:
    one = run(tmp_path, "curved", paper="/somewhere/toy.py")
    assert one.paper_name == "toy"
    assert one.root == tmp_path / "toy" / "smoke-portable"


def test_the_arguments_of_a_run_are_those_of_the_command_line(tmp_path: Path) -> None:
    one = Run("a/toy.py", "cpu", "curved", 7, "fast", 2, tmp_path, on_sample=True)
    expected = (
        f"a/toy.py --preset cpu --variant curved --seed 7 --profile fast --runs {tmp_path} --on-sample --threads 2"
    )
    assert one.arguments() == expected.split()
    suggested = f"a/toy.py --preset cpu --variant curved --seed 7 --profile fast --threads 2 --runs {tmp_path}"
    assert one.command_line == suggested


# --- outcomes ---


def test_an_outcome_survives_a_round_trip(tmp_path: Path) -> None:
    arrays, texts = {"right": np.array([True, False])}, {"text": np.array(["가", "b"])}
    written = outcome(tmp_path, "curved", 3, arrays, examples={"points": [1, 2]}, texts=texts, parameters=12)
    again = Outcome.of(run(tmp_path, "curved", 3))
    assert again.record == written.record and again.record["parameters"] == 12
    assert (again.label, again.is_ensemble, again.on_sample) == ("curved/3", False, False)
    assert again.predictions["right"].tolist() == [True, False]
    assert again.examples == {"points": [1, 2]}
    assert again.texts["text"].tolist() == ["가", "b"]


def test_an_outcome_without_examples_and_texts_has_none(tmp_path: Path) -> None:
    one = outcome(tmp_path, "committee", "1+2", {"right": [True]}, corpus="sample")
    assert (one.examples, one.texts, one.is_ensemble, one.on_sample) == ({}, {}, True, True)
    assert sorted(path.name for path in one.directory.iterdir()) == ["outcome.json", "predictions.npz", "training.json"]


def test_outcomes_are_grouped_by_variant_in_their_order(tmp_path: Path) -> None:
    outcomes = [outcome(tmp_path, name, seed) for seed in (1, 2) for name in ("mean", "last")]
    groups = by_variant(outcomes)
    labels = {name: [one.seed for one in group] for name, group in groups.items()}
    assert list(labels.items()) == [("mean", [1, 2]), ("last", [1, 2])]


def test_an_unfinished_run_has_no_outcome(tmp_path: Path) -> None:
    one = run(tmp_path, "curved", paper="toy.py", preset="cpu")
    one.directory.mkdir(parents=True)
    (one.directory / "checkpoint.npz").touch()
    assert not one.is_scored
    command = "gluon-attn run toy.py --preset cpu --variant curved --seed 1"
    refusal = f"curved with seed 1 has not been trained yet. Train it with: {command}"
    with pytest.raises(UsageError, match=f"{refusal} --runs {tmp_path}$"):
        Outcome.of(one)
    with pytest.raises(UsageError, match=f"{refusal} --profile fast$"):
        Outcome.of(replace(one, profile="fast", runs=Path("runs")))
    on_sample = (
        "trained yet on the embedded sample. Train it .*; a network trained on the corpus needs the corpus here$"
    )
    with pytest.raises(UsageError, match=on_sample):
        Outcome.of(replace(one, on_sample=True))


def test_an_outcome_exists_only_with_all_its_files(tmp_path: Path) -> None:
    one = run(tmp_path, "curved")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_outcome(one.directory, {}, {"right": np.ones(2)}, {"weight": float("nan")}, {})
    assert not one.is_scored


def test_an_outcome_that_is_written_again_keeps_nothing_of_the_earlier_one(tmp_path: Path) -> None:
    one = outcome(tmp_path, "mean", 1, {"right": [True]}, examples={"a": 1}, texts={"text": ["a review"]})
    write_outcome(one.directory, one.record, {"right": np.zeros(1)}, {}, {})
    again = Outcome.read(one.directory, "mean", 1)
    assert (again.examples, again.texts, again.predictions["right"].tolist()) == ({}, {}, [0.0])


def test_published_outcomes_have_no_parameters_and_no_texts(tmp_path: Path) -> None:
    whole = outcome(tmp_path / "runs", "mean", 1, {"right": [True]}, examples={"a": 1}, texts={"text": ["a review"]})
    for name in ("config.json", "checkpoint.npz", "metrics.csv"):
        (whole.directory / name).write_text("{}", encoding="utf-8")
    outcome(tmp_path / "runs", "mean", 2).publish(tmp_path / "published")
    whole.publish(tmp_path / "published")
    folder = tmp_path / "published" / "mean"
    published = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))
    names = ("config.json", "examples.json", "outcome.json", "predictions.npz")
    assert published == [f"seed-1/{name}" for name in names] + ["seed-2/outcome.json", "seed-2/predictions.npz"]
    for name in names:
        assert (folder / "seed-1" / name).read_bytes() == (whole.directory / name).read_bytes()
    again = Outcome.read(folder / "seed-1", "mean", 1)
    assert again.record == whole.record and again.examples == {"a": 1} and again.texts == {}


def test_published_outcomes_are_ordered_by_variant_and_seed_with_ensembles_last(tmp_path: Path) -> None:
    for name, seed in (("mean", 10), ("mean", "1+2"), ("last", 1), ("mean", 2), ("gone", 1)):
        outcome(tmp_path / "runs", name, seed).publish(tmp_path / "published")
    outcomes = published_outcomes(tmp_path / "published", ["last", "absent", "mean"])
    assert [one.label for one in outcomes] == ["last/1", "mean/2", "mean/10", "mean/1+2"]
    assert [type(one.seed) for one in outcomes] == [int, int, int, str]


@pytest.mark.parametrize("name", ["outcome.json", "predictions.npz", "examples.json"])
def test_damaged_published_outcomes_are_restored_and_not_deleted(name: str, tmp_path: Path) -> None:
    whole = outcome(tmp_path / "runs", "mean", 1)
    (whole.directory / "examples.json").write_text("{}", encoding="utf-8")
    whole.publish(tmp_path)
    (tmp_path / "mean" / "seed-1" / name).write_bytes(b"{")
    with pytest.raises(UsageError, match=rf"{name}: damaged .*; restore it from the repository"):
        for one in published_outcomes(tmp_path, ["mean"]):
            _ = one.predictions, one.examples


def test_a_missing_published_outcome_is_restored(tmp_path: Path) -> None:
    outcome(tmp_path / "runs", "mean", 1).publish(tmp_path)
    (tmp_path / "mean" / "seed-1" / "outcome.json").unlink()
    with pytest.raises(UsageError, match=r"outcome\.json: is missing; restore it from the repository"):
        published_outcomes(tmp_path, ["mean"])


def test_outcomes_are_in_the_order_of_the_table_however_they_were_run(tmp_path: Path) -> None:
    ran = [outcome(tmp_path, *run) for run in (("b", 2), ("a", 10), ("a", "2+10"), ("a", "1+2"), ("b", 1), ("a", 2))]
    assert [one.label for one in in_order(ran, ["a", "b"])] == ["a/2", "a/10", "a/1+2", "a/2+10", "b/1", "b/2"]


# --- damage ---


def read_all(folder: Path) -> None:
    one = Outcome.read(folder, "mean", 1)
    _ = one.predictions, one.examples, one.texts


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    arrays = {"right": np.arange(50) % 2 == 0, "text": np.array(["가", "b"])}
    return outcome(tmp_path, "mean", 1, arrays, examples={"points": [1, 2]}, texts=arrays).directory


def refused(folder: Path, name: str) -> str:
    with pytest.raises(UsageError) as caught:
        read_all(folder)
    assert "\n" not in str(caught.value) and str(folder / name) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["outcome.json", "predictions.npz", "examples.json", "texts.npz"])
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: b"", id="empty"),
        pytest.param(lambda raw: raw[:-5], id="truncated"),
        pytest.param(lambda raw: raw[: len(raw) // 2], id="half"),
        pytest.param(lambda raw: bytes(len(raw)), id="zeros"),
        pytest.param(lambda raw: b"\xff" + raw, id="not UTF-8"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(name: str, damage: Callable[[bytes], bytes], whole: Path) -> None:
    path = whole / name
    path.write_bytes(damage(path.read_bytes()))
    assert "delete it" in refused(whole, name)


@pytest.mark.parametrize("name", ["predictions.npz", "texts.npz"])
def test_any_damaged_byte_of_the_arrays_is_refused_in_one_line_or_harmless(name: str, whole: Path) -> None:
    """Some bytes of a zip file, such as times, are never read."""
    path, refusals = whole / name, 0
    raw = path.read_bytes()
    before = Outcome.read(whole, "mean", 1).predictions
    for position in range(len(raw)):
        for flipped in (raw[position] ^ 0x01, raw[position] ^ 0x80):
            path.write_bytes(raw[:position] + bytes([flipped]) + raw[position + 1 :])
            try:
                one = Outcome.read(whole, "mean", 1)
                arrays = one.predictions if name == "predictions.npz" else one.texts
                assert {key: value.tolist() for key, value in arrays.items()} == {
                    key: value.tolist() for key, value in before.items()
                }
            except UsageError as error:
                assert "\n" not in str(error) and str(path) in str(error)
                refusals += 1
    assert refusals > len(raw) / 2


@pytest.mark.parametrize("content", ["{}", "[]", "null", "3", '"parameters_sha256"'])
def test_a_file_that_is_not_an_outcome_is_refused(content: str, whole: Path) -> None:
    (whole / "outcome.json").write_text(content, encoding="utf-8")
    assert "no outcome of a run" in refused(whole, "outcome.json")


@pytest.mark.parametrize("missing", sorted(RECORD))
def test_an_incomplete_outcome_is_refused(missing: str, whole: Path) -> None:
    record = json.loads((whole / "outcome.json").read_text(encoding="utf-8"))
    del record[missing]
    (whole / "outcome.json").write_text(json.dumps(record), encoding="utf-8")
    assert "no outcome of a run" in refused(whole, "outcome.json")


def test_missing_predictions_are_refused(whole: Path) -> None:
    (whole / "predictions.npz").unlink()
    assert "No such file" in refused(whole, "predictions.npz")


def test_outcomes_are_paired_by_their_seeds(tmp_path: Path) -> None:
    first, second = (
        [outcome(tmp_path, name, seed) for seed in seeds] for name, seeds in (("a", (1, 3, 2)), ("b", (2, 4, 3)))
    )
    assert [(one.label, other.label) for one, other in paired(first, second)] == [("a/3", "b/3"), ("a/2", "b/2")]
