"""The script of Cheng et al.: its variants, its claims, and a run of both tasks."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from mxnet import init

from gluon_attn import runtime
from gluon_attn.training.checkpoint import named_parameters
from preprocessing import ptb
from reproductions.cheng2016 import REPRODUCTION, Tape
from reproductions.protocol.conclude import conclude
from reproductions.protocol.reproduction import Preset
from reproductions.protocol.task import Variant
from reproductions.tasks.classification.intra_attention import attention_to_earlier_words, correct_sentence
from reproductions.tasks.classification.predictions import classify
from reproductions.tasks.classification.task import EvaluatedModel
from tests.reproductions.support import by_items, claims_by_id, dead_settings, gluon_attn, outcome, run_and_score

SMOKE, CPU, PAPERS_OWN = (REPRODUCTION.preset(name) for name in ("smoke", "cpu", "paper"))
ALL = [variant.name for variant in CPU.variants]
PAIRS = [("lstm", "lstmn"), ("sst5-lstm", "sst5-lstmn"), ("sst2-lstm", "sst2-lstmn")]


# --- settings ---


@pytest.mark.parametrize("name", ["lstm", "lstmn", "sst5-lstm", "sst2-lstmn"])
def test_no_setting_is_dead(name: str) -> None:
    """Except lengths that no sentence of the sample has, and settings without effect on a first batch."""
    variant = SMOKE.variant(name)
    tape = variant.settings.tape
    other = {"tape": {tape: None if tape else Tape(window=5, attention_units=7)}}
    spared = {"restart"} if name.startswith("lstm") else {"max_length", "tape.window"}
    assert set(dead_settings(variant, SMOKE.task(name), other)) <= spared


def test_the_two_variants_of_a_task_differ_in_the_tape_only() -> None:
    for preset in (SMOKE, CPU, PAPERS_OWN):
        expected = [name for name in ALL if preset is not PAPERS_OWN or name != "lstmn-20"]
        assert [variant.name for variant in preset.variants] == expected
        for pair in PAIRS:
            lstm, lstmn = (preset.variant(name) for name in pair)
            names = [field.name for field in fields(lstmn.settings)]
            assert [name for name in names if getattr(lstm.settings, name) != getattr(lstmn.settings, name)] == ["tape"]
            assert lstm.settings.tape is None and lstm.recipe == lstmn.recipe
            assert preset.task(pair[0]) is preset.task(pair[1])


def parameters(variant: Variant[Any], words: int, classes: int) -> int:
    """Parameters of a variant's network, from the shapes; nothing is allocated."""
    model = variant.settings.build(cast(Any, SimpleNamespace(vocabulary_size=words, classes=classes)))
    return sum(int(np.prod(parameter.shape)) for _, parameter in named_parameters(model))


@pytest.mark.parametrize("preset", [CPU, PAPERS_OWN], ids=["cpu", "paper"])
def test_networks_have_the_authors_sizes(preset: Preset) -> None:
    """Section 5: a memory of 300 and embeddings of 150 for language, 168 and 300 for sentiment; equations 4 to 9."""
    words = 10_000

    def encoder(n: int, m: int) -> dict[str, int]:
        """MXNet's fused LSTM has two biases per gate."""
        return {"lstm": 4 * n * (m + n + 2), "lstmn": 4 * n * (m + n + 1) + n * (m + n + n) + n}

    for kind, size in encoder(300, 150).items():
        assert parameters(preset.variant(kind), words, 0) == words * 150 + size + words * (300 + 1)
    for corpus, classes in (("sst5", 5), ("sst2", 2)):
        for kind, size in encoder(168, 300).items():
            counted = parameters(preset.variant(f"{corpus}-{kind}"), words, classes)
            assert counted == words * 300 + size + 168 * (168 + 1) + classes * (168 + 1)


def test_the_paper_preset_has_whole_sentences_on_the_tape() -> None:
    language, sentiment = (PAPERS_OWN.variant(name) for name in ("lstmn", "sst5-lstmn"))
    assert (language.settings.tape.window, language.settings.dropout, language.recipe.batch_size) == (83, 0.0, 40)
    assert sentiment.settings.tape.window == sentiment.settings.max_length and sentiment.recipe.batch_size == 5
    assert CPU.variant("lstmn").settings.tape.window == 3


# --- claims ---


def test_each_claim_compares_the_sides_that_it_names(tmp_path: Path) -> None:
    tokens = 3.0 + np.arange(30) % 7
    shares = np.array([0.6, 0.2, 0.2])
    outcomes = [
        outcome(
            tmp_path,
            name,
            arrays={
                "likelihood": np.stack([nats * tokens, tokens], axis=1),
                "weight_by_distance": tokens[:, None] * shares,
            },
            corpus="ptb",
            history=[{"epoch": 1, "validation_perplexity": 90.0}],
        )
        for name, nats in (("lstm", 4.8), ("lstmn", 4.9), ("lstmn-20", 4.7))
    ]
    nowhere = np.zeros(40, bool)
    outcomes += [
        outcome(tmp_path, name, arrays={"right": nowhere | right, "seen_in_train": nowhere}, corpus=corpus)
        for name, corpus, right in (
            ("sst5-lstm", "sst-5", False),
            ("sst5-lstmn", "sst-5", True),
            ("sst2-lstm", "sst-2", True),
            ("sst2-lstmn", "sst-2", False),
        )
    ]
    rows, claims = conclude(REPRODUCTION, CPU, outcomes)
    judged = claims_by_id(claims)
    assert {id: by_items(claim) for id, claim in judged.items()} == {
        "perplexity": "supported",
        "recent": "supported",
        "sentiment-fine": "supported",
        "sentiment-binary": "contradicted",
    }
    assert judged["perplexity"].effect == pytest.approx(np.exp(4.8) - np.exp(4.7))
    assert judged["recent"].effect == pytest.approx(100 * (0.6 - 1 / 3))
    assert [row.metric for row in rows if row.split == "test"] == 3 * ["perplexity"] + 8 * ["accuracy"]
    reported = {row.variant: row.reported["value"] for row in rows if row.reported}
    assert reported == {
        "lstm": 115.0, "lstmn": 108.0, "sst5-lstm": 44.3, "sst5-lstmn": 44.3, "sst2-lstm": 82.1, "sst2-lstmn": 82.1
    }  # fmt: skip


# --- the sentence whose weights are drawn ---


def evaluated(name: str) -> EvaluatedModel:
    """The test split read by an untrained network."""
    variant, task = SMOKE.variant(name), SMOKE.task(name)
    data = task.prepare(variant.settings, sample=True)
    runtime.seed_all(1)
    model = variant.settings.build(data)
    model.initialize(init.Normal(0.5))
    predictions = classify(model, data.inputs, data.inputs.texts(data.prepared.test))
    return EvaluatedModel(model, data, predictions, cast(Any, None))


def test_the_sentence_is_the_correct_one_nearest_to_twelve_words() -> None:
    experiment = evaluated("sst2-lstmn")
    sentence = correct_sentence(12)(experiment).examples["correct_sentence"]
    split = experiment.data.prepared.validation
    predicted = classify(experiment.model, experiment.data.inputs, experiment.data.inputs.texts(split)).predicted
    right = np.flatnonzero(predicted == split.label)
    assert len(right) < len(split), "some are wrong"
    assert sentence["row"] == min(right, key=lambda row: abs(int(split.lengths[row]) - 12))
    assert sentence["tokens"] == split.words(sentence["row"])
    assert sentence["label"] == experiment.data.labels[split.label[sentence["row"]]]
    matrix = np.array(sentence["matrix"])
    assert matrix.shape == 2 * (len(sentence["tokens"]),)
    np.testing.assert_allclose(matrix.sum(axis=1)[1:], 1.0, rtol=1e-5)
    assert not np.triu(matrix).any(), "a word attends to earlier words"


def test_a_network_that_is_never_right_has_no_sentence() -> None:
    experiment = evaluated("sst2-lstmn")
    split = experiment.data.prepared.validation
    predicted = classify(experiment.model, experiment.data.inputs, experiment.data.inputs.texts(split)).predicted
    split.label[:] = 1 - predicted
    assert correct_sentence(12)(experiment).examples == {}


def test_without_attention_there_is_no_sentence(tmp_path: Path) -> None:
    assert correct_sentence(12)(evaluated("sst2-lstm")).examples == {}
    groups = {"sst2-lstm": [outcome(tmp_path, "sst2-lstm")]}
    assert attention_to_earlier_words("sst2-lstm", "sst2-lstmn")(groups, tmp_path) == {}


# --- from the command line ---


def test_trained_on_the_sample_it_draws_and_answers(tmp_path: Path) -> None:
    names = ("lstmn", "sst2-lstmn")
    chosen = [flag for name in names for flag in ("--variant", name)]
    answer = run_and_score("cheng2016", "--preset", "smoke", "--runs", tmp_path, "--jobs", 2, *chosen)
    assert answer.code == 0, answer.err
    folder = tmp_path / "cheng2016" / "smoke-portable"
    assert sorted(path.name for path in (folder / "figures").iterdir()) == [
        "attention_lstmn_1.png",
        "attention_lstmn_2.png",
        "attention_lstmn_3.png",
        "attention_of_sst2-lstmn.png",
        "training_curves_language_modelling.png",
        "training_curves_sst2.png",
        "weights_by_distance.png",
    ]
    options = ("cheng2016", "--preset", "smoke", "--runs", tmp_path, "--variant")
    answer = gluon_attn("perplexity", *options, "lstmn", "--weights", stdin=b"the company said it would n't\n\nzebra\n")
    first, blank, last = answer.out.splitlines()
    perplexity, words, unknown, weights = first.split("\t")
    assert float(perplexity) > 1 and (words, unknown) == ("6", "0")
    pairs = [re.fullmatch(r"(.+)>(.+):(0\.\d{3}|1\.000)", pair) for pair in weights.split(" ")]
    assert [pair[1] for pair in pairs if pair] == ["the", "company", "said", "it", "would", "n't"]
    assert pairs[0] and pairs[0][2] == ptb.END_OF_LINE
    assert blank == "" and last.split("\t")[1:3] == ["1", "1"]
    assert "MEAN NOTHING" in answer.err
    damaged = gluon_attn("perplexity", *options, "lstmn", stdin=b"\xff\n")
    assert damaged.code == 2 and "gluon-attn: standard input, line 1: not UTF-8" in damaged.err.splitlines()[-1]
    judged = gluon_attn("predict", *options, "sst2-lstmn", "--weights", stdin=b"a good film\n")
    label, probability, weights = judged.out.strip().split("\t")
    assert label in ("negative", "positive") and 0 < float(probability) < 1
    assert [pair.rpartition(":")[0] for pair in weights.split(" ")] == ["a", "good", "film"]
    refused = gluon_attn("translate", "cheng2016", "--variant", "lstmn").refusal
    assert "its task is language modelling; use gluon-attn perplexity cheng2016" in refused
