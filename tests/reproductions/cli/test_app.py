"""Every command on the toy paper and the embedded sample, with its refusals."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn import __version__
from gluon_attn.training.checkpoint import Checkpoint, save
from preprocessing import naver
from preprocessing.corpora.locate import SAMPLE_ROOT
from reproductions.protocol import papers, readings
from reproductions.protocol.models import included_models
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome, Run, training_of
from tests.reproductions.support import ROOT, Answer, gluon_attn, judged, run, run_and_score
from tests.reproductions.toy import REPRODUCTION

WARNING = "MEAN NOTHING ***"


def files(folder: Path) -> dict[str, tuple[str, int]]:
    """Hash and modification time of every file below a folder; locks are empty."""
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def hashes(folder: Path) -> dict[str, str]:
    return {name: sha256 for name, (sha256, _) in files(folder).items()}


class Project:
    """A user's own script and the folder of its runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.script = str(shutil.copy(Path(__file__).parents[1] / "toy.py", folder / "toy.py"))
        self.runs = folder / "runs"

    def command(self, name: str, *more: object, stdin: bytes = b"") -> Answer:
        """A command on the smoke preset."""
        return gluon_attn(name, self.script, "--preset", "smoke", "--runs", self.runs, *more, stdin=stdin)

    def run(self, variant: str, **parts: object) -> Run:
        return run(self.runs, variant, paper=self.script, **parts)  # type: ignore[arg-type]


@pytest.fixture(scope="module", autouse=True)
def no_corpora(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For the fixtures of this module what the fixtures of conftest are for its tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GLUON_ATTN_DATA", raising=False)
        patch.setenv("GLUON_ATTN_CACHE", str(tmp_path_factory.mktemp("module-cache")))
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Answer]:
    """Two variants with one seed, trained in parallel and scored: the project, which no test changes, and what scoring
    printed."""
    project = Project(tmp_path_factory.mktemp("project"))
    options = ("--variant", "straight", "--variant", "curved", "--jobs", 2)
    assert project.command("run", *options).code == 0
    return project, project.command("score", *options)


@pytest.fixture
def copy(trained: tuple[Project, Answer], tmp_path: Path) -> Project:
    """A copy of that project."""
    copy = Project(tmp_path / "copy")
    shutil.copytree(trained[0].runs, copy.runs)
    return copy


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project without trained runs."""
    return Project(tmp_path)


# --- help and list ---


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


def test_an_empty_folder_of_runs_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    answer = gluon_attn("run", project.script, "--preset", "smoke", "--runs", "")
    assert answer.code == 2 and "the name of the folder is empty" in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["toy.py"]


def test_list_shows_one_paper_by_name_or_path(project: Project) -> None:
    assert gluon_attn("list", project.script).out.splitlines() == [
        f"{project.script}  Quadrants: the hidden layer",
        "  Someone (1969)",
        "  preset smoke: corpus sample, seeds 1, no results yet",
        *(variants := [f"    {variant.name}: {variant.title}" for variant in REPRODUCTION.variants]),
        "  preset cpu: corpus nsmc, seeds 1, 2, no results yet",
        *variants,
        "  preset paper: corpus nsmc, seeds 3, no results yet",
        "    curved: with a hidden layer",
    ]
    answer = gluon_attn("list", "cho2014")
    assert answer.out.startswith("cho2014  RNN encoder-decoder") and "bahdanau2014" not in answer.out
    assert "preset cpu: corpus multi30k en-fr, seeds 1, 2, results of " in answer.out
    assert "    encdec: RNN encoder-decoder [results of seeds 1, 2]\n" in answer.out
    assert "preset paper: corpus wmt14 en-fr, seeds 1, no results yet\n    encdec: RNN encoder-decoder\n" in answer.out
    assert "paper 'bahdanau' is unknown" in gluon_attn("list", "bahdanau").refusal


def test_list_marks_the_networks_that_come_with_the_project() -> None:
    lines = gluon_attn("list", "bahdanau2014").out.splitlines()
    marked = [line.split(":")[0].strip() for line in lines if line.endswith(" [network included]")]
    assert marked == list(included_models("bahdanau2014"))


def test_a_negative_seed_is_refused(project: Project) -> None:
    answer = gluon_attn("run", project.script, "--preset", "smoke", "--seed", "-3")
    assert answer.code == 2 and "greater than or equal to 0" in answer.err


def test_score_names_all_networks_that_are_not_trained(project: Project) -> None:
    seeds = ("--preset", "smoke", "--seed", "1", "--seed", "2")
    refusal = gluon_attn("score", project.script, *seeds, "--variant", "curved").refusal
    assert "curved with seed 1 has not been trained yet (nor curved/2). Train it with: gluon-attn run" in refusal


# --- run and score ---


def test_score_writes_results_figures_and_pages(trained: tuple[Project, Answer]) -> None:
    project, answer = trained
    assert answer.code == 0, answer.err
    root = project.run("curved").root
    result = Result.read(root / "results.json")
    assert [row.variant for row in result.rows] == ["curved"] * 3 + ["straight"] * 3  # As in the table.
    assert list(result.manifest["parameters_sha256"]) == ["curved/1", "straight/1"]
    command = f"gluon-attn score {project.script} --preset smoke --variant straight --variant curved --jobs 2"
    assert result.manifest["command"] == command  # Without the folder of the runs.
    assert [claim.id for claim in result.claims] == ["bend", "chance"]
    named = dict(line.split(": ", 1) for line in answer.out.splitlines() if ": /" in line)
    figures = ("training curves", "points of curved", "points of straight", "both")
    pages = ("all points of curved", "all points of straight", "notes")
    assert list(named) == ["results", *(f"figure, {title}" for title in figures), *pages]
    assert all(Path(path).stat().st_size > 0 for path in named.values())


def test_results_on_the_sample_are_marked_everywhere(trained: tuple[Project, Answer]) -> None:
    project, answer = trained
    assert answer.out.rstrip().endswith(WARNING)
    assert "SAMPLE: means nothing" in answer.out
    raw = json.loads((project.run("curved").root / "results.json").read_text(encoding="utf-8"))
    for row in raw["rows"]:
        assert (row["corpus"], row["comparable"], row["differs"]) == ("sample", False, "SAMPLE: means nothing")
    assert all("SAMPLE" in claim["measure"] for claim in raw["claims"])


def test_a_second_run_is_refused_and_nothing_is_lost(trained: tuple[Project, Answer]) -> None:
    project, _ = trained
    before = files(project.runs)
    refusal = project.command("run", "--variant", "curved", "--variant", "pretrained").refusal
    assert str(project.run("curved").directory) in refusal
    assert "--resume" in refusal and "--overwrite" in refusal
    assert "choose one" in project.command("run", "--variant", "curved", "--resume", "--overwrite").refusal
    assert files(project.runs) == before  # Nor was the other variant trained.


def test_run_reports_validation_and_leaves_the_test_split_alone(project: Project) -> None:
    answer = project.command("run", "--variant", "curved")
    assert answer.code == 0, answer.err
    one = project.run("curved")
    assert one.is_trained and not one.is_scored and not (one.root / "results.json").exists()
    record = training_of(one)
    best = record["history"][record["best_epoch"] - 1]["validation_accuracy"]
    (line,) = [line for line in answer.out.splitlines() if line.startswith(" curved ")]
    assert re.split(" {2,}", line.strip())[:4] == ["curved", "1", str(record["best_epoch"]), f"accuracy {best:.2f}"]
    command = f"gluon-attn score {project.script} --preset smoke --variant curved --runs {project.runs}"
    assert f"score the test split: {command}" in " ".join(answer.out.split())
    assert WARNING in answer.out


def test_score_refuses_what_is_not_trained_and_scores_nothing(copy: Project) -> None:
    one = copy.run("curved")
    (one.directory / "outcome.json").unlink()
    refusal = copy.command("score", "--variant", "curved", "--variant", "pretrained").refusal
    assert "pretrained with seed 1 has not been trained yet. Train it with: gluon-attn run" in refusal
    assert not one.is_scored


def test_scored_runs_are_not_scored_again(copy: Project) -> None:
    before = files(copy.run("curved").directory)
    assert copy.command("score", "--variant", "curved").code == 0
    assert files(copy.run("curved").directory) == before


def test_resume_does_not_change_finished_runs(copy: Project) -> None:
    before = files(copy.run("curved").directory)
    answer = copy.command("run", "--variant", "curved", "--resume")
    assert answer.code == 0, answer.err
    after = files(copy.run("curved").directory)
    assert {**after, "config.json": ""} == {**before, "config.json": ""}
    assert after["config.json"][0] == before["config.json"][0]


def test_overwrite_replaces_and_gives_the_same_parameters(copy: Project) -> None:
    one = copy.run("curved")
    before = Outcome.of(one).record["parameters_sha256"]
    (one.directory / "outcome.json").write_text("{}", encoding="utf-8")
    (one.directory / "stale").touch()
    answer = copy.command("run", "--variant", "curved", "--overwrite")
    assert answer.code == 0, answer.err
    assert not (one.directory / "stale").exists() and not one.is_scored
    assert copy.command("score", "--variant", "curved").code == 0
    assert Outcome.of(one).record["parameters_sha256"] == before


def test_a_run_with_other_settings_is_not_resumed(copy: Project) -> None:
    """The reason is that of the training process."""
    path = copy.run("curved").directory / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["settings"]["units"] += 1
    path.write_text(json.dumps(config), encoding="utf-8")
    before = files(copy.runs)
    refusal = copy.command("run", "--variant", "curved", "--resume", "--jobs", 2).refusal
    assert "curved seed 1" in refusal and "differs in settings" in refusal
    assert files(copy.runs) == before


def test_a_failed_training_ends_with_its_reason_and_status_2_in_a_file_log(copy: Project, tmp_path: Path) -> None:
    """A checkpoint of other code: it has no state of the optimizer."""
    one = copy.run("curved")
    (one.directory / "training.json").unlink()
    (one.directory / "outcome.json").unlink()
    saved = Checkpoint(one.directory / "checkpoint.npz")
    groups = {name: saved.group(name) for name in saved.sha256} | {"optimizer": {}}
    save(one.directory / "checkpoint.npz", groups, {**saved.state, "history": saved.state["history"][:1]})
    command = [sys.executable, "-m", "reproductions", "run", *one.arguments(), "--resume", "--jobs", "1"]
    with (tmp_path / "log").open("wb") as log:
        status = subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, check=False).returncode
    last = (tmp_path / "log").read_text(encoding="utf-8").splitlines()[-1]
    assert last.startswith("gluon-attn: curved seed 1: the optimizer's state is not that of") and status == 2


def test_reproduce_continues_and_ends_with_table_figures_and_pages(copy: Project) -> None:
    """One of the headline's two variants was trained."""
    shutil.rmtree(copy.run("straight").directory)
    before = files(copy.run("curved").directory)
    answer = copy.command("reproduce")
    assert answer.code == 0, answer.err
    assert files(copy.run("curved").directory)["outcome.json"] == before["outcome.json"]
    assert Outcome.of(copy.run("straight"))
    for heading in ("variant", "ours", "reported", "differs"):
        assert heading in answer.out
    for variant in REPRODUCTION.headline:
        assert f"\n {variant} " in answer.out
    named = dict(line.split(": ", 1) for line in answer.out.splitlines() if ": /" in line)
    assert {"results", "figure, both", "notes"} <= named.keys()
    assert WARNING in answer.out
    assert answer.out.splitlines()[-1].startswith("test split: scored once by each of 2 trainings")
    assert not readings.record_path(copy.script).exists()


@pytest.mark.slow
def test_a_whole_preset_is_trained_combined_and_published(project: Project) -> None:
    """Two seeds, so that there is an ensemble, and a network that is initialised from another of them."""
    script = Path(project.script)
    text = script.read_text(encoding="utf-8").replace("smoke=Override(smoke)", "smoke=Override(smoke, seeds=(1, 2))")
    script.write_text(text, encoding="utf-8")
    assert project.command("run").code == 0
    answer = project.command("score", "--publish")
    assert answer.code == 0, answer.err
    published = Result.read(path := script.parent / "results" / "toy.smoke.json")
    assert f"published results: {path}" in answer.out
    assert published == Result.read(project.run("curved").root / "results.json")
    labels = ["curved/1", "curved/2", "straight/1", "straight/2", "pretrained/1"]
    assert list(published.manifest["parameters_sha256"]) == labels
    assert all(row.per_seed.keys() == {"1+2"} for row in published.rows if row.variant == "committee")
    compared = gluon_attn("compare", project.script, "--preset", "smoke")
    for name in ("curved", "straight", "pretrained", "committee"):
        assert f"\n {name} " in compared.out and f"\n {name} " in answer.out
    assert "bootstrap" in compared.out and compared.out.rstrip().endswith(WARNING)


def test_a_smoke_table_is_published_whole_and_none_of_the_sample_in_its_place(project: Project) -> None:
    for more in (("--variant", "curved"), ("--seed", 1)):
        assert "a table of preset smoke is published whole" in project.command("score", "--publish", *more).refusal
    answer = gluon_attn("score", project.script, "--preset", "cpu", "--runs", project.runs, "--publish")
    assert answer.code == 2 and "on the embedded sample are not published" in answer.err.splitlines()[-1]
    assert sorted(path.name for path in project.runs.parent.iterdir()) == ["toy.py"]


# --- without the corpus, and with a damaged one ---


def test_without_the_corpus_the_sample_is_used_and_marked(project: Project) -> None:
    options = ("--variant", "curved", "--seed", 1, "--seed", 1, "--runs", project.runs)
    answer = run_and_score(project.script, "--preset", "cpu", *options)
    assert answer.code == 0, answer.err
    assert "corpus nsmc is missing" in answer.err
    assert "*** nsmc IS MISSING: USING THE EMBEDDED SAMPLE" in answer.err
    assert WARNING in answer.out
    assert not project.run("curved", preset="cpu").root.exists()  # Where a run on the corpus would be.
    on_sample = project.run("curved", preset="cpu", on_sample=True)
    result = Result.read(on_sample.root / "results.json")
    assert [(row.corpus, row.comparable) for row in result.rows] == [("sample", False)] * 3
    assert len(Outcome.of(on_sample).record["history"]) == 3  # The recipe is that of the preset.
    answer = gluon_attn("predict", project.script, "--runs", project.runs, stdin=b"0.5 0.5\n")
    assert (answer.code, answer.out.count("\n")) == (0, 1)
    assert "TRAINED ON THE EMBEDDED SAMPLE" in answer.err


@pytest.mark.parametrize("command", ["run", "score", "reproduce"])
def test_a_damaged_corpus_is_refused_and_not_replaced_by_the_sample(
    command: str, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nsmc").mkdir()
    for name in ("ratings_train.txt", "ratings_test.txt"):
        shutil.copy(SAMPLE_ROOT / "reviews" / name, tmp_path / "nsmc" / name)
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    refusal = gluon_attn(command, project.script, "--preset", "cpu", "--runs", project.runs).refusal
    assert str(tmp_path / "nsmc" / "ratings_train.txt") in refusal and "SHA-256" in refusal
    assert not project.runs.exists()


# --- compare ---


@pytest.mark.parametrize("paper", [name for name in papers.names() if papers.results_path(name, "smoke").exists()])
def test_compare_shows_the_published_table_and_the_claims(paper: str) -> None:
    answer = gluon_attn("compare", paper, "--preset", "smoke")
    assert answer.code == 0
    result = Result.read(papers.results_path(paper, "smoke"))
    for row in result.rows:
        assert f"\n {row.variant} " in answer.out
    resampled = sum("bootstrap" in claim.measure for claim in result.claims)
    assert "verdict" in answer.out and answer.out.count("bootstrap") >= resampled > 0
    assert answer.out.rstrip().endswith(WARNING)


def test_compare_shows_the_results_of_a_run(trained: tuple[Project, Answer]) -> None:
    project, _ = trained
    path = project.run("curved").root / "results.json"
    answer = gluon_attn("compare", project.script, "--preset", "smoke", "--results", path)
    assert answer.code == 0, answer.err
    assert "\n curved " in answer.out and "\n bend " in answer.out and "verdict" in answer.out


def test_compare_prints_json_markdown_and_wide_tables() -> None:
    published = papers.results_path("joulin2016", "cpu")
    text = gluon_attn("compare", "joulin2016", "--json").out
    assert text == published.read_text(encoding="utf-8")
    lines = gluon_attn("compare", "joulin2016", "--markdown").out.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert any(line.startswith("| nsmc-bigrams |") for line in table) and "…" not in "".join(lines)
    wide = gluon_attn("compare", "joulin2016", "--wide").out
    statements = [claim.statement for claim in Result.read(published).claims]
    assert all(statement in wide for statement in statements)
    assert "exclude each other" in gluon_attn("compare", "joulin2016", "--wide", "--json").refusal


def test_compare_marks_rows_of_other_papers() -> None:
    out = gluon_attn("compare", "naver_self_attention", "--wide").out
    assert "\n nsmc-bigrams ‡ " in out and "‡ a published result of another paper here" in out


def test_text_in_brackets_is_printed_as_it_is(tmp_path: Path) -> None:
    results = json.loads(papers.results_path("joulin2016", "cpu").read_text(encoding="utf-8"))
    results["claims"][0]["statement"] = "[/red] better"
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    answer = gluon_attn("compare", "joulin2016", "--wide", "--results", tmp_path / "results.json")
    assert answer.code == 0 and "[/red] better" in answer.out


def test_results_grow_over_commands(project: Project) -> None:
    for variant in ("curved", "straight"):
        assert (
            run_and_score(project.script, "--preset", "smoke", "--runs", project.runs, "--variant", variant).code == 0
        )
    result = Result.read(project.run("curved").root / "results.json")
    assert {row.variant for row in result.rows} == {"curved", "straight"}
    assert [claim.id for claim in result.claims] == ["bend", "chance"]


def test_compare_shows_one_claim_with_its_intervals(trained: tuple[Project, Answer]) -> None:
    project, _ = trained
    path = project.run("curved").root / "results.json"
    options = (project.script, "--preset", "smoke", "--results", path)
    (claim, *_) = Result.read(path).claims
    answer = gluon_attn("compare", *options, "--claim", claim.id)
    assert claim.statement.split()[0] in answer.out and "interval over items" in answer.out
    assert claim.verdict in " ".join(answer.out.split())
    assert (
        "claim 'nothing' is not among the results of toy"
        in gluon_attn("compare", *options, "--claim", "nothing").refusal
    )


def test_power_prints_how_many_seeds_a_claim_needs(tmp_path: Path, project: Project) -> None:
    claims = [judged(id="known"), judged(id="small", ci95_items=(-50.0, 50.0)), judged(id="one", seed_deviation=None)]
    Result("toy", "smoke", [], claims, {}).write(tmp_path / "results.json")
    options = (project.script, "--preset", "smoke", "--results", tmp_path / "results.json", "--effect", 0.5)
    enough = "seeds per variant, an effect of 0.5 is shown with a probability of 0.8"
    assert enough in gluon_attn("power", *options, "--claim", "known").out
    few = "small: 100 seeds per variant are too few to show 0.5; more test items may be needed\n"
    assert gluon_attn("power", *options, "--claim", "small").out == few
    for effect in (0, "nan", "inf"):
        answer = gluon_attn("power", *options[:-1], effect, "--claim", "known")
        assert "there is nothing to show; give an effect" in answer.refusal
    assert "deviation over seeds is not known" in gluon_attn("power", *options, "--claim", "one").refusal


def test_power_is_that_of_an_effect_beyond_the_margin_of_the_claim() -> None:
    """The claim says one point better: 1.2 points are 0.2 more, for which the test split is too small."""
    options = ("power", "devlin2018", "--claim", "pretraining", "--effect")
    assert "100 seeds per variant are too few to show 1.2" in gluon_attn(*options, 1.2).out
    assert "there is nothing to show; give an effect above or below 1" in gluon_attn(*options, 1).refusal


def test_the_results_of_another_paper_are_refused(trained: tuple[Project, Answer]) -> None:
    path = trained[0].run("curved").root / "results.json"
    assert f"{path}: results of toy, not of cho2014" in gluon_attn("compare", "cho2014", "--results", path).refusal


def test_the_results_of_another_preset_are_refused(trained: tuple[Project, Answer]) -> None:
    project, _ = trained
    path = project.run("curved").root / "results.json"
    answer = gluon_attn("compare", project.script, "--results", path)
    assert f"{path}: results of preset smoke, not cpu; add --preset smoke" in answer.refusal


@pytest.mark.parametrize(
    "content",
    ["", "{", "null", "[]", '"rows"', '{"rows": []}', '{"rows": [{"variant": "x"}], "claims": []}', "\ufeff{}"],
)
def test_a_damaged_results_file_is_refused(content: str, project: Project) -> None:
    path = project.runs.with_name("results.json")
    path.write_text(content, encoding="utf-8")
    assert str(path) in gluon_attn("compare", project.script, "--results", path).refusal


def test_missing_results_are_refused(project: Project) -> None:
    assert "no results here" in gluon_attn("compare", project.script).refusal
    assert "no results here" in gluon_attn("compare", "cho2014", "--results", project.runs / "results.json").refusal


# --- predict ---


def test_predict_answers_each_line(trained: tuple[Project, Answer]) -> None:
    answer = trained[0].command("predict", stdin=b"0.9 0.9\n\n   \n-0.9 0.9\r\n-0.9 -0.9")
    assert answer.code == 0, answer.err
    lines = answer.out.split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, True, False]
    assert {line for line in lines if line} <= {"0", "1"}
    assert "MEAN NOTHING" in answer.err
    nothing = trained[0].command("predict", stdin=b"")
    said = "standard input: no line to answer; each line gets one answer\n"
    assert (nothing.code, nothing.out) == (0, "") and said in nothing.err and said not in answer.err


def test_predict_uses_the_first_variant_of_the_headline_or_another(trained: tuple[Project, Answer]) -> None:
    project, _ = trained
    assert project.command("predict", "--variant", "straight", stdin=b"1 1").code == 0
    refusal = project.command("predict", "--variant", "pretrained", stdin=b"1 1").refusal
    assert "pretrained with seed 1 has not been trained yet. Train it with: gluon-attn run" in refusal
    assert f"{project.script} --preset smoke --variant pretrained --seed 1 --runs " in refusal
    assert "curved with seed 2 has not been trained" in project.command("predict", "--seed", 2).refusal


def test_predict_refuses_invalid_utf8_after_the_lines_before_it(trained: tuple[Project, Answer]) -> None:
    answer = trained[0].command("predict", stdin="1 1\n영화\n".encode("euc-kr"))
    assert (answer.code, answer.out.count("\n")) == (2, 1)
    assert answer.err.splitlines()[-1].startswith("gluon-attn: standard input, line 2: not UTF-8")


@pytest.mark.parametrize("command", ["neighbours", "perplexity", "translate"])
def test_a_command_of_another_task_names_that_of_the_paper(trained: tuple[Project, Answer], command: str) -> None:
    project, _ = trained
    refusal = project.command(command).refusal
    assert refusal == f"{project.script} curved: its task is quadrants; use gluon-attn predict {project.script}"


def test_a_terminal_of_another_encoding_gets_escapes() -> None:
    command = [sys.executable, "-m", "reproductions", "list", "naver_self_attention"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"\\uc5b4\\ud150\\uc158" in done.stdout


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


# --- unknown names ---


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


@pytest.mark.parametrize("arguments", [("--jobs", 0), ("--jobs", "many"), ("--seed", "one"), ("--colour",)])
def test_an_option_without_effect_is_refused(project: Project, arguments: tuple[object, ...]) -> None:
    answer = project.command("run", *arguments)
    assert answer.code == 2
    assert str(arguments[0]) in answer.err
    assert "Traceback" not in answer.err


def test_the_exit_status_of_a_real_process_is_2_and_there_is_no_traceback(project: Project) -> None:
    command = [sys.executable, "-m", "reproductions", "run", project.script, "--profile", "slow"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gluon-attn: profile 'slow' is unknown; choose one of portable, fast\n"


def test_a_folder_that_cannot_be_written_is_refused(project: Project) -> None:
    project.runs.touch()
    assert str(project.runs) in project.command("run", "--variant", "curved", "--jobs", 2).refusal
