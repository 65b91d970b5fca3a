"""The second computation of published numbers agrees with the tasks on made-up outcomes, of papers that may not be
published yet."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gluon_attn.evaluation.statistics import Resampled
from reproductions.protocol import papers
from reproductions.protocol.conclude import conclude
from reproductions.protocol.runs import Outcome
from tests.reproductions import published_numbers as published
from tests.reproductions.support import outcome, run

ITEMS, SEEDS = 12, (1, 2, 3)


def captions(generator: np.random.RandomState) -> dict[str, Any]:
    matches = np.sort(generator.randint(1, 9, (ITEMS, 4)), axis=1)[:, ::-1]
    counts = np.hstack([matches, np.tile([12, 11, 10, 9, 12, 13], (ITEMS, 1))])
    likelihood = np.stack([generator.uniform(20, 40, ITEMS), np.full(ITEMS, 10.0)], axis=1)
    nouns = np.hstack([generator.uniform(0, 1, (ITEMS, 3)), np.ones((ITEMS, 1))])
    matched = generator.randint(1, 3, (ITEMS, 16))
    aligned = np.hstack([np.tile([30, 32, 10, 11], (ITEMS, 1)), matched, generator.randint(1, 9, (ITEMS, 3))])
    scores = {"cider": generator.uniform(0, 1, ITEMS), "meteor": aligned}
    return {"bleu": counts, "sacrebleu": counts, "likelihood": likelihood, "nouns": nouns} | scores


def drives(generator: np.random.RandomState) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for prefix in ("", "other_"):
        target = np.random.RandomState(7).normal(0, 3, 20 * ITEMS).astype(np.float32)
        noise = generator.normal(0, 1, 20 * ITEMS).astype(np.float32)
        made |= {f"{prefix}target": target, f"{prefix}degrees": target + noise}
        made[f"{prefix}item"] = np.repeat(np.arange(ITEMS), 20)
    regions = 5 * ITEMS
    made |= {"region_item": np.repeat(np.arange(ITEMS), 5), "region_weight": np.full(regions, 0.1)}
    made["region_effect"] = generator.uniform(0, 0.3, regions).astype(np.float32)
    made["region_distance"] = np.where(np.arange(regions) % 9, generator.uniform(0, 9, regions), np.nan)
    return made | {"least_effect": np.array([0.1], np.float32)}


def pictures(generator: np.random.RandomState) -> dict[str, Any]:
    label = np.arange(10 * ITEMS) % 10
    predicted = np.where(generator.uniform(size=len(label)) < 0.7, label, 0)
    return {"right": predicted == label, "label": label, "predicted": predicted}


def reviews(generator: np.random.RandomState) -> dict[str, Any]:
    label, probability = np.arange(10 * ITEMS) % 2, generator.uniform(size=10 * ITEMS)
    right = (probability > 0.5) == label
    seen = np.arange(len(label)) % 7 == 0
    return {"right": right, "label": label, "probability": probability, "seen_in_train": seen}


def pieces(generator: np.random.RandomState) -> dict[str, Any]:
    likelihood = np.stack([generator.uniform(20, 40, ITEMS), np.full(ITEMS, 10.0)], axis=1)
    return {"likelihood": likelihood, "told": generator.uniform(size=ITEMS) < 0.8}


MADE_UP = {
    "xu2015": (captions, "bleu-4"),
    "kim2017": (drives, "error"),
    "dosovitskiy2020": (pictures, "accuracy"),
    "devlin2018": (reviews, "accuracy"),
}


@pytest.mark.parametrize("interval", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("paper", MADE_UP)
def test_rows_and_claims_follow_from_made_up_predictions(
    paper: str, interval: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published, "RESULTS", tmp_path)
    for name in ("results", "record", "arrays"):
        monkeypatch.setattr(published, name, cache(getattr(published, name).__wrapped__))
    declared = papers.load(paper)
    alone = tuple(claim for claim in declared.claims if not any("/" in name for name in claim.variants))
    reproduction = replace(
        declared, claims=alone
    )  # systems of other papers have published predictions, not made-up ones
    preset = reproduction.preset("cpu")
    outcomes: list[Outcome] = []
    for number, name in enumerate(preset.names):
        of_task, metric = MADE_UP[paper]
        if paper == "devlin2018" and name.startswith("pretraining"):
            of_task, metric = pieces, "perplexity"
        for seed in preset.variant(name).seeds or SEEDS:
            generator = np.random.RandomState(100 * number + seed)
            history = [{"epoch": 1, "train_loss": 1.0, "validation_loss": 1.0, f"validation_{metric}": 50.0 + number}]
            more: dict[str, Any] = {"examples": {"archive": "JPEG-recompressed images"}, "corpus": "made up"}
            arrays = of_task(generator)
            outcomes.append(outcome(tmp_path / "runs", name, seed, arrays, preset="cpu", history=history, **more))
            finished = run(tmp_path / "runs", name, seed, preset="cpu")
            shutil.copytree(finished.directory, published.folder(paper, name, str(seed)))
    if not interval:
        monkeypatch.setattr(Resampled, "interval", property(lambda estimate: (estimate.mean, estimate.mean)))
    rows, claims = conclude(reproduction, preset, outcomes)
    assert {claim.id for claim in claims} == {claim.id for claim in reproduction.claims}
    content = {"rows": [asdict(row) for row in rows], "claims": [asdict(claim) for claim in claims]}
    (tmp_path / f"{paper}.json").write_text(json.dumps(content))
    published.check_rows(paper, interval=interval)
    published.check_claims(paper, interval=interval)
