"""The results file is what others will read in ten years: its names are fixed, and it says where it comes from."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gluon_attn.errors import UsageError
from gluon_attn.evaluation.statistics import Estimate
from reproductions.protocol.experiment import Reported
from reproductions.protocol.papers import PAPERS, preset, script
from reproductions.protocol.report import results_path, table_lines
from reproductions.protocol.results import RESULTS, Claim, Result, Row

ROW = {
    "variant", "corpus", "split", "metric", "signature", "mean", "std", "per_seed", "ci95", "parameters",
    "train_seconds", "reported", "comparable", "differs",
}  # fmt: skip
CLAIM = {"id", "statement", "source", "effect", "ci95", "verdict", "measure"}
MANIFEST = {
    "command", "commit", "seeds", "profile", "threads", "corpora", "pipeline", "environment", "hardware",
    "parameters_sha256", "started", "seconds",
}  # fmt: skip
CORPORA = {
    "nsmc", "multi30k en-de", "multi30k en-fr", "tatoeba en-fr", "tatoeba ko-en", "imdb", "ptb", "sst-2", "sst-5",
    "cifar10", "flickr8k", "sample", "nsmc-raw",
}  # fmt: skip
METRICS = {"accuracy", "bleu", "sacrebleu", "chrf", "perplexity", "bleu-1", "bleu-2", "bleu-3", "bleu-4"}
METRICS |= {"agreement", "loss"}  # of word vectors
PAPERS_OWN = {
    "wmt14 en-fr",
    "wmt14 en-de",
    "multi30k de-en",
    "multi30k, target not stated",
    "yelp, 5 classes",
    "age, 5 classes",
    "imdb, 10 classes",
    "yelp polarity",
    "320 million words of the LDC",
    "google news",
}  # corpora of papers that are not trained on here
VERDICTS = {"supported", "not supported", "inconclusive"}
SHA256 = re.compile("[0-9a-f]{64}")

committed = pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.name)


def made_up() -> Result:
    peer = Reported("a peer", 86.0, "nsmc", "accuracy", "its/repository")
    row = Row(
        "mean", "nsmc", "test", "accuracy", "all", 85.5, 0.5, {"1": 85.0, "2": 86.0}, (85.0, 86.0), 7, 1.5,
        asdict(peer), True, "",
    )  # fmt: skip
    claim = Claim.judge("a", "“A” is better than B", "post", "points", Estimate(1.0, 0.5, 1.5))
    return Result("naver_self_attention", "cpu", [row], [claim], {"seeds": [1, 2], "한글": "reads as it is"})


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    made_up().write(path)
    assert Result.read(path) == made_up()
    text = path.read_text(encoding="utf-8")
    assert "한글" in text and text.endswith("}\n")
    assert list(json.loads(text)) == ["paper", "preset", "rows", "claims", "manifest"]
    made_up().write(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_a_number_that_is_none_is_not_written(tmp_path: Path) -> None:
    broken = made_up()
    broken.manifest["seconds"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.write(tmp_path / "results.json")
    assert list(tmp_path.iterdir()) == []


def damaged() -> dict[str, Any]:
    raw = asdict(made_up())
    return {
        "not JSON": "{",
        "not an object": [],
        "null": None,
        "nothing": {},
        "rows that are no rows": raw | {"rows": 3},
        "a row too poor": raw | {"rows": [{"variant": "mean", "ci95": [0, 1]}]},
        "a row with an unknown column": raw | {"rows": [raw["rows"][0] | {"median": 1}]},
        "a claim without interval": raw | {"claims": [{"id": "a"}]},
        "no manifest": {key: value for key, value in raw.items() if key != "manifest"},
    }


@pytest.mark.parametrize("name", damaged())
def test_a_damaged_file_is_refused_with_its_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    content = damaged()[name]
    path.write_text(content if name == "not JSON" else json.dumps(content), encoding="utf-8")
    with pytest.raises(UsageError, match=r"results\.json: not a results file") as caught:
        Result.read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [
        (Estimate(1.0, 0.1, 2.0), "supported"),
        (Estimate(-1.0, -2.0, -0.1), "not supported"),
        (Estimate(0.5, -0.1, 1.0), "inconclusive"),
        (Estimate(0.0, 0.0, 0.0), "inconclusive"),
        (Estimate(0.5, 0.0, 1.0), "inconclusive"),
    ],
)
def test_the_whole_interval_decides_about_a_claim(effect: Estimate, verdict: str) -> None:
    claim = Claim.judge("a", "statement", "source", "measure", effect)
    assert (claim.verdict, claim.effect, claim.ci95) == (verdict, effect.mean, (effect.low, effect.high))


@committed
def test_committed_results_keep_the_contract(path: Path) -> None:
    raw = json.loads(path.read_text(encoding="utf-8"))
    assert set(raw) == {"paper", "preset", "rows", "claims", "manifest"}
    assert path == results_path(raw["paper"], raw["preset"])
    assert set(raw["manifest"]) == MANIFEST
    own_seeds = {one.name: one.seeds for one in preset(raw["paper"], raw["preset"]).variants}
    for row in raw["rows"]:
        assert set(row) == ROW
        assert row["corpus"] in CORPORA and row["metric"] in METRICS and row["split"] in {"validation", "test"}
        low, high = row["ci95"]
        assert low <= row["mean"] <= high
        seeds = {int(seed) for key in row["per_seed"] for seed in key.split("+")}  # 1+2: two networks as one
        assert seeds == set(own_seeds.get(row["variant"]) or raw["manifest"]["seeds"])  # an ensemble has all
        assert min(row["per_seed"].values()) <= row["mean"] <= max(row["per_seed"].values())
        assert row["comparable"] is False or row["reported"] is not None
    for claim in raw["claims"]:
        assert set(claim) == CLAIM and claim["verdict"] in VERDICTS
        assert claim["ci95"][0] <= claim["effect"] <= claim["ci95"][1]


def facts_of(folder: Path, name: str) -> dict[str, Any]:
    """What a file of each published training holds, by the training's label."""
    files = sorted(folder.glob(f"*/*/{name}"))
    labels = (f"{one.parts[-3]}/{one.parts[-2].removeprefix('seed-')}" for one in files)
    return dict(zip(labels, (json.loads(one.read_text("utf-8")) for one in files), strict=True))


@pytest.mark.parametrize("folder", sorted(RESULTS.glob("*/outcomes")), ids=lambda folder: folder.parent.name)
def test_published_outcomes_are_of_trainings_as_the_script_has_them_now(folder: Path) -> None:
    chosen, configs = preset(folder.parent.name, "cpu"), facts_of(folder, "config.json")
    assert configs and configs.keys() == facts_of(folder, "outcome.json").keys()
    for config in configs.values():
        variant = chosen.variant(config["variant"])
        assert config["seed"] in (variant.seeds or chosen.seeds) and config["profile"] == "portable"
        assert config["settings"] == json.loads(json.dumps(dict(variant.settings)))
        assert config["recipe"] == asdict(variant.recipe)


@pytest.mark.parametrize(
    "folder",
    [folder for folder in sorted(RESULTS.glob("*/outcomes")) if results_path(folder.parent.name, "cpu").exists()],
    ids=lambda folder: folder.parent.name,
)
def test_published_outcomes_are_the_trainings_of_the_table(folder: Path) -> None:
    result, outcomes = Result.read(results_path(folder.parent.name, "cpu")), facts_of(folder, "outcome.json")
    hashes = {label: facts["parameters_sha256"] for label, facts in outcomes.items()}
    assert hashes == result.manifest["parameters_sha256"]
    for line in table_lines(result):
        if line.name != line.row.variant:
            continue  # another script's
        for seed, value in line.row.per_seed.items():
            if "+" not in seed:  # two networks as one are no training
                assert outcomes[f"{line.name}/{seed}"]["metrics"][line.row.metric] == pytest.approx(value)


def test_every_published_paper_can_be_verified_on_the_sample() -> None:
    """``verify`` compares with the results of its default preset."""
    published = [paper for paper in PAPERS if results_path(paper, "cpu").exists()]
    assert published and [paper for paper in published if not results_path(paper, "smoke").exists()] == []


@committed
def test_committed_results_can_be_made_again(path: Path) -> None:
    """Every variant and seed of the preset has its hash, and nothing in the manifest is of one person's machine."""
    result = Result.read(path)
    chosen, manifest = preset(result.paper, result.preset), result.manifest
    labels = {f"{variant.name}/{seed}" for variant in chosen.variants for seed in variant.seeds or chosen.seeds}
    assert set(manifest["parameters_sha256"]) == labels, "publish the preset again"
    rows = {re.sub("-(averaged|ensemble)$", "", row.variant): row.corpus for row in result.rows}
    sample = chosen.corpus == "sample"
    assert rows == {
        one.name: "sample" if sample else one.settings.get("corpus", chosen.corpus) for one in chosen.variants
    }
    assert set(manifest["pipeline"]) == {variant.name for variant in chosen.variants}
    assert manifest["profile"] == "portable"
    for digest in [
        *manifest["parameters_sha256"].values(),
        *manifest["corpora"].values(),
        *manifest["pipeline"].values(),
    ]:
        assert SHA256.fullmatch(digest)
    assert manifest["command"].startswith("gluon-attn ")
    assert not re.search(r"--runs|[ =][/~.]", manifest["command"])


@pytest.mark.parametrize("paper", PAPERS)
def test_every_script_has_what_its_docstring_promises(paper: str) -> None:
    module = script(paper)
    for name in ("prepare", "build", "task", "evaluate", "conclude", "figures", "pages"):
        assert callable(getattr(module, name))
    assert hasattr(module, "predict") != hasattr(module, "translate_lines")
    assert module.COLUMNS
    assert {"smoke", "cpu", "paper"} <= set(module.PRESETS)
    for name, chosen in module.PRESETS.items():
        assert chosen.name == name and chosen.corpus in CORPORA and chosen.seeds
        names = [variant.name for variant in chosen.variants]
        assert len(set(names)) == len(names)
        assert set(chosen.headline) <= set(names)
        for variant in chosen.variants:
            assert variant.seeds is None or set(variant.seeds) <= set(chosen.seeds)
            assert variant.reported is None or variant.reported in module.REPORTED
            assert variant.differs or not variant.reported, f"{variant.name}: say in what the peer differs"
    assert module.PRESETS["smoke"].corpus == "sample"
    for peer in module.REPORTED:
        assert (
            peer.corpus in CORPORA | PAPERS_OWN
            and peer.metric in METRICS
            and peer.checked in {"text", "secondary", "memory"}
        )


def test_what_is_unknown_is_named_with_what_is_known() -> None:
    with pytest.raises(UsageError, match="paper 'x' is unknown; choose from naver_self_attention"):
        script("x")
    with pytest.raises(
        UsageError, match="preset 'x' is unknown for naver_self_attention; choose from smoke, cpu, paper"
    ):
        preset("naver_self_attention", "x")
    with pytest.raises(UsageError, match="variant 'x' is unknown in preset smoke; choose from as-written, "):
        preset("naver_self_attention", "smoke").variant("x")
