"""The script of Devlin et al.: sizes, few labels, its figures and claims, and a run of pretraining and fine-tuning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gluon_attn.training.checkpoint import parameter_count
from reproductions import devlin2018, joulin2016, naver_self_attention
from reproductions.devlin2018 import BATCHES, REPRODUCTION
from reproductions.protocol.conclude import conclude, draw_figures
from reproductions.protocol.results import Result
from reproductions.protocol.runs import Outcome
from reproductions.protocol.tables import lines_of
from tests.reproductions.support import by_items, claims_by_id, dead_settings, outcome, run_and_score

SMOKE, CPU, PAPERS_OWN = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))


def test_baselines_are_those_of_their_scripts() -> None:
    assert (devlin2018.recurrent, devlin2018.RECURRENT) == (naver_self_attention.best, naver_self_attention.BEST)
    assert devlin2018.fasttext == replace(joulin2016.NSMC_WORDS, orders=(2,))
    assert devlin2018.FASTTEXT == joulin2016.RECIPE


def test_the_paper_preset_has_the_papers_parameters() -> None:
    """Of the encoder with its pooler, vocabulary of 30 522, 512 positions: 110 and 340 million."""
    data = cast(Any, SimpleNamespace(vocabulary_size=30_522, classes=2))
    base = PAPERS_OWN.variant("bert").settings.build(data)
    assert parameter_count(base) - parameter_count(base.output) == 109_482_240
    for name, (units, layers, hidden), millions in (
        ("pretraining", (768, 12, 3072), 110),
        ("pretraining-30", (1024, 24, 4096), 335),  # the paper says 340
        ("pretraining-layers-2", (768, 3, 3072), 46),
    ):
        model = PAPERS_OWN.variant(name).settings.build(data)
        layer = 4 * (units * units + units) + 2 * units * hidden + hidden + units + 4 * units
        encoder = (30_522 + 512 + 2) * units + 2 * units + layers * layer
        heads = 2 * (units * units + units) + 2 * units + 30_522 + 2 * units + 2
        assert parameter_count(model) == encoder + heads
        assert round((encoder + units * units + units) / 1e6) in (millions, millions - 1)


def test_what_is_pretrained_has_the_settings_of_its_classifier() -> None:
    for preset in (SMOKE, CPU):
        sources = {each.name: (each.pretrained or "").removeprefix("devlin2018/") for each in preset.variants}
        pairs = [
            (preset.variant(source), preset.variant(name)) for name, source in sources.items() if source in sources
        ]
        assert len(pairs) >= 14, "all that start from a network of this paper"
        for given, own in pairs:
            for name in ("pieces", "pretraining_length", "one_in", "units", "layers", "heads", "length", "causal"):
                assert getattr(given.settings, name) == getattr(own.settings, name), (own.name, name)


@pytest.mark.parametrize("name", ["pretraining", "bert"])
def test_no_setting_is_dead(name: str) -> None:
    """Except the frequency, which has no meaning for pieces; and what the sample is too small for."""
    other: dict[str, dict[Any, Any]] = {"pooling": {"first": "last"}, "masked": {0.8: 0.6}, "random": {0.1: 0.2}}
    dead = dead_settings(SMOKE.variant(name), SMOKE.task(name), other)
    assert set(dead) == ({"min_freq", "one_in"} if name == "bert" else {"one_in"})


def test_few_labels_are_the_same_for_all_systems() -> None:
    ids = []
    for name in ("bert-100", "rnn-100", "fasttext-100"):
        train = SMOKE.task(name).prepare(SMOKE.variant(name).settings, sample=True).prepared.train
        ids.append(train.row_id.tolist())
    assert len(ids[0]) == 30 and ids[0] == ids[1] == ids[2]


def made_up(folder: Path) -> list[Outcome]:
    right = {
        "bert-continued": 0.95,
        "masks-40": 0.93,
        "bert": 0.9,
        "random": 0.85,
        "bert-30": 0.88,
        "bert-10": 0.86,
        "no-pairs": 0.87,
    }
    right |= {"left-to-right": 0.83, "left-to-right-lstm": 0.8, "layers-2": 0.8, "units-128": 0.8}
    right |= {
        f"{name}-{count}": 0.6 + 0.1 * (name == "bert")
        for count in BATCHES
        for name in ("bert", "random", "vectors", "rnn", "fasttext")
    }
    outcomes = []
    for name, share in right.items():
        hits = np.arange(400) < share * 400
        for seed in (1, 2, 3):
            arrays = {"right": hits, "label": np.ones(400, int), "seen_in_train": np.zeros(400, bool)}
            weights = np.full((2, 2, 3, 3), 1 / 3).tolist()
            examples = {"heads": {"tokens": ["<cls>", "▁참", "<sep>"], "weights": weights}} if name == "bert" else {}
            outcomes.append(outcome(folder, name, seed, arrays, examples=examples))
    for name, loss in {"pretraining": 2.0, "pretraining-30": 2.2, "pretraining-10": 3.0}.items():
        likelihood = np.tile([4 * loss, 4.0], (50, 1))
        history = [
            {"epoch": 1, "train_loss": 1.0, "validation_perplexity": 9.0, "validation_loss": 2.0, "cpu_seconds": 60.0}
        ]
        best = {"tokens": ["▁참", "좋다"], "probability": [0.5, 0.1], "predicted": [[["▁참", 0.5]], [["하다", 0.2]]]}
        outcomes.append(
            outcome(
                folder,
                name,
                1,
                {"likelihood": likelihood, "told": np.ones(50, bool)},
                history=history,
                examples={"masks": [best]},
                corpus="nsmc-raw",
            )
        )
    return outcomes


def test_claims_and_figures(tmp_path: Path) -> None:
    outcomes = made_up(tmp_path)
    rows, judged = conclude(REPRODUCTION, SMOKE, outcomes)
    assert {row.metric for row in rows if row.variant == "pretraining"} == {"perplexity", "pairs"}
    claims = claims_by_id(judged)
    # Networks of other papers, and none on the sample.
    elsewhere = {"word-vectors", "word-vectors-continued", "floor", "published"}
    assert claims.keys() == {claim.id for claim in REPRODUCTION.claims} - elsewhere
    assert {by_items(claim) for claim in claims.values()} == {"supported"}
    assert claims["pretraining"].effect == pytest.approx(5.0)
    figures = draw_figures(REPRODUCTION, SMOKE, outcomes, tmp_path / "figures")
    for title in (
        "accuracy by minutes of pretraining",
        "accuracy by labelled reviews",
        "pieces predicted for a mask, 1",
        "heads of layer 1",
        "heads of layer 2",
    ):
        assert figures[title].stat().st_size > 5_000


def test_the_perplexity_of_the_pretraining_is_next_to_the_accuracy(tmp_path: Path) -> None:
    """As in Table 6."""
    rows, _ = conclude(REPRODUCTION, SMOKE, made_up(tmp_path))
    column = [column.title for column in REPRODUCTION.table_columns].index("perplexity of pretraining")
    lines = lines_of(SMOKE, Result("devlin2018", "smoke", rows, [], {}), REPRODUCTION.table_columns)
    shown = {line.name: line.numbers[column] for line in lines}
    for tuned, pretrained, loss in (("bert", "pretraining", 2.0), ("bert-30", "pretraining-30", 2.2)):
        assert shown[tuned] == shown[pretrained] == f"{np.exp(loss):.2f}"
    assert shown["random"] == shown["vectors-100"] == shown["no-pairs"] == "", "its pretraining is not among these"


@pytest.mark.slow
def test_a_network_is_pretrained_and_fine_tuned(tmp_path: Path) -> None:
    arguments = ("devlin2018", "--preset", "smoke", "--runs", tmp_path, "--profile", "portable")
    names = ("bert", "left-to-right-lstm", "pretraining", "pretraining-left-to-right", "vectors-100")
    answer = run_and_score(*arguments, *(word for name in names for word in ("--variant", name)))
    assert answer.code == 0, answer.err
