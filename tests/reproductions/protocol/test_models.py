"""Which trained network answers, and exports of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from gluon_attn.training.checkpoint import Checkpoint, parameter_arrays, parameters_sha256
from reproductions.protocol import models, papers
from reproductions.protocol.loading import load, load_directory
from reproductions.protocol.runs import Run
from reproductions.protocol.training import train
from tests.reproductions.support import run


@pytest.fixture
def one(toy: str, tmp_path: Path) -> Run:
    """The run of the first variant of the headline, which is not trained."""
    one = run(tmp_path / "runs", "curved", paper=toy, preset="cpu")
    assert papers.load(toy).preset("cpu").headline == ("curved", "straight")
    return one


def trained(one: Run, variant: str, *, on_sample: bool = False) -> Path:
    """Mark a run as trained."""
    directory = replace(one, variant=variant, on_sample=on_sample).directory
    directory.mkdir(parents=True)
    (directory / "training.json").touch()
    return directory


def included(one: Run, variant: str) -> Path:
    """A network that comes with the paper."""
    directory = Path(one.paper).parent / "models" / "toy" / variant
    directory.mkdir(parents=True)
    (directory / "training.json").touch()
    return directory


def test_without_a_network_it_is_said_how_to_train_one(one: Run) -> None:
    with pytest.raises(UsageError, match=r"curved with seed 1 has not been trained yet\. Train it .* \(--model\)$"):
        models.find(one, None)
    with pytest.raises(UsageError, match="pretrained with seed 1 has not been trained yet"):
        models.find(one, "pretrained")


def test_what_is_not_one_network_is_not_offered_for_training(one: Run) -> None:
    with pytest.raises(UsageError, match=r"^variant 'curvd' is unknown in preset cpu; choose from"):
        models.find(one, "curvd")
    (ensemble,) = papers.load(one.paper).preset("cpu").ensembles
    with pytest.raises(UsageError, match=f"^{ensemble.name} is an ensemble of {ensemble.members}; name"):
        models.find(one, ensemble.name)


def test_a_configuration_without_a_paper_is_damaged(tmp_path: Path) -> None:
    for content in ("{}", "[]", "{"):
        (tmp_path / "config.json").write_text(content, encoding="utf-8")
        with pytest.raises(UsageError, match=r"config\.json: damaged \(.*\); replace the run \(--overwrite\), or copy"):
            models.paper_of(tmp_path)


def test_the_first_trained_variant_of_the_headline_answers(one: Run) -> None:
    second = trained(one, "straight")
    assert models.find(one, None) == second
    first = trained(one, "curved")
    assert models.find(one, None) == first
    assert models.find(one, "straight") == second


def test_a_run_on_the_corpus_comes_first_then_an_included_network_then_a_run_on_the_sample(one: Run) -> None:
    on_sample = trained(one, "straight", on_sample=True)
    assert models.find(one, None) == models.find(one, "straight") == on_sample
    with_the_paper = included(one, "curved")
    assert models.find(one, None) == models.find(one, "curved") == with_the_paper
    assert models.find(one, "straight") == on_sample
    on_corpus = trained(one, "straight")
    assert models.find(one, None) == models.find(one, "straight") == on_corpus


def test_an_included_network_may_be_none_of_the_headline(one: Run) -> None:
    expected = included(one, "pretrained")
    assert models.find(one, None) == models.find(one, "pretrained") == expected
    with pytest.raises(UsageError, match="curved with seed 1 has not been trained yet"):
        models.find(one, "curved")
    for other in (replace(one, seed=2), replace(one, preset="smoke")):
        with pytest.raises(UsageError, match=f"curved with seed {other.seed} has not been trained yet"):
            models.find(other, None)


@pytest.mark.parametrize("named", [None, "curved"])
def test_an_included_network_of_a_variant_that_a_preset_leaves_out_is_not_asked_for(
    named: str | None, one: Run
) -> None:
    """It is of preset cpu; preset paper has no such variant."""
    included(one, "straight")
    in_paper = replace(one, preset="paper")
    with pytest.raises(UsageError, match=r"curved with seed 1 has not been trained yet\. Train it with: "):
        models.find(in_paper, named)
    directory = trained(in_paper, "curved")
    assert models.find(in_paper, named) == directory


def test_an_included_network_that_answers_another_command_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The included BERT predicts masked pieces; asked for the sentiment of a text, it has no answer."""
    path = tmp_path / "pretraining"
    monkeypatch.setattr(models, "included_models", lambda paper: {"pretraining": path})
    classifier = run(tmp_path / "runs", "bert", paper="devlin2018", preset="cpu")
    with pytest.raises(UsageError, match="bert with seed 1 has not been trained yet"):
        models.find(classifier, None)
    assert models.find(replace(classifier, variant="pretraining"), None) == path


def test_an_export_has_the_network_and_nothing_of_the_training(toy: str, tmp_path: Path) -> None:
    one = run(tmp_path / "runs", "curved", paper=toy)
    train(one, resume=False, overwrite=False)
    target = tmp_path / "exported"
    models.export(one.directory, target)
    assert sorted(path.name for path in target.iterdir()) == [
        "checkpoint.npz",
        "config.json",
        "preprocessing.npz",
        "training.json",
    ]
    assert list(Checkpoint(target / "checkpoint.npz").sha256) == ["best"]
    again, whole = load_directory(toy, target), load(one)
    assert again.parameters_sha256 == whole.parameters_sha256
    assert parameters_sha256(parameter_arrays(again.model)) == again.parameters_sha256
    with pytest.raises(UsageError, match="exported: exists already; name a new folder"):
        models.export(one.directory, target)


def test_a_damaged_network_is_not_exported(toy: str, tmp_path: Path) -> None:
    one = run(tmp_path / "runs", "curved", paper=toy)
    train(one, resume=False, overwrite=False)
    (one.directory / "checkpoint.npz").write_bytes(b"PK")
    with pytest.raises(UsageError, match=r"checkpoint\.npz: damaged"):
        models.export(one.directory, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


def test_an_export_that_fails_leaves_nothing(toy: str, tmp_path: Path) -> None:
    one = run(tmp_path / "runs", "curved", paper=toy)
    train(one, resume=False, overwrite=False)
    (one.directory / "preprocessing.npz").unlink()
    with pytest.raises(FileNotFoundError):
        models.export(one.directory, tmp_path / "out" / "exported")
    assert not list((tmp_path / "out").iterdir())
