"""The record of test readings: entered before the test split is read, and summed up below a table."""

from __future__ import annotations

import json
import os
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from preprocessing.errors import InputError
from reproductions.protocol import papers, readings, runner
from reproductions.protocol.readings import Reading
from tests.reproductions.support import gluon_attn, outcome, run, run_and_score

READ = Reading("mean", 1, "a" * 64, "c" * 40, "2026-01-01T00:00:00+00:00")


def test_without_readings_nothing_is_recorded(toy: str) -> None:
    assert readings.read_readings(toy) == []


def test_readings_are_appended_in_their_order(toy: str, tmp_path: Path) -> None:
    runs = [run(tmp_path, name, seed, paper=toy, preset="cpu") for name, seed in (("straight", 2), ("curved", 1))]
    for one in runs:
        outcome(tmp_path, one.variant, one.seed, paper=toy, preset="cpu", parameters_sha256=f"{one.seed}" * 64)
    readings.append(toy, runs[:1])
    path = readings.append(toy, runs[1:])
    assert path == Path(toy).parent / "results" / "toy" / "test_readings.json"
    recorded = readings.read_readings(toy)
    assert [(one.variant, one.seed, one.parameters_sha256[0]) for one in recorded] == [
        ("straight", 2, "2"),
        ("curved", 1, "1"),
    ]
    assert all(one.commit and one.when.endswith("+00:00") and not one.note for one in recorded)


def test_a_training_that_is_scored_again_is_recorded_with_a_note(toy: str, tmp_path: Path) -> None:
    """Its folder was lost, or its first scoring broken off. Systems without parameters all have the same hash."""
    runs = [run(tmp_path, name, 1, paper=toy, preset="cpu") for name in ("curved", "straight")]
    for one in runs:
        outcome(tmp_path, one.variant, 1, paper=toy, preset="cpu", parameters_sha256="e" * 64)
    readings.record(toy, runs[:1])
    assert readings.record(toy, runs) == readings.record_path(toy)
    recorded = [(one.variant, one.note) for one in readings.read_readings(toy)]
    again = "Some trainings were scored again."
    assert recorded == [("curved", ""), ("curved", again), ("straight", "")]


def test_score_records_before_it_reads(toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No reading is missing from the record, however scoring ends. Scored runs are not read again."""
    for variant in ("curved", "straight"):
        outcome(tmp_path, variant, 1, paper=toy, preset="cpu")
    (run(tmp_path, "curved", paper=toy, preset="cpu").directory / "outcome.json").unlink()
    monkeypatch.setattr(runner, "corpus_or_sample", lambda preset, variants: preset)
    monkeypatch.setattr("reproductions.protocol.publishing.trained_as_declared", lambda *_: True)
    during: list[Reading] = []

    def score_all(*_: object, **__: object) -> None:
        during.extend(readings.read_readings(toy))
        raise UsageError("no room")

    monkeypatch.setattr(runner, "score_all", score_all)
    options = ("--variant", "curved", "--variant", "straight", "--seed", 1, "--runs", tmp_path)
    answer = gluon_attn("score", toy, *options)
    assert "no room" in answer.refusal and str(readings.record_path(toy)) in answer.out
    assert [(one.variant, one.seed) for one in during] == [("curved", 1)]


def test_a_reading_that_is_recorded_while_another_one_is_does_not_replace_it(
    toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second one begins when the first has read the record, and would be finished before that writes it."""
    first, second = (run(tmp_path, "curved", seed, paper=toy, preset="cpu") for seed in (1, 2))
    for one in (first, second):
        outcome(tmp_path, one.variant, one.seed, paper=toy, preset="cpu")
    other = threading.Thread(target=readings.append, args=(toy, [second]))
    read = readings.read_readings

    def interrupted(paper: str) -> list[Reading]:
        known = read(paper)
        if other.ident is None:
            other.start()
            other.join(0.5)
        return known

    monkeypatch.setattr(readings, "read_readings", interrupted)
    readings.append(toy, [first])
    other.join()
    assert [one.seed for one in read(toy)] == [1, 2]
    assert [path.name for path in readings.record_path(toy).parent.iterdir()] == ["test_readings.json"]
    assert f"waiting for process {os.getpid()}, which is writing the results of toy" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [PermissionError(13, "Permission denied"), OSError(30, "Read-only file system"), InputError("x", "No space left")],
)
def test_no_network_reads_the_test_split_where_that_cannot_be_recorded(
    error: Exception, toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = run(tmp_path, "curved", 1, paper=toy, preset="cpu")
    outcome(tmp_path, "curved", 1, paper=toy, preset="cpu")

    def refused(paper: str) -> None:
        raise error

    monkeypatch.setattr(papers, "locked_results", refused)
    cause = re.escape(str(error))
    with pytest.raises(
        UsageError, match=rf"test_readings\.json: this reading .* recorded \({cause}\); score in a clone"
    ):
        readings.append(toy, [one])


def test_readings_on_the_sample_are_not_recorded(toy: str, tmp_path: Path) -> None:
    answer = run_and_score(toy, "--preset", "smoke", "--variant", "curved", "--runs", tmp_path)
    assert answer.code == 0, answer.err
    assert not readings.record_path(toy).exists()


@pytest.mark.parametrize("content", ['[{"variant": "mean"}]', "[1]", "{", '{"variant": "mean"}'])
def test_a_damaged_record_is_refused_in_one_line(content: str, toy: str) -> None:
    path = readings.record_path(toy)
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"test_readings\.json: damaged .*; restore it from the repository") as caught:
        readings.read_readings(toy)
    assert "\n" not in str(caught.value)


def test_the_number_of_readings_is_below_a_table() -> None:
    assert readings.summary([], {"mean/1": "a" * 64}) == []
    other = replace(READ, variant="last", parameters_sha256="b" * 64)
    trained = {"mean/1": "a" * 64, "last/1": "b" * 64}
    (sentence,) = readings.summary([READ, other], trained)
    assert sentence == "The test split was read 2 times for the 2 trainings of this table."


def test_runs_replaced_after_a_reading_are_named() -> None:
    note = "`best` was tuned again after its test accuracy of 87.64 was published."
    old = [replace(READ, variant="best", parameters_sha256="9" * 64, note=note) for _ in range(2)]
    gone = replace(READ, variant="last", parameters_sha256="8" * 64)
    sentence, footnote = readings.summary([*old, READ, gone], {"mean/1": "a" * 64, "best/1": "b" * 64})
    assert sentence == (
        "The test split was read 4 times for the 2 trainings of this table, 2 of them by trainings that were replaced "
        "(`best`), 1 of them by trainings that are not in it (`last`)."
    )
    assert footnote == note


def test_a_training_that_was_scored_unrecorded_is_recorded_when_it_is_published(
    toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``reproduce`` scores in the same folder, and records nothing."""
    monkeypatch.setattr(runner, "corpus_or_sample", lambda preset, variants: preset)
    monkeypatch.setattr("reproductions.cli.training.write_results", lambda *_, **__: None)
    monkeypatch.setattr("reproductions.protocol.publishing.check_addition", lambda *_: None)
    monkeypatch.setattr("reproductions.protocol.publishing.trained_as_declared", lambda *_: True)
    outcome(tmp_path, "curved", 1, paper=toy, preset="cpu")
    options = ("score", toy, "--variant", "curved", "--seed", 1, "--runs", tmp_path)
    for publish, recorded in (((), []), (("--publish",), ["curved"]), (("--publish",), ["curved"])):
        assert gluon_attn(*options, *publish).code == 0
        assert [one.variant for one in readings.read_readings(toy)] == recorded


def test_the_record_is_plain_json(toy: str, tmp_path: Path) -> None:
    one = run(tmp_path, "curved", 1, paper=toy, preset="cpu")
    outcome(tmp_path, "curved", 1, paper=toy, preset="cpu")
    (entry,) = json.loads(readings.append(toy, [one]).read_text(encoding="utf-8"))
    assert list(entry) == ["variant", "seed", "parameters_sha256", "commit", "when", "note"]
