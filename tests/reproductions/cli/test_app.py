"""Every command of the command line on the embedded sample, from a stranger's first look to what goes wrong."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from preprocessing.corpora.locate import SAMPLE_ROOT
from reproductions.protocol.papers import preset
from reproductions.protocol.report import results_path
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Unit
from tests.reproductions.support import PAPER, ROOT, Answer, gluon_attn

LOUD = "MEAN NOTHING ***"


def on_smoke(command: str, runs: Path, *more: object, stdin: bytes = b"") -> Answer:
    return gluon_attn(command, PAPER, "--preset", "smoke", "--runs", runs, *more, stdin=stdin)


def unit(runs: Path, variant: str, preset_name: str = "smoke", *, on_sample: bool = False) -> Unit:
    return Unit(PAPER, preset_name, variant, 1, "portable", None, runs, on_sample)


def files(folder: Path) -> dict[str, tuple[str, int]]:
    """Hash and time of last change of every file below a folder; locks hold nothing."""
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


@pytest.fixture(scope="module", autouse=True)
def no_corpora(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For the fixtures of this module what the fixtures of conftest are for its tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GLUON_ATTN_DATA", raising=False)
        patch.setenv("GLUON_ATTN_CACHE", str(tmp_path_factory.mktemp("module-cache")))
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    """Two variants with one seed, trained side by side: the folder of the runs, and what the command said."""
    runs = tmp_path_factory.mktemp("runs")
    return runs, on_smoke("run", runs, "--variant", "as-written", "--variant", "mean", "--jobs", 2)


# --- a first look ---


@pytest.mark.parametrize(
    "command", ["run", "reproduce", "compare", "verify", "report", "predict", "preprocess", "rebuild"]
)
def test_each_command_explains_itself(command: str) -> None:
    answer = gluon_attn(command, "--help")
    assert answer.code == 0
    assert f"{command} [OPTIONS]" in answer.out


def test_the_first_page_names_every_command_but_the_inner_one() -> None:
    answer = gluon_attn("--help")
    assert answer.code == 0
    for command in (
        "list",
        "run",
        "reproduce",
        "compare",
        "verify",
        "report",
        "predict",
        "preprocess",
        "rebuild",
        "doctor",
    ):
        assert f" {command} " in answer.out
    assert "train-unit" not in answer.out


def test_list_shows_papers_presets_and_variants() -> None:
    answer = gluon_attn("list")
    assert answer.code == 0
    assert answer.out.startswith(f"{PAPER}  Self-attention")
    assert "preset smoke: corpus sample, seeds 1, results committed" in answer.out
    for variant in preset(PAPER, "cpu").variants:
        assert f"{variant.name}: {variant.title}" in answer.out


# --- run ---


def test_run_writes_results_figures_and_page(trained: tuple[Path, Answer]) -> None:
    runs, answer = trained
    assert answer.code == 0, answer.err
    place = unit(runs, "mean").place
    result = Result.read(place / "results.json")
    assert [row.variant for row in result.rows] == ["as-written"] * 3 + ["mean"] * 3
    assert list(result.manifest["parameters_sha256"]) == ["as-written/1", "mean/1"]
    command = f"gluon-attn run {PAPER} --preset smoke --variant as-written --variant mean --jobs 2"
    assert result.manifest["command"] == command  # no path of this machine
    named = dict(line.split(": ", 1) for line in answer.out.splitlines() if ": /" in line)
    assert set(named) == {"results", "figure, training curves", "figure, attention of as-written", "reading page"}
    assert all(Path(path).stat().st_size > 1_000 for path in named.values())


def test_each_run_directory_holds_what_a_stranger_looks_for(trained: tuple[Path, Answer]) -> None:
    directory = unit(trained[0], "mean").directory
    assert {path.name for path in directory.iterdir()} == {
        "checkpoint.npz",
        "config.json",
        "metrics.csv",
        "metrics.jsonl",
        "outcome.json",
        "predictions.npz",
    }
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    variant = preset(PAPER, "smoke").variant("mean")
    assert config["settings"] == dict(variant.settings)
    assert config["recipe"]["learning_rate"] == variant.recipe.learning_rate
    assert len((directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()) == variant.recipe.epochs


def test_what_ran_on_the_sample_says_so_everywhere(trained: tuple[Path, Answer]) -> None:
    runs, answer = trained
    assert LOUD in answer.out
    assert "SAMPLE" in answer.out
    place = unit(runs, "mean").place
    raw = json.loads((place / "results.json").read_text(encoding="utf-8"))
    for row in raw["rows"]:
        assert (row["corpus"], row["comparable"]) == ("sample", False)
        assert "SAMPLE" in row["differs"]
    assert "sample" in (place / "reviews.html").read_text(encoding="utf-8")


def test_the_trained_parameters_are_the_committed_ones(trained: tuple[Path, Answer]) -> None:
    committed = Result.read(results_path(PAPER, "smoke")).manifest["parameters_sha256"]
    found = Result.read(unit(trained[0], "mean").place / "results.json").manifest["parameters_sha256"]
    assert found == {name: committed[name] for name in found}


def test_a_second_run_is_refused_and_nothing_is_lost(trained: tuple[Path, Answer]) -> None:
    runs, _ = trained
    before = files(runs)
    refusal = on_smoke("run", runs, "--variant", "mean", "--variant", "last").refusal
    assert str(unit(runs, "mean").directory) in refusal
    assert "--resume" in refusal and "--overwrite" in refusal
    assert files(runs) == before  # nor was the other variant trained


def test_resume_leaves_finished_trainings_alone(trained: tuple[Path, Answer]) -> None:
    runs, first = trained
    directory = unit(runs, "mean").directory
    before = files(directory)
    answer = on_smoke("run", runs, "--variant", "mean", "--resume")
    assert answer.code == 0, answer.err
    after = files(directory)
    assert {name: entry for name, entry in after.items() if name != "config.json"} == {
        name: entry for name, entry in before.items() if name != "config.json"
    }
    assert after["config.json"][0] == before["config.json"][0]
    row = next(line for line in answer.out.splitlines() if line.startswith("│ mean"))
    assert row.split("│")[2] in next(line for line in first.out.splitlines() if line.startswith("│ mean"))


def test_overwrite_replaces_and_gives_the_same_bytes(trained: tuple[Path, Answer], tmp_path: Path) -> None:
    shutil.copytree(trained[0] / PAPER, tmp_path / PAPER)
    directory = unit(tmp_path, "mean").directory
    (directory / "outcome.json").write_text("{}", encoding="utf-8")
    (directory / "stale").touch()
    answer = on_smoke("run", tmp_path, "--variant", "mean", "--overwrite")
    assert answer.code == 0, answer.err
    assert not (directory / "stale").exists()
    hashes = [
        json.loads((unit(runs, "mean").directory / "outcome.json").read_text(encoding="utf-8"))["parameters_sha256"]
        for runs in (tmp_path, trained[0])
    ]
    assert hashes[0] == hashes[1]


def test_resume_and_overwrite_contradict_each_other(trained: tuple[Path, Answer]) -> None:
    before = files(trained[0])
    assert "choose one" in on_smoke("run", trained[0], "--variant", "mean", "--resume", "--overwrite").refusal
    assert files(trained[0]) == before


def test_a_run_with_other_settings_is_not_resumed(trained: tuple[Path, Answer], tmp_path: Path) -> None:
    source, target = unit(trained[0], "mean").directory, unit(tmp_path, "mean").directory
    shutil.copytree(source, target)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config["settings"]["units"] += 1
    (target / "config.json").write_text(json.dumps(config), encoding="utf-8")
    before = files(target)
    refusal = on_smoke("run", tmp_path, "--variant", "mean", "--resume", "--jobs", 2).refusal
    assert "mean seed 1" in refusal
    assert "differs in settings" in refusal
    assert files(target) == before


def test_reproduce_goes_on_and_ends_with_table_figure_and_page(trained: tuple[Path, Answer]) -> None:
    runs, _ = trained
    before = files(unit(runs, "as-written").directory)
    answer = on_smoke("reproduce", runs)
    assert answer.code == 0, answer.err
    after = files(unit(runs, "as-written").directory)
    assert after["outcome.json"] == before["outcome.json"]
    for heading in ("variant", "ours", "reported", "differs"):
        assert heading in answer.out
    for variant in preset(PAPER, "smoke").headline:
        assert f"│ {variant} " in answer.out
    named = dict(line.split(": ", 1) for line in answer.out.splitlines() if ": /" in line)
    assert named["reading page"].endswith("reviews.html")
    assert any(name.startswith("figure") for name in named)
    assert all(Path(path).is_file() for path in named.values())
    assert answer.out.splitlines()[-1].endswith(LOUD)


# --- without the corpus, and with a damaged one ---


def test_without_the_corpus_the_sample_is_read_and_everything_says_so(tmp_path: Path) -> None:
    answer = gluon_attn(
        "run", PAPER, "--preset", "cpu", "--variant", "mean", "--seed", 1, "--seed", 1, "--runs", tmp_path
    )
    assert answer.code == 0, answer.err
    assert "corpus nsmc is missing" in answer.err
    assert "*** NO nsmc: THE EMBEDDED SAMPLE IS READ" in answer.err
    assert LOUD in answer.out
    assert not unit(tmp_path, "mean", "cpu").place.exists()  # where a run on the corpus would go
    ran = unit(tmp_path, "mean", "cpu", on_sample=True)
    result = Result.read(ran.place / "results.json")
    assert len(result.rows) == 3
    for row in result.rows:
        assert (row.corpus, row.comparable) == ("sample", False)
        assert "SAMPLE" in row.differs
    said = gluon_attn("predict", PAPER, "--variant", "mean", "--runs", tmp_path, stdin="재미있다\n".encode())
    assert (said.code, said.out.count("\n")) == (0, 1)
    assert "TRAINED ON THE EMBEDDED SAMPLE" in said.err


def test_what_ran_on_the_sample_is_not_published(tmp_path: Path) -> None:
    answer = gluon_attn("run", PAPER, "--preset", "cpu", "--runs", tmp_path, "--publish")
    assert answer.code == 2
    assert "not published" in answer.err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["run", "reproduce"])
def test_a_damaged_corpus_is_refused_and_not_replaced_by_the_sample(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nsmc").mkdir()
    for name in ("ratings_train.txt", "ratings_test.txt"):
        shutil.copy(SAMPLE_ROOT / "reviews" / name, tmp_path / "nsmc" / name)
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    refusal = gluon_attn(command, PAPER, "--preset", "cpu", "--runs", tmp_path / "runs").refusal
    assert str(tmp_path / "nsmc" / "ratings_train.txt") in refusal
    assert "SHA-256" in refusal and "delete it and fetch it again" in refusal
    assert not (tmp_path / "runs").exists()


# --- compare ---


def test_compare_shows_the_committed_table_and_the_claims() -> None:
    answer = gluon_attn("compare", PAPER, "--preset", "smoke")
    assert answer.code == 0
    for variant in Result.read(results_path(PAPER, "smoke")).rows:
        assert f"│ {variant.variant} " in answer.out
    assert "verdict" in answer.out
    assert answer.out.rstrip().endswith(LOUD)


def test_compare_shows_the_results_of_a_run(trained: tuple[Path, Answer]) -> None:
    answer = gluon_attn("compare", PAPER, "--results", unit(trained[0], "mean").place / "results.json")
    assert answer.code == 0, answer.err
    assert "│ mean " in answer.out


@pytest.mark.parametrize(
    "content",
    ["", "{", "null", "[]", '"rows"', '{"rows": []}', '{"rows": [{"variant": "x"}], "claims": []}', "\ufeff{}"],
)
def test_a_damaged_results_file_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(content, encoding="utf-8")
    assert str(path) in gluon_attn("compare", PAPER, "--results", path).refusal


def test_missing_results_are_refused(tmp_path: Path) -> None:
    assert "no results here" in gluon_attn("compare", PAPER, "--results", tmp_path / "results.json").refusal


# --- predict ---


def predict(trained: tuple[Path, Answer], text: bytes | str, *more: object, variant: str = "as-written") -> Answer:
    stdin = text.encode() if isinstance(text, str) else text
    return on_smoke("predict", trained[0], "--variant", variant, *more, stdin=stdin)


def test_predict_gives_a_line_for_each_line(trained: tuple[Path, Answer]) -> None:
    answer = predict(trained, "재미있다\n\n   \n정말 최악의 영화\r\n끝이 없다")
    assert answer.code == 0, answer.err
    lines = answer.out.split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, True, False]
    for line in filter(None, lines):
        label, probability = line.split("\t")
        assert label in ("negative", "positive")
        assert 0.5 <= float(probability) <= 1  # that of the label, whichever it is
    assert "MEAN NOTHING" in answer.err


def test_predict_shows_the_weight_of_each_token(trained: tuple[Path, Answer]) -> None:
    answer = predict(trained, "정말 최악의 영화 :)\n", "--weights")
    assert answer.code == 0, answer.err
    pairs = [pair.rsplit(":", 1) for pair in answer.out.rstrip("\n").split("\t")[2].split(" ")]
    assert "".join(token for token, _ in pairs) == "정말최악의영화:)"
    assert all(0 < float(weight) < 1 for _, weight in pairs)


def test_predict_with_nothing_to_read_says_nothing(trained: tuple[Path, Answer]) -> None:
    answer = predict(trained, b"")
    assert (answer.code, answer.out) == (0, "")


def test_predict_reads_the_beginning_of_a_very_long_line_and_says_so(trained: tuple[Path, Answer]) -> None:
    text = "재미있는 영화 " * 20_000
    answer = predict(trained, f"{text}\n{text[:200]}\n", "--weights")
    assert answer.code == 0
    long, cut = answer.out.splitlines()
    assert long == cut
    assert "line 1: 60000 tokens, the first 30 are read" in answer.err


def test_predict_ignores_a_byte_order_mark_and_reads_what_has_no_token(trained: tuple[Path, Answer]) -> None:
    with_mark, without, no_token = (
        predict(trained, text, "--weights") for text in ("\ufeff재미있다\n", "재미있다\n", b"\0\n")
    )
    assert with_mark.out == without.out
    assert no_token.code == 0
    assert no_token.out.endswith("\t\n")


def test_predict_refuses_what_is_not_utf8(trained: tuple[Path, Answer]) -> None:
    answer = predict(trained, "재미\n".encode() + "재미\n".encode("euc-kr"))
    assert answer.code == 2
    assert answer.out.count("\n") == 1
    assert answer.err.splitlines()[-1].startswith("gluon-attn: standard input, line 2: not UTF-8")


def test_predict_refuses_weights_of_a_network_that_has_none(trained: tuple[Path, Answer]) -> None:
    assert "mean has no attention" in predict(trained, "재미\n", "--weights", variant="mean").refusal


def test_predict_says_how_to_train_what_is_not_trained(trained: tuple[Path, Answer]) -> None:
    refusal = predict(trained, "재미\n", variant="dot").refusal
    assert "dot with seed 1 is not trained" in refusal
    assert f"gluon-attn run {PAPER} --preset smoke --variant dot --seed 1" in refusal


def test_predict_writes_hangul_to_a_terminal_of_another_encoding(trained: tuple[Path, Answer]) -> None:
    command = [sys.executable, "-m", "reproductions", "predict", PAPER, "--preset", "smoke", "--runs", str(trained[0])]
    done = subprocess.run(
        [*command, "--weights"],
        cwd=ROOT,
        input="재미\U0001f600\n".encode(),
        env={**os.environ, "PYTHONIOENCODING": "euc-kr"},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert "재미" in done.stdout.decode("euc-kr")
    assert "\\U0001f600" in done.stdout.decode("euc-kr")


# --- preprocess, rebuild ---


def test_preprocess_writes_arrays_tables_vocabulary_and_card(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["preprocess", "naver", "--sample", "--tokenizer", "mecab", "--out", out]
    answer = gluon_attn(*options)
    assert answer.code == 0, answer.err
    wanted = {f"{split}.{kind}" for split in ("train", "validation", "test") for kind in ("npz", "tsv")}
    assert {path.name for path in out.iterdir()} == wanted | {"vocab.json", "card.json", "card.html"}
    digest = json.loads((out / "card.json").read_text(encoding="utf-8"))["digest"]
    assert f"digest {digest}" in answer.out
    assert f"read {out / 'card.html'}" in answer.out
    with np.load(out / "test.npz") as arrays:
        assert f"test: {len(arrays['label'])} reviews, {len(arrays['ids'])} tokens" in answer.out

    before = files(out)
    assert "the directory is not empty" in gluon_attn(*options).refusal
    assert files(out) == before
    again = gluon_attn(*options, "--overwrite", "--processes", 1)
    assert again.code == 0
    assert {name: digest for name, (digest, _) in files(out).items()} == {
        n: digest for n, (digest, _) in before.items()
    }


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("naver",), "corpus nsmc is missing"),
        (
            ("imdb", "--sample"),
            "corpus 'imdb' has no pipeline; choose naver, naver-crawl, documents, sentences, ptb or",
        ),
        (("naver-crawl",), "corpus nsmc-raw is missing"),
        (("naver-crawl", "--sample", "--one-in", 2), "one_in 2: must be at least 3"),
        (("naver-crawl", "--sample", "--one-in", 1000), "step hold-out: of 344 reviews none is left for"),
        (("documents",), "corpus imdb is missing"),
        (("documents", "--sample", "--max-words", 0), "max_words 0: must be at least 1"),
        (("documents", "--sample", "--overlong", "drop"), "overlong 'drop': no such choice; choose cut or wrap"),
        (("documents", "--folder", "absent"), "absent: no such file"),
        (("sentences",), "corpus sst-2 is missing"),
        (("sentences", "--corpus", "mr"), "corpus 'mr' is unknown; choose sst-2 or sst-5"),
        (("ptb",), "corpus ptb is missing"),
        (("naver", "--sample", "--tokenizer", "space"), "tokenizer space: no such tokenizer"),
        (("naver", "--sample", "--max-length", 0), "max_length 0: must be at least 1"),
        (("naver", "--sample", "--text", "true"), "text 'true': no such variant"),
        (("translation",), "corpus multi30k en-de is missing"),
        (("translation", "--corpus", "wmt14"), "corpus 'wmt14': has no translation pipeline"),
        (("translation", "--sample", "--case", "upper"), "case 'upper' is unknown; choose lower, true, keep"),
        (("translation", "--sample", "--tokens", "letters"), "tokens 'letters': no such choice"),
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


@pytest.mark.parametrize("tokens", ["words", "bpe", "sentencepiece"])
def test_preprocess_writes_parallel_text(tokens: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["preprocess", "translation", "--sample", "--source", "en", "--target", "de", "--tokens", tokens]
    options += ["--operations", 200, "--pieces", 300, "--max-length", 0, "--max-ratio", 0, "--out", out]
    answer = gluon_attn(*options)
    assert answer.code == 0, answer.err
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))
    assert f"digest {card['digest']}" in answer.out and f"read {out / 'card.html'}" in answer.out
    assert "*** The corpus has no text in de; its text in fr is used instead. ***" in answer.out
    with np.load(out / "test.npz") as arrays:
        counts = [len(arrays[f"{side}_ids"]) for side in ("source", "target")]
        assert f"test: 30 pairs, {counts[0]} and {counts[1]} tokens" in answer.out
    assert len((out / "train.tsv").read_text(encoding="utf-8").splitlines()) == 241
    before = files(out)
    assert "the directory is not empty" in gluon_attn(*options).refusal
    again = gluon_attn(*options, "--overwrite", "--processes", 1)
    assert again.code == 0
    assert {name: digest for name, (digest, _) in files(out).items()} == {
        n: digest for n, (digest, _) in before.items()
    }


def test_preprocess_reads_ones_own_parallel_files_and_names_their_faults(tmp_path: Path) -> None:
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


def test_rebuild_refuses_a_path_that_leads_nowhere(tmp_path: Path) -> None:
    options = ("--raw", tmp_path / "raw.tar.xz", "--out", tmp_path / "out")
    assert f"{tmp_path / 'raw.tar.xz'}: no such file" in gluon_attn("rebuild", "naver", *options).refusal
    assert "choose naver" in gluon_attn("rebuild", "imdb", *options).refusal
    assert list(tmp_path.iterdir()) == []


# --- what is unknown ---


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("run", "bahdanau"), "paper 'bahdanau' is unknown; choose from naver_self_attention"),
        (("compare", "bahdanau"), "paper 'bahdanau' is unknown"),
        (("predict", "bahdanau"), "paper 'bahdanau' is unknown"),
        (
            ("run", PAPER, "--preset", "gpu"),
            "preset 'gpu' is unknown for naver_self_attention; choose from smoke, cpu, paper",
        ),
        (("compare", PAPER, "--preset", "gpu"), "preset 'gpu' is unknown"),
        (("verify", PAPER, "--preset", "gpu"), "preset 'gpu' is unknown"),
        (("run", PAPER, "--preset", "smoke", "--variant", "hard"), "variant 'hard' is unknown in preset smoke; choose"),
        (("verify", PAPER, "--preset", "smoke", "--variant", "hard"), "variant 'hard' is unknown"),
        (("predict", PAPER, "--variant", "hard"), "variant 'hard' is unknown"),
        (
            ("run", PAPER, "--preset", "smoke", "--profile", "slow"),
            "profile 'slow' is unknown; choose one of portable, fast",
        ),
        (("run", PAPER, "--preset", "smoke", "--threads", 2), "the portable profile runs on one thread, not 2"),
        (("verify", PAPER, "--preset", "smoke", "--profile", "fast", "--threads", 0), "0 threads cannot run"),
    ],
)
def test_what_is_unknown_is_refused_in_one_line(tmp_path: Path, arguments: tuple[object, ...], reason: str) -> None:
    runs = ("--runs", tmp_path / "runs") if arguments[0] in ("run", "predict") else ()
    assert reason in gluon_attn(*arguments, *runs).refusal
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("arguments", [("--jobs", 0), ("--jobs", "many"), ("--seed", "one"), ("--colour",)])
def test_an_option_that_makes_no_sense_is_refused(tmp_path: Path, arguments: tuple[object, ...]) -> None:
    answer = on_smoke("run", tmp_path, *arguments)
    assert answer.code == 2
    assert str(arguments[0]) in answer.err
    assert "Traceback" not in answer.err


def test_the_exit_status_of_a_real_process_is_2_and_there_is_no_traceback() -> None:
    command = [sys.executable, "-m", "reproductions", "run", PAPER, "--profile", "slow"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gluon-attn: profile 'slow' is unknown; choose one of portable, fast\n"


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refusal = on_smoke("run", tmp_path / "file", "--variant", "mean", "--jobs", 2).refusal
    assert str(tmp_path / "file") in refusal
