"""Data of one's own: what identifies them, and which variants of a paper read them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gluon_attn.errors import UsageError
from preprocessing import ptb, translation
from preprocessing.text.own_texts import own_texts
from reproductions.protocol import papers
from reproductions.protocol.own_data import DataOptions, OwnData
from reproductions.protocol.preparing import needed_networks, prepare
from reproductions.protocol.publishing import publish
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Run
from tests.reproductions.support import outcome

PARTS = {"train", "test", "pieces"}


def texts(folder: Path, content: str = "1\tgood\tgood\n") -> OwnData:
    folder.mkdir(exist_ok=True)
    for name in ("a.tsv", "b.tsv"):
        (folder / name).write_text(f"id\tdocument\tlabel\n{content}", encoding="utf-8")
    options = DataOptions(train=folder / "a.tsv", test=folder / "b.tsv")
    return OwnData(own_texts(folder / "a.tsv", folder / "b.tsv"), options)


def sentences(folder: Path, source: str = "en", target: str = "de") -> OwnData:
    for split in ("train", "validation", "test"):
        for language in ("en", "de"):
            (folder / f"{split}.{language}").write_text(f"{language} {split}\n", encoding="utf-8")
    files = translation.own_files(folder, source, target)
    return OwnData(files, DataOptions(folder=folder, source=source, target=target))


def test_the_same_bytes_are_the_same_data_wherever_they_are(tmp_path: Path) -> None:
    first, moved = texts(tmp_path / "here"), texts(tmp_path / "there")
    assert first.digest == moved.digest and hash(first) == hash(moved)
    assert first.digest != texts(tmp_path / "other", "1\tbad\tbad\n").digest
    assert sentences(tmp_path).digest != sentences(tmp_path, "de", "en").digest


def test_data_are_described_without_their_files(tmp_path: Path) -> None:
    for own in (texts(tmp_path / "texts"), sentences(tmp_path)):
        restored = OwnData.from_json(json.loads(json.dumps(own.as_json())))
        assert restored.digest == own.digest and str(tmp_path) not in json.dumps(own.as_json())


def test_runs_on_data_of_ones_own_have_a_folder_of_their_own(tmp_path: Path) -> None:
    own = texts(tmp_path / "here")
    runs = [
        Run("paper", "cpu", "a", 1, "portable", None, tmp_path, on_sample, data)
        for on_sample, data in ((False, None), (True, None), (False, own), (False, sentences(tmp_path)))
    ]
    assert len({run.root for run in runs}) == 4
    assert runs[2].arguments()[-4:] == ["--train", str(tmp_path / "here/a.tsv"), "--test", str(tmp_path / "here/b.tsv")]


def reading_text() -> list[str]:
    """The papers whose networks read labelled texts, sentence pairs or lines."""
    presets = {name: papers.load(name).preset("cpu") for name in papers.names()}
    kinds = {name: preset.task(preset.headline[0]).name for name, preset in presets.items()}
    return [name for name, kind in kinds.items() if kind in ("classification", "translation", "language modelling")]


@pytest.mark.parametrize("name", reading_text())
def test_every_classifier_and_translator_reads_them(name: str, tmp_path: Path) -> None:
    declared = papers.load(name).preset("cpu")
    task = declared.task(declared.headline[0])
    kinds = {"classification": texts(tmp_path / "texts"), "translation": sentences(tmp_path)}
    train, test = tmp_path / "texts" / "a.tsv", tmp_path / "texts" / "b.tsv"
    lines = OwnData(ptb.own_lines(train, test), DataOptions(train=train, test=test))
    own = (kinds | {"language modelling": lines})[task.name]
    preset = declared.on(own)
    assert preset.headline and set(preset.headline) <= set(preset.default) and not preset.on_sample
    assert {preset.task(variant).corpus for variant in preset.names} == {own.files.name}
    for variant in preset.variants:
        kept = declared.variant(variant.name).pretrained if preset.task(variant.name).keeps_pretrained else None
        assert variant.beside is None and variant.pretrained == kept
    corpora = {declared.task(variant).reads for variant in preset.default}
    assert corpora == {task.reads}, "by default only the systems of one corpus are compared"


def test_a_variant_that_cannot_read_them_is_unknown(tmp_path: Path) -> None:
    preset = papers.load("cheng2016").preset("cpu").on(texts(tmp_path / "texts"))
    assert {preset.task(name).name for name in preset.names} == {"classification"}
    with pytest.raises(
        UsageError,
        match="variant 'lstmn' cannot be trained on own texts, or is unknown in preset cpu; choose from",
    ):
        preset.variant("lstmn")


def test_without_the_vectors_of_another_corpus_all_start_at_random_or_none_is_left_out(tmp_path: Path) -> None:
    own = texts(tmp_path / "texts")
    naver, yang = (papers.load(name).preset("cpu") for name in ("naver_self_attention", "yang2016"))
    left_out = {variant.name for variant in naver.variants} - set(naver.on(own).names)
    assert left_out == {variant.name for variant in naver.variants if variant.pretrained}
    assert set(yang.on(own).names) == set(yang.names)


def test_a_network_that_reads_the_pieces_of_a_pretrained_one_starts_from_it(tmp_path: Path) -> None:
    """Here from the one that comes with the project."""
    own = texts(tmp_path / "texts", "".join(f"{row}\t영화 {row}\t{row % 2}\n" for row in range(40)))
    preset = papers.load("devlin2018").preset("cpu").on(own)
    assert preset.default == ("bert",) and not {"random", "random-100", "vectors-100"} & set(preset.names)
    run = Run("devlin2018", "cpu", "bert", 1, "portable", None, tmp_path / "runs", own=own)
    data, needed = prepare(run), needed_networks(run)["pretrained"]
    assert needed.variant.name == "pretraining"
    assert data.prepared.vocabulary == needed.data.prepared.vocabulary and data.corpora.keys() == PARTS
    with pytest.raises(UsageError, match="pretraining-30 with seed 1 has not been trained yet"):
        prepare(replace(run, variant="bert-30"))


def test_outcomes_on_data_of_ones_own_are_not_published(tmp_path: Path, toy: str) -> None:
    arrays = {"right": np.ones(2, bool)}
    finished = outcome(tmp_path, "curved", 1, arrays, data={"train": {"file": "a.tsv", "sha256": "a" * 64}})
    preset = papers.load(toy).preset("smoke")
    with pytest.raises(UsageError, match="results on data of your own are not published"):
        publish(toy, preset, [finished], Result("toy", "smoke", [], [], {}))
    assert not papers.results_folder(toy).exists()
