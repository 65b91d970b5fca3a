"""The trained networks that come with the repository have the published parameters and answer without a corpus."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gluon_attn.training.checkpoint import Checkpoint, parameters_sha256
from reproductions.protocol import papers
from reproductions.protocol.models import included_models
from tests.reproductions.support import DRAWING, ROOT, gluon_attn

MODELS = [(paper, directory) for paper in papers.names() for directory in included_models(paper).values()]
ANSWERS = {
    ("naver_self_attention", "as-written"): ("predict", "정말 재미있는 영화", "positive"),
    ("lin2017", "nsmc-r6-vectors"): ("predict", "정말 재미있는 영화", "positive"),
    ("bahdanau2014", "rnnsearch"): ("translate", "a dog runs", "ein hund rennt."),
    ("bahdanau2014", "rnnsearch-ko-en"): ("translate", "고양이가 자고 있어.", "a cat is sleeping."),
    ("devlin2018", "pretraining"): ("perplexity", "정말 재미있는 영화", "8.8"),
    ("devlin2018", "pretraining-continued"): ("perplexity", "정말 재미있는 영화", "6.3"),
}
CAPTIONS = {
    ("xu2015", "soft"): "a man in a blue shirt and a black shirt is playing with a white ball",
}
CLASSES = {("dosovitskiy2020", "patches"): "frog\t0.6322"}


@pytest.mark.parametrize(("paper", "directory"), MODELS, ids=lambda value: getattr(value, "name", value))
def test_an_included_network_has_the_parameters_of_its_published_outcome(paper: str, directory: Path) -> None:
    outcome = papers.results_folder(paper) / paper / "outcomes" / directory.name / "seed-1" / "outcome.json"
    published = json.loads(outcome.read_text(encoding="utf-8"))["parameters_sha256"]
    parameters = Checkpoint(directory / "checkpoint.npz").group("best")
    assert parameters_sha256(parameters) == published
    assert {array.dtype for array in parameters.values()} == {np.dtype(np.float32)}


def test_every_included_network_has_an_answer_here() -> None:
    assert set(ANSWERS) | set(CAPTIONS) | set(CLASSES) == {(paper, directory.name) for paper, directory in MODELS}


@pytest.mark.parametrize(("paper", "variant"), ANSWERS)
def test_an_included_network_answers_without_training_and_without_a_corpus(
    paper: str, variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command, text, expected = ANSWERS[paper, variant]
    answer = gluon_attn(command, paper, "--variant", variant, stdin=text.encode())
    assert answer.code == 0, answer.err
    assert answer.out.startswith(expected) and "SAMPLE" not in answer.err
    assert list(tmp_path.iterdir()) == []


def test_the_included_bert_answers_without_a_variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The classifiers of its paper answer another command. It finds a text likelier than the same words in disorder."""
    monkeypatch.chdir(tmp_path)
    answer = gluon_attn("perplexity", "devlin2018", stdin="정말 재미있는 영화\n영화 재미있는 정말\n".encode())
    assert answer.code == 0, answer.err
    in_order, in_disorder = map(float, answer.out.split())
    assert in_order < 20 < 200 < in_disorder


@pytest.mark.parametrize(("paper", "variant"), CAPTIONS)
def test_an_included_network_captions_an_image_without_a_corpus(
    paper: str, variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The image is a drawing, which the network takes for the nearest thing that it knows."""
    monkeypatch.chdir(tmp_path)
    answer = gluon_attn("caption", DRAWING, "--paper", paper, "--variant", variant, "--out", tmp_path)
    assert answer.code == 0, answer.err
    assert answer.out == f"{DRAWING}\t{CAPTIONS[paper, variant]}\n" and "SAMPLE" not in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["1-shape_00.png"]


@pytest.mark.parametrize(("paper", "variant"), CLASSES)
def test_an_included_network_classifies_an_image_without_a_corpus(
    paper: str, variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drawing is none of the classes. Without options, the included network of the only paper answers."""
    monkeypatch.chdir(tmp_path)
    figure = tmp_path / "attention.png"
    answer = gluon_attn("classify", DRAWING, "--attention", figure)
    assert answer.code == 0, answer.err
    assert answer.out == f"{DRAWING}\t{CLASSES[paper, variant]}\n" and "SAMPLE" not in answer.err
    assert gluon_attn("classify", DRAWING, "--paper", paper, "--variant", variant).out == answer.out
    assert list(tmp_path.iterdir()) == [figure]


def test_they_take_at_most_115_megabytes() -> None:
    """60 MB for texts and translations, 15 for networks that caption and classify images, 20 for each of two pretrained
    BERTs, whose training repeats on no other machine."""
    folder = ROOT / "reproductions" / "models"
    assert sum(path.stat().st_size for path in folder.rglob("*.*")) < 115_000_000
    assert all(path.stat().st_size < 20_000_000 for path in (folder / "devlin2018").glob("*/checkpoint.npz"))
