"""gluon-attn caption: a caption and a figure of each image, one line for what cannot be read."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from PIL import Image

from reproductions.protocol import papers
from reproductions.protocol.models import included_models
from tests.reproductions.support import DRAWING, gluon_attn

SMOKE = ("--preset", "smoke", "--runs")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    done = gluon_attn("run", "xu2015", *SMOKE, runs, "--variant", "soft", "--jobs", "1")
    assert done.code == 0, done.err
    return runs


@pytest.mark.slow
def test_images_are_captioned_and_drawn(trained: Path, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("grey.png", "print.jpg", "damaged.jpg")]
    Image.new("L", (50, 30)).save(paths[0])
    Image.new("CMYK", (30, 50)).save(paths[1])
    paths[2].write_bytes(paths[1].read_bytes()[:200])
    out = tmp_path / "drawn"
    done = gluon_attn("caption", *paths, tmp_path / "none.png", *SMOKE, trained, "--out", out, "--json")
    assert done.code == 2
    records = [json.loads(line) for line in done.out.splitlines()]
    assert [record["image"] for record in records] == [str(path) for path in paths[:2]]
    assert sorted(path.name for path in out.iterdir()) == ["1-grey.png", "2-print.png"]
    warning, *errors, answered = done.err.splitlines()
    assert "SAMPLE" in warning and len(errors) == 2 and answered.startswith("answered by soft")
    assert "damaged.jpg: cannot be decoded" in errors[0] and "none.png: cannot be read" in errors[1]


@pytest.mark.parametrize("command", ["caption", "classify"])
def test_a_name_of_two_lines_is_refused(command: str) -> None:
    assert "has a line feed in its name; rename the file" in gluon_attn(command, "a\nb.png").refusal


def test_no_picture_replaces_an_image_or_another_file(tmp_path: Path) -> None:
    paths = [tmp_path / "a.png", tmp_path / "1-a.png"]
    for path in paths:
        shutil.copy(DRAWING, path)
    refused = gluon_attn("classify", *paths, "--attention", paths[1])
    assert refused.refusal == f"{paths[1]}: is one of the images; name another file for the picture"
    refused = gluon_attn("caption", *paths, "--out", tmp_path)
    assert refused.refusal == f"{paths[1]}: exists already; name another folder for the figures"
    assert gluon_attn("caption", *paths, "--out", paths[0]).refusal.startswith(f"{paths[0]}: is a file; name a folder")
    assert not refused.out and all(path.read_bytes() == DRAWING.read_bytes() for path in paths)


def test_best_has_no_meaning_beside_json() -> None:
    refusal = gluon_attn("classify", DRAWING, "--json", "--best", 2).refusal
    assert refusal == "--json prints the probabilities of all classes; leave out --best"


def test_a_paper_without_captions_is_refused(tmp_path: Path) -> None:
    refused = gluon_attn("caption", tmp_path / "a.png", "--paper", "lin2017", "--runs", tmp_path)
    assert "its task is classification; use gluon-attn predict lin2017" in refused.refusal


def test_a_command_for_lines_names_the_one_for_images(tmp_path: Path) -> None:
    for paper, command in (("xu2015", "caption"), ("dosovitskiy2020", "classify")):
        refused = gluon_attn("predict", paper, "--runs", tmp_path)
        assert refused.refusal.endswith(f"use gluon-attn {command} IMAGE --paper {paper}")


def test_images_that_cannot_be_read_are_named_and_the_others_classified(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b" \xff.png ")
    shutil.copy(DRAWING, odd)
    (tmp_path / "damaged.png").write_bytes(DRAWING.read_bytes()[:60])
    figure = tmp_path / "drawn" / "attention.png"
    answer = gluon_attn("classify", tmp_path / "damaged.png", odd, "none.png", DRAWING, "--attention", figure)
    assert answer.code == 2 and figure.exists()
    first, second = answer.out.splitlines()
    assert first.startswith(f"{tmp_path}/ \\xff.png \t") and second.startswith(f"{DRAWING}\t")
    refused = [line for line in answer.err.splitlines() if line.startswith("gluon-attn: ")]
    assert len(refused) == 2 and "damaged.png: " in refused[0] and refused[1].startswith("gluon-attn: none.png: ")
    assert json.loads(gluon_attn("classify", odd, "--json").out)["image"] == f"{tmp_path}/ \\xff.png "


def test_the_paper_is_the_only_one_whose_networks_answer_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    assert papers.answering("caption") == ["xu2015"] and papers.answering("classify") == ["dosovitskiy2020"]
    answer = gluon_attn("caption", DRAWING)
    assert answer.code == 0 and answer.out.startswith(f"{DRAWING}\ta man")
    monkeypatch.setattr(papers, "answering", lambda command: ["xu2015", "vinyals2015"])
    refused = gluon_attn("caption", DRAWING)
    assert "xu2015, vinyals2015 caption images; choose one with --paper" in refused.refusal


def test_the_paper_of_a_given_network_is_read_from_it(tmp_path: Path) -> None:
    answer = gluon_attn("caption", DRAWING, "--model", included_models("xu2015")["soft"])
    assert answer.code == 0 and answer.out.startswith(f"{DRAWING}\ta man")
    refused = gluon_attn("caption", DRAWING, "--model", included_models("lin2017")["nsmc-r6-vectors"])
    assert "its task is classification; use gluon-attn predict lin2017" in refused.refusal
    assert "no trained network is here" in gluon_attn("classify", DRAWING, "--model", tmp_path).refusal


def test_a_picture_of_attention_is_named_png() -> None:
    refusal = gluon_attn("classify", DRAWING, "--attention", "drawn.jpg").refusal
    assert refusal == "drawn.jpg: the picture is a PNG; name a file that ends in .png"
