"""Training on data of one's own: run, score, compare, verify, predict and translate, none of it published."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from reproductions.cli.choosing import on_own_data, own_data
from reproductions.protocol import papers
from reproductions.protocol.own_data import DataOptions
from reproductions.protocol.runs import TRAINING
from tests.reproductions.support import Answer, gluon_attn

SCRIPT = Path(__file__).parents[1] / "toy_paper.py"
PRESET = ("--preset", "smoke")


def table(path: Path, rows: int, labels: tuple[str, ...] = ("bad", "good"), *, first: int = 0) -> Path:
    """Texts whose last word is their label, each with a number from the first on."""
    lines = [
        f"{row}\tfilm number {row} is {labels[row % len(labels)]}\t{labels[row % len(labels)]}"
        for row in range(first, first + rows)
    ]
    path.write_text("\n".join(["id\tdocument\tlabel", *lines]) + "\n", encoding="utf-8")
    return path


class Project:
    """A script with two files of its user and the folder of its runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.script = folder / "bags.py"
        declared = SCRIPT.read_text(encoding="utf-8")
        self.script.write_text(declared.replace("rate=0.01)", "rate=0.01, warmup_steps=100)"), encoding="utf-8")
        self.runs = folder / "runs"
        self.train, self.test = table(folder / "a.tsv", 80), table(folder / "b.tsv", 20, first=70)

    @property
    def data(self) -> tuple[object, ...]:
        return ("--train", self.train, "--test", self.test)

    def command(self, name: str, *more: object) -> Answer:
        return gluon_attn(name, self.script, *PRESET, "--runs", self.runs, *self.data, "--seed", 1, *more)

    @property
    def root(self) -> Path:
        (root,) = (path for path in (self.runs / "bags").iterdir() if path.is_dir())
        return root


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Answer, Answer]:
    """A project whose two variants are trained and scored, and what both commands printed."""
    project = Project(tmp_path_factory.mktemp("project") / "mine & yours")
    return project, project.command("run", "--jobs", 2), project.command("score")


def test_both_variants_are_scored_and_compared_without_a_reported_number(
    trained: tuple[Project, Answer, Answer],
) -> None:
    project, run, score = trained
    assert run.code == 0 and score.code == 0, run.err + score.err
    results = json.loads((project.root / "results.json").read_text(encoding="utf-8"))
    test = [row for row in results["rows"] if row["signature"].startswith("20 test reviews")]
    assert {row["variant"] for row in results["rows"]} == {"attention", "mean"} and test
    assert {(row["corpus"], row["reported"], row["differs"]) for row in results["rows"]} == {("own texts", None, "")}
    assert [claim["id"] for claim in results["claims"]] == ["attention"]
    assert "SAMPLE" not in run.out + score.out and "readings of the test split" not in score.out
    assert shlex.join(map(str, project.data)) in run.out
    compared = gluon_attn("compare", project.script, *PRESET, "--results", project.root / "results.json")
    assert compared.code == 0 and "own texts" in compared.out and "85.5" not in compared.out
    assert "not trained yet" not in compared.out


def test_the_run_directory_states_the_files_and_is_not_that_of_a_corpus(
    trained: tuple[Project, Answer, Answer],
) -> None:
    project = trained[0]
    assert project.root.name.startswith("smoke-portable-own-")
    outcome = json.loads((project.root / "mean" / "seed-1" / "outcome.json").read_text(encoding="utf-8"))
    assert {part: stated["file"] for part, stated in outcome["data"].items()} == {"train": "a.tsv", "test": "b.tsv"}
    assert {part: stated["sha256"] for part, stated in outcome["data"].items()} == outcome["corpora"]
    assert str(project.train.parent) not in json.dumps(outcome)


def test_the_warm_up_is_shorter_than_the_training(trained: tuple[Project, Answer, Answer]) -> None:
    """A tenth of three epochs of three batches, and at least one update."""
    run = trained[0].root / "mean" / "seed-1"
    config, training = (json.loads((run / name).read_text(encoding="utf-8")) for name in ("config.json", TRAINING))
    assert config["recipe"]["warmup_steps"] == 100 and training["warmup_steps"] == 1


def test_what_is_scored_by_another_command_stays_in_the_table(trained: tuple[Project, Answer, Answer]) -> None:
    project = trained[0]
    assert project.command("score", "--variant", "mean").code == 0
    results = json.loads((project.root / "results.json").read_text(encoding="utf-8"))
    assert {row["variant"] for row in results["rows"]} == {"attention", "mean"} and len(results["claims"]) == 1


def test_it_answers_from_a_copy_without_the_files(trained: tuple[Project, Answer, Answer], tmp_path: Path) -> None:
    project = trained[0]
    model = shutil.copytree(project.root / "attention" / "seed-1", tmp_path / "model")
    script = shutil.copy(SCRIPT, tmp_path / "bags.py")
    answer = gluon_attn("predict", script, "--model", model, stdin=b"film number 3 is good\n\n")
    assert answer.code == 0, answer.err
    assert answer.out.split("\t")[0] in ("good", "bad") and answer.out.count("\n") == 2
    suggested = next(line for line in trained[1].out.splitlines() if line.startswith("Use the network: "))
    words = ["predict", str(project.script), "--model", str(project.root / "attention" / "seed-1")]
    assert shlex.split(suggested)[-4:] == words


def test_it_is_exported_by_its_run_directory(trained: tuple[Project, Answer, Answer], tmp_path: Path) -> None:
    project, target = trained[0], tmp_path / "exported"
    directory = project.root / "attention" / "seed-1"
    exported = gluon_attn("export", project.script, "--model", directory, "--out", target)
    assert exported.out == f"exported: {target}\n", exported.err
    lines = b"film number 3 is good\n"
    answers = [gluon_attn("predict", project.script, "--model", path, stdin=lines).out for path in (directory, target)]
    assert answers[0] == answers[1] != ""
    refusal = gluon_attn("export", "lin2017", "--model", directory, "--out", tmp_path / "another").refusal
    assert refusal.endswith("not of lin2017; name that paper") and not (tmp_path / "another").exists()
    refusal = gluon_attn("export", project.script, "--model", directory, "--seed", "2", "--out", target).refusal
    assert refusal == "--model names a network, and so its variant and seed; leave out --seed"


def test_suggested_commands_can_be_typed_into_a_shell(trained: tuple[Project, Answer, Answer]) -> None:
    """From a folder whose name has a space and a character with a meaning in shells."""
    project, run, _ = trained
    suggested = [
        shlex.split(line.partition("gluon-attn ")[2]) for line in run.out.splitlines() if ": gluon-attn " in line
    ]
    assert [words[0] for words in suggested] == ["score", "predict"]
    for words in suggested:
        answer = gluon_attn(*words, stdin=b"film number 3 is good\n")
        assert answer.code == 0 and answer.out, answer.err
    missing = gluon_attn("score", project.script, *PRESET, "--runs", project.runs, "--variant", "mean").refusal
    assert shlex.split(missing.partition("gluon-attn ")[2])[:2] == ["run", str(project.script)]


def test_verify_trains_again_and_compares_with_the_finished_runs(trained: tuple[Project, Answer, Answer]) -> None:
    project = trained[0]
    options = ("verify", project.script, *PRESET, *project.data, "--variant", "mean", "--seed", 1)
    answer = gluon_attn(*options, "--finished", project.runs)
    assert answer.code == 0 and "same bits as a second training" in answer.out, answer.err


def test_other_files_and_another_order_of_them_have_runs_of_their_own(
    trained: tuple[Project, Answer, Answer], tmp_path: Path
) -> None:
    project = trained[0]
    other = table(tmp_path / "a.tsv", 70)
    options = ("score", project.script, *PRESET, "--runs", project.runs, "--seed", 1, "--test", project.test)
    refusal = gluon_attn(*options, "--train", other).refusal
    typed = shlex.join(["--train", str(other), "--test", str(project.test)])
    assert "has not been trained yet" in refusal and typed in refusal
    again = project.command("run")
    assert again.code and "exist already" in again.err.splitlines()[-1]


@pytest.mark.slow
def test_bert_is_tuned_on_texts_in_the_pieces_of_its_pretraining(tmp_path: Path) -> None:
    """The network that is pretrained on the sample first, as with every preset whose network does not come along."""
    project = Project(tmp_path)
    data = (*project.data, "--seed", 1, "--runs", project.runs)
    for command in ("run", "score"):
        answer = gluon_attn(command, "devlin2018", *PRESET, *data)
        assert answer.code == 0, answer.err
        assert ("trained first, since others start from them: pretraining" in answer.out) == (command == "run")
    (model,) = (project.runs / "devlin2018").glob("smoke-portable-own-*/bert/seed-1")
    answer = gluon_attn("predict", "devlin2018", "--model", model, stdin=b"film number 3 is good\n")
    assert answer.code == 0 and answer.out.split("\t")[0] in ("good", "bad"), answer.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "variant"),
    [
        ("bahdanau2014", "rnnsearch"),
        ("cho2014", "encdec"),
        ("luong2015", "best"),
        ("sutskever2014", "reversed"),
        ("translation_domains", "french"),
        ("vaswani2017", "transformer"),
    ],
)
def test_a_translator_is_trained_and_scored_on_a_folder(paper: str, variant: str, tmp_path: Path) -> None:
    folder = tmp_path / "pairs"
    folder.mkdir()
    for split, first, rows in (("train", 0, 120), ("val", 200, 20), ("test", 300, 20)):
        for language, noun in (("en", "thing"), ("fr", "chose")):
            lines = [f"{noun} {row % 7} is {row % 11} and {row}" for row in range(first, first + rows)]
            (folder / f"{split}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = ("--folder", folder, "--source", "en", "--target", "fr", "--variant", variant, "--seed", 1)
    for command in ("run", "score"):
        answer = gluon_attn(command, paper, *PRESET, *data, "--runs", tmp_path / "runs")
        assert answer.code == 0, answer.err
    (path,) = (tmp_path / "runs" / paper).glob("smoke-portable-own-*/results.json")
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    test = [row["per_seed"]["1"] for row in rows if (row["split"], row["metric"]) == ("test", "perplexity")]
    assert len(test) == 1 and test[0] > 1 and {row["corpus"] for row in rows} == {"own files"}


@pytest.mark.parametrize("variants", [("nsmc-words", "imdb-words"), ("imdb-words", "nsmc-words")])
def test_inner_commands_read_a_folder_of_tables_as_the_outer_one(variants: tuple[str, str], tmp_path: Path) -> None:
    """The outer command reads it as its first variant does, an inner one as its own does."""
    table(tmp_path / "train.tsv", 80)
    table(tmp_path / "test.tsv", 20, first=70)
    options = DataOptions(folder=tmp_path)
    preset = on_own_data(papers.load("joulin2016").preset("smoke"), options, variants)
    for name in variants:
        own = own_data("joulin2016", "smoke", name, options)
        assert own is not None and preset.own is not None
        assert own.digest == preset.own.digest and preset.task(name).corpus == "own texts"


def test_nothing_is_published(trained: tuple[Project, Answer, Answer]) -> None:
    project = trained[0]
    options = ("score", project.script, *PRESET, "--runs", project.runs, *project.data, "--publish")
    assert gluon_attn(*options).refusal == "results on data of your own are not published; leave out --publish"
    assert not (Path(project.script).parent / "results").exists()
    assert not papers.results_folder(project.script).exists()


def test_odd_data_are_named_once_and_wrong_data_before_anything_is_trained(tmp_path: Path) -> None:
    project = Project(tmp_path / "odd")
    with project.train.open("a", encoding="utf-8") as stream:
        stream.write("3\tfilm number 3 is bad\tbad\n")
    project.test.write_text("id\tdocument\tlabel\n1\tx\tugly\n", encoding="utf-8")
    refusal = project.command("run").refusal
    assert refusal.startswith(f"{project.test}, line 2: label 'ugly' is not in train")
    assert not project.runs.exists()


def test_too_little_data_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    project = Project(tmp_path / "little")
    table(project.test, 9, first=70)
    refusal = project.command("run").refusal
    assert refusal == "test: 9 rows after preprocessing, at least 10 are needed to train and to compare; give more"
    assert not project.runs.exists()


@pytest.mark.parametrize(
    ("paper", "options", "reason"),
    [
        ("naver_self_attention", ("--train", "a"), "classification on data of your own needs --train --test"),
        ("naver_self_attention", ("--train", "a", "--test", "b"), "a: no such file"),
        ("naver_self_attention", ("--folder", "none"), "none/train.tsv: no such file"),
        ("naver_self_attention", ("--folder", "f", "--source", "en"), "classification on data of"),
        (
            "bahdanau2014",
            ("--folder", "f"),
            "translation on data of your own needs --folder --source --target",
        ),
        ("bahdanau2014", ("--train", "a", "--test", "b"), "translation on data of your own needs"),
        ("bahdanau2014", ("--folder", "f", "--source", "en", "--target", "de"), "f/train.en: no such file"),
        ("mikolov2013", ("--train", "a", "--test", "b"), "word vectors: cannot be trained on data of your own; choose"),
    ],
)
def test_options_that_a_task_does_not_take_are_refused(
    paper: str, options: tuple[str, ...], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert gluon_attn("run", paper, *PRESET, *options).refusal.startswith(reason)
    assert list(tmp_path.iterdir()) == []


def test_preprocess_reads_a_folder_of_your_own(tmp_path: Path) -> None:
    table(tmp_path / "train.tsv", 80)
    (tmp_path / "test.tsv").write_text("id\tdocument\tlabel\n\tgood film\tgood\n", encoding="utf-8")
    options = ("preprocess", "naver", "--folder", tmp_path, "--tokenizer", "whitespace")
    answer = gluon_attn(*options, "--out", tmp_path / "out")
    assert answer.code == 0 and "test: 1 reviews, 2 tokens" in answer.out
    assert answer.err.splitlines() == [
        "warning: test.tsv: all rows have the label 'good'; accuracy says little",
        "warning: test.tsv, line 2: 1 of 1 ids are empty",
    ]
    assert json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))["facts"]["labels"] == [
        "bad",
        "good",
    ]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("sentences", "--max-size", 0), "--max-size 0: must be at least 1; choose a positive number"),
        (("naver", "--processes", 0), "--processes 0: must be at least 1; choose a positive number"),
        (("documents", "--processes", -4), "--processes -4: must be at least 1; choose a positive number"),
        (("ptb", "--min-freq", 9_999_999), "--min-freq 9999999: no token of train occurs so often, the most frequent"),
    ],
)
def test_a_refused_parameter_is_named_as_it_was_typed(options: tuple[object, ...], reason: str, tmp_path: Path) -> None:
    refusal = gluon_attn("preprocess", *options, "--sample", "--out", tmp_path / "out").refusal
    assert refusal.startswith(reason) and not (tmp_path / "out").exists()
