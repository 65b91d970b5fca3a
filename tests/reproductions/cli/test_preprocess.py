"""Preprocessed corpora as files, and the rebuilt NSMC."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from preprocessing import naver
from tests.reproductions.cli.project import files, hashes
from tests.reproductions.support import gluon_attn


def test_preprocess_writes_arrays_tables_vocabulary_and_card(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["preprocess", "naver", "--sample", "--tokenizer", "mecab", "--out", out]
    answer = gluon_attn(*options)
    assert answer.code == 0, answer.err
    wanted = {f"{split}.{kind}" for split in ("train", "validation", "test") for kind in ("npz", "tsv")}
    assert {path.name for path in out.iterdir()} == wanted | {"vocab.json", "card.json", "card.html"}
    digest = json.loads((out / "card.json").read_text(encoding="utf-8"))["digest"]
    assert f"digest {digest}" in answer.out
    assert f"see {out / 'card.html'}" in answer.out
    with np.load(out / "test.npz") as arrays:
        assert f"test: {len(arrays['label'])} reviews, {len(arrays['ids'])} tokens" in answer.out

    before = files(out)
    assert "the directory is not empty" in gluon_attn(*options).refusal
    assert files(out) == before
    again = gluon_attn(*options, "--overwrite", "--processes", 1)
    assert again.code == 0
    assert hashes(out) == {name: digest for name, (digest, _) in before.items()}


def test_choices_that_descriptions_leave_open_are_options(tmp_path: Path) -> None:
    choices: dict[str, Any] = {
        "stop_words": "wikidocs-mecab",
        "keep": "last",
        "copies": "of-test",
        "validation": "tail",
    }
    cleaning = ("repetitions", "hangul-only")
    options = [part for name, value in choices.items() for part in (f"--{name.replace('_', '-')}", value)]
    options += [part for rule in cleaning for part in ("--clean", rule)]
    sizes = ("--max-length", 20, "--max-size", 300)
    answer = gluon_attn("preprocess", "naver", "--sample", *options, *sizes, "--out", tmp_path / "out")
    wanted = naver.prepare("sample", clean=cleaning, max_length=20, max_size=300, **choices)
    assert f"digest {wanted.digest}\n" in answer.out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("naver",), "corpus nsmc is missing"),
        (
            ("imdb", "--sample"),
            "corpus 'imdb' has no pipeline; choose naver, naver-crawl, naver-pretraining, documents, sentences, ptb",
        ),
        (("naver-crawl",), "corpus nsmc-raw is missing"),
        (("naver-crawl", "--sample", "--one-in", 2), "--one-in 2: must be at least 3"),
        (("naver-crawl", "--sample", "--one-in", 1000), "step hold-out: of 344 reviews none is left for"),
        (("documents",), "corpus imdb is missing"),
        (("documents", "--sample", "--max-words", 0), "--max-words 0: must be at least 1"),
        (("documents", "--sample", "--overlong", "drop"), "--overlong 'drop': no such choice; choose cut or wrap"),
        (("documents", "--folder", "absent"), "absent: no such file"),
        (("sentences",), "corpus sst-2 is missing"),
        (("sentences", "--corpus", "mr"), "--corpus 'mr': no such choice; choose sst-2 or sst-5"),
        (("ptb",), "corpus ptb is missing"),
        (("cifar10",), "corpus cifar10 is missing"),
        (("cifar10", "--sample", "--size", 0), "--size 0: must be at least 1"),
        (("cifar10", "--folder", "absent"), "absent: no such file"),
        (("naver", "--sample", "--tokenizer", "space"), "--tokenizer 'space': no such choice; choose mecab, okt, "),
        (("naver", "--sample", "--max-length", 0), "--max-length 0: must be at least 1"),
        (("naver", "--sample", "--max-length", 10**20), "--max-length 100000000000000000000: must be a number up to"),
        (("translation", "--sample", "--max-ratio", "nan"), "--max-ratio nan: must be at least 1"),
        (("translation", "--sample", "--max-ratio", "inf"), "--max-ratio inf: must be a number up to 2147483647"),
        (("naver", "--sample", "--text", "true"), "--text 'true': no such choice; choose official or repaired"),
        (("naver", "--folder", "own", "--validation", "tail"), "--validation applies to NSMC only; with --folder, add"),
        (("naver", "--folder", "own", "--text", "repaired"), "--text repaired undoes the quoting of NSMC's official"),
        (("translation",), "corpus multi30k en-de is missing"),
        (("translation", "--corpus", "wmt14"), "--corpus 'wmt14': has no translation pipeline"),
        (("translation", "--sample", "--case", "upper"), "--case 'upper': no such choice; choose lower, true or keep"),
        (
            ("translation", "--sample", "--tokens", "letters"),
            "--tokens 'letters': no such choice; choose words, bpe",
        ),
        (("translation", "--sample", "--empty", "keep"), "--empty 'keep': no such choice; choose refuse or drop"),
        (("translation", "--sample", "--extra", "news"), "--extra 'news': is not in corpus sample"),
        (
            ("driving", "--sample", "--target", "radians"),
            "--target 'radians': no such choice; choose degrees or",
        ),
        (("driving", "--sample", "--gaps", "close"), "--gaps 'close': no such choice; choose refuse or divide"),
        (("driving", "--sample", "--slip", 1), "--target 'degrees': does not use wheel base"),
        (("flickr8k", "--corpus", "flickr"), "--corpus 'flickr': no such choice; choose flickr8k, flickr30k or coco"),
        (("translation", "--sample", "--case", "true", "--tokens", "sentencepiece"), "truecase: needs words"),
        (("translation", "--folder", "absent"), "--folder needs --source and --target"),
        (("translation", "--folder", "absent", "--source", "en", "--target", "de"), "absent/train.en: no such file"),
    ],
)
def test_preprocess_refuses_and_writes_nothing(tmp_path: Path, options: tuple[object, ...], reason: str) -> None:
    assert reason in gluon_attn("preprocess", *options, "--out", tmp_path / "out").refusal
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        (("naver-crawl", "--one-in", 10), "test: 32 reviews, {} tokens"),
        (("documents", "--max-words", 20), "test: 16 documents, {} words"),
        (("sentences", "--corpus", "sst-5"), "test: 15 sentences, {} tokens"),
        (("ptb",), "test: 10 lines, {} words and line ends"),
    ],
)
def test_preprocess_writes_text_of_each_kind(options: tuple[object, ...], counted: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = gluon_attn("preprocess", *options, "--sample", "--out", out)
    assert answer.code == 0, answer.err
    assert json.loads((out / "card.json").read_text(encoding="utf-8"))["sample"] is True
    with np.load(out / "test.npz") as arrays:
        assert counted.format(len(arrays["ids"])) in answer.out
        assert ("sentence_offsets" in arrays) == (options[0] == "documents")
    assert "the directory is not empty" in gluon_attn("preprocess", *options, "--sample", "--out", out).refusal


def test_preprocess_writes_images(tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = gluon_attn("preprocess", "cifar10", "--sample", "--out", out)
    assert answer.code == 0, answer.err
    assert "test: 40 images" in answer.out and "read from one file per image" in answer.out
    with np.load(out / "test.npz") as arrays:
        assert arrays["pixels"].shape == (40, 32, 32, 3)
    assert "the directory is not empty" in gluon_attn("preprocess", "cifar10", "--sample", "--out", out).refusal


@pytest.mark.parametrize(
    ("tokens", "size"), [("words", ()), ("bpe", ("--operations", 200)), ("sentencepiece", ("--pieces", 300))]
)
def test_preprocess_writes_parallel_text(tokens: str, size: tuple[Any, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["preprocess", "translation", "--sample", "--source", "en", "--target", "de", "--tokens", tokens, *size]
    options += ["--max-length", 0, "--max-ratio", 0, "--out", out]
    answer = gluon_attn(*options)
    assert answer.code == 0, answer.err
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))
    assert f"digest {card['digest']}" in answer.out and f"see {out / 'card.html'}" in answer.out
    assert "*** The corpus has no text in de; its text in fr is used instead. ***" in answer.out
    with np.load(out / "test.npz") as arrays:
        counts = [len(arrays[f"{side}_ids"]) for side in ("source", "target")]
        assert f"test: 30 pairs, {counts[0]} and {counts[1]} tokens" in answer.out
    assert len((out / "train.tsv").read_text(encoding="utf-8").splitlines()) == 241
    before = files(out)
    assert "the directory is not empty" in gluon_attn(*options).refusal
    again = gluon_attn(*options, "--overwrite", "--processes", 1)
    assert again.code == 0
    assert hashes(out) == {name: digest for name, (digest, _) in before.items()}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("translation --operations 200", "--operations has no effect with --tokens words; leave it out, or choose bpe"),
        (
            "translation --tokens bpe --pieces 9",
            "--pieces has no effect with --tokens bpe; leave it out, or choose sentencepiece",
        ),
        (
            "naver --keep last",
            "--keep last has no effect without --max-length; leave it out, or give --max-length",
        ),
        (
            "documents --overlong wrap",
            "--overlong wrap has no effect without --max-words; leave it out, or give --max-words",
        ),
        ("driving --test-only --gap 1", "--gap has no effect with --test-only; leave one of them out"),
        ("driving --test-only --block 9", "--block has no effect with --test-only; leave one of them out"),
    ],
)
def test_options_without_an_effect_are_refused(options: str, reason: str, tmp_path: Path) -> None:
    assert gluon_attn("preprocess", *options.split(), "--sample", "--out", tmp_path).refusal == reason


def test_preprocess_reads_your_own_parallel_files_and_names_their_faults(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for split in ("train", "validation", "test"):
        (mine / f"{split}.en").write_text("a dog runs\na cat sleeps\n", encoding="utf-8")
        (mine / f"{split}.ko").write_text("개가 달린다\n고양이가 잔다\n", encoding="utf-8")
    options = ["preprocess", "translation", "--folder", mine, "--source", "ko", "--target", "en", "--min-freq", 1]
    answer = gluon_attn(*options, "--out", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "train: 2 pairs, 6 and 6 tokens" in answer.out
    (mine / "test.ko").write_text("개가 달린다\n\n", encoding="utf-8")
    refusal = gluon_attn(*options, "--out", tmp_path / "other").refusal
    assert f"{mine / 'test.ko'}, line 2: the ko side is empty" in refusal
    assert not (tmp_path / "other").exists()
    dropped = gluon_attn(*options, "--empty", "drop", "--out", tmp_path / "other")
    assert dropped.code == 0 and "test: 1 pairs" in dropped.out


def test_rebuild_refuses_a_missing_path(tmp_path: Path) -> None:
    options = ("--raw", tmp_path / "raw.tar.xz", "--out", tmp_path / "out")
    assert f"{tmp_path / 'raw.tar.xz'}: no such file" in gluon_attn("rebuild", "naver", *options).refusal
    assert "choose naver" in gluon_attn("rebuild", "imdb", *options).refusal
    assert list(tmp_path.iterdir()) == []
