"""The results file is a format for others: its names are fixed, and it states its origin."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from gluon_attn.errors import UsageError
from reproductions.protocol import papers
from reproductions.protocol.publishing import published_outcomes
from reproductions.protocol.results import Result, Row
from reproductions.protocol.runner import trained_as_declared
from reproductions.protocol.waiting import is_trained
from tests.reproductions.support import ROOT, judged
from tests.reproductions.toy import PEER

ROW = {
    "variant", "corpus", "split", "metric", "signature", "mean", "std", "per_seed", "ci95", "parameters",
    "train_seconds", "reported", "comparable", "differs",
}  # fmt: skip
CLAIM = {
    "id", "statement", "source", "effect", "ci95", "verdict", "basis", "measure", "per_seed", "ci95_items",
    "ci95_seeds", "seed_deviation", "p", "reported",
}  # fmt: skip
MANIFEST = {
    "command", "commit", "seeds", "profile", "threads", "corpora", "pipeline", "environment", "hardware",
    "parameters_sha256", "started", "seconds",
}  # fmt: skip
NEWER = {"c_library", "cpu_features", "options"}  # not in the manifests of version 0.1.0, or not in all
CORPORA = {
    "nsmc", "multi30k en-de", "multi30k en-fr", "tatoeba en-fr", "tatoeba ko-en", "imdb", "ptb", "sst-2", "sst-5",
    "cifar10", "flickr8k", "sample", "nsmc-raw", "udacity lake", "udacity track",
}  # fmt: skip
METRICS = {"accuracy", "bleu", "sacrebleu", "chrf", "perplexity", "bleu-1", "bleu-2", "bleu-3", "bleu-4"}
METRICS |= {"agreement", "loss", "meteor", "cider", "error", "pairs", "difference"}
VERDICTS = {"supported", "contradicted", "inconclusive", "not judged"}
UNMEASURED = {
    ("bahdanau2014", "smoke"): {"monotone"},
    ("devlin2018", "smoke"): {"word-vectors", "word-vectors-continued", "floor"},
    ("kim2017", "cpu"): {"removed", "edges"},
    ("kim2017", "smoke"): {"edges"},
    ("naver_preprocessing", "smoke"): {"leaks-copied"},
    ("naver_self_attention", "smoke"): {"kinds"},
    ("vaswani2017", "smoke"): {"head-noun"},
    ("xu2015", "smoke"): {"points-random", "raises"},
    ("yang2016", "smoke"): {"context-bad"},
}
"""Claims without a verdict although their systems are trained: nothing to measure in the sample, or in the drive."""
SHA256 = re.compile("[0-9a-f]{64}")

RESULTS = ROOT / "reproductions" / "results"
committed = pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.name)


def made_up() -> Result:
    row = Row(
        "curved", "nsmc", "test", "accuracy", "all", 85.5, 0.5, {"1": 85.0, "2": 86.0}, (85.0, 86.0), 7, 1.5,
        asdict(PEER), True, "",
    )  # fmt: skip
    claim = judged(statement="“A” is better than B", ci95_seeds=None, p=None)
    return Result("toy", "cpu", [row], [claim], {"seeds": [1, 2], "한글": "reads as it is"})


def test_a_result_survives_a_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    made_up().write(path)
    assert Result.read(path) == made_up()
    text = path.read_text(encoding="utf-8")
    assert "한글" in text and text.endswith("}\n")
    assert list(json.loads(text)) == ["paper", "preset", "rows", "claims", "manifest"]
    made_up().write(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_a_result_with_nan_is_not_written(tmp_path: Path) -> None:
    broken = made_up()
    broken.manifest["seconds"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.write(tmp_path / "results.json")
    assert list(tmp_path.iterdir()) == []


def test_a_result_is_on_the_sample_if_one_of_its_rows_is() -> None:
    whole = made_up()
    assert not whole.on_sample
    assert replace(whole, rows=[*whole.rows, replace(whole.rows[0], corpus="sample")]).on_sample


def damaged() -> dict[str, Any]:
    raw = asdict(made_up())
    return {
        "not JSON": "{",
        "empty": "",
        "not an object": [],
        "null": None,
        "nothing": {},
        "rows that are no rows": raw | {"rows": 3},
        "a row without most columns": raw | {"rows": [{"variant": "mean", "ci95": [0, 1]}]},
        "a row with an unknown column": raw | {"rows": [raw["rows"][0] | {"median": 1}]},
        "a row without a mean": raw | {"rows": [raw["rows"][0] | {"mean": None}]},
        "a row with words for a seed": raw | {"rows": [raw["rows"][0] | {"per_seed": {"1": "high"}}]},
        "a reported number of other fields": raw | {"rows": [raw["rows"][0] | {"reported": {"number": 1}}]},
        "a claim without interval": raw | {"claims": [{"id": "a"}]},
        "no manifest": {key: value for key, value in raw.items() if key != "manifest"},
    }


@pytest.mark.parametrize("name", damaged())
def test_a_damaged_file_is_refused_with_its_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    content = damaged()[name]
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(UsageError, match=r"results\.json: not a results file") as caught:
        Result.read(path)
    assert "\n" not in str(caught.value)


def test_a_file_of_something_else_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"card\.json: not a results file \(it has no 'rows'\); score the reproduction"
    ):
        Result.read(tmp_path / "card.json")


def test_a_folder_is_refused_with_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is a folder; give the results file in it, such as results\.json$"):
        Result.read(tmp_path)


def test_a_missing_file_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"results\.json: no results here; score the reproduction first"):
        Result.read(tmp_path / "results.json")


# --- the published results ---


@committed
def test_committed_results_keep_the_contract(path: Path) -> None:
    raw = json.loads(path.read_text(encoding="utf-8"))
    assert set(raw) == {"paper", "preset", "rows", "claims", "manifest"}
    assert path == papers.results_path(raw["paper"], raw["preset"])
    assert MANIFEST <= set(raw["manifest"]) <= MANIFEST | NEWER
    preset = papers.load(raw["paper"]).preset(raw["preset"])
    own_seeds = {one.name: set(preset.seeds_of(one.name)) for one in preset.variants}
    for row in raw["rows"]:
        assert set(row) == ROW
        assert row["corpus"] in CORPORA and row["metric"] in METRICS and row["split"] in {"validation", "test"}
        low, high = row["ci95"]
        assert low <= row["mean"] <= high
        seeds = {int(seed) for key in row["per_seed"] for seed in key.split("+")}  # 1+2: an ensemble of two networks.
        declared = own_seeds.get(row["variant"], set(raw["manifest"]["seeds"]))
        assert seeds == declared or (raw["preset"] == "cpu" and seeds < declared)  # a table may grow
        assert min(row["per_seed"].values()) <= row["mean"] <= max(row["per_seed"].values())
        assert row["comparable"] is False or row["reported"] is not None
    for claim in raw["claims"]:
        assert set(claim) == CLAIM and claim["verdict"] in VERDICTS
        assert claim["ci95"][0] <= claim["effect"] <= claim["ci95"][1]


@committed
def test_committed_results_are_of_the_declared_paper(path: Path) -> None:
    """Every variant and seed of the preset has its hash and its rows, where it is not named as untrained, every claim
    its verdict or, where its effect cannot be measured, none; and nothing in the manifest is specific to one person's
    machine.
    """
    result = Result.read(path)
    paper = papers.load(result.paper)
    preset, manifest = paper.preset(result.preset), result.manifest
    labels = {f"{variant.name}/{seed}" for variant in preset.variants for seed in preset.seeds_of(variant.name)}
    hashes = set(manifest["parameters_sha256"])
    readme = path.parent / result.paper / "README.md"
    grows = preset.name == "cpu" and "Declared, but not in this table yet: " in readme.read_text(encoding="utf-8")
    assert hashes < labels if grows else hashes == labels, "publish the preset again"
    trained = [one.name for one in preset.variants if any(label.startswith(f"{one.name}/") for label in hashes)]
    corpora = {name: "sample" if preset.on_sample else preset.task(name).corpus for name in trained}
    ensembles = {one.name: corpora.get(one.members) for one in preset.ensembles if len(preset.seeds) > 1}
    measured = {row.variant: row.corpus for row in reversed(result.rows)}  # further rows may be of other test sets
    assert corpora.items() <= measured.items() <= (corpora | ensembles).items()
    declared = {claim.id: (claim.statement, claim.source) for claim in paper.claims}
    stated = {claim.id: (claim.statement, claim.source) for claim in result.claims}
    assert stated == {id: declared.get(id) for id in stated}
    missing = {claim.id for claim in paper.claims if is_trained(claim, result)} - stated.keys()
    assert missing == UNMEASURED.get((result.paper, result.preset), set())
    assert set(manifest["pipeline"]) == set(corpora)
    assert manifest["profile"] == "portable"
    for kind in ("parameters_sha256", "corpora", "pipeline"):
        assert all(SHA256.fullmatch(digest) for digest in manifest[kind].values())
    assert manifest["command"].startswith("gluon-attn ")
    assert not re.search(r"--runs|[ =][/~.]", manifest["command"])


@pytest.mark.parametrize("paper", papers.names())
def test_published_trainings_have_the_declared_settings_and_recipe(paper: str) -> None:
    """A setting that a script has gained must be in ``later``: otherwise no variant can be added to its table."""
    preset = papers.load(paper).preset("cpu")
    outcomes = published_outcomes(papers.outcomes_folder(paper), preset.names)
    trained = [outcome for outcome in outcomes if not outcome.is_ensemble]
    assert trained
    for outcome in trained:
        assert trained_as_declared(preset, outcome.variant, outcome.directory), outcome.directory


@pytest.mark.parametrize("paper", papers.names())
def test_published_trainings_start_from_the_published_networks(paper: str) -> None:
    preset = papers.load(paper).preset("cpu")
    for outcome in published_outcomes(papers.outcomes_folder(paper), preset.names):
        source = None if outcome.is_ensemble else preset.variant(outcome.variant).pretrained
        if source:
            of, _, variant = source.partition("/")
            trained = Result.read(papers.results_path(of, "cpu")).manifest["parameters_sha256"]
            assert outcome.record["corpora"]["pretrained"] == trained[f"{variant}/1"], outcome.directory


def test_every_published_paper_can_be_verified_on_the_sample() -> None:
    """``verify`` compares with the results of its default preset."""
    published = [paper for paper in papers.names() if papers.results_path(paper, "cpu").exists()]
    assert published and [paper for paper in published if not papers.results_path(paper, "smoke").exists()] == []
