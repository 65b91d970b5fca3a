"""Help, lists and names: what the command line prints without a trained network."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from gluon_attn import __version__
from reproductions.cli.results import _minutes
from reproductions.protocol import papers
from reproductions.protocol.models import included_models
from reproductions.protocol.results import Result
from tests.reproductions.cli.project import Project
from tests.reproductions.support import ROOT, gluon_attn
from tests.reproductions.toy import REPRODUCTION


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_the_help_lists_commands_but_not_the_inner_ones(flag: str) -> None:
    answer = gluon_attn(flag)
    assert answer.code == 0 and " reproduce " in answer.out and "-run " not in answer.out


def test_list_shows_each_paper_on_a_line() -> None:
    lines = gluon_attn("list").out.splitlines()
    assert [line.split()[0] for line in lines] == list(papers.names())
    for line in lines:
        name, title = line.split(maxsplit=1)
        assert title.endswith(" [network included]") == bool(included_models(name))
        title = title.removesuffix(" [network included]")
        assert title.removesuffix(" (no results yet)") == papers.load(name).title
        assert title.endswith("(no results yet)") != papers.results_path(name, "cpu").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [("list", 0), ("--help", 0), ("--version", 0), ("run --help", 0), ("run lin2017 --sede 1", 2)],
)
def test_what_needs_no_network_does_not_import_mxnet(arguments: str, code: int) -> None:
    program = (
        "import sys; from reproductions.cli.app import main\n"
        f"sys.argv = ['gluon-attn', *{arguments.split()!r}]\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code or 0)\n"
        "print(sorted({'mxnet', 'numpy', 'urllib.request', 'matplotlib', 'gluonnlp'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-2:] == [str(code), "[]"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("trian", "no such command 'trian'; see gluon-attn --help"),
        ("run", "missing argument 'paper'; see gluon-attn run --help"),
        ("run lin2017 --bare", "no such option: --bare.*; see gluon-attn run --help"),
        ("run lin2017 --jobs 0", "invalid value for '--jobs': .+; see gluon-attn run --help"),
        ("preprocess naver", "missing option '--out'; see gluon-attn preprocess naver --help"),
        ("run lin2017 --preset", "option '--preset' requires an argument"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(arguments: str, line: str) -> None:
    answer = gluon_attn(*arguments.split())
    assert re.fullmatch(line, answer.refusal), answer
    assert not answer.out


@pytest.mark.parametrize("arguments", ["", "preprocess"])
def test_a_call_without_a_command_prints_the_help(arguments: str) -> None:
    answer = gluon_attn(*arguments.split())
    assert answer.code == 2 and "Usage: gluon-attn" in answer.out and not answer.err.strip()


def test_the_version_is_printed() -> None:
    assert gluon_attn("--version").out == f"gluon-attn {__version__}\n"


def test_completion_knows_the_commands() -> None:
    words = {"_GLUON_ATTN_COMPLETE": "complete_bash", "COMP_WORDS": "gluon-attn tra", "COMP_CWORD": "1"}
    program = "from reproductions.cli.app import app; app(prog_name='gluon-attn', args=[])"
    variables = {**os.environ, **words}
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=variables, capture_output=True, text=True)
    assert ended.stdout.split() == ["translate"]


def test_list_shows_one_paper_by_name_or_path(project: Project) -> None:
    listed = [
        (variant.name, variant.title, " [headline]" * (variant.name in REPRODUCTION.headline))
        for variant in REPRODUCTION.variants
    ]
    assert gluon_attn("list", project.script).out.splitlines() == [
        f"{project.script}  Quadrants: the hidden layer",
        "  Someone (1969)",
        "  preset smoke: corpus sample, seeds 1, no results yet",
        *(variants := [f"    {name}: {title}{headline}" for name, title, headline in listed]),
        "  preset cpu: corpus nsmc, seeds 1, 2, no results yet",
        *variants,
        "  preset paper: corpus nsmc, seeds 3, no results yet",
        "    curved: with a hidden layer [headline]",
    ]
    answer = gluon_attn("list", "cho2014")
    assert answer.out.startswith("cho2014  RNN encoder-decoder") and "bahdanau2014" not in answer.out
    assert "preset cpu: corpus multi30k en-fr, seeds 1, 2, results of " in answer.out
    (seconds,) = {
        row.train_seconds for row in Result.read(papers.results_path("cho2014", "cpu")).rows if row.variant == "encdec"
    }
    minutes = round(seconds / 60)
    assert f"    encdec: RNN encoder-decoder [results of seeds 1, 2; {minutes} minutes each]\n" in answer.out
    assert [_minutes(each) for each in (0.2, 0.8, 1.4, 1.6)] == ["less than a minute", *["1 minute"] * 2, "2 minutes"]
    assert "preset paper: corpus wmt14 en-fr, seeds 1, no results yet\n    encdec: RNN encoder-decoder\n" in answer.out
    assert "paper 'bahdanau' is unknown" in gluon_attn("list", "bahdanau").refusal


def test_list_says_whether_seeds_are_missing() -> None:
    """An ensemble has one outcome of all its seeds."""
    for paper in papers.names():
        preset, seeds = papers.load(paper).preset("cpu"), Result.read(papers.results_path(paper, "cpu")).seeds
        missing = any(
            {str(seed) for seed in preset.seeds_of(variant.name)} - set(seeds[variant.name])
            for variant in preset.variants
            if variant.name in seeds
        )
        (line,) = (one for one in gluon_attn("list", paper).out.splitlines() if "preset cpu:" in one)
        assert line.endswith(", some without all seeds") == missing, paper


def test_list_marks_what_reproduce_trains() -> None:
    for preset in ("smoke", "cpu"):
        wanted = papers.load("bahdanau2014").preset(preset).headline
        _, _, part = gluon_attn("list", "bahdanau2014").out.partition(f"preset {preset}:")
        lines = part.partition("\n  preset")[0].splitlines()
        assert {line.split(":")[0].strip() for line in lines if " [headline]" in line} == set(wanted)


def test_list_marks_the_networks_that_come_with_the_project() -> None:
    lines = gluon_attn("list", "bahdanau2014").out.splitlines()
    marked = [line.split(":")[0].strip() for line in lines if line.endswith(" [network included]")]
    assert marked == list(included_models("bahdanau2014"))


def test_a_terminal_of_another_encoding_gets_escapes() -> None:
    command = [sys.executable, "-m", "reproductions", "list", "naver_self_attention"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"\\uc5b4\\ud150\\uc158" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("run", "bahdanau"), "paper 'bahdanau' is unknown; choose from bahdanau2014"),
        (("compare", "bahdanau"), "paper 'bahdanau' is unknown"),
        (("predict", "bahdanau"), "paper 'bahdanau' is unknown"),
        (("publish", "bahdanau"), "paper 'bahdanau' is unknown"),
        (("run", "{toy}", "--preset", "gpu"), "preset 'gpu' is unknown; choose smoke, cpu or paper"),
        (("compare", "{toy}", "--preset", "gpu"), "preset 'gpu' is unknown"),
        (("verify", "{toy}", "--preset", "gpu"), "preset 'gpu' is unknown"),
        (("publish", "{toy}", "--preset", "gpu"), "preset 'gpu' is unknown"),
        (("reproduce", "{toy}", "--preset", "gpu"), "preset 'gpu' is unknown"),
        (
            ("run", "{toy}", "--preset", "smoke", "--variant", "hard"),
            "variant 'hard' is unknown in preset smoke; choose",
        ),
        (("verify", "{toy}", "--preset", "smoke", "--variant", "hard"), "variant 'hard' is unknown"),
        (("predict", "{toy}", "--variant", "hard"), "variant 'hard' is unknown"),
        (
            ("run", "{toy}", "--preset", "smoke", "--profile", "slow"),
            "profile 'slow' is unknown; choose one of portable, fast",
        ),
        (("run", "{toy}", "--preset", "smoke", "--threads", 2), "the portable profile runs on one thread, not 2"),
        (("verify", "{toy}", "--profile", "fast", "--threads", 0), "0 threads cannot run"),
    ],
)
def test_unknown_names_are_refused_in_one_line(project: Project, arguments: tuple[object, ...], reason: str) -> None:
    words = [str(word).format(toy=project.script) for word in arguments]
    runs = ("--runs", project.runs) if words[0] in ("run", "score", "predict", "reproduce") else ()
    assert reason in gluon_attn(*words, *runs).refusal
    assert not project.runs.exists()


def test_the_exit_status_of_a_real_process_is_2_and_there_is_no_traceback(project: Project) -> None:
    command = [sys.executable, "-m", "reproductions", "run", project.script, "--profile", "slow"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gluon-attn: profile 'slow' is unknown; choose one of portable, fast\n"
