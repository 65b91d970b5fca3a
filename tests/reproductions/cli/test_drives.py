"""``gluon-attn preprocess driving``: its files and page, and what it refuses in one line."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from tests.preprocessing.drives import frames, log_lines, write_archive, write_drive
from tests.reproductions.support import Answer, gluon_attn

COUNT = 130
SIZE = ("--height", "20", "--width", "40", "--block", "2")


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drive")
    write_drive(folder, frames(COUNT, 16, 32), log_lines(COUNT))
    return folder


def preprocess(out: Path, *options: object) -> Answer:
    return gluon_attn("preprocess", "driving", "--out", out, "--no-cache", *options)


def test_a_drive_of_your_own_gets_a_page_that_states_what_its_card_does(drive: Path, tmp_path: Path) -> None:
    own = ("--frames", drive / "center.tar", "--log", drive / "driving_log.csv")
    answer = preprocess(tmp_path / "out", *own, *SIZE)
    assert answer.code == 0, answer.err
    assert "train: 86 frames, stretches without a gap: 3\n" in answer.out
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"card.html", "card.json", "train.npz", "validation.npz", "test.npz"}
    page = (tmp_path / "out" / "card.html").read_text(encoding="utf-8")
    for heading in ("The drive", "How the splits are driven", "What a split by frame would leak"):
        assert f">{heading}</h2>" in page
    assert "More facts" not in page, "every fact has a section"
    cells = re.search(r"<tr><th>test</th><td class=\"number\">18</td><td class=\"number\">1</td>", page)
    assert cells, "frames and stretches of a split"


def test_a_road_that_is_only_tested_on_has_no_leak(drive: Path, tmp_path: Path) -> None:
    own = ("--frames", drive / "center.tar", "--log", drive / "driving_log.csv", "--test-only")
    assert preprocess(tmp_path / "out", *own, *SIZE[:4]).code == 0
    page = (tmp_path / "out" / "card.html").read_text(encoding="utf-8")
    assert "How the splits are driven" in page and "would leak</h2>" not in page


@pytest.mark.parametrize(
    ("frames_of", "log_of", "reason"),
    [
        ("center.tar", "folder", "folder: is a folder; give the log itself"),
        ("no.tar", "driving_log.csv", "no.tar: no such file"),
        ("frames.zip", "driving_log.csv", "frames.zip: is a zip archive; unpack it"),
        ("folder", "driving_log.csv", "driving_log.csv, line 2: frame center/0000.png is missing in folder"),
        ("center.tar", "nan.csv", "nan.csv, line 6: steering is nan; remove the row, or correct the value"),
        ("center.tar", "gap.csv", "gap.csv, line 21: a gap of 4.10 s before this row"),
        ("evil.tar", "driving_log.csv", "evil.tar: member '../x.png' is outside the archive; do not use it"),
    ],
)
def test_a_drive_that_cannot_be_read_is_one_line(
    drive: Path, tmp_path: Path, frames_of: str, log_of: str, reason: str
) -> None:
    (drive / "folder").mkdir(exist_ok=True)
    with zipfile.ZipFile(drive / "frames.zip", "w") as archive:
        archive.writestr("center/0000.png", b"")
    lines = log_lines(COUNT)
    write_archive(drive / "evil.tar", {"../x.png": b""})
    (drive / "nan.csv").write_text("\n".join([*lines[:5], "center/0004.png,400,nan,0,0,0", *lines[6:]]) + "\n")
    (drive / "gap.csv").write_text("\n".join(lines[:20] + lines[60:]) + "\n")
    answer = preprocess(tmp_path / "out", "--frames", drive / frames_of, "--log", drive / log_of, *SIZE)
    assert reason in answer.refusal
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_written_is_refused_before_anything_is_computed(drive: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine", encoding="utf-8")
    own = ("--frames", drive / "center.tar", "--log", drive / "absent.csv")
    assert "full: the directory is not empty; choose another" in preprocess(tmp_path / "full", *own, *SIZE).refusal
    assert "--sample and --frames name two corpora" in preprocess(tmp_path / "out", "--sample", *own).refusal
    another = ("--corpus", "udacity track")
    assert "--corpus and --frames name two corpora" in preprocess(tmp_path / "out", *another, *own).refusal
    assert "--corpus and --sample name two corpora" in preprocess(tmp_path / "out", *another, "--sample").refusal


def test_options_that_name_no_drive_are_refused(tmp_path: Path) -> None:
    assert "needs both --frames and --log" in preprocess(tmp_path / "out", "--log", tmp_path / "a").refusal
    assert "choose udacity lake or udacity track" in preprocess(tmp_path / "out", "--corpus", "ptb").refusal
